/* SPDX-License-Identifier: MIT */
/* See tcp.h: segments and notes on their ways; what the sender makes of them is in window.c. */
#define SIRQ_SIM_PRIVATE
#include "tcp.h"

#include <stdlib.h>

#define DELACK_NS UINT64_C(40000000) /* a note that waits for a second segment */
#define LOOK_NS UINT64_C(10000)      /* least time between two looks at the receiver's queue */
#define LOOKS 32u                    /* in a round-trip time */
#define FIRST_WINDOW 10u

/* ---- fates ---------------------------------------------------------------------------- */

uint64_t sirq_tcp_number(struct sirq_sim_tcp *tcp, uint64_t time)
{
    uint64_t seq = tcp->sent++;

    assert(seq - tcp->seen <= tcp->mask);
    if (tcp->owed > 0) {
        tcp->owed--;
        tcp->retransmitted++;
    } else {
        tcp->data++;
    }
    tcp->sent_ns[seq & tcp->mask] = time;
    return seq;
}

void sirq_tcp_lose(struct sirq_sim_tcp *tcp, uint64_t seq)
{
    tcp->lost++;
    tcp->gone++;
    tcp->lost_seq[(tcp->lost_at + tcp->nlost++) & tcp->mask] = seq;
}

/* Losses whose turn it is. */
void sirq_tcp_pass_losses(struct sirq_sim_tcp *tcp)
{
    while (tcp->nlost > 0 && tcp->lost_seq[tcp->lost_at & tcp->mask] == tcp->fate) {
        tcp->lost_at++;
        tcp->nlost--;
        tcp->fate++;
        tcp->untold++;
    }
}

/* What leaves the receiver now: when the sender has it.  Nothing overtakes. */
static uint64_t way_back(struct sirq_sim_tcp *tcp, uint64_t time)
{
    uint64_t jitter = tcp->jitter_ns > 0 ? sirq_rng_below(&tcp->rng, tcp->jitter_ns + 1) : 0;
    uint64_t back = time + tcp->rtt_ns + jitter;

    if (back < tcp->note_last_ns)
        back = tcp->note_last_ns;
    tcp->note_last_ns = back;
    return back;
}

/* How far the receiver has room: a place for each number whose fate is open. */
static uint64_t look_at_room(struct sirq_sim_tcp *tcp)
{
    uint64_t edge = tcp->room != NULL ? tcp->fate + tcp->room(tcp->room_arg) : UINT64_MAX;

    return edge > tcp->told ? edge : tcp->told;
}

/* The last note, when it is still at the receiver and may tell of one more. */
static struct sirq_tcp_note *note_open(struct sirq_sim_tcp *tcp, uint64_t now)
{
    struct sirq_tcp_note *last = sirq_tcp_note_at(tcp, tcp->note_tail - 1);

    if (tcp->untold > 0 || tcp->note_tail == (tcp->framed ? tcp->note_out : tcp->note_head))
        return NULL;
    if (!tcp->framed)
        return last->made_ns == now && last->acked > 0 ? last : NULL;
    return last->delayed && now < last->time ? last : NULL;
}

void sirq_tcp_arrived(struct sirq_sim_tcp *tcp, uint64_t seq, uint64_t time)
{
    uint64_t back = way_back(tcp, time);
    struct sirq_tcp_note *note = note_open(tcp, tcp->sim->now);

    tcp->delivered++;
    tcp->gone++;
    tcp->fate++;
    if (note == NULL) {
        if (tcp->note_tail != tcp->note_out && sirq_tcp_note_at(tcp, tcp->note_tail - 1)->delayed) {
            sirq_tcp_note_at(tcp, tcp->note_tail - 1)->time = back; /* a gap is told at once */
            sirq_tcp_note_at(tcp, tcp->note_tail - 1)->delayed = false;
        }
        assert(tcp->note_tail - tcp->note_head <= tcp->note_mask);
        note = sirq_tcp_note_at(tcp, tcp->note_tail++);
        *note = (struct sirq_tcp_note){.lost = tcp->untold, .made_ns = tcp->sim->now};
        note->delayed = tcp->framed && tcp->untold == 0;
        note->time = note->delayed ? back + DELACK_NS : back;
        tcp->untold = 0;
    } else if (tcp->framed) {
        note->time = back;
        note->delayed = false;
    }
    tcp->told = look_at_room(tcp);
    note->edge = tcp->told;
    note->acked++;
    note->sent_ns = tcp->sent_ns[seq & tcp->mask];
}

