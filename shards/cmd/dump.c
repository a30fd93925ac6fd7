/*
 * dump: DUMP and RESTORE: a value as bytes that another server takes.
 *
 *     type     1 byte
 *     content  persist/format/codec.h
 *     version  2 bytes
 *     crc64    8 bytes, of all before
 */
#include <string.h>

#include "net/reply.h"
#include "persist/format/codec.h"
#include "persist/format/crc64.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/local/fields.h"

#define VERSION_LEN 2u
#define FOOTER_LEN (VERSION_LEN + 8u)

/* ---- DUMP ----------------------------------------------------------------------------------- */

static enum status cmd_dump(struct call *call)
{
    const struct value *value = db_lookup(call->db, call_key(call, 1));
    if (!value) {
        reply_null(call->reply);
        return OK;
    }
    struct buf payload = {0};
    enum rdb_type type = codec_type(value);
    uint32_t version = codec_version(type);
    buf_add_char(&payload, (char)type);
    codec_write(&payload, value, type, call->config->rdb_compression);
    buf_add_char(&payload, (char)(version & 0xff));
    buf_add_char(&payload, (char)(version >> 8));
    rdb_write_u64(&payload, crc64(0, payload.ptr, payload.len));
    reply_bulk(call->reply, buf_bytes(&payload));
    buf_fini(&payload);
    return OK;
}

/* ---- RESTORE -------------------------------------------------------------------------------- */

struct restore {
    bool replaces, is_absolute;
    int64_t ttl_ms, idle_s, frequency; /* -1: not given */
};

static enum status parse_options(struct call *call, struct restore *out)
{
    struct restore restore = {.idle_s = -1, .frequency = -1};
    for (uint32_t i = 4; i < call->arg_count; i++) {
        bool has_value = i + 1 < call->arg_count;
        if (call_arg_is(call, i, "REPLACE")) {
            restore.replaces = true;
        } else if (call_arg_is(call, i, "ABSTTL")) {
            restore.is_absolute = true;
        } else if (call_arg_is(call, i, "IDLETIME") && has_value && restore.frequency < 0) {
            TRY(call_arg_int(call, ++i, &restore.idle_s));
            if (restore.idle_s < 0)
                return call_fail_text(call, "ERR Invalid IDLETIME value, must be >= 0");
        } else if (call_arg_is(call, i, "FREQ") && has_value && restore.idle_s < 0) {
            TRY(call_arg_int(call, ++i, &restore.frequency));
            if (restore.frequency < 0 || restore.frequency > UINT8_MAX)
                return call_fail_text(call, "ERR Invalid FREQ value, must be >= 0 and <= 255");
        } else {
            return ERR_SYNTAX;
        }
    }
    *out = restore;
    return OK;
}

/* Valkey gave a number to a type of its own that Redis has given to another. */
static bool is_known(uint32_t version, uint8_t type)
{
    if (type == RDB_HASH_VALKEY_TIMES)
        return version == RDB_VERSION_VALKEY;
    return true;
}

/* Of a version that we know, and whole? */
static bool is_whole(struct bytes payload, uint32_t *out_version)
{
    if (payload.len < FOOTER_LEN)
        return false;
    const unsigned char *footer = (const unsigned char *)payload.ptr + payload.len - FOOTER_LEN;
    uint32_t version = footer[0] | (uint32_t)footer[1] << 8;
    uint64_t checksum;
    memcpy(&checksum, footer + VERSION_LEN, sizeof(checksum));
    *out_version = version;
    return (version <= RDB_VERSION_MAX || version == RDB_VERSION_VALKEY) &&
           checksum == crc64(0, payload.ptr, payload.len - sizeof(checksum));
}

static enum status read_value(struct call *call, struct bytes payload, uint32_t version,
                              struct codec_value *out)
{
    const struct config *config = call->config;
    struct codec_limits limits = {.list = list_limits(config->list_max_listpack_size),
                                  .set = config->set_limits,
                                  .zset = config->zset_limits,
                                  .hash = config->hash_limits};
    struct rdb_reader reader = {.at = payload.ptr,
                                .end = payload.ptr + payload.len - FOOTER_LEN,
                                .arena = call->arena,
                                .unpacked_max = config->conn.bulk_max};
    uint8_t type = rdb_read_byte(&reader);
    if (reader.failed || !is_known(version, type) ||
        !codec_read(&reader, type, db_heap(call->db), &limits, call_now_ms(call), out))
        return call_fail_text(call, "ERR Bad data format");
    return OK;
}

