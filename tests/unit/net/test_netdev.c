/* SPDX-License-Identifier: MIT */
/* The generic interrupt and poll: masks, counts, and no frame is left without either. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net_host.h"

static const uint8_t runt[4];

struct world {
    struct net_host h;
    struct test_dev dev;
};

static int setup(void **state)
{
    struct world *w = aligned_alloc(64, (sizeof(*w) + 63) & ~(size_t)63);

    memset(w, 0, sizeof(*w));
    net_host_init(&w->h, NULL);
    test_dev_open(&w->dev, &w->h);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    test_dev_close(&w->dev, &w->h.cpu[0]);
    net_host_fini(&w->h);
    free(w);
    return 0;
}

static void interrupt_acks_masks_and_polls_until_empty(void **state)
{
    struct world *w = *state;
    struct sirq_netdev_stats stats;

    for (unsigned i = 0; i < 130; i++)
        test_dev_put(&w->dev, runt, sizeof(runt), 0);
    test_dev_interrupt(&w->dev, &w->h.cpu[0]);
    assert_int_equal(w->dev.acks, 1);
    assert_int_equal(w->dev.masks, 1);
    assert_int_equal(w->dev.polls, 3);
    assert_int_equal(w->dev.unmasks, 1);
    assert_int_equal(w->dev.masked, 0);
    sirq_netdev_stats(&w->dev.dev, &stats);
    assert_int_equal(stats.irqs, 1);
    assert_int_equal(stats.irqs_empty, 0);
    assert_int_equal(stats.rx_packets, 130);
    assert_int_equal(stats.rx_waiting, 0);
}

static void interrupt_with_nothing_is_counted_as_empty(void **state)
{
    struct world *w = *state;
    struct sirq_netdev_stats stats;

    test_dev_interrupt(&w->dev, &w->h.cpu[0]);
    sirq_netdev_stats(&w->dev.dev, &stats);
    assert_int_equal(stats.irqs, 1);
    assert_int_equal(stats.irqs_empty, 1);
    assert_int_equal(w->dev.masked, 0);
}

static void exactly_the_budget_is_not_completed(void **state)
{
    struct world *w = *state;

    for (unsigned i = 0; i < SIRQ_NAPI_WEIGHT; i++)
        test_dev_put(&w->dev, runt, sizeof(runt), 0);
    test_dev_interrupt(&w->dev, &w->h.cpu[0]);
    assert_int_equal(w->dev.polls, 2); /* the second one completes it */
    assert_int_equal(w->dev.unmasks, 1);
}

static void poll_with_budget_0_does_nothing(void **state)
{
    struct world *w = *state;

    test_dev_put(&w->dev, runt, sizeof(runt), 0);
    assert_int_equal(w->dev.dev.napi.poll(&w->h.cpu[0], &w->dev.dev.napi, 0), 0);
    assert_int_equal(w->dev.polls, 0);
    assert_int_equal(w->dev.unmasks, 0);
    test_dev_interrupt(&w->dev, &w->h.cpu[0]);
}

/* A frame that comes in the moment of the unmask and makes no interrupt. */
static void frame_at_unmask(struct test_dev *dev)
{
    dev->on_unmask = NULL;
    test_dev_put(dev, runt, sizeof(runt), 0);
}

static void frame_between_poll_and_unmask_is_polled(void **state)
{
    struct world *w = *state;

    w->dev.on_unmask = frame_at_unmask;
    test_dev_interrupt(&w->dev, &w->h.cpu[0]);
    assert_int_equal(w->dev.head, w->dev.tail);
    assert_int_equal(w->dev.polls, 2);
    assert_int_equal(w->dev.masks, 2);
    assert_int_equal(w->dev.masked, 0);
}

/* The device interrupts the moment it is unmasked, on top of the poll. */
static struct sirq_cpu *interrupted;

static void interrupt_at_unmask(struct test_dev *dev)
{
    dev->on_unmask = NULL;
    test_dev_put(dev, runt, sizeof(runt), 0);
    test_dev_interrupt(dev, interrupted);
    assert_int_equal(dev->masked, 1);
}

static void interrupt_right_at_unmask_is_not_lost(void **state)
{
    struct world *w = *state;

    interrupted = &w->h.cpu[0];
    w->dev.on_unmask = interrupt_at_unmask;
    test_dev_interrupt(&w->dev, &w->h.cpu[0]);
    assert_int_equal(w->dev.head, w->dev.tail);
    assert_int_equal(w->dev.acks, 2);
    assert_int_equal(w->dev.masked, 0);
}

static void interrupt_while_disabled_leaves_it_masked(void **state)
{
    struct world *w = *state;

    sirq_napi_disable(&w->h.cpu[0], &w->dev.dev.napi);
    test_dev_put(&w->dev, runt, sizeof(runt), 0);
    test_dev_interrupt(&w->dev, &w->h.cpu[0]);
    assert_int_equal(w->dev.masked, 1);
    assert_int_equal(w->dev.polls, 0);
    sirq_napi_enable(&w->dev.dev.napi);
    w->dev.masked = 0;
    test_dev_interrupt(&w->dev, &w->h.cpu[0]);
    assert_int_equal(w->dev.head, w->dev.tail);
}

static void line_pending_tells_what_the_device_holds(void **state)
{
    struct world *w = *state;
    struct sirq_irq *irq = &w->dev.dev.irq;

    assert_false(irq->pending(irq->data));
    test_dev_put(&w->dev, runt, sizeof(runt), 0);
    assert_true(irq->pending(irq->data));
    test_dev_interrupt(&w->dev, &w->h.cpu[0]);
}

static void open_that_fails_says_why(void **state)
{
    struct world *w = *state;
    struct test_dev *dev = calloc(1, sizeof(*dev));
    struct sirq_error err;

    dev->fail_open = true;
    assert_int_equal(sirq_netdev_open(&dev->dev, w->h.net, &test_driver, NULL, &err), -ENODEV);
    assert_string_equal(err.text, "no device t0");
    assert_int_equal(sirq_netdev_open(&dev->dev, w->h.net, NULL, NULL, &err), -EINVAL);
    assert_int_equal(sirq_netdev_open(&dev->dev, w->h.net, NULL, NULL, NULL), -EINVAL);
    free(dev);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(interrupt_acks_masks_and_polls_until_empty),
        TEST(interrupt_with_nothing_is_counted_as_empty),
        TEST(exactly_the_budget_is_not_completed),
        TEST(poll_with_budget_0_does_nothing),
        TEST(frame_between_poll_and_unmask_is_polled),
        TEST(interrupt_right_at_unmask_is_not_lost),
        TEST(interrupt_while_disabled_leaves_it_masked),
        TEST(line_pending_tells_what_the_device_holds),
        TEST(open_that_fails_says_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
