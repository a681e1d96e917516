/* SPDX-License-Identifier: MIT */
/*
 * What sirq/driver.h asks of every driver, asked of each of them: the argument names which.  What a
 * single one can do beyond that is in tests/unit/driver and tests/system; `sim` needs a simulated
 * machine around it and has its tests in tests/sim.
 */
#include "driver_rig.h"

/* ---- as the host and NAPI do ------------------------------------------------------------------- */

static void open_rig(uint32_t frames)
{
    assert_int_equal(rig->open(frames), 0);
}

static void close_rig(void)
{
    dev.driver->close(&dev);
    assert_null(dev.priv);
    rig->close();
}

/* An interrupt, polls until one comes back with less than its budget, and interrupts again; until
 * nothing has come for a while. */
static void take_all(int budget)
{
    dev.driver->irq_unmask(&dev);
    while (dev.driver->rx_pending(&dev) || wait_irq(200)) {
        if (dev.driver->irq_ack != NULL)
            dev.driver->irq_ack(&dev);
        dev.driver->irq_mask(&dev);
        while (rx_poll(budget) == budget)
            ;
        dev.driver->irq_unmask(&dev);
    }
    dev.driver->irq_mask(&dev);
}

/* ---- receiving --------------------------------------------------------------------------------- */

static void opened_device_is_quiet_and_has_a_name(void **state)
{
    struct sirq_netdev_stats s;

    (void)state;
    NEEDS_NAMESPACE();
    open_rig(1);
    s = stats();
    assert_non_null(dev.priv);
    assert_true(dev.irq.fd >= 0);
    assert_int_equal(rx_poll(64), 0);
    assert_int_equal(s.rx_packets + s.rx_dropped + s.rx_errors + s.tx_packets + s.tx_errors, 0);
    close_rig();
}

static void frames_arrive_once_in_order_and_sums_are_exact(void **state)
{
    const uint32_t n = 20 * RING / 2;

    (void)state;
    NEEDS_NAMESPACE();
    open_rig(n);
    for (uint32_t seq = 1; seq <= n; seq += RING / 2) {
        rig->send(seq, RING / 2);
        take_all(7);
    }
    assert_int_equal(sink.frames, n);
    assert_int_equal(sink.disorder, 0);
    assert_int_equal(sink.len, LEN);
    assert_int_equal(stats().rx_packets, sink.frames + sink.others);
    assert_int_equal(stats().rx_dropped + stats().rx_errors + stats().rx_waiting, 0);
    assert_false(dev.driver->rx_pending(&dev));
    close_rig();
}

static void poll_hands_on_its_budget_and_no_more(void **state)
{
    static const int budgets[] = {0, 1, 3, 0, 7, 2};

    (void)state;
    NEEDS_NAMESPACE();
    open_rig(20);
    dev.driver->irq_unmask(&dev);
    rig->send(1, 20);
    for (unsigned i = 0; i < 100 && !dev.driver->rx_pending(&dev); i++)
        usleep(1000);
    usleep(20000); /* AF_PACKET: a block is shown when it is full or its time is over */
    for (unsigned i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
        uint64_t before = sink.frames + sink.others;

        assert_int_equal(rx_poll(budgets[i]), budgets[i]);
        assert_int_equal(sink.frames + sink.others, before + (unsigned)budgets[i]);
    }
    take_all(64);
    assert_int_equal(sink.frames, 20);
    assert_int_equal(sink.disorder, 0);
    close_rig();
}

/* More than fits, in steps that the queue in front of the device holds. */
static void late_poll_loses_frames_and_each_is_counted(void **state)
{
    const uint32_t n = 6 * RING;

    (void)state;
    NEEDS_NAMESPACE();
    open_rig(n);
    dev.driver->irq_unmask(&dev);
    for (uint32_t seq = 1; seq <= n; seq += RING) {
        rig->send(seq, RING);
        usleep(20000);
    }
    take_all(64);
    assert_true(sink.frames >= RING / 2);
    assert_int_equal(sink.disorder, 0);
    assert_int_equal(stats().rx_packets, sink.frames + sink.others);
    assert_int_equal(stats().rx_packets + stats().rx_dropped, n + sink.others);
    close_rig();
}

static void frame_that_waits_at_unmask_is_seen(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    open_rig(1);
    rig->send(1, 1);
    usleep(20000);
    dev.driver->irq_unmask(&dev);
    assert_true(dev.driver->rx_pending(&dev) || wait_irq(1000));
    take_all(64);
    assert_int_equal(sink.frames, 1);
    close_rig();
}

static void masked_device_that_masks_itself_is_silent(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    open_rig(2);
    if (dev.irq.self_masking) {
        rig->send(1, 1);
        take_all(64); /* ends masked, and what had been rung was taken */
        rig->send(2, 1);
        assert_false(wait_irq(50));
        take_all(64);
        assert_int_equal(sink.frames, 2);
    }
    close_rig();
}

/* ---- sending ----------------------------------------------------------------------------------- */

static bool tx(uint32_t seq, uint32_t len)
{
    uint8_t frame[FRAME_MAX];
    int rc;

    make_frame(frame, seq, len);
    rc = dev.driver->tx(NULL, &dev, frame, len);
    memset(frame, 0xee, sizeof(frame)); /* it was copied */
    assert_true(rc == 0 || rc == -ENOBUFS);
    return rc == 0;
}

