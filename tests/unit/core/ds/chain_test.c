#include "core/ds/chain.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/heap.h"
#include "core/base/rng.h"

static const struct chain_limits four = {.node_bytes = 8192, .node_count = 4};
static const struct chain_limits hundred_bytes = {.node_bytes = 100, .node_count = UINT32_MAX};

static struct heap *heap;
static struct chain chain;

static void open_chain(void)
{
    heap = heap_create(-1);
    chain = (struct chain){0};
}

static void close_chain(void)
{
    chain_fini(&chain, heap);
    cr_assert_eq(chain.count, 0);
    heap_validate(heap);
    heap_destroy(heap);
}

TestSuite(chain, .init = open_chain, .fini = close_chain);

/* "0", "1", ... at the end. */
static void push_numbers(const struct chain_limits *limits, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char text[16];
        chain_push_last(&chain, heap, limits,
                        bytes_of(text, (size_t)snprintf(text, sizeof text, "%u", i)));
    }
}

/* All elements, each followed by a space, from the front; from the back they must be the same. */
static const char *content(void)
{
    static char text[4096];
    size_t len = 0;
    uint64_t count = 0;
    char scratch[PACK_SCRATCH];
    struct chain_place place = chain_seek(&chain, 0);
    for (; place.node; place = chain_next(place), count++) {
        struct bytes element = chain_view(place, scratch);
        len += (size_t)snprintf(text + len, sizeof text - len, "%.*s ", (int)element.len,
                                element.ptr);
        struct bytes again = chain_view(chain_seek(&chain, (int64_t)(count - chain.count)),
                                        scratch);
        cr_assert(chain_equals(place, again), "indexes from the two ends disagree");
    }
    text[len] = '\0';
    cr_assert_eq(count, chain.count);
    chain_validate(&chain);
    return text;
}

static struct bytes text_of(char *buffer, size_t len)
{
    memset(buffer, 'x', len);
    return bytes_of(buffer, len);
}

Test(chain, keeps_order_from_both_ends)
{
    chain_push_last(&chain, heap, &four, BYTES("c"));
    chain_push_first(&chain, heap, &four, BYTES("b"));
    chain_push_first(&chain, heap, &four, BYTES("a"));
    chain_push_last(&chain, heap, &four, BYTES("4"));
    chain_push_last(&chain, heap, &four, BYTES("5"));
    chain_push_first(&chain, heap, &four, BYTES("0"));
    cr_assert_str_eq(content(), "0 a b c 4 5 ");
}

Test(chain, starts_a_node_when_the_limit_of_elements_is_reached)
{
    push_numbers(&four, 4);
    cr_assert_eq(chain.node_count, 1);
    push_numbers(&four, 1);
    cr_assert_eq(chain.node_count, 2);
}

Test(chain, starts_a_node_when_the_limit_of_bytes_is_reached)
{
    char buffer[64];
    for (int i = 0; i < 3; i++)
        chain_push_last(&chain, heap, &hundred_bytes, text_of(buffer, 40));
    cr_assert_eq(chain.node_count, 2);
}

Test(chain, gives_a_text_that_no_node_holds_one_of_its_own)
{
    char *large = malloc(100000);
    push_numbers(&hundred_bytes, 2);
    chain_insert(&chain, heap, &hundred_bytes, chain_seek(&chain, 1), text_of(large, 100000));
    chain_validate(&chain);
    cr_assert_eq(chain.node_count, 3);
    char scratch[PACK_SCRATCH];
    cr_assert_eq(chain_view(chain_seek(&chain, 1), scratch).len, 100000);
    cr_assert(chain_equals(chain_seek(&chain, 1), bytes_of(large, 100000)));
    cr_assert_not(chain_equals(chain_seek(&chain, 1), bytes_of(large, 99999)));
    (void)chain_delete(&chain, heap, chain_seek(&chain, 1), 1);
    cr_assert_str_eq(content(), "0 1 ");
    free(large);
}

Test(chain, has_no_element_outside)
{
    cr_assert_null(chain_seek(&chain, 0).node);
    cr_assert_null(chain_seek(&chain, -1).node);
    push_numbers(&four, 9);
    cr_assert_null(chain_seek(&chain, 9).node);
    cr_assert_null(chain_seek(&chain, -10).node);
    cr_assert_null(chain_seek(&chain, INT64_MAX).node);
    cr_assert_null(chain_seek(&chain, INT64_MIN).node);
    cr_assert_null(chain_prev(chain_seek(&chain, 0)).node);
    cr_assert_null(chain_next(chain_seek(&chain, 8)).node);
}

