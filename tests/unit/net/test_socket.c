/* SPDX-License-Identifier: MIT */
/* Sockets: who gets a datagram, caps, receiving, descriptors, memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frames.h"
#include "net_host.h"

struct world {
    struct net_host h;
    struct test_dev dev;
    uint8_t frame[FRAME_MAX];
    uint32_t len;
    uint8_t buf[2048];
};

static struct world *start(const struct sirq_net_config *config)
{
    struct world *w = aligned_alloc(64, (sizeof(*w) + 63) & ~(size_t)63);
    const struct frame_spec spec = {.payload = 18};

    memset(w, 0, sizeof(*w));
    net_host_init(&w->h, config);
    test_dev_open(&w->dev, &w->h);
    w->len = frame_build(w->frame, &spec);
    return w;
}

static void stop(struct world *w)
{
    test_dev_close(&w->dev, &w->h.cpu[0]);
    net_host_fini(&w->h);
    free(w);
}

static struct sirq_socket *bound(struct world *w, uint32_t addr, uint16_t port, size_t rcvbuf)
{
    const struct sirq_socket_config config = {
        .addr = addr != 0 ? frame_net32(addr) : 0, .port = port, .rcvbuf = rcvbuf};
    struct sirq_socket *sock = NULL;

    assert_int_equal(sirq_socket_open(w->h.net, &config, &sock), 0);
    return sock;
}

static enum sirq_drop rx(struct world *w)
{
    return test_dev_rx(&w->dev, &w->h.cpu[0], w->frame, w->len);
}

static enum sirq_drop rx_to(struct world *w, uint32_t daddr, uint16_t dport)
{
    const struct frame_spec spec = {.payload = 18, .daddr = daddr, .dport = dport};

    w->len = frame_build(w->frame, &spec);
    return rx(w);
}

static int recv_one(struct world *w, struct sirq_socket *sock)
{
    struct sirq_msg msg = {.buf = w->buf, .size = sizeof(w->buf)};

    return sirq_recv(sock, &msg, 1, 0);
}

static struct sirq_socket_stats stats(const struct sirq_socket *sock)
{
    struct sirq_socket_stats s;

    sirq_socket_stats(sock, &s);
    return s;
}

static void open_with_bad_arguments_is_einval(void **state)
{
    static const struct sirq_socket_config bad[] = {
        {.port = 0},
        {.port = 1, .rcvbuf = 4095},
        {.port = 1, .rcvbuf = ((size_t)256 << 20) + 1},
    };
    struct world *w = start(NULL);
    struct sirq_socket *sock = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(sirq_socket_open(w->h.net, &bad[i], &sock), -EINVAL);
    assert_int_equal(sirq_socket_open(w->h.net, NULL, &sock), -EINVAL);
    assert_null(sock);
    stop(w);
}

static void open_of_a_taken_port_is_eaddrinuse_until_closed(void **state)
{
    const struct sirq_socket_config config = {.port = 7};
    struct world *w = start(NULL);
    struct sirq_socket *sock = bound(w, 0, 7, 0), *other;

    (void)state;
    assert_int_equal(sirq_socket_open(w->h.net, &config, &other), -EADDRINUSE);
    sirq_socket_close(sock);
    assert_int_equal(sirq_socket_open(w->h.net, &config, &other), 0);
    sirq_socket_close(other);
    stop(w);
}

static void open_beyond_the_table_is_enospc(void **state)
{
    const struct sirq_net_config small = {.max_sockets = 3};
    const struct sirq_socket_config config = {.port = 99};
    struct world *w = start(&small);
    struct sirq_socket *sock[3], *other;

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        sock[i] = bound(w, 0, (uint16_t)(i + 1), 4096);
    assert_int_equal(sirq_socket_open(w->h.net, &config, &other), -ENOSPC);
    for (unsigned i = 0; i < 3; i++)
        sirq_socket_close(sock[i]);
    stop(w);
}

static void table_full_of_sockets_finds_each(void **state)
{
    const struct sirq_net_config config = {.max_sockets = 4096};
    struct sirq_socket **sock = calloc(4096, sizeof(struct sirq_socket *));
    struct world *w = start(&config);

    (void)state;
    for (unsigned i = 0; i < 4096; i++)
        sock[i] = bound(w, i % 2 != 0 ? 0x0a000000 + i % 7 : 0, (uint16_t)(i + 1), 4096);
    for (unsigned i = 0; i < 4096; i++) {
        assert_int_equal(rx_to(w, 0x0a000000 + i % 7, (uint16_t)(i + 1)), SIRQ_DELIVERED);
        assert_int_equal(stats(sock[i]).len, 1);
    }
    for (unsigned i = 0; i < 4096; i++) {
        sirq_socket_close(sock[i]);
        assert_int_not_equal(rx_to(w, 0x0a000000 + i % 7, (uint16_t)(i + 1)), SIRQ_DELIVERED);
    }
    free(sock);
    stop(w);
}

static void address_bound_wins_over_any(void **state)
{
    struct world *w = start(NULL);
    struct sirq_socket *any = bound(w, 0, 5000, 0), *one = bound(w, 0x0a000005, 5000, 0);

    (void)state;
    assert_int_equal(rx_to(w, 0x0a000005, 5000), SIRQ_DELIVERED);
    assert_int_equal(rx_to(w, 0x0a000006, 5000), SIRQ_DELIVERED);
    assert_int_equal(stats(one).queued, 1);
    assert_int_equal(stats(any).queued, 1);
    sirq_socket_close(any);
    sirq_socket_close(one);
    stop(w);
}

static void address_of_nobody_is_ip_dst_when_all_are_bound(void **state)
{
    struct world *w = start(NULL);
    struct sirq_socket *a = bound(w, 0x0a000005, 5000, 0), *b = bound(w, 0x0a000005, 5001, 0);
    struct sirq_socket *any;

    (void)state;
    assert_int_equal(rx_to(w, 0x0a000006, 5000), SIRQ_DROP_IP_DST);
    assert_int_equal(rx_to(w, 0x0a000005, 5002), SIRQ_DROP_UDP_PORT);
    sirq_socket_close(a); /* the address stays: b is bound to it */
    assert_int_equal(rx_to(w, 0x0a000005, 5001), SIRQ_DELIVERED);
    assert_int_equal(rx_to(w, 0x0a000005, 5000), SIRQ_DROP_UDP_PORT);
    any = bound(w, 0, 6000, 0); /* now any address may be for somebody */
    assert_int_equal(rx_to(w, 0x0a000006, 5001), SIRQ_DROP_UDP_PORT);
    sirq_socket_close(any);
    assert_int_equal(rx_to(w, 0x0a000006, 5001), SIRQ_DROP_IP_DST);
    sirq_socket_close(b);
    assert_int_equal(rx_to(w, 0x0a000006, 5001), SIRQ_DROP_UDP_PORT);
    stop(w);
}

