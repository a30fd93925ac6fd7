/*
 * config_load: settings from redis.conf, standard input and the command line. Thread: the only one.
 */
#pragma once

#include <stdio.h>

#include "core/base/check.h"
#include "shards/local/config.h"

/* Reads settings in redis-server's manner: `argv[1]` a file unless it begins with '-', then
 * "--name value ..." and "-" for standard input as first or last word. --version and --help are
 * answered on `out`. Relative names in files count from the folder that `dir` has set, which
 * becomes the working directory at once. Commands are renamed in command_table as they are met, so
 * that must be built before.
 *
 * Returns the exit status of a process that is to end now, or CONFIG_START and the settings in
 * `*out_config`. What is wrong is said on `err`. */
#define CONFIG_START (-1)
MUST_CHECK int config_load(int argc, char **argv, struct config **out_config, FILE *out, FILE *err);
