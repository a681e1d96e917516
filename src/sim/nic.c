/* SPDX-License-Identifier: MIT */
/*
 * See nic.h.  Invariants: of each ring arrived = dropped + prod and prod - cons <= size; frames
 * leave a ring at the time up to which it has been advanced.
 */
#define SIRQ_SIM_PRIVATE
#include "far.h"

#include <errno.h>
#include <stdlib.h>

#define IRQ_AGAIN_NS UINT64_C(1000000)

/* ---- arrivals ------------------------------------------------------------------------- */

static struct sirq_source *ring_first(const struct sirq_nic_ring *ring)
{
    return ring->sources.len > 0 ? ring->sources.heap[0] : NULL;
}

/* Whose frame is next on the line, of all rings. */
static struct sirq_source *nic_first(const struct sirq_sim_nic *nic)
{
    struct sirq_source *first = ring_first(&nic->ring[0]), *other;

    for (unsigned i = 1; i < nic->nrings; i++) {
        other = ring_first(&nic->ring[i]);
        if (other != NULL && (first == NULL || sirq_source_before(other, first)))
            first = other;
    }
    return first;
}

/* True: on the ring. */
static bool arrive(struct sirq_nic_ring *ring, struct sirq_source *source, uint64_t time)
{
    uint32_t size = ring->nic->size;

    ring->arrived++;
    if (ring->prod - ring->cons == size) {
        ring->dropped++;
        return false;
    }
    ring->slots[ring->prod++ & (size - 1)] =
        (struct sirq_slot){.time = time, .source = source, .number = source->number};
    return true;
}

static inline void frame_sent(struct sirq_source *source, bool lost)
{
    source->frames++;
    source->sent(source, lost);
}

static inline void source_sent(struct sirq_source *source, bool lost)
{
    if (source->sent == NULL)
        sirq_stream_sent(SIRQ_CONTAINER(source, struct sirq_stream, source));
    else
        frame_sent(source, lost);
    sirq_source_heap_fix(&source->ring->sources, source);
}

/* Nobody takes from it meanwhile: of a stream, only numbers matter. */
static void lose_all(struct sirq_nic_ring *ring, uint64_t now)
{
    struct sirq_source *source;

    while ((source = ring_first(ring)) != NULL && source->next <= now) {
        uint64_t n = 1;

        if (source->sent == NULL)
            n = sirq_stream_skip(SIRQ_CONTAINER(source, struct sirq_stream, source), now);
        else
            frame_sent(source, true);
        ring->arrived += n;
        ring->dropped += n;
        sirq_source_heap_fix(&ring->sources, source);
    }
}

/* Without a line between them rings have nothing to do with each other. */
static void ring_advance(struct sirq_nic_ring *ring, uint64_t now)
{
    struct sirq_source *source;

    while ((source = ring_first(ring)) != NULL && source->next <= now) {
        if (ring->prod - ring->cons == ring->nic->size) {
            lose_all(ring, now);
            return;
        }
        source_sent(source, !arrive(ring, source, source->next));
    }
}

static void line_advance(struct sirq_sim_nic *nic, uint64_t now)
{
    struct sirq_source *source;
    uint64_t time;

    while ((source = nic_first(nic)) != NULL && source->next <= now) {
        bool lost = !sirq_line_when(&nic->rx, source->next, source->ser_ps, &time);

        if (lost) {
            nic->rx.dropped++;
        } else if (time <= now) {
            sirq_line_pass(&nic->rx, source->next, source->ser_ps);
            lost = !arrive(source->ring, source, time);
        } else {
            break;
        }
        source_sent(source, lost);
    }
}

void sirq_nic_advance(struct sirq_sim_nic *nic)
{
    uint64_t now = nic->sim->now;

    if (nic->rx.mbit != 0)
        line_advance(nic, now);
    else
        for (unsigned i = 0; i < nic->nrings; i++)
            ring_advance(&nic->ring[i], now);
    nic->looked_ns = now;
}

uint32_t sirq_ring_look(struct sirq_nic_ring *ring)
{
    sirq_nic_advance(ring->nic);
    return (uint32_t)(ring->prod - ring->cons);
}

void sirq_slots_take(struct sirq_nic_ring *ring, struct sirq_slot *slots, uint32_t n)
{
    assert(n <= ring->prod - ring->cons && ring->nic->looked_ns == ring->nic->sim->now);
    for (uint32_t i = 0; i < n; i++)
        slots[i] = *sirq_ring_slot(ring, i);
    ring->cons += n;
}

/* ---- sending ------------------------------------------------------------------------ */

