/* SPDX-License-Identifier: MIT */
/*
 * TCP-like flows: what a window does to a link, without TCP's bytes.
 *
 * Unit is the segment: one datagram of our packet path.  A transmission has a number; a
 * retransmission is a new one, so what is counted is exact and no round-trip time is ambiguous.
 * Numbers are fates in the order of sending: the peer tells of each, in that order, in notes
 * that reach the sender a round-trip time after the receiver had it:
 *
 *     seen <= fate <= sent      fate known to the sender; decided at the receiver; sent
 *
 * A loss is told with the next segment that does arrive, as duplicate acknowledgements would;
 * losses with none after them are found by the timer.  What was sent before the timer ran out
 * (numbers below `mark`) counts as lost; if it comes to light after all it is taken off what is
 * to be sent again, or it was sent twice for nothing.
 *
 * The receiver's window is told as TCP does: a note carries how far there was room when it was
 * made, and what the sender knows is as old as the way of that note.  It never shrinks: each
 * number below it has a place, whatever becomes of it.  A receiver that has told too little
 * looks at its queue now and then, and sends a note of its own once that has changed.
 *
 * Two directions.  Receiving, the peer sends: segments are frames of a source, notes are an
 * event, one per poll that took some.  Sending, a task sends: notes are frames of the source, one
 * for two segments, and processed by NET_RX.
 */
#ifndef SIRQ_SIM_PRIVATE
#error "tcp.h belongs to the simulator"
#endif
#ifndef SIRQ_SIM_TCP_H
#define SIRQ_SIM_TCP_H

#include "far.h"

#define SIM_TCP_WINDOW 65536u

/* Losses, then segments that arrived, at the receiver, and its window; neither: that alone. */
struct sirq_tcp_note {
    uint64_t time;    /* at the sender */
    uint64_t made_ns; /* at the receiver */
    uint64_t sent_ns; /* the last of the segments */
    uint64_t edge;    /* the receiver had room for numbers below it */
    uint32_t lost, acked;
    bool delayed; /* it waits for a second segment */
    bool dropped; /* its frame was: the next one tells the same */
};

/* Numbers below `upto` (and not below the one before) might be sent from `time` on. */
struct sirq_tcp_opening {
    uint64_t upto, time;
};

struct sirq_sim_tcp {
    struct sirq_source source;
    struct sirq_sim *sim;
    bool send, across;                /* the task sends; both ends are elsewhere (across.c) */
    bool framed;                      /* notes are frames: either of these */
    struct sirq_source *ack;          /* of these frames; sending, the flow's own source */
    uint32_t window, mask, note_mask; /* segments; of the tables, a power of two - 1 */
    uint32_t mss;
    uint64_t rtt_ns, jitter_ns;
    uint64_t gap_ps;             /* between two segments; 0: as the line can */
    uint64_t limit, stop_ns;     /* segments of data; no transmission from there on */
    uint32_t (*room)(void *arg); /* free places of the receiver's queue; null: the window alone */
    void *room_arg;
    uint32_t places; /* of that queue in all */
    struct sirq_rng rng;
    struct sirq_event note_event, look; /* receiving: notes are due; at the receiver's queue */
    struct sirq_event timer;            /* retransmission */

    uint64_t *sent_ns;  /* by number */
    uint64_t *lost_seq; /* lost, and not passed by a later fate yet */
    uint32_t nlost, lost_at;
    struct sirq_tcp_opening *opening; /* receiving: of the window, for what waits for the line */
    uint64_t open_head, open_tail;
    struct sirq_tcp_note *notes;
    uint64_t note_head, note_out, note_tail; /* read; frame sent (framed); made */
    uint64_t note_in;                        /* across: on the last part of its way, or read */
    uint64_t note_last_ns;
    uint32_t untold;                       /* losses for the next note */
    uint64_t seen, fate, sent, gone, mark; /* gone: arrived or lost, whatever its turn */

