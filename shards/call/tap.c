/* How: two short arrays of listeners, in the order of their arrival. */
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

void tap_remove_before(struct tap *tap, tap_fn fn)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < tap->before_count; i++) {
        if (tap->before[i].fn != fn)
            tap->before[kept++] = tap->before[i];
    }
    tap->before_count = kept;
}
