/* SPDX-License-Identifier: MIT */
/* The socket queue's ring and the packet pool: alone, and under threads. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIRQ_NET_INTERNAL
#include "pool.h"
#include "ring.h"

#define SLOTS 128u
#define PRODUCERS 3u
#define CONSUMERS 3u
#define PER_PRODUCER 40000u

static void ring_start(struct sirq_ring *ring, uint64_t *slots, uint32_t size, uint32_t cap)
{
    sirq_ring_init(ring, slots, size, cap);
    assert_true(sirq_ring_empty(ring));
    assert_false(sirq_ring_full(ring));
}

static void ring_new_is_empty(void **state)
{
    struct sirq_ring ring;
    uint64_t slots[8];
    uint32_t out[8];

    (void)state;
    ring_start(&ring, slots, 8, 5);
    assert_int_equal(sirq_ring_take(&ring, out, 8), 0);
    assert_int_equal(sirq_ring_len(&ring), 0);
}

static void ring_gives_values_in_order_over_many_laps(void **state)
{
    struct sirq_ring ring;
    uint64_t slots[8];
    uint32_t out[8], next = 0, want = 0;

    (void)state;
    ring_start(&ring, slots, 8, 5);
    for (unsigned lap = 0; lap < 1000; lap++) {
        uint32_t n = lap % 5 + 1;

        for (uint32_t i = 0; i < n; i++)
            assert_true(sirq_ring_put(&ring, next++));
        assert_int_equal(sirq_ring_len(&ring), n);
        assert_int_equal(sirq_ring_take(&ring, out, 8), n);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(out[i], want++);
    }
}

static void ring_at_cap_refuses_until_one_is_taken(void **state)
{
    struct sirq_ring ring;
    uint64_t slots[8];
    uint32_t out;

    (void)state;
    for (uint32_t cap = 1; cap <= 8; cap++) {
        ring_start(&ring, slots, 8, cap);
        for (uint32_t i = 0; i < cap; i++)
            assert_true(sirq_ring_put(&ring, i));
        for (unsigned i = 0; i < 20; i++) {
            assert_true(sirq_ring_full(&ring));
            assert_false(sirq_ring_put(&ring, 99));
            assert_int_equal(sirq_ring_take(&ring, &out, 1), 1);
            assert_false(sirq_ring_full(&ring));
            assert_true(sirq_ring_put(&ring, i));
        }
    }
}

/* A producer that was preempted before it moved the hint writes an old one. */
static void ring_hint_gone_back_changes_nothing(void **state)
{
    struct sirq_ring ring;
    uint64_t slots[8];
    uint32_t out[8];

    (void)state;
    for (uint64_t back = 0; back <= 20; back++) {
        ring_start(&ring, slots, 8, 6);
        for (uint32_t i = 0; i < 15; i++) {
            assert_true(sirq_ring_put(&ring, i));
            assert_int_equal(sirq_ring_take(&ring, out, 1), 1);
        }
        for (uint32_t i = 0; i < 5; i++)
            assert_true(sirq_ring_put(&ring, i));
        ring.hint -= ring.hint < back ? ring.hint : back;
        assert_int_equal(sirq_ring_len(&ring), 5);
        assert_true(sirq_ring_put(&ring, 5));
        ring.hint -= ring.hint < back ? ring.hint : back;
        assert_false(sirq_ring_put(&ring, 6));
        assert_int_equal(sirq_ring_take(&ring, out, 8), 6);
        for (uint32_t i = 0; i < 6; i++)
            assert_int_equal(out[i], i);
    }
}

static void ring_positions_beyond_32_bits_work(void **state)
{
    struct sirq_ring ring;
    uint64_t slots[8], base = (UINT64_C(1) << 32) - 3 - 8 * 4;
    uint32_t out[8];

    (void)state;
    ring_start(&ring, slots, 8, 8);
    base &= ~UINT64_C(7);
    ring.hint = ring.tail = base;
    for (uint64_t i = 0; i < 8; i++)
        slots[i] = sirq_ring_word(base + i + 1 - 8, 0);
    for (uint32_t i = 0; i < 200; i++) {
        assert_true(sirq_ring_put(&ring, i));
        assert_true(sirq_ring_put(&ring, i + 1));
        assert_int_equal(sirq_ring_take(&ring, out, 8), 2);
        assert_int_equal(out[1], i + 1);
    }
    assert_true(ring.tail > UINT64_C(1) << 32);
}

/* ---- threads ------------------------------------------------------------------------- */

struct shared {
    struct sirq_ring ring;
    uint64_t slots[SLOTS];
    uint32_t payload[PRODUCERS][PER_PRODUCER]; /* plain memory, published by the put */
    uint32_t taken;                            /* __atomic */
    uint32_t over;                             /* __atomic: times len was above the cap */
};

