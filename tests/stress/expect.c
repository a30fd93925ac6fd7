#include "tests/stress/expect.h"

#include <inttypes.h>

bool expect_no_error(const struct conn *conn, const struct request *request,
                     const struct reply *reply)
{
    if (reply->type != '-')
        return true;
    client_fail(conn, request, "%s", reply->text);
    return false;
}

bool expect_array(const struct conn *conn, const struct request *request, const struct reply *reply,
                  uint32_t count)
{
    if (reply->type == '*' && reply->count == count)
        return true;
    client_fail(conn, request, "wanted %u values, got '%c' with %u: %s", count, reply->type,
                reply->count, reply->text);
    return false;
}

bool expect_same(const struct conn *conn, const struct request *request, const struct reply *reply,
                 uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (reply->nulls[i] != reply->nulls[0] ||
            (!reply->nulls[i] && reply->values[i] != reply->values[0])) {
            client_fail(conn, request, "torn: %" PRId64 "%s at one key, %" PRId64 "%s at another",
                        reply->values[0], reply->nulls[0] ? " (null)" : "", reply->values[i],
                        reply->nulls[i] ? " (null)" : "");
            return false;
        }
    return true;
}

bool expect_known(const struct conn *conn, const struct request *request, struct counter *counter,
                  int64_t value)
{
    counter_learn(counter, value);
    if (value >= request->a && value <= counter->sent)
        return true;
    client_fail(conn, request, "read %" PRId64 ", known before: %" PRId64 ", sent: %" PRId64, value,
                request->a, counter->sent);
    return false;
}
