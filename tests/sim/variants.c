#include "tests/sim/variants.h"

#define BUDGET 200000u /* schedules; most are caught within a hundred */

#define RIGHT_ROW(id, row_name, row_rule)                                                          \
    [id] = {.name = row_name, .rule = row_rule, .is_right = true}
#define WEAK_ROW(id, row_name, row_focus, row_rule)                                                \
    [id] = {.name = row_name, .focus = FOCUS_##row_focus, .rule = row_rule, .budget = BUDGET}

/* clang-format off */
const struct variant_row variants[VARIANT_COUNT] = {
    RIGHT_ROW(RIGHT,                            "right",                     "the algorithm as it is"),
    RIGHT_ROW(RIGHT_POKE_ONLY,                  "poke-only",                 "sleepers are always woken, never lent"),
    RIGHT_ROW(RIGHT_LEND_ALWAYS,                "lend-always",               "sleepers are lent whenever possible"),
    RIGHT_ROW(RIGHT_ONE_STOP_ONE_ENTRY,         "one-stop-one-entry",        "who runs an entry for all does not go on to the next"),
    RIGHT_ROW(RIGHT_REPORTS_BY_BORROWED_LANES,  "borrowed-lanes",            "reports leave by the lanes of the borrowed shard"),

    WEAK_ROW(WEAK_NO_CATCH_UP,                  "no-catch-up",               ANY, "requests run without a look at the log"),
    WEAK_ROW(WEAK_NO_CATCH_UP_WITHOUT_KEYS,     "no-catch-up-without-keys",  ANY, "commands without keys run without a look at the log"),
    WEAK_ROW(WEAK_CATCH_UP_BEFORE_TAKING,       "catch-up-before-taking",    ANY, "the look at the log comes before the request is taken"),

    WEAK_ROW(WEAK_FULL_LANE_BLOCKS,             "full-lane-blocks",          ANY, "a sender waits for room in a lane"),
    WEAK_ROW(WEAK_OVERFLOW_SLEEPS_UNTOLD,       "overflow-sleeps-untold",    ANY, "no look for room before sleeping with overflow"),
    WEAK_ROW(WEAK_RECEIVER_TELLS_NOBODY,        "receiver-tells-nobody",     ANY, "who drains a full lane does not poke its sender"),
    WEAK_ROW(WEAK_RECEIVER_TELLS_BY_OLD_TAIL,   "receiver-tells-by-old-tail", LANES, "... or looks whether it was full before making room"),
    WEAK_ROW(WEAK_LENDER_LEAVES_OVERFLOW,       "lender-leaves-overflow",    ANY, "a lender leaves overflow in the shard and tells nobody"),
    WEAK_ROW(WEAK_LENDER_LEAVES_TIMER,          "lender-leaves-timer",       ANY, "a lender leaves an earlier timer and tells nobody"),
    WEAK_ROW(WEAK_PIPELINE_FIRED_APART,         "pipeline-fired-apart",      ANY, "a pipeline's commands travel each by itself"),

    WEAK_ROW(WEAK_STALE_TAIL,                   "stale-tail",                LOG, "a publisher with an old tail overwrites a later lap"),
    WEAK_ROW(WEAK_CURSOR_STORED,                "cursor-stored",             LOG, "the own cursor passes strangers' entries by a store"),
    WEAK_ROW(WEAK_HELPER_PASSES_NAMED,          "helper-passes-named",       ANY, "who needs room moves cursors past entries that name the shard"),
    WEAK_ROW(WEAK_REUSED_EARLY,                 "reused-early",              ANY, "an entry is reused when home has passed it"),
    WEAK_ROW(WEAK_CURSOR_BEFORE_PART,           "cursor-before-part",        ANY, "the cursor passes an entry before its part has run"),
    WEAK_ROW(WEAK_SLEEPERS_NOT_TOLD,            "sleepers-not-told",         ANY, "a publisher wakes and lends nobody"),
    WEAK_ROW(WEAK_FULL_LOG_TELLS_NOBODY,        "full-log-tells-nobody",     ANY, "who needs room does not rouse sleepers that hold it"),

    WEAK_ROW(WEAK_ADD_BEFORE_BATON,             "add-before-baton",          ANY, "an arriver is counted before its baton says so"),
    WEAK_ROW(WEAK_PARKED_IS_ASLEEP,             "parked-is-asleep",          ANY, "a parked thread in its ring counts as ASLEEP"),
    WEAK_ROW(WEAK_PARKED_ADVANCES_CURSOR,       "parked-advances-cursor",    ANY, "a parked thread sets its own cursor when it is back"),
    WEAK_ROW(WEAK_PARKED_POLLS_STATE,           "parked-polls-state",        ANY, "a parked thread watches the entry instead of its baton"),
    WEAK_ROW(WEAK_RUNS_PAST_STRANGER,           "runs-past-stranger",        ANY, "one stop goes on past an entry that needs further shards"),
    WEAK_ROW(WEAK_GIVES_BACK_BEFORE_CURSOR,     "gives-back-before-cursor",  ANY, "shards are given back before their cursors are set"),
    WEAK_ROW(WEAK_WAITER_NOT_WOKEN,             "waiter-not-woken",          ANY, "a parked thread in its ring is given its shard without a wake"),

    WEAK_ROW(WEAK_TIMER_RUNS_WHILE_LENT,        "timer-runs-while-lent",     ANY, "an owner whose timer fires runs, lent or not"),
    WEAK_ROW(WEAK_GIVES_BACK_AFTER_ARRIVING,    "gives-back-after-arriving", ANY, "a lender that arrived for a shard gives it back at once"),
    WEAK_ROW(WEAK_NO_LOOK_AFTER_GIVING_BACK,    "no-look-after-giving-back", ANY, "a lender gives back and does not look again"),
    WEAK_ROW(WEAK_LOOK_BEFORE_GIVING_BACK,      "look-before-giving-back",   ANY, "the lender's last look passes the store (no fence)"),
    WEAK_ROW(WEAK_LOOK_BEFORE_SLEEPING,         "look-before-sleeping",      ANY, "the sleeper's last look passes the store (no fence)"),
    WEAK_ROW(WEAK_POKE_BEFORE_PUSH,             "poke-before-push",          ANY, "the sender's look at the baton passes its store (no fence)"),
    WEAK_ROW(WEAK_LENDER_WAITS,                 "lender-waits",              ANY, "a lender stops in an older entry and waits there"),
    WEAK_ROW(WEAK_WAKE_STORES,                  "wake-stores",               ANY, "a wake stores RUNNING instead of comparing and swapping"),
    WEAK_ROW(WEAK_SINGLE_PAST_ENTRY,            "single-past-entry",         READERS, "a lender runs a single request past an entry not yet run"),
};
/* clang-format on */
