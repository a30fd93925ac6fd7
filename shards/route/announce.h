/*
 * announce: tells every shard something, at one position of the order log.
 *
 * Each shard applies it when it walks past, so all who act later have seen it; nobody is woken and
 * nothing is answered. For immutable objects replaced by pointer: configuration, permissions.
 */
#pragma once

#include <stdint.h>

struct home;
struct shard;

/* `apply` runs once for each shard, on whatever thread owns it then; `object` stays the announcer's
 * until `done` runs at home after the last shard has applied it (for freeing the object that it
 * replaced). Returns when published; the calling home's shard has then applied it. Thread: home. */
void announce(struct home *home, void (*apply)(struct shard *shard, void *object), void *object,
              void (*done)(struct home *home, void *object));
