/* SPDX-License-Identifier: MIT */
/*
 * ring.h - a bounded queue of 32-bit values, many producers, many consumers.
 *
 * In the manner of Vyukov's bounded queue (a sequence number beside every value), with one
 * difference that matters to us: nobody ever holds a place.  A producer puts value and
 * number into a slot with one compare-and-swap, a consumer reads first and then moves the
 * tail over what it has read.  So a thread preempted anywhere in here, for however long,
 * neither blocks others nor makes the queue look empty or full to them.  On a CPU where
 * softirqs run on top of the thread they interrupt that is not a luxury.
 *
 * Invariants (positions count up for ever; position p lives in slot p & mask):
 *   - a slot holds (p + 1, value) when position p is filled; (p + 1 - size, old value)
 *     while p is the next position to be filled there
 *   - every position below `hint` has been filled, and no position is filled before all
 *     below it are.  hint may lag (a preempted producer writes an old one), never lead
 *   - tail <= first unfilled position <= tail + cap
 * One locked instruction per put, one per take however many values it takes.
 */
#ifndef SIRQ_NET_RING_H
#define SIRQ_NET_RING_H

#ifndef SIRQ_NET_INTERNAL
#error "src/net/ring.h is private to src/net"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sirq_ring {
    uint64_t *slot;
    uint32_t size;                              /* slots, a power of two >= cap */
    uint32_t cap;                               /* most values held, exact */
    uint64_t hint __attribute__((aligned(64))); /* producers' side */
    uint64_t tail __attribute__((aligned(64))); /* consumers' side */
} __attribute__((aligned(64)));

static inline uint64_t sirq_ring_word(uint64_t seq, uint32_t value)
{
    return seq << 32 | value;
}

/* `slot` has room for `size` words and belongs to the ring from now on. */
static inline void sirq_ring_init(struct sirq_ring *ring, uint64_t *slot, uint32_t size,
                                  uint32_t cap)
{
    ring->slot = slot;
    ring->size = size;
    ring->cap = cap;
    ring->hint = ring->tail = 0;
    for (uint32_t i = 0; i < size; i++)
        slot[i] = sirq_ring_word((uint64_t)i + 1 - size, 0);
}

/* The slot of `pos`, with everything its producer wrote before filling it. */
static inline uint64_t sirq_ring_load(const struct sirq_ring *ring, uint64_t pos)
{
    /* SEQ_CST: a sleeper's last look must not be ordered before its announcement
     * (nwaiters, armed); see feed.c.  On the machines we know it costs what acquire does. */
    return __atomic_load_n(&ring->slot[pos & (ring->size - 1)], __ATOMIC_SEQ_CST);
}

static inline bool sirq_ring_filled(const struct sirq_ring *ring, uint64_t pos)
{
    return (uint32_t)(sirq_ring_load(ring, pos) >> 32) == (uint32_t)(pos + 1);
}

/*
 * Full, for sure, at some moment of the call; false may mean nearly full.  The hint is
 * read before the tail: both only grow, so a difference of cap cannot be an old hint
 * against an older tail.
 */
static inline bool sirq_ring_full(const struct sirq_ring *ring)
{
    uint64_t hint = __atomic_load_n(&ring->hint, __ATOMIC_ACQUIRE);
    uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);

    return (int64_t)(hint - tail) >= (int64_t)ring->cap;
}

/* Values held; exact when nobody is at it. */
static inline uint32_t sirq_ring_len(const struct sirq_ring *ring)
{
    uint64_t pos = __atomic_load_n(&ring->hint, __ATOMIC_ACQUIRE);
    uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);

    if ((int64_t)(pos - tail) < 0)
        pos = tail;
    while (pos - tail < ring->cap && sirq_ring_filled(ring, pos))
        pos++;
    return (uint32_t)(pos - tail);
}

static inline bool sirq_ring_empty(const struct sirq_ring *ring)
{
    return !sirq_ring_filled(ring, __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE));
}

/*
 * The first position >= *pos that is not filled; its slot's word in *word.  False when
 * that would be cap or more beyond `tail`.
 */
static inline bool sirq_ring_probe(const struct sirq_ring *ring, uint64_t tail, uint64_t *pos,
                                   uint64_t *word)
{
    for (; *pos - tail < ring->cap; (*pos)++) {
        *word = sirq_ring_load(ring, *pos);
        if ((uint32_t)(*word >> 32) != (uint32_t)(*pos + 1))
            return true;
    }
    return false;
}

/*
 * Append, at position *at; false when cap values are held.  Whoever takes the value sees what
 * was written before the put.  Goes round only when another producer or consumer got ahead.
 */
static inline bool sirq_ring_put_at(struct sirq_ring *ring, uint32_t value, uint64_t *at)
{
    for (;;) {
        uint64_t pos = __atomic_load_n(&ring->hint, __ATOMIC_ACQUIRE);
        uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
        uint64_t word;

        if ((int64_t)(pos - tail) < 0)
            pos = tail;
        if (!sirq_ring_probe(ring, tail, &pos, &word)) {
            /* All of tail..tail + cap - 1 was filled: full, unless the tail has moved. */
            if (__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) == tail)
                return false;
            continue;
        }
        if ((uint32_t)(word >> 32) != (uint32_t)(pos + 1 - ring->size))
            continue; /* filled and lapped since we read the tail */
        /*
         * SEQ_CST: orders the filled slot before the producer's later look at nwaiters and
         * armed.  The slot is free to take: its old value is at pos - size < tail.
         */
        if (__atomic_compare_exchange_n(&ring->slot[pos & (ring->size - 1)], &word,
                                        sirq_ring_word(pos + 1, value), false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED)) {
            /* RELEASE: who sees this hint sees the slot below it filled. */
            __atomic_store_n(&ring->hint, pos + 1, __ATOMIC_RELEASE);
            *at = pos;
            return true;
        }
    }
}

static inline bool sirq_ring_put(struct sirq_ring *ring, uint32_t value)
{
    uint64_t at;

    return sirq_ring_put_at(ring, value, &at);
}

/* Take up to `n` values, oldest first; how many.  0: empty at some moment of the call. */
static inline uint32_t sirq_ring_take(struct sirq_ring *ring, uint32_t *out, uint32_t n)
{
    uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);

    for (;;) {
        uint32_t k;

        for (k = 0; k < n; k++) {
            uint64_t word = sirq_ring_load(ring, tail + k);

            if ((uint32_t)(word >> 32) != (uint32_t)(tail + k + 1))
                break;
            out[k] = (uint32_t)word;
        }
        if (k == 0) {
            uint64_t now = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);

            if (now == tail)
                return 0;
            tail = now;
            continue;
        }
        /* RELEASE: our reads of the slots come before a producer reuses them.  If another
         * consumer was first what we read is void, and `tail` is where it left off. */
        if (__atomic_compare_exchange_n(&ring->tail, &tail, tail + k, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return k;
    }
}

#endif
