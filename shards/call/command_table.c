/*
 * How: the rows of all families are copied into one array, where they can be numbered and linked;
 * the children of a container stand together, ended by a zero row as in their family. Names are
 * found in an open-addressing table by their length and their first eight bytes, whose case is
 * taken away by setting one bit in each. That is exact for letters, which is what most names are
 * made of; names that are longer, or hold anything else, are then compared byte by byte.
 *
 * The table is written by command_table_build() and command_table_rename(), both before any other
 * thread starts, and never again: reading needs no order.
 */
#include "shards/call/command_table.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>

#include "core/base/arena.h"
#include "core/base/mem.h"
#include "core/base/num.h"
#include "core/os/log.h"

#define SLOT_BITS 10
#define NAME_SLOTS (1u << SLOT_BITS)
#define NAME_SLOTS_USED_MAX (NAME_SLOTS / 2)

/* One name. `len` 0 marks a free slot: no command has an empty name. */
struct slot {
    uint64_t word;
    uint32_t len;
    uint32_t
        row; /* where its row is, in bytes from the first, lowest bit set: compare the whole name */
};

#define SLOT_COMPARE 1u
static_assert(sizeof(struct command) % 2 == 0, "the place of a row leaves a bit free");

/* How a command's keys are found, decided once. */
enum key_shape {
    KEY_SHAPE_NONE,
    KEY_SHAPE_ONE,   /* the word at `first`, nothing else */
    KEY_SHAPE_RANGE, /* every `step`-th word from `first` to `last` */
    KEY_SHAPE_SEARCH /* specifications one by one, or find_keys */
};

struct shape {
    uint8_t kind;
    uint8_t step;
    int16_t first, last; /* last negative: from the end */
};

static struct {
    struct command *rows;       /* by place: rows, and the zero rows behind children */
    const struct command **all; /* [count], by id */
    const char **full_names;    /* by id */
    struct shape *shapes;       /* by id */
    char **names;               /* by id: what a top-level row answers to now; NULL: nothing */
    const struct command **top; /* [top_count] rows that a name leads to */
    uint32_t count, top_count;
    struct slot slots[NAME_SLOTS];
    uint32_t slots_used;
} table;

/* ---- Names ---- */

/* Eight letters to lower case at once. */
static inline uint64_t fold(uint64_t word)
{
    return word | 0x2020202020202020u;
}

/* The first bytes of a name, eight at most, folded. Of two names of one length that hold letters
 * only, the words are equal if and only if these bytes are, case apart. Reads nothing outside the
 * name. */
static inline uint64_t name_word(struct bytes name)
{
    const char *p = name.ptr;
    uint64_t word;
    if (name.len >= 8) {
        memcpy(&word, p, 8);
    } else if (name.len >= 4) {
        uint32_t low, high;
        memcpy(&low, p, 4);
        memcpy(&high, p + name.len - 4, 4);
        word = (uint64_t)high << 32 | low;
    } else {
        word = (uint64_t)(uint8_t)p[0] | (uint64_t)(uint8_t)p[name.len >> 1] << 8 |
               (uint64_t)(uint8_t)p[name.len - 1] << 16;
    }
    return fold(word);
}

static inline uint32_t slot_of(uint64_t word, size_t len)
{
    return (uint32_t)(((word + len) * 0x9e3779b97f4a7c15u) >> (64 - SLOT_BITS));
}

static inline struct command *slot_row(const struct slot *slot)
{
    return (struct command *)((char *)table.rows + (slot->row & ~SLOT_COMPARE));
}

static struct slot *slot_find(struct bytes name)
{
    if (unlikely(name.len == 0 || name.len > UINT32_MAX))
        return NULL;
    uint64_t word = name_word(name);
    for (uint32_t i = slot_of(word, name.len);; i = (i + 1) & (NAME_SLOTS - 1)) {
        struct slot *slot = &table.slots[i];
        if (likely(slot->word == word && slot->len == name.len)) {
            if (likely(!(slot->row & SLOT_COMPARE)) ||
                bytes_is(name, table.names[slot_row(slot)->id]))
                return slot;
        } else if (slot->len == 0) {
            return NULL;
        }
    }
}

