/* SPDX-License-Identifier: MIT */
/*
 * pool.c - the shared stack of free packet buffers; see pool.h.
 *
 * Invariant: next[] holds indexes of the pool or NIL, always.  A walk over links that
 * others change meanwhile therefore stays inside the array, and what it found is void
 * when the head's tag has moved.
 */
#define SIRQ_NET_INTERNAL
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"

int sirq_pool_init(struct sirq_pool *pool, uint32_t npackets, unsigned ncpus)
{
    memset(pool, 0, sizeof(*pool));
    pool->pkts = aligned_alloc(64, (size_t)npackets * sizeof(*pool->pkts));
    pool->next = calloc(npackets, sizeof(*pool->next));
    if (pool->pkts == NULL || pool->next == NULL) {
        sirq_pool_fini(pool);
        return -ENOMEM;
    }
    pool->npackets = npackets;
    /* At most a quarter of the pool lies idle in caches, each up to two batches full. */
    pool->batch = npackets / (8 * ncpus);
    if (pool->batch > SIRQ_POOL_BATCH)
        pool->batch = SIRQ_POOL_BATCH;
    if (pool->batch == 0)
        pool->batch = 1;
    /* Touch every page now: the path must not take page faults, and memory is counted. */
    memset(pool->pkts, 0, (size_t)npackets * sizeof(*pool->pkts));
    for (uint32_t i = 0; i < npackets; i++)
        pool->next[i] = i + 1 < npackets ? i + 1 : SIRQ_POOL_NIL;
    pool->head = 0;
    return 0;
}

void sirq_pool_fini(struct sirq_pool *pool)
{
    free(pool->pkts);
    free(pool->next);
    pool->pkts = NULL;
    pool->next = NULL;
}

size_t sirq_pool_memory(const struct sirq_pool *pool)
{
    return (size_t)pool->npackets * (sizeof(*pool->pkts) + sizeof(*pool->next));
}

/* The head after a change that leaves `idx` on top. */
static uint64_t pool_head(uint64_t old, uint32_t idx)
{
    return ((old + SIRQ_POOL_TAG) & ~(uint64_t)SIRQ_POOL_NIL) | idx;
}

uint32_t sirq_pool_pop(struct sirq_pool *pool, uint32_t *idx, uint32_t n)
{
    uint64_t head = __atomic_load_n(&pool->head, __ATOMIC_ACQUIRE);
    uint32_t k, top;

    do {
        top = (uint32_t)head & SIRQ_POOL_NIL;
        for (k = 0; k < n && top != SIRQ_POOL_NIL; k++) {
            idx[k] = top;
            top = __atomic_load_n(&pool->next[top], __ATOMIC_RELAXED);
        }
        if (k == 0)
            return 0;
        /* ACQUIRE pairs with the push: the last reader's loads from a buffer come before
         * our stores to it. */
    } while (!__atomic_compare_exchange_n(&pool->head, &head, pool_head(head, top), true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    return k;
}

void sirq_pool_push(struct sirq_pool *pool, const uint32_t *idx, uint32_t n)
{
    uint64_t head = __atomic_load_n(&pool->head, __ATOMIC_RELAXED);

    for (uint32_t i = 0; i + 1 < n; i++)
        __atomic_store_n(&pool->next[idx[i]], idx[i + 1], __ATOMIC_RELAXED);
    do {
        __atomic_store_n(&pool->next[idx[n - 1]], (uint32_t)head & SIRQ_POOL_NIL, __ATOMIC_RELAXED);
        /* RELEASE: links, and all use of the buffers, before the head that offers them. */
    } while (!__atomic_compare_exchange_n(&pool->head, &head, pool_head(head, idx[0]), true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}
