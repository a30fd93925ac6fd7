/*
 * config_copy: making and copying settings. Thread: any; an object belongs to its maker until it is
 * published.
 */
#pragma once

#include "shards/local/config.h"

/* All defaults. Never NULL. */
struct config *config_default(void);

/* A copy that shares nothing with `config`. Never NULL. */
struct config *config_copy(const struct config *config);

void config_free(struct config *config); /* accepts NULL */
