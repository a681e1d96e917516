/* SPDX-License-Identifier: MIT */
/*
 * tx.c - frames on their way to a device.
 *
 * A frame to be sent lies in a packet buffer.  A CPU collects what it makes in a poll, a send
 * call or a timer, and hands a batch to the driver, with one doorbell.  Of a device's tx one is
 * called at a time: `busy` is taken by an exchange that is never waited for.  Who finds it taken
 * leaves his frames on the link's queue and goes; who gives it up looks at the queue after.
 *
 * No frame is left there: put on the queue (SEQ_CST), then busy tried (SEQ_CST), against busy
 * given up (SEQ_CST), then the queue looked at (SEQ_CST): one of the two finds it.  Who serves
 * others more than ROUNDS times leaves the rest to NET_TX, so that nobody does so for ever.
 *
 * Order: frames of one CPU leave in the order in which they were made, since whoever gets `busy`
 * sends the queue before his own.  What the driver has no room for is dropped and counted; a
 * queue for a full ring would only add delay to loss.
 *
 * tx_frames counts a frame when it is made, tx_verdict when it has been sent or lost.
 */
#define SIRQ_NET_INTERNAL
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inet.h"
#include "nat.h"

#define ROUNDS 4u

const char *sirq_tx_drop_name(enum sirq_tx_drop drop)
{
    static const char *const names[SIRQ_NR_TX_DROPS] = {[SIRQ_TX_SENT] = "tx_sent",
#define TX_NAME(sym, name, meaning) [SIRQ_TX_DROP_##sym] = name,
                                                        SIRQ_TX_DROPS(TX_NAME)
#undef TX_NAME
    };

    return (unsigned)drop < SIRQ_NR_TX_DROPS ? names[drop] : "unknown";
}

/* ---- the device ----------------------------------------------------------------------- */

static bool enter(struct sirq_link *link)
{
    /* SEQ_CST: see above; it is also an ACQUIRE, of what the last one did to the driver. */
    return __atomic_load_n(&link->busy, __ATOMIC_RELAXED) == 0 &&
           __atomic_exchange_n(&link->busy, 1, __ATOMIC_SEQ_CST) == 0;
}

static void leave(struct sirq_link *link)
{
    /* SEQ_CST: see above; it is also a RELEASE, of what we did to the driver. */
    __atomic_store_n(&link->busy, 0, __ATOMIC_SEQ_CST);
}

static enum sirq_tx_drop verdict_of(int rc)
{
    switch (rc) {
    case 0:
        return SIRQ_TX_SENT;
    case -ENOBUFS:
        return SIRQ_TX_DROP_RING;
    case -EMSGSIZE:
        return SIRQ_TX_DROP_SIZE;
    default:
        return SIRQ_TX_DROP_DOWN;
    }
}

/* Give frames to the driver, then their buffers back.  We are in `busy`. */
static void send_frames(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                        const uint32_t *idx, uint32_t n)
{
    struct sirq_pool *pool = &nc->net->pool;

    for (uint32_t i = 0; i < n; i++) {
        const struct sirq_pkt *pkt = &pool->pkts[idx[i]];
        int rc = dev->driver->tx(cpu, dev, pkt->data + pkt->off, pkt->len);

        COUNT(nc->stats.tx_verdict[verdict_of(rc)], 1);
        sirq_pool_put_local(pool, &nc->cache, idx[i]);
    }
}

/* What others left on the queue, a batch of it. */
static uint32_t send_queued(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev)
{
    uint32_t idx[SIRQ_TX_BATCH], n = sirq_ring_take(&dev->link->queue, idx, SIRQ_TX_BATCH);

    COUNT(nc->stats.tx_released, n);
    send_frames(cpu, nc, dev, idx, n);
    return n;
}

static void doorbell(struct sirq_cpu *cpu, struct sirq_netdev *dev)
{
    if (dev->driver->tx_flush != NULL)
        dev->driver->tx_flush(cpu, dev);
}

