#include "core/type/stream_node.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/heap.h"
#include "core/base/rng.h"

static struct heap *heap;
static struct stream_node node;

static void open_heap(void)
{
    heap = heap_create(-1);
}

static void close_heap(void)
{
    stream_node_free(&node, heap);
    heap_validate(heap);
    heap_destroy(heap);
}

TestSuite(stream_node, .init = open_heap, .fini = close_heap);

static struct stream_id id(uint64_t ms, uint64_t seq)
{
    return (struct stream_id){ms, seq};
}

#define WORDS_MAX 16u

static void add(struct stream_id which, const char *text)
{
    struct bytes words[WORDS_MAX];
    uint32_t count = 0;
    for (const char *at = text; *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        words[count++] = bytes_of(at, len);
        at += len;
    }
    if (node.pack)
        stream_node_append(&node, heap, which, words, count / 2);
    else
        stream_node_create(&node, heap, which, words, count / 2);
}

static struct bytes content(void)
{
    return bytes_of(node.pack, pack_bytes(node.pack));
}

static struct stream_node_facts facts(void)
{
    struct stream_node_facts found;
    cr_assert(stream_node_is_valid(node.master, content(), &found));
    return found;
}

/* "ms-seq field value ..." of each entry, "!" before tombstones, "; " between. */
static const char *shown(bool is_reverse)
{
    static char text[8192];
    size_t len = 0;
    struct stream_node_walk walk;
    struct stream_entry entry;
    stream_node_walk(&node, is_reverse, &walk);
    text[0] = '\0';
    while (stream_node_step(&walk, &entry)) {
        char name[STREAM_ID_CAP];
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s%.*s", len ? "; " : "",
                                entry.is_tombstone ? "!" : "", (int)stream_id_write(name, entry.id),
                                name);
        for (uint32_t i = 0; i < entry.pair_count; i++) {
            struct stream_pair pair;
            stream_entry_step(&entry, &pair);
            len += (size_t)snprintf(text + len, sizeof text - len, " %.*s %.*s",
                                    (int)pair.field.len, pair.field.ptr, (int)pair.value.len,
                                    pair.value.ptr);
        }
    }
    return text;
}

/* Marks the entry with this id. */
static void delete (struct stream_id which)
{
    struct stream_node_walk walk;
    struct stream_entry entry;
    stream_node_walk(&node, false, &walk);
    while (stream_node_step(&walk, &entry)) {
        if (stream_id_compare(entry.id, which) == 0) {
            stream_node_mark(&node, heap, entry.start_at);
            stream_node_bury(&node, heap, 1);
            return;
        }
    }
    cr_assert_fail("no such entry");
}

Test(stream_node, has_the_bytes_that_redis_dumps)
{
    add(id(5, 1), "a 1 b xyz");
    add(id(5, 2), "a -1 b 300");
    add(id(7, 0), "c d");
    delete (id(5, 2));
    static const char expected[] = "C\0\0\0\x19\0\x02\x01\x01\x01\x02\x01\x81"
                                   "a\x02\x81"
                                   "b\x02\0\x01"
                                   "\x02\x01\0\x01\0\x01\x01\x01\x83"
                                   "xyz\x04\x05\x01"
                                   "\x03\x01\0\x01\x01\x01\xdf\xff\x02\xc1,\x02\x05\x01"
                                   "\0\x01\x02\x01\xdf\xff\x02\x01\x01\x81"
                                   "c\x02\x81"
                                   "d\x02\x06\x01\xff";
    cr_assert(bytes_equal(content(), bytes_of(expected, sizeof expected - 1)));
    cr_assert_str_eq(shown(false), "5-1 a 1 b xyz; !5-2 a -1 b 300; 7-0 c d");
}

Test(stream_node, is_walked_from_both_ends)
{
    add(id(5, 9), "a 1 b xyz");
    add(id(5, 10), "a 2 b uvw");
    add(id(6, 0), "b 1 a 2"); /* in another order: other fields */
    add(id(6, 1), "a 3");
    cr_assert_str_eq(shown(false), "5-9 a 1 b xyz; 5-10 a 2 b uvw; 6-0 b 1 a 2; 6-1 a 3");
    cr_assert_str_eq(shown(true), "6-1 a 3; 6-0 b 1 a 2; 5-10 a 2 b uvw; 5-9 a 1 b xyz");
    cr_assert_eq(stream_id_compare(stream_node_last_id(&node), id(6, 1)), 0);
    cr_assert_eq(stream_node_length(&node), 4);
    cr_assert_eq(facts().length, 4);
}