uint32_t sirq_nic_tx_clean(struct sirq_sim_nic *nic)
{
    while (nic->tx_cons != nic->tx_prod &&
           nic->gone_ns[nic->tx_cons & (nic->tx_size - 1)] <= nic->sim->now)
        nic->tx_cons++;
    return (uint32_t)(nic->tx_prod - nic->tx_cons);
}

int sirq_nic_tx(struct sirq_sim_nic *nic, unsigned port, const uint8_t *frame, uint32_t len)
{
    uint64_t ser_ps = sirq_line_ser_ps(&nic->tx, len), time;
    uint64_t want = nic->sim->now + ser_ps / 1000;

    if (sirq_nic_tx_clean(nic) == nic->tx_size)
        return -ENOBUFS;
    sirq_nic_advance(nic); /* what comes of it may be a frame that arrives */
    sirq_line_when(&nic->tx, want, ser_ps, &time); /* the ring is the queue */
    sirq_line_pass(&nic->tx, want, ser_ps);
    nic->gone_ns[nic->tx_prod++ & (nic->tx_size - 1)] = time;
    sirq_far_arrives(nic, port, frame, len, time);
    return 0;
}

void sirq_ring_unsettled(struct sirq_source *source)
{
    if (source->unsettled)
        return;
    source->unsettled = true;
    source->unsettled_next = source->ring->unsettled;
    source->ring->unsettled = source;
}

void sirq_ring_settle(struct sirq_nic_ring *ring, struct sirq_cpu *cpu)
{
    struct sirq_source *source;

    while ((source = ring->unsettled) != NULL) {
        ring->unsettled = source->unsettled_next;
        source->unsettled = false;
        source->settle(source, cpu);
    }
}

struct sirq_nic_ring *sirq_nic_rss(struct sirq_sim_nic *nic, uint32_t hash)
{
    return &nic->ring[hash % SIM_RSS_TABLE % nic->nrings];
}

/* ---- interrupts --------------------------------------------------------------------- */

/*
 * When a frame may be on the ring that is empty now; UINT64_MAX: none is to be expected.  Not
 * later than it will be, which depends on the other rings' frames; but later than now, since the
 * ring has been advanced.  What the line will lose says nothing of what comes after it.
 */
static uint64_t next_arrival(const struct sirq_nic_ring *ring)
{
    const struct sirq_source *source = ring_first(ring), *first = nic_first(ring->nic);
    const struct sirq_line *line = &ring->nic->rx;
    uint64_t time, before;

    if (source == NULL || source->next == UINT64_MAX)
        return UINT64_MAX;
    if (!sirq_line_when(line, source->next, source->ser_ps, &time))
        time = source->next;
    /* Another ring's frame that is on the line now passes first. */
    if (first != source && sirq_line_when(line, first->next, first->ser_ps, &before) &&
        before > time)
        return before;
    return time;
}

void sirq_ring_arm(struct sirq_nic_ring *ring)
{
    struct sirq_sim_nic *nic = ring->nic;
    struct sirq_sim *sim = nic->sim;
    uint64_t time = sim->now;

    sirq_evq_cancel(&sim->evq, &ring->event);
    if (ring->masked || ring->vcpu == NULL || ring->line.posted)
        return;
    if (sirq_ring_look(ring) == 0)
        time = next_arrival(ring);
    if (time == UINT64_MAX)
        return;
    if (ring->irq_ever && time < ring->irq_last + nic->irq_interval_ns)
        time = ring->irq_last + nic->irq_interval_ns;
    sirq_evq_add(&sim->evq, &ring->event, time);
}

/*
 * An interrupt that is lost is made again after IRQ_AGAIN_NS as long as frames wait and it is
 * not masked: what the watchdog of a real NIC's driver does, which triggers the line by
 * software.  A lost interrupt costs no more than that.
 */
static void ring_event(struct sirq_event *event, uint64_t now)
{
    struct sirq_nic_ring *ring = SIRQ_CONTAINER(event, struct sirq_nic_ring, event);

    if (sirq_ring_look(ring) == 0) {
        sirq_ring_arm(ring);
        return;
    }
    if (ring->nic->sim->lose_irq != NULL && ring->nic->sim->lose_irq(ring->nic->sim->fault_arg)) {
        sirq_evq_add(&ring->nic->sim->evq, event, now + IRQ_AGAIN_NS);
        return;
    }
    ring->irq_ever = true;
    ring->irq_last = now;
    sirq_vcpu_post(ring->vcpu, &ring->line);
}