const struct command *command_find(struct bytes name)
{
    const struct slot *slot = slot_find(name);
    return slot ? slot_row(slot) : NULL;
}

const struct command *command_find_sub(const struct command *container, struct bytes name)
{
    if (!container->subcommands)
        return NULL;
    for (const struct command *row = container->subcommands; row->name; row++) {
        if (bytes_is(name, row->name))
            return row;
    }
    return NULL;
}

const struct command *command_find_full(struct bytes name)
{
    const char *bar = name.len ? memchr(name.ptr, '|', name.len) : NULL;
    if (!bar)
        return command_find(name);
    size_t len = (size_t)(bar - name.ptr);
    const struct command *container = command_find(bytes_of(name.ptr, len));
    if (!container)
        return NULL;
    return command_find_sub(container, bytes_of(bar + 1, name.len - len - 1));
}

/* Is the name more than its folded word says? */
static bool needs_comparing(struct bytes name)
{
    bool only_letters = true;
    for (size_t i = 0; i < name.len; i++)
        only_letters &= isalpha((unsigned char)name.ptr[i]) != 0;
    return name.len > 8 || !only_letters;
}

static void slot_add(const char *name, const struct command *row)
{
    struct bytes bytes = bytes_from_text(name);
    ASSERT(bytes.len > 0);
    ASSERT(table.slots_used < NAME_SLOTS_USED_MAX);
    uint64_t word = name_word(bytes);
    uint32_t i = slot_of(word, bytes.len);
    while (table.slots[i].len)
        i = (i + 1) & (NAME_SLOTS - 1);
    uint32_t offset = (uint32_t)((const char *)row - (const char *)table.rows);
    table.slots[i] = (struct slot){
        .word = word,
        .len = (uint32_t)bytes.len,
        .row = offset | (needs_comparing(bytes) ? SLOT_COMPARE : 0),
    };
    table.slots_used++;
}

/* Names are all entered again: deletion from the middle of a probe sequence is not worth code that
 * runs at start only. */
static void slots_rebuild(void)
{
    memset(table.slots, 0, sizeof(table.slots));
    table.slots_used = 0;
    table.top_count = 0;
    for (uint32_t id = 0; id < table.count; id++) {
        if (!table.names[id])
            continue;
        slot_add(table.names[id], table.all[id]);
        table.top[table.top_count++] = table.all[id];
    }
}

int command_table_rename(struct bytes old_name, struct bytes new_name)
{
    struct slot *slot = slot_find(old_name);
    if (!slot)
        return -ENOENT;
    char *copy = NULL;
    if (new_name.len > 0) {
        if (slot_find(new_name))
            return -EEXIST;
        copy = mem_alloc(new_name.len + 1);
        memcpy(copy, new_name.ptr, new_name.len);
        copy[new_name.len] = '\0';
    }
    uint32_t id = slot_row(slot)->id;
    mem_free(table.names[id]);
    table.names[id] = copy;
    slots_rebuild();
    return 0;
}

/* ---- Building ---- */

/* Places that a family takes, the zero rows of its children included. */
static uint32_t places_of(const struct command *family)
{
    uint32_t count = 0;
    for (const struct command *row = family; row->name; row++)
        count += row->subcommands ? places_of(row->subcommands) + 2 : 1;
    return count;
}

static uint32_t derived_acl(const struct command *row)
{
    uint32_t acl = row->acl;
    if (row->flags & CMD_WRITE)
        acl |= ACL_WRITE;
    if ((row->flags & CMD_READONLY) && !(row->acl & ACL_SCRIPTING))
        acl |= ACL_READ;
    if (row->flags & CMD_ADMIN)
        acl |= ACL_ADMIN | ACL_DANGEROUS;
    if (row->flags & CMD_PUBSUB)
        acl |= ACL_PUBSUB;
    if (row->flags & CMD_BLOCKING)
        acl |= ACL_BLOCKING;
    if (row->flags & CMD_FAST)
        acl |= ACL_FAST;
    return acl & ACL_FAST ? acl : acl | ACL_SLOW;
}