Test(stream_node, does_not_repeat_fields_that_are_the_same)
{
    add(id(1, 0), "temperature 1 humidity 2");
    uint32_t with_one = pack_bytes(node.pack);
    add(id(2, 0), "temperature 3 humidity 4");
    uint32_t same = pack_bytes(node.pack) - with_one;
    add(id(3, 0), "temperature 3 humidite 4");
    uint32_t other = pack_bytes(node.pack) - with_one - same;
    cr_assert_eq(same, 6 * 2, "flags, ms, seq, two values and the count of words");
    cr_assert_eq(other, same + 2 + 13 + 10, "a count of pairs and the names");
}

Test(stream_node, has_fields_that_are_numbers_and_texts_of_any_bytes)
{
    add(id(1, 0), "1 x -20 y");
    add(id(1, 1), "1 z -20 12345678901");
    add(id(1, 2), "01 a -20 b");
    struct bytes words[] = {BYTES("1"), BYTES(""), BYTES("-20"), BYTES("a\0\r\n")};
    stream_node_append(&node, heap, id(1, 3), words, 2);
    struct stream_node_walk walk;
    struct stream_entry entry;
    struct stream_pair pair;
    stream_node_walk(&node, true, &walk);
    cr_assert(stream_node_step(&walk, &entry));
    stream_entry_step(&entry, &pair);
    cr_assert_eq(pair.value.len, 0);
    stream_entry_step(&entry, &pair);
    cr_assert(bytes_equal(pair.field, BYTES("-20")));
    cr_assert(bytes_equal(pair.value, BYTES("a\0\r\n")));
    cr_assert(stream_node_step(&walk, &entry));
    stream_entry_step(&entry, &pair);
    cr_assert(bytes_equal(pair.field, BYTES("01")));
    (void)facts();
}

Test(stream_node, tells_ids_that_step_back_in_number)
{
    add(id(5, UINT64_MAX), "a 1");
    add(id(6, 0), "a 2");
    add(STREAM_ID_MAX, "a 3");
    cr_assert_str_eq(shown(false), "5-18446744073709551615 a 1; 6-0 a 2; "
                                   "18446744073709551615-18446744073709551615 a 3");
    (void)facts();
}

Test(stream_node, is_full_by_bytes_or_by_entries_whichever_comes_first)
{
    struct stream_limits limits = {.node_bytes = 100, .node_entries = 3};
    add(id(1, 0), "a 1");
    uint32_t bytes = pack_bytes(node.pack);
    cr_assert(stream_node_has_room(&node, &limits, 99 - bytes, 1));
    cr_assert_not(stream_node_has_room(&node, &limits, 100 - bytes, 1));
    add(id(2, 0), "a 1");
    cr_assert(stream_node_has_room(&node, &limits, 1, 1));
    add(id(3, 0), "a 1");
    cr_assert_not(stream_node_has_room(&node, &limits, 1, 1));
    delete (id(1, 0));
    cr_assert_not(stream_node_has_room(&node, &limits, 1, 1), "tombstones count");

    struct stream_limits none = {0};
    cr_assert(stream_node_has_room(&node, &none, 1 << 29, 1));
    cr_assert_not(stream_node_has_room(&node, &none, PACK_BYTES_MAX - 100, 1));
    cr_assert(stream_node_can_hold(PACK_BYTES_MAX - 1000, 1));
    cr_assert_not(stream_node_can_hold(PACK_BYTES_MAX - 1000, 100), "words need more than text");
    cr_assert_not(stream_node_can_hold(PACK_BYTES_MAX, 1));
}

Test(stream_node, counts_more_entries_than_fit_a_byte)
{
    char text[16];
    for (uint64_t i = 0; i < 300; i++) {
        (void)snprintf(text, sizeof text, "f %u", (unsigned)i);
        add(id(1, i), text);
        cr_assert_eq(stream_node_length(&node), i + 1);
    }
    for (uint64_t i = 0; i < 200; i++)
        delete (id(1, i));
    cr_assert_eq(facts().length, 100);
    cr_assert_eq(facts().tombstones, 200);
}

