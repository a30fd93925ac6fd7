/*
 * How: a call is a plain struct on its runner's scratch memory. Keys beyond the first are hashed
 * when they are asked for. Error texts are filled in here, from the template of their status.
 */
#include "shards/call/call.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/base/num.h"
#include "shards/call/command_table.h"

enum status call_arg_int(const struct call *call, uint32_t index, int64_t *out)
{
    return num_to_int(call_arg(call, index), out) ? OK : ERR_NOT_AN_INTEGER;
}

enum status call_arg_double(const struct call *call, uint32_t index, double *out)
{
    return num_to_double(call_arg(call, index), out) ? OK : ERR_NOT_A_FLOAT;
}

enum status call_arg_range(struct call *call, uint32_t index, int64_t low, int64_t high,
                           int64_t *out)
{
    int64_t value;
    TRY(call_arg_int(call, index, &value));
    if (value < low || value > high)
        return call_fail_text(
            call, "ERR value is out of range, value must between %" PRId64 " and %" PRId64, low,
            high);
    *out = value;
    return OK;
}

bool call_arg_is(const struct call *call, uint32_t index, const char *word)
{
    return index < call->arg_count && bytes_is(call->args[index], word);
}

/* Is the word at `index` the call's first key, already hashed? */
static bool is_first_key(const struct call *call, uint32_t index)
{
    struct bytes word = call->args[index];
    return word.ptr == call->key.name.ptr && word.len == call->key.name.len;
}

const struct key *call_key(struct call *call, uint32_t index)
{
    ASSERT(index < call->arg_count);
    if (is_first_key(call, index))
        return &call->key;
    struct key *key = arena_alloc(call->arena, sizeof(*key));
    *key = key_make(call->args[index]);
    return key;
}

struct db *call_db_at(struct call *call, uint32_t index, uint16_t db_number)
{
    uint16_t slot = is_first_key(call, index) ? call->key.slot : key_slot(call->args[index]);
    struct shard *shard = call->shards[call->slot_map[slot]];
    shard->no_touch = call->flags & CALL_NO_TOUCH;
    return shard->dbs[db_number];
}

struct db *call_db(struct call *call, uint32_t index)
{
    return call_db_at(call, index, call->db_index);
}

enum status call_fail(struct call *call, enum status status, struct bytes arg)
{
    call->error_arg = arena_copy(call->arena, arg);
    return status;
}

enum status call_fail_text(struct call *call, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int len = vsnprintf(NULL, 0, format, list);
    va_end(list);
    char *text = arena_alloc(call->arena, (size_t)len + 1);
    va_start(list, format);
    vsnprintf(text, (size_t)len + 1, format, list);
    va_end(list);
    call->error_arg = bytes_of(text, (size_t)len);
    return ERR_TEXT;
}

/* Appends what `{name}` at the start of `rest` stands for; returns how many bytes it took. */
static size_t fill_in(struct buf *text, const struct call *call, struct bytes rest)
{
    static const struct bytes arg = {"{arg}", 5}, command = {"{command}", 9};
    if (rest.len >= arg.len && memcmp(rest.ptr, arg.ptr, arg.len) == 0) {
        buf_add_bytes(text, call->error_arg);
        return arg.len;
    }
    if (rest.len >= command.len && memcmp(rest.ptr, command.ptr, command.len) == 0) {
        buf_add_text(text, call->command ? command_full_name(call->command) : "");
        return command.len;
    }
    buf_add_char(text, *rest.ptr);
    return 1;
}

void call_write_error(struct call *call, enum status status)
{
    struct bytes form = status_text(status);
    struct buf text = {0};
    while (form.len) {
        size_t took = fill_in(&text, call, form);
        form.ptr += took;
        form.len -= took;
    }
    reply_error(call->reply, buf_bytes(&text));
    buf_fini(&text);
}

enum status call_run(struct call *call)
{
    size_t mark = reply_mark(call->reply);
    call->shard->no_touch = call->flags & CALL_NO_TOUCH;
    enum status status = call->command->run(call);
    if (unlikely(status != OK && status != WAITING)) {
        reply_rewind(call->reply, mark);
        call_write_error(call, status);
    }
    return status;
}
