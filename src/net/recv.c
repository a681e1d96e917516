/* SPDX-License-Identifier: MIT */
/*
 * recv.c - the receiver's side of a socket.
 *
 * Each attempt to take packets is one bottom-half section, whatever the number it takes,
 * as in the kernel's receive call.  Its end runs what is pending on this CPU, if the policy
 * says so: a receiver that takes one packet at a time pays for a whole run with each, and
 * under a flood that is the livelock this library is about.  Payload is copied and
 * buffers are given back outside of it.
 */
#define SIRQ_NET_INTERNAL
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "private.h"

#define BATCH 64u

/* The CPU to name to the host when the thread runs on none of the core's. */
static struct sirq_cpu *home_cpu(struct sirq_core *core)
{
    struct sirq_cpu *cpu = core->host->this_cpu(core);

    return cpu != NULL ? cpu : &core->cpus[0];
}

static bool may_sleep(struct sirq_core *core)
{
    struct sirq_cpu *cpu = core->host->this_cpu(core);

    if (core->host->ctx()->hardirq_depth != 0)
        return false;
    return cpu == NULL || (!sirq_in_softirq(cpu) && !sirq_in_hardirq(cpu));
}

/*
 * Take up to n packets; their indexes wait in msgs[].len.  With bottom halves off the
 * softirqs of this CPU, which might run on top of us, find the queue at rest; those of
 * other CPUs need not.
 */
static unsigned take(struct sirq_socket *sock, struct sirq_msg *msgs, unsigned n)
{
    struct sirq_core *core = sock->net->core;
    struct sirq_cpu *cpu = core->host->this_cpu(core);
    uint32_t idx[BATCH], got, wanted;
    unsigned total = 0;

    if (cpu != NULL && core->host->safe_point != NULL)
        core->host->safe_point(cpu);
    if (cpu != NULL)
        sirq_bh_disable(cpu);
    do {
        wanted = n - total < BATCH ? n - total : BATCH;
        got = sirq_ring_take(&sock->queue, idx, wanted);
        for (uint32_t i = 0; i < got; i++)
            msgs[total++].len = idx[i];
    } while (got == BATCH && total < n);
    if (cpu != NULL)
        sirq_bh_enable(cpu);
    return total;
}

static void copy_one(struct sirq_msg *msg, const struct sirq_pkt *pkt)
{
    uint32_t n = pkt->len < msg->size ? pkt->len : msg->size;

    if (n > 0)
        memcpy(msg->buf, pkt->data, n);
    msg->len = pkt->len;
    msg->saddr = pkt->saddr;
    msg->daddr = pkt->daddr;
    msg->sport = pkt->sport;
    msg->dport = pkt->dport;
    msg->rx_ns = pkt->rx_ns;
}

static void copy_out(struct sirq_socket *sock, struct sirq_msg *msgs, unsigned n)
{
    struct sirq_pool *pool = &sock->net->pool;
    uint32_t idx[BATCH];
    unsigned k = 0;

    for (unsigned i = 0; i < n; i++) {
        idx[k++] = msgs[i].len;
        if (i + 1 < n)
            __builtin_prefetch(&pool->pkts[msgs[i + 1].len]);
        copy_one(&msgs[i], &pool->pkts[idx[k - 1]]);
        if (k == BATCH || i + 1 == n) {
            sirq_pool_push(pool, idx, k);
            k = 0;
        }
    }
    __atomic_fetch_add(&sock->received, n, __ATOMIC_RELAXED);
}

/*
 * Nothing queued, and the caller goes back to its event loop: make the next packet write
 * the eventfd.  True when a packet came in meanwhile.
 */
static bool rearm(struct sirq_socket *sock)
{
    int fd = __atomic_load_n(&sock->wq.eventfd, __ATOMIC_ACQUIRE);
    uint64_t value;

    if (fd < 0)
        return false;
    if (__atomic_load_n(&sock->wq.armed, __ATOMIC_SEQ_CST) == 0) {
        /*
         * Drained before armed: the other way round we could swallow the write that
         * arming asked for.  A write still on its way from an earlier wake-up only makes
         * the descriptor readable for nothing.
         */
        while (read(fd, &value, sizeof(value)) < 0 && errno == EINTR)
            ;
        __atomic_store_n(&sock->wq.armed, 1, __ATOMIC_SEQ_CST);
    }
    /* SEQ_CST after SEQ_CST: see feed.c.  When it was armed already this look is still
     * needed: what came since ours may have been fed before it was armed. */
    return !sirq_ring_empty(&sock->queue);
}

/* Sleep until a packet may be there.  *deadline: 0 as long as none has been set. */
static int sleep_until_fed(struct sirq_socket *sock, int64_t timeout_ns, uint64_t *deadline)
{
    struct sirq_core *core = sock->net->core;
    struct sirq_cpu *cpu = home_cpu(core);
    uint32_t seq = __atomic_load_n(&sock->wq.seq, __ATOMIC_ACQUIRE);
    int err = 0;

    if (timeout_ns > 0) {
        uint64_t now = sirq_now_ns(cpu);

        if (*deadline == 0)
            *deadline = now + (uint64_t)timeout_ns;
        if (now >= *deadline)
            return -ETIMEDOUT;
        timeout_ns = (int64_t)(*deadline - now);
    }
    /* Announced (SEQ_CST) before the last look (SEQ_CST): see feed.c. */
    __atomic_fetch_add(&sock->wq.nwaiters, 1, __ATOMIC_SEQ_CST);
    if (sirq_ring_empty(&sock->queue))
        err = core->host->wait(cpu, &sock->wq, seq, timeout_ns);
    __atomic_fetch_sub(&sock->wq.nwaiters, 1, __ATOMIC_SEQ_CST);
    return err;
}

int sirq_recv(struct sirq_socket *sock, struct sirq_msg *msgs, unsigned n, int64_t timeout_ns)
{
    uint64_t deadline = 0;
    unsigned got;
    int err = 0;

    if (sock == NULL || msgs == NULL || n == 0 || n > INT_MAX)
        return -EINVAL;
    if (!may_sleep(sock->net->core))
        return -EDEADLK;
    sirq_charge(home_cpu(sock->net->core), SIRQ_COST_RECV_CALL, 1);
    while ((got = take(sock, msgs, n)) == 0) {
        if (err != 0)
            return err;
        if (timeout_ns != 0)
            err = sleep_until_fed(sock, timeout_ns, &deadline);
        else if (!rearm(sock))
            return -EAGAIN;
    }
    copy_out(sock, msgs, got);
    sirq_charge(home_cpu(sock->net->core), SIRQ_COST_RECV_PACKET, got);
    return (int)got;
}
