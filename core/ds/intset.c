/*
 * The bytes, little-endian:
 *
 *     u32  width of an integer: 2, 4 or 8 bytes
 *     u32  how many there are
 *     the integers, from the smallest to the largest
 *
 * All have the width of the widest. It grows with the first integer that needs more, and never
 * shrinks: such an integer stands at one of the two ends.
 */
#include "core/ds/intset.h"

#include "core/base/check.h"
#include "core/base/heap.h"

struct intset {
    uint32_t width;
    uint32_t count;
    char body[];
};

static uint32_t width_of(int64_t number)
{
    if (number == (int16_t)number)
        return sizeof(int16_t);
    return number == (int32_t)number ? sizeof(int32_t) : sizeof(int64_t);
}

static size_t bytes_for(uint32_t width, uint32_t count)
{
    return sizeof(struct intset) + (size_t)width * count;
}

static char *place_of(const struct intset *set, uint32_t width, uint32_t index)
{
    return (char *)set->body + (size_t)width * index;
}

static int64_t read_at(const struct intset *set, uint32_t width, uint32_t index)
{
    const char *place = place_of(set, width, index);
    int16_t narrow;
    int32_t middle;
    int64_t wide;
    switch (width) {
    case sizeof narrow:
        memcpy(&narrow, place, sizeof narrow);
        return narrow;
    case sizeof middle:
        memcpy(&middle, place, sizeof middle);
        return middle;
    default:
        memcpy(&wide, place, sizeof wide);
        return wide;
    }
}

static void write_at(struct intset *set, uint32_t index, int64_t number)
{
    memcpy(place_of(set, set->width, index), &number, set->width); /* the low bytes come first */
}

/* Gives the set room for exactly `bytes`, of which it has used `used` so far. */
static struct intset *resize(struct intset *set, struct heap *heap, size_t used, size_t bytes)
{
    if (heap_usable(used) == heap_usable(bytes))
        return set;
    struct intset *resized = heap_alloc(heap, bytes);
    memcpy(resized, set, used < bytes ? used : bytes);
    heap_free(heap, set, used);
    return resized;
}

struct intset *intset_create(struct heap *heap)
{
    struct intset *set = heap_alloc(heap, sizeof *set);
    *set = (struct intset){.width = sizeof(int16_t)};
    return set;
}

void intset_destroy(struct intset *set, struct heap *heap)
{
    heap_free(heap, set, intset_bytes(set));
}

struct intset *intset_load(struct bytes bytes, struct heap *heap)
{
    struct intset *set = heap_alloc(heap, bytes.len);
    memcpy(set, bytes.ptr, bytes.len);
    return set;
}

struct intset *intset_copy(const struct intset *set, struct heap *heap)
{
    return intset_load(bytes_of(set, intset_bytes(set)), heap);
}

bool intset_is_valid(struct bytes bytes)
{
    struct intset head;
    if (bytes.len < sizeof head)
        return false;
    memcpy(&head, bytes.ptr, sizeof head);
    bool is_width = head.width == sizeof(int16_t) || head.width == sizeof(int32_t) ||
                    head.width == sizeof(int64_t);
    if (!is_width || head.count > INTSET_COUNT_MAX ||
        bytes.len != bytes_for(head.width, head.count))
        return false;
    const struct intset *set = (const struct intset *)(const void *)bytes.ptr;
    for (uint32_t i = 1; i < head.count; i++) {
        if (read_at(set, head.width, i - 1) >= read_at(set, head.width, i))
            return false;
    }
    return true;
}

size_t intset_bytes(const struct intset *set)
{
    return bytes_for(set->width, set->count);
}

uint32_t intset_count(const struct intset *set)
{
    return set->count;
}

int64_t intset_get(const struct intset *set, uint32_t index)
{
    DEBUG_ASSERT(index < set->count);
    return read_at(set, set->width, index);
}

/* Where `number` stands or would stand: the first index whose integer is not smaller. */
static uint32_t find(const struct intset *set, int64_t number)
{
    uint32_t low = 0, high = set->count;
    /* Most sets are filled in rising order. */
    if (high > 0 && read_at(set, set->width, high - 1) < number)
        return high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (read_at(set, set->width, middle) < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool intset_has(const struct intset *set, int64_t number)
{
    uint32_t index = find(set, number);
    return index < set->count && intset_get(set, index) == number;
}

/* Makes all integers `width` bytes wide, from the last on: each moves up. */
static struct intset *widen(struct intset *set, struct heap *heap, uint32_t width)
{
    uint32_t old_width = set->width;
    set = resize(set, heap, intset_bytes(set), bytes_for(width, set->count));
    set->width = width;
    for (uint32_t i = set->count; i-- > 0;)
        write_at(set, i, read_at(set, old_width, i));
    return set;
}

bool intset_add(struct intset **set, struct heap *heap, int64_t number)
{
    struct intset *changed = *set;
    uint32_t index = find(changed, number);
    if (index < changed->count && intset_get(changed, index) == number)
        return false;
    ASSERT(changed->count < INTSET_COUNT_MAX);
    if (width_of(number) > changed->width)
        changed = widen(changed, heap, width_of(number));

    size_t used = intset_bytes(changed);
    changed = resize(changed, heap, used, used + changed->width);
    char *place = place_of(changed, changed->width, index);
    memmove(place + changed->width, place, (size_t)changed->width * (changed->count - index));
    changed->count++;
    write_at(changed, index, number);
    *set = changed;
    return true;
}

bool intset_remove(struct intset **set, struct heap *heap, int64_t number)
{
    struct intset *changed = *set;
    uint32_t index = find(changed, number);
    if (index == changed->count || intset_get(changed, index) != number)
        return false;
    size_t used = intset_bytes(changed);
    char *place = place_of(changed, changed->width, index);
    changed->count--;
    memmove(place, place + changed->width, (size_t)changed->width * (changed->count - index));
    *set = resize(changed, heap, used, used - changed->width);
    return true;
}

void intset_filter(struct intset **set, struct heap *heap, intset_keep_fn keep, void *context)
{
    struct intset *changed = *set;
    size_t used = intset_bytes(changed);
    uint32_t kept_count = 0;
    for (uint32_t i = 0; i < changed->count; i++) {
        int64_t number = intset_get(changed, i);
        if (keep(context, number))
            write_at(changed, kept_count++, number);
    }
    changed->count = kept_count;
    *set = resize(changed, heap, used, intset_bytes(changed));
}
