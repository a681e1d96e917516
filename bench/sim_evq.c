/* SPDX-License-Identifier: MIT */
/*
 * The event queue alone: 64 events that schedule themselves again, and nothing else.  The
 * one benchmark that looks behind a public header: as part of a world the queue cannot be
 * told from what the events do.
 */
#define SIRQ_SIM_PRIVATE
#include "../src/sim/evq.h"

#include "sim.h"

#include <errno.h>

#define SELVES 64u
#define LOOP_EVENTS UINT64_C(1000000)

struct self {
    struct sirq_event event;
    struct sirq_evq *evq;
    uint64_t state;
};

/* The delays are the ones of peer_ns3.cc. */
static void again(struct sirq_event *event, uint64_t now)
{
    struct self *self = (struct self *)(void *)event;

    self->state ^= self->state << 13;
    self->state ^= self->state >> 7;
    self->state ^= self->state << 17;
    sirq_evq_add(self->evq, event, now + 1 + (self->state & 1023));
}

static double loop_ns(uint64_t events)
{
    struct self self[SELVES];
    struct sirq_evq evq;
    uint64_t start;

    if (sirq_evq_init(&evq, SELVES) != 0)
        bench_die("event queue", ENOMEM);
    for (unsigned i = 0; i < SELVES; i++) {
        self[i] = (struct self){.event.fn = again, .evq = &evq};
        self[i].state = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
        sirq_evq_add(&evq, &self[i].event, i);
    }
    start = bench_now_ns();
    for (uint64_t i = 0; i < events; i++) {
        uint64_t now;
        struct sirq_event *event = sirq_evq_pop(&evq, &now);

        event->fn(event, now);
    }
    start = bench_now_ns() - start;
    sirq_evq_fini(&evq);
    return (double)start / (double)events;
}

void bench_sim_evq(const struct bench_options *options)
{
    struct bench_series ours = {0}, theirs = {0};
    uint64_t begin = bench_now_ns(), events = LOOP_EVENTS * options->scale;

    for (unsigned i = 0; i < options->runs && (i == 0 || !bench_late(options, begin, 0.3)); i++) {
        double ns3 = bench_ns3("loop", events / 4);

        bench_add(&ours, loop_ns(events));
        if (ns3 > 0)
            bench_add(&theirs, ns3);
    }
    bench_row("sim", "event loop", "ns-3", "event", "ns", BENCH_LESS, &ours,
              theirs.n > 0 ? &theirs : NULL);
}
