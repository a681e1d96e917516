/* SPDX-License-Identifier: MIT */
/*
 * pool.h - the packet pool: fixed buffers named by a 32-bit index.
 *
 * Free buffers hang on one stack shared by all; its head holds an index and a tag that
 * every change bumps, so a compare-and-swap by a thread that was preempted for long fails
 * instead of corrupting the stack.  A stack rather than a ring: it hands out the buffer
 * that was freed last, which is still in the cache, and no thread ever holds a place in it
 * that others would have to wait for.
 *
 * A locked instruction costs about as much as parsing a frame, so the softirq side moves
 * buffers in batches through a cache of its CPU (owner of the bottom halves only), and
 * receivers give a whole call's buffers back at once.
 */
#ifndef SIRQ_NET_POOL_H
#define SIRQ_NET_POOL_H

#ifndef SIRQ_NET_INTERNAL
#error "src/net/pool.h is private to src/net"
#endif

#include <sirq/net.h>

#define SIRQ_POOL_MAX (1u << 20)
#define SIRQ_POOL_NIL ((1u << 21) - 1) /* no index; also the mask of one in the head */
#define SIRQ_POOL_TAG (UINT64_C(1) << 21)
#define SIRQ_POOL_BATCH 32u

#define SIRQ_PKT_HEADER 28u
#define SIRQ_PKT_ROOM (SIRQ_PKT_TRUESIZE - SIRQ_PKT_HEADER)

/*
 * The header is short and the payload follows at once: a small packet is one cache line.  A
 * frame on its way to another CPU is held whole; its payload then stays where it is in it.
 */
struct sirq_pkt {
    uint64_t rx_ns;
    union {
        uint32_t saddr; /* network order */
        uint32_t dev;   /* on a backlog: link->id of the device it came from */
        uint32_t next;  /* to be sent, and waiting for its neighbour: the one behind it */
    };
    uint32_t daddr;        /* network order */
    uint16_t sport, dport; /* host order */
    uint16_t len;          /* bytes: of the payload; on a backlog: of the frame */
    union {
        struct {
            uint16_t off : 15; /* where in data the payload begins, or the frame to be sent */
            uint16_t v6 : 1;   /* IPv6 addresses, source first, lie before the payload */
        };
        uint16_t place;        /* both of them */
        uint16_t csum_partial; /* on a backlog: struct sirq_netdev.rx_csum_partial */
    };
    uint32_t hash; /* of its flow, 0: not known */
    uint8_t data[SIRQ_PKT_ROOM];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct sirq_pkt) == SIRQ_PKT_TRUESIZE, "truesize is what a packet takes");
_Static_assert(SIRQ_PKT_ROOM >= SIRQ_PKT_PAYLOAD_MAX + 82, "room for the longest headers too");

struct sirq_pool {
    struct sirq_pkt *pkts;
    uint32_t *next; /* per buffer: the one below it on the stack; __atomic */
    uint32_t npackets;
    uint32_t batch;                             /* moved at once between a cache and the stack */
    uint64_t head __attribute__((aligned(64))); /* tag and index; __atomic */
} __attribute__((aligned(64)));

/* Buffers a CPU has at hand.  Owner of that CPU's bottom halves only. */
struct sirq_pool_cache {
    uint32_t n;
    uint32_t idx[2 * SIRQ_POOL_BATCH];
};

/* `ncpus` caches will draw on the pool.  0 or -ENOMEM. */
int sirq_pool_init(struct sirq_pool *pool, uint32_t npackets, unsigned ncpus);
void sirq_pool_fini(struct sirq_pool *pool);
size_t sirq_pool_memory(const struct sirq_pool *pool);

/* Take up to n buffers off the stack; how many.  Any context. */
uint32_t sirq_pool_pop(struct sirq_pool *pool, uint32_t *idx, uint32_t n);
/* Put n >= 1 buffers back.  Any context. */
void sirq_pool_push(struct sirq_pool *pool, const uint32_t *idx, uint32_t n);

/* One buffer for the softirq side, or SIRQ_POOL_NIL. */
static inline uint32_t sirq_pool_get_local(struct sirq_pool *pool, struct sirq_pool_cache *cache)
{
    if (__builtin_expect(cache->n == 0, 0)) {
        cache->n = sirq_pool_pop(pool, cache->idx, pool->batch);
        if (cache->n == 0)
            return SIRQ_POOL_NIL;
    }
    return cache->idx[--cache->n];
}

static inline void sirq_pool_put_local(struct sirq_pool *pool, struct sirq_pool_cache *cache,
                                       uint32_t idx)
{
    if (cache->n == 2 * pool->batch) {
        cache->n -= pool->batch;
        sirq_pool_push(pool, &cache->idx[cache->n], pool->batch);
    }
    cache->idx[cache->n++] = idx;
}

#endif
