/*
 * memory_cmd: MEMORY: what a key takes, what the whole takes, what to think of that.
 *
 * STATS and DOCTOR visit every thread, as INFO does: a part is the numbers of one thread and its
 * shard, and one entry a database.
 */
#include "core/base/heap.h"
#include "core/base/mem.h"
#include "shards/admin/memory_use.h"
#include "shards/admin/part.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/call/help.h"

/* ---- USAGE
 * --------------------------------------------------------------------------------------- */

/* A record knows what it takes, so nothing is sampled; SAMPLES is read and checked all the same. */
static enum status cmd_usage(struct call *call)
{
    for (uint32_t i = 3; i < call->arg_count; i += 2) {
        int64_t samples;
        if (!call_arg_is(call, i, "SAMPLES") || i + 1 == call->arg_count)
            return ERR_SYNTAX;
        TRY(call_arg_int(call, i + 1, &samples));
        if (samples < 0)
            return ERR_SYNTAX;
    }
    const struct value *value = db_peek(call_db(call, 2), call_key(call, 2));
    if (value)
        reply_int(call->reply, (int64_t)value_bytes(value));
    else
        reply_null(call->reply);
    return OK;
}

/* ---- Parts of STATS and DOCTOR
 * ------------------------------------------------------------------- */

struct memory_db {
    uint64_t keys, table_bytes;
};

struct memory_sums {
    struct memory_parts parts;
    struct memory_db *dbs;
    uint32_t db_count;
};

static enum status write_numbers(struct call *call)
{
    struct memory_parts parts = memory_parts_of(call->home);
    uint32_t db_count = call->config->databases;
    struct memory_db *dbs = arena_alloc(call->arena, db_count * sizeof *dbs);
    for (uint32_t i = 0; i < db_count; i++) {
        const struct db *db = call->shard->dbs[i];
        dbs[i] = (struct memory_db){.keys = db_size(db), .table_bytes = db_table_bytes(db)};
    }
    struct buf content = {0};
    part_add(&content, &parts, sizeof parts);
    part_add_bytes(&content, bytes_of(dbs, db_count * sizeof *dbs));
    part_write(call, &content);
    return OK;
}

static void add_part(struct memory_sums *sums, struct bytes content)
{
    struct memory_parts parts;
    part_take(&content, &parts, sizeof parts);
    memory_parts_add(&sums->parts, &parts);

    struct bytes dbs = part_take_bytes(&content);
    ASSERT(dbs.len == sums->db_count * sizeof(struct memory_db));
    for (uint32_t i = 0; i < sums->db_count; i++) {
        struct memory_db more;
        part_take(&dbs, &more, sizeof more);
        sums->dbs[i].keys += more.keys;
        sums->dbs[i].table_bytes += more.table_bytes;
    }
}

static struct memory_sums add_up(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    uint32_t db_count = call->config->databases;
    struct memory_sums sums = {
        .dbs = arena_zalloc(call->arena, db_count * sizeof(struct memory_db)),
        .db_count = db_count,
    };
    for (uint32_t i = 0; i < part_count; i++)
        add_part(&sums, part_open(parts[i]));
    return sums;
}

/* ---- STATS
 * --------------------------------------------------------------------------------------- */

static void put_int(struct call *call, const char *name, int64_t value)
{
    reply_bulk_text(call->reply, name);
    reply_int(call->reply, value);
}

static void put_double(struct call *call, const char *name, double value)
{
    reply_bulk_text(call->reply, name);
    reply_double(call->reply, value);
}

static size_t put_dbs(struct call *call, const struct memory_sums *sums)
{
    size_t count = 0;
    for (uint32_t i = 0; i < sums->db_count; i++) {
        if (sums->dbs[i].keys == 0)
            continue;
        reply_bulk_text(call->reply, arena_format(call->arena, "db.%u", i));
        reply_map(call->reply, 3);
        put_int(call, "overhead.hashtable.main", (int64_t)sums->dbs[i].table_bytes);
        put_int(call, "overhead.hashtable.expires", 0);      /* times to live lie in the records */
        put_int(call, "overhead.hashtable.slot-to-keys", 0); /* tables are by slot anyway */
        count++;
    }
    return count;
}

