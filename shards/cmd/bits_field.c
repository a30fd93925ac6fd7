/*
 * bits_field: BITFIELD and BITFIELD_RO: integers of 1 to 64 bits anywhere in a string.
 *
 * All words are read before the key is looked at. The string is made long enough for all writes
 * before the first, so that a field that FAIL leaves alone counts too. Sums are made in 128 bits,
 * where nothing overflows, and then fitted to the field.
 */
#include "core/base/num.h"
#include "core/ds/bitmap.h"
#include "core/type/str.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/cmd/bits_arg.h"
#include "shards/local/db.h"

enum action { ACTION_GET, ACTION_SET, ACTION_INCRBY };
enum overflow { OVERFLOW_WRAP, OVERFLOW_SAT, OVERFLOW_FAIL };

struct step {
    enum action action;
    enum overflow overflow;
    bool is_signed;
    uint8_t width; /* bits */
    uint64_t offset;
    int64_t operand;
};

struct steps {
    struct step *list;
    uint32_t count;
    size_t written_len; /* bytes that the string must have; 0: nothing is written */
};

/* ---- The words ----------------------------------------------------------------------------- */

static enum status parse_overflow(struct call *call, uint32_t index, enum overflow *out)
{
    if (call_arg_is(call, index, "WRAP"))
        *out = OVERFLOW_WRAP;
    else if (call_arg_is(call, index, "SAT"))
        *out = OVERFLOW_SAT;
    else if (call_arg_is(call, index, "FAIL"))
        *out = OVERFLOW_FAIL;
    else
        return call_fail_text(call, "ERR Invalid OVERFLOW type specified");
    return OK;
}

/* "i8", "u63": no u64, since a reply could not hold it. */
static enum status parse_type(struct call *call, uint32_t index, struct step *step)
{
    struct bytes word = call_arg(call, index);
    int64_t width = 0;
    bool is_signed = word.len && word.ptr[0] == 'i';
    bool is_right = (is_signed || (word.len && word.ptr[0] == 'u')) &&
                    num_to_int(bytes_of(word.ptr + 1, word.len - 1), &width);
    if (!is_right || width < 1 || width > (is_signed ? 64 : 63))
        return call_fail_text(call, "ERR Invalid bitfield type. Use something like i16 u8. Note "
                                    "that u64 is not supported but i64 is.");
    step->is_signed = is_signed;
    step->width = (uint8_t)width;
    return OK;
}

/* Reads the action at `index`, which must be followed by its words. Their number, or 0. */
static uint32_t parse_action(const struct call *call, uint32_t index, enum action *out)
{
    uint32_t left = call->arg_count - index - 1;
    if (call_arg_is(call, index, "GET") && left >= 2) {
        *out = ACTION_GET;
        return 2;
    }
    bool is_set = call_arg_is(call, index, "SET");
    if ((is_set || call_arg_is(call, index, "INCRBY")) && left >= 3) {
        *out = is_set ? ACTION_SET : ACTION_INCRBY;
        return 3;
    }
    return 0;
}

static enum status parse_steps(struct call *call, struct steps *out)
{
    struct steps steps = {.list = arena_alloc(call->arena, call->arg_count * sizeof(struct step))};
    struct step step = {.overflow = OVERFLOW_WRAP};
    for (uint32_t i = 2; i < call->arg_count;) {
        if (call_arg_is(call, i, "OVERFLOW") && i + 1 < call->arg_count) {
            TRY(parse_overflow(call, i + 1, &step.overflow));
            i += 2;
            continue;
        }
        uint32_t word_count = parse_action(call, i, &step.action);
        if (!word_count)
            return ERR_SYNTAX;
        TRY(parse_type(call, i + 1, &step));
        TRY(bits_arg_offset(call, i + 2, step.width, &step.offset));
        if (step.action != ACTION_GET) {
            TRY(call_arg_int(call, i + 3, &step.operand));
            size_t len = (step.offset + step.width - 1) / 8 + 1;
            if (len > steps.written_len)
                steps.written_len = len;
        }
        steps.list[steps.count++] = step;
        i += 1 + word_count;
    }
    *out = steps;
    return OK;
}

/* ---- The numbers --------------------------------------------------------------------------- */

static int64_t number_of(const struct step *step, uint64_t field)
{
    unsigned above = 64 - step->width;
    return step->is_signed ? (int64_t)(field << above) >> above : (int64_t)field;
}

/* Redis takes a number that is set for too large when its distance to the field's highest is more
 * than an int64: the lowest numbers of all end as the highest of the field. */
static bool is_taken_for_large(const struct step *step, __int128 value, __int128 high)
{
    return step->action == ACTION_SET && step->width < 64 && high - value > INT64_MAX;
}

/* Makes `value` one that the field can hold, as the step's way of overflowing wants it. False when
 * that is FAIL and it has to. */
