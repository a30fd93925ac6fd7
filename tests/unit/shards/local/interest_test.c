#include "shards/local/interest.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "core/base/heap.h"
#include "core/store/key.h"

#define PARTIES 40
#define PLACES 25

static struct heap *heap;
static struct interest interest;

static void open_index(void)
{
    key_seed(7);
    heap = heap_create(-1);
    interest_init(&interest, heap);
}

static void close_index(void)
{
    heap_validate(heap);
    heap_destroy(heap);
}

TestSuite(interest, .init = open_index, .fini = close_index);

Test(interest, the_same_name_in_two_databases_is_two_keys)
{
    struct interest_party party;
    struct interest_place places[2];
    struct bytes name = bytes_from_text("k");
    interest_party_add(&interest, &party, 1);
    interest_take(&interest, &party, &places[0], 0, name);
    interest_take(&interest, &party, &places[1], 1, name);
    cr_assert_neq(interest_find(&interest, 0, name), interest_find(&interest, 1, name));
    cr_assert_eq(interest_give_up(&interest, &party), &places[0]);
    cr_assert_null(interest_find(&interest, 0, name));
    cr_assert_not_null(interest_find(&interest, 1, name));
    cr_assert_eq(interest_give_up(&interest, &party), &places[1]);
    cr_assert_null(interest_give_up(&interest, &party));
    interest_party_remove(&interest, &party);
    cr_assert(interest_is_empty(&interest));
}

Test(interest, many_parties_at_many_keys_come_and_go)
{
    static struct interest_party parties[PARTIES];
    static struct interest_place places[PARTIES][PLACES];
    char name[16];
    for (int round = 0; round < 3; round++) {
        for (int p = 0; p < PARTIES; p++) {
            interest_party_add(&interest, &parties[p], (uint64_t)p);
            for (int i = 0; i < PLACES; i++) {
                snprintf(name, sizeof(name), "k%d", (p + i) % 30);
                interest_take(&interest, &parties[p], &places[p][i], 0, bytes_from_text(name));
            }
        }
        cr_assert_eq(interest.keys.count, 30);
        for (int p = 0; p < PARTIES; p++)
            cr_assert_eq(interest_party(&interest, (uint64_t)p), &parties[p]);
        for (int p = PARTIES; p-- > 0;) {
            while (interest_give_up(&interest, &parties[p]))
                continue;
            interest_party_remove(&interest, &parties[p]);
            cr_assert_null(interest_party(&interest, (uint64_t)p));
        }
        cr_assert(interest_is_empty(&interest));
    }
}

static void count(void *context, struct interest_key *key)
{
    (void)key;
    ++*(int *)context;
}

Test(interest, each_visits_the_keys_of_one_database)
{
    struct interest_party party;
    struct interest_place places[3];
    int visits = 0;
    interest_party_add(&interest, &party, 1);
    interest_take(&interest, &party, &places[0], 0, bytes_from_text("a"));
    interest_take(&interest, &party, &places[1], 0, bytes_from_text("b"));
    interest_take(&interest, &party, &places[2], 1, bytes_from_text("a"));
    interest_each(&interest, 0, count, &visits);
    cr_assert_eq(visits, 2);
    while (interest_give_up(&interest, &party))
        continue;
    interest_party_remove(&interest, &party);
}