/* Two ways from what we hand out to what is resident: pages not full, and pages not given back. */
static size_t put_fragmentation(struct call *call, const struct memory_use *use)
{
    double allocated = (double)use->allocator.allocated, active = (double)use->allocator.active;
    double kept = (double)use->allocator.resident, resident = (double)use->resident_bytes;
    double used = (double)use->used_bytes;
    put_int(call, "allocator.allocated", (int64_t)allocated);
    put_int(call, "allocator.active", (int64_t)active);
    put_int(call, "allocator.resident", (int64_t)kept);
    put_double(call, "allocator-fragmentation.ratio", memory_use_ratio(active, allocated));
    put_int(call, "allocator-fragmentation.bytes", (int64_t)(active - allocated));
    put_double(call, "allocator-rss.ratio", memory_use_ratio(kept, active));
    put_int(call, "allocator-rss.bytes", (int64_t)(kept - active));
    put_double(call, "rss-overhead.ratio", memory_use_ratio(resident, kept));
    put_int(call, "rss-overhead.bytes", (int64_t)(resident - kept));
    put_double(call, "fragmentation", memory_use_ratio(resident, used));
    put_int(call, "fragmentation.bytes", (int64_t)(resident - used));
    return 11;
}

static void merge_stats(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    struct memory_sums sums = add_up(call, parts, part_count);
    struct memory_use use = memory_use_of(&sums.parts);
    uint64_t keys = use.parts.keys;

    size_t mark = reply_mark(call->reply), count = 0;
    put_int(call, "peak.allocated", (int64_t)use.peak_bytes);
    put_int(call, "total.allocated", (int64_t)use.used_bytes);
    put_int(call, "startup.allocated", (int64_t)use.parts.startup_bytes);
    put_int(call, "replication.backlog", 0);
    put_int(call, "clients.slaves", 0);
    put_int(call, "clients.normal", (int64_t)use.parts.client_bytes);
    put_int(call, "cluster.links", 0);
    put_int(call, "aof.buffer", 0);
    put_int(call, "lua.caches", 0);
    put_int(call, "functions.caches", 0);
    count += 10 + put_dbs(call, &sums);
    put_int(call, "overhead.total", (int64_t)use.overhead_bytes);
    put_int(call, "keys.count", (int64_t)keys);
    put_int(call, "keys.bytes-per-key", keys ? (int64_t)(use.net_bytes / keys) : 0);
    put_int(call, "dataset.bytes", (int64_t)use.dataset_bytes);
    put_double(call, "dataset.percentage", memory_use_dataset_percent(&use));
    put_double(call, "peak.percentage", memory_use_peak_percent(&use));
    count += 6 + put_fragmentation(call, &use);
    reply_map_at(call->reply, mark, count);
}

/* ---- DOCTOR
 * -------------------------------------------------------------------------------------- */

#define DOCTOR_SMALL_BYTES (5u << 20)  /* below this, ratios say nothing */
#define DOCTOR_PEAK_RATIO 1.5          /* of the peak to what is used now */
#define DOCTOR_FRAGMENTATION_RATIO 1.4 /* of resident to used */
#define DOCTOR_WASTE_BYTES (10u << 20) /* what is less than this does not matter */
#define DOCTOR_CLIENT_SHARE 0.25       /* of all memory */

static void advise(struct buf *text, const struct memory_use *use)
{
    double used = (double)use->used_bytes, resident = (double)use->resident_bytes;
    if (used < DOCTOR_SMALL_BYTES) {
        buf_add_text(text, "The server is all but empty: with so little in memory, ratios mean "
                           "nothing. Ask again when there are data.\n");
        return;
    }
    size_t healthy_len = text->len;
    if (memory_use_ratio((double)use->peak_bytes, used) > DOCTOR_PEAK_RATIO)
        buf_add_format(
            text,
            "* Peak: %.1f times of what is used now was needed before. Until MEMORY PURGE "
            "the process may look larger than its data.\n",
            memory_use_ratio((double)use->peak_bytes, used));
    if (memory_use_ratio(resident, used) > DOCTOR_FRAGMENTATION_RATIO &&
        resident - used > DOCTOR_WASTE_BYTES)
        buf_add_format(
            text,
            "* Fragmentation: the process takes %.2f times what its data need. After many "
            "deletions this goes away as keys are written; MEMORY PURGE gives unused pages "
            "back now.\n",
            memory_use_ratio(resident, used));
    if (memory_use_ratio((double)use->parts.client_bytes, used) > DOCTOR_CLIENT_SHARE)
        buf_add_format(
            text,
            "* Clients: their buffers take %.0f%% of all memory. CLIENT LIST shows which: "
            "look for large qbuf, omem and tot-mem.\n",
            100 * memory_use_ratio((double)use->parts.client_bytes, used));
    if (text->len == healthy_len)
        buf_add_text(text, "Nothing wrong with the memory of this server.\n");
}

