/*
 * event: keyspace events: what happened to a key, by the names that Redis gives it.
 *
 * Whoever changes a key says so by db_event() (db.h), after the change, in the order of Redis's own
 * events; nobody pays when no one wants to know. notify-keyspace-events says who does: its letters
 * are the bits here, in the order in which CONFIG GET shows them.
 */
#pragma once

#define EVENT_GENERIC (1u << 0) /* g: del, expire, rename_from, ... of keys of any type */
#define EVENT_STRING (1u << 1)  /* $ */
#define EVENT_LIST (1u << 2)    /* l */
#define EVENT_SET (1u << 3)     /* s */
#define EVENT_HASH (1u << 4)    /* h */
#define EVENT_ZSET (1u << 5)    /* z */
#define EVENT_EXPIRED (1u << 6) /* x */
#define EVENT_EVICTED (1u << 7) /* e */
#define EVENT_STREAM (1u << 8)  /* t */
#define EVENT_MODULE (1u << 9)  /* d: never happens */
#define EVENT_NEW (1u << 10)    /* n: a key that was not there */
/* Where they are told: K, __keyspace@0__:key says the event; E, __keyevent@0__:event the key. */
#define EVENT_TO_KEYSPACE (1u << 11)
#define EVENT_TO_KEYEVENT (1u << 12)
#define EVENT_MISS (1u << 13) /* m: a key that was asked for is not there */

#define EVENT_LETTERS "g$lshzxetdnKEm"
#define EVENT_ALL (EVENT_NEW - 1) /* A */