static bool is_plain_range(const struct key_spec *spec)
{
    return !spec->keyword && !spec->counted && !spec->is_unknown;
}

static uint32_t spec_count(const struct command *row)
{
    uint32_t count = 0;
    while (count < KEY_SPEC_MAX && row->keys[count].flags)
        count++;
    return count;
}

static struct shape shape_of(const struct command *row)
{
    uint32_t count = spec_count(row);
    if (count == 0)
        return (struct shape){.kind = row->find_keys ? KEY_SHAPE_SEARCH : KEY_SHAPE_NONE};
    const struct key_spec *spec = &row->keys[0];
    if (count > 1 || !is_plain_range(spec) || spec->limit > 1 ||
        spec->flags & (KEY_NOT_KEY | KEY_INCOMPLETE))
        return (struct shape){.kind = KEY_SHAPE_SEARCH};
    struct shape shape = {.first = spec->index, .step = (uint8_t)(spec->step ? spec->step : 1)};
    shape.kind = spec->last == 0 ? KEY_SHAPE_ONE : KEY_SHAPE_RANGE;
    shape.last = (int16_t)(spec->last < 0 ? spec->last : spec->index + spec->last);
    return shape;
}

/* COMMAND INFO calls keys movable when its three numbers do not tell where all of them are. */
static bool has_movable_keys(const struct command *row)
{
    uint32_t count = spec_count(row);
    bool single = count == 1 && is_plain_range(&row->keys[0]);
    int16_t end = 0;
    bool found = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct key_spec *spec = &row->keys[i];
        if (spec->flags & KEY_INCOMPLETE || !is_plain_range(spec))
            return true;
        if (!single && (spec->step > 1 || (found && end != spec->index - 1)))
            return true;
        end = (int16_t)(spec->last < 0 ? spec->last : spec->index + spec->last);
        found = true;
    }
    return false;
}

static const char *full_name(const struct command *row)
{
    if (!row->parent)
        return row->name;
    size_t parent_len = strlen(row->parent->name), len = strlen(row->name);
    char *text = mem_alloc(parent_len + len + 2);
    memcpy(text, row->parent->name, parent_len);
    text[parent_len] = '|';
    memcpy(text + parent_len + 1, row->name, len + 1);
    return text;
}

static bool has_one_key(const struct command *row)
{
    const struct key_spec *spec = &row->keys[0];
    return spec->flags && !(spec->flags & KEY_NOT_KEY) && !spec->keyword && !spec->counted &&
           spec->index == 1 && spec->last == 0 && !row->keys[1].flags && !row->find_keys;
}

/* Copies a family's rows to `place` and on, children behind them; returns the next free place. */
static uint32_t add_family(const struct command *family, const struct command *parent,
                           const char *group, uint32_t place)
{
    uint32_t first = place;
    for (const struct command *row = family; row->name; row++)
        table.rows[place++] = *row;
    uint32_t end = place;
    if (parent)
        place++; /* their zero row */
    for (struct command *row = &table.rows[first]; row < &table.rows[end]; row++) {
        row->id = (uint16_t)table.count++;
        row->parent = parent;
        if (!row->group || !row->group[0])
            row->group = group;
        row->acl = derived_acl(row);
        row->has_one_key = has_one_key(row);
        if (has_movable_keys(row))
            row->flags |= CMD_MOVABLE_KEYS;
        table.all[row->id] = row;
        struct shape shape = shape_of(row);
        row->has_one_key = shape.kind == KEY_SHAPE_ONE && shape.first == 1;
        table.shapes[row->id] = shape;
        table.full_names[row->id] = full_name(row);
        if (!parent)
            table.names[row->id] = mem_copy_text(row->name);
        if (row->subcommands) {
            uint32_t children = place;
            place = add_family(row->subcommands, row, row->group, place);
            row->subcommands = &table.rows[children];
        }
    }
    return place;
}

