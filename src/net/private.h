/* SPDX-License-Identifier: MIT */
/*
 * private.h - what the files of src/net share; nobody else includes it.
 *
 * Who may touch what:
 *   sirq_net_cpu   the owner of that CPU's bottom halves, but `incoming` (any context)
 *   sirq_feed      likewise: one per socket and CPU, so that no CPU waits for another
 *   sirq_backlog   who has its NAPI instance, but `input` (any CPU appends)
 *   sirq_steer     the poll of its device, but the map
 *   sirq_link      the ring: any CPU; the device's tx: who holds `busy`
 *   table          read by softirqs at any time, written under sirq_net.lock; what is
 *                  unlinked is freed after sirq_synchronize()
 *   counters       one writer each, plain arithmetic stored with relaxed atomics, so that
 *                  any thread may read them
 */
#ifndef SIRQ_NET_PRIVATE_H
#define SIRQ_NET_PRIVATE_H

#ifndef SIRQ_NET_INTERNAL
#error "src/net/private.h is private to src/net"
#endif

#include <assert.h>

#include <sirq/driver.h>

#include "flow.h"
#include "pool.h"
#include "ring.h"

/* Add to a counter that only the caller writes. */
#define COUNT(counter, n)                                                             \
    __atomic_store_n(&(counter), __atomic_load_n(&(counter), __ATOMIC_RELAXED) + (n), \
                     __ATOMIC_RELAXED)
#define READ_COUNT(counter) __atomic_load_n(&(counter), __ATOMIC_RELAXED)

/* What one CPU has to do with one socket. */
struct sirq_feed {
    struct sirq_feed *next; /* on sirq_net_cpu.feeds, while listed */
    struct sirq_socket *sock;
    bool listed;       /* may have to be woken by this CPU */
    bool touched;      /* met a packet in the present poll */
    uint64_t since_ns; /* 0, or when the run began beyond whose end it stayed listed */
    uint64_t queued;   /* counters of the socket, this CPU's part */
    uint64_t dropped;
} __attribute__((aligned(64)));

struct sirq_addr {
    struct sirq_addr *next;
    uint32_t addr; /* network order */
    uint32_t refs; /* sockets bound to it, under net->lock */
};

struct sirq_socket {
    struct sirq_net *net;
    struct sirq_socket *next; /* in its bucket of the table */
    uint32_t addr;            /* network order, 0: any; of addr6 a hash */
    uint16_t port;
    bool v6;
    struct sirq_ip addr6;
    struct sirq_addr *bound; /* null: any */
    size_t bytes;            /* of memory, for sirq_net_memory() */
    struct sirq_wq wq;
    struct sirq_ring queue;
    struct sirq_feed feed[]; /* one per CPU, then the slots of the queue */
};

struct sirq_table {
    struct sirq_socket **bucket; /* hash of address and port; chains, __atomic */
    struct sirq_addr **addrs;    /* hash of address: the addresses sockets are bound to */
    uint32_t mask;
    uint32_t max_sockets, nsockets;
    uint32_t nany;   /* sockets that take any address, __atomic */
    uint32_t nbound; /* sockets bound to one address, __atomic */
};

/* A FIFO of NAPI instances, owner only. */
struct sirq_napi_list {
    struct sirq_lnode *first, *last;
};

/* Frames that other CPUs steered to this one; backlog.c. */
struct sirq_backlog {
    struct sirq_napi napi;
    struct sirq_cpu *cpu;
    struct sirq_ring input;                     /* of buffers that hold a frame */
    uint32_t done __attribute__((aligned(64))); /* __atomic: frames below have their verdict */
} __attribute__((aligned(64)));

#define SIRQ_FLOW_HISTORY 128u

struct sirq_flow_limit {
    uint32_t mask, at;
    uint16_t history[SIRQ_FLOW_HISTORY]; /* buckets of the last frames */
    uint8_t count[];                     /* of each bucket in history */
};