static void merge_doctor(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    struct memory_sums sums = add_up(call, parts, part_count);
    struct buf text = {0};
    struct memory_use use = memory_use_of(&sums.parts);
    advise(&text, &use);
    reply_verbatim(call->reply, buf_bytes(&text), "txt");
    buf_fini(&text);
}

/* ---- PURGE, MALLOC-STATS
 * ------------------------------------------------------------------------- */

static enum status cmd_purge(struct call *call)
{
    heap_tend(call->shard->heap);
    shard_give_back(call->shard, true);
    reply_ok(call->reply);
    return OK;
}

static void merge_purge(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    mem_release_unused();
    reply_ok(call->reply);
}

static void add_report(void *context, const char *text)
{
    buf_add_text(context, text);
}

static enum status cmd_malloc_stats(struct call *call)
{
    struct buf text = {0};
    mem_allocator_report(add_report, &text);
    reply_verbatim(call->reply, buf_bytes(&text), "txt");
    buf_fini(&text);
    return OK;
}

/* ---- Rows
 * ---------------------------------------------------------------------------------------- */

#define LOOKED_AT "nondeterministic_output,request_policy:all_shards,response_policy:special"

/* clang-format off */
static const struct command memory_subcommands[] = {
    {.name = "doctor", .arity = 2, .run = write_numbers, .plan = PLAN_ALL, .merge = merge_doctor, .flags = CMD_LOOKS,
     .syntax = "", .since = "4.0.0", .cost = "O(1)", .tips = LOOKED_AT,
     .brief = "Says what is odd about the server's use of memory, and what to do."},
    {.name = "help", .arity = 2, .run = help_run, .plan = PLAN_HERE, .flags = CMD_LOADING | CMD_STALE,
     .syntax = "", .since = "4.0.0", .cost = "O(1)", .brief = "Lists the subcommands."},
    {.name = "malloc-stats", .arity = 2, .run = cmd_malloc_stats, .plan = PLAN_HERE,
     .syntax = "", .since = "4.0.0", .cost = "grows with the memory in use", .tips = LOOKED_AT,
     .brief = "Shows the allocator's own report."},
    {.name = "purge", .arity = 2, .run = cmd_purge, .plan = PLAN_ALL, .merge = merge_purge, .flags = CMD_LOOKS,
     .syntax = "", .since = "4.0.0", .cost = "grows with the memory in use",
     .tips = "request_policy:all_shards,response_policy:all_succeeded",
     .brief = "Gives memory that is not in use back to the system."},
    {.name = "stats", .arity = 2, .run = write_numbers, .plan = PLAN_ALL, .merge = merge_stats, .flags = CMD_LOOKS,
     .syntax = "", .since = "4.0.0", .cost = "O(1)", .tips = LOOKED_AT,
     .brief = "Shows in numbers what the server's memory is used for."},
    {.name = "usage", .arity = -3, .run = cmd_usage, .plan = PLAN_ONE, .flags = CMD_READONLY,
     .keys = {{.flags = KEY_RO, .index = 2, .last = 0, .step = 1}},
     .syntax = "key [SAMPLES count]", .since = "4.0.0", .cost = "O(1)",
     .brief = "Tells how many bytes a key and its value take."},
    {0},
};

const struct command memory_commands[] = {
    {.name = "memory", .arity = -2, .subcommands = memory_subcommands,
     .since = "4.0.0", .cost = "that of the subcommand", .brief = "What memory is used for."},
    {0},
};
/* clang-format on */
