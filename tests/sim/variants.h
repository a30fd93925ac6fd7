/*
 * variants: the rules of the algorithm, and what becomes of it when one is left out.
 *
 * The right algorithm must survive every schedule. Each weakened one breaks a single rule and must
 * be caught within its budget: this shows that the rule is needed, and that the model would notice.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum variant {
    /* right */
    RIGHT,
    RIGHT_POKE_ONLY,
    RIGHT_LEND_ALWAYS,
    RIGHT_ONE_STOP_ONE_ENTRY,
    RIGHT_REPORTS_BY_BORROWED_LANES,
    /* the catch-up rule */
    WEAK_NO_CATCH_UP,
    WEAK_NO_CATCH_UP_WITHOUT_KEYS,
    WEAK_CATCH_UP_BEFORE_TAKING,
    /* lanes */
    WEAK_FULL_LANE_BLOCKS,
    WEAK_OVERFLOW_SLEEPS_UNTOLD,
    WEAK_RECEIVER_TELLS_NOBODY,
    WEAK_RECEIVER_TELLS_BY_OLD_TAIL,
    WEAK_LENDER_LEAVES_OVERFLOW,
    WEAK_LENDER_LEAVES_TIMER,
    WEAK_PIPELINE_FIRED_APART,
    /* the log */
    WEAK_STALE_TAIL,
    WEAK_CURSOR_STORED,
    WEAK_HELPER_PASSES_NAMED,
    WEAK_REUSED_EARLY,
    WEAK_CURSOR_BEFORE_PART,
    WEAK_SLEEPERS_NOT_TOLD,
    WEAK_FULL_LOG_TELLS_NOBODY,
    /* standing together */
    WEAK_ADD_BEFORE_BATON,
    WEAK_PARKED_IS_ASLEEP,
    WEAK_PARKED_ADVANCES_CURSOR,
    WEAK_PARKED_POLLS_STATE,
    WEAK_RUNS_PAST_STRANGER,
    WEAK_GIVES_BACK_BEFORE_CURSOR,
    WEAK_WAITER_NOT_WOKEN,
    /* sleeping and lending */
    WEAK_TIMER_RUNS_WHILE_LENT,
    WEAK_GIVES_BACK_AFTER_ARRIVING,
    WEAK_NO_LOOK_AFTER_GIVING_BACK,
    WEAK_LOOK_BEFORE_GIVING_BACK,
    WEAK_LOOK_BEFORE_SLEEPING,
    WEAK_POKE_BEFORE_PUSH,
    WEAK_LENDER_WAITS,
    WEAK_WAKE_STORES,
    WEAK_SINGLE_PAST_ENTRY,
    VARIANT_COUNT,
};

/* What a schedule dwells on. Drawn for each schedule, unless the variant shows under one of them
 * only. */
enum focus {
    FOCUS_ANY,
    FOCUS_READERS, /* atomic writers under the eyes of many readers, who go where shards sleep */
    FOCUS_LANES,   /* all connections on one thread, and slow receivers: lanes run over */
    FOCUS_LOG,     /* a log of four entries, and threads of very unequal speed */
    FOCUS_COUNT,
};

struct variant_row {
    const char *name;
    const char *rule; /* what is kept, or what is left out */
    bool is_right;
    enum focus focus;
    uint32_t budget; /* schedules within which a weakened one must be caught */
};

extern const struct variant_row variants[VARIANT_COUNT];
