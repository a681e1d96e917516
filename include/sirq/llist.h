/* SPDX-License-Identifier: MIT */
/*
 * sirq/llist.h - a lock-free list: any context pushes, one owner takes all.
 *
 * Push is one compare-and-swap loop; a take is one exchange.  Nodes are never popped
 * one by one, so there is no ABA problem.  A push releases what was written to the node,
 * the take acquires it.  Who finds the list empty sees what a taker did before its take.
 */
#ifndef SIRQ_LLIST_H
#define SIRQ_LLIST_H

#include <stdbool.h>
#include <stddef.h>

struct sirq_lnode {
    struct sirq_lnode *next;
};

struct sirq_llist {
    struct sirq_lnode *head;
};

/* The structure of type `type` whose field `field` is *ptr. */
#define SIRQ_CONTAINER(ptr, type, field) ((type *)(void *)((char *)(ptr)-offsetof(type, field)))

/* Push `node`; true when the list was empty before. */
static inline bool sirq_llist_push(struct sirq_llist *list, struct sirq_lnode *node)
{
    struct sirq_lnode *head = __atomic_load_n(&list->head, __ATOMIC_RELAXED);

    do {
        node->next = head;
    } while (!__atomic_compare_exchange_n(&list->head, &head, node, true, __ATOMIC_RELEASE,
                                          __ATOMIC_RELAXED));
    return head == NULL;
}

static inline bool sirq_llist_empty(const struct sirq_llist *list)
{
    return __atomic_load_n(&list->head, __ATOMIC_ACQUIRE) == NULL;
}

/* Take all nodes, oldest first, as a null-terminated chain; null when there is none. */
static inline struct sirq_lnode *sirq_llist_take(struct sirq_llist *list)
{
    struct sirq_lnode *node, *next, *fifo = NULL;

    if (sirq_llist_empty(list))
        return NULL;
    node = __atomic_exchange_n(&list->head, NULL, __ATOMIC_ACQ_REL);
    for (; node != NULL; node = next) {
        next = node->next;
        node->next = fifo;
        fifo = node;
    }
    return fifo;
}

#endif
