/* SPDX-License-Identifier: MIT */
/* Sending: from sockets, by two CPUs at one device, and what becomes of frames. */
#define SIRQ_NET_INTERNAL
#include "inet_env.h"
#include "private.h"

#define HER 0x0a000005u
#define HIM 0x0a000105u

static char payload[] = "x";

static struct sirq_socket *open_socket(struct router *r, uint32_t addr)
{
    const struct sirq_socket_config config = {.addr = addr, .port = 53};
    struct sirq_socket *sock;

    assert_int_equal(sirq_socket_open(r->h.net, &config, &sock), 0);
    return sock;
}

static struct sirq_msg message(void *buf, uint32_t len, uint32_t to)
{
    return (struct sirq_msg){.buf = buf, .len = len, .daddr = frame_net32(to), .dport = 4000};
}

static void datagrams_sent_arrive_with_right_checksums(void **state)
{
    struct router *r = *state;
    struct sirq_socket *sock = open_socket(r, 0);
    uint8_t data[100], expect[FRAME_MAX];
    struct sirq_msg msg[2];

    for (unsigned i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 7 + 3); /* as frame_build() does */
    for (uint32_t n = 0; n < 100; n++) {
        const struct frame_spec spec = {
            .saddr = US4(1), .daddr = HIM, .sport = 53, .dport = 4000, .payload = n};
        uint32_t len = frame_build(expect, &spec);
        const uint8_t *out;

        msg[0] = msg[1] = message(data, n, HIM);
        test_dev_sent_clear(&r->dev[1]);
        assert_int_equal(sirq_send(sock, msg, 2), 2);
        if (n == 0)
            router_resolve(r, 1, HIM);
        assert_int_equal(r->dev[1].nsent, n == 0 ? 3 : 2);
        out = r->dev[1].sent[r->dev[1].nsent - 1];
        assert_int_equal(r->dev[1].sent_len[1], n == 0 ? 42 : len);
        frame_put16(expect + 20, 0x4000);
        frame_fix_ip(expect);
        assert_memory_equal(out + 14, expect + 14, len - 14);
    }
    assert_int_equal(router_stats(r).tx_verdict[SIRQ_TX_SENT], router_stats(r).tx_frames);
    net_host_check_sums(&r->h);
    sirq_socket_close(sock);
}

static void send_that_cannot_be_says_why(void **state)
{
    struct router *r = *state;
    struct sirq_socket *sock = open_socket(r, 0), *other = open_socket(r, frame_net32(HIM));
    static uint8_t data[2000];
    struct sirq_msg msg = message(data, 1473, HIM);

    assert_int_equal(sirq_send(sock, &msg, 1), -EMSGSIZE);
    msg.len = 1472;
    assert_int_equal(sirq_send(sock, &msg, 1), 1);
    assert_int_equal(sirq_send(other, &msg, 1), -EADDRNOTAVAIL); /* not an address of ours */
    msg.saddr = frame_net32(US4(0));
    assert_int_equal(sirq_send(sock, &msg, 1), 1); /* any of ours may be named */
    msg.saddr = frame_net32(HIM);
    assert_int_equal(sirq_send(sock, &msg, 1), -EADDRNOTAVAIL);
    msg = message(data, 10, 0x01020304);
    assert_int_equal(sirq_send(sock, &msg, 1), -ENETUNREACH);
    msg = message(data, 10, US4(0));
    assert_int_equal(sirq_send(sock, &msg, 1), -ENETUNREACH); /* no loopback */
    msg = message(data, 10, HIM);
    msg.dport = 0;
    assert_int_equal(sirq_send(sock, &msg, 1), -EINVAL);
    assert_int_equal(sirq_send(sock, &msg, 0), -EINVAL);
    sirq_hardirq_enter(&r->h.cpu[0]);
    msg.dport = 1;
    assert_int_equal(sirq_send(sock, &msg, 1), -EDEADLK);
    sirq_hardirq_exit(&r->h.cpu[0]);
    sirq_socket_close(sock);
    sirq_socket_close(other);
}

static void frames_beyond_the_ring_are_counted_not_queued(void **state)
{
    struct router *r = *state;
    struct sirq_socket *sock = open_socket(r, 0);
    struct sirq_msg msg = message(payload, 1, HIM);
    struct sirq_net_stats stats;

    assert_int_equal(sirq_send(sock, &msg, 1), 1);
    router_resolve(r, 1, HIM);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(sirq_send(sock, &msg, 1), 1);
    stats = router_stats(r);
    assert_int_equal(stats.tx_verdict[SIRQ_TX_SENT], TEST_TX_RING);
    assert_int_equal(stats.tx_verdict[SIRQ_TX_DROP_RING], 102 - TEST_TX_RING);
    assert_int_equal(stats.tx_held, stats.tx_released);
    net_host_check_sums(&r->h);
    sirq_socket_close(sock);
}

