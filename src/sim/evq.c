/* SPDX-License-Identifier: MIT */
/* The heap of evq.h.  Invariant: heap[i].event->pos == i + 1, and no parent is later. */
#define SIRQ_SIM_PRIVATE
#include "evq.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define ARITY 4u

static bool earlier(const struct sirq_evq_entry *a, const struct sirq_evq_entry *b)
{
    return a->time < b->time || (a->time == b->time && a->seq < b->seq);
}

static void place(struct sirq_evq *evq, uint32_t i, const struct sirq_evq_entry *entry)
{
    evq->heap[i] = *entry;
    entry->event->pos = i + 1;
}

static void sift_up(struct sirq_evq *evq, uint32_t i, struct sirq_evq_entry entry)
{
    while (i > 0) {
        uint32_t parent = (i - 1) / ARITY;

        if (!earlier(&entry, &evq->heap[parent]))
            break;
        place(evq, i, &evq->heap[parent]);
        i = parent;
    }
    place(evq, i, &entry);
}

static void sift_down(struct sirq_evq *evq, uint32_t i, struct sirq_evq_entry entry)
{
    for (;;) {
        uint32_t child = i * ARITY + 1, end = child + ARITY, least = child;

        if (child >= evq->len)
            break;
        if (end > evq->len)
            end = evq->len;
        while (++child < end)
            if (earlier(&evq->heap[child], &evq->heap[least]))
                least = child;
        if (!earlier(&evq->heap[least], &entry))
            break;
        place(evq, i, &evq->heap[least]);
        i = least;
    }
    place(evq, i, &entry);
}

static void publish_next(struct sirq_evq *evq)
{
    evq->next = evq->len > 0 ? evq->heap[0].time : UINT64_MAX;
}

int sirq_evq_init(struct sirq_evq *evq, uint32_t cap)
{
    *evq = (struct sirq_evq){.next = UINT64_MAX};
    return sirq_evq_reserve(evq, cap);
}

void sirq_evq_fini(struct sirq_evq *evq)
{
    free(evq->heap);
    evq->heap = NULL;
}

int sirq_evq_reserve(struct sirq_evq *evq, uint32_t n)
{
    struct sirq_evq_entry *heap;

    heap = realloc(evq->heap, ((size_t)evq->cap + n) * sizeof(*heap));
    if (heap == NULL)
        return -ENOMEM;
    evq->heap = heap;
    evq->cap += n;
    return 0;
}

void sirq_evq_add(struct sirq_evq *evq, struct sirq_event *event, uint64_t time)
{
    struct sirq_evq_entry entry = {.time = time, .seq = evq->seq++, .event = event};

    assert(event->pos == 0 && evq->len < evq->cap);
    sift_up(evq, evq->len++, entry);
    publish_next(evq);
}

void sirq_evq_cancel(struct sirq_evq *evq, struct sirq_event *event)
{
    uint32_t i = event->pos - 1;
    struct sirq_evq_entry last;

    if (event->pos == 0)
        return;
    assert(evq->heap[i].event == event);
    event->pos = 0;
    last = evq->heap[--evq->len];
    if (i < evq->len) {
        if (i > 0 && earlier(&last, &evq->heap[(i - 1) / ARITY]))
            sift_up(evq, i, last);
        else
            sift_down(evq, i, last);
    }
    publish_next(evq);
}

struct sirq_event *sirq_evq_pop(struct sirq_evq *evq, uint64_t *time)
{
    struct sirq_event *event = evq->heap[0].event;

    *time = evq->heap[0].time;
    sirq_evq_cancel(evq, event);
    return event;
}
