/*
 * How: arrays by command id. Error codes are few and rare, so they are searched one by one.
 */
#include "shards/call/command_stats.h"

#include "core/base/mem.h"
#include "shards/call/command_table.h"

struct command_stats *command_stats_create(void)
{
    struct command_stats *stats = mem_zalloc(sizeof(*stats));
    uint32_t count = command_count();
    stats->commands = mem_zalloc((count + 1) * sizeof(*stats->commands));
    stats->latency = mem_zalloc((count + 1) * sizeof(*stats->latency));
    stats->tracks_latency = true;
    return stats;
}

static void free_latency(struct command_stats *stats)
{
    for (uint32_t id = 0; id < command_count(); id++) {
        mem_free(stats->latency[id]);
        stats->latency[id] = NULL;
    }
}

void command_stats_destroy(struct command_stats *stats)
{
    if (!stats)
        return;
    free_latency(stats);
    mem_free(stats->latency);
    mem_free(stats->commands);
    mem_free(stats);
}

void command_stats_reset(struct command_stats *stats)
{
    memset(stats->commands, 0, command_count() * sizeof(*stats->commands));
    free_latency(stats);
    stats->error_count = 0;
    stats->errors_total = 0;
}

struct histogram *command_stats_make_latency(struct command_stats *stats, uint16_t id)
{
    stats->latency[id] = mem_zalloc(sizeof(struct histogram));
    return stats->latency[id];
}

void command_stats_count_error(struct command_stats *stats, struct bytes text)
{
    stats->errors_total++;
    size_t len = 0;
    while (len < text.len && len < COMMAND_STATS_CODE_MAX - 1 && text.ptr[len] != ' ')
        len++;
    for (uint32_t i = 0; i < stats->error_count; i++) {
        struct command_error *error = &stats->errors[i];
        if (strlen(error->code) == len && memcmp(error->code, text.ptr, len) == 0) {
            error->count++;
            return;
        }
    }
    if (stats->error_count == COMMAND_STATS_ERRORS_MAX)
        return;
    struct command_error *error = &stats->errors[stats->error_count++];
    memcpy(error->code, text.ptr, len);
    error->code[len] = '\0';
    error->count = 1;
}