/* A frame, seen from the layer that looks at it. */
struct sirq_rx {
    const uint8_t *data;
    uint32_t len;
    uint32_t saddr, daddr; /* network order */
    uint16_t sport, dport; /* host order */
    uint64_t rx_ns;
    uint32_t n;              /* frames that a drop is the verdict of */
    uint32_t hash;           /* of its flow, 0: not computed */
    bool csum_partial;       /* nobody filled the transport checksum in */
    struct sirq_netdev *dev; /* it came from, or null */
    const uint8_t *eth, *ip; /* its headers, as far as they were checked */
    uint32_t ip_len;         /* of the packet at ip */
};

#define SIRQ_NETDEVS_MAX 256u
#define SIRQ_TX_BATCH 32u
#define SIRQ_TX_QUEUE_LEN 256u

/* What a device has for sending; tx.c. */
struct sirq_link {
    uint32_t id;            /* in sirq_net.devs */
    bool kicked;            /* __atomic: its turn in NET_TX is due */
    struct sirq_ring queue; /* of frames that found the device busy */
    uint64_t slots[SIRQ_TX_QUEUE_LEN];
    uint32_t busy __attribute__((aligned(64))); /* __atomic: somebody is in the driver's tx */
} __attribute__((aligned(64)));

/* Frames for one device that leave together. */
struct sirq_tx_batch {
    struct sirq_netdev *dev;
    uint32_t n;
    uint32_t idx[SIRQ_TX_BATCH];
};

/* A neighbour as this CPU last saw it; void when the generation has moved. */
struct sirq_neigh_cached {
    struct sirq_ip addr;
    struct sirq_netdev *dev;
    uint64_t gen;
    uint8_t mac[6];
    uint16_t slot; /* its entry, to be marked as used */
};

#define SIRQ_NEIGH_CACHE 16u

struct sirq_net_cpu {
    struct sirq_net *net;
    struct sirq_napi_list polls;   /* left over from the last net_rx_action */
    struct sirq_lnode *kicks;      /* backlogs of other CPUs to be given to them */
    uint64_t *wakes;               /* bit per CPU: wake its backlog's thread */
    bool kicking;                  /* there are such */
    struct sirq_flow_limit *limit; /* null: none */
    struct sirq_feed *feeds;       /* sockets whose wake-up is due */
    bool polling;
    struct sirq_pkt *in_place; /* the buffer whose frame is going up, null: it is a device's */
    struct sirq_pool_cache cache;
    struct sirq_net_stats stats;
    struct sirq_tx_batch tx;
    uint64_t icmp_ns; /* when the bucket of ICMP errors was, or will be, full again */
    struct sirq_neigh_cached neigh[SIRQ_NEIGH_CACHE];
    struct sirq_llist incoming __attribute__((aligned(64))); /* scheduled; any context */
} __attribute__((aligned(64)));

struct sirq_fib;
struct sirq_neigh_table;

struct sirq_net {
    struct sirq_core *core;
    const struct sirq_fib *fib; /* __atomic: routes and own addresses, or null: a receiver only */
    struct sirq_neigh_table *neigh; /* made with the first address; __atomic */
    bool forwarding;                /* __atomic */
    struct sirq_nat *nat;           /* __atomic: or null: off */
    struct sirq_net_config config;
    struct sirq_net_cpu *cpus;
    struct sirq_table table, table6;
    struct sirq_pool pool;
    struct sirq_backlog *backlogs; /* one per CPU */
    uint64_t *slots;               /* of their rings */
    uint64_t *wakes;               /* of all sirq_net_cpu.wakes */
    struct sirq_flow_table flow_table;
    uint32_t *rfs;                              /* __atomic: the table, or null: off */
    uint32_t *rfs_table;                        /* hash's upper half, and CPU + 1; __atomic */
    struct sirq_netdev *devs[SIRQ_NETDEVS_MAX]; /* open ones, by link->id; __atomic */
    bool several_queues;                        /* of one interface were opened; __atomic */
    uint32_t lock;                              /* tables, for writers */
    size_t bytes;                               /* stack and sockets without the pool, __atomic */
};

