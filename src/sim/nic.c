/* SPDX-License-Identifier: MIT */
/* See nic.h.  Invariant: arrived = dropped + cons + (prod - cons), prod - cons <= size. */
#define SIRQ_SIM_PRIVATE
#include "nic.h"

#include <errno.h>
#include <stdlib.h>

#define IRQ_AGAIN_NS UINT64_C(1000000)

static inline void source_step(struct sirq_source *source)
{
    if (source->poisson) {
        source->next += sirq_rng_exp(&source->rng, source->mean_1024) / 1024;
    } else {
        source->next += source->interval_ns;
        source->rest += source->interval_rest;
        if (source->rest >= source->rate) {
            source->rest -= source->rate;
            source->next++;
        }
    }
    if (source->next >= source->stop)
        source->next = UINT64_MAX;
}

/* When a frame that is ready at `ready` ends on the wire: the line may be busy with another. */
static uint64_t wire_time(const struct sirq_sim_nic *nic, uint64_t ready)
{
    uint64_t free = nic->arrival_ever ? nic->arrival_last + nic->gap_ns : 0;

    return ready < free ? free : ready;
}

/* The source whose frame is next on the wire, null: none; and when the next of the others is. */
static struct sirq_source *first_source(const struct sirq_sim_nic *nic, uint64_t *others)
{
    struct sirq_source *first = NULL;
    uint64_t least = UINT64_MAX;

    *others = UINT64_MAX;
    for (unsigned i = 0; i < nic->nsources; i++) {
        struct sirq_source *source = nic->source[i];

        if (source->next < least) {
            *others = least;
            least = source->next;
            first = source;
        } else if (source->next < *others) {
            *others = source->next;
        }
    }
    return first;
}

static void arrive(struct sirq_sim_nic *nic, const struct sirq_frame *frame, uint64_t time)
{
    nic->arrived++;
    nic->arrival_ever = true;
    nic->arrival_last = time;
    if (nic->prod - nic->cons < nic->size)
        nic->ring[nic->prod++ & (nic->size - 1)] = (struct sirq_slot){.time = time, .frame = frame};
    else
        nic->dropped++;
}

/* Past the frames that come up to `end`: how many; the time of the last of them in *last. */
static uint64_t source_skip(struct sirq_source *source, uint64_t end, uint64_t *last)
{
    struct sirq_rng rng = source->rng; /* in registers, which stores cannot be meant for */
    uint64_t next = source->next, n = 0;

    for (; source->poisson && next <= end; n++) {
        *last = next;
        next += sirq_rng_exp(&rng, source->mean_1024) / 1024;
        if (next >= source->stop)
            next = UINT64_MAX;
    }
    source->next = next;
    source->rng = rng;
    for (; source->next <= end; n++) {
        *last = source->next;
        source_step(source);
    }
    return n;
}

/* The ring is full and nobody takes from it meanwhile: only numbers matter. */
static void lose_all(struct sirq_sim_nic *nic)
{
    for (unsigned i = 0; i < nic->nsources; i++) {
        uint64_t last = 0, n = source_skip(nic->source[i], nic->sim->now, &last);

        nic->arrived += n;
        nic->dropped += n;
        if (last > nic->arrival_last)
            nic->arrival_last = last;
    }
}

uint32_t sirq_nic_advance(struct sirq_sim_nic *nic)
{
    uint64_t now = nic->sim->now, others;
    struct sirq_source *source;

    while ((source = first_source(nic, &others)) != NULL && wire_time(nic, source->next) <= now) {
        if (nic->prod - nic->cons == nic->size && nic->gap_ns == 0) {
            lose_all(nic);
            break;
        }
        arrive(nic, &source->frame, wire_time(nic, source->next));
        source_step(source);
    }
    return (uint32_t)(nic->prod - nic->cons);
}

void sirq_nic_consume(struct sirq_sim_nic *nic, uint32_t n)
{
    assert(n <= nic->prod - nic->cons);
    nic->cons += n;
}

/* ---- interrupts --------------------------------------------------------------------- */

void sirq_nic_arm(struct sirq_sim_nic *nic)
{
    struct sirq_sim *sim = nic->sim;
    uint64_t time = sim->now, others;

    sirq_evq_cancel(&sim->evq, &nic->event);
    if (nic->masked || nic->vcpu == NULL || nic->line.posted)
        return;
    if (sirq_nic_advance(nic) == 0) {
        const struct sirq_source *source = first_source(nic, &others);

        if (source == NULL)
            return;
        time = wire_time(nic, source->next);
    }
    if (nic->irq_ever && time < nic->irq_last + nic->irq_interval_ns)
        time = nic->irq_last + nic->irq_interval_ns;
    sirq_evq_add(&sim->evq, &nic->event, time);
}