static void ask_for_net_tx(struct sirq_cpu *cpu, struct sirq_link *link)
{
    if (__atomic_load_n(&link->kicked, __ATOMIC_RELAXED))
        return;
    /* RELEASE before the raise: the action that takes the bit sees the mark. */
    __atomic_store_n(&link->kicked, true, __ATOMIC_RELEASE);
    sirq_raise(cpu, SIRQ_NET_TX);
}

/* Serve the queue for as long as somebody leaves frames there, within bounds. */
static void serve(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev)
{
    uint32_t n;

    for (unsigned round = 0; !sirq_ring_empty(&dev->link->queue); round++) {
        if (round == ROUNDS) {
            ask_for_net_tx(cpu, dev->link);
            return;
        }
        if (!enter(dev->link))
            return; /* who has it looks after us */
        n = 0;
        for (uint32_t i = 0; i < SIRQ_TX_QUEUE_LEN / SIRQ_TX_BATCH; i++)
            n += send_queued(cpu, nc, dev);
        doorbell(cpu, dev);
        leave(dev->link);
        sirq_charge(cpu, SIRQ_COST_TX, n);
    }
}

static void wait_turn(struct sirq_net_cpu *nc, struct sirq_link *link, const uint32_t *idx,
                      uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        COUNT(nc->stats.tx_held, 1); /* first: who takes it off may be quicker than we */
        if (sirq_ring_put(&link->queue, idx[i]))
            continue;
        COUNT(nc->stats.tx_released, 1);
        sirq_tx_drop(nc, SIRQ_TX_DROP_QUEUE, idx[i]);
    }
}

void sirq_tx_flush_local(struct sirq_cpu *cpu, struct sirq_net_cpu *nc)
{
    struct sirq_netdev *dev = nc->tx.dev;
    uint32_t n = nc->tx.n;

    nc->tx.n = 0;
    if (enter(dev->link)) {
        uint32_t others = 0;

        if (!sirq_ring_empty(&dev->link->queue))
            for (uint32_t i = 0; i < SIRQ_TX_QUEUE_LEN / SIRQ_TX_BATCH; i++)
                others += send_queued(cpu, nc, dev);
        send_frames(cpu, nc, dev, nc->tx.idx, n);
        doorbell(cpu, dev);
        leave(dev->link);
        sirq_charge(cpu, SIRQ_COST_TX, n + others);
        if (dev->driver->tx_clean != NULL)
            ask_for_net_tx(cpu, dev->link);
    } else {
        wait_turn(nc, dev->link, nc->tx.idx, n);
    }
    serve(cpu, nc, dev);
}

void sirq_tx_drop(struct sirq_net_cpu *nc, enum sirq_tx_drop why, uint32_t idx)
{
    COUNT(nc->stats.tx_verdict[why], 1);
    sirq_pool_put_local(&nc->net->pool, &nc->cache, idx);
}

void sirq_tx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev, uint32_t idx)
{
    if (dev->driver->tx == NULL) {
        sirq_tx_drop(nc, SIRQ_TX_DROP_DOWN, idx);
        return;
    }
    if (nc->tx.n > 0 && (nc->tx.dev != dev || nc->tx.n == SIRQ_TX_BATCH))
        sirq_tx_flush_local(cpu, nc);
    nc->tx.dev = dev;
    nc->tx.idx[nc->tx.n++] = idx;
}

/* NET_TX: completions, and queues that somebody served for long enough. */
void sirq_net_tx_action(struct sirq_cpu *cpu, void *data)
{
    struct sirq_net *net = data;
    struct sirq_net_cpu *nc = sirq_net_cpu(cpu);

    for (unsigned i = 0; i < SIRQ_NETDEVS_MAX; i++) {
        struct sirq_netdev *dev = __atomic_load_n(&net->devs[i], __ATOMIC_ACQUIRE);

        if (dev == NULL || !__atomic_exchange_n(&dev->link->kicked, false, __ATOMIC_ACQ_REL))
            continue;
        if (dev->driver->tx_clean != NULL && enter(dev->link)) {
            dev->driver->tx_clean(cpu, dev);
            leave(dev->link);
        }
        serve(cpu, nc, dev);
    }
}

