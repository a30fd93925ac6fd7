/* How: words in pairs, each narrowing a filter that starts out meaning everybody. */
#include "shards/admin/client_kill.h"

#include "shards/admin/client_info.h"
#include "shards/call/call.h"
#include "shards/call/session.h"

/* Reads one option and its value, at words `at` and after. */
static enum status parse_option(struct call *call, uint32_t at, struct client_filter *filter)
{
    struct bytes value = call_arg(call, at + 1);
    int64_t number;
    if (call_arg_is(call, at, "id")) {
        if (call_arg_range(call, at + 1, 1, INT64_MAX, &number) != OK)
            return call_fail_text(call, "ERR client-id should be greater than 0");
        filter->id = (uint64_t)number;
    } else if (call_arg_is(call, at, "type")) {
        filter->type = client_type_find(value);
        if (filter->type < 0)
            return call_fail_text(call, "ERR Unknown client type '%.*s'", (int)value.len,
                                  value.ptr);
    } else if (call_arg_is(call, at, "addr")) {
        filter->addr = value;
    } else if (call_arg_is(call, at, "laddr")) {
        filter->laddr = value;
    } else if (call_arg_is(call, at, "user")) {
        if (!bytes_equal(value, BYTES("default")))
            return call_fail_text(call, "ERR No such user '%.*s'", (int)value.len, value.ptr);
    } else if (call_arg_is(call, at, "maxage")) {
        if (call_arg_int(call, at + 1, &number) != OK)
            return call_fail_text(call, "ERR maxage is not an integer or out of range");
        if (number <= 0)
            return call_fail_text(call, "ERR maxage should be greater than 0");
        filter->max_age_s = number;
    } else if (call_arg_is(call, at, "skipme") && bytes_is(value, "yes")) {
        filter->skips_caller = true;
    } else if (call_arg_is(call, at, "skipme") && bytes_is(value, "no")) {
        filter->skips_caller = false;
    } else {
        return ERR_SYNTAX;
    }
    return OK;
}

enum status client_filter_parse(struct call *call, struct client_filter *out_filter)
{
    struct client_filter filter = {.type = -1, .skips_caller = true};
    if (call->arg_count == 3) {
        filter.is_old_form = true;
        filter.skips_caller = false;
        filter.addr = call_arg(call, 2);
    } else {
        for (uint32_t at = 2; at < call->arg_count; at += 2) {
            if (at + 1 == call->arg_count)
                return ERR_SYNTAX;
            TRY(parse_option(call, at, &filter));
        }
    }
    *out_filter = filter;
    return OK;
}

bool client_filter_matches(const struct client_filter *filter, const struct session *session,
                           uint64_t caller_id, int64_t now_ms)
{
    if (filter->id && session->id != filter->id)
        return false;
    if (filter->skips_caller && session->id == caller_id)
        return false;
    if (filter->type >= 0 && (int)client_type_of(session) != filter->type)
        return false;
    if (filter->max_age_s && (now_ms - session->created_at_ms) / 1000 < filter->max_age_s)
        return false;
    if (!filter->addr.ptr && !filter->laddr.ptr)
        return true;
    char peer[ADDR_TEXT_MAX], local[ADDR_TEXT_MAX];
    client_info_addr(session, peer, local, ADDR_TEXT_MAX);
    if (filter->addr.ptr && !bytes_equal(filter->addr, bytes_from_text(peer)))
        return false;
    return !filter->laddr.ptr || bytes_equal(filter->laddr, bytes_from_text(local));
}
