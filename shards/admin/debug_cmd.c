/*
 * debug_cmd: DEBUG, for test suites and for those who look inside.
 *
 * To COMMAND it is one command without keys, so it goes to all shards; the table below says what
 * each subcommand does there and how its reply is made at home. Words are judged at home before
 * anything travels. What has no use here (a cron that can be paused, a buffer that shrinks) is
 * accepted where test suites switch it off for calm, and says so in its line of help.
 */
#include <time.h>

#include "core/base/glob.h"
#include "core/base/num.h"
#include "core/os/clock.h"
#include "core/os/log.h"
#include "net/addr.h"
#include "shards/admin/dataset_digest.h"
#include "shards/admin/debug_value.h"
#include "shards/admin/options.h"
#include "shards/admin/part.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/call/session.h"

struct debug_row {
    const char *name;
    uint32_t words_min, words_max; /* DEBUG and the name included */
    command_fn check;              /* judges the words; NULL: any will do */
    command_fn run;                /* a shard's part; NULL: nothing */
    merge_fn merge;                /* NULL: +OK */
    const char *syntax, *brief;
};

static const struct debug_row *find_row(const struct call *call);

#define NAME_SAID_MAX 128u /* of an unknown subcommand, bytes */

static enum status fail_unknown(struct call *call)
{
    struct bytes name = call_arg(call, 1);
    int len = (int)(name.len < NAME_SAID_MAX ? name.len : NAME_SAID_MAX);
    return call_fail_text(
        call, "ERR unknown subcommand or wrong number of arguments for '%.*s'. Try DEBUG HELP.",
        len, name.ptr);
}

/* As atoi() reads a switch: what is no number is off. */
static bool is_on(const struct call *call, uint32_t index)
{
    int64_t number;
    return num_to_int(call_arg(call, index), &number) && number != 0;
}

static uint16_t shard_of(const struct call *call, uint32_t index)
{
    return call->slot_map[key_slot(call_arg(call, index))];
}

/* The key at word 2 has one shard, whose part is the reply. */
static void merge_of_key(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    reply_raw(call->reply, parts[shard_of(call, 2)]);
}

/* ---- Replies
 * ------------------------------------------------------------------------------------- */

static void reply_map_of_bools(struct reply *reply)
{
    reply_map(reply, 3);
    for (int i = 0; i < 3; i++) {
        reply_int(reply, i);
        reply_bool(reply, i == 1);
    }
}

static void reply_attributed(struct reply *reply)
{
    if (reply->resp >= 3) {
        reply_attribute(reply, 1);
        reply_bulk_text(reply, "key-popularity");
        reply_array(reply, 2);
        reply_bulk_text(reply, "key:123");
        reply_int(reply, 90);
    }
    reply_bulk_text(reply, "Some real reply following the attribute");
}

static void reply_pushed(struct reply *reply)
{
    if (reply->resp < 3) {
        reply_error(reply, BYTES("ERR RESP2 is not supported by this command"));
        return;
    }
    reply_push(reply, 2);
    reply_bulk_text(reply, "server-cpu-usage");
    reply_int(reply, 42);
    reply_bulk_text(reply, "Some real reply following the push reply");
}

/* The texts and numbers are Redis's: client libraries test against them. */
static void merge_protocol(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    struct reply *reply = call->reply;
    struct bytes type = call_arg(call, 2);
    if (bytes_is(type, "string"))
        reply_bulk_text(reply, "Hello World");
    else if (bytes_is(type, "integer"))
        reply_int(reply, 12345);
    else if (bytes_is(type, "double"))
        reply_double(reply, 3.141);
    else if (bytes_is(type, "bignum"))
        reply_big_number(reply, BYTES("1234567999999999999999999999999999999"));
    else if (bytes_is(type, "null"))
        reply_null(reply);
    else if (bytes_is(type, "true") || bytes_is(type, "false"))
        reply_bool(reply, bytes_is(type, "true"));
    else if (bytes_is(type, "verbatim"))
        reply_verbatim(reply, BYTES("This is a verbatim\nstring"), "txt");
    else if (bytes_is(type, "map"))
        reply_map_of_bools(reply);
    else if (bytes_is(type, "attrib"))
        reply_attributed(reply);
    else if (bytes_is(type, "push"))
        reply_pushed(reply);
    else {
        if (bytes_is(type, "set"))
            reply_set(reply, 3);
        else
            reply_array(reply, 3);
        for (int i = 0; i < 3; i++)
            reply_int(reply, i);
    }
}

