/*
 * hash_getex: HGETEX, HSETEX and HGETDEL, which read or write values of fields and deal with their
 * time to live in the same step.
 */
#include "net/reply.h"
#include "shards/call/command.h"
#include "shards/cmd/hash_key.h"

#define MS_PER_S 1000

#define COUNT_TEXT "Number of fields must be a positive integer"

/* ---- Words for a time ---------------------------------------------------------------------- */

static const struct unit {
    const char *word;
    int64_t unit_ms;
    bool is_relative;
} units[] = {
    {"EX", MS_PER_S, true},
    {"PX", 1, true},
    {"EXAT", MS_PER_S, false},
    {"PXAT", 1, false},
};

/* NULL when the word at `index` is no unit. */
static const struct unit *unit_at(struct call *call, uint32_t index)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (call_arg_is(call, index, units[i].word))
            return &units[i];
    }
    return NULL;
}

static enum status read_time(struct call *call, const struct unit *unit, uint32_t index,
                             int64_t *out_at_ms)
{
    int64_t from_ms = unit->is_relative ? call_now_ms(call) : 0;
    return hash_key_time(call, index, unit->unit_ms, from_ms, out_at_ms);
}

/* ---- A hash that is read, and changed from the first need on ------------------------------- */

struct work {
    const struct hash *found;
    struct hash_edit edit;
};

static const struct hash *hash_of(const struct work *work)
{
    return work->edit.value ? work->edit.hash : work->found;
}

static struct hash **edited(struct call *call, struct work *work)
{
    if (!work->edit.value)
        work->edit = hash_key_edit(call, work->found);
    return &work->edit.hash;
}

static void finish(struct call *call, struct work *work)
{
    if (work->edit.value)
        hash_key_end(call, &work->edit);
}

static void delete_field(struct call *call, struct work *work, struct bytes field)
{
    (void)hash_delete(edited(call, work), db_heap(call->db), field);
}

/* Deletes a field that is there because its time has passed, or is given one that has. */
static void expire_field(struct call *call, struct work *work, struct bytes field)
{
    delete_field(call, work, field);
    call->shard->stats.expired_subkeys++;
}

/* The time of a field, HASH_NO_TTL included; false when there is none. One whose time has passed is
 * deleted. */
static bool find_time(struct call *call, struct work *work, struct bytes field, int64_t *out_at_ms)
{
    if (!hash_of(work) || !hash_find_ttl(hash_of(work), field, out_at_ms))
        return false;
    if (!hash_is_past(*out_at_ms, call_now_ms(call)))
        return true;
    expire_field(call, work, field);
    return false;
}

/* Replies with the value of a field; false when there is none, and the reply null. */
static bool reply_value(struct call *call, struct work *work, struct bytes field,
                        int64_t *out_at_ms)
{
    char scratch[PACK_SCRATCH];
    struct bytes value;
    if (!find_time(call, work, field, out_at_ms) ||
        !hash_find(hash_of(work), call_now_ms(call), field, scratch, &value)) {
        reply_null(call->reply);
        return false;
    }
    reply_bulk(call->reply, value);
    return true;
}

/* ---- HGETEX -------------------------------------------------------------------------------- */

/* What is to become of a field's time: HASH_KEEP_TTL, HASH_NO_TTL or a time. Returns where FIELDS
 * must be. */
static enum status read_wish(struct call *call, int64_t *out_at_ms, uint32_t *out_fields_at)
{
    const struct unit *unit = unit_at(call, 2);
    *out_at_ms = HASH_KEEP_TTL;
    *out_fields_at = 2;
    if (unit) {
        *out_fields_at = 4;
        return read_time(call, unit, 3, out_at_ms);
    }
    if (call_arg_is(call, 2, "PERSIST")) {
        *out_fields_at = 3;
        *out_at_ms = HASH_NO_TTL;
    }
    return OK;
}

static void grant(struct call *call, struct work *work, struct bytes field, int64_t old_at_ms,
                  int64_t at_ms)
{
    if (at_ms == HASH_KEEP_TTL || at_ms == old_at_ms)
        return;
    if (at_ms != HASH_NO_TTL && at_ms <= call_now_ms(call))
        expire_field(call, work, field);
    else
        hash_set_ttl(edited(call, work), db_heap(call->db), field, at_ms);
}

static enum status cmd_hgetex(struct call *call)
{
    struct work work = {0};
    TRY(hash_key_find_to_write(call, &work.found));
    int64_t at_ms;
    uint32_t fields_at, count;
    TRY(read_wish(call, &at_ms, &fields_at));
    TRY(hash_key_fields(call, fields_at, COUNT_TEXT, &count));
    reply_array(call->reply, count);
    for (uint32_t i = call->arg_count - count; i < call->arg_count; i++) {
        int64_t old_at_ms;
        if (reply_value(call, &work, call_arg(call, i), &old_at_ms))
            grant(call, &work, call_arg(call, i), old_at_ms, at_ms);
    }
    finish(call, &work);
    return OK;
}

/* ---- HGETDEL ------------------------------------------------------------------------------- */

static enum status cmd_hgetdel(struct call *call)
{
    struct work work = {0};
    TRY(hash_key_find_to_write(call, &work.found));
    uint32_t count;
    TRY(hash_key_fields(call, 2, COUNT_TEXT, &count));
    reply_array(call->reply, count);
    for (uint32_t i = call->arg_count - count; i < call->arg_count; i++) {
        int64_t old_at_ms;
        if (reply_value(call, &work, call_arg(call, i), &old_at_ms))
            delete_field(call, &work, call_arg(call, i));
    }
    finish(call, &work);
    return OK;
}

/* ---- HSETEX -------------------------------------------------------------------------------- */

