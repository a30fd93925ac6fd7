/*
 * expect: what a reply must be. Each tells client_fail() when it is not, and returns false.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tests/stress/client.h"

/* What one writer, who counts up, has sent, and the newest value that any reply has shown: an
 * acknowledgement, or a read. */
struct counter {
    int64_t sent, known;
};

/* A reply has shown `value`. */
static inline void counter_learn(struct counter *counter, int64_t value)
{
    if (value > counter->known)
        counter->known = value;
}

bool expect_no_error(const struct conn *conn, const struct request *request,
                     const struct reply *reply);

/* An array of `count` values. */
bool expect_array(const struct conn *conn, const struct request *request, const struct reply *reply,
                  uint32_t count);

/* All `count` values equal, or all null. */
bool expect_same(const struct conn *conn, const struct request *request, const struct reply *reply,
                 uint32_t count);

/* `value` is what a request has read whose `a` is what was known when it was sent: nothing older,
 * and nothing that was not sent yet. That is real time, across connections. */
bool expect_known(const struct conn *conn, const struct request *request, struct counter *counter,
                  int64_t value);