static void flush(void)
{
    if (dev.driver->tx_flush != NULL)
        dev.driver->tx_flush(NULL, &dev);
}

static void clean(void)
{
    if (dev.driver->tx_clean != NULL)
        dev.driver->tx_clean(NULL, &dev);
}

/* Until `most` have come, or none does any more: how many.  Numbers go up. */
static uint32_t take_sent(uint32_t most, uint32_t *last)
{
    uint8_t frame[FRAME_MAX], want[FRAME_MAX];
    uint32_t n = 0, len, seq;

    for (; n < most && (len = rig->sent(frame)) != 0; n++) {
        memcpy(&seq, frame + HEADER, sizeof(seq));
        assert_true(seq > *last);
        *last = seq;
        make_frame(want, seq, len);
        assert_memory_equal(frame, want, len);
    }
    return n;
}

#define NEEDS_TX()                       \
    do {                                 \
        NEEDS_NAMESPACE();               \
        if (rig->sent == NULL) {         \
            assert_null(dev.driver->tx); \
            return;                      \
        }                                \
    } while (0)

static void sent_frames_of_all_sizes_leave_whole_and_in_order(void **state)
{
    uint32_t seq = 0, last = 0, came = 0;

    (void)state;
    NEEDS_TX();
    open_rig(0);
    for (unsigned round = 0; round < 30; round++) {
        for (unsigned i = 0; i < 8; i++) {
            seq++;
            assert_true(tx(seq, 60 + seq * 37 % (FRAME_MAX - 59)));
        }
        flush();
        came += take_sent(8, &last);
        clean();
    }
    assert_int_equal(came, seq);
    assert_int_equal(stats().tx_packets, seq);
    assert_int_equal(stats().tx_errors, 0);
    close_rig();
}

/* Nobody takes them: the ring says that it is full, or they are gone; then it goes on. */
static void full_ring_says_so_and_takes_frames_again(void **state)
{
    uint32_t seq = 0, taken = 0, last = 0, came;

    (void)state;
    NEEDS_TX();
    open_rig(0);
    while (seq < 3 * RING) { /* what a socket at the other end holds */
        taken += tx(++seq, LEN);
        if (seq % 16 == 0)
            flush();
    }
    flush();
    assert_int_equal(stats().tx_packets, taken);
    came = take_sent(taken, &last);
    clean();
    assert_true(tx(++seq, LEN));
    flush();
    came += take_sent(1, &last);
    assert_int_equal(last, seq);
    assert_int_equal(came + stats().tx_errors, taken + 1);
    close_rig();
}

static void frame_longer_than_can_be_sent_is_refused(void **state)
{
    static uint8_t frame[100000];

    (void)state;
    NEEDS_TX();
    open_rig(0);
    assert_int_equal(dev.driver->tx(NULL, &dev, frame, sizeof(frame)), -EMSGSIZE);
    assert_int_equal(stats().tx_packets, 0);
    close_rig();
}

/* ---- opening and closing ----------------------------------------------------------------------- */

static void closed_with_frames_on_it_nothing_is_left(void **state)
{
    int fd;

    (void)state;
    NEEDS_NAMESPACE();
    fd = dup(0);
    close(fd);
    for (unsigned i = 0; i < 5; i++) {
        open_rig(10);
        dev.driver->irq_unmask(&dev);
        rig->send(1, 10);
        if (dev.driver->tx != NULL)
            tx(1, LEN);
        close_rig();
    }
    assert_int_equal(dup(0), fd);
    close(fd);
}

static void ring_of_an_odd_size_is_refused_by_name(void **state)
{
    const struct sirq_netdev_config config = {.ifname =
                                                  strcmp(rig->name, "tap") == 0 ? "sqt" : "sq1",
                                              .ring_size = 3,
                                              .file = "/dev/null"};

    (void)state;
    NEEDS_NAMESPACE();
    open_refused(rig->name, &config, -EINVAL, "ring_size");
}

static int group_setup(void **state)
{
    (void)state;
    dev.driver = sirq_driver_find(rig->name);
    skip_reason = rig->prepare != NULL ? rig->prepare() : NULL;
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opened_device_is_quiet_and_has_a_name),
        cmocka_unit_test(frames_arrive_once_in_order_and_sums_are_exact),
        cmocka_unit_test(poll_hands_on_its_budget_and_no_more),
        cmocka_unit_test(late_poll_loses_frames_and_each_is_counted),
        cmocka_unit_test(frame_that_waits_at_unmask_is_seen),
        cmocka_unit_test(masked_device_that_masks_itself_is_silent),
        cmocka_unit_test(sent_frames_of_all_sizes_leave_whole_and_in_order),
        cmocka_unit_test(full_ring_says_so_and_takes_frames_again),
        cmocka_unit_test(frame_longer_than_can_be_sent_is_refused),
        cmocka_unit_test(closed_with_frames_on_it_nothing_is_left),
        cmocka_unit_test(ring_of_an_odd_size_is_refused_by_name),
    };

    for (size_t i = 0; i < sizeof(rigs) / sizeof(rigs[0]) && argc == 2; i++) {
        if (strcmp(rigs[i].name, argv[1]) == 0)
            rig = &rigs[i];
    }
    if (rig == NULL) {
        fprintf(stderr, "usage: %s shm|pcap|packet|tap|xdp\n", argv[0]);
        return 2;
    }
    return cmocka_run_group_tests(tests, group_setup, NULL);
}