static void put_value(struct call *call, const struct key *key, struct codec_value *value,
                      int64_t expire_at_ms)
{
    if (value->type == TYPE_STRING) {
        db_put_string(call->db, key, value->text, expire_at_ms);
        return;
    }
    struct value *made = db_put_root(call->db, key, value->type, value->root, expire_at_ms);
    if (value->type == TYPE_HASH)
        fields_put_back(call->db, key, made, value->root);
}

/* What the policy for eviction does not look at is passed over, as Redis does. */
static void put_access(struct call *call, const struct key *key, const struct restore *restore)
{
    enum maxmemory_policy policy = call->config->maxmemory_policy;
    bool is_lfu = policy == MAXMEMORY_ALLKEYS_LFU || policy == MAXMEMORY_VOLATILE_LFU;
    int64_t idle_s = restore->idle_s < UINT32_MAX ? restore->idle_s : UINT32_MAX;
    if (restore->idle_s >= 0 && !is_lfu)
        db_set_idle_s(call->db, key, (uint32_t)idle_s);
    if (restore->frequency >= 0 && is_lfu)
        db_set_frequency(call->db, key, (uint8_t)restore->frequency);
}

static enum status cmd_restore(struct call *call)
{
    struct restore restore;
    const struct key *key = call_key(call, 1);
    struct bytes payload = call_arg(call, 3);
    struct codec_value value;
    TRY(parse_options(call, &restore));
    if (!restore.replaces && db_lookup_to_write(call->db, key))
        return ERR_BUSY_KEY;
    TRY(call_arg_int(call, 2, &restore.ttl_ms));
    if (restore.ttl_ms < 0)
        return call_fail_text(call, "ERR Invalid TTL value, must be >= 0");
    uint32_t version;
    if (!is_whole(payload, &version))
        return call_fail_text(call, "ERR DUMP payload version or checksum are wrong");
    TRY(read_value(call, payload, version, &value));

    int64_t expire_at_ms = restore.ttl_ms ? restore.ttl_ms : DB_NO_EXPIRE;
    /* A time beyond the last one is past, as it is to Redis. */
    bool is_past = restore.ttl_ms && !restore.is_absolute &&
                   __builtin_add_overflow(restore.ttl_ms, call_now_ms(call), &expire_at_ms);
    if (is_past || (restore.ttl_ms && expire_at_ms <= call_now_ms(call))) {
        codec_drop(&value, db_heap(call->db));
        (void)db_delete(call->db, key);
    } else {
        put_value(call, key, &value, expire_at_ms);
        put_access(call, key, &restore);
    }
    reply_ok(call->reply);
    return OK;
}

/* clang-format off */
const struct command dump_commands[] = {
    {.name = "dump", .arity = 2, .run = cmd_dump, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS), .flags = CMD_READONLY, .acl = ACL_KEYSPACE,
     .syntax = "key", .since = "2.6.0",
     .cost = "O(1) to find the key and O(N*M) to write it, N being its elements and M their size.",
     .brief = "Gives a value as bytes that RESTORE takes.",
     .tips = "nondeterministic_output"},

    {.name = "restore", .arity = -4, .run = cmd_restore, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_OW | KEY_UPDATE), .flags = CMD_WRITE | CMD_GROWS,
     .acl = ACL_KEYSPACE | ACL_DANGEROUS,
     .syntax = "key ttl serialized-value [REPLACE@3.0.0] [ABSTTL@5.0.0] [IDLETIME seconds@5.0.0] "
               "[FREQ frequency@5.0.0]",
     .since = "2.6.0",
     .cost = "O(1) to make the key and O(N*M) to read it, N being its elements and M their size; "
             "O(N*M*log(N)) for sorted sets.",
     .history = "3.0.0 Takes REPLACE.; 5.0.0 Takes ABSTTL.; 5.0.0 Takes IDLETIME and FREQ.",
     .brief = "Makes a key of what DUMP has given."},
    {0},
};
/* clang-format on */
