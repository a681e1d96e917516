/* SPDX-License-Identifier: MIT */
/*
 * backlog.c - each CPU's queue of frames that other CPUs steered to it.
 *
 * input_pkt_queue is a ring (ring.h): any CPU appends, nobody ever holds a place in it.  The
 * backlog is a NAPI instance like a device's; whoever polls it (NET_RX of its CPU, or its
 * thread) takes a handful of frames at a time, the process_queue, and is done with all of them
 * before the poll ends.  So there is one consumer at a time, and nothing in anybody's hands
 * when the instance changes hands.
 *
 * `done` is the ring's position up to which frames have got their verdict.  A flow whose last
 * frame lies below it has nothing left here, and may go elsewhere (steer.c): stored (RELEASE)
 * after the frames went up, and read (ACQUIRE) before one of the flow's is given to another
 * CPU, it puts the two in order.
 *
 * One kick per target CPU and cycle: who finds a backlog idle makes it scheduled and keeps it
 * on a list of its own CPU, and at the end of its cycle gives it to the target.  Until then
 * others find it scheduled and need do nothing.  A backlog that is a thread's is the thread's at
 * once, since it may be awake, so it stands on no list; a mark says that it is to be woken.
 *
 * The flow limit is Linux's (Willem de Bruijn, 2013): from half full on, a flow that makes up
 * more than half of the last frames that this CPU sent to such a backlog loses the next, so
 * that one flow does not take the whole queue.
 */
#define SIRQ_NET_INTERNAL
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the flow limit ------------------------------------------------------------------- */

/* The flow's part of the last frames, this one included. */
static uint8_t remember(struct sirq_flow_limit *limit, uint16_t flow)
{
    uint16_t old = limit->history[limit->at];

    limit->history[limit->at] = flow;
    limit->at = (limit->at + 1) % SIRQ_FLOW_HISTORY;
    if (old <= limit->mask) /* a frame of the past, not the emptiness before it */
        limit->count[old]--;
    return ++limit->count[flow];
}

/* `queued` frames are waiting; has this flow had its share?  Owner of the sending CPU only. */
static bool over_limit(struct sirq_net_cpu *nc, uint32_t queued, const struct sirq_steered *in)
{
    struct sirq_flow_limit *limit = nc->limit;
    uint16_t flow;

    if (limit == NULL || queued < nc->net->config.netdev_max_backlog / 2)
        return false;
    flow = (uint16_t)(in->hash & limit->mask);
    if (remember(limit, flow) <= SIRQ_FLOW_HISTORY / 2)
        return false;
    for (uint32_t i = 1; i < in->n && i < SIRQ_FLOW_HISTORY; i++)
        remember(limit, flow); /* those that are dropped with it */
    return true;
}

/* ---- producers ------------------------------------------------------------------------ */

/* Frames waiting, about; at least what a producer that saw its own put has to count. */
static uint32_t queued(const struct sirq_ring *ring)
{
    uint64_t hint = __atomic_load_n(&ring->hint, __ATOMIC_ACQUIRE);
    int64_t n = (int64_t)(hint - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE));

    return n > 0 ? (uint32_t)n : 0;
}

static void schedule_local(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                           struct sirq_backlog *backlog)
{
    struct sirq_napi *napi = &backlog->napi;
    uint32_t state;

    if (!sirq_napi_claim(napi, &state))
        return;
    if (state & SIRQ_NAPI_SCHED_THREADED) {
        nc->wakes[backlog->cpu->id / 64] |= UINT64_C(1) << (backlog->cpu->id % 64);
        nc->kicking = true;
    } else if (backlog->cpu == cpu) {
        sirq_napi_list(cpu, cpu, napi);
    } else {
        napi->node.next = nc->kicks;
        nc->kicks = &napi->node;
        nc->kicking = true;
    }
}

static void wake_threads(struct sirq_cpu *cpu, struct sirq_net_cpu *nc)
{
    for (unsigned word = 0; word < (nc->net->core->ncpus + 63) / 64; word++) {
        uint64_t bits = nc->wakes[word];

        for (nc->wakes[word] = 0; bits != 0; bits &= bits - 1) {
            unsigned to = word * 64 + (unsigned)__builtin_ctzll(bits);

            sirq_napi_thread_wake(cpu, &nc->net->backlogs[to].napi);
        }
    }
}