/*
 * An interrupt that is lost is made again after IRQ_AGAIN_NS as long as frames wait and it is
 * not masked: what the watchdog of a real NIC's driver does, which triggers the line by
 * software.  A lost interrupt costs no more than that.
 */
static void nic_event(struct sirq_event *event, uint64_t now)
{
    struct sirq_sim_nic *nic = SIRQ_CONTAINER(event, struct sirq_sim_nic, event);

    if (sirq_nic_advance(nic) == 0) {
        sirq_nic_arm(nic);
        return;
    }
    if (nic->sim->lose_irq != NULL && nic->sim->lose_irq(nic->sim->fault_arg)) {
        sirq_evq_add(&nic->sim->evq, event, now + IRQ_AGAIN_NS);
        return;
    }
    nic->irq_ever = true;
    nic->irq_last = now;
    sirq_vcpu_post(nic->vcpu, &nic->line);
}

static void nic_handler(struct sirq_vcpu *vcpu, struct sirq_vline *line)
{
    struct sirq_sim_nic *nic = SIRQ_CONTAINER(line, struct sirq_sim_nic, line);

    if (nic->irq != NULL) /* detached meanwhile */
        nic->irq->handler(vcpu->cpu, nic->irq->data);
}

void sirq_nic_mask(struct sirq_sim_nic *nic)
{
    nic->masked = true;
    sirq_evq_cancel(&nic->sim->evq, &nic->event);
}

void sirq_nic_unmask(struct sirq_sim_nic *nic)
{
    nic->masked = false;
    sirq_nic_arm(nic);
}

/* The peer's answer is here.  A ring in use has an interrupt or a poll to look at it. */
static void flow_event(struct sirq_event *event, uint64_t now)
{
    struct sirq_sim_flow *flow = SIRQ_CONTAINER(event, struct sirq_sim_flow, event);
    struct sirq_sim_nic *nic = flow->nic;
    bool empty = sirq_nic_advance(nic) == 0;

    arrive(nic, &flow->frame, now);
    if (empty)
        sirq_nic_arm(nic);
}

/* ---- life --------------------------------------------------------------------------- */

struct sirq_sim_nic *sirq_nic_new(struct sirq_sim *sim, uint32_t ring_size)
{
    struct sirq_sim_nic *nic = calloc(1, sizeof(*nic));

    if (nic == NULL)
        return NULL;
    nic->ring = calloc(ring_size, sizeof(*nic->ring));
    if (nic->ring == NULL || sirq_evq_reserve(&sim->evq, 1) != 0) {
        free(nic->ring);
        free(nic);
        return NULL;
    }
    nic->sim = sim;
    nic->size = ring_size;
    nic->masked = true;
    nic->event.fn = nic_event;
    nic->line.handler = nic_handler;
    nic->next = sim->nics;
    sim->nics = nic;
    return nic;
}

void sirq_nics_free(struct sirq_sim *sim)
{
    struct sirq_sim_nic *nic;

    while ((nic = sim->nics) != NULL) {
        sim->nics = nic->next;
        for (unsigned i = 0; i < nic->nsources; i++)
            free(nic->source[i]);
        while (nic->flows != NULL) {
            struct sirq_sim_flow *flow = nic->flows;

            nic->flows = flow->next;
            free(flow);
        }
        free(nic->ring);
        free(nic);
    }
}

struct sirq_sim_flow *sirq_nic_flow_add(struct sirq_sim_nic *nic)
{
    struct sirq_sim_flow *flow = calloc(1, sizeof(*flow));

    if (flow == NULL || sirq_evq_reserve(&nic->sim->evq, 1) != 0) {
        free(flow);
        return NULL;
    }
    flow->event.fn = flow_event;
    flow->nic = nic;
    flow->next = nic->flows;
    nic->flows = flow;
    return flow;
}

int sirq_nic_source_add(struct sirq_sim_nic *nic, struct sirq_source **out)
{
    struct sirq_source *source;

    if (nic->nsources == SIM_SOURCES)
        return -ENOSPC;
    source = calloc(1, sizeof(*source));
    if (source == NULL)
        return -ENOMEM;
    sirq_rng_seed(&source->rng, sirq_rng_next(&nic->sim->rng), nic->nsources);
    source->next = UINT64_MAX;
    nic->source[nic->nsources++] = source;
    *out = source;
    return 0;
}