/* By length, not by the power of two that the ring has. */
static void queue_holds_exactly_its_cap(void **state)
{
    static const size_t caps[] = {2, 3, 5, 7, 64, 100, 512};
    const struct sirq_net_config config = {.pool_packets = 2048};

    (void)state;
    for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
        struct world *w = start(&config);
        struct sirq_socket *sock =
            bound(w, 0, FRAME_DPORT, caps[i] * SIRQ_PKT_TRUESIZE + SIRQ_PKT_TRUESIZE - 1);

        for (unsigned lap = 0; lap < 3; lap++) {
            for (size_t k = 0; k < caps[i]; k++)
                assert_int_equal(rx(w), SIRQ_DELIVERED);
            assert_int_equal(rx(w), SIRQ_DROP_SOCKET_FULL);
            assert_int_equal(rx(w), SIRQ_DROP_SOCKET_FULL);
            assert_int_equal(stats(sock).len, caps[i]);
            assert_int_equal(stats(sock).cap, caps[i]);
            assert_int_equal(recv_one(w, sock), 1);
            assert_int_equal(rx(w), SIRQ_DELIVERED);
            assert_int_equal(rx(w), SIRQ_DROP_SOCKET_FULL);
            for (size_t k = 0; k < caps[i]; k++)
                assert_int_equal(recv_one(w, sock), 1);
            assert_int_equal(recv_one(w, sock), -EAGAIN);
        }
        assert_int_equal(stats(sock).queued, stats(sock).received);
        assert_int_equal(stats(sock).dropped, 9);
        sirq_socket_close(sock);
        stop(w);
    }
}

