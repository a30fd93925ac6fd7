#include "core/base/ilist.h"

#include <criterion/criterion.h>

struct item {
    int number;
    struct ilist_link link;
};

/* The numbers in order, as one decimal number; also checks that both directions agree. */
static int content(const struct ilist *list)
{
    int forth = 0;
    int back = 0;
    int scale = 1;
    ILIST_EACH(struct item, item, list, link)
    forth = forth * 10 + item->number;
    for (const struct ilist_link *at = list->head.prev; at != &list->head; at = at->prev) {
        back += ILIST_ITEM(const struct item, at, link)->number * scale;
        scale *= 10;
    }
    cr_expect_eq(forth, back);
    return forth;
}

static void fill(struct ilist *list, struct item items[5])
{
    ilist_init(list);
    for (int i = 0; i < 5; i++) {
        items[i] = (struct item){.number = i + 1};
        ilist_add_last(list, &items[i].link);
    }
}

Test(ilist, begins_empty)
{
    struct ilist list;
    ilist_init(&list);
    cr_expect(ilist_is_empty(&list));
    cr_expect_null(ilist_first(&list));
    cr_expect_null(ilist_last(&list));
    cr_expect_null(ilist_take_first(&list));
    cr_expect_eq(content(&list), 0);
}

Test(ilist, keeps_the_order_in_which_items_join)
{
    struct ilist list;
    struct item items[5];
    fill(&list, items);
    cr_expect_eq(content(&list), 12345);
    struct item front = {.number = 9};
    ilist_add_first(&list, &front.link);
    cr_expect_eq(content(&list), 912345);
    struct item middle = {.number = 8};
    ilist_insert_before(&items[2].link, &middle.link);
    cr_expect_eq(content(&list), 9128345);
}

Test(ilist, lets_items_leave_from_anywhere)
{
    struct ilist list;
    struct item items[5];
    fill(&list, items);
    ilist_remove(&items[2].link);
    ilist_remove(&items[0].link);
    ilist_remove(&items[4].link);
    cr_expect_eq(content(&list), 24);
    cr_expect_not(ilist_is_linked(&items[2].link));
    cr_expect(ilist_is_linked(&items[1].link));
    ilist_remove(&items[2].link); /* in none: left alone */
    cr_expect_eq(content(&list), 24);
    ilist_add_last(&list, &items[0].link); /* and may come back */
    cr_expect_eq(content(&list), 241);
}

Test(ilist, can_be_emptied_during_a_walk)
{
    struct ilist list;
    struct item items[5];
    fill(&list, items);
    int seen = 0;
    ILIST_EACH(struct item, item, &list, link)
    {
        seen = seen * 10 + item->number;
        ilist_remove(&item->link);
    }
    cr_expect_eq(seen, 12345);
    cr_expect(ilist_is_empty(&list));
}

Test(ilist, gives_its_first_away)
{
    struct ilist list;
    struct item items[5];
    fill(&list, items);
    cr_expect_eq(ilist_take_first(&list), &items[0].link);
    cr_expect_not(ilist_is_linked(&items[0].link));
    cr_expect_eq(ilist_first(&list), &items[1].link);
    cr_expect_eq(ilist_last(&list), &items[4].link);
}

Test(ilist, moves_over_as_a_whole)
{
    struct ilist from, to;
    struct item items[5], first = {.number = 7};
    fill(&from, items);
    ilist_init(&to);
    ilist_move_all(&to, &from);
    cr_expect_eq(content(&to), 12345);
    cr_expect(ilist_is_empty(&from));
    ilist_move_all(&to, &from); /* nothing */
    cr_expect_eq(content(&to), 12345);
    ilist_add_last(&from, &first.link);
    ilist_move_all(&to, &from);
    cr_expect_eq(content(&to), 123457);
}
