/*
 * ilist: a doubly linked list whose links lie inside its items.
 *
 * An item embeds a struct ilist_link, joins and leaves in O(1), allocates nothing, and may be in as
 * many lists as it has links. The list is a ring through its head, so no operation has a special
 * case; for that reason a head must be initialised, and a link that is zero is in no list.
 *
 *     struct client { struct ilist_link link; };
 *     ILIST_EACH (struct client, client, &clients, link)
 *         ...                                          the body may remove `client` itself
 *
 * Thread: the owner of the list; items belong to the caller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/base/check.h"

struct ilist_link {
    struct ilist_link *next;
    struct ilist_link *prev;
};

struct ilist {
    struct ilist_link head;
};

/* The item that embeds `link` as its member `member`. */
#define ILIST_ITEM(type, link, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

/* Walks from the front. The body may remove the item it stands on, and no other. */
#define ILIST_EACH(type, item, list, member)                                                       \
    for (struct ilist_link *ilist_at_ = (list)->head.next, *ilist_next_ = ilist_at_->next;         \
         ilist_at_ != &(list)->head; ilist_at_ = ilist_next_, ilist_next_ = ilist_at_->next)       \
        for (type *item = ILIST_ITEM(type, ilist_at_, member); item; item = NULL)

static inline void ilist_init(struct ilist *list)
{
    list->head.next = list->head.prev = &list->head;
}

static inline bool ilist_is_empty(const struct ilist *list)
{
    return list->head.next == &list->head;
}

/* True while `link` is in some list. */
static inline bool ilist_is_linked(const struct ilist_link *link)
{
    return link->next != NULL;
}

/* Puts `link`, which is in no list, before `at`: an item's link, or the head for the end. */
static inline void ilist_insert_before(struct ilist_link *at, struct ilist_link *link)
{
    DEBUG_ASSERT(!ilist_is_linked(link));
    link->next = at;
    link->prev = at->prev;
    at->prev->next = link;
    at->prev = link;
}

static inline void ilist_add_first(struct ilist *list, struct ilist_link *link)
{
    ilist_insert_before(list->head.next, link);
}

static inline void ilist_add_last(struct ilist *list, struct ilist_link *link)
{
    ilist_insert_before(&list->head, link);
}

/* Takes `link` out of the list it is in; one that is in none is left alone. */
static inline void ilist_remove(struct ilist_link *link)
{
    if (!ilist_is_linked(link))
        return;
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link->next = link->prev = NULL;
}

/* The link at the front or the end; NULL when the list is empty. */
static inline struct ilist_link *ilist_first(const struct ilist *list)
{
    return ilist_is_empty(list) ? NULL : list->head.next;
}

static inline struct ilist_link *ilist_last(const struct ilist *list)
{
    return ilist_is_empty(list) ? NULL : list->head.prev;
}

/* Takes the link at the front out; NULL when the list is empty. */
static inline struct ilist_link *ilist_take_first(struct ilist *list)
{
    struct ilist_link *link = ilist_first(list);
    if (link)
        ilist_remove(link);
    return link;
}

/* Moves all of `from` to the end of `to`, in order. */
static inline void ilist_move_all(struct ilist *to, struct ilist *from)
{
    if (ilist_is_empty(from))
        return;
    struct ilist_link *first = from->head.next;
    struct ilist_link *last = from->head.prev;
    first->prev = to->head.prev;
    to->head.prev->next = first;
    last->next = &to->head;
    to->head.prev = last;
    ilist_init(from);
}
