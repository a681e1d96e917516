/* SPDX-License-Identifier: MIT */
/* When receivers are woken: merged per poll, deferred under load, never forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIRQ_NET_INTERNAL
#include "frames.h"
#include "net_host.h"
#include "private.h"

struct world {
    struct net_host h;
    struct test_dev dev;
    struct sirq_socket *a, *b;
    uint8_t to_a[FRAME_MAX], to_b[FRAME_MAX];
    uint32_t len;
};

/* One pass a run, so that a test sees the state between two polls. */
static bool one_pass(const struct sirq_view *view)
{
    (void)view;
    return false;
}

static const struct sirq_policy one_pass_policy = {.name = "one", .restart = one_pass};

static int setup(void **state)
{
    const struct sirq_socket_config a = {.port = 1000, .rcvbuf = 100 * SIRQ_PKT_TRUESIZE};
    const struct sirq_socket_config b = {.port = 2000, .rcvbuf = 400 * SIRQ_PKT_TRUESIZE};
    const struct frame_spec to_a = {.payload = 10, .dport = 1000};
    const struct frame_spec to_b = {.payload = 10, .dport = 2000};
    struct world *w = aligned_alloc(64, (sizeof(*w) + 63) & ~(size_t)63);

    memset(w, 0, sizeof(*w));
    net_host_init(&w->h, NULL);
    test_dev_open(&w->dev, &w->h);
    assert_int_equal(sirq_socket_open(w->h.net, &a, &w->a), 0);
    assert_int_equal(sirq_socket_open(w->h.net, &b, &w->b), 0);
    w->len = frame_build(w->to_a, &to_a);
    assert_int_equal(frame_build(w->to_b, &to_b), w->len);
    w->a->wq.nwaiters = w->b->wq.nwaiters = 1; /* as if a thread slept on each */
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    w->a->wq.nwaiters = w->b->wq.nwaiters = 0;
    sirq_socket_close(w->a);
    sirq_socket_close(w->b);
    test_dev_close(&w->dev, &w->h.cpu[0]);
    net_host_fini(&w->h);
    free(w);
    return 0;
}

static void put(struct world *w, const uint8_t *frame, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        test_dev_put(&w->dev, frame, w->len, 0);
}

static void interrupt(struct world *w)
{
    test_dev_interrupt(&w->dev, &w->h.cpu[0]);
}

static void packets_of_one_poll_make_one_wakeup_per_socket(void **state)
{
    struct world *w = *state;

    put(w, w->to_a, 20);
    put(w, w->to_b, 20);
    put(w, w->to_a, 20);
    interrupt(w);
    assert_int_equal(w->a->wq.seq, 1);
    assert_int_equal(w->b->wq.seq, 1);
}

static void socket_without_sleeper_is_not_woken(void **state)
{
    struct world *w = *state;

    w->a->wq.nwaiters = 0;
    put(w, w->to_a, 5);
    interrupt(w);
    assert_int_equal(w->h.nwakes, 0);
}

/* The first thing that happens after a poll: what is in the list then? */
static void full_poll_defers_while_the_queue_is_below_half(void **state)
{
    struct world *w = *state;
    struct sirq_net_cpu *nc = w->h.cpu[0].net;

    put(w, w->to_b, 3 * 64 + 1); /* three full polls, then the rest: one wake-up */
    interrupt(w);
    assert_int_equal(w->b->wq.seq, 1);
    assert_int_equal(w->h.cpu[0].stats.wakes, 1);
    assert_null(nc->feeds);
}

/* Sees the sockets listed when the next poll begins. */
static unsigned listed_at_unmask;

static void look(struct test_dev *dev)
{
    const struct world *w = SIRQ_CONTAINER(dev, struct world, dev);

    listed_at_unmask = w->b->feed[0].listed + 2 * w->a->feed[0].listed;
}

static void deferred_socket_is_still_listed_in_the_next_poll(void **state)
{
    struct world *w = *state;

    w->dev.on_unmask = look; /* in the last poll, before it ends */
    put(w, w->to_b, 64);
    interrupt(w); /* a full poll to b, then one that finds nothing */
    assert_int_equal(listed_at_unmask, 1);
    assert_int_equal(w->b->wq.seq, 1);
    listed_at_unmask = 0;
    put(w, w->to_a, 64); /* 64 % of a: over half, woken though the poll was full */
    interrupt(w);
    assert_int_equal(listed_at_unmask, 0);
    assert_int_equal(w->a->wq.seq, 1);
}

static void deferred_socket_is_woken_when_the_run_ends(void **state)
{
    struct world *w = *state;

    sirq_set_policy(&w->h.core, &one_pass_policy);
    put(w, w->to_b, 65);
    interrupt(w); /* one full poll, then the run ends with a packet left */
    assert_int_equal(w->b->wq.seq, 1);
    assert_false(w->b->feed[0].listed);
    net_host_ksoftirqd(&w->h, 0, 1);
    assert_int_equal(w->b->wq.seq, 2);
}

