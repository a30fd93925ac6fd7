/*
 * debug_value: everything is asked of the value's type, through compound_ops; lists alone are
 * looked into, because DEBUG OBJECT counts their nodes.
 */
#include "shards/admin/debug_value.h"

#include <assert.h>

#include "core/base/buf.h"
#include "core/ds/chain.h"
#include "core/ds/table.h"
#include "core/os/log.h"
#include "core/type/compound.h"
#include "core/type/list.h"
#include "persist/format/codec.h"
#include "shards/call/call.h"

/* What the value takes in a dump, its type not counted: it is written, measured, and dropped. */
static size_t value_len(struct call *call, const struct value *value)
{
    struct buf content = {0};
    codec_write(&content, value, codec_type(value), call->config->rdb_compression);
    size_t len = content.len;
    buf_fini(&content);
    return len;
}

static MUST_CHECK enum status find_value(struct call *call, const struct value **out)
{
    *out = db_peek(call->db, call_key(call, 2));
    return *out ? OK : ERR_NO_SUCH_KEY;
}

/* NULL unless the value is a list with nodes. */
static const struct chain *find_chain(const struct value *value)
{
    return value_type(value) == TYPE_LIST ? list_chain(value_root(value)) : NULL;
}

static const char *chain_text(struct call *call, const struct chain *chain)
{
    return arena_format(call->arena,
                        " ql_nodes:%llu ql_avg_node:%.2f ql_listpack_max:%lld ql_compressed:0"
                        " ql_uncompressed_size:%zu",
                        (unsigned long long)chain->node_count,
                        (double)chain->count / (double)chain->node_count,
                        (long long)call->config->list_max_listpack_size, chain_data_bytes(chain));
}

enum status debug_value_object(struct call *call)
{
    const struct value *value;
    TRY(find_value(call, &value));
    const struct chain *chain = find_chain(value);
    uint32_t idle_s = db_idle_s(call->db, value);
    int64_t last_access_s = call_now_ms(call) / 1000 - idle_s;
    const char *text = arena_format(
        call->arena,
        "Value at:%p refcount:1 encoding:%s serializedlength:%zu lru:%d lru_seconds_idle:%u%s",
        (const void *)value, value_encoding(value), value_len(call, value),
        (int)(last_access_s & 0xffffff), idle_s, chain ? chain_text(call, chain) : "");
    reply_simple(call->reply, text);
    return OK;
}

enum status debug_value_listpack(struct call *call)
{
    const struct value *value;
    TRY(find_value(call, &value));
    const char *encoding = value_encoding(value);
    if (strcmp(encoding, "listpack") != 0 && strcmp(encoding, "listpackex") != 0)
        return call_fail_text(call, "ERR Not a listpack encoded object.");
    const struct compound_ops *ops = compound_ops(value_type(value));
    log_info("debug.listpack", "type=%s elements=%zu bytes=%zu", type_name(value_type(value)),
             ops->count(value_root(value)), ops->bytes(value_root(value)));
    reply_simple(call->reply, "Listpack structure printed on stdout");
    return OK;
}

enum status debug_value_quicklist(struct call *call)
{
    const struct value *value;
    TRY(find_value(call, &value));
    const struct chain *chain = find_chain(value);
    if (!chain)
        return call_fail_text(call, "ERR Not a quicklist encoded object.");
    log_info("debug.quicklist", "elements=%llu nodes=%llu data_bytes=%zu bytes=%zu",
             (unsigned long long)chain->count, (unsigned long long)chain->node_count,
             chain_data_bytes(chain), chain_bytes(chain));
    reply_simple(call->reply, "Quicklist structure printed on stdout");
    return OK;
}

/* Our buckets hold several keys by design, so a "chain" is what a bucket holds. */
void debug_value_add_table(struct buf *text, const struct db_table_stats *stats, bool is_full)
{
    uint64_t used = stats->buckets - stats->bucket_lens[0];
    uint32_t longest = DB_TABLE_LEN_MAX;
    while (longest && !stats->bucket_lens[longest])
        longest--;
    buf_add_format(text,
                   " table size: %llu\n number of elements: %llu\n different slots: %llu\n"
                   " max chain length: %u\n avg chain length (counted): %.02f\n"
                   " tables: %llu\n overflows: %llu\n bytes: %llu\n",
                   (unsigned long long)stats->buckets, (unsigned long long)stats->keys,
                   (unsigned long long)used, longest, used ? (double)stats->keys / (double)used : 0,
                   (unsigned long long)stats->tables, (unsigned long long)stats->overflows,
                   (unsigned long long)stats->bytes);
    if (!is_full)
        return;
    buf_add_text(text, " Chain length distribution:\n");
    for (uint32_t i = 0; i <= longest; i++)
        buf_add_format(text, "   %u: %llu (%.02f%%)\n", i,
                       (unsigned long long)stats->bucket_lens[i],
                       100 * (double)stats->bucket_lens[i] / (double)stats->buckets);
}

static const struct table *find_table(const struct value *value)
{
    const struct compound_ops *ops = compound_ops(value_type(value));
    return ops && ops->table ? ops->table(value_root(value)) : NULL;
}

static struct db_table_stats stats_of(const struct table *table)
{
    struct table_stats found = {0};
    table_add_stats(table, &found);
    struct db_table_stats stats = {.keys = found.items,
                                   .tables = found.leaves,
                                   .buckets = found.buckets,
                                   .overflows = found.overflows,
                                   .bytes = found.bytes};
    static_assert(sizeof stats.bucket_lens == sizeof found.bucket_lens, "the same histogram");
    memcpy(stats.bucket_lens, found.bucket_lens, sizeof stats.bucket_lens);
    return stats;
}

enum status debug_value_table(struct call *call)
{
    const struct value *value;
    TRY(find_value(call, &value));
    const struct table *table = find_table(value);
    if (!table)
        return call_fail_text(call, "ERR The value stored at the specified key is not represented "
                                    "using an hash table");

    struct db_table_stats stats = stats_of(table);
    struct buf text = {0};
    buf_add_text(&text, "Hash table 0 stats (main hash table):\n");
    debug_value_add_table(&text, &stats, call_arg_is(call, 3, "full"));
    reply_verbatim(call->reply, buf_bytes(&text), "txt");
    buf_fini(&text);
    return OK;
}
