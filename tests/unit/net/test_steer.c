/* SPDX-License-Identifier: MIT */
/* Steering between two CPUs that a test plays in turn: map, backlog, kicks, flow limit. */
#include "steer_env.h"

static void rps_to_another_cpu_goes_up_there(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    set_rps(w, one, 1);
    for (unsigned i = 1; i <= 100; i++)
        assert_int_equal(send(w, i % FLOWS, i), SIRQ_STEERED);
    assert_int_equal(stats(w, -1).verdict[SIRQ_DELIVERED], 0);
    assert_int_equal(sirq_net_backlog_len(w->h.net, 1), 100);
    net_host_check_sums(&w->h);
    other_cpu(w);
    assert_int_equal(stats(w, 1).verdict[SIRQ_DELIVERED], 100);
    assert_int_equal(stats(w, 1).received_rps, 100);
    assert_int_equal(stats(w, 0).steered, 100);
    assert_int_equal(stats(w, 1).frames, 0);
    for (unsigned i = 1; i <= 100; i++)
        assert_int_equal(next(w), i);
    assert_int_equal(next(w), 0);
    stop(w);
}

static void rps_to_the_own_cpu_goes_up_at_once(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    set_rps(w, zero, 1);
    assert_int_equal(send(w, 1, 1), SIRQ_DELIVERED);
    assert_int_equal(stats(w, -1).steered, 0);
    stop(w);
}

static void rps_carries_that_a_checksum_was_left_to_a_device(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    set_rps(w, one, 1);
    w->frame[1][FRAME_UDP + 6] ^= 1;
    w->dev.dev.rx_csum_partial = true;
    assert_int_equal(send(w, 1, 1), SIRQ_STEERED);
    w->dev.dev.rx_csum_partial = false; /* of the next frame, and not of the first */
    assert_int_equal(send(w, 1, 2), SIRQ_STEERED);
    other_cpu(w);
    assert_int_equal(stats(w, 1).verdict[SIRQ_DELIVERED], 1);
    assert_int_equal(stats(w, 1).verdict[SIRQ_DROP_UDP_CSUM], 1);
    assert_int_equal(next(w), 1);
    stop(w);
}

static void rps_map_spreads_flows_and_keeps_each_on_one_cpu(void **state)
{
    static const unsigned both[] = {0, 1};
    struct world *w = start(NULL);
    enum sirq_drop where[FLOWS];
    unsigned here = 0;

    (void)state;
    set_rps(w, both, 2);
    for (unsigned i = 0; i < FLOWS; i++) {
        where[i] = send(w, i, 1);
        here += where[i] == SIRQ_DELIVERED;
    }
    assert_in_range(here, FLOWS / 4, 3 * FLOWS / 4);
    for (unsigned i = 0; i < FLOWS; i++)
        assert_int_equal(send(w, i, 2), where[i]);
    stop(w);
}

static void rps_weight_is_how_often_a_cpu_is_named(void **state)
{
    static const unsigned mostly_one[] = {1, 1, 1, 0, 1, 1, 1, 1};
    struct world *w = start(NULL);
    unsigned here = 0;

    (void)state;
    set_rps(w, mostly_one, 8);
    for (unsigned i = 0; i < FLOWS; i++)
        here += send(w, i, 1) == SIRQ_DELIVERED;
    assert_in_range(here, 1, FLOWS / 4);
    stop(w);
}

static void rps_not_ip_stays(void **state)
{
    struct world *w = start(NULL);
    uint8_t arp[60] = {[12] = 0x08, [13] = 0x06};

    (void)state;
    set_rps(w, one, 1);
    assert_int_equal(test_dev_rx(&w->dev, &w->h.cpu[0], arp, sizeof(arp)), SIRQ_DROP_ETH_TYPE);
    stop(w);
}

static void rps_cpu_offline_stays(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    set_rps(w, one, 1);
    w->h.cpu[1].online = false;
    assert_int_equal(send(w, 1, 1), SIRQ_DELIVERED);
    w->h.cpu[1].online = true;
    assert_int_equal(send(w, 1, 1), SIRQ_STEERED);
    stop(w);
}