    uint64_t data;        /* segments of data sent at least once */
    uint64_t owed, holes; /* to be sent again; lost, but fewer than three came after it */
    uint32_t dups;
    uint32_t cwnd, ssthresh, cwnd_cnt;
    uint64_t recover; /* one cut until everything before it has been seen */
    uint64_t edge;    /* the sender knows of room for numbers below it */
    uint64_t told;    /* the receiver has told it, or is telling: edge <= told, but for a timeout */
    uint32_t updates; /* notes under way that tell of the window alone */
    uint64_t full;    /* numbers sent when the window was last full */
    uint64_t pace_ns, pace_ps;
    uint64_t srtt_ns, rttvar_ns, progress_ns;
    unsigned backoff;
    struct sirq_wq wq; /* sending: the task */
    bool waiting, wants, sending;
    uint64_t delivered, lost, retransmitted, acked, spurious, acks, timeouts, cuts;
    /* Across: */
    uint64_t half_ns; /* from the machine to the sender; rtt_ns: to the receiver */
    bool pulls, open; /* the receiver speaks first; the sender has heard of it */
    uint64_t start_ns;
};

/* Parameters, frame included, are filled in; then it is connected, then started. */
struct sirq_sim_tcp *sirq_tcp_new(struct sirq_sim *sim, uint32_t window, bool send);
void sirq_tcp_start(struct sirq_sim_tcp *tcp, uint64_t start_ns);

/* Both ends are at the far end: `way` is that of the segments, `back` of the acknowledgements.
 * Parameters are filled in.  0, -ENOSPC or -ENOMEM with nothing left behind; starts at start_ns. */
int sirq_tcp_across(struct sirq_sim_tcp *tcp, const struct sirq_far_way *way,
                    const struct sirq_far_way *back);

/* The current task; see sirq/sim.h. */
void sirq_tcp_send(struct sirq_sim_task *task, struct sirq_sim_tcp *tcp, uint64_t segments);
void sirq_tcp_flush(struct sirq_sim_task *task, struct sirq_sim_tcp *tcp);

/* Between the files of the flow. */
static inline struct sirq_sim_tcp *sirq_tcp_of(struct sirq_source *source)
{
    return SIRQ_CONTAINER(source, struct sirq_sim_tcp, source);
}

static inline struct sirq_tcp_note *sirq_tcp_note_at(struct sirq_sim_tcp *tcp, uint64_t i)
{
    return &tcp->notes[i & tcp->note_mask];
}

uint64_t sirq_tcp_number(struct sirq_sim_tcp *tcp, uint64_t time);
void sirq_tcp_lose(struct sirq_sim_tcp *tcp, uint64_t seq);
void sirq_tcp_pass_losses(struct sirq_sim_tcp *tcp);
/* Segment `seq` has arrived at `time`, and every fate before it is decided. */
void sirq_tcp_arrived(struct sirq_sim_tcp *tcp, uint64_t seq, uint64_t time);
void sirq_tcp_timer_arm(struct sirq_sim_tcp *tcp);
void sirq_tcp_note_arm(struct sirq_sim_tcp *tcp);
/* What may be sent has changed, when the peer sends. */
void sirq_tcp_update(struct sirq_sim_tcp *tcp);
void sirq_tcp_sends(struct sirq_sim_tcp *tcp);
void sirq_tcp_ack_source(struct sirq_sim_tcp *tcp);
void sirq_tcp_ack_sent(struct sirq_sim_tcp *tcp, bool is_lost);

/* window.c: the sender's mind */
uint64_t sirq_tcp_inflight(const struct sirq_sim_tcp *tcp);
uint64_t sirq_tcp_rto_ns(const struct sirq_sim_tcp *tcp);
/* How many segments may be sent now. */
uint64_t sirq_tcp_may_send(const struct sirq_sim_tcp *tcp);
void sirq_tcp_note(struct sirq_sim_tcp *tcp, const struct sirq_tcp_note *note, uint64_t now);
void sirq_tcp_timeout(struct sirq_sim_tcp *tcp, uint64_t now);

#endif
