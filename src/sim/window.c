/* SPDX-License-Identifier: MIT */
/*
 * The sender's mind (tcp.h): Reno as in RFC 5681, with one cut per window of losses and what is
 * in flight known (as with SACK), initial window of RFC 6928, timer of RFC 6298 with Linux's
 * 200 ms as the least and a minute as the most.
 */
#define SIRQ_SIM_PRIVATE
#include "tcp.h"

#define RTO_MIN_NS UINT64_C(200000000)
#define RTO_MAX_NS UINT64_C(60000000000)
#define RTO_FIRST_NS UINT64_C(1000000000)
#define BACKOFF_MAX 10u
#define DUPACKS 3u

uint64_t sirq_tcp_inflight(const struct sirq_sim_tcp *tcp)
{
    return tcp->sent - (tcp->seen > tcp->mark ? tcp->seen : tcp->mark);
}

uint64_t sirq_tcp_rto_ns(const struct sirq_sim_tcp *tcp)
{
    uint64_t rto = tcp->srtt_ns != 0 ? tcp->srtt_ns + 4 * tcp->rttvar_ns : RTO_FIRST_NS;

    if (rto < RTO_MIN_NS)
        rto = RTO_MIN_NS;
    rto <<= tcp->backoff;
    return rto < RTO_MAX_NS ? rto : RTO_MAX_NS;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t sirq_tcp_may_send(const struct sirq_sim_tcp *tcp)
{
    uint64_t inflight = sirq_tcp_inflight(tcp), window = least(tcp->cwnd, tcp->window);
    uint64_t told = tcp->sent - tcp->seen, data;

    if (tcp->send)
        data = tcp->wants ? UINT64_MAX : tcp->owed;
    else
        data = tcp->limit - tcp->data > UINT64_MAX - tcp->owed ? UINT64_MAX
                                                               : tcp->limit - tcp->data + tcp->owed;
    if (inflight >= window || tcp->sent >= tcp->edge || told > tcp->mask)
        return 0;
    return least(least(window - inflight, tcp->edge - tcp->sent),
                 least(tcp->mask + 1 - told, data));
}

static void cut(struct sirq_sim_tcp *tcp)
{
    if (tcp->seen < tcp->recover)
        return;
    tcp->cuts++;
    tcp->ssthresh = tcp->cwnd / 2 > 2 ? tcp->cwnd / 2 : 2;
    tcp->cwnd = tcp->ssthresh;
    tcp->cwnd_cnt = 0;
    tcp->recover = tcp->sent;
}

/*
 * Is the window what keeps it from sending?  It was if it was full within the last round trip, as
 * Linux asks: at a note's own time a pace may say otherwise, by how long a segment lasts.  What
 * waits for the line is not in flight yet, but a host that is held back there (across.c) does not
 * fill its window.
 */
static bool limited(const struct sirq_sim_tcp *tcp, uint64_t inflight)
{
    if (tcp->send)
        return inflight >= tcp->cwnd;
    if (tcp->seen <= tcp->full)
        return true;
    return !tcp->across && tcp->sent < tcp->edge && tcp->data < tcp->limit &&
           tcp->pace_ns <= tcp->sim->now;
}

static void grow(struct sirq_sim_tcp *tcp, uint32_t acked, uint64_t inflight_before)
{
    if (tcp->seen < tcp->recover || tcp->cwnd >= tcp->window || !limited(tcp, inflight_before))
        return;
    if (tcp->cwnd < tcp->ssthresh) {
        tcp->cwnd += acked;
    } else {
        tcp->cwnd_cnt += acked;
        while (tcp->cwnd_cnt >= tcp->cwnd)
            tcp->cwnd_cnt -= tcp->cwnd++;
    }
    if (tcp->cwnd > tcp->window)
        tcp->cwnd = tcp->window;
}

static void sample(struct sirq_sim_tcp *tcp, uint64_t rtt)
{
    uint64_t off = rtt > tcp->srtt_ns ? rtt - tcp->srtt_ns : tcp->srtt_ns - rtt;

    if (tcp->srtt_ns == 0) {
        tcp->srtt_ns = rtt > 0 ? rtt : 1;
        tcp->rttvar_ns = rtt / 2;
        return;
    }
    tcp->rttvar_ns = tcp->rttvar_ns - tcp->rttvar_ns / 4 + off / 4;
    tcp->srtt_ns = tcp->srtt_ns - tcp->srtt_ns / 8 + rtt / 8;
}

/* The next n numbers are seen.  Returns how many of them the timer had given up. */
static uint64_t see(struct sirq_sim_tcp *tcp, uint32_t n)
{
    uint64_t given_up = 0;

    if (tcp->seen < tcp->mark)
        given_up = tcp->mark - tcp->seen < n ? tcp->mark - tcp->seen : n;
    tcp->seen += n;
    assert(tcp->seen <= tcp->fate);
    return given_up;
}

static void lost(struct sirq_sim_tcp *tcp, uint32_t n)
{
    uint64_t fresh = n - see(tcp, n);

    if (fresh == 0)
        return;
    tcp->holes += fresh;
    tcp->dups = 0;
}

static void acked(struct sirq_sim_tcp *tcp, uint32_t n)
{
    uint64_t before = sirq_tcp_inflight(tcp), late = see(tcp, n);
    uint64_t saved = late < tcp->owed ? late : tcp->owed;

    tcp->acked += n;
    tcp->owed -= saved;
    tcp->spurious += late - saved;
    if (tcp->holes > 0) {
        tcp->dups += n;
        if (tcp->dups >= DUPACKS) {
            tcp->owed += tcp->holes;
            tcp->holes = 0;
            cut(tcp);
        }
    }
    grow(tcp, n, before);
}

void sirq_tcp_note(struct sirq_sim_tcp *tcp, const struct sirq_tcp_note *note, uint64_t now)
{
    if (note->lost > 0)
        lost(tcp, note->lost);
    if (note->acked > 0) {
        acked(tcp, note->acked);
        sample(tcp, now - note->sent_ns);
        tcp->progress_ns = now;
        tcp->backoff = 0;
    }
    if (note->edge > tcp->edge) /* what limited the window was the edge as it was */
        tcp->edge = note->edge;
}

/* Everything in flight counts as lost. */
void sirq_tcp_timeout(struct sirq_sim_tcp *tcp, uint64_t now)
{
    tcp->timeouts++;
    if (tcp->backoff == 0)
        tcp->ssthresh = tcp->cwnd / 2 > 2 ? tcp->cwnd / 2 : 2;
    tcp->cwnd = 1;
    tcp->cwnd_cnt = 0;
    tcp->owed += tcp->holes + sirq_tcp_inflight(tcp);
    tcp->holes = 0;
    tcp->mark = tcp->sent;
    if (tcp->edge <= tcp->sent) /* what is sent again has its place: it had one before */
        tcp->edge = tcp->sent + 1;
    tcp->recover = 0;
    tcp->progress_ns = now;
    if (tcp->backoff < BACKOFF_MAX)
        tcp->backoff++;
}