void sirq_kicks_flush_local(struct sirq_cpu *cpu, struct sirq_net_cpu *nc)
{
    struct sirq_lnode *node = nc->kicks, *next;

    nc->kicking = false;
    wake_threads(cpu, nc);
    for (nc->kicks = NULL; node != NULL; node = next) {
        struct sirq_napi *napi = SIRQ_CONTAINER(node, struct sirq_napi, node);

        next = node->next;
        COUNT(nc->stats.kicks, 1);
        sirq_napi_give(SIRQ_CONTAINER(napi, struct sirq_backlog, napi)->cpu, napi);
    }
}

/* A buffer with the frame in it, or why there is none. */
static enum sirq_drop copy_frame(struct sirq_net_cpu *nc, const struct sirq_steered *in,
                                 uint32_t *idx)
{
    struct sirq_pkt *pkt;

    if (in->len > SIRQ_PKT_ROOM)
        return SIRQ_DROP_OVERSIZE;
    *idx = sirq_pool_get_local(&nc->net->pool, &nc->cache);
    if (*idx == SIRQ_POOL_NIL)
        return SIRQ_DROP_NO_BUFFER;
    pkt = &nc->net->pool.pkts[*idx];
    pkt->rx_ns = in->rx_ns;
    pkt->len = (uint16_t)in->len;
    pkt->csum_partial = in->csum_partial;
    pkt->dev = in->dev;
    pkt->hash = in->hash;
    memcpy(pkt->data, in->frame, in->len);
    return SIRQ_STEERED;
}

enum sirq_drop sirq_backlog_put(struct sirq_cpu *cpu, unsigned to, const struct sirq_steered *in,
                                uint32_t *end)
{
    struct sirq_net_cpu *nc = sirq_net_cpu(cpu);
    struct sirq_backlog *backlog = &nc->net->backlogs[to];
    enum sirq_drop verdict;
    uint64_t at;
    uint32_t idx;

    if (sirq_ring_full(&backlog->input))
        return SIRQ_DROP_BACKLOG_FULL;
    if (over_limit(nc, queued(&backlog->input), in))
        return SIRQ_DROP_FLOW_LIMIT;
    verdict = copy_frame(nc, in, &idx);
    if (verdict != SIRQ_STEERED)
        return verdict;
    if (!sirq_ring_put_at(&backlog->input, idx, &at)) {
        sirq_pool_put_local(&nc->net->pool, &nc->cache, idx);
        return SIRQ_DROP_BACKLOG_FULL;
    }
    *end = (uint32_t)(at + 1);
    schedule_local(cpu, nc, backlog);
    return SIRQ_STEERED;
}

/* ---- the consumer --------------------------------------------------------------------- */

/* Frames off the queue, on their way up; then the time that they took. */
static void process(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, const uint32_t *idx, uint32_t n)
{
    struct sirq_pool *pool = &nc->net->pool;
    uint64_t full = 0, delivered = 0, forwarded = 0;

    for (uint32_t i = 0; i < n; i++) {
        enum sirq_drop verdict;

        if (i + 1 < n)
            __builtin_prefetch(&pool->pkts[idx[i + 1]]);
        verdict = sirq_net_rx_steered(cpu, nc, idx[i]);
        delivered += verdict == SIRQ_DELIVERED;
        full += verdict == SIRQ_DROP_SOCKET_FULL;
        forwarded += verdict == SIRQ_FORWARDED;
    }
    sirq_charge(cpu, SIRQ_COST_RX_QUEUED, delivered);
    sirq_charge(cpu, SIRQ_COST_RX_FULL, full);
    sirq_charge(cpu, SIRQ_COST_FORWARD, forwarded);
    sirq_charge(cpu, SIRQ_COST_RX_DROP, n - delivered - full - forwarded);
}

static int backlog_poll(struct sirq_cpu *cpu, struct sirq_napi *napi, int budget)
{
    struct sirq_backlog *backlog = SIRQ_CONTAINER(napi, struct sirq_backlog, napi);
    struct sirq_net_cpu *nc = sirq_net_cpu(cpu);
    uint32_t process_queue[SIRQ_NAPI_WEIGHT], left = (uint32_t)budget, n;

    if (budget <= 0)
        return 0;
    sirq_charge(cpu, SIRQ_COST_NAPI_POLL, 1);
    while (left > 0 &&
           (n = sirq_ring_take(&backlog->input, process_queue,
                               left < SIRQ_NAPI_WEIGHT ? left : SIRQ_NAPI_WEIGHT)) > 0) {
        process(cpu, nc, process_queue, n);
        left -= n;
        /* RELEASE: the frames went up before. */
        __atomic_store_n(&backlog->done, backlog->done + n, __ATOMIC_RELEASE);
    }
    if (left == 0)
        return budget;
    sirq_napi_complete_done(cpu, napi, budget - (int)left);
    /* What came between the last look and the completion found the instance scheduled. */
    if (!sirq_ring_empty(&backlog->input))
        sirq_napi_schedule(cpu, napi);
    return budget - (int)left;
}

