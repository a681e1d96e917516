/* SPDX-License-Identifier: MIT */
/*
 * The shared-memory NIC from both of its sides, in one thread.  The test plays the stack and
 * the generic interrupt code: mask and acknowledge, poll, unmask, look again.
 */
#include "shm_env.h"

static void open_device_is_masked_empty_and_has_its_own_mask(void **state)
{
    (void)state;
    assert_true(dev.irq.self_masking);
    assert_true(dev.irq.fd >= 0);
    assert_int_equal(nic()->map.ring->irq, SIRQ_SHM_MASKED);
    assert_false(dev.driver->rx_pending(&dev));
    assert_int_equal(rx_poll(64), 0);
    assert_int_equal(sirq_shm_space(wire), RING);
    assert_sum(0);
}

static void poll_frame_sent_arrives_whole_with_its_time(void **state)
{
    uint8_t frame[FRAME];

    (void)state;
    for (unsigned i = 0; i < FRAME; i++)
        frame[i] = (uint8_t)(i + 1);
    assert_true(sirq_shm_send(wire, frame, FRAME, 4711));
    assert_true(dev.driver->rx_pending(&dev));
    assert_int_equal(rx_poll(64), 1);
    assert_int_equal(sink.len, FRAME);
    assert_int_equal(sink.rx_ns, 4711);
    assert_memory_equal(sink.data, frame, FRAME);
    assert_false(dev.driver->rx_pending(&dev));
}

static void poll_frame_of_no_bytes_arrives_empty(void **state)
{
    (void)state;
    assert_true(sirq_shm_send(wire, "", 0, 1));
    sink.len = 99;
    assert_int_equal(rx_poll(1), 1);
    assert_int_equal(sink.len, 0);
}

static void poll_budget_smaller_than_ring_takes_the_oldest(void **state)
{
    (void)state;
    for (uint64_t seq = 1; seq <= 6; seq++)
        assert_true(send_seq(seq));
    assert_int_equal(rx_poll(0), 0);
    assert_int_equal(sink.frames, 0);
    assert_int_equal(rx_poll(4), 4);
    assert_int_equal(sink.last_seq, 4);
    assert_true(dev.driver->rx_pending(&dev));
    assert_sum(6);
    assert_int_equal(rx_poll(4), 2);
    assert_int_equal(sink.last_seq, 6);
    assert_int_equal(sink.disorder, 0);
}

static void ring_wrapped_many_times_keeps_order_and_sums(void **state)
{
    uint64_t seq = 0;

    (void)state;
    for (unsigned round = 0; round < 500; round++) {
        for (unsigned i = 0; i < 1 + round % RING; i++)
            assert_true(send_seq(++seq));
        rx_poll((int)(1 + round % RING));
        assert_int_equal(sink.last_seq, seq);
    }
    assert_int_equal(sink.frames, seq);
    assert_int_equal(sink.disorder, 0);
    assert_sum(seq);
}

static void send_full_ring_drops_the_new_frame_and_counts_it(void **state)
{
    (void)state;
    for (uint64_t seq = 1; seq <= RING; seq++)
        assert_true(send_seq(seq));
    assert_int_equal(sirq_shm_space(wire), 0);
    assert_false(send_seq(100));
    assert_false(send_seq(101));
    assert_null(sirq_shm_reserve(wire));
    assert_int_equal(stats().rx_dropped, 2);
    assert_int_equal(stats().rx_waiting, RING);
    assert_sum(RING + 2);
    assert_int_equal(rx_poll(3), 3);
    assert_int_equal(sirq_shm_space(wire), 3);
    assert_true(send_seq(102));
    assert_int_equal(rx_poll(64), RING - 3 + 1);
    assert_int_equal(sink.last_seq, 102);
    assert_sum(RING + 3);
}

static void send_frame_too_long_is_dropped_and_counted(void **state)
{
    uint8_t frame[FRAME + 1] = {0};

    (void)state;
    assert_false(sirq_shm_send(wire, frame, sizeof(frame), 0));
    assert_false(dev.driver->rx_pending(&dev));
    assert_int_equal(stats().rx_dropped, 1);
}