struct setting {
    bool if_all_exist, if_none_exists; /* FXX, FNX */
    bool has_wish;                     /* a time or KEEPTTL was named */
    int64_t at_ms;                     /* HASH_NO_TTL, HASH_KEEP_TTL or a time */
    uint32_t first;                    /* the first field's word */
};

/* The count behind the word FIELDS at `index` must say how many fields and values follow. */
static enum status read_pairs(struct call *call, uint32_t index, struct setting *setting)
{
    if (index + 3 >= call->arg_count)
        return ERR_WRONG_ARITY;
    int64_t count;
    if (call_arg_int(call, index + 1, &count) != OK || count < 1 || count > INT32_MAX)
        return call_fail_text(call, "ERR invalid number of fields");
    setting->first = index + 2;
    uint32_t word_count = call->arg_count - setting->first;
    return word_count % 2 == 0 && word_count / 2 == count ? OK : ERR_WRONG_ARITY;
}

/* Reads one option at `*io_index`, which is left behind its last word. */
static enum status read_option(struct call *call, uint32_t *io_index, struct setting *setting)
{
    uint32_t index = (*io_index)++;
    const struct unit *unit = unit_at(call, index);
    if (unit || call_arg_is(call, index, "KEEPTTL")) {
        if (setting->has_wish)
            return call_fail_text(call, "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments "
                                        "can be specified");
        setting->has_wish = true;
        setting->at_ms = HASH_KEEP_TTL;
        if (!unit)
            return OK;
        if (*io_index == call->arg_count)
            return call_fail_text(call, "ERR missing expire time");
        return read_time(call, unit, (*io_index)++, &setting->at_ms);
    }
    bool is_fxx = call_arg_is(call, index, "FXX");
    if (is_fxx || call_arg_is(call, index, "FNX")) {
        if (setting->if_all_exist || setting->if_none_exists)
            return call_fail_text(call, "ERR Only one of FXX or FNX arguments can be specified");
        setting->if_all_exist = is_fxx;
        setting->if_none_exists = !is_fxx;
        return OK;
    }
    struct bytes word = call_arg(call, index);
    return call_fail_text(call, "ERR unknown argument: %.*s", (int)word.len, word.ptr);
}

static enum status read_setting(struct call *call, struct setting *setting)
{
    *setting = (struct setting){.at_ms = HASH_NO_TTL};
    for (uint32_t i = 2; i < call->arg_count;) {
        if (call_arg_is(call, i, "FIELDS"))
            return read_pairs(call, i, setting);
        TRY(read_option(call, &i, setting));
    }
    return ERR_WRONG_ARITY;
}

static bool allows(struct call *call, struct work *work, const struct setting *setting)
{
    if (!setting->if_all_exist && !setting->if_none_exists)
        return true;
    for (uint32_t i = setting->first; i < call->arg_count; i += 2) {
        int64_t at_ms;
        if (find_time(call, work, call_arg(call, i), &at_ms) != setting->if_all_exist)
            return false;
    }
    return true;
}

static void set_all(struct call *call, struct work *work, const struct setting *setting)
{
    struct hash **hash = edited(call, work);
    hash_expect(hash, db_heap(call->db), &call->config->hash_limits, &call->args[setting->first],
                call->arg_count - setting->first);
    for (uint32_t i = setting->first; i < call->arg_count; i += 2) {
        struct hash_pair pair = {.field = call_arg(call, i),
                                 .value = call_arg(call, i + 1),
                                 .expire_at_ms = setting->at_ms};
        int64_t old_at_ms; /* a time that has passed is not kept */
        if (setting->at_ms == HASH_KEEP_TTL)
            (void)find_time(call, work, pair.field, &old_at_ms);
        (void)hash_key_put(call, &work->edit, pair);
    }
}

/* All are set to a time that has passed: set, and deleted at once. */
static void expire_all(struct call *call, struct work *work, const struct setting *setting)
{
    for (uint32_t i = setting->first; i < call->arg_count; i += 2)
        expire_field(call, work, call_arg(call, i));
}

static enum status cmd_hsetex(struct call *call)
{
    struct setting setting;
    TRY(read_setting(call, &setting));
    struct work work = {0};
    TRY(hash_key_find_to_write(call, &work.found));
    bool sets = allows(call, &work, &setting);
    if (sets && setting.at_ms >= 0 && setting.at_ms <= call_now_ms(call))
        expire_all(call, &work, &setting);
    else if (sets)
        set_all(call, &work, &setting);
    finish(call, &work);
    reply_int(call->reply, sets);
    return OK;
}

/* clang-format off */
const struct command hash_getex_commands[] = {
    {.name = "hgetex", .arity = -5, .run = cmd_hgetex, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | "
               "PXAT unix-time-milliseconds | PERSIST] <FIELDS numfields/integer field [field ...]>",
     .since = "8.0.0", .cost = "O(N) where N is the number of fields named.",
     .brief = "Reads fields of a hash, and may set their time to live."},

    {.name = "hgetdel", .arity = -5, .run = cmd_hgetdel, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_DELETE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key <FIELDS numfields/integer field [field ...]>", .since = "8.0.0",
     .cost = "O(N) where N is the number of fields named.",
     .brief = "Reads fields of a hash and removes them."},

    {.name = "hsetex", .arity = -6, .run = cmd_hsetex, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key condition=[FNX | FXX] [EX seconds | PX milliseconds | "
               "EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL] "
               "fields=<FIELDS numfields/integer field value [field value ...]>",
     .since = "8.0.0", .cost = "O(N) where N is the number of fields set.",
     .brief = "Sets fields of a hash to values, and their time to live."},
    {0},
};
/* clang-format on */
