/* SPDX-License-Identifier: MIT */
/*
 * The event queue of a world: a 4-ary heap of (time, sequence).  Events are embedded in
 * what they concern; nothing is allocated once the heap has reached its size.  Two events
 * of one moment come in the order in which they were added, so a run never depends on
 * addresses.
 */
#ifndef SIRQ_SIM_PRIVATE
#error "evq.h belongs to the simulator"
#endif
#ifndef SIRQ_SIM_EVQ_H
#define SIRQ_SIM_EVQ_H

#include <stdbool.h>
#include <stdint.h>

struct sirq_event {
    uint32_t pos; /* place in the heap + 1, 0: not queued */
    void (*fn)(struct sirq_event *event, uint64_t now);
};

struct sirq_evq_entry {
    uint64_t time, seq;
    struct sirq_event *event;
};

struct sirq_evq {
    struct sirq_evq_entry *heap;
    uint32_t len, cap;
    uint64_t next; /* time of the first one, UINT64_MAX when empty */
    uint64_t seq;
};

/* Room for `cap` events at once.  0 or -ENOMEM. */
int sirq_evq_init(struct sirq_evq *evq, uint32_t cap);
void sirq_evq_fini(struct sirq_evq *evq);

/* Room for n more at once.  0 or -ENOMEM. */
int sirq_evq_reserve(struct sirq_evq *evq, uint32_t n);

/* The event is not queued, and was reserved for. */
void sirq_evq_add(struct sirq_evq *evq, struct sirq_event *event, uint64_t time);

/* Take it out when it is queued. */
void sirq_evq_cancel(struct sirq_evq *evq, struct sirq_event *event);

/* The first event, off the queue; the queue is not empty. */
struct sirq_event *sirq_evq_pop(struct sirq_evq *evq, uint64_t *time);

static inline bool sirq_event_queued(const struct sirq_event *event)
{
    return event->pos != 0;
}

#endif