/* ---- two CPUs at one device ------------------------------------------------------------- */

static struct router *busy;
static unsigned others;

/* While CPU 0 is in the driver, CPU 1 forwards to the same device. */
static void other_cpu(struct test_dev *dev, struct sirq_cpu *cpu)
{
    struct router *r = busy;
    static uint8_t frame[FRAME_MAX];
    uint32_t len;

    if (cpu->id != 0 || others == 0)
        return;
    others--;
    memcpy(frame, r->frame, FRAME_MAX);
    len = put_udp(r, 0, HER, HIM);
    memcpy(frame, r->frame, len);
    net_host_run_on(1);
    assert_int_equal(test_dev_rx(&r->dev[0], &r->h.cpu[1], frame, len), SIRQ_FORWARDED);
    net_host_run_on(0);
    (void)dev;
}

static void device_in_use_is_left_to_who_uses_it(void **state)
{
    struct router *r = *state;
    struct sirq_socket *sock = open_socket(r, 0);
    struct sirq_msg msg = message(payload, 1, HIM);
    struct sirq_net_stats stats;

    sirq_net_set_forwarding(r->h.net, true);
    assert_int_equal(sirq_send(sock, &msg, 1), 1);
    router_resolve(r, 1, HIM);
    test_dev_sent_clear(&r->dev[1]);
    busy = r;
    others = 3;
    r->dev[1].on_tx = other_cpu;
    assert_int_equal(sirq_send(sock, &msg, 1), 1);
    assert_int_equal(r->dev[1].nsent, 4); /* his own first, then those left on the queue */
    stats = router_stats(r);
    assert_int_equal(stats.tx_held, stats.tx_released);
    assert_int_equal(stats.tx_verdict[SIRQ_TX_SENT], stats.tx_frames);
    net_host_check_sums(&r->h);
    sirq_socket_close(sock);
}

static void queue_at_a_device_in_use_is_bounded(void **state)
{
    struct router *r = *state;
    struct sirq_socket *sock = open_socket(r, 0);
    struct sirq_msg msg = message(payload, 1, HIM);

    sirq_net_set_forwarding(r->h.net, true);
    assert_int_equal(sirq_send(sock, &msg, 1), 1);
    router_resolve(r, 1, HIM);
    r->dev[1].dev.link->busy = 1; /* somebody who is in no hurry */
    for (unsigned i = 0; i < 300; i++)
        assert_int_equal(sirq_send(sock, &msg, 1), 1);
    net_host_check_sums(&r->h);
    assert_int_equal(router_stats(r).tx_verdict[SIRQ_TX_DROP_QUEUE], 300 - 256);
    assert_int_equal(router_stats(r).tx_held - router_stats(r).tx_released, 256);
    r->dev[1].dev.link->busy = 0;
    test_dev_sent_clear(&r->dev[1]);
    assert_int_equal(sirq_send(sock, &msg, 1), 1);
    assert_int_equal(router_stats(r).tx_held, router_stats(r).tx_released);
    net_host_check_sums(&r->h);
    sirq_socket_close(sock);
}

static void device_closed_with_frames_waiting_drops_them(void **state)
{
    struct router *r = *state;
    struct sirq_socket *sock = open_socket(r, 0);
    struct sirq_msg msg = message(payload, 1, HIM);

    assert_int_equal(sirq_send(sock, &msg, 1), 1); /* waits for its neighbour */
    test_dev_close(&r->dev[1], &r->h.cpu[0]);
    assert_int_equal(router_stats(r).tx_verdict[SIRQ_TX_DROP_NEIGH], 1);
    assert_int_equal(sirq_net_neighbours(r->h.net, NULL), 0);
    assert_int_equal(sirq_send(sock, &msg, 1), -ENETUNREACH);
    net_host_check_sums(&r->h);
    test_dev_open(&r->dev[1], &r->h);
    sirq_socket_close(sock);
}

static void names_of_what_becomes_of_frames_are_distinct(void **state)
{
    (void)state;
    for (int a = 0; a < SIRQ_NR_TX_DROPS; a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(sirq_tx_drop_name((enum sirq_tx_drop)a),
                                    sirq_tx_drop_name((enum sirq_tx_drop)b));
    assert_string_equal(sirq_tx_drop_name(SIRQ_NR_TX_DROPS), "unknown");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, router_setup, router_teardown)
    const struct CMUnitTest tests[] = {
        CASE(datagrams_sent_arrive_with_right_checksums),
        CASE(send_that_cannot_be_says_why),
        CASE(frames_beyond_the_ring_are_counted_not_queued),
        CASE(device_in_use_is_left_to_who_uses_it),
        CASE(queue_at_a_device_in_use_is_bounded),
        CASE(device_closed_with_frames_waiting_drops_them),
        cmocka_unit_test(names_of_what_becomes_of_frames_are_distinct),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