void command_table_build(const struct command *const *families, const char *const *groups)
{
    ASSERT(!table.rows);
    uint32_t places = 1; /* an empty table has memory too */
    for (uint32_t i = 0; families[i]; i++)
        places += places_of(families[i]);
    ASSERT(places <= UINT16_MAX); /* ids are 16 bits wide */
    table.rows = mem_zalloc(places * sizeof(*table.rows));
    table.all = mem_zalloc(places * sizeof(*table.all));
    table.full_names = mem_zalloc(places * sizeof(*table.full_names));
    table.shapes = mem_zalloc(places * sizeof(*table.shapes));
    table.names = mem_zalloc(places * sizeof(*table.names));
    table.top = mem_zalloc(places * sizeof(*table.top));

    uint32_t place = 0;
    for (uint32_t i = 0; families[i]; i++)
        place = add_family(families[i], NULL, groups[i], place);
    slots_rebuild();
    for (uint32_t i = 0; i < table.top_count; i++) {
        const char *name = table.top[i]->name;
        if (command_find(bytes_from_text(name)) == table.top[i])
            continue;
        log_error("command_table.duplicate_name", "name=%s", name);
        ASSERT(!"every command name leads to one row");
    }
}

uint32_t command_count(void)
{
    return table.count;
}

const struct command *command_at(uint32_t id)
{
    return table.all[id];
}

uint32_t command_top_count(void)
{
    return table.top_count;
}

const struct command *command_top_at(uint32_t index)
{
    return table.top[index];
}

const char *command_full_name(const struct command *command)
{
    return table.full_names[command->id];
}

/* ---- Keys ---- */

/* What key extraction has found so far; grows from the caller's `fast` into the arena. */
struct found {
    uint32_t *index;
    uint16_t *flags; /* NULL when nobody asked */
    uint32_t count, cap;
    struct arena *arena;
};

static void found_add(struct found *found, uint32_t index, uint16_t flags)
{
    if (found->count == found->cap) {
        uint32_t cap = found->cap * 4;
        uint32_t *more = arena_alloc(found->arena, cap * sizeof(*more));
        memcpy(more, found->index, found->count * sizeof(*more));
        found->index = more;
        if (found->flags) {
            uint16_t *more_flags = arena_alloc(found->arena, cap * sizeof(*more_flags));
            memcpy(more_flags, found->flags, found->count * sizeof(*more_flags));
            found->flags = more_flags;
        }
        found->cap = cap;
    }
    found->index[found->count] = index;
    if (found->flags)
        found->flags[found->count] = flags;
    found->count++;
}

/* The word after the keyword, or 0: the command was given without it. */
static int64_t after_keyword(const struct key_spec *spec, const struct bytes *args, int64_t count)
{
    int step = spec->index > 0 ? 1 : -1;
    int64_t at = spec->index > 0 ? spec->index : count + spec->index;
    int64_t end = spec->index > 0 ? count - 1 : 1;
    for (; at >= 1 && at < count && at != end; at += step) {
        if (bytes_is(args[at], spec->keyword))
            return at + 1;
    }
    return 0;
}

/* Adds the keys of one specification; false when the words cannot be right. */
static bool add_spec(const struct key_spec *spec, const struct bytes *args, int64_t count,
                     struct found *found)
{
    int64_t first = spec->keyword ? after_keyword(spec, args, count) : spec->index;
    if (first == 0)
        return true;
    int64_t step = spec->step > 0 ? spec->step : 1;
    int64_t last;
    if (spec->counted) {
        int64_t keys;
        if (first + spec->last >= count || !num_to_int(args[first + spec->last], &keys) ||
            keys < 0 || keys > count)
            return false;
        first += spec->first;
        last = first + (keys - 1) * step;
    } else if (spec->last >= 0) {
        last = first + spec->last;
    } else if (spec->limit > 1) {
        last = first + (count - first) / spec->limit + spec->last;
    } else {
        last = count + spec->last;
    }
    if (first >= count || last >= count || last < first)
        return false;
    for (int64_t at = first; at <= last; at += step)
        found_add(found, (uint32_t)at, spec->flags);
    return !(spec->flags & KEY_INCOMPLETE);
}

