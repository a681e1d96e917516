/* SPDX-License-Identifier: MIT */
/*
 * TCP-like flows whose both ends are at the far end: segments and acknowledgements cross the
 * machine as frames, in both directions.
 *
 * The receiver knows of a loss by a gap in the numbers, since no frame overtakes another of its
 * flow; an acknowledgement tells of everything up to it, so that one which is lost is told by the
 * next.
 *
 * A host has a queue for each of its flows, as fq_codel and fq do: a frame asks for the line when
 * the one before it has passed, so flows take turns there, and flow control (IEEE 802.3x) holds a
 * host back where otherwise its frames would be lost in front of the line.
 *
 * Of the round-trip time without the machine, one half lies behind each of its crossings.
 */
#define SIRQ_SIM_PRIVATE
#include "tcp.h"

#include <errno.h>
#include <stdlib.h>

#define ACK_LEN 66u
#define HEADERS 42u                  /* Ethernet, IPv4, UDP */
#define OPEN_NS UINT64_C(1000000000) /* an opening that was lost is sent again */

struct acks {
    struct sirq_source source;
    struct sirq_sim_tcp *tcp;
};

static struct sirq_sim_tcp *tcp_of_ack(struct sirq_source *source)
{
    return SIRQ_CONTAINER(source, struct acks, source)->tcp;
}

/* ---- at the receiver ------------------------------------------------------------------- */

static void segment_out(struct sirq_source *source, const uint8_t *frame, uint32_t number,
                        uint64_t time)
{
    struct sirq_sim_tcp *tcp = sirq_tcp_of(source);
    uint64_t seq = sirq_far_full(tcp->fate, number), missing = seq - tcp->fate;

    assert(seq >= tcp->fate && seq < tcp->sent);
    sirq_far_answers(tcp->ack, frame);
    tcp->lost += missing;
    tcp->gone += missing;
    tcp->untold += (uint32_t)missing;
    tcp->fate = seq;
    sirq_tcp_arrived(tcp, seq, time);
    sirq_tcp_ack_source(tcp);
}

static void ack_sent(struct sirq_source *source, bool is_lost)
{
    sirq_tcp_ack_sent(tcp_of_ack(source), is_lost);
}

/* Says nothing but that the receiver is there: where it is, when a router hides that. */
static void open_event(struct sirq_event *event, uint64_t now)
{
    struct sirq_sim_tcp *tcp = SIRQ_CONTAINER(event, struct sirq_sim_tcp, look);

    if (tcp->open || now >= tcp->stop_ns)
        return;
    sirq_nic_advance(tcp->ack->ring->nic);
    tcp->updates++;
    *sirq_tcp_note_at(tcp, tcp->note_tail++) = (struct sirq_tcp_note){.time = now};
    sirq_tcp_ack_source(tcp);
    sirq_evq_add(&tcp->sim->evq, &tcp->look, now + OPEN_NS);
}

/* ---- at the sender --------------------------------------------------------------------- */

static void begin(struct sirq_sim_tcp *tcp, uint64_t time)
{
    tcp->open = true;
    sirq_tcp_start(tcp, time);
}

static void ack_out(struct sirq_source *source, const uint8_t *frame, uint32_t number,
                    uint64_t time)
{
    struct sirq_sim_tcp *tcp = tcp_of_ack(source);
    uint64_t note = sirq_far_full(tcp->note_in, number);

    assert(note >= tcp->note_in && note < tcp->note_out);
    sirq_far_answers(&tcp->source, frame);
    while (tcp->note_in <= note)
        sirq_tcp_note_at(tcp, tcp->note_in++)->time = time + tcp->half_ns;
    if (!tcp->open)
        begin(tcp, time + tcp->half_ns);
    sirq_tcp_note_arm(tcp);
}

/* ---- life ------------------------------------------------------------------------------- */

int sirq_tcp_across(struct sirq_sim_tcp *tcp, const struct sirq_far_way *way,
                    const struct sirq_far_way *back)
{
    struct acks *acks = calloc(1, sizeof(*acks));
    int rc;

    if (acks == NULL)
        return -ENOMEM;
    tcp->across = tcp->framed = true;
    tcp->ack = &acks->source;
    tcp->source.taken = NULL;
    tcp->source.out = segment_out;
    tcp->look.fn = open_event;
    acks->tcp = tcp;
    acks->source.next = UINT64_MAX;
    acks->source.bytes = sizeof(*acks);
    acks->source.sent = ack_sent;
    acks->source.out = ack_out;
    rc = sirq_far_connect(&acks->source, back, ACK_LEN);
    if (rc != 0) {
        free(acks);
        return rc;
    }
    rc = sirq_far_connect(&tcp->source, way, tcp->mss + HEADERS);
    if (rc != 0)
        return rc; /* of the acknowledgements none is ever sent */
    if (tcp->pulls)
        sirq_evq_add(&tcp->sim->evq, &tcp->look,
                     tcp->start_ns > tcp->sim->now ? tcp->start_ns : tcp->sim->now + 1);
    else
        begin(tcp, tcp->start_ns);
    return 0;
}
