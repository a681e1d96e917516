/* SPDX-License-Identifier: MIT */
/*
 * private.h - what the files of src/net share; nobody else includes it.
 *
 * Who may touch what:
 *   sirq_net_cpu   the owner of that CPU's bottom halves, but `incoming` (any context)
 *   sirq_feed      likewise: one per socket and CPU, so that no CPU waits for another
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
    bool listed;     /* may have to be woken by this CPU */
    bool touched;    /* met a packet in the present poll */
    uint64_t since_ns; /* 0, or when the run began beyond whose end it stayed listed */
    uint64_t queued; /* counters of the socket, this CPU's part */
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
    uint32_t addr;            /* network order, 0: any */
    uint16_t port;
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

struct sirq_net_cpu {
    struct sirq_net *net;
    struct sirq_napi_list polls; /* left over from the last net_rx_action */
    struct sirq_feed *feeds;     /* sockets whose wake-up is due */
    bool polling;
    struct sirq_pool_cache cache;
    struct sirq_net_stats stats;
    struct sirq_llist incoming __attribute__((aligned(64))); /* scheduled; any context */
} __attribute__((aligned(64)));

struct sirq_net {
    struct sirq_core *core;
    struct sirq_net_config config;
    struct sirq_net_cpu *cpus;
    struct sirq_table table;
    struct sirq_pool pool;
    uint32_t lock; /* table, for writers */
    size_t bytes;  /* stack and sockets without the pool, __atomic */
};

static inline struct sirq_net_cpu *sirq_net_cpu(const struct sirq_cpu *cpu)
{
    return cpu->net;
}

/* napi.c */
void sirq_net_rx_action(struct sirq_cpu *cpu, void *data);

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

/* table.c; insert and remove under the lock */
int sirq_table_init(struct sirq_table *table, uint32_t max_sockets);
void sirq_table_fini(struct sirq_table *table);
size_t sirq_table_memory(const struct sirq_table *table);
int sirq_table_insert_locked(struct sirq_table *table, struct sirq_socket *sock);
/* Returns the address entry to free with the socket after sirq_synchronize(), or null. */
struct sirq_addr *sirq_table_remove_locked(struct sirq_table *table, struct sirq_socket *sock);
/* Would any socket take a packet for this address? */
bool sirq_table_takes_addr(const struct sirq_table *table, uint32_t daddr);
struct sirq_socket *sirq_table_lookup(const struct sirq_table *table, uint32_t daddr,
                                      uint16_t dport);

#endif
