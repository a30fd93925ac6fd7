/* How: an integer is no HyperLogLog, so the string's bytes are always those that lie in the
 * database, and no scratch memory outlives its function. */
#include "shards/cmd/hll_arg.h"

#include "core/type/hll.h"
#include "core/type/str.h"
#include "shards/call/call.h"
#include "shards/local/db.h"

static enum status view(struct call *call, const struct value *value, struct bytes *out)
{
    *out = BYTES("");
    if (!value)
        return OK;
    char scratch[STR_SCRATCH];
    struct bytes text = str_view(value, scratch);
    if (!hll_is_one(text))
        return call_fail_text(call, "WRONGTYPE Key is not a valid HyperLogLog string value.");
    *out = text;
    return OK;
}

enum status hll_arg_find(struct call *call, uint32_t index, struct bytes *out)
{
    const struct value *value;
    TRY(db_find(call_db(call, index), call_key(call, index), TYPE_STRING, &value));
    return view(call, value, out);
}

enum status hll_arg_find_to_write(struct call *call, uint32_t index, struct bytes *out)
{
    const struct value *value;
    TRY(db_find_to_write(call_db(call, index), call_key(call, index), TYPE_STRING, &value));
    return view(call, value, out);
}

enum status hll_arg_damaged(struct call *call)
{
    return call_fail_text(call, "INVALIDOBJ Corrupted HLL object detected");
}

enum status hll_arg_draft(struct call *call, struct bytes text, struct hll_draft *out)
{
    if (text.len && !hll_is_whole(text))
        return hll_arg_damaged(call);
    struct hll_draft draft = {
        .bytes = arena_alloc(call->arena, HLL_LEN_MAX), .len = text.len, .cap = HLL_LEN_MAX};
    if (text.len)
        memcpy(draft.bytes, text.ptr, text.len);
    else
        hll_draft_empty(&draft);
    *out = draft;
    return OK;
}

enum status hll_arg_store(struct call *call, const struct hll_draft *draft)
{
    char *text = db_resize_string(call->db, &call->key, draft->len);
    if (!text)
        return ERR_OOM;
    memcpy(text, draft->bytes, draft->len);
    return OK;
}
