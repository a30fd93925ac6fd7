#include "shards/cmd/element_scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "core/base/glob.h"
#include "core/base/num.h"

/* As strtoul() reads it, which is how Redis reads a cursor: a sign is allowed, a space before it
 * is not. */
enum status element_scan_cursor(struct call *call, uint32_t index, uint64_t *out)
{
    struct bytes word = call_arg(call, index);
    const char *text = arena_format(call->arena, "%.*s", (int)word.len, word.ptr);
    char *end;
    errno = 0;
    unsigned long cursor = strtoul(text, &end, 10);
    if (isspace((unsigned char)text[0]) || *end || errno == ERANGE)
        return call_fail_text(call, "ERR invalid cursor");
    *out = cursor;
    return OK;
}

enum status element_scan_options(struct call *call, uint32_t first, struct element_scan *out)
{
    struct element_scan scan = {.count = ELEMENT_SCAN_COUNT_DEFAULT};
    for (uint32_t i = first; i < call->arg_count; i += 2) {
        if (i + 1 == call->arg_count)
            return ERR_SYNTAX;
        if (call_arg_is(call, i, "COUNT")) {
            int64_t count;
            TRY(call_arg_int(call, i + 1, &count));
            if (count < 1)
                return ERR_SYNTAX;
            scan.count = (uint64_t)count;
        } else if (call_arg_is(call, i, "MATCH")) {
            scan.pattern = call_arg(call, i + 1);
            scan.has_pattern = !glob_is_all(scan.pattern);
        } else {
            return ERR_SYNTAX;
        }
    }
    *out = scan;
    return OK;
}

bool element_scan_matches(const struct element_scan *scan, struct bytes element)
{
    return !scan->has_pattern || glob_matches(scan->pattern, element);
}

void element_scan_reply_cursor(struct call *call, uint64_t cursor)
{
    char digits[NUM_INT_CAP];
    reply_array(call->reply, 2);
    reply_bulk(call->reply, bytes_of(digits, num_from_uint(digits, cursor)));
}

void element_scan_reply_empty(struct call *call)
{
    element_scan_reply_cursor(call, 0);
    reply_array(call->reply, 0);
}