struct producer {
    struct shared *s;
    uint32_t id;
};

static void *produce(void *arg)
{
    const struct producer *p = arg;

    for (uint32_t i = 0; i < PER_PRODUCER; i++) {
        p->s->payload[p->id][i] = ~i;
        while (!sirq_ring_put(&p->s->ring, p->id << 24 | i))
            sched_yield();
        if (sirq_ring_len(&p->s->ring) > p->s->ring.cap)
            __atomic_fetch_add(&p->s->over, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Each consumer sees each producer's values ascending; null when it did not. */
static void *consume(void *arg)
{
    struct shared *s = arg;
    uint32_t last[PRODUCERS] = {0}, out[16], n;

    while (__atomic_load_n(&s->taken, __ATOMIC_RELAXED) < PRODUCERS * PER_PRODUCER) {
        n = sirq_ring_take(&s->ring, out, 16);
        if (n == 0)
            sched_yield();
        for (uint32_t k = 0; k < n; k++) {
            uint32_t id = out[k] >> 24, i = out[k] & 0xffffff;

            if (id >= PRODUCERS || i + 1 <= last[id] || s->payload[id][i] != ~i)
                return NULL;
            last[id] = i + 1;
            s->payload[id][i] = i; /* a second taker would see this */
        }
        __atomic_fetch_add(&s->taken, n, __ATOMIC_RELAXED);
    }
    return s;
}

static void ring_under_threads_loses_and_doubles_nothing(void **state)
{
    struct shared *s = aligned_alloc(64, (sizeof(*s) + 63) & ~(size_t)63);
    struct producer p[PRODUCERS];
    pthread_t thread[PRODUCERS + CONSUMERS];
    void *ok;

    (void)state;
    memset(s, 0, sizeof(*s));
    sirq_ring_init(&s->ring, s->slots, SLOTS, 100);
    for (uint32_t i = 0; i < CONSUMERS; i++)
        assert_int_equal(pthread_create(&thread[PRODUCERS + i], NULL, consume, s), 0);
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        p[i] = (struct producer){s, i};
        assert_int_equal(pthread_create(&thread[i], NULL, produce, &p[i]), 0);
    }
    for (uint32_t i = 0; i < PRODUCERS + CONSUMERS; i++) {
        pthread_join(thread[i], &ok);
        assert_ptr_equal(ok, i < PRODUCERS ? NULL : s);
    }
    assert_int_equal(s->taken, PRODUCERS * PER_PRODUCER);
    assert_int_equal(s->over, 0);
    assert_true(sirq_ring_empty(&s->ring));
    for (uint32_t id = 0; id < PRODUCERS; id++)
        for (uint32_t i = 0; i < PER_PRODUCER; i++)
            assert_int_equal(s->payload[id][i], i);
    free(s);
}

/* Take a batch, own it (plain writes), give it back. */
static void *churn(void *arg)
{
    struct sirq_pool *pool = arg;
    uint32_t idx[20], n;

    for (unsigned round = 0; round < 20000; round++) {
        n = sirq_pool_pop(pool, idx, 1 + round % 20);
        for (uint32_t i = 0; i < n; i++) {
            if (pool->pkts[idx[i]].len != 0)
                return pool;
            pool->pkts[idx[i]].len = 1;
        }
        if (round % 64 == 0)
            sched_yield();
        for (uint32_t i = 0; i < n; i++)
            pool->pkts[idx[i]].len = 0;
        if (n > 0)
            sirq_pool_push(pool, idx, n);
    }
    return NULL;
}

static void pool_under_threads_gives_each_buffer_to_one(void **state)
{
    struct sirq_pool pool;
    pthread_t thread[4];
    uint32_t idx[64];
    uint64_t seen = 0;
    void *broken;

    (void)state;
    assert_int_equal(sirq_pool_init(&pool, 50, 1), 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, churn, &pool), 0);
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(thread[i], &broken);
        assert_null(broken);
    }
    assert_int_equal(sirq_pool_pop(&pool, idx, 64), 50);
    for (unsigned i = 0; i < 50; i++)
        seen |= UINT64_C(1) << idx[i];
    assert_int_equal(seen, (UINT64_C(1) << 50) - 1);
    sirq_pool_fini(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_new_is_empty),
        cmocka_unit_test(ring_gives_values_in_order_over_many_laps),
        cmocka_unit_test(ring_at_cap_refuses_until_one_is_taken),
        cmocka_unit_test(ring_hint_gone_back_changes_nothing),
        cmocka_unit_test(ring_positions_beyond_32_bits_work),
        cmocka_unit_test(ring_under_threads_loses_and_doubles_nothing),
        cmocka_unit_test(pool_under_threads_gives_each_buffer_to_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
