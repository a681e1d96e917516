/* SPDX-License-Identifier: MIT */
/*
 * recv.c - the receiver's side of a socket.
 *
 * Each attempt to take packets passes one bottom-half section, whatever the number it takes,
 * as the kernel's receive call does.  Its end runs what is pending on this CPU, if the policy
 * says so: a receiver that takes one packet at a time pays for a whole run with each, and
 * under a flood that is the livelock this library is about.  The section is empty
 * (sirq_bh_cycle): the queue needs no protection from softirqs.
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

static bool may_sleep(const struct sirq_core *core, const struct sirq_cpu *cpu)
{
    return core->host->ctx()->hardirq_depth == 0 && (cpu == NULL || !sirq_in_softirq(cpu));
}

/* Take up to n packets; their indexes wait in msgs[].len. */
static unsigned take(struct sirq_socket *sock, struct sirq_cpu *cpu, struct sirq_msg *msgs,
                     unsigned n)
{
    const struct sirq_host *host = sock->net->core->host;
    uint32_t idx[BATCH], got, wanted;
    unsigned total = 0;

    if (cpu != NULL && host->safe_point != NULL)
        host->safe_point(cpu);
    do {
        wanted = n - total < BATCH ? n - total : BATCH;
        got = sirq_ring_take(&sock->queue, idx, wanted);
        for (uint32_t i = 0; i < got; i++)
            msgs[total++].len = idx[i];
    } while (got == BATCH && total < n);
    if (cpu != NULL)
        sirq_bh_cycle(cpu);
    return total;
}

static void copy_one(struct sirq_msg *msg, const struct sirq_pkt *pkt)
{
    uint32_t n = pkt->len < msg->size ? pkt->len : msg->size;

    if (n > 0)
        memcpy(msg->buf, pkt->data + pkt->off, n);
    msg->len = pkt->len;
    if (__builtin_expect(pkt->v6, 0)) {
        memcpy(&msg->saddr6, pkt->data + pkt->off - 32, 16);
        memcpy(&msg->daddr6, pkt->data + pkt->off - 16, 16);
    }
    msg->saddr = pkt->saddr;
    msg->daddr = pkt->daddr;
    msg->sport = pkt->sport;
    msg->dport = pkt->dport;
    msg->rx_ns = pkt->rx_ns;
}

/* `cpu`: where the caller receives, or null. */
static void copy_out(struct sirq_socket *sock, const struct sirq_cpu *cpu, struct sirq_msg *msgs,
                     unsigned n)
{
    uint32_t *rfs = cpu != NULL ? __atomic_load_n(&sock->net->rfs, __ATOMIC_ACQUIRE) : NULL;
    struct sirq_pool *pool = &sock->net->pool;
    const struct sirq_pkt *pkt;
    uint32_t idx[BATCH];
    unsigned k = 0;

    for (unsigned i = 0; i < n; i++) {
        idx[k++] = msgs[i].len;
        if (i + 1 < n)
            __builtin_prefetch(&pool->pkts[msgs[i + 1].len]);
        pkt = &pool->pkts[idx[k - 1]];
        copy_one(&msgs[i], pkt);
        if (__builtin_expect(rfs != NULL && pkt->hash != 0, 0))
            sirq_rfs_note(rfs, cpu, pkt->hash);
        if (k == BATCH || i + 1 == n) {
            sirq_pool_push(pool, idx, k);
            k = 0;
        }
    }
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

/* Where time is simulated; the thread may have moved when this returns true. */
static bool recv_charge(struct sirq_core *core, enum sirq_cost cost, uint64_t n)
{
    if (__builtin_expect(core->host->charge == NULL, 1))
        return false;
    sirq_charge(home_cpu(core), cost, n);
    return true;
}

int sirq_recv(struct sirq_socket *sock, struct sirq_msg *msgs, unsigned n, int64_t timeout_ns)
{
    struct sirq_cpu *cpu;
    uint64_t deadline = 0;
    unsigned got;
    int err = 0;

    if (sock == NULL || msgs == NULL || n == 0 || n > INT_MAX)
        return -EINVAL;
    cpu = sock->net->core->host->this_cpu(sock->net->core);
    if (!may_sleep(sock->net->core, cpu))
        return -EDEADLK;
    if (recv_charge(sock->net->core, SIRQ_COST_RECV_CALL, 1))
        cpu = sock->net->core->host->this_cpu(sock->net->core);
    while ((got = take(sock, cpu, msgs, n)) == 0) {
        if (err != 0)
            return err;
        if (timeout_ns != 0)
            err = sleep_until_fed(sock, timeout_ns, &deadline);
        else if (!rearm(sock))
            return -EAGAIN;
        cpu = sock->net->core->host->this_cpu(sock->net->core); /* it may have moved */
    }
    copy_out(sock, cpu, msgs, got);
    recv_charge(sock->net->core, SIRQ_COST_RECV_PACKET, got);
    return (int)got;
}
