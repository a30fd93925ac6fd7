#include "persist/format/codec.h"

#include "core/ds/intset.h"
#include "core/type/str.h"

enum rdb_type codec_type(const struct value *value)
{
    const void *root = value_type(value) == TYPE_STRING ? NULL : value_root(value);
    switch (value_type(value)) {
    case TYPE_LIST:
        return RDB_LIST_PACKS;
    case TYPE_SET:
        return set_intset(root) ? RDB_SET_INTSET : RDB_SET;
    case TYPE_ZSET:
        return zset_pack(root) ? RDB_ZSET_PACK : RDB_ZSET;
    case TYPE_HASH:
        if (hash_is_timed(root) && hash_ttl_count(root))
            return hash_pack(root) ? RDB_HASH_PACK_TIMES : RDB_HASH_TIMES;
        return hash_pack(root) && !hash_is_timed(root) ? RDB_HASH_PACK : RDB_HASH;
    case TYPE_STREAM:
        return RDB_STREAM_2;
    case TYPE_STRING:
    case TYPE_COUNT:
        break;
    }
    return RDB_STRING;
}

uint32_t codec_version(enum rdb_type type)
{
    return type >= RDB_HASH_TIMES ? RDB_VERSION_FIELD_TIMES : RDB_VERSION;
}

struct output {
    struct buf *out;
    bool compress;
    int64_t first_ms; /* of a timed hash: times are distances from it */
};

static void write_pack(struct output *output, const struct pack *pack)
{
    rdb_write_string(output->out, bytes_of(pack, pack_bytes(pack)), output->compress);
}

static void write_node(struct output *output, const struct pack *pack, struct bytes plain)
{
    rdb_write_len(output->out, pack ? RDB_NODE_PACK : RDB_NODE_PLAIN);
    if (pack)
        write_pack(output, pack);
    else
        rdb_write_string(output->out, plain, output->compress);
}

static void write_list(struct output *output, const struct list *list)
{
    const struct chain *chain = list_chain(list);
    if (!chain) {
        rdb_write_len(output->out, 1);
        write_node(output, list_pack(list), bytes_of(NULL, 0));
        return;
    }
    rdb_write_len(output->out, chain->node_count);
    for (const struct chain_node *node = chain_next_node(chain, NULL); node;
         node = chain_next_node(chain, node)) {
        struct bytes plain = {0};
        const struct pack *pack = chain_node_pack(node, &plain);
        write_node(output, pack, plain);
    }
}

static void write_member(void *context, struct bytes member)
{
    struct output *output = context;
    rdb_write_string(output->out, member, output->compress);
}

static void write_set(struct output *output, const struct set *set)
{
    const struct intset *numbers = set_intset(set);
    if (numbers) {
        rdb_write_string(output->out, bytes_of(numbers, intset_bytes(numbers)), output->compress);
        return;
    }
    rdb_write_len(output->out, set_count(set));
    set_each(set, write_member, output);
}

/* From the highest score down: whoever loads it always adds at the front. */
static void write_zset(struct output *output, const struct zset *zset)
{
    const struct pack *pack = zset_pack(zset);
    if (pack) {
        write_pack(output, pack);
        return;
    }
    struct zset_cursor cursor;
    struct zset_entry entry;
    uint64_t count = zset_count(zset);
    rdb_write_len(output->out, count);
    zset_seek(zset, count - 1, true, &cursor);
    while (zset_step(&cursor, &entry)) {
        rdb_write_string(output->out, entry.member, output->compress);
        rdb_write_double(output->out, entry.score);
    }
}

static void write_pair(void *context, struct hash_pair pair)
{
    struct output *output = context;
    rdb_write_string(output->out, pair.field, output->compress);
    rdb_write_string(output->out, pair.value, output->compress);
}

/* The time is 0 of a field that lasts for ever, else one more than its distance from the first. */
static void write_timed_pair(void *context, struct hash_pair pair)
{
    struct output *output = context;
    bool lasts = pair.expire_at_ms == HASH_NO_TTL;
    rdb_write_len(output->out, lasts ? 0 : (uint64_t)(pair.expire_at_ms - output->first_ms) + 1);
    write_pair(context, pair);
}

static void find_first_time(void *context, struct hash_pair pair)
{
    struct output *output = context;
    if (pair.expire_at_ms != HASH_NO_TTL && pair.expire_at_ms < output->first_ms)
        output->first_ms = pair.expire_at_ms;
}

static void write_hash(struct output *output, const struct hash *hash, enum rdb_type type)
{
    if (type == RDB_HASH_PACK) {
        write_pack(output, hash_pack(hash));
        return;
    }
    if (type == RDB_HASH) {
        rdb_write_len(output->out, hash_count(hash));
        hash_each(hash, write_pair, output);
        return;
    }
    output->first_ms = INT64_MAX;
    hash_each(hash, find_first_time, output);
    rdb_write_u64(output->out, (uint64_t)output->first_ms);
    if (type == RDB_HASH_PACK_TIMES) {
        write_pack(output, hash_pack(hash));
        return;
    }
    rdb_write_len(output->out, hash_count(hash));
    hash_each(hash, write_timed_pair, output);
}

void codec_write(struct buf *out, const struct value *value, enum rdb_type type, bool compress)
{
    struct output output = {.out = out, .compress = compress};
    char scratch[STR_SCRATCH];
    switch (value_type(value)) {
    case TYPE_STRING:
        rdb_write_string(out, str_view(value, scratch), compress);
        return;
    case TYPE_LIST:
        write_list(&output, value_root(value));
        return;
    case TYPE_SET:
        write_set(&output, value_root(value));
        return;
    case TYPE_ZSET:
        write_zset(&output, value_root(value));
        return;
    case TYPE_HASH:
        write_hash(&output, value_root(value), type);
        return;
    case TYPE_STREAM:
        codec_write_stream(out, value_root(value), compress);
        return;
    case TYPE_COUNT:
        return;
    }
}
