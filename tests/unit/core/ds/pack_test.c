#include "core/ds/pack.h"

#include <criterion/criterion.h>

#include "core/base/heap.h"
#include "core/base/rng.h"

static struct heap *heap;
static struct pack *pack;

static void open_pack(void)
{
    heap = heap_create(-1);
    pack = pack_create(heap);
}

static void close_pack(void)
{
    pack_destroy(pack, heap);
    heap_destroy(heap);
}

TestSuite(pack, .init = open_pack, .fini = close_pack);

static struct bytes whole(const struct pack *of)
{
    return bytes_of(of, pack_bytes(of));
}

static void expect_bytes(const void *bytes, size_t len)
{
    cr_assert_eq(pack_bytes(pack), len, "%u bytes", pack_bytes(pack));
    cr_assert_arr_eq((const char *)pack, (const char *)bytes, len);
}

#define EXPECT_BYTES(literal) expect_bytes(literal, sizeof(literal) - 1)

static void expect_entry(uint32_t at, const char *text)
{
    char scratch[PACK_SCRATCH];
    cr_assert_neq(at, PACK_NONE, "%s is missing", text);
    struct bytes view = pack_view(pack, at, scratch);
    cr_assert(bytes_equal(view, bytes_from_text(text)), "%.*s, not %s", (int)view.len, view.ptr,
              text);
}

static void append(const char *text)
{
    pack_append(&pack, heap, bytes_from_text(text));
}

/* ---- The format: what redis-server's DUMP shows inside a list ---- */

Test(pack, of_nothing_is_seven_bytes)
{
    EXPECT_BYTES("\x07\0\0\0\0\0\xff");
    cr_assert(pack_is_empty(pack));
    cr_assert_eq(pack_count(pack), 0);
    cr_assert_eq(pack_first(pack), PACK_NONE);
    cr_assert_eq(pack_last(pack), PACK_NONE);
    cr_assert_eq(pack_seek(pack, 0), PACK_NONE);
    cr_assert_eq(pack_seek(pack, -1), PACK_NONE);
}

Test(pack, holds_short_texts_with_a_byte_before_and_behind)
{
    append("abc");
    append("");
    EXPECT_BYTES("\x0e\0\0\0\2\0\x83"
                 "abc\4\x80\1\xff");
}

Test(pack, holds_numbers_in_as_few_bytes_as_they_need)
{
    static const struct {
        const char *text;
        const char *bytes;
        size_t len;
    } cases[] = {
        {"0", "\0", 1},
        {"127", "\x7f", 1},
        {"128", "\xc0\x80", 2},
        {"-1", "\xdf\xff", 2},
        {"4095", "\xcf\xff", 2},
        {"-4096", "\xd0\0", 2},
        {"4096", "\xf1\0\x10", 3},
        {"-32768", "\xf1\0\x80", 3},
        {"32768", "\xf2\0\x80\0", 4},
        {"-8388608", "\xf2\0\0\x80", 4},
        {"8388608", "\xf3\0\0\x80\0", 5},
        {"-2147483648", "\xf3\0\0\0\x80", 5},
        {"2147483648", "\xf4\0\0\0\x80\0\0\0\0", 9},
        {"9223372036854775807", "\xf4\xff\xff\xff\xff\xff\xff\xff\x7f", 9},
        {"-9223372036854775808", "\xf4\0\0\0\0\0\0\0\x80", 9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        append(cases[i].text);
        uint32_t at = pack_last(pack);
        const char *entry = (const char *)pack + at;
        cr_assert_arr_eq(entry, cases[i].bytes, cases[i].len, "%s", cases[i].text);
        cr_assert_eq(entry[cases[i].len], (char)cases[i].len, "the tail of %s", cases[i].text);
        cr_assert_eq(pack_entry_len(bytes_from_text(cases[i].text)), cases[i].len + 1);
        cr_assert_null(pack_get(pack, at).text);
        expect_entry(at, cases[i].text);
    }
    cr_assert(pack_is_valid(whole(pack)));
}

Test(pack, keeps_what_only_resembles_a_number_as_text)
{
    static const char *const texts[] = {"01", "+1", "-0", "1 ", "9223372036854775808", "-", ""};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        append(texts[i]);
        cr_assert_not_null(pack_get(pack, pack_last(pack)).text, "%s", texts[i]);
        expect_entry(pack_last(pack), texts[i]);
    }
}