static inline struct sirq_net_cpu *sirq_net_cpu(const struct sirq_cpu *cpu)
{
    return cpu->net;
}

/* Control path only; nobody in softirq context takes it.  socket.c */
void sirq_net_lock(struct sirq_net *net);
void sirq_net_unlock(struct sirq_net *net);

/* tx.c */
int sirq_link_open(struct sirq_netdev *dev, struct sirq_error *err);
void sirq_link_close(struct sirq_netdev *dev);
/* The next of the other queues of dev's interface, from *at (0 at first), or null. */
struct sirq_netdev *sirq_link_other_queue(const struct sirq_netdev *dev, unsigned *at);
void sirq_net_tx_action(struct sirq_cpu *cpu, void *data);
void sirq_tx_flush_local(struct sirq_cpu *cpu, struct sirq_net_cpu *nc);
/* The frame in buffer `idx`, complete: on its way to the device.  The buffer is not the
 * caller's any more. */
void sirq_tx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev, uint32_t idx);
/* The same end for one that does not get there. */
void sirq_tx_drop(struct sirq_net_cpu *nc, enum sirq_tx_drop why, uint32_t idx);

/* Frames that wait for the end of the poll, or of whatever made them, leave. */
static inline void sirq_tx_flush(struct sirq_cpu *cpu, struct sirq_net_cpu *nc)
{
    if (__builtin_expect(nc->tx.n > 0, 0))
        sirq_tx_flush_local(cpu, nc);
}

/* napi.c */
void sirq_net_rx_action(struct sirq_cpu *cpu, void *data);
struct sirq_cpu *sirq_napi_home(struct sirq_cpu *cpu);
bool sirq_napi_claim(struct sirq_napi *napi, uint32_t *state);
void sirq_napi_release(struct sirq_napi *napi);
void sirq_napi_give(struct sirq_cpu *to, struct sirq_napi *napi);
void sirq_napi_list(struct sirq_cpu *cpu, struct sirq_cpu *home, struct sirq_napi *napi);
bool sirq_napi_poll_local(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_napi *napi,
                          int *done);

/* thread.c */
void sirq_napi_thread_wake(struct sirq_cpu *cpu, struct sirq_napi *napi);
bool sirq_napi_to_thread(struct sirq_cpu *cpu, struct sirq_napi *napi);

/* A frame that may go up on another CPU. */
struct sirq_steered {
    const uint8_t *frame;
    uint32_t len, hash;
    uint32_t n; /* frames that a drop is the verdict of */
    uint64_t rx_ns;
    bool csum_partial;
    uint32_t dev; /* its link->id */
};

/* steer.c: SIRQ_DELIVERED: goes up here; SIRQ_STEERED: is on a backlog; else why it is dropped. */
enum sirq_drop sirq_steer(struct sirq_cpu *cpu, const struct sirq_net *net,
                          struct sirq_steer *steer, struct sirq_steered *in);
void sirq_steer_free(struct sirq_netdev *dev);

#define SIRQ_RFS_ENTRIES 32768u

/* The consumer of the flow received on `cpu`. */
static inline void sirq_rfs_note(uint32_t *rfs, const struct sirq_cpu *cpu, uint32_t hash)
{
    uint32_t *entry = &rfs[hash % SIRQ_RFS_ENTRIES], value = (hash & 0xffff0000) | (cpu->id + 1);

    if (__atomic_load_n(entry, __ATOMIC_RELAXED) !=
        value) /* others read it: do not take the line */
        __atomic_store_n(entry, value, __ATOMIC_RELAXED);
}

/* backlog.c */
int sirq_backlogs_init(struct sirq_net *net);
void sirq_backlogs_fini(struct sirq_net *net);
void sirq_backlogs_drain(struct sirq_net *net);
size_t sirq_backlogs_memory(const struct sirq_net *net);
/* SIRQ_STEERED, with the position behind it in *end, or why it is dropped. */
enum sirq_drop sirq_backlog_put(struct sirq_cpu *cpu, unsigned to, const struct sirq_steered *in,
                                uint32_t *end);