static void pool_empty_drops_as_no_buffer_and_recovers(void **state)
{
    const struct sirq_net_config config = {.pool_packets = 50};
    struct world *w = start(&config);
    struct sirq_socket *sock = bound(w, 0, FRAME_DPORT, 0);

    (void)state;
    for (unsigned lap = 0; lap < 5; lap++) {
        unsigned n = 0;

        while (rx(w) == SIRQ_DELIVERED)
            n++;
        assert_int_equal(n, 50); /* every buffer is usable from one CPU */
        assert_int_equal(w->dev.last, SIRQ_DROP_NO_BUFFER);
        for (unsigned i = 0; i < n; i++)
            assert_int_equal(recv_one(w, sock), 1);
    }
    assert_int_equal(stats(sock).dropped, 5);
    sirq_socket_close(sock);
    stop(w);
}

static void close_gives_back_what_was_queued(void **state)
{
    const struct sirq_net_config config = {.pool_packets = 50};
    struct world *w = start(&config);

    (void)state;
    for (unsigned lap = 0; lap < 5; lap++) {
        struct sirq_socket *sock = bound(w, 0, FRAME_DPORT, 0);

        for (unsigned i = 0; i < 50; i++)
            assert_int_equal(rx(w), SIRQ_DELIVERED);
        sirq_socket_close(sock);
    }
    stop(w);
}

static void oversize_does_not_leak_a_buffer(void **state)
{
    const struct sirq_net_config config = {.pool_packets = 8};
    const struct frame_spec big = {.payload = SIRQ_PKT_PAYLOAD_MAX + 1};
    struct world *w = start(&config);
    struct sirq_socket *sock = bound(w, 0, FRAME_DPORT, 0);

    (void)state;
    w->len = frame_build(w->frame, &big);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(rx(w), SIRQ_DROP_OVERSIZE);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(rx_to(w, 0, 0), SIRQ_DELIVERED);
    assert_int_equal(rx_to(w, 0, 0), SIRQ_DROP_NO_BUFFER);
    sirq_socket_close(sock);
    stop(w);
}

static void memory_is_counted_and_given_back(void **state)
{
    const struct sirq_net_config config = {.pool_packets = 128};
    struct world *w = start(&config);
    size_t before[2], open[2], after[2];
    struct sirq_socket *sock;

    (void)state;
    sirq_net_memory(w->h.net, before);
    sock = bound(w, 0, 1, (size_t)1 << 20);
    sirq_net_memory(w->h.net, open);
    sirq_socket_close(sock);
    sirq_net_memory(w->h.net, after);
    assert_true(before[0] >= 128 * SIRQ_PKT_TRUESIZE && before[0] < 128 * 2200);
    assert_true(open[1] >= before[1] + 512 * 8);
    assert_int_equal(open[0], before[0]);
    assert_int_equal(after[1], before[1]);
    stop(w);
}

static void stack_opened_twice_is_ebusy_and_once_more_after_destroy(void **state)
{
    const struct sirq_net_config big = {.pool_packets = (1u << 20) + 1};
    const struct sirq_net_config many = {.max_sockets = 4097};
    struct world *w = start(NULL);
    struct sirq_net *net;

    (void)state;
    assert_int_equal(sirq_net_create(&net, &w->h.core, NULL), -EBUSY);
    assert_int_equal(rx(w), SIRQ_DROP_UDP_PORT); /* the first one is unharmed */
    test_dev_close(&w->dev, &w->h.cpu[0]);
    sirq_net_destroy(w->h.net);
    assert_int_equal(sirq_net_create(&net, &w->h.core, &big), -EINVAL);
    assert_int_equal(sirq_net_create(&net, &w->h.core, &many), -EINVAL);
    assert_int_equal(sirq_net_create(&w->h.net, &w->h.core, NULL), 0);
    test_dev_open(&w->dev, &w->h);
    assert_int_equal(rx(w), SIRQ_DROP_UDP_PORT);
    stop(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_with_bad_arguments_is_einval),
        cmocka_unit_test(open_of_a_taken_port_is_eaddrinuse_until_closed),
        cmocka_unit_test(open_beyond_the_table_is_enospc),
        cmocka_unit_test(table_full_of_sockets_finds_each),
        cmocka_unit_test(address_bound_wins_over_any),
        cmocka_unit_test(address_of_nobody_is_ip_dst_when_all_are_bound),
        cmocka_unit_test(queue_holds_exactly_its_cap),
        cmocka_unit_test(pool_empty_drops_as_no_buffer_and_recovers),
        cmocka_unit_test(close_gives_back_what_was_queued),
        cmocka_unit_test(oversize_does_not_leak_a_buffer),
        cmocka_unit_test(memory_is_counted_and_given_back),
        cmocka_unit_test(stack_opened_twice_is_ebusy_and_once_more_after_destroy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