Test(pack, has_heads_and_tails_that_grow_with_the_text)
{
    static const struct {
        uint32_t len, entry_len;
    } cases[] = {
        {63, 65},     {64, 67},       {125, 128},     {126, 130},         {4095, 4099},
        {4096, 4103}, {16377, 16384}, {16378, 16386}, {2097145, 2097153}, {2097146, 2097155},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = calloc(1, cases[i].len);
        struct bytes bytes = bytes_of(text, cases[i].len);
        cr_assert_eq(pack_entry_len(bytes), cases[i].entry_len, "%u", cases[i].len);
        pack_append(&pack, heap, BYTES("before"));
        pack_append(&pack, heap, bytes);
        cr_assert(pack_is_valid(whole(pack)), "%u", cases[i].len);
        uint32_t at = pack_last(pack);
        cr_assert_eq(pack_get(pack, at).len, cases[i].len);
        expect_entry(pack_prev(pack, at), "before");
        cr_assert_eq(pack_delete(&pack, heap, pack_first(pack), 2), PACK_NONE);
        free(text);
    }
}

Test(pack, has_one_byte_of_tail_more_than_needed_just_below_a_power_of_128)
{
    char text[16383 - 5];
    memset(text, 'x', sizeof text);
    pack_append(&pack, heap, bytes_of(text, sizeof text));
    const uint8_t *tail = (const uint8_t *)pack + pack_bytes(pack) - 4;
    cr_assert_eq(tail[0], 0, "16383 has its 14 bits in three bytes, as redis-server writes it");
    cr_assert_eq(tail[1], 0xff);
    cr_assert_eq(tail[2], 0xff);
}

/* ---- Reading ---- */

Test(pack, is_walked_from_both_ends)
{
    append("a");
    append("500");
    append("c");
    uint32_t at = pack_first(pack);
    expect_entry(at, "a");
    at = pack_next(pack, at);
    expect_entry(at, "500");
    at = pack_next(pack, at);
    expect_entry(at, "c");
    cr_assert_eq(at, pack_last(pack));
    cr_assert_eq(pack_next(pack, at), PACK_NONE);
    at = pack_prev(pack, pack_prev(pack, at));
    expect_entry(at, "a");
    cr_assert_eq(pack_prev(pack, at), PACK_NONE);
}

Test(pack, gives_entries_by_index_from_either_end)
{
    for (int i = 0; i < 100; i++)
        pack_append_int(&pack, heap, i * 1000);
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(pack_get(pack, pack_seek(pack, i)).number, i * 1000);
        cr_assert_eq(pack_get(pack, pack_seek(pack, i - 100)).number, i * 1000);
    }
    cr_assert_eq(pack_seek(pack, 100), PACK_NONE);
    cr_assert_eq(pack_seek(pack, -101), PACK_NONE);
    cr_assert_eq(pack_seek(pack, INT64_MAX), PACK_NONE);
    cr_assert_eq(pack_seek(pack, INT64_MIN), PACK_NONE);
}

Test(pack, finds_texts_and_numbers_and_passes_over_what_it_is_told)
{
    append("a");
    append("b");
    append("b");
    append("77");
    uint32_t first = pack_first(pack);
    cr_assert_eq(pack_find(pack, first, BYTES("b"), 0), pack_seek(pack, 1));
    cr_assert_eq(pack_find(pack, first, BYTES("b"), 1), pack_seek(pack, 2), "a value was found");
    cr_assert_eq(pack_find(pack, first, BYTES("77"), 1), PACK_NONE);
    cr_assert_eq(pack_find(pack, first, BYTES("77"), 0), pack_seek(pack, 3));
    cr_assert_eq(pack_find(pack, first, BYTES("77"), 2), pack_seek(pack, 3));
    cr_assert_eq(pack_find(pack, first, BYTES("077"), 0), PACK_NONE);
    cr_assert_eq(pack_find(pack, PACK_NONE, BYTES("a"), 0), PACK_NONE);
    cr_assert(pack_equals(pack, first, BYTES("a")));
    cr_assert_not(pack_equals(pack, first, BYTES("b")));
}

