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
    unsigned __int128 key_a = (unsigned __int128)a->time << 64 | a->seq;
    unsigned __int128 key_b = (unsigned __int128)b->time << 64 | b->seq;

    return key_a < key_b;
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

/* The earlier of two, by arithmetic: a branch on it would be mispredicted half of the time. */
static uint32_t first_of(const struct sirq_evq *evq, uint32_t a, uint32_t b)
{
    return a ^ ((a ^ b) & -(uint32_t)earlier(&evq->heap[b], &evq->heap[a]));
}

static uint32_t first_child(const struct sirq_evq *evq, uint32_t child)
{
    uint32_t first = child;

    if (child + ARITY <= evq->len)
        return first_of(evq, first_of(evq, child, child + 1), first_of(evq, child + 2, child + 3));
    while (++child < evq->len)
        first = first_of(evq, first, child);
    return first;
}

static void sift_down(struct sirq_evq *evq, uint32_t i, struct sirq_evq_entry entry)
{
    while (i * ARITY + 1 < evq->len) {
        uint32_t child = first_child(evq, i * ARITY + 1);

        if (!earlier(&evq->heap[child], &entry))
            break;
        place(evq, i, &evq->heap[child]);
        i = child;
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

    assert(event->pos == 1);
    event->pos = 0;
    *time = evq->heap[0].time;
    if (--evq->len > 0)
        sift_down(evq, 0, evq->heap[evq->len]);
    publish_next(evq);
    return event;
}