Test(stream_node, loses_tombstones_behind_an_id)
{
    add(id(1, 0), "a 1");
    add(id(2, 0), "a 2");
    add(id(3, 0), "x 3");
    add(id(4, 0), "a 4");
    cr_assert(stream_node_cut(&node, heap, id(4, 0)));
    delete (id(4, 0));
    delete (id(3, 0));
    cr_assert(stream_node_cut(&node, heap, id(3, 0)));
    cr_assert_str_eq(shown(false), "1-0 a 1; 2-0 a 2; !3-0 x 3");
    delete (id(1, 0));
    delete (id(2, 0));
    cr_assert_not(stream_node_cut(&node, heap, id(0, 9)), "nothing would be left");
    cr_assert_str_eq(shown(false), "!1-0 a 1; !2-0 a 2; !3-0 x 3");
    cr_assert(stream_node_cut(&node, heap, id(1, 5)));
    cr_assert_str_eq(shown(false), "!1-0 a 1");
    cr_assert_eq(facts().tombstones, 1);
}

/* ---- Strangers' bytes ---- */

Test(stream_node, refuses_what_no_stream_writes)
{
    struct stream_node_facts found;
    add(id(5, 1), "a 1 b 2");
    add(id(5, 2), "a 1 b 2");
    add(id(6, 0), "c 3");
    struct stream_node_facts good = facts();
    cr_assert_eq(stream_id_compare(good.first_id, id(5, 1)), 0);
    cr_assert_eq(stream_id_compare(good.last_id, id(6, 0)), 0);
    cr_assert_not(stream_node_is_valid(STREAM_ID_MAX, content(), &found), "ids run over");

    /* Each word of the node and of its last entry, changed to something else. */
    uint32_t words = pack_count(node.pack);
    for (uint32_t i = 0; i < words; i++) {
        bool is_text = (i == 3 || i == 4 || i == 9 || i == 10 || i == 15 || i == 16 || i == 22 ||
                        i == 23);
        struct pack *changed = pack_copy(node.pack, heap);
        pack_replace(&changed, heap, pack_seek(changed, i), BYTES("word"));
        bool is_valid = stream_node_is_valid(node.master, bytes_of(changed, pack_bytes(changed)),
                                             &found);
        cr_assert_eq(is_valid, is_text, "word %u", i);
        pack_replace_int(&changed, heap, pack_seek(changed, i), -77);
        bool is_later = i == 14 || i == 19 || i == 20; /* wraps around to a larger id */
        is_valid = stream_node_is_valid(node.master, bytes_of(changed, pack_bytes(changed)),
                                        &found);
        cr_assert_eq(is_valid, is_text || is_later, "word %u", i);
        (void)pack_delete(&changed, heap, pack_seek(changed, i), 1);
        cr_assert_not(
            stream_node_is_valid(node.master, bytes_of(changed, pack_bytes(changed)), &found));
        pack_destroy(changed, heap);
    }

    struct pack *empty = pack_create(heap);
    cr_assert_not(stream_node_is_valid(node.master, bytes_of(empty, pack_bytes(empty)), &found));
    for (int i = 0; i < 4; i++)
        pack_append_int(&empty, heap, 0);
    cr_assert_not(stream_node_is_valid(node.master, bytes_of(empty, pack_bytes(empty)), &found),
                  "a node without entries");
    pack_destroy(empty, heap);
}

Test(stream_node, lets_no_mutation_in_that_cannot_be_walked)
{
    for (uint64_t i = 0; i < 12; i++)
        add(id(i, i % 3), i % 4 ? "first 1 second two" : "third 3000 fourth 4 fifth -5");
    delete (id(3, 0));
    struct rng rng;
    rng_init(&rng, 5);
    uint32_t let_in = 0;
    for (int round = 0; round < 30000; round++) {
        size_t len = pack_bytes(node.pack);
        /* A block of its own, so that the sanitizer sees a step outside. */
        char *copy = malloc(len);
        memcpy(copy, node.pack, len);
        for (uint64_t i = 0; i <= rng_below(&rng, 2); i++)
            copy[rng_below(&rng, len)] = (char)rng_next(&rng);
        struct stream_node_facts found;
        if (stream_node_is_valid(node.master, bytes_of(copy, len), &found)) {
            let_in++;
            struct stream_node mutant = {node.master, (struct pack *)copy};
            for (int is_reverse = 0; is_reverse < 2; is_reverse++) {
                struct stream_node_walk walk;
                struct stream_entry entry;
                uint64_t count = 0;
                stream_node_walk(&mutant, is_reverse, &walk);
                while (stream_node_step(&walk, &entry)) {
                    struct stream_pair pair;
                    for (uint32_t i = 0; i < entry.pair_count; i++)
                        stream_entry_step(&entry, &pair);
                    count++;
                }
                cr_assert_eq(count, found.length + found.tombstones);
            }
        }
        free(copy);
    }
    cr_assert_gt(let_in, 100, "changed texts are no fault");
}