static void rps_bad_map_is_refused(void **state)
{
    static const unsigned none[] = {0, NET_HOST_CPUS};
    struct world *w = start(NULL);
    struct sirq_error err = {{0}};

    (void)state;
    assert_int_equal(sirq_netdev_set_rps(&w->dev.dev, none, 2, &err), -EINVAL);
    assert_non_null(strstr(err.text, "cpu 2"));
    assert_int_equal(sirq_netdev_set_rps(&w->dev.dev, none, SIRQ_RPS_MAX + 1, &err), -EINVAL);
    assert_int_equal(send(w, 1, 1), SIRQ_DELIVERED);
    stop(w);
}

static void rps_bad_frame_ends_under_its_reason_there(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    set_rps(w, one, 1);
    w->frame[3][FRAME_IP + 10] ^= 1; /* header checksum */
    frame_put16(w->frame[4] + FRAME_UDP + 2, FRAME_DPORT + 1);
    frame_fix_udp(w->frame[4]);
    assert_int_equal(send(w, 3, 1), SIRQ_STEERED);
    assert_int_equal(send(w, 4, 1), SIRQ_STEERED);
    other_cpu(w);
    assert_int_equal(stats(w, 1).verdict[SIRQ_DROP_IP_CSUM], 1);
    assert_int_equal(stats(w, 1).verdict[SIRQ_DROP_UDP_PORT], 1);
    stop(w);
}

static void rps_long_frames_are_delivered_or_oversize(void **state)
{
    struct world *w = start(NULL);
    struct frame_spec spec = {.payload = SIRQ_PKT_PAYLOAD_MAX, .options = 40};
    uint8_t frame[FRAME_MAX];
    struct sirq_msg msg = {0};
    uint32_t len;

    (void)state;
    set_rps(w, one, 1);
    len = frame_build(frame, &spec);
    assert_int_equal(test_dev_rx(&w->dev, &w->h.cpu[0], frame, len), SIRQ_STEERED);
    spec = (struct frame_spec){.payload = SIRQ_PKT_PAYLOAD_MAX + 1};
    len = frame_build(frame, &spec);
    assert_int_equal(test_dev_rx(&w->dev, &w->h.cpu[0], frame, len), SIRQ_STEERED);
    spec.payload = 2400;
    len = frame_build(frame, &spec);
    assert_int_equal(test_dev_rx(&w->dev, &w->h.cpu[0], frame, len), SIRQ_DROP_OVERSIZE);
    other_cpu(w);
    assert_int_equal(stats(w, 1).verdict[SIRQ_DROP_OVERSIZE], 1);
    assert_int_equal(stats(w, 1).verdict[SIRQ_DELIVERED], 1);
    assert_int_equal(sirq_recv(w->sock, &msg, 1, 0), 1);
    assert_int_equal(msg.len, SIRQ_PKT_PAYLOAD_MAX);
    stop(w);
}

/* ---- backlog --------------------------------------------------------------------------- */

static void backlog_full_drops_and_loses_no_buffer(void **state)
{
    const struct sirq_net_config config = {.netdev_max_backlog = 10, .pool_packets = 64};
    struct world *w = start(&config);

    (void)state;
    set_rps(w, one, 1);
    for (unsigned round = 0; round < 100; round++) {
        for (unsigned i = 0; i < 10; i++)
            assert_int_equal(send(w, i, i + 1), SIRQ_STEERED);
        for (unsigned i = 10; i < 20; i++)
            assert_int_equal(send(w, i, i + 1), SIRQ_DROP_BACKLOG_FULL);
        other_cpu(w);
        for (unsigned i = 0; i < 10; i++)
            assert_int_equal(next(w), i + 1);
    }
    assert_int_equal(stats(w, 0).verdict[SIRQ_DROP_BACKLOG_FULL], 1000);
    stop(w);
}

static void backlog_default_holds_a_thousand(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    set_rps(w, one, 1);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(send(w, i % FLOWS, i), SIRQ_STEERED);
    assert_int_equal(send(w, 0, 1), SIRQ_DROP_BACKLOG_FULL);
    stop(w);
}

