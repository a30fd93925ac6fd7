/* How: two lists side by side. The order of families is the order of COMMAND's reply. */
#include "shards/commands.h"

#include <stddef.h>

/* One line a family: its table, and its group in COMMAND DOCS. */
#define FAMILIES(FAMILY)                                                                           \
    FAMILY(string_commands, "string")                                                              \
    FAMILY(string_many_commands, "string")                                                         \
    FAMILY(string_range_commands, "string")                                                        \
    FAMILY(string_if_commands, "string")                                                           \
    FAMILY(counter_commands, "string")                                                             \
    FAMILY(lcs_commands, "string")                                                                 \
    FAMILY(list_commands, "list")                                                                  \
    FAMILY(list_pop_commands, "list")                                                              \
    FAMILY(hash_commands, "hash")                                                                  \
    FAMILY(hash_whole_commands, "hash")                                                            \
    FAMILY(hash_ttl_commands, "hash")                                                              \
    FAMILY(hash_getex_commands, "hash")                                                            \
    FAMILY(set_commands, "set")                                                                    \
    FAMILY(set_whole_commands, "set")                                                              \
    FAMILY(set_algebra_commands, "set")                                                            \
    FAMILY(zset_commands, "sorted-set")                                                            \
    FAMILY(zset_range_commands, "sorted-set")                                                      \
    FAMILY(zset_pick_commands, "sorted-set")                                                       \
    FAMILY(zset_algebra_commands, "sorted-set")                                                    \
    FAMILY(geo_commands, "geo")                                                                    \
    FAMILY(geo_search_commands, "geo")                                                             \
    FAMILY(bits_commands, "bitmap")                                                                \
    FAMILY(bits_field_commands, "bitmap")                                                          \
    FAMILY(hll_commands, "hyperloglog")                                                            \
    FAMILY(hll_debug_commands, "hyperloglog")                                                      \
    FAMILY(stream_commands, "stream")                                                              \
    FAMILY(stream_read_commands, "stream")                                                         \
    FAMILY(stream_info_commands, "stream")                                                         \
    FAMILY(stream_group_commands, "stream")                                                        \
    FAMILY(stream_group_read_commands, "stream")                                                   \
    FAMILY(stream_pending_commands, "stream")                                                      \
    FAMILY(stream_claim_commands, "stream")                                                        \
    FAMILY(stream_delete_ref_commands, "stream")                                                   \
    FAMILY(sort_commands, "generic")                                                               \
    FAMILY(dump_commands, "generic")                                                               \
    FAMILY(key_commands, "generic")                                                                \
    FAMILY(expire_commands, "generic")                                                             \
    FAMILY(keyspace_commands, "server")                                                            \
    FAMILY(scan_commands, "generic")                                                               \
    FAMILY(object_commands, "generic")                                                             \
    FAMILY(multi_commands, "transactions")                                                         \
    FAMILY(conn_commands, "connection")                                                            \
    FAMILY(client_commands, "connection")                                                          \
    FAMILY(server_commands, "server")                                                              \
    FAMILY(config_commands, "server")                                                              \
    FAMILY(command_commands, "server")                                                             \
    FAMILY(info_commands, "server")                                                                \
    FAMILY(memory_commands, "server")                                                              \
    FAMILY(debug_commands, "server")                                                               \
    FAMILY(function_commands, "scripting")                                                         \
    FAMILY(slowlog_commands, "server")                                                             \
    FAMILY(latency_commands, "server")                                                             \
    FAMILY(monitor_commands, "server")

#define DECLARE(table, group) extern const struct command table[];
FAMILIES(DECLARE)

#define TABLE(table, group) table,
const struct command *const command_families[] = {FAMILIES(TABLE) NULL};

#define GROUP(table, group) group,
const char *const command_family_groups[] = {FAMILIES(GROUP) NULL};
