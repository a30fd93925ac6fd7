/* hll_arg: what the commands on HyperLogLogs have in common: to find one and to write it back.
 * Thread: that of the call. */
#pragma once

#include "core/base/status.h"

struct call;
struct hll_draft;

/* The HyperLogLog at the key that is word `index`: its bytes, valid until the next change of the
 * database; `len` 0 when the key is absent. An error when it holds anything else. */
MUST_CHECK enum status hll_arg_find(struct call *call, uint32_t index, struct bytes *out);
MUST_CHECK enum status hll_arg_find_to_write(struct call *call, uint32_t index, struct bytes *out);

/* The error for one that is damaged. */
enum status hll_arg_damaged(struct call *call);

/* A draft of `text`, or an empty one if that has no bytes, in scratch memory, with room for
 * anything it can become. An error when `text` is damaged. */
MUST_CHECK enum status hll_arg_draft(struct call *call, struct bytes text, struct hll_draft *out);

/* Makes the draft the string at the call's first key. */
MUST_CHECK enum status hll_arg_store(struct call *call, const struct hll_draft *draft);