static void deferred_socket_waits_a_while_for_ksoftirqd_and_no_longer(void **state)
{
    struct world *w = *state;

    sirq_set_policy(&w->h.core, &one_pass_policy);
    w->a->wq.nwaiters = 0; /* nobody is woken whom ksoftirqd would have to make room for */
    put(w, w->to_a, 64);   /* the interrupt's pass; a run of ksoftirqd each: */
    put(w, w->to_b, 1);
    put(w, w->to_a, 63);
    put(w, w->to_a, 3 * 64);
    interrupt(w);
    net_host_ksoftirqd(&w->h, 0, 1);
    w->h.now_ns += 99999; /* nothing for b in the next ones */
    net_host_ksoftirqd(&w->h, 0, 1);
    assert_int_equal(w->b->wq.seq, 0);
    assert_true(w->b->feed[0].listed);
    w->h.now_ns += 1;
    net_host_ksoftirqd(&w->h, 0, 1);
    assert_int_equal(w->b->wq.seq, 1);
    assert_false(w->b->feed[0].listed);
}

static void deferred_socket_is_woken_when_ksoftirqd_gives_way(void **state)
{
    struct world *w = *state;

    sirq_set_policy(&w->h.core, &one_pass_policy);
    w->a->wq.nwaiters = 0;
    put(w, w->to_a, 64);
    put(w, w->to_b, 1);
    put(w, w->to_a, 63 + 64);
    interrupt(w);
    w->h.cpu[0].need_resched = 1; /* the scheduler takes the CPU from it */
    net_host_ksoftirqd(&w->h, 0, 1);
    assert_int_equal(w->b->wq.seq, 1);
    assert_false(w->b->feed[0].listed);
}

static void closed_socket_is_forgotten_while_listed(void **state)
{
    struct world *w = *state;
    const struct sirq_socket_config again = {.port = 2000};

    sirq_set_policy(&w->h.core, &one_pass_policy);
    w->a->wq.nwaiters = 0;
    put(w, w->to_a, 64);
    put(w, w->to_b, 64);
    put(w, w->to_a, 64);
    interrupt(w);
    net_host_ksoftirqd(&w->h, 0, 1);
    assert_true(w->b->feed[0].listed);
    w->b->wq.nwaiters = 0;
    sirq_socket_close(w->b);
    net_host_ksoftirqd(&w->h, 0, 8);
    assert_null(((struct sirq_net_cpu *)w->h.cpu[0].net)->feeds);
    assert_int_equal(sirq_socket_open(w->h.net, &again, &w->b), 0);
}

static void queue_fill_is_that_of_the_fullest_socket_fed(void **state)
{
    struct world *w = *state;

    put(w, w->to_a, 10); /* 10 of 100 */
    put(w, w->to_b, 20); /* 20 of 400 */
    interrupt(w);
    assert_int_equal(w->h.cpu[0].queue_fill, 100);
    put(w, w->to_b, 20);
    interrupt(w); /* a was not fed */
    assert_int_equal(w->h.cpu[0].queue_fill, 100);
    put(w, w->to_b, 1);
    interrupt(w);
    assert_int_equal(w->h.cpu[0].queue_fill, 102);
    put(w, w->to_a, 127); /* 63 in the full poll's queue of 100 ... and beyond its cap */
    interrupt(w);
    assert_int_equal(w->h.cpu[0].queue_fill, 1000);
    put(w, w->to_a, 1); /* dropped at the full queue: it is still the fullest */
    interrupt(w);
    assert_int_equal(w->h.cpu[0].queue_fill, 1000);
}

static void socket_armed_is_woken_without_sleeper(void **state)
{
    struct world *w = *state;

    w->a->wq.nwaiters = 0;
    assert_true(sirq_socket_fd(w->a) >= 0);
    w->a->wq.armed = 1;
    put(w, w->to_a, 5);
    interrupt(w);
    assert_int_equal(w->a->wq.seq, 1);
    assert_int_equal(w->a->wq.armed, 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(packets_of_one_poll_make_one_wakeup_per_socket),
        TEST(socket_without_sleeper_is_not_woken),
        TEST(full_poll_defers_while_the_queue_is_below_half),
        TEST(deferred_socket_is_still_listed_in_the_next_poll),
        TEST(deferred_socket_is_woken_when_the_run_ends),
        TEST(deferred_socket_waits_a_while_for_ksoftirqd_and_no_longer),
        TEST(deferred_socket_is_woken_when_ksoftirqd_gives_way),
        TEST(closed_socket_is_forgotten_while_listed),
        TEST(queue_fill_is_that_of_the_fullest_socket_fed),
        TEST(socket_armed_is_woken_without_sleeper),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