static void reserve_commit_is_seen_only_after_publish(void **state)
{
    uint64_t seq = 7;
    void *place = sirq_shm_reserve(wire);

    (void)state;
    assert_non_null(place);
    memcpy(place, &seq, sizeof(seq));
    assert_false(dev.driver->rx_pending(&dev));
    sirq_shm_commit(wire, sizeof(seq), 5);
    assert_false(dev.driver->rx_pending(&dev));
    sirq_shm_publish(wire);
    assert_int_equal(rx_poll(64), 1);
    assert_int_equal(sink.last_seq, 7);
    assert_int_equal(sink.len, sizeof(seq));
}

static void publish_burst_rings_once_and_nothing_rings_never(void **state)
{
    uint64_t seq = 0;

    (void)state;
    dev.driver->irq_unmask(&dev);
    sirq_shm_publish(wire);
    assert_int_equal(doorbells(), 0);
    for (void *place; (place = sirq_shm_reserve(wire));) {
        seq++;
        memcpy(place, &seq, sizeof(seq));
        sirq_shm_commit(wire, sizeof(seq), 0);
    }
    assert_int_equal(seq, RING);
    assert_int_equal(sirq_shm_space(wire), 0);
    assert_int_equal(doorbells(), 0);
    sirq_shm_publish(wire);
    assert_int_equal(doorbells(), 1);
    assert_int_equal(rx_poll(64), RING);
    assert_int_equal(sink.disorder, 0);
    assert_sum(RING);
}

static void count_drops_not_placed_enter_the_sum(void **state)
{
    (void)state;
    send_seq(1);
    sirq_shm_count_drops(wire, 41);
    assert_int_equal(stats().rx_dropped, 41);
    assert_sum(42);
}

static void doorbell_masked_device_is_never_rung(void **state)
{
    (void)state;
    for (uint64_t seq = 1; seq <= RING + 2; seq++)
        send_seq(seq);
    assert_int_equal(doorbells(), 0);
}

static void doorbell_unmasked_device_is_rung_exactly_once(void **state)
{
    (void)state;
    dev.driver->irq_unmask(&dev);
    assert_false(dev.driver->rx_pending(&dev));
    assert_int_equal(doorbells(), 0);
    for (uint64_t seq = 1; seq <= RING + 2; seq++)
        send_seq(seq);
    assert_int_equal(doorbells(), 1);
}

static void doorbell_each_unmask_is_rung_once_more(void **state)
{
    uint64_t seq = 0;

    (void)state;
    for (int round = 0; round < 20; round++) {
        dev.driver->irq_unmask(&dev);
        send_seq(++seq);
        send_seq(++seq);
        assert_int_equal(doorbells(), 1);
        dev.driver->irq_mask(&dev);
        dev.driver->irq_ack(&dev);
        assert_int_equal(doorbells(), 0);
        send_seq(++seq);
        assert_int_equal(doorbells(), 0);
        assert_int_equal(rx_poll(64), 3);
    }
}

static void unmask_after_a_frame_is_seen_by_the_second_look(void **state)
{
    (void)state;
    send_seq(1);
    dev.driver->irq_unmask(&dev);
    assert_int_equal(doorbells(), 0);
    assert_true(dev.driver->rx_pending(&dev));
}

static void ack_drains_everything_and_does_not_block(void **state)
{
    int errno_before;

    (void)state;
    for (int i = 0; i < 200; i++)
        assert_int_equal(write(nic()->doorbell[1], "", 1), 1);
    errno = errno_before = EXDEV;
    dev.driver->irq_ack(&dev);
    assert_int_equal(doorbells(), 0);
    dev.driver->irq_ack(&dev);
    assert_int_equal(errno, errno_before);
}

static void doorbell_full_pipe_neither_blocks_nor_loses_frames(void **state)
{
    char bytes[4096] = {0};

    (void)state;
    while (write(nic()->doorbell[1], bytes, sizeof(bytes)) > 0)
        ;
    while (write(nic()->doorbell[1], bytes, 1) > 0)
        ;
    dev.driver->irq_unmask(&dev);
    assert_true(send_seq(1));
    assert_int_equal(rx_poll(64), 1);
}