/* ---- both directions ------------------------------------------------------------------- */

/*
 * Armed from when something is to be sent, and not by the sending itself, which happens when
 * somebody looks.
 */
void sirq_tcp_timer_arm(struct sirq_sim_tcp *tcp)
{
    uint64_t time = tcp->progress_ns;

    if (sirq_event_queued(&tcp->timer))
        return;
    if (sirq_tcp_inflight(tcp) + tcp->holes == 0) {
        if (tcp->send || tcp->source.next == UINT64_MAX)
            return;
        time = tcp->source.next;
    }
    time += sirq_tcp_rto_ns(tcp);
    sirq_evq_add(&tcp->sim->evq, &tcp->timer, time > tcp->sim->now ? time : tcp->sim->now + 1);
}

/* Nothing of it is on its way any more: nobody will tell of the last losses. */
static void forget_losses(struct sirq_sim_tcp *tcp)
{
    sirq_tcp_pass_losses(tcp);
    if (tcp->fate != tcp->sent || tcp->note_head != tcp->note_tail)
        return;
    tcp->untold = 0;
    tcp->seen = tcp->sent;
}

static void timer_event(struct sirq_event *event, uint64_t now)
{
    struct sirq_sim_tcp *tcp = SIRQ_CONTAINER(event, struct sirq_sim_tcp, timer);

    sirq_nic_advance(tcp->source.ring->nic);
    if (sirq_tcp_inflight(tcp) + tcp->holes > 0 && now >= tcp->progress_ns + sirq_tcp_rto_ns(tcp)) {
        sirq_tcp_timeout(tcp, now);
        forget_losses(tcp);
        if (tcp->waiting)
            tcp->sim->core.host->wake(&tcp->sim->cpus[0], &tcp->wq);
    }
    if (!tcp->send)
        sirq_tcp_update(tcp);
    else
        sirq_tcp_timer_arm(tcp);
}

/* ---- receiving: the peer sends --------------------------------------------------------- */

static void pace(struct sirq_sim_tcp *tcp, uint64_t time)
{
    tcp->pace_ps = (tcp->pace_ns >= time ? tcp->pace_ps : 0) + tcp->gap_ps;
    tcp->pace_ns = (tcp->pace_ns >= time ? tcp->pace_ns : time) + tcp->pace_ps / 1000;
    tcp->pace_ps %= 1000;
}

static struct sirq_tcp_opening *opening(struct sirq_sim_tcp *tcp, uint64_t i)
{
    return &tcp->opening[i & tcp->mask];
}

/*
 * From now on `n` more may be sent.  Each keeps the time from which it might have been: a line
 * that is busy makes it wait since then.
 */
static void opened(struct sirq_sim_tcp *tcp, uint64_t n)
{
    uint64_t upto = tcp->sent + n;

    while (tcp->open_head != tcp->open_tail && opening(tcp, tcp->open_head)->upto <= tcp->sent)
        tcp->open_head++;
    while (tcp->open_head != tcp->open_tail && opening(tcp, tcp->open_tail - 1)->upto >= upto) {
        if (tcp->open_tail - tcp->open_head >= 2 &&
            opening(tcp, tcp->open_tail - 2)->upto >= upto) {
            tcp->open_tail--;
            continue;
        }
        opening(tcp, tcp->open_tail - 1)->upto = upto; /* less than before, or the same */
        return;
    }
    if (n == 0)
        return;
    assert(tcp->open_tail - tcp->open_head <= tcp->mask);
    *opening(tcp, tcp->open_tail++) =
        (struct sirq_tcp_opening){.upto = upto, .time = tcp->sim->now};
}

