/*
 * config_change: one CONFIG SET: several options, all or none.
 *
 * A change is checked at home on a copy of the settings, then announced to all shards as a list of
 * options and values. The shard that comes first to its place in the order log makes the new object
 * from the settings of that place; so changes made on two threads at once both count. The object it
 * replaces is freed when every thread has begun a new turn after the last shard took the new one.
 *
 * Thread: home.
 */
#pragma once

#include "core/base/check.h"
#include "shards/admin/options.h"
#include "shards/local/config.h"

struct home;
struct config_change;

/* A change to `base`. Never NULL. */
struct config_change *config_change_begin(const struct config *base);
/* Ends a change that was not published, and takes back what it did to the process. */
void config_change_cancel(struct config_change *change);

/* False with the reason: then it must be cancelled. */
MUST_CHECK bool config_change_add(struct config_change *change, const struct option *option,
                                  struct bytes value, struct option_error *error);

/* Puts into effect what concerns the process: may these addresses be bound, that many clients be
 * served? False with the reason and in `*out_option` the option that it is about. */
MUST_CHECK bool config_change_apply(struct config_change *change, uint32_t shard_count,
                                    const struct option **out_option, struct option_error *error);

/* Announces it; the change is no longer the caller's. On return the caller's shard has taken it. */
void config_change_publish(struct config_change *change, struct home *home);
