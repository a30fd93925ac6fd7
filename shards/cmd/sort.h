/*
 * sort: what SORT sorts and how: shared by its two files.
 */
#pragma once

#include "shards/call/call.h"

/* The words of a SORT. */
struct sort {
    bool is_descending, is_alpha;
    bool keeps_order;   /* BY a pattern without '*' */
    struct bytes by;    /* the pattern; ptr NULL: by the elements themselves */
    uint32_t get_count; /* GET patterns: `gets` are the words where they stand */
    uint32_t *gets;
    int64_t limit_start, limit_count; /* -1: all */
    uint32_t store_index;             /* the word that is the target, 0: none */
};

/* One element. */
struct sort_item {
    struct bytes text;
    struct bytes weight; /* ALPHA with BY: what is compared; ptr NULL: there is none */
    double score;
};

/* What `pattern` names for `element`, read from wherever it is: the element itself for "#", a
 * string, or a field of a hash ("...->field"). NULL bytes when there is no such thing. Copied. */
struct bytes sort_look_up(struct call *call, struct bytes pattern, struct bytes element);

/* Puts items in order. `out_is_number` is false when a weight is no number. */
void sort_items(struct call *call, const struct sort *sort, struct sort_item *items, size_t count,
                bool *out_are_numbers);