static void ring_handler(struct sirq_vcpu *vcpu, struct sirq_vline *line)
{
    struct sirq_nic_ring *ring = SIRQ_CONTAINER(line, struct sirq_nic_ring, line);

    if (ring->irq != NULL) /* detached meanwhile */
        ring->irq->handler(vcpu->cpu, ring->irq->data);
}

void sirq_ring_mask(struct sirq_nic_ring *ring)
{
    ring->masked = true;
    sirq_evq_cancel(&ring->nic->sim->evq, &ring->event);
}

void sirq_ring_unmask(struct sirq_nic_ring *ring)
{
    ring->masked = false;
    sirq_ring_arm(ring);
}

/* ---- sources ------------------------------------------------------------------------ */

int sirq_nic_connect(struct sirq_nic_ring *ring, struct sirq_source *source)
{
    struct sirq_sim_nic *nic = ring->nic;

    if (sirq_source_heap_reserve(&ring->sources) != 0)
        return -ENOMEM;
    sirq_nic_advance(nic);
    source->ring = ring;
    source->id = nic->nsources++;
    source->ser_ps = sirq_line_ser_ps(&nic->rx, source->frame.len);
    source->link = nic->sources;
    nic->sources = source;
    sirq_source_heap_push(&ring->sources, source);
    sirq_ring_arm(ring);
    return 0;
}

/* A ring in use has an interrupt or a poll to look at it. */
void sirq_nic_source_at(struct sirq_source *source, uint64_t next)
{
    struct sirq_nic_ring *ring = source->ring;

    assert(ring->nic->looked_ns == ring->nic->sim->now && next >= ring->nic->looked_ns);
    source->next = next;
    sirq_source_heap_fix(&ring->sources, source);
    if (source->pos == 0 && !ring->masked && ring->prod == ring->cons)
        sirq_ring_arm(ring);
}

/* ---- life --------------------------------------------------------------------------- */

static void nic_free(struct sirq_sim_nic *nic)
{
    struct sirq_source *source;

    while ((source = nic->sources) != NULL) {
        nic->sources = source->link;
        if (source->fini != NULL)
            source->fini(source);
        free(source);
    }
    for (unsigned i = 0; i < nic->nrings; i++) {
        free(nic->ring[i].slots);
        free(nic->ring[i].sources.heap);
    }
    free(nic->gone_ns);
    free(nic);
}

static int ring_init(struct sirq_nic_ring *ring, struct sirq_sim_nic *nic, unsigned index)
{
    ring->nic = nic;
    ring->index = index;
    ring->masked = true;
    ring->event.fn = ring_event;
    ring->line.handler = ring_handler;
    ring->slots = calloc(nic->size, sizeof(*ring->slots));
    return ring->slots != NULL ? sirq_evq_reserve(&nic->sim->evq, 1) : -ENOMEM;
}

struct sirq_sim_nic *sirq_nic_new(struct sirq_sim *sim, unsigned nrings, uint32_t ring_size,
                                  uint32_t tx_size)
{
    struct sirq_sim_nic *nic = calloc(1, sizeof(*nic) + nrings * sizeof(nic->ring[0]));

    if (nic == NULL)
        return NULL;
    nic->sim = sim;
    nic->size = ring_size;
    nic->nrings = nrings;
    nic->tx_size = tx_size;
    nic->gone_ns = calloc(tx_size, sizeof(*nic->gone_ns));
    if (nic->gone_ns == NULL) {
        nic_free(nic);
        return NULL;
    }
    for (unsigned i = 0; i < nrings; i++) {
        if (ring_init(&nic->ring[i], nic, i) != 0) {
            nic_free(nic);
            return NULL;
        }
    }
    nic->next = sim->nics;
    sim->nics = nic;
    return nic;
}

void sirq_nics_free(struct sirq_sim *sim)
{
    struct sirq_sim_nic *nic;

    while ((nic = sim->nics) != NULL) {
        sim->nics = nic->next;
        nic_free(nic);
    }
    free(sim->crossing);
}

size_t sirq_nic_memory(const struct sirq_sim_nic *nic)
{
    size_t bytes = sizeof(*nic) + nic->tx_size * sizeof(*nic->gone_ns);

    for (unsigned i = 0; i < nic->nrings; i++)
        bytes += sizeof(nic->ring[i]) + nic->size * sizeof(struct sirq_slot) +
                 nic->ring[i].sources.cap * sizeof(struct sirq_source *);
    for (const struct sirq_source *source = nic->sources; source != NULL; source = source->link)
        bytes += source->bytes;
    return bytes;
}
