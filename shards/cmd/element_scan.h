/*
 * element_scan: the words that HSCAN, SSCAN and ZSCAN share.
 *
 * They are read in Redis's order: the cursor before the key is looked at, the options only when
 * there is something at the key.
 */
#pragma once

#include "shards/call/call.h"

#define ELEMENT_SCAN_COUNT_DEFAULT 10

struct element_scan {
    uint64_t count; /* elements to look at */
    bool has_pattern;
    struct bytes pattern;
};

MUST_CHECK enum status element_scan_cursor(struct call *call, uint32_t index, uint64_t *out);

/* The options from the word `first` on. */
MUST_CHECK enum status element_scan_options(struct call *call, uint32_t first,
                                            struct element_scan *out);

bool element_scan_matches(const struct element_scan *scan, struct bytes element);

/* What is answered where there is no key: a walk that is over. */
void element_scan_reply_empty(struct call *call);

/* The beginning of an answer; the array of what was found follows. */
void element_scan_reply_cursor(struct call *call, uint64_t cursor);