static enum status check_protocol(struct call *call)
{
    static const char *const types[] = {"string", "integer", "double",  "bignum", "null",
                                        "array",  "set",     "map",     "attrib", "push",
                                        "true",   "false",   "verbatim"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (call_arg_is(call, 2, types[i]))
            return OK;
    return call_fail_text(call, "ERR Wrong protocol type name. Please use one of the following: "
                                "string|integer|double|bignum|null|array|set|map|attrib|push|"
                                "verbatim|true|false");
}

static void merge_error(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    reply_error(call->reply, call_arg(call, 2));
}

static void merge_log(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    struct bytes message = call_arg(call, 2);
    log_warn("debug.log", "message=\"%.*s\"", (int)message.len, message.ptr);
    reply_ok(call->reply);
}

static void merge_stringmatch(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    reply_int(call->reply, glob_matches(call_arg(call, 2), call_arg(call, 3)));
}

/* Stops the whole server: every shard's part lasts until the same time, whoever runs it and however
 * many of them one after the other. */
static enum status run_sleep(struct call *call)
{
    double seconds;
    if (!num_to_double(call_arg(call, 2), &seconds) || !(seconds > 0 && seconds < INT32_MAX))
        return OK;
    int64_t began_us = (call_now_ms(call) + 1) * 1000; /* or up to 1 ms earlier */
    double left = seconds - (double)(clock_wall_us() - began_us) / 1e6;
    if (left > 0) {
        time_t whole = (time_t)left;
        struct timespec pause = {whole, (long)((left - (double)whole) * 1e9)};
        nanosleep(&pause, NULL);
    }
    return OK;
}

/* ---- POPULATE
 * ------------------------------------------------------------------------------------ */

static enum status read_positive(struct call *call, uint32_t index, int64_t *out)
{
    if (call_arg_int(call, index, out) != OK || *out < 0)
        return call_fail_text(call, "ERR value is out of range, must be positive");
    return OK;
}

static enum status check_populate(struct call *call)
{
    int64_t number;
    TRY(read_positive(call, 2, &number));
    return call->arg_count == 5 ? read_positive(call, 4, &number) : OK;
}

/* Every shard goes through all names and makes those that are its own. */
static enum status run_populate(struct call *call)
{
    int64_t count, value_len = 0;
    TRY(read_positive(call, 2, &count));
    if (call->arg_count == 5)
        TRY(read_positive(call, 4, &value_len));
    struct bytes prefix = call->arg_count > 3 ? call_arg(call, 3) : BYTES("key");

