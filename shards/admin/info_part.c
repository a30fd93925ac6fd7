/*
 * How: a part is struct info_numbers as it lies in memory, the databases, the errors, and, if
 * wanted, the commands that have been called and their histograms; each list with its length before
 * it.
 */
#include "shards/admin/info_part.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "shards/admin/histogram_part.h"
#include "shards/admin/home_admin.h"
#include "shards/admin/part.h"
#include "shards/call/command_table.h"
#include "shards/local/shard.h"
#include "shards/local/wait.h"

/* Numbers are added up as the array of words that they are. */
static_assert(sizeof(struct info_numbers) % sizeof(uint64_t) == 0, "info_numbers holds words");

/* ---- Taking ---- */

static void look_at_clients(struct info_numbers *numbers, struct home *home)
{
    for (struct session *session = home_first_session(home); session;
         session = home_next_session(session)) {
        const struct conn *conn = session->conn;
        uint64_t input = conn->in.cap, output = conn->out.cap + conn->sending.cap;
        numbers->clients++;
        numbers->paused_clients += session->paused;
        if (input > numbers->max_input_bytes)
            numbers->max_input_bytes = input;
        if (output > numbers->max_output_bytes)
            numbers->max_output_bytes = output;
    }
}

static void write_dbs(struct buf *content, const struct shard *shard, uint32_t count)
{
    part_add(content, &count, sizeof(count));
    for (uint32_t i = 0; i < count; i++) {
        const struct db *db = shard->dbs[i];
        struct info_db info = {
            .keys = db_size(db), .expires = db_expires(db), .subexpires = db_subexpires(db)};
        info.ttl_sum_ms = (double)db_avg_ttl_ms(db) * (double)info.expires;
        part_add(content, &info, sizeof(info));
    }
}

static bool was_called(const struct command_stat *stat)
{
    return stat->calls || stat->rejected || stat->failed;
}

static void write_commands(struct buf *content, const struct command_stats *stats)
{
    uint32_t called = 0;
    for (uint32_t id = 0; id < command_count(); id++)
        called += was_called(&stats->commands[id]);
    part_add(content, &called, sizeof(called));
    for (uint32_t id = 0; id < command_count(); id++) {
        if (!was_called(&stats->commands[id]))
            continue;
        part_add(content, &id, sizeof(id));
        part_add(content, &stats->commands[id], sizeof(stats->commands[id]));
    }
}

void info_part_write(struct buf *content, struct home *home, uint32_t wants)
{
    const struct home_admin *admin = home->admin;
    const struct command_stats *stats = home->command_stats;
    struct info_numbers numbers = {
        .home = home->stats,
        .cpu = home->cpu,
        .shard = home->shard->stats,
        .net = home_admin_net(home),
        .rates = {rate_per_second(&admin->commands_rate), rate_per_second(&admin->input_rate),
                  rate_per_second(&admin->output_rate), rate_per_second(&admin->turns_rate)},
        .waited_keys = wait_key_count(home->shard->waits),
        .waited_keys_any_change = wait_any_change_key_count(home->shard->waits),
        .denied_auth = admin->denied_auth,
        .errors_total = stats->errors_total,
        .heap_bytes = heap_used(home->shard->heap),
        .memory = memory_parts_of(home),
    };
    look_at_clients(&numbers, home);
    part_add(content, &numbers, sizeof(numbers));
    write_dbs(content, home->shard, home->config->databases);
    part_add(content, &stats->error_count, sizeof(stats->error_count));
    part_add(content, stats->errors, stats->error_count * sizeof(stats->errors[0]));
    if (wants & INFO_WANTS_COMMANDS) {
        write_commands(content, stats);
    } else {
        part_add(content, &(uint32_t){0}, sizeof(uint32_t));
    }
    for (uint32_t id = 0; wants & INFO_WANTS_LATENCIES && id < command_count(); id++) {
        if (stats->latency[id])
            histogram_part_add(content, (uint16_t)id, stats->latency[id]);
    }
}

/* ---- Adding up ---- */

