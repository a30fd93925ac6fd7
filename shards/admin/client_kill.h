/*
 * client_kill: whom CLIENT KILL means.
 *
 * Thread: any; the filter borrows from the call's words.
 */
#pragma once

#include "core/base/status.h"

struct call;
struct session;

struct client_filter {
    bool is_old_form; /* CLIENT KILL addr: answers OK or an error, may hit the caller */
    bool skips_caller;
    uint64_t id; /* 0: any; further fields likewise */
    int type;    /* -1: any */
    int64_t max_age_s;
    struct bytes addr, laddr;
};

/* Reads the words of CLIENT KILL. */
MUST_CHECK enum status client_filter_parse(struct call *call, struct client_filter *out_filter);

bool client_filter_matches(const struct client_filter *filter, const struct session *session,
                           uint64_t caller_id, int64_t now_ms);
