/* bits_arg: what the commands on bits have in common: an offset among their words, and a string to
 * write bits to. Thread: that of the call. */
#pragma once

#include "core/base/status.h"

struct call;
struct value;

/* The bit offset at word `index`, which must lie in a string of at most proto-max-bulk-len bytes.
 * `width` not 0: "#n" is also taken, and means the n-th field of so many bits. */
MUST_CHECK enum status bits_arg_offset(struct call *call, uint32_t index, unsigned width,
                                       uint64_t *out);

/* Can bits of the call's string be left as they are, its first `len` bytes? If not, it has to be
 * written to even where no bit changes: it is absent, shorter or, as OBJECT ENCODING shows, no
 * plain run of bytes. */
bool bits_is_ready(const struct value *value, size_t len);

/* The bytes of the call's string, at least `len` of them, to write to; `value` is what the key
 * holds, or NULL. */
MUST_CHECK enum status bits_edit(struct call *call, const struct value *value, size_t len,
                                 struct bytes *out_bytes, char **out_text);