void sirq_kicks_flush_local(struct sirq_cpu *cpu, struct sirq_net_cpu *nc);

/* End of a cycle: other CPUs, and threads, hear of what was put on their backlogs. */
static inline void sirq_kicks_flush(struct sirq_cpu *cpu, struct sirq_net_cpu *nc)
{
    if (__builtin_expect(nc->kicking, 0))
        sirq_kicks_flush_local(cpu, nc);
}

/* proto.c: the frame in buffer `idx`, off a backlog: its verdict.  The buffer is not the
 * caller's any more. */
enum sirq_drop sirq_net_rx_steered(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, uint32_t idx);

/* feed.c */
void sirq_feeds_poll_end(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, bool more);
void sirq_feeds_run_end(struct sirq_cpu *cpu, bool goes_on);
void sirq_feeds_forget(struct sirq_cpu *cpu, void *sock);

/* `feed` met a packet: this CPU owes its socket a look at the end of the poll. */
static inline void sirq_feed_touch(struct sirq_net_cpu *nc, struct sirq_feed *feed)
{
    feed->touched = true;
    if (feed->listed)
        return;
    feed->listed = true;
    feed->since_ns = 0;
    feed->next = nc->feeds;
    nc->feeds = feed;
}

/* What became of a frame for the socket of `feed`. */
static inline void sirq_feed_verdict(struct sirq_net_cpu *nc, struct sirq_feed *feed,
                                     const struct sirq_rx *rx, enum sirq_drop verdict)
{
    if (verdict == SIRQ_DELIVERED) {
        COUNT(feed->queued, 1);
        COUNT(nc->stats.bytes, rx->len);
    } else if (verdict != SIRQ_DROP_OVERSIZE) {
        COUNT(feed->dropped, rx->n);
    }
    sirq_feed_touch(nc, feed);
}

/* table.c; insert and remove under the lock */
int sirq_table_init(struct sirq_table *table, uint32_t max_sockets);
void sirq_table_fini(struct sirq_table *table);
size_t sirq_table_memory(const struct sirq_table *table);
int sirq_table_insert_locked(struct sirq_table *table, struct sirq_socket *sock);
/* Returns the address entry to free with the socket after sirq_synchronize(), or null. */
struct sirq_addr *sirq_table_remove_locked(struct sirq_table *table, struct sirq_socket *sock);
/* Is some socket bound to this very address? / The socket of exactly this key, or null. */
bool sirq_table_bound_addr(const struct sirq_table *table, uint32_t daddr);
struct sirq_socket *sirq_table_find(const struct sirq_table *table, uint32_t addr, uint16_t port);

/* Would any socket take a packet for this address? */
static inline bool sirq_table_takes_addr(const struct sirq_table *table, uint32_t daddr)
{
    if (__atomic_load_n(&table->nbound, __ATOMIC_RELAXED) == 0 ||
        __atomic_load_n(&table->nany, __ATOMIC_RELAXED) != 0)
        return true;
    return sirq_table_bound_addr(table, daddr);
}

static inline struct sirq_socket *sirq_table_lookup(const struct sirq_table *table, uint32_t daddr,
                                                    uint16_t dport)
{
    struct sirq_socket *sock = NULL;

    if (__builtin_expect(__atomic_load_n(&table->nbound, __ATOMIC_RELAXED) != 0, 0))
        sock = sirq_table_find(table, daddr, dport);
    return sock != NULL ? sock : sirq_table_find(table, 0, dport);
}

struct sirq_socket *sirq_table_lookup6(const struct sirq_table *table, const struct sirq_ip *daddr,
                                       uint16_t dport);
/* Of an address, for sirq_socket.addr: 0 for none alone. */
uint32_t sirq_table_hash6(const struct sirq_ip *addr);

#endif
