/*
 * check: assertions that stay on in production, and the two words every fallible function uses.
 *
 * ASSERT      what must not happen; ends the process with file, line and condition.
 * DEBUG_ASSERT the same for checks that cost more than a few cycles; off in release builds.
 * TRY         the only macro that returns: passes a status other than OK on to the caller.
 */
#pragma once

#define MUST_CHECK __attribute__((warn_unused_result))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

_Noreturn void check_failed(const char *file, int line, const char *condition);

#define ASSERT(condition)                                                                          \
    do {                                                                                           \
        if (unlikely(!(condition)))                                                                \
            check_failed(__FILE__, __LINE__, #condition);                                          \
    } while (0)

#ifdef SHERD_DEBUG
#define DEBUG_ASSERT(condition) ASSERT(condition)
#else
#define DEBUG_ASSERT(condition) ((void)sizeof(condition))
#endif

#define TRY(expression)                                                                            \
    do {                                                                                           \
        enum status try_status_ = (expression);                                                    \
        if (unlikely(try_status_ != OK))                                                           \
            return try_status_;                                                                    \
    } while (0)