/* When the next segment wants the line; UINT64_MAX: none may be sent. */
static uint64_t next_time(struct sirq_sim_tcp *tcp)
{
    uint64_t time = tcp->pace_ns;

    if (sirq_tcp_may_send(tcp) == 0)
        return UINT64_MAX;
    while (tcp->open_head != tcp->open_tail && opening(tcp, tcp->open_head)->upto <= tcp->sent)
        tcp->open_head++;
    assert(tcp->open_head != tcp->open_tail);
    if (time < opening(tcp, tcp->open_head)->time)
        time = opening(tcp, tcp->open_head)->time;
    return time < tcp->stop_ns ? time : UINT64_MAX;
}

static void segment_sent(struct sirq_source *source, bool is_lost)
{
    struct sirq_sim_tcp *tcp = sirq_tcp_of(source);
    uint64_t time = source->next, seq;

    if (sirq_tcp_inflight(tcp) + tcp->holes == 0)
        tcp->progress_ns = time;
    seq = sirq_tcp_number(tcp, time);
    if (is_lost && !tcp->across) /* there it shows at the far end */
        sirq_tcp_lose(tcp, seq);
    if (sirq_tcp_inflight(tcp) >= (tcp->cwnd < tcp->window ? tcp->cwnd : tcp->window))
        tcp->full = tcp->sent;
    source->number = (uint32_t)tcp->sent;
    pace(tcp, time);
    source->next = next_time(tcp);
    if (tcp->across && source->next < source->ring->nic->rx.free_ns)
        source->next = source->ring->nic->rx.free_ns; /* the host's next frame, in its turn */
}

/* Whatever has been told is heard, also after the flow's stop. */
void sirq_tcp_note_arm(struct sirq_sim_tcp *tcp)
{
    uint64_t time;

    if (tcp->note_head == (tcp->across ? tcp->note_in : tcp->note_tail) ||
        sirq_event_queued(&tcp->note_event))
        return;
    time = sirq_tcp_note_at(tcp, tcp->note_head)->time;
    assert(time >= tcp->sim->now); /* it was armed as long as there was one */
    sirq_evq_add(&tcp->sim->evq, &tcp->note_event, time);
}

/* Worth a note, as in TCP: two segments, or half of a queue that has no more. */
static uint32_t step(const struct sirq_sim_tcp *tcp)
{
    return tcp->places > 2 ? 2 : 1;
}

/* Could the queue, once it is read, tell the sender of more than it can use now? */
static void look_arm(struct sirq_sim_tcp *tcp)
{
    uint64_t want = tcp->cwnd > step(tcp) ? tcp->cwnd : step(tcp), wait = tcp->rtt_ns / LOOKS;

    if (want > tcp->places)
        want = tcp->places;
    if (tcp->room == NULL || tcp->told + step(tcp) > tcp->fate + want ||
        tcp->sim->now >= tcp->stop_ns || sirq_event_queued(&tcp->look))
        return;
    sirq_evq_add(&tcp->sim->evq, &tcp->look, tcp->sim->now + (wait > LOOK_NS ? wait : LOOK_NS));
}

static void look_event(struct sirq_event *event, uint64_t now)
{
    struct sirq_sim_tcp *tcp = SIRQ_CONTAINER(event, struct sirq_sim_tcp, look);
    uint64_t edge;

    sirq_nic_advance(tcp->source.ring->nic);
    edge = look_at_room(tcp);
    if (edge >= tcp->told + step(tcp) && tcp->updates < tcp->mask) {
        tcp->told = edge;
        tcp->updates++;
        *sirq_tcp_note_at(tcp, tcp->note_tail++) =
            (struct sirq_tcp_note){.time = way_back(tcp, now), .made_ns = now, .edge = edge};
        sirq_tcp_note_arm(tcp);
    }
    look_arm(tcp);
}

static void segment_taken(struct sirq_source *source, bool is_delivered)
{
    struct sirq_sim_tcp *tcp = sirq_tcp_of(source);

    sirq_tcp_pass_losses(tcp);
    if (!is_delivered) {
        tcp->lost++;
        tcp->gone++;
        tcp->fate++;
        tcp->untold++;
        return;
    }
    sirq_tcp_arrived(tcp, tcp->fate, tcp->sim->now);
    sirq_tcp_note_arm(tcp);
    look_arm(tcp);
}