static void backlog_pool_empty_is_no_buffer(void **state)
{
    const struct sirq_net_config config = {.pool_packets = 16};
    struct world *w = start(&config);

    (void)state;
    set_rps(w, one, 1);
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(send(w, i, i), SIRQ_STEERED);
    assert_int_equal(send(w, 0, 1), SIRQ_DROP_NO_BUFFER);
    stop(w);
}

/* A cycle of 64 frames from the device, and more cycles before the target has its turn. */
static void kick_is_one_for_a_cycle_and_none_while_scheduled(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    set_rps(w, one, 1);
    for (unsigned i = 0; i < 50; i++)
        test_dev_put(&w->dev, w->frame[i], w->len, i + 1);
    test_dev_interrupt(&w->dev, &w->h.cpu[0]);
    assert_int_equal(stats(w, 0).kicks, 1);
    assert_int_equal(w->h.nkicks[1], 1);
    send(w, 0, 1);
    assert_int_equal(stats(w, 0).kicks, 1);
    other_cpu(w);
    send(w, 0, 1);
    assert_int_equal(stats(w, 0).kicks, 2);
    stop(w);
}

static void flow_limit_takes_from_the_heavy_flow_alone(void **state)
{
    const struct sirq_net_config config = {.netdev_max_backlog = 400, .flow_limit = 4096};
    struct world *w = start(&config);
    unsigned limited = 0, light = 0;

    (void)state;
    set_rps(w, one, 1);
    for (unsigned i = 0; i < 1000; i++) {
        enum sirq_drop verdict = send(w, 0, 1);

        limited += verdict == SIRQ_DROP_FLOW_LIMIT;
        assert_true(verdict == SIRQ_STEERED || verdict == SIRQ_DROP_FLOW_LIMIT);
        if (i % 20 == 0)
            light += send(w, 1 + i / 20 % 5, 1) == SIRQ_STEERED;
    }
    assert_int_equal(light, 50);
    /* All but the light ones up to half full, and 64 of the last 128 above that. */
    assert_in_range(1000 - limited, 185 + 60, 195 + 64);
    other_cpu(w);
    assert_int_equal(send(w, 0, 1), SIRQ_STEERED); /* not full: no limit */
    stop(w);
}

static void config_out_of_range_is_refused(void **state)
{
    const struct sirq_net_config bad[] = {{.netdev_max_backlog = SIRQ_BACKLOG_MAX + 1},
                                          {.flow_limit = 3},
                                          {.flow_limit = 2 * SIRQ_FLOW_LIMIT_MAX}};
    struct world *w = start(NULL);

    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sirq_net *net;

        assert_int_equal(sirq_net_create(&net, &w->h.core, &bad[i]), -EINVAL);
    }
    stop(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rps_to_another_cpu_goes_up_there),
        cmocka_unit_test(rps_to_the_own_cpu_goes_up_at_once),
        cmocka_unit_test(rps_carries_that_a_checksum_was_left_to_a_device),
        cmocka_unit_test(rps_map_spreads_flows_and_keeps_each_on_one_cpu),
        cmocka_unit_test(rps_weight_is_how_often_a_cpu_is_named),
        cmocka_unit_test(rps_not_ip_stays),
        cmocka_unit_test(rps_cpu_offline_stays),
        cmocka_unit_test(rps_bad_map_is_refused),
        cmocka_unit_test(rps_bad_frame_ends_under_its_reason_there),
        cmocka_unit_test(rps_long_frames_are_delivered_or_oversize),
        cmocka_unit_test(backlog_full_drops_and_loses_no_buffer),
        cmocka_unit_test(backlog_default_holds_a_thousand),
        cmocka_unit_test(backlog_pool_empty_is_no_buffer),
        cmocka_unit_test(kick_is_one_for_a_cycle_and_none_while_scheduled),
        cmocka_unit_test(flow_limit_takes_from_the_heavy_flow_alone),
        cmocka_unit_test(config_out_of_range_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
