#include "shards/admin/memory_use.h"

#include "core/os/usage.h"
#include "shards/admin/client_info.h"
#include "shards/admin/home_admin.h"
#include "shards/local/db.h"
#include "shards/local/shard.h"
#include "shards/route/home.h"

struct memory_parts memory_parts_of(struct home *home)
{
    struct memory_parts parts = {.startup_bytes = home->admin->startup_used_bytes};
    for (struct session *session = home_first_session(home); session;
         session = home_next_session(session))
        parts.client_bytes += client_info_bytes(session);
    for (uint32_t i = 0; i < home->shard->config->databases; i++) {
        parts.keys += db_size(home->shard->dbs[i]);
        parts.table_bytes += db_table_bytes(home->shard->dbs[i]);
    }
    return parts;
}

void memory_parts_add(struct memory_parts *sum, const struct memory_parts *more)
{
    if (sum->startup_bytes == 0)
        sum->startup_bytes = more->startup_bytes;
    sum->client_bytes += more->client_bytes;
    sum->table_bytes += more->table_bytes;
    sum->keys += more->keys;
}

static size_t beyond(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

struct memory_use memory_use_of(const struct memory_parts *parts)
{
    struct memory_use use = {
        .parts = *parts,
        .used_bytes = mem_used(),
        .peak_bytes = mem_used_peak(),
        .resident_bytes = usage_resident_bytes(),
        .allocator = mem_allocator_stats(),
    };
    if (use.peak_bytes < use.used_bytes)
        use.peak_bytes = use.used_bytes;
    if (use.allocator.allocated == 0)
        use.allocator = (struct mem_allocator_stats){use.used_bytes, use.used_bytes,
                                                     use.resident_bytes};
    use.overhead_bytes = parts->startup_bytes + parts->client_bytes + parts->table_bytes;
    if (use.overhead_bytes > use.used_bytes)
        use.overhead_bytes = use.used_bytes;
    use.dataset_bytes = use.used_bytes - use.overhead_bytes;
    use.net_bytes = beyond(use.used_bytes, parts->startup_bytes);
    return use;
}

double memory_use_dataset_percent(const struct memory_use *use)
{
    return 100 * memory_use_ratio((double)use->dataset_bytes, (double)use->net_bytes);
}

double memory_use_peak_percent(const struct memory_use *use)
{
    return 100 * memory_use_ratio((double)use->used_bytes, (double)use->peak_bytes);
}