/* ---- life ----------------------------------------------------------------------------- */

int sirq_link_open(struct sirq_netdev *dev, struct sirq_error *err)
{
    struct sirq_net *net = dev->net;
    struct sirq_link *link = aligned_alloc(64, sizeof(*link));
    uint32_t id = 0;

    if (link == NULL)
        return sirq_fail(err, ENOMEM, "netdev: out of memory");
    memset(link, 0, sizeof(*link));
    sirq_ring_init(&link->queue, link->slots, SIRQ_TX_QUEUE_LEN, SIRQ_TX_QUEUE_LEN);
    dev->link = link;
    sirq_net_lock(net);
    while (id < SIRQ_NETDEVS_MAX && net->devs[id] != NULL)
        id++;
    link->id = id;
    if (id < SIRQ_NETDEVS_MAX)
        __atomic_store_n(&net->devs[id], dev, __ATOMIC_RELEASE);
    sirq_net_unlock(net);
    if (id < SIRQ_NETDEVS_MAX) {
        __atomic_fetch_add(&net->bytes, sizeof(*link), __ATOMIC_RELAXED);
        return 0;
    }
    free(link);
    dev->link = NULL;
    return sirq_fail(err, ENOSPC, "netdev: %u devices are open: close one", SIRQ_NETDEVS_MAX);
}

/* Without an interface a device has its driver's name. */
struct sirq_netdev *sirq_link_other_queue(const struct sirq_netdev *dev, unsigned *at)
{
    if (!__atomic_load_n(&dev->net->several_queues, __ATOMIC_RELAXED) ||
        strcmp(dev->name, dev->driver->name) == 0)
        return NULL;
    while (*at < SIRQ_NETDEVS_MAX) {
        struct sirq_netdev *other = __atomic_load_n(&dev->net->devs[(*at)++], __ATOMIC_ACQUIRE);

        if (other != NULL && other != dev && other->driver == dev->driver &&
            other->vlan == dev->vlan && strcmp(other->name, dev->name) == 0)
            return other;
    }
    return NULL;
}

/* As the owner of a CPU's bottom halves: what waits is lost. */
static void link_drain(struct sirq_cpu *cpu, void *data)
{
    struct sirq_netdev *dev = data;
    struct sirq_net_cpu *nc = sirq_net_cpu(cpu);
    uint32_t idx[SIRQ_TX_BATCH], n;

    while ((n = sirq_ring_take(&dev->link->queue, idx, SIRQ_TX_BATCH)) > 0) {
        COUNT(nc->stats.tx_released, n);
        for (uint32_t i = 0; i < n; i++)
            sirq_tx_drop(nc, SIRQ_TX_DROP_DOWN, idx[i]);
    }
}

/*
 * Nobody finds the device by a route any more, then those that had found it are done; nor by a
 * neighbour, likewise; then what they left is dropped.
 */
void sirq_link_close(struct sirq_netdev *dev)
{
    struct sirq_net *net = dev->net;

    sirq_nat_forget(dev);
    sirq_inet_forget(dev);
    sirq_net_lock(net);
    __atomic_store_n(&net->devs[dev->link->id], NULL, __ATOMIC_RELEASE);
    sirq_net_unlock(net);
    sirq_synchronize(net->core);
    sirq_synchronize_call(net->core, sirq_neigh_forget, dev);
    sirq_synchronize_call(net->core, link_drain, dev);
    __atomic_fetch_sub(&net->bytes, sizeof(*dev->link), __ATOMIC_RELAXED);
    free(dev->link);
    dev->link = NULL;
}
