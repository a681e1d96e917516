/* SPDX-License-Identifier: MIT */
/*
 * feed.c - when the receivers of a poll's packets are woken.
 *
 * Never per packet: a wake-up with the switch it brings costs as much as tens of packets,
 * and a poll is not preempted by the consumer it feeds anyway.  A CPU lists the sockets
 * that met a packet and looks after them when the poll ends.
 *
 * And not even then when the poll used its whole budget: more packets are waiting, this
 * run or the next will poll them, and one wake-up can serve them all.  The socket stays
 * listed, unless its queue is half full: then its receiver has work enough, and the rest of
 * the queue is what it has to arrive in.  Latency is not given away: a poll that emptied
 * the device (less than its budget) wakes at once, and nobody stays listed beyond the run;
 * when ksoftirqd made it and goes on without a pause, not beyond WAIT_NS and the run then.
 * A ksoftirqd that is to give way (need_resched) does not go on without a pause.
 *
 * No lost wake-up: the packet is put on the queue (SEQ_CST), then nwaiters and armed are
 * read (SEQ_CST).  A sleeper writes one of these (SEQ_CST), then looks at the queue
 * (SEQ_CST).  In the one order of all four, one of the two sees the other.
 */
#define SIRQ_NET_INTERNAL
#include "private.h"

#define FILL_FULL 1000u
#define WAIT_NS 100000u /* twenty times what a wake-up with its two switches costs */

static uint32_t queue_fill(const struct sirq_ring *queue)
{
    return (uint32_t)((uint64_t)sirq_ring_len(queue) * FILL_FULL / queue->cap);
}

static void socket_wake(struct sirq_cpu *cpu, struct sirq_socket *sock)
{
    if (__atomic_load_n(&sock->wq.nwaiters, __ATOMIC_SEQ_CST) != 0 ||
        __atomic_load_n(&sock->wq.armed, __ATOMIC_SEQ_CST) != 0)
        sirq_wake(cpu, &sock->wq);
}

/* A poll ended; more: it used its whole budget. */
void sirq_feeds_poll_end(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, bool more)
{
    struct sirq_feed **link = &nc->feeds, *feed;
    uint32_t fullest = 0;

    while ((feed = *link) != NULL) {
        uint32_t fill = queue_fill(&feed->sock->queue);

        if (feed->touched && fill > fullest)
            fullest = fill;
        feed->touched = false;
        if (more && fill < FILL_FULL / 2 && !nc->net->config.wake_every_poll) {
            link = &feed->next;
            continue;
        }
        *link = feed->next;
        feed->listed = false;
        socket_wake(cpu, feed->sock);
    }
    __atomic_store_n(&cpu->queue_fill, fullest, __ATOMIC_RELAXED);
}

/*
 * May the socket stay listed beyond the end of this run of ksoftirqd, which goes on at once?
 * For a while, not for ever: under a flood of others its own queue may never be half full.
 */
static bool may_wait(const struct sirq_cpu *cpu, struct sirq_feed *feed, uint64_t now_ns)
{
    if (feed->since_ns == 0)
        feed->since_ns = cpu->run_start_ns;
    return now_ns - feed->since_ns < WAIT_NS;
}

/* The run is about to let go of the CPU. */
void sirq_feeds_run_end(struct sirq_cpu *cpu, bool goes_on)
{
    struct sirq_net_cpu *nc = sirq_net_cpu(cpu);
    struct sirq_feed **link = &nc->feeds, *feed;
    uint64_t now_ns;

    if (nc->feeds == NULL)
        return;
    /* It is about to lose the CPU to somebody: those who wait would wait for that one too. */
    goes_on = goes_on && !__atomic_load_n(&cpu->need_resched, __ATOMIC_RELAXED);
    now_ns = goes_on ? sirq_now_ns(cpu) : 0;
    while ((feed = *link) != NULL) {
        if (goes_on && may_wait(cpu, feed, now_ns)) {
            link = &feed->next;
            continue;
        }
        *link = feed->next;
        feed->listed = false;
        socket_wake(cpu, feed->sock);
    }
}

/* The socket is about to go: nobody is to be woken for it here. */
void sirq_feeds_forget(struct sirq_cpu *cpu, void *data)
{
    struct sirq_socket *sock = data;
    struct sirq_feed **link = &sirq_net_cpu(cpu)->feeds;

    for (; *link != NULL; link = &(*link)->next)
        if ((*link)->sock == sock) {
            *link = (*link)->next;
            return;
        }
}