static void attach_after_a_producer_died_unrung_rings_again(void **state)
{
    (void)state;
    dev.driver->irq_unmask(&dev);
    send_seq(1);
    dev.driver->irq_ack(&dev); /* as if the byte had never been written */
    assert_int_equal(doorbells(), 0);
    sirq_shm_close(wire);
    assert_int_equal(sirq_shm_attach(&wire, &dev), 0);
    assert_int_equal(doorbells(), 1);
    dev.driver->irq_ack(&dev);
    nic()->map.ring->irq = SIRQ_SHM_UNMASKED; /* as if it had died before looking */
    sirq_shm_close(wire);
    assert_int_equal(sirq_shm_attach(&wire, &dev), 0);
    assert_int_equal(doorbells(), 1);
    assert_true(send_seq(2));
    assert_int_equal(rx_poll(64), 2);
    assert_sum(2);
}

static void attach_other_driver_is_refused(void **state)
{
    struct sirq_netdev other = dev;
    struct sirq_shm *shm;

    (void)state;
    other.driver = sirq_driver_find("packet");
    assert_int_equal(sirq_shm_attach(&shm, &other), -EINVAL);
}

static void attach_broken_ring_is_refused(void **state)
{
    struct sirq_shm *shm;

    (void)state;
    nic()->map.ring->prod = RING + 1;
    assert_int_equal(sirq_shm_attach(&shm, &dev), -EPROTO);
    nic()->map.ring->prod = 0;
    nic()->map.ring->version++;
    assert_int_equal(sirq_shm_attach(&shm, &dev), -EPROTO);
}

static void broken_index(uint64_t prod)
{
    uint64_t errors = stats().rx_errors;

    __atomic_store_n(&nic()->map.ring->prod, prod, __ATOMIC_SEQ_CST);
    assert_false(dev.driver->rx_pending(&dev));
    assert_int_equal(rx_poll(64), 0);
    assert_int_equal(stats().rx_errors, errors + 1);
    assert_int_equal(stats().rx_waiting, 0);
}

static void poll_impossible_index_is_empty_counted_and_reported_once(void **state)
{
    (void)state;
    send_seq(1);
    send_seq(2);
    assert_int_equal(rx_poll(1), 1);
    broken_index(1 + RING + 1);
    broken_index(0);
    broken_index(UINT64_MAX);
    broken_index(UINT64_MAX / 2);
    assert_int_equal(reports, 1);
    assert_int_equal(sink.frames, 1);
    nic()->map.ring->prod = 2; /* sane again: traffic goes on */
    assert_int_equal(rx_poll(64), 1);
    assert_int_equal(sink.last_seq, 2);
}

static void poll_impossible_length_is_refused_and_the_rest_passes(void **state)
{
    (void)state;
    for (uint64_t seq = 1; seq <= 4; seq++)
        send_seq(seq);
    nic()->map.descs[1].len = FRAME + 1;
    nic()->map.descs[2].len = UINT32_MAX;
    assert_int_equal(rx_poll(64), 4);
    assert_int_equal(sink.frames, 2);
    assert_int_equal(sink.last_seq, 4);
    assert_int_equal(stats().rx_errors, 2);
    assert_sum(4);
}

static void poll_overwritten_header_sizes_are_not_used(void **state)
{
    (void)state;
    nic()->map.ring->ring_size = UINT32_MAX;
    nic()->map.ring->frame_size = UINT32_MAX;
    nic()->map.ring->slot_size = UINT32_MAX;
    nic()->map.ring->cons = 12345;
    send_seq(1);
    nic()->map.descs[0].len = FRAME + 1;
    assert_int_equal(rx_poll(64), 1);
    assert_int_equal(sink.frames, 0);
    assert_int_equal(nic()->map.ring->cons, 1);
}

static void ring_memory_cannot_be_shrunk(void **state)
{
    (void)state;
    assert_int_equal(ftruncate(nic()->memfd, 4096), -1);
    assert_int_equal(errno, EPERM);
}