static void add_words(void *to, const void *from, size_t len)
{
    uint64_t *sum = to;
    const uint64_t *more = from;
    for (size_t i = 0; i < len / sizeof(*sum); i++)
        sum[i] += more[i];
}

static void add_numbers(struct info_numbers *to, const struct info_numbers *from)
{
    struct info_numbers before = *to;
    add_words(to, from, sizeof(*to));
    /* What is the largest or the first of all, not their sum. */
    to->max_input_bytes = before.max_input_bytes > from->max_input_bytes ? before.max_input_bytes
                                                                         : from->max_input_bytes;
    to->max_output_bytes = before.max_output_bytes > from->max_output_bytes
                               ? before.max_output_bytes
                               : from->max_output_bytes;
    to->memory = before.memory;
    memory_parts_add(&to->memory, &from->memory);
}

static void add_error(struct info_sums *sums, const struct command_error *more)
{
    for (uint32_t i = 0; i < sums->error_count; i++) {
        if (strcmp(sums->errors[i].code, more->code) == 0) {
            sums->errors[i].count += more->count;
            return;
        }
    }
    sums->errors[sums->error_count++] = *more;
}

static int by_code(const void *a, const void *b)
{
    return strcmp(((const struct command_error *)a)->code, ((const struct command_error *)b)->code);
}

static void take_dbs(struct info_sums *sums, struct bytes *content)
{
    uint32_t count;
    part_take(content, &count, sizeof(count));
    if (!sums->dbs) {
        sums->db_count = count;
        sums->dbs = mem_zalloc(count * sizeof(*sums->dbs));
    }
    ASSERT(count == sums->db_count);
    for (uint32_t i = 0; i < count; i++) {
        struct info_db more;
        part_take(content, &more, sizeof(more));
        sums->dbs[i].keys += more.keys;
        sums->dbs[i].expires += more.expires;
        sums->dbs[i].subexpires += more.subexpires;
        sums->dbs[i].ttl_sum_ms += more.ttl_sum_ms;
    }
}

static void take_errors(struct info_sums *sums, struct bytes *content)
{
    uint32_t count;
    part_take(content, &count, sizeof(count));
    sums->errors = mem_realloc(sums->errors,
                               (sums->error_count + count + 1) * sizeof(*sums->errors));
    for (uint32_t i = 0; i < count; i++) {
        struct command_error error;
        part_take(content, &error, sizeof(error));
        add_error(sums, &error);
    }
}

static void take_commands(struct info_sums *sums, struct bytes *content)
{
    uint32_t count;
    part_take(content, &count, sizeof(count));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id;
        struct command_stat stat;
        part_take(content, &id, sizeof(id));
        part_take(content, &stat, sizeof(stat));
        add_words(&sums->commands[id], &stat, sizeof(stat));
    }
}

void info_sums_init(struct info_sums *sums, const struct bytes *contents, uint32_t count)
{
    *sums = (struct info_sums){
        .threads = mem_zalloc(count * sizeof(*sums->threads)),
        .thread_count = count,
        .commands = mem_zalloc((command_count() + 1) * sizeof(*sums->commands)),
        .latencies = mem_zalloc((command_count() + 1) * sizeof(*sums->latencies)),
    };
    for (uint32_t i = 0; i < count; i++) {
        struct bytes content = contents[i];
        part_take(&content, &sums->threads[i], sizeof(sums->threads[i]));
        add_numbers(&sums->all, &sums->threads[i]);
        take_dbs(sums, &content);
        take_errors(sums, &content);
        take_commands(sums, &content);
        while (content.len)
            histogram_part_take(&content, sums->latencies);
    }
    if (sums->error_count)
        qsort(sums->errors, sums->error_count, sizeof(*sums->errors), by_code);
}

void info_sums_fini(struct info_sums *sums)
{
    for (uint32_t id = 0; id < command_count(); id++)
        mem_free(sums->latencies[id]);
    mem_free(sums->latencies);
    mem_free(sums->commands);
    mem_free(sums->threads);
    mem_free(sums->dbs);
    mem_free(sums->errors);
    *sums = (struct info_sums){0};
}