    struct buf name = {0}, value = {0};
    for (int64_t i = 0; i < count; i++) {
        name.len = value.len = 0;
        buf_add_bytes(&name, prefix);
        buf_add_format(&name, ":%lld", (long long)i);
        if (call->slot_map[key_slot(buf_bytes(&name))] != call->shard->id)
            continue;
        struct key key = key_make(buf_bytes(&name));
        if (db_peek(call->db, &key))
            continue;
        buf_add_format(&value, "value:%lld", (long long)i);
        if (value_len > (int64_t)value.len) {
            size_t missing = (size_t)value_len - value.len;
            memset(buf_room(&value, missing), 0, missing);
        }
        if (value_len)
            value.len = (size_t)value_len;
        db_put_string(call->db, &key, buf_bytes(&value), DB_NO_EXPIRE);
    }
    buf_fini(&name);
    buf_fini(&value);
    return OK;
}

/* ---- DIGEST
 * -------------------------------------------------------------------------------------- */

struct digest_part {
    uint32_t index; /* of the database, or of the word that names the key */
    struct dataset_digest digest;
};

static enum status run_digest(struct call *call)
{
    struct buf content = {0};
    for (uint32_t i = 0; i < call->config->databases; i++) {
        struct db *db = call->shard->dbs[i];
        struct digest_part part = {.index = i};
        if (db_size(db) == 0)
            continue;
        dataset_digest_of_db(db, &part.digest);
        part_add(&content, &part, sizeof part);
    }
    part_write(call, &content);
    return OK;
}

static void merge_digest(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    uint32_t db_count = call->config->databases;
    struct dataset_digest *sums = arena_zalloc(call->arena, db_count * sizeof *sums);
    bool *has_keys = arena_zalloc(call->arena, db_count * sizeof *has_keys);
    for (uint32_t i = 0; i < part_count; i++)
        for (struct bytes content = part_open(parts[i]); content.len;) {
            struct digest_part part;
            part_take(&content, &part, sizeof part);
            dataset_digest_add(&sums[part.index], &part.digest);
            has_keys[part.index] = true;
        }
    struct dataset_digest all = {0};
    for (uint32_t i = 0; i < db_count; i++)
        if (has_keys[i])
            dataset_digest_mix_db(&all, i, &sums[i]);
    char hex[2 * DIGEST_SHA1_LEN + 1];
    dataset_digest_hex(&all, hex);
    reply_simple(call->reply, hex);
}

static enum status run_digest_value(struct call *call)
{
    struct buf content = {0};
    for (uint32_t i = 2; i < call->arg_count; i++) {
        if (shard_of(call, i) != call->shard->id)
            continue;
        struct digest_part part = {.index = i};
        const struct value *value = db_peek(call->db, call_key(call, i));
        if (value)
            dataset_digest_mix_value(&part.digest, value);
        part_add(&content, &part, sizeof part);
    }
    part_write(call, &content);
    return OK;
}

static void merge_digest_value(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    struct dataset_digest *digests = arena_zalloc(call->arena, call->arg_count * sizeof *digests);
    for (uint32_t i = 0; i < part_count; i++)
        for (struct bytes content = part_open(parts[i]); content.len;) {
            struct digest_part part;
            part_take(&content, &part, sizeof part);
            digests[part.index] = part.digest;
        }
    reply_array(call->reply, call->arg_count - 2);
    for (uint32_t i = 2; i < call->arg_count; i++) {
        char hex[2 * DIGEST_SHA1_LEN + 1];
        dataset_digest_hex(&digests[i], hex);
        reply_simple(call->reply, hex);
    }
}

/* ---- HTSTATS
 * ------------------------------------------------------------------------------------- */

static enum status check_htstats(struct call *call)
{
    int64_t index;
    TRY(call_arg_int(call, 2, &index));
    if (index < 0 || index >= call->config->databases)
        return call_fail_text(call, "ERR Out of range database");
    return OK;
}

static enum status run_htstats(struct call *call)
{
    int64_t index;
    TRY(call_arg_int(call, 2, &index));
    struct db_table_stats stats = db_table_stats(call->shard->dbs[index]);
    struct buf content = {0};
    part_add(&content, &stats, sizeof stats);
    part_write(call, &content);
    return OK;
}

static void add_table_stats(struct db_table_stats *sum, const struct db_table_stats *more)
{
    sum->keys += more->keys;
    sum->tables += more->tables;
    sum->buckets += more->buckets;
    sum->overflows += more->overflows;
    sum->bytes += more->bytes;
    for (uint32_t i = 0; i <= DB_TABLE_LEN_MAX; i++)
        sum->bucket_lens[i] += more->bucket_lens[i];
}

static void merge_htstats(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    struct db_table_stats sum = {0};
    for (uint32_t i = 0; i < part_count; i++) {
        struct db_table_stats stats;
        struct bytes content = part_open(parts[i]);
        part_take(&content, &stats, sizeof stats);
        add_table_stats(&sum, &stats);
    }
    struct buf text = {0};
    buf_add_text(&text, "[Dictionary HT]\nHash table 0 stats (main hash table):\n");
    if (sum.keys)
        debug_value_add_table(&text, &sum, call_arg_is(call, 3, "full"));
    else
        buf_add_text(&text, "No stats available for empty dictionaries\n");
    /* Times to live lie in the records. */
    buf_add_text(&text, "[Expires HT]\nHash table 0 stats (main hash table):\n"
                        "No stats available for empty dictionaries\n");
    reply_verbatim(call->reply, buf_bytes(&text), "txt");
    buf_fini(&text);
}

/* ---- Switches
 * ------------------------------------------------------------------------------------ */

static enum status run_active_expire(struct call *call)
{
    call->shard->active_expire = is_on(call, 2);
    return OK;
}

static enum status run_pause_cron(struct call *call)
{
    call->shard->is_cron_paused = is_on(call, 2);
    return OK;
}

#define PACKED_THRESHOLD_END (UINT64_C(4) << 30) /* bytes */

static enum status check_packed_threshold(struct call *call)
{
    uint64_t bytes;
    if (!option_parse_memory(call_arg(call, 2), &bytes) || bytes >= PACKED_THRESHOLD_END)
        return call_fail_text(
            call, "ERR argument must be a memory value bigger than 1 and smaller than 4gb");
    return OK;
}

static enum status check_replybuffer(struct call *call)
{
    int64_t ms;
    if (call_arg_is(call, 2, "resizing"))
        return OK;
    if (!call_arg_is(call, 2, "peak-reset-time"))
        return fail_unknown(call);
    return call_arg_is(call, 3, "never") || call_arg_is(call, 3, "reset")
               ? OK
               : call_arg_int(call, 3, &ms);
}

/* ---- The table
 * ----------------------------------------------------------------------------------- */

static void merge_help(struct call *call, const struct bytes *parts, uint32_t part_count);

/* clang-format off */
static const struct debug_row rows[] = {
    {"digest", 2, 2, NULL, run_digest, merge_digest,
     "", "Computes one number for all that is stored."},
    {"digest-value", 2, UINT32_MAX, NULL, run_digest_value, merge_digest_value,
     "<key> [<key> ...]", "Computes a number for each of these values."},
    {"error", 3, 3, NULL, NULL, merge_error,
     "<text>", "Answers with this error."},
    {"help", 2, 2, NULL, NULL, merge_help,
     "", "Lists the subcommands."},
    {"htstats", 3, 4, check_htstats, run_htstats, merge_htstats,
     "<db> [full]", "Describes the tables of a database, of all shards together."},
    {"htstats-key", 3, 4, NULL, debug_value_table, merge_of_key,
     "<key> [full]", "Describes the table that a value is kept in."},
    {"listpack", 3, 3, NULL, debug_value_listpack, merge_of_key,
     "<key>", "Describes a value that is kept as a listpack."},
    {"log", 3, 3, NULL, NULL, merge_log,
     "<text>", "Writes a line to the log."},
    {"object", 3, 3, NULL, debug_value_object, merge_of_key,
     "<key>", "Describes how a key is kept."},
    {"pause-cron", 3, 3, NULL, run_pause_cron, NULL,
     "<0|1>", "Stops the work of the shards that is done from time to time."},
    {"populate", 3, 5, check_populate, run_populate, NULL,
     "<count> [<prefix>] [<size>]", "Makes keys key:0, key:1, ... that are not there yet."},
    {"protocol", 3, 3, check_protocol, NULL, merge_protocol,
     "<type>", "Answers with a reply of this type of the protocol."},
    {"quicklist", 3, 4, NULL, debug_value_quicklist, merge_of_key,
     "<key> [<0|1>]", "Describes a value that is kept as a list of listpacks."},
    {"quicklist-packed-threshold", 3, 3, check_packed_threshold, NULL, NULL,
     "<bytes>", "Accepted for test suites; a text has a node of its own when it fits no other."},
    {"replybuffer", 4, 4, check_replybuffer, NULL, NULL,
     "PEAK-RESET-TIME <ms|NEVER|RESET> | RESIZING <0|1>",
     "Accepted for test suites; reply buffers do not shrink by themselves here."},
    {"set-active-expire", 3, 3, NULL, run_active_expire, NULL,
     "<0|1>", "Stops or resumes deleting expired keys that nobody asks for."},
    {"set-disable-deny-scripts", 3, 3, NULL, NULL, NULL,
     "<0|1>", "Accepted for test suites; there are no scripts yet."},
    {"sleep", 3, 3, NULL, run_sleep, NULL,
     "<seconds>", "Stops the server for that long: nothing is run meanwhile."},
    {"stringmatch-len", 4, 4, NULL, NULL, merge_stringmatch,
     "<pattern> <text>", "Tells whether a pattern matches a text: 1 or 0."},
};
/* clang-format on */

static const struct debug_row *find_row(const struct call *call)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (call_arg_is(call, 1, rows[i].name) && call->arg_count >= rows[i].words_min &&
            call->arg_count <= rows[i].words_max)
            return &rows[i];
    return NULL;
}

