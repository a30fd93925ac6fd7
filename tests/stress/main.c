/*
 * stress: is a running server atomic, and in order, as seen from outside?
 *
 *     stress --port N [--host A] [--seconds N] [--connections N] [--seed N] [--stall N]
 *            [--only A,B]     these scenarios instead of all at once
 *            [--broken NAME]  that scenario's writers break the promise: this must be found
 *
 * Ends with status 0 when nothing is wrong and everything was looked at, 1 when something is, 2
 * when the server cannot be reached.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stress/client.h"
#include "tests/stress/scenario.h"

/* The set of the scenarios in a comma-separated list. */
static uint32_t find(const char *names)
{
    uint32_t set = 0;
    while (*names) {
        size_t len = strcspn(names, ",");
        uint32_t before = set;
        for (int i = 0; i < SCENARIO_COUNT; i++)
            if (strlen(scenarios[i].name) == len && strncmp(scenarios[i].name, names, len) == 0)
                set |= 1u << i;
        if (set == before) {
            fprintf(stderr, "stress: no scenario '%s'\n", names);
            exit(2);
        }
        names += len + (names[len] == ',');
    }
    return set;
}

int main(int argc, char **argv)
{
    struct client_options options = {
        .host = "127.0.0.1", .seconds = 10, .stall_seconds = 5, .seed = 1};
    uint32_t wanted = (1u << SCENARIO_COUNT) - 1, broken = 0; /* sets of scenarios */
    uint32_t connections = 100;
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *value = argv[i + 1];
        if (strcmp(argv[i], "--port") == 0) {
            options.port = (uint16_t)strtoul(value, NULL, 10);
        } else if (strcmp(argv[i], "--host") == 0) {
            options.host = value;
        } else if (strcmp(argv[i], "--seconds") == 0) {
            options.seconds = strtod(value, NULL);
        } else if (strcmp(argv[i], "--connections") == 0) {
            connections = (uint32_t)strtoul(value, NULL, 10);
        } else if (strcmp(argv[i], "--seed") == 0) {
            options.seed = strtoull(value, NULL, 10);
        } else if (strcmp(argv[i], "--stall") == 0) {
            options.stall_seconds = strtod(value, NULL);
        } else if (strcmp(argv[i], "--only") == 0) {
            wanted = find(value);
        } else if (strcmp(argv[i], "--broken") == 0) {
            wanted = broken = find(value);
        } else {
            fprintf(stderr, "stress: unknown option %s\n", argv[i]);
            return 2;
        }
    }
    uint32_t running = (uint32_t)__builtin_popcount(wanted);
    uint32_t share = connections / running > 3 ? connections / running : 3;
    for (int i = 0; i < SCENARIO_COUNT; i++)
        if (wanted >> i & 1)
            scenarios[i].start(&options, share, broken >> i & 1);

    uint64_t replies = client_run(&options);
    bool is_ok = client_failures() == 0;
    printf("%" PRIu64 " replies in %.0f s, looked at:", replies, options.seconds);
    for (int i = 0; i < SCENARIO_COUNT; i++) {
        if (!(wanted >> i & 1))
            continue;
        printf(" %s %" PRIu64, scenarios[i].name, scenario_checks[i]);
        is_ok &= scenario_checks[i] > 0;
    }
    printf("; %" PRIu64 " wrong\n", client_failures());
    client_fini();
    return is_ok ? 0 : 1;
}
