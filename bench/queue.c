/* SPDX-License-Identifier: MIT */
/* The queues that peers use; see vehicle.h. */
#include "vehicle.h"

void bench_queue_init(struct bench_queue *queue, bool with_mutex)
{
    *queue = (struct bench_queue){.with_mutex = with_mutex};
    queue->last = &queue->first;
    pthread_mutex_init(&queue->mutex, NULL);
}

bool bench_queue_push(struct bench_queue *queue, struct bench_item *item)
{
    bool empty;

    if (!queue->with_mutex)
        return sirq_llist_push(&queue->list, &item->link.node);
    item->link.node.next = NULL;
    pthread_mutex_lock(&queue->mutex);
    empty = queue->first == NULL;
    *queue->last = &item->link.node;
    queue->last = &item->link.node.next;
    pthread_mutex_unlock(&queue->mutex);
    return empty;
}

void bench_run_chain(struct sirq_lnode *node)
{
    struct sirq_lnode *next;

    for (; node != NULL; node = next) {
        struct bench_item *item = SIRQ_CONTAINER(node, struct bench_item, link.node);

        next = node->next; /* first: an item that ran may be submitted again */
        item->run(item);
    }
}

void bench_queue_run(struct bench_queue *queue)
{
    struct sirq_lnode *node;

    if (!queue->with_mutex) {
        bench_run_chain(sirq_llist_take(&queue->list));
        return;
    }
    pthread_mutex_lock(&queue->mutex);
    node = queue->first;
    queue->first = NULL;
    queue->last = &queue->first;
    pthread_mutex_unlock(&queue->mutex);
    bench_run_chain(node);
}