static int search_keys(const struct command *command, const struct bytes *args, uint32_t arg_count,
                       struct found *found)
{
    /* What a command's own search finds is what it touches; what clients ask for, with flags, is
     * what the specifications say if they can. */
    bool asks_itself = command->find_keys && !found->flags;
    bool exact = command->keys[0].flags != 0 && !asks_itself; /* the specifications say it all */
    for (const struct key_spec *spec = command->keys;
         exact && spec < command->keys + KEY_SPEC_MAX && spec->flags; spec++) {
        if (command->find_keys &&
            (spec->is_unknown || spec->flags & (KEY_INCOMPLETE | KEY_VARIABLE_FLAGS))) {
            exact = false;
            break;
        }
        if (!(spec->flags & KEY_NOT_KEY) && !add_spec(spec, args, arg_count, found)) {
            exact = false;
            break;
        }
    }
    if (exact)
        return (int)found->count;
    if (!command->find_keys)
        return -1;
    if (found->cap < arg_count) {
        found->index = arena_alloc(found->arena, arg_count * sizeof(*found->index));
        if (found->flags)
            found->flags = arena_alloc(found->arena, arg_count * sizeof(*found->flags));
    }
    uint16_t *flags = found->flags ? found->flags
                                   : arena_alloc(found->arena, arg_count * sizeof(*found->flags));
    return command->find_keys(args, arg_count, found->index, flags);
}

int command_keys(const struct command *command, const struct bytes *args, uint32_t arg_count,
                 uint32_t fast[COMMAND_KEYS_FAST], struct arena *arena, const uint32_t **out_index,
                 const uint16_t **out_flags)
{
    const struct shape *shape = &table.shapes[command->id];
    if (likely(shape->kind == KEY_SHAPE_ONE && !out_flags)) {
        fast[0] = (uint32_t)shape->first;
        *out_index = fast;
        return (uint32_t)shape->first < arg_count ? 1 : -1;
    }
    if (shape->kind == KEY_SHAPE_NONE) {
        *out_index = fast;
        return 0;
    }
    struct found found = {.index = fast, .cap = COMMAND_KEYS_FAST, .arena = arena};
    int count;
    if (shape->kind == KEY_SHAPE_RANGE && !out_flags) {
        int64_t last = shape->last < 0 ? (int64_t)arg_count + shape->last : shape->last;
        if (last >= arg_count || last < shape->first)
            return -1;
        uint32_t keys = (uint32_t)(last - shape->first) / shape->step + 1;
        if (keys > COMMAND_KEYS_FAST)
            found.index = arena_alloc(arena, keys * sizeof(*found.index));
        for (uint32_t i = 0; i < keys; i++)
            found.index[i] = (uint32_t)shape->first + i * shape->step;
        count = (int)keys;
    } else {
        if (out_flags)
            found.flags = arena_alloc(arena, COMMAND_KEYS_FAST * sizeof(*found.flags));
        count = search_keys(command, args, arg_count, &found);
    }
    *out_index = found.index;
    if (out_flags)
        *out_flags = found.flags;
    return count;
}

void command_key_range(const struct command *command, int *out_first, int *out_last, int *out_step)
{
    uint32_t count = spec_count(command);
    *out_first = *out_last = *out_step = 0;
    if (count == 1 && is_plain_range(&command->keys[0])) {
        const struct key_spec *spec = &command->keys[0];
        *out_first = spec->index;
        *out_last = spec->last < 0 ? spec->last : spec->index + spec->last;
        *out_step = spec->step ? spec->step : 1;
        return;
    }
    /* Several: only those that follow each other without a gap fit into three numbers. */
    int end = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct key_spec *spec = &command->keys[i];
        if (!is_plain_range(spec) || spec->step > 1 || (end && end != spec->index - 1))
            continue;
        if (!*out_first || spec->index < *out_first)
            *out_first = spec->index;
        int last = spec->last < 0 ? spec->last : spec->index + spec->last;
        if ((unsigned)last > (unsigned)*out_last) /* negative ones, from the end, win */
            *out_last = last;
        end = *out_last;
        *out_step = 1;
    }
}
