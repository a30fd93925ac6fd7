/* How: short arrays of listeners, in the order of their arrival. */
#include "shards/call/tap.h"

#include "core/base/check.h"

static void add(struct tap_listener *listeners, uint32_t *count, tap_fn fn, void *context)
{
    ASSERT(*count < TAP_LISTENERS_MAX);
    listeners[(*count)++] = (struct tap_listener){.fn = fn, .context = context};
}

void tap_add_before(struct tap *tap, tap_fn fn, void *context)
{
    add(tap->before, &tap->before_count, fn, context);
}

void tap_add_after(struct tap *tap, tap_fn fn, void *context)
{
    add(tap->after, &tap->after_count, fn, context);
}

void tap_add_closed(struct tap *tap, tap_session_fn fn, void *context)
{
    ASSERT(tap->closed_count < TAP_LISTENERS_MAX);
    tap->closed[tap->closed_count++] = (struct tap_session_listener){.fn = fn, .context = context};
}

static void remove_all(struct tap_listener *listeners, uint32_t *count, tap_fn fn)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        if (listeners[i].fn != fn)
            listeners[kept++] = listeners[i];
    }
    *count = kept;
}

void tap_remove_before(struct tap *tap, tap_fn fn)
{
    remove_all(tap->before, &tap->before_count, fn);
}

void tap_remove_after(struct tap *tap, tap_fn fn)
{
    remove_all(tap->after, &tap->after_count, fn);
}