static void wire_device_closed_first_still_takes_frames(void **state)
{
    (void)state;
    dev.driver->irq_unmask(&dev);
    dev.driver->close(&dev);
    for (uint64_t seq = 1; seq <= RING; seq++)
        assert_true(send_seq(seq));
    assert_false(send_seq(99));
    sirq_shm_close(wire);
    open_sized(RING, FRAME);
}

static int tx(uint8_t value, uint32_t len)
{
    uint8_t frame[FRAME + 1];

    memset(frame, value, sizeof(frame));
    return dev.driver->tx(NULL, &dev, frame, len);
}

static void frames_sent_are_taken_by_the_wire_in_order_after_the_flush(void **state)
{
    const uint8_t *frame;
    uint64_t ns;
    uint32_t len;

    (void)state;
    for (unsigned lap = 0; lap < 3; lap++) {
        for (uint8_t i = 0; i < RING; i++)
            assert_int_equal(tx(i, FRAME - i), 0);
        assert_int_equal(tx(0, 1), -ENOBUFS);
        assert_null(sirq_shm_receive(wire, &len, &ns));
        dev.driver->tx_flush(NULL, &dev);
        assert_int_equal(stats().tx_waiting, RING);
        for (unsigned i = 0; i < RING; i++) {
            frame = sirq_shm_receive(wire, &len, &ns);
            assert_non_null(frame);
            assert_int_equal(len, FRAME - i);
            assert_int_equal(ns, 77);
            assert_true(frame[0] == i && frame[len - 1] == i);
            sirq_shm_received(wire);
        }
        assert_null(sirq_shm_receive(wire, &len, &ns));
    }
    assert_int_equal(tx(0, FRAME + 1), -EMSGSIZE);
    assert_int_equal(stats().tx_packets, 3 * RING);
    assert_int_equal(stats().tx_waiting, 0);
}

/* The wire side is not trusted: an index that cannot be makes a full ring, not a write beyond. */
static void wire_index_beyond_the_ring_stops_sending(void **state)
{
    (void)state;
    nic()->map.ring->tx_cons = 5;
    assert_int_equal(tx(0, 1), -ENOBUFS);
    assert_true(stats().tx_waiting <= RING);
    nic()->map.ring->tx_cons = 0;
    assert_int_equal(tx(0, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHM_TEST(open_device_is_masked_empty_and_has_its_own_mask),
        SHM_TEST(poll_frame_sent_arrives_whole_with_its_time),
        SHM_TEST(poll_frame_of_no_bytes_arrives_empty),
        SHM_TEST(poll_budget_smaller_than_ring_takes_the_oldest),
        SHM_TEST(ring_wrapped_many_times_keeps_order_and_sums),
        SHM_TEST(send_full_ring_drops_the_new_frame_and_counts_it),
        SHM_TEST(send_frame_too_long_is_dropped_and_counted),
        SHM_TEST(reserve_commit_is_seen_only_after_publish),
        SHM_TEST(publish_burst_rings_once_and_nothing_rings_never),
        SHM_TEST(count_drops_not_placed_enter_the_sum),
        SHM_TEST(doorbell_masked_device_is_never_rung),
        SHM_TEST(doorbell_unmasked_device_is_rung_exactly_once),
        SHM_TEST(doorbell_each_unmask_is_rung_once_more),
        SHM_TEST(unmask_after_a_frame_is_seen_by_the_second_look),
        SHM_TEST(ack_drains_everything_and_does_not_block),
        SHM_TEST(doorbell_full_pipe_neither_blocks_nor_loses_frames),
        SHM_TEST(attach_after_a_producer_died_unrung_rings_again),
        SHM_TEST(attach_other_driver_is_refused),
        SHM_TEST(attach_broken_ring_is_refused),
        SHM_TEST(poll_impossible_index_is_empty_counted_and_reported_once),
        SHM_TEST(poll_impossible_length_is_refused_and_the_rest_passes),
        SHM_TEST(poll_overwritten_header_sizes_are_not_used),
        SHM_TEST(ring_memory_cannot_be_shrunk),
        SHM_TEST(wire_device_closed_first_still_takes_frames),
        SHM_TEST(frames_sent_are_taken_by_the_wire_in_order_after_the_flush),
        SHM_TEST(wire_index_beyond_the_ring_stops_sending),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
