#include "shards/local/wait.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/type/list.h"
#include "shards/local/db_data.h"

static struct config config;
static struct shard *shard;
static uint16_t slot_map[SLOT_COUNT];

static void open_shard(void)
{
    config = (struct config){.databases = 2, .hash_seed = 7};
    key_seed(7);
    shard = shard_create(0, -1, &config);
}

static void close_shard(void)
{
    heap_validate(shard->heap);
    shard_destroy(shard);
}

TestSuite(wait, .init = open_shard, .fini = close_shard);

/* The words after the command's name, keys all. */
static void add_for(uint64_t client, const char *a, const char *b, bool on_any_change)
{
    struct bytes args[] = {bytes_from_text("blpop"), bytes_from_text(a),
                           bytes_from_text(b ? b : a)};
    struct wait_request request = {.client_id = client,
                                   .type = TYPE_LIST,
                                   .on_any_change = on_any_change,
                                   .args = args,
                                   .arg_count = 3,
                                   .first_key = 1,
                                   .key_count = b ? 2 : 1};
    wait_add(shard->waits, &request, slot_map);
}

static void add(uint64_t client, const char *a, const char *b)
{
    add_for(client, a, b, false);
}

static void change(const char *name)
{
    struct key key = key_make(bytes_from_text(name));
    db_put_int(shard->dbs[0], &key, 1, DB_NO_EXPIRE);
}

static const char *ready(void)
{
    static char name[32];
    struct interest_key *key = wait_take_ready(shard->waits);
    if (!key)
        return "";
    snprintf(name, sizeof(name), "%.*s", (int)key->name_len, key->name);
    return name;
}

Test(wait, keys_become_ready_once_in_the_order_of_their_changes)
{
    add(1, "a", "b");
    add(2, "b", NULL);
    change("c");
    cr_assert_not(shard->has_ready);
    change("b");
    change("a");
    change("b");
    cr_assert(shard->has_ready);
    cr_assert_str_eq(ready(), "b");
    cr_assert(shard->has_ready);
    cr_assert_str_eq(ready(), "a");
    cr_assert_not(shard->has_ready);
    cr_assert_str_eq(ready(), "");
}

Test(wait, those_at_a_key_stand_in_the_order_in_which_they_came)
{
    for (uint64_t client = 1; client <= 5; client++)
        add(client, "a", client % 2 ? "a" : "b"); /* the odd ones name it twice */
    change("a");
    struct interest_key *key = wait_take_ready(shard->waits);
    uint64_t expected = 1;
    for (struct wait *wait = wait_first(key); wait; wait = wait_next(key, wait))
        cr_assert_eq(wait->request.client_id, expected++);
    cr_assert_eq(expected, 6);
}

Test(wait, who_is_dropped_makes_way_for_those_behind)
{
    add(1, "a", "b");
    add(2, "a", NULL);
    wait_drop(shard->waits, wait_find(shard->waits, 1));
    cr_assert_null(wait_find(shard->waits, 1));
    cr_assert_str_eq(ready(), "a");
    cr_assert_str_eq(ready(), "", "nobody waits at b any more");
    wait_drop(shard->waits, wait_find(shard->waits, 2));
    cr_assert_not(shard->has_ready);
    cr_assert_eq(wait_key_count(shard->waits), 0);
    cr_assert_null(shard->observers, "it is off duty");
}

Test(wait, words_are_copied)
{
    char *name = strdup("some name");
    add(1, name, NULL);
    memset(name, 'x', strlen(name));
    free(name);
    struct wait *wait = wait_find(shard->waits, 1);
    cr_assert(bytes_equal(wait->request.args[1], bytes_from_text("some name")));
}

Test(wait, only_the_keys_of_this_shard_count)
{
    slot_map[key_slot(bytes_from_text("b"))] = 1;
    add(1, "a", "b");
    cr_assert_eq(wait_find(shard->waits, 1)->place_count, 1);
    change("b");
    cr_assert_not(shard->has_ready);
    slot_map[key_slot(bytes_from_text("b"))] = 0;
}

Test(wait, a_value_of_its_type_suits_and_any_change_if_it_asks_for_that)
{
    add(1, "a", NULL);
    struct wait *wait = wait_find(shard->waits, 1);
    struct key key = key_make(bytes_from_text("a"));
    cr_assert_not(wait_suits(wait, NULL));
    change("a");
    cr_assert_not(wait_suits(wait, db_peek(shard->dbs[0], &key)));
    db_put_root(shard->dbs[0], &key, TYPE_LIST, list_create(shard->heap), DB_NO_EXPIRE);
    cr_assert(wait_suits(wait, db_peek(shard->dbs[0], &key)));
    cr_assert(wait_all_need_values(shard->waits));
    wait->request.on_any_change = true;
    cr_assert(wait_suits(wait, NULL));
    wait->request.on_any_change = false;
}

Test(wait, exchanging_databases_makes_their_keys_ready)
{
    add(1, "a", NULL);
    db_swap(shard->dbs[0], shard->dbs[1]);
    cr_assert_str_eq(ready(), "a");
}

Test(wait, counts_its_keys_and_those_whose_going_matters)
{
    add(1, "a", "b");
    add_for(2, "b", "c", true);
    add(3, "b", NULL);
    cr_expect_eq(wait_key_count(shard->waits), 3);
    cr_expect_eq(wait_any_change_key_count(shard->waits), 2);
    wait_drop(shard->waits, wait_find(shard->waits, 2));
    cr_expect_eq(wait_key_count(shard->waits), 2);
    cr_expect_eq(wait_any_change_key_count(shard->waits), 0);
}