Test(chain, splits_a_full_node_to_insert_into_its_middle)
{
    push_numbers(&four, 4);
    chain_insert(&chain, heap, &four, chain_seek(&chain, 2), BYTES("x"));
    cr_assert_str_eq(content(), "0 1 x 2 3 ");
    cr_assert_eq(chain.node_count, 2);
}

Test(chain, fills_a_neighbour_rather_than_making_a_node)
{
    push_numbers(&four, 6); /* 4 and 2 */
    chain_insert(&chain, heap, &four, chain_seek(&chain, 4), BYTES("x"));
    cr_assert_str_eq(content(), "0 1 2 3 x 4 5 ");
    cr_assert_eq(chain.node_count, 2);
    (void)chain_delete(&chain, heap, chain_seek(&chain, 0), 1);
    chain_insert(&chain, heap, &four, chain_seek(&chain, 3), BYTES("y"));
    cr_assert_eq(chain.node_count, 2);
}

Test(chain, stays_dense_under_hostile_inserts)
{
    const struct chain_limits limits = {.node_bytes = 8192, .node_count = 16};
    push_numbers(&limits, 16);
    /* Always behind the first element of the last node, where a split leaves least. */
    for (int i = 0; i < 2000; i++)
        chain_insert(&chain, heap, &limits, chain_seek(&chain, -15), BYTES("x"));
    chain_validate(&chain);
    cr_assert_leq(chain.node_count, 2 * chain.count / 16 + 2);
}

Test(chain, replaces_by_what_fits_and_by_what_does_not)
{
    char buffer[200];
    push_numbers(&hundred_bytes, 3);
    chain_replace(&chain, heap, &hundred_bytes, chain_seek(&chain, 1), BYTES("one"));
    cr_assert_str_eq(content(), "0 one 2 ");
    cr_assert_eq(chain.node_count, 1);
    chain_replace(&chain, heap, &hundred_bytes, chain_seek(&chain, 1), text_of(buffer, 200));
    chain_validate(&chain);
    cr_assert_eq(chain.node_count, 3);
    chain_replace(&chain, heap, &hundred_bytes, chain_seek(&chain, 1), BYTES("1"));
    cr_assert_str_eq(content(), "0 1 2 ");
    chain_replace(&chain, heap, &hundred_bytes, chain_seek(&chain, 2), BYTES("two"));
    cr_assert_str_eq(content(), "0 1 two ");
}

Test(chain, deletes_ranges_over_nodes_and_says_what_follows)
{
    push_numbers(&four, 14);
    struct chain_place place = chain_delete(&chain, heap, chain_seek(&chain, 2), 8);
    cr_assert(chain_equals(place, BYTES("10")));
    cr_assert_str_eq(content(), "0 1 10 11 12 13 ");
    place = chain_delete(&chain, heap, chain_seek(&chain, 4), 100);
    cr_assert_null(place.node);
    cr_assert_str_eq(content(), "0 1 10 11 ");
}

Test(chain, copies_itself_into_another_heap)
{
    char buffer[200];
    push_numbers(&hundred_bytes, 30);
    chain_push_first(&chain, heap, &hundred_bytes, text_of(buffer, 200));
    struct heap *other_heap = heap_create(-1);
    struct chain copy = {0};
    chain_copy(&copy, other_heap, &chain);
    chain_validate(&copy);
    cr_assert_eq(copy.count, 31);
    for (int64_t i = 0; i < 31; i++) {
        char scratch[PACK_SCRATCH];
        cr_assert(chain_equals(chain_seek(&copy, i), chain_view(chain_seek(&chain, i), scratch)));
    }
    cr_assert_eq(chain_bytes(&copy), chain_bytes(&chain));
    chain_fini(&copy, other_heap);
    heap_destroy(other_heap);
}

Test(chain, is_freed_in_pieces)
{
    push_numbers(&four, 20);
    chain_free_some(&chain, heap, 5);
    cr_assert_eq(chain.count, 12, "two nodes hold the first five");
    chain_validate(&chain);
    chain_free_some(&chain, heap, 12);
    cr_assert_null(chain.first);
}

Test(chain, gives_its_only_node_away_as_a_pack)
{
    push_numbers(&four, 5);
    cr_assert_null(chain_take_pack(&chain, heap, &four), "there are two nodes");
    (void)chain_delete(&chain, heap, chain_seek(&chain, 4), 1);
    const struct chain_limits three = {.node_bytes = 8192, .node_count = 3};
    cr_assert_null(chain_take_pack(&chain, heap, &three), "four elements are not within three");
    const struct chain_limits few_bytes = {.node_bytes = 14, .node_count = 4};
    cr_assert_null(chain_take_pack(&chain, heap, &few_bytes));
    struct pack *pack = chain_take_pack(&chain, heap, &four);
    cr_assert_eq(pack_count(pack), 4);
    cr_assert_eq(chain.count, 0);
    chain_put_pack(&chain, heap, pack);
    cr_assert_str_eq(content(), "0 1 2 3 ");
}

