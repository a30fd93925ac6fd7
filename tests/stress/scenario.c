#include "tests/stress/scenario.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/check.h"

uint64_t scenario_checks[SCENARIO_COUNT];
bool scenario_is_broken[SCENARIO_COUNT];

const char *scenario_keys(const char *command, const char *name, uint32_t group, uint32_t count,
                          uint32_t first, const int64_t *value)
{
    static char text[1024];
    int len = snprintf(text, sizeof(text), "%s", command);
    for (uint32_t i = 0; i < count; i++) {
        len += snprintf(text + len, sizeof(text) - (size_t)len, " %s:%u:%u", name, group,
                        (first + i) % count);
        if (value)
            len += snprintf(text + len, sizeof(text) - (size_t)len, " %" PRId64, *value);
    }
    ASSERT((size_t)len < sizeof(text));
    return text;
}

void scenario_connect(const struct client_options *options, const struct role *role,
                      uint32_t groups, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        client_connect(options, role, i % groups);
}

const struct scenario scenarios[SCENARIO_COUNT] = {
    [SCENARIO_TWINS] = {"twins", twins_start},    [SCENARIO_ORDER] = {"order", order_start},
    [SCENARIO_RING] = {"ring", ring_start},       [SCENARIO_SWAP] = {"swap", swap_start},
    [SCENARIO_FLUSH] = {"flush", flush_start},    [SCENARIO_BANK] = {"bank", bank_start},
    [SCENARIO_LOCK] = {"lock", lock_start},       [SCENARIO_OWN] = {"own", own_start},
    [SCENARIO_CONFIG] = {"config", config_start}, [SCENARIO_HEAVY] = {"heavy", heavy_start},
    [SCENARIO_BIG] = {"big", big_start},
};