Test(pack, reads_a_number_that_others_wrote_as_text)
{
    pack_destroy(pack, heap);
    pack = pack_load(BYTES("\x0b\0\0\0\1\0\x82"
                           "12\3\xff"),
                     heap);
    int64_t number;
    cr_assert(pack_get_int(pack, pack_first(pack), &number));
    cr_assert_eq(number, 12);
    cr_assert_neq(pack_find(pack, pack_first(pack), BYTES("12"), 0), PACK_NONE);
    append("x");
    cr_assert_not(pack_get_int(pack, pack_last(pack), &number));
}

/* ---- Changing ---- */

Test(pack, takes_entries_at_any_place)
{
    append("b");
    pack_prepend(&pack, heap, BYTES("a"));
    expect_entry(pack_insert(&pack, heap, PACK_NONE, BYTES("d")), "d");
    expect_entry(pack_insert(&pack, heap, pack_last(pack), BYTES("c")), "c");
    expect_entry(pack_insert_int(&pack, heap, pack_first(pack), -5), "-5");
    uint32_t pair = pack_insert_pair(&pack, heap, pack_seek(pack, 1), BYTES("x"), BYTES("1"));
    expect_entry(pair, "x");
    static const char *const expected[] = {"-5", "x", "1", "a", "b", "c", "d"};
    for (int i = 0; i < 7; i++)
        expect_entry(pack_seek(pack, i), expected[i]);
    cr_assert_eq(pack_count(pack), 7);
    cr_assert(pack_is_valid(whole(pack)));
}

Test(pack, takes_several_entries_at_once_as_one_after_the_other)
{
    struct pack *one_by_one = pack_create(heap);
    pack_append_items(&pack, heap, NULL, 0);
    cr_assert(pack_is_empty(pack));
    struct pack_item items[PACK_ITEMS_BATCH];
    for (uint32_t i = 0; i < PACK_ITEMS_BATCH; i++) {
        static char text[5000];
        memset(text, 'x', sizeof text);
        items[i] = i % 3 ? (struct pack_item){.text = text, .len = (size_t)i * i * 5}
                         : (struct pack_item){.number = INT64_MIN >> 2 * i};
        if (items[i].text)
            pack_append(&one_by_one, heap, bytes_of(items[i].text, items[i].len));
        else
            pack_append_int(&one_by_one, heap, items[i].number);
    }
    items[1] = (struct pack_item){.text = "12", .len = 2}; /* is kept as a number */
    pack_replace_int(&one_by_one, heap, pack_seek(one_by_one, 1), 12);
    pack_append_items(&pack, heap, items, PACK_ITEMS_BATCH);
    cr_assert(bytes_equal(whole(pack), whole(one_by_one)));
    pack_destroy(one_by_one, heap);
}

Test(pack, replaces_an_entry_where_it_stands)
{
    append("a");
    append("b");
    append("c");
    uint32_t at = pack_seek(pack, 1);
    pack_replace(&pack, heap, at,
                 BYTES("a much longer text than before, and then some more of it"));
    expect_entry(pack_next(pack, at), "c");
    pack_replace_int(&pack, heap, at, 7);
    expect_entry(at, "7");
    expect_entry(pack_next(pack, at), "c");
    cr_assert_eq(pack_count(pack), 3);
}

Test(pack, deletes_runs_and_says_what_follows)
{
    for (int i = 0; i < 10; i++)
        pack_append_int(&pack, heap, i);
    uint32_t at = pack_delete(&pack, heap, pack_seek(pack, 2), 3);
    expect_entry(at, "5");
    cr_assert_eq(pack_count(pack), 7);
    cr_assert_eq(pack_delete(&pack, heap, pack_seek(pack, 5), 1000), PACK_NONE);
    cr_assert_eq(pack_count(pack), 5);
    expect_entry(pack_last(pack), "7");
    cr_assert_eq(pack_delete(&pack, heap, pack_first(pack), 5), PACK_NONE);
    cr_assert(pack_is_empty(pack));
}