/* ---- life ----------------------------------------------------------------------------- */

static uint32_t ring_size(const struct sirq_net *net)
{
    uint32_t size = 2;

    while (size < net->config.netdev_max_backlog)
        size *= 2;
    return size;
}

static size_t wake_words(const struct sirq_net *net)
{
    return (net->core->ncpus + 63) / 64;
}

static int limits_init(struct sirq_net *net)
{
    uint32_t buckets = net->config.flow_limit;
    size_t bytes = sizeof(struct sirq_flow_limit) + buckets;

    for (unsigned i = 0; buckets != 0 && i < net->core->ncpus; i++) {
        net->cpus[i].limit = calloc(1, bytes);
        if (net->cpus[i].limit == NULL)
            return -ENOMEM;
        net->cpus[i].limit->mask = buckets - 1;
        memset(net->cpus[i].limit->history, 0xff, sizeof(net->cpus[i].limit->history));
    }
    return 0;
}

int sirq_backlogs_init(struct sirq_net *net)
{
    unsigned ncpus = net->core->ncpus;
    uint32_t size = ring_size(net);

    net->backlogs = aligned_alloc(64, ncpus * sizeof(*net->backlogs));
    net->slots = calloc((size_t)ncpus * size, sizeof(*net->slots));
    net->wakes = calloc((size_t)ncpus * wake_words(net), sizeof(*net->wakes));
    if (net->backlogs == NULL || net->slots == NULL || net->wakes == NULL)
        return -ENOMEM;
    memset(net->backlogs, 0, ncpus * sizeof(*net->backlogs));
    for (unsigned i = 0; i < ncpus; i++) {
        struct sirq_backlog *backlog = &net->backlogs[i];

        net->cpus[i].wakes = &net->wakes[(size_t)i * wake_words(net)];
        backlog->cpu = &net->core->cpus[i];
        sirq_napi_init(&backlog->napi, backlog_poll, SIRQ_NAPI_WEIGHT);
        sirq_napi_enable(&backlog->napi);
        sirq_ring_init(&backlog->input, &net->slots[(size_t)i * size], size,
                       net->config.netdev_max_backlog);
    }
    return limits_init(net);
}

void sirq_backlogs_fini(struct sirq_net *net)
{
    for (unsigned i = 0; net->cpus != NULL && i < net->core->ncpus; i++)
        free(net->cpus[i].limit);
    free(net->backlogs);
    free(net->slots);
    free(net->wakes);
}

/* No device is left, so nothing is added. */
void sirq_backlogs_drain(struct sirq_net *net)
{
    for (unsigned i = 0; i < net->core->ncpus; i++) {
        struct sirq_backlog *backlog = &net->backlogs[i];

        assert(!(__atomic_load_n(&backlog->napi.state, __ATOMIC_RELAXED) & SIRQ_NAPI_THREADED));
        while (__atomic_load_n(&backlog->napi.state, __ATOMIC_SEQ_CST) & SIRQ_NAPI_SCHED)
            net->core->host->relax(backlog->cpu);
        assert(sirq_ring_empty(&backlog->input));
    }
}

size_t sirq_backlogs_memory(const struct sirq_net *net)
{
    size_t each = sizeof(*net->backlogs) + ring_size(net) * sizeof(*net->slots) +
                  wake_words(net) * sizeof(*net->wakes);

    if (net->config.flow_limit != 0)
        each += sizeof(struct sirq_flow_limit) + net->config.flow_limit;
    return net->core->ncpus * each;
}

struct sirq_napi *sirq_net_backlog(struct sirq_net *net, unsigned cpu)
{
    return cpu < net->core->ncpus ? &net->backlogs[cpu].napi : NULL;
}

unsigned sirq_net_backlog_len(const struct sirq_net *net, unsigned cpu)
{
    return cpu < net->core->ncpus ? sirq_ring_len(&net->backlogs[cpu].input) : 0;
}