static bool fit(const struct step *step, __int128 value, int64_t *out)
{
    __int128 range = (__int128)1 << step->width;
    __int128 low = step->is_signed ? -(range / 2) : 0;
    __int128 high = low + range - 1;
    if (value >= low && value <= high) {
        *out = (int64_t)value;
        return true;
    }
    if (step->overflow == OVERFLOW_SAT)
        *out = (int64_t)(value < low && !is_taken_for_large(step, value, high) ? low : high);
    else
        *out = number_of(step, (uint64_t)value & (UINT64_MAX >> (64 - step->width)));
    return step->overflow != OVERFLOW_FAIL;
}

/* A negative number that is set to an unsigned field is a large one. */
static __int128 wanted(const struct step *step, int64_t old)
{
    if (step->action == ACTION_INCRBY)
        return (__int128)old + step->operand;
    return step->is_signed ? (__int128)step->operand : (__int128)(uint64_t)step->operand;
}

/* ---- Running ------------------------------------------------------------------------------- */

/* The string while the steps run. `text` is NULL as long as nothing has changed: what does not
 * change is not announced. */
struct target {
    const struct value *value;
    struct bytes map;
    char *text;
};

static enum status write_step(struct call *call, const struct step *step, size_t len,
                              struct target *target)
{
    int64_t old = number_of(step, bitmap_read(target->map, step->offset, step->width));
    int64_t new;
    if (!fit(step, wanted(step, old), &new)) {
        reply_null(call->reply);
        return OK;
    }
    if (new != old) {
        if (!target->text)
            TRY(bits_edit(call, target->value, len, &target->map, &target->text));
        bitmap_write(target->text, step->offset, step->width, (uint64_t) new);
    }
    reply_int(call->reply, step->action == ACTION_SET ? old : new);
    return OK;
}

static enum status run_steps(struct call *call, const struct steps *steps)
{
    struct target target = {0};
    if (steps->written_len)
        TRY(db_find_to_write(call->db, &call->key, TYPE_STRING, &target.value));
    else
        TRY(db_find(call->db, &call->key, TYPE_STRING, &target.value));
    char scratch[STR_SCRATCH];
    target.map = target.value ? str_view(target.value, scratch) : BYTES("");
    if (steps->written_len && !bits_is_ready(target.value, steps->written_len))
        TRY(bits_edit(call, target.value, steps->written_len, &target.map, &target.text));

    reply_array(call->reply, steps->count);
    for (uint32_t i = 0; i < steps->count; i++) {
        const struct step *step = &steps->list[i];
        if (step->action == ACTION_GET) {
            uint64_t field = bitmap_read(target.map, step->offset, step->width);
            reply_int(call->reply, number_of(step, field));
        } else {
            TRY(write_step(call, step, steps->written_len, &target));
        }
    }
    return OK;
}

static enum status cmd_bitfield(struct call *call)
{
    struct steps steps;
    TRY(parse_steps(call, &steps));
    return run_steps(call, &steps);
}

static enum status cmd_bitfield_ro(struct call *call)
{
    struct steps steps;
    TRY(parse_steps(call, &steps));
    if (steps.written_len)
        return call_fail_text(call, "ERR BITFIELD_RO only supports the GET subcommand");
    return run_steps(call, &steps);
}

/* The key is where it always is; it is only read if all words are for reading, up to the first that
 * is for writing or wrong. */
static int bitfield_find_keys(const struct bytes *args, uint32_t arg_count, uint32_t *out_index,
                              uint16_t *out_flags)
{
    out_index[0] = 1;
    out_flags[0] = KEY_RO | KEY_ACCESS;
    for (uint32_t i = 2; i < arg_count; i++) {
        uint32_t left = arg_count - i - 1;
        if (bytes_is(args[i], "GET") && left >= 2) {
            i += 2;
        } else if (bytes_is(args[i], "OVERFLOW") && left >= 1) {
            i += 1;
        } else {
            out_flags[0] = KEY_RW | KEY_ACCESS | KEY_UPDATE;
            break;
        }
    }
    return 1;
}

/* clang-format off */
const struct command bits_field_commands[] = {
    {.name = "bitfield", .arity = -2, .run = cmd_bitfield, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_UPDATE | KEY_VARIABLE_FLAGS),
     .find_keys = bitfield_find_keys, .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_BITMAP,
     .syntax = "key operation=[get-block=<GET encoding offset> | "
               "write=<overflow-block=[OVERFLOW <WRAP | SAT | FAIL>] "
               "write-operation=<set-block=<SET encoding offset value/integer> | "
               "incrby-block=<INCRBY encoding offset increment>>>] [...]",
     .since = "3.2.0", .cost = "O(1) for each field.",
     .brief = "Reads, sets and adds to integers of any number of bits within a string."},

    {.name = "bitfield_ro", .arity = -2, .run = cmd_bitfield_ro, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_BITMAP,
     .syntax = "key get-block=[GET encoding offset] [...]",
     .since = "6.0.0", .cost = "O(1) for each field.",
     .brief = "Reads integers of any number of bits within a string."},
    {0},
};
/* clang-format on */
