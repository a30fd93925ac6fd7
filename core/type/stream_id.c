#include "core/type/stream_id.h"

#include "core/base/num.h"

bool stream_id_next(struct stream_id id, struct stream_id *out)
{
    if (id.seq < UINT64_MAX)
        *out = (struct stream_id){id.ms, id.seq + 1};
    else if (id.ms < UINT64_MAX)
        *out = (struct stream_id){id.ms + 1, 0};
    else
        return false;
    return true;
}

bool stream_id_prev(struct stream_id id, struct stream_id *out)
{
    if (id.seq > 0)
        *out = (struct stream_id){id.ms, id.seq - 1};
    else if (id.ms > 0)
        *out = (struct stream_id){id.ms - 1, UINT64_MAX};
    else
        return false;
    return true;
}

size_t stream_id_write(char to[STREAM_ID_CAP], struct stream_id id)
{
    size_t len = num_from_uint(to, id.ms);
    to[len++] = '-';
    return len + num_from_uint(to + len, id.seq);
}