Test(pack, is_joined_and_split)
{
    struct pack *other = pack_create(heap);
    for (int i = 0; i < 5; i++) {
        pack_append_int(&pack, heap, i);
        pack_append_int(&other, heap, i + 5);
    }
    pack_join(&pack, heap, other);
    cr_assert_eq(pack_count(other), 5);
    pack_destroy(other, heap);
    cr_assert_eq(pack_count(pack), 10);
    other = pack_split(&pack, heap, pack_seek(pack, 7));
    cr_assert_eq(pack_count(pack), 7);
    cr_assert_eq(pack_count(other), 3);
    expect_entry(pack_last(pack), "6");
    cr_assert_eq(pack_get(other, pack_first(other)).number, 7);
    cr_assert(pack_is_valid(whole(pack)) && pack_is_valid(whole(other)));
    pack_destroy(other, heap);
    other = pack_split(&pack, heap, PACK_NONE);
    cr_assert(pack_is_empty(other));
    pack_destroy(other, heap);
}

Test(pack, takes_a_number_behind_each_group_of_entries)
{
    pack_interleave_int(&pack, heap, 2, 0);
    cr_assert_eq(pack_count(pack), 0);
    static const char *const texts[] = {"a", "1", "some text", "12345"};
    for (int i = 0; i < 4; i++)
        append(texts[i]);
    pack_interleave_int(&pack, heap, 2, 1000);
    static const char *const wanted[] = {"a", "1", "1000", "some text", "12345", "1000"};
    cr_assert_eq(pack_count(pack), 6);
    cr_assert(pack_is_valid(whole(pack)));
    for (int i = 0; i < 6; i++)
        expect_entry(pack_seek(pack, i), wanted[i]);
}

Test(pack, counts_by_walking_when_the_header_cannot_say)
{
    for (uint32_t i = 0; i < PACK_COUNT_UNKNOWN - 1; i++)
        pack_append_int(&pack, heap, 1);
    cr_assert_eq(pack_count(pack), PACK_COUNT_UNKNOWN - 1);
    pack_append_int(&pack, heap, 1);
    pack_append_int(&pack, heap, 2);
    cr_assert_eq(pack_count(pack), PACK_COUNT_UNKNOWN + 1);
    cr_assert(pack_is_valid(whole(pack)));
    cr_assert_eq(pack_get(pack, pack_seek(pack, PACK_COUNT_UNKNOWN)).number, 2);
    (void)pack_delete(&pack, heap, pack_first(pack), 10);
    cr_assert_eq(pack_count(pack), PACK_COUNT_UNKNOWN - 9);
}

Test(pack, has_room_up_to_its_bound)
{
    cr_assert(pack_has_room(pack, PACK_BYTES_MAX - PACK_EMPTY_LEN));
    cr_assert_not(pack_has_room(pack, PACK_BYTES_MAX - PACK_EMPTY_LEN + 1));
    cr_assert_not(pack_has_room(pack, SIZE_MAX));
}

/* A list of numbers and texts beside the pack; every change is made to both. */
#define MODEL_MAX 200

struct model {
    uint32_t count;
    int32_t entries[MODEL_MAX]; /* negative: a text of so many bytes */
};

static struct bytes model_text(int32_t entry, char *text)
{
    if (entry >= 0)
        return bytes_of(text, num_from_int(text, (int64_t)entry * entry));
    memset(text, 'a' + -entry % 26, (size_t)-entry);
    return bytes_of(text, (size_t)-entry);
}

static void compare(const struct model *model)
{
    char text[400];
    cr_assert(pack_is_valid(whole(pack)));
    cr_assert_eq(pack_count(pack), model->count);
    uint32_t at = pack_first(pack);
    for (uint32_t i = 0; i < model->count; i++, at = pack_next(pack, at))
        cr_assert(pack_equals(pack, at, model_text(model->entries[i], text)), "entry %u", i);
    cr_assert_eq(at, PACK_NONE);
    at = pack_last(pack);
    for (uint32_t i = model->count; i-- > 0; at = pack_prev(pack, at))
        cr_assert(pack_equals(pack, at, model_text(model->entries[i], text)), "entry %u", i);
    cr_assert_eq(at, PACK_NONE);
}