/* The window may have opened, or closed for a segment that does not wait for the line yet. */
void sirq_tcp_update(struct sirq_sim_tcp *tcp)
{
    uint64_t now = tcp->sim->now, next;

    opened(tcp, sirq_tcp_may_send(tcp));
    next = next_time(tcp);
    if (tcp->source.next > now && tcp->source.next != next)
        sirq_nic_source_at(&tcp->source, next > now ? next : now);
    sirq_tcp_timer_arm(tcp);
    sirq_tcp_note_arm(tcp);
    look_arm(tcp);
}

static void note_event(struct sirq_event *event, uint64_t now)
{
    struct sirq_sim_tcp *tcp = SIRQ_CONTAINER(event, struct sirq_sim_tcp, note_event);

    sirq_nic_advance(tcp->source.ring->nic);
    while (tcp->note_head != (tcp->across ? tcp->note_in : tcp->note_tail) &&
           sirq_tcp_note_at(tcp, tcp->note_head)->time <= now) {
        tcp->acks++;
        tcp->updates -= sirq_tcp_note_at(tcp, tcp->note_head)->acked == 0;
        sirq_tcp_note(tcp, sirq_tcp_note_at(tcp, tcp->note_head++), now);
    }
    sirq_tcp_update(tcp);
}

/* ---- life ----------------------------------------------------------------------------- */

static void tcp_fini(struct sirq_source *source)
{
    struct sirq_sim_tcp *tcp = sirq_tcp_of(source);

    free(tcp->sent_ns);
    free(tcp->lost_seq);
    free(tcp->notes);
    free(tcp->opening);
}

struct sirq_sim_tcp *sirq_tcp_new(struct sirq_sim *sim, uint32_t window, bool send)
{
    struct sirq_sim_tcp *tcp = calloc(1, sizeof(*tcp));
    uint32_t size = 16;

    if (tcp == NULL)
        return NULL;
    while (size < 2 * window) /* what the timer gave up may be on its way still */
        size *= 2;
    tcp->sent_ns = calloc(size, sizeof(*tcp->sent_ns));
    tcp->lost_seq = calloc(size, sizeof(*tcp->lost_seq));
    tcp->notes = calloc(2 * (size_t)size, sizeof(*tcp->notes)); /* half: of the window alone */
    tcp->opening = calloc(size, sizeof(*tcp->opening));
    if (tcp->sent_ns == NULL || tcp->lost_seq == NULL || tcp->notes == NULL ||
        tcp->opening == NULL || sirq_evq_reserve(&sim->evq, 3) != 0) {
        tcp_fini(&tcp->source);
        free(tcp);
        return NULL;
    }
    tcp->sim = sim;
    tcp->send = send;
    tcp->window = window;
    tcp->mask = size - 1;
    tcp->note_mask = 2 * size - 1;
    tcp->cwnd = window < FIRST_WINDOW ? window : FIRST_WINDOW;
    tcp->ssthresh = UINT32_MAX;
    tcp->edge = UINT64_MAX;
    tcp->wq.eventfd = -1;
    tcp->note_event.fn = note_event;
    tcp->look.fn = look_event;
    tcp->timer.fn = timer_event;
    tcp->source.next = UINT64_MAX;
    tcp->source.bytes = sizeof(*tcp) + size * (2 * sizeof(uint64_t) + 2 * sizeof(*tcp->notes) +
                                               sizeof(*tcp->opening));
    tcp->source.sent = segment_sent;
    tcp->source.taken = segment_taken;
    tcp->source.fini = tcp_fini;
    if (send)
        sirq_tcp_sends(tcp);
    return tcp;
}

void sirq_tcp_start(struct sirq_sim_tcp *tcp, uint64_t start_ns)
{
    if (tcp->send)
        return;
    tcp->pace_ns = start_ns;
    tcp->edge = tcp->told = look_at_room(tcp);
    sirq_tcp_update(tcp);
}