static void merge_help(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    size_t count = sizeof rows / sizeof rows[0];
    reply_array(call->reply, 1 + 2 * count);
    reply_simple(call->reply,
                 "DEBUG <subcommand> [<arg> [value] [opt] ...]. These are its subcommands:");
    for (size_t i = 0; i < count; i++) {
        struct buf line = {0};
        for (const char *c = rows[i].name; *c; c++)
            buf_add_char(&line, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
        buf_add_format(&line, "%s%s", rows[i].syntax[0] ? " " : "", rows[i].syntax);
        buf_add_char(&line, '\0');
        reply_simple(call->reply, line.ptr);
        reply_simple(call->reply, arena_format(call->arena, "    %s", rows[i].brief));
        buf_fini(&line);
    }
}

/* Inside EXEC there is no session to look at: then only "yes" is a permission. */
static bool is_allowed(const struct call *call)
{
    enum protected_word word = call->config->enable_debug_command;
    return word == PROTECTED_YES ||
           (word == PROTECTED_LOCAL && call->session && addr_is_local(&call->session->conn->peer));
}

static enum status check_debug(struct call *call)
{
    if (!is_allowed(call))
        return call_fail_text(
            call, "ERR DEBUG command not allowed. If the enable-debug-command option is set to "
                  "\"local\", you can run it from a local connection, otherwise you need to set "
                  "this option in the configuration file, and then restart the server.");
    const struct debug_row *row = find_row(call);
    if (!row)
        return fail_unknown(call);
    return row->check ? row->check(call) : OK;
}

/* A part always has a reply, so that parts can be told apart. */
static enum status cmd_debug(struct call *call)
{
    const struct debug_row *row = find_row(call);
    size_t mark = reply_mark(call->reply);
    if (row->run)
        TRY(row->run(call));
    if (reply_mark(call->reply) == mark)
        reply_ok(call->reply);
    return OK;
}

static void merge_debug(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    const struct debug_row *row = find_row(call);
    (row->merge ? row->merge : merge_ok)(call, parts, part_count);
}

/* clang-format off */
const struct command debug_commands[] = {
    {.name = "debug", .arity = -2, .run = cmd_debug, .check = check_debug, .plan = PLAN_ALL, .merge = merge_debug,
     .flags = CMD_SYSCMD | CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE,
     .syntax = "", .since = "1.0.0", .cost = "that of the subcommand",
     .brief = "Looks inside the server, and sets it up for tests."},
    {0},
};
/* clang-format on */