Test(pack, stays_like_a_plain_list_through_any_changes)
{
    struct rng rng;
    rng_init(&rng, 7);
    struct model model = {0};
    char text[400];
    for (int step = 0; step < 5000; step++) {
        uint32_t index = (uint32_t)rng_below(&rng, model.count + 1);
        uint32_t at = pack_seek(pack, index);
        int32_t entry = rng_below(&rng, 2) ? (int32_t)rng_below(&rng, 1 << 20)
                                           : -1 - (int32_t)rng_below(&rng, 300);
        uint32_t behind = model.count - index;
        int32_t *place = &model.entries[index];
        switch (rng_below(&rng, model.count < MODEL_MAX ? 3 : 2)) {
        case 0:
            if (behind == 0)
                continue;
            pack_replace(&pack, heap, at, model_text(entry, text));
            *place = entry;
            break;
        case 1: {
            if (behind == 0)
                continue;
            uint32_t count = 1 + (uint32_t)rng_below(&rng, behind < 3 ? behind : 3);
            (void)pack_delete(&pack, heap, at, count);
            memmove(place, place + count, (behind - count) * sizeof *place);
            model.count -= count;
            break;
        }
        default:
            (void)pack_insert(&pack, heap, at, model_text(entry, text));
            memmove(place + 1, place, behind * sizeof *place);
            *place = entry;
            model.count++;
        }
        if (step % 16 == 0)
            compare(&model);
    }
    compare(&model);
    pack_destroy(pack, heap);
    heap_release_unused(heap);
    cr_assert_eq(heap_used(heap), 0, "a block was lost");
    pack = NULL;
}

/* ---- Strangers' bytes ---- */

Test(pack, refuses_bytes_that_are_not_whole)
{
    static const struct {
        const char *what;
        const char *bytes;
        size_t len;
    } cases[] = {
#define CASE(what, literal) {what, literal, sizeof(literal) - 1}
        CASE("nothing", ""),
        CASE("no end", "\x06\0\0\0\0\0"),
        CASE("another end", "\x07\0\0\0\0\0\xfe"),
        CASE("a wrong length", "\x08\0\0\0\0\0\xff"),
        CASE("a wrong count", "\x07\0\0\0\1\0\xff"),
        CASE("no tail", "\x08\0\0\0\1\0\5\xff"),
        CASE("a wrong tail", "\x09\0\0\0\1\0\5\2\xff"),
        CASE("a text that is too long", "\x0a\0\0\0\1\0\x85"
                                        "a\2\xff"),
        CASE("a long text's length cut", "\x0a\0\0\0\1\0\xf0\1\1\xff"),
        CASE("a longest text", "\x0d\0\0\0\1\0\xf0\xff\xff\xff\xff\6\xff"),
        CASE("a 12-bit length cut", "\x08\0\0\0\1\0\xe1\xff"),
        CASE("an unknown head", "\x09\0\0\0\1\0\xf5\1\xff"),
        CASE("an end in the middle", "\x09\0\0\0\1\0\xff\1\xff"),
        CASE("a tail longer than needed", "\x0a\0\0\0\1\0\5\0\x81\xff"),
#undef CASE
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_assert_not(pack_is_valid(bytes_of(cases[i].bytes, cases[i].len)), "%s", cases[i].what);
}

Test(pack, lets_no_mutation_in_that_cannot_be_walked)
{
    for (int i = 0; i < 12; i++) {
        char text[100];
        memset(text, 'x', sizeof text);
        pack_append_int(&pack, heap, (int64_t)1 << (5 * i));
        pack_append(&pack, heap, bytes_of(text, (size_t)(i * 8)));
    }
    struct rng rng;
    rng_init(&rng, 11);
    uint32_t let_in = 0;
    for (int round = 0; round < 20000; round++) {
        size_t len = pack_bytes(pack);
        /* A block of its own, so that the sanitizer sees a step outside. */
        char *copy = malloc(len);
        memcpy(copy, pack, len);
        for (uint64_t i = 0; i <= rng_below(&rng, 3); i++)
            copy[rng_below(&rng, len)] = (char)rng_next(&rng);
        if (pack_is_valid(bytes_of(copy, len))) {
            let_in++;
            const struct pack *mutant = (const struct pack *)copy;
            uint32_t count = 0, backwards = 0;
            for (uint32_t at = pack_first(mutant); at != PACK_NONE; at = pack_next(mutant, at))
                count++;
            for (uint32_t at = pack_last(mutant); at != PACK_NONE; at = pack_prev(mutant, at))
                backwards++;
            cr_assert_eq(count, backwards);
        }
        free(copy);
    }
    cr_assert_gt(let_in, 100, "changed texts are no fault");
}