Test(chain, gives_a_plain_node_away_as_a_pack_if_that_is_small_enough)
{
    char buffer[200];
    chain_push_last(&chain, heap, &hundred_bytes, text_of(buffer, 200));
    cr_assert_null(chain_take_pack(&chain, heap, &hundred_bytes));
    const struct chain_limits any = {.node_bytes = PACK_BYTES_MAX, .node_count = 1};
    struct pack *pack = chain_take_pack(&chain, heap, &any);
    cr_assert(pack_equals(pack, pack_first(pack), bytes_of(buffer, 200)));
    cr_assert_null(chain.first);
    pack_destroy(pack, heap);
}

/* Against an array that is changed alike. */
Test(chain, does_what_an_array_would_do)
{
    enum { CAP = 400, STEPS = 6000 };
    static uint32_t model[CAP];
    uint32_t len = 0;
    struct rng rng;
    rng_init(&rng, 7);
    for (uint32_t step = 0; step < STEPS; step++) {
        const struct chain_limits *limits = rng_next(&rng) % 2 ? &four : &hundred_bytes;
        /* Numbers, short texts, and texts for plain nodes, all told apart by their first digits. */
        char text[160];
        size_t text_len = (size_t)snprintf(text, sizeof text, "%u", step);
        uint32_t extra = (uint32_t)(rng_next(&rng) % 8);
        memset(text + text_len, 'x', extra * 16);
        struct bytes element = bytes_of(text, text_len + extra * 16);
        uint32_t at = (uint32_t)(rng_next(&rng) % (len + 1));
        if (len < CAP && rng_next(&rng) % 3) {
            chain_insert(&chain, heap, limits, chain_seek(&chain, at), element);
            memmove(model + at + 1, model + at, (len++ - at) * sizeof *model);
            model[at] = step;
        } else if (at < len && rng_next(&rng) % 2) {
            chain_replace(&chain, heap, limits, chain_seek(&chain, at), element);
            model[at] = step;
        } else if (at < len) {
            uint32_t count = (uint32_t)(rng_next(&rng) % 20) + 1;
            uint32_t gone = count < len - at ? count : len - at;
            struct chain_place next = chain_delete(&chain, heap, chain_seek(&chain, at), count);
            memmove(model + at, model + at + gone, (len - at - gone) * sizeof *model);
            len -= gone;
            cr_assert_eq(next.node == NULL, at == len);
        }
        cr_assert_eq(chain.count, len);
        if (step % 16)
            continue;
        chain_validate(&chain);
        for (uint32_t i = 0; i < len; i++) {
            char scratch[PACK_SCRATCH];
            struct bytes found = chain_view(chain_seek(&chain, i), scratch);
            char number[16] = {0};
            memcpy(number, found.ptr, found.len < 15 ? found.len : 15);
            cr_assert_eq(strtoul(number, NULL, 10), model[i]);
        }
    }
}

Test(chain, knows_the_bytes_of_its_data)
{
    cr_expect_eq(chain_data_bytes(&chain), 0);
    push_numbers(&four, 5); /* two bytes each, in two packs */
    cr_expect_eq(chain_data_bytes(&chain), 2 * PACK_EMPTY_LEN + 5 * 2);
    char large[200] = {0};
    chain_push_last(&chain, heap, &hundred_bytes, bytes_of(large, sizeof large));
    cr_expect_eq(chain_data_bytes(&chain), 2 * PACK_EMPTY_LEN + 5 * 2 + sizeof large);
}

Test(chain, shows_its_nodes_in_order)
{
    cr_assert_null(chain_next_node(&chain, NULL));
    push_numbers(&four, 6);
    char large[9000] = "large";
    chain_push_last(&chain, heap, &four, bytes_of(large, sizeof large));
    struct bytes plain = {0};
    const struct chain_node *node = chain_next_node(&chain, NULL);
    cr_assert_eq(pack_count(chain_node_pack(node, &plain)), 4);
    node = chain_next_node(&chain, node);
    cr_assert_eq(pack_count(chain_node_pack(node, &plain)), 2);
    node = chain_next_node(&chain, node);
    cr_assert_null(chain_node_pack(node, &plain));
    cr_assert(bytes_equal(plain, bytes_of(large, sizeof large)));
    cr_assert_null(chain_next_node(&chain, node));
}
