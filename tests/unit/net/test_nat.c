/* SPDX-License-Identifier: MIT */
/* NAT44: what becomes of packets.  What the table does with time and little room: test_nat_table. */
#include "nat_env.h"

static const uint8_t mss_1460[8] = {1, 2, 4, 0x05, 0xb4, 1, 1, 0}; /* at an odd place */
static const uint8_t mss_small[8] = {2, 4, 0x02, 0x00, 1, 1, 1, 0};

static int setup(void **state)
{
    int ret = router_setup(state);

    nat_start(*state, &(struct sirq_nat_config){0});
    return ret;
}

static void datagram_leaves_from_the_outside_address_and_is_answered(void **state)
{
    struct router *r = *state;
    const uint8_t *ip;

    assert_int_equal(nat_out(r, HOST(1), 4000, REMOTE, 53), SIRQ_FORWARDED);
    ip = nat_sent(r, OUTSIDE);
    assert_addrs(ip, US4(OUTSIDE), REMOTE);
    assert_ports(ip + 20, 4000, 53); /* the port is kept */
    assert_int_equal(ip[8], 63);
    assert_memory_equal(ip + 28, r->frame + FRAME_DATA, 33);
    assert_int_equal(nat_back(r, 53, 4000), SIRQ_FORWARDED);
    ip = nat_sent(r, INSIDE);
    assert_addrs(ip, REMOTE, HOST(1));
    assert_ports(ip + 20, 53, 4000);
    assert_int_equal(nat_stats(r).created, 1);
    assert_int_equal(nat_stats(r).translated[0], 1);
    assert_int_equal(nat_stats(r).translated[1], 1);
}

static void hosts_with_the_same_port_get_different_ones(void **state)
{
    struct router *r = *state;
    uint32_t port;

    assert_int_equal(nat_out(r, HOST(1), 4000, REMOTE, 53), SIRQ_FORWARDED);
    nat_sent(r, OUTSIDE);
    assert_int_equal(nat_out(r, HOST(2), 4000, REMOTE, 53), SIRQ_FORWARDED);
    port = frame_get16(nat_sent(r, OUTSIDE) + 20);
    assert_int_not_equal(port, 4000);
    assert_in_range(port, 1024, 65535);
    assert_int_equal(nat_back(r, 53, (uint16_t)port), SIRQ_FORWARDED);
    assert_addrs(nat_sent(r, INSIDE), REMOTE, HOST(2));
    assert_int_equal(nat_back(r, 53, 4000), SIRQ_FORWARDED);
    assert_addrs(nat_sent(r, INSIDE), REMOTE, HOST(1));
    /* The same port of another remote is another connection. */
    assert_int_equal(nat_out(r, HOST(2), 4000, REMOTE + 1, 53), SIRQ_FORWARDED);
    assert_ports(nat_sent(r, OUTSIDE) + 20, 4000, 53);
}

static void checksum_that_was_not_made_stays_so_and_a_wrong_one_wrong(void **state)
{
    struct router *r = *state;
    uint32_t len = nat_udp(r, INSIDE, HOST(1), 4000, REMOTE, 53);
    const uint8_t *out = r->dev[OUTSIDE].sent[0] + IP;

    frame_put16(r->frame + FRAME_UDP + 6, 0);
    router_rx(r, INSIDE, len);
    assert_int_equal(frame_get16(nat_sent(r, OUTSIDE) + 26), 0);
    len = nat_udp(r, INSIDE, HOST(1), 4000, REMOTE, 53);
    r->frame[FRAME_DATA] ^= 1;
    router_rx(r, INSIDE, len);
    assert_int_equal(r->dev[OUTSIDE].nsent, 1);
    assert_int_not_equal(l4_sum(out, frame_get16(out + 2), false), 0xffff);
}

static void checksums_are_right_for_any_datagram(void **state)
{
    struct router *r = *state;

    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t len = nat_udp(r, INSIDE, HOST(1 + i % 2), (uint16_t)(i % 7), REMOTE, 53);

        frame_put32(r->frame + FRAME_DATA, i * 0x9e3779b9u);
        fix_sums(r->frame + IP, len - IP, false);
        if (frame_get16(r->frame + FRAME_UDP + 6) == 0)
            frame_put16(r->frame + FRAME_UDP + 6, 0xffff);
        assert_int_equal(router_rx(r, INSIDE, len), SIRQ_FORWARDED);
        assert_int_not_equal(frame_get16(nat_sent(r, OUTSIDE) + 26), 0);
    }
    assert_int_equal(nat_stats(r).conns, 14);
}

static void checksum_that_was_left_to_a_device_is_filled_in(void **state)
{
    struct router *r = *state;
    uint32_t len;

    r->dev[INSIDE].dev.rx_csum_partial = r->dev[OUTSIDE].dev.rx_csum_partial = true;
    len = nat_udp(r, INSIDE, HOST(1), 4000, REMOTE, 53);
    fix_sums(r->frame + IP, len - IP, true);
    assert_int_equal(router_rx(r, INSIDE, len), SIRQ_FORWARDED);
    assert_int_not_equal(frame_get16(nat_sent(r, OUTSIDE) + 26), 0);
    len = nat_udp(r, OUTSIDE, REMOTE, 53, US4(OUTSIDE), 4000);
    fix_sums(r->frame + IP, len - IP, true);
    assert_int_equal(router_rx(r, OUTSIDE, len), SIRQ_FORWARDED);
    assert_int_not_equal(frame_get16(nat_sent(r, INSIDE) + 26), 0);
    len = nat_tcp(r, INSIDE, 5000, TCP_SYN, mss_1460);
    fix_sums(r->frame + IP, len - IP, true);
    assert_int_equal(router_rx(r, INSIDE, len), SIRQ_FORWARDED);
    nat_sent(r, OUTSIDE);
}

static void steered_packets_are_translated_in_order_on_the_other_cpu(void **state)
{
    static const unsigned other = 1;
    struct router *r = *state;
    struct sirq_cpu *cpu = &r->h.cpu[1];
    uint8_t frame[10][FRAME_MAX];

    assert_int_equal(sirq_netdev_set_rps(&r->dev[INSIDE].dev, &other, 1, NULL), 0);
    r->dev[INSIDE].dev.rx_csum_partial = true;
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t len = nat_udp(r, INSIDE, HOST(1), 4000, REMOTE, 53);

        frame_put32(r->frame + FRAME_DATA, i);
        fix_sums(r->frame + IP, len - IP, true);
        memcpy(frame[i], r->frame, len);
        assert_int_equal(test_dev_rx(&r->dev[INSIDE], &r->h.cpu[0], frame[i], len), SIRQ_STEERED);
    }
    net_host_run_on(1);
    sirq_hardirq_enter(cpu);
    sirq_hardirq_exit(cpu);
    net_host_ksoftirqd(&r->h, 1, 10);
    net_host_run_on(0);
    net_host_check_sums(&r->h);
    assert_int_equal(r->dev[OUTSIDE].nsent, 10);
    for (uint32_t i = 0; i < 10; i++) {
        const uint8_t *ip = r->dev[OUTSIDE].sent[i] + IP;

        assert_int_equal(l4_sum(ip, 61, false), 0xffff);
        assert_addrs(ip, US4(OUTSIDE), REMOTE);
        assert_int_equal(frame_get16(ip + 30), i);
    }
    assert_int_equal(nat_stats(r).conns, 1);
    assert_int_equal(router_stats(r).forwarded, 10);
}

static void tcp_is_translated_both_ways(void **state)
{
    struct router *r = *state;
    const uint8_t *ip;

    assert_int_equal(router_rx(r, INSIDE, nat_tcp(r, INSIDE, 5000, TCP_SYN, NULL)), SIRQ_FORWARDED);
    ip = nat_sent(r, OUTSIDE);
    assert_addrs(ip, US4(OUTSIDE), REMOTE);
    assert_ports(ip + 20, 5000, 80);
    assert_int_equal(router_rx(r, OUTSIDE, nat_tcp(r, OUTSIDE, 5000, TCP_SYN | TCP_ACK, NULL)),
                     SIRQ_FORWARDED);
    ip = nat_sent(r, INSIDE);
    assert_addrs(ip, REMOTE, HOST(1));
    assert_ports(ip + 20, 80, 5000);
    assert_memory_equal(ip + 40, "hello", 5);
    assert_int_equal(nat_stats(r).conns, 1);
}

static void syn_offers_no_more_than_the_mtu_of_the_way(void **state)
{
    struct router *r = *state;
    const uint8_t *ip;

    assert_int_equal(sirq_netdev_set_mtu(&r->dev[OUTSIDE].dev, 1400, NULL), 0);
    router_rx(r, INSIDE, nat_tcp(r, INSIDE, 5000, TCP_SYN, mss_1460));
    ip = nat_sent(r, OUTSIDE);
    assert_int_equal(frame_get16(ip + 43), 1360);
    router_rx(r, OUTSIDE, nat_tcp(r, OUTSIDE, 5000, TCP_SYN | TCP_ACK, mss_1460));
    ip = nat_sent(r, INSIDE);
    assert_int_equal(frame_get16(ip + 43), 1360);
    router_rx(r, INSIDE, nat_tcp(r, INSIDE, 5000, TCP_SYN, mss_small)); /* less is left alone */
    ip = nat_sent(r, OUTSIDE);
    assert_memory_equal(ip + 40, mss_small, 8);
    router_rx(r, INSIDE, nat_tcp(r, INSIDE, 5000, TCP_ACK, mss_1460)); /* and what is no SYN */
    ip = nat_sent(r, OUTSIDE);
    assert_memory_equal(ip + 40, mss_1460, 8);
}

static void options_that_are_malformed_are_left_alone(void **state)
{
    static const uint8_t bad[][8] = {
        {2, 0, 0xff, 0xff, 0, 0, 0, 0}, {2, 1, 0xff, 0xff}, {1, 1, 1, 1, 1, 1, 1, 2},
        {1, 1, 1, 1, 1, 2, 4, 0xff},    {2, 3, 0xff, 0xff}, {9, 200, 2, 4, 0xff, 0xff},
        {0, 2, 4, 0xff, 0xff}};
    struct router *r = *state;

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        router_rx(r, INSIDE, nat_tcp(r, INSIDE, 5000, TCP_SYN, bad[i]));
        assert_memory_equal(nat_sent(r, OUTSIDE) + 40, bad[i], 8);
    }
}

/* From inside, or its answer from outside. */
static uint32_t echo(struct router *r, unsigned dev, uint32_t id, uint32_t payload)
{
    uint32_t len = put_ping(r, dev, dev == INSIDE ? HOST(1) : REMOTE,
                            dev == INSIDE ? REMOTE : US4(OUTSIDE), payload);

    put_macs(r, dev, dev == INSIDE ? HOST(1) : GATEWAY);
    r->frame[FRAME_UDP] = dev == INSIDE ? 8 : 0;
    frame_put16(r->frame + FRAME_UDP + 4, id);
    fix_sums(r->frame + IP, 28 + payload, false);
    return len;
}

static void ping_is_translated_by_its_identifier(void **state)
{
    struct router *r = *state;
    const uint8_t *ip;

    assert_int_equal(router_rx(r, INSIDE, echo(r, INSIDE, 0x1234, 9)), SIRQ_FORWARDED);
    ip = nat_sent(r, OUTSIDE);
    assert_addrs(ip, US4(OUTSIDE), REMOTE);
    assert_int_equal(router_rx(r, OUTSIDE, echo(r, OUTSIDE, frame_get16(ip + 24), 9)),
                     SIRQ_FORWARDED);
    ip = nat_sent(r, INSIDE);
    assert_addrs(ip, REMOTE, HOST(1));
    assert_int_equal(frame_get16(ip + 24), 0x1234);
    assert_int_equal(router_rx(r, OUTSIDE, echo(r, OUTSIDE, 0x4321, 9)), SIRQ_DROP_ICMP_TYPE);
}

/* RFC 1624: the one sum whose two zeros are not the same. */
static void echo_of_zeros_alone_has_a_checksum_that_is_right(void **state)
{
    struct router *r = *state;
    uint32_t len = echo(r, INSIDE, 0, 8);

    memset(r->frame + FRAME_UDP, 0, 16);
    fix_sums(r->frame + IP, 36, false);
    assert_int_equal(router_rx(r, INSIDE, len), SIRQ_FORWARDED);
    len = echo(r, OUTSIDE, frame_get16(nat_sent(r, OUTSIDE) + 24), 8);
    frame_put16(r->frame + FRAME_UDP + 6, 0);
    memset(r->frame + FRAME_DATA, 0, 8);
    fix_sums(r->frame + IP, 36, false);
    assert_int_equal(router_rx(r, OUTSIDE, len), SIRQ_FORWARDED);
    nat_sent(r, INSIDE); /* looks at the sums */
}

static void packet_that_nobody_asked_for_is_for_the_router(void **state)
{
    const struct sirq_socket_config config = {.port = 53};
    struct router *r = *state;
    struct sirq_socket *sock;

    assert_int_equal(sirq_socket_open(r->h.net, &config, &sock), 0);
    assert_int_equal(nat_out(r, HOST(1), 4000, REMOTE, 53), SIRQ_FORWARDED);
    nat_sent(r, OUTSIDE);
    assert_int_equal(nat_back(r, 54, 53), SIRQ_DELIVERED);
    assert_int_equal(nat_back(r, 54, 4000), SIRQ_DROP_UDP_PORT); /* of another port: filtered */
    assert_addrs(nat_sent(r, OUTSIDE), US4(OUTSIDE), REMOTE);    /* who is told so */
    assert_int_equal(router_rx(r, OUTSIDE, nat_tcp(r, OUTSIDE, 5000, TCP_SYN, NULL)),
                     SIRQ_DROP_IP_PROTO);
    test_dev_sent_clear(&r->dev[OUTSIDE]);
    router_rx(r, OUTSIDE, put_ping(r, OUTSIDE, GATEWAY, US4(OUTSIDE), 8));
    assert_addrs(nat_sent(r, OUTSIDE), US4(OUTSIDE), GATEWAY);
    assert_int_equal(nat_stats(r).conns, 1);
    sirq_socket_close(sock);
}

/* ---- errors --------------------------------------------------------------------------- */

/* From `from`, about the `quote` bytes at `ip`, to its source. */
static uint32_t icmp_about(struct router *r, unsigned dev, uint32_t from, uint8_t type,
                           const uint8_t *quoted, uint32_t quote)
{
    uint8_t *ip = r->frame + IP;

    nat_udp(r, dev, from, 1, 0, 1);
    frame_put16(ip + 2, 28 + quote);
    ip[9] = 1;
    memcpy(ip + 16, quoted + 12, 4);
    memset(ip + 20, 0, 8);
    ip[20] = type;
    memcpy(ip + 28, quoted, quote);
    fix_sums(ip, 28 + quote, false);
    return IP + 28 + quote;
}

static void quoted_is_right(const uint8_t *quoted, uint32_t quote, uint32_t from, uint32_t to,
                            uint32_t sport, uint32_t dport)
{
    assert_addrs(quoted, from, to);
    assert_ports(quoted + 20, sport, dport);
    assert_int_equal(icmp_sum(quoted, 20), 0xffff);
    if (quote == frame_get16(quoted + 2))
        assert_int_equal(l4_sum(quoted, quote, false), 0xffff);
}

static void error_about_what_left_comes_to_its_host(void **state)
{
    static const uint32_t quotes[] = {28, 40, 61}; /* the least, more, all of it */
    static const uint8_t types[] = {3, 4, 11, 12};
    struct router *r = *state;
    uint8_t left[64];
    const uint8_t *ip;

    nat_out(r, HOST(1), 4000, REMOTE, 53); /* has the port of the next one */
    nat_sent(r, OUTSIDE);
    nat_out(r, HOST(2), 4000, REMOTE, 53);
    memcpy(left, nat_sent(r, OUTSIDE), sizeof(left));
    for (unsigned i = 0; i < 12; i++) {
        uint32_t quote = quotes[i / 4];

        assert_int_equal(
            router_rx(r, OUTSIDE,
                      icmp_about(r, OUTSIDE, 0x0c000001 + i, types[i % 4], left, quote)),
            SIRQ_FORWARDED);
        ip = nat_sent(r, INSIDE);
        assert_addrs(ip, 0x0c000001 + i, HOST(2)); /* who says so is not changed */
        assert_int_equal(ip[20], types[i % 4]);
        quoted_is_right(ip + 28, quote, HOST(2), REMOTE, 4000, 53);
    }
    assert_int_equal(nat_stats(r).errors, 12);
}

static void error_about_what_came_in_leaves_from_the_outside_address(void **state)
{
    struct router *r = *state;
    uint8_t came[64];
    uint32_t port;
    const uint8_t *ip;

    nat_out(r, HOST(1), 4000, REMOTE, 53);
    nat_sent(r, OUTSIDE);
    nat_out(r, HOST(2), 4000, REMOTE, 53);
    port = frame_get16(nat_sent(r, OUTSIDE) + 20);
    nat_back(r, 53, (uint16_t)port);
    memcpy(came, nat_sent(r, INSIDE), sizeof(came));
    assert_int_equal(router_rx(r, INSIDE, icmp_about(r, INSIDE, HOST(2), 3, came, 61)),
                     SIRQ_FORWARDED);
    ip = nat_sent(r, OUTSIDE);
    assert_addrs(ip, US4(OUTSIDE), REMOTE);
    quoted_is_right(ip + 28, 61, REMOTE, US4(OUTSIDE), 53, port);
}

static void error_about_a_ping_or_tcp_comes_to_its_host(void **state)
{
    struct router *r = *state;
    uint8_t left[64];
    const uint8_t *ip;

    router_rx(r, INSIDE, echo(r, INSIDE, 7, 4)); /* not kept: below the ports */
    memcpy(left, nat_sent(r, OUTSIDE), sizeof(left));
    assert_int_not_equal(frame_get16(left + 24), 7);
    router_rx(r, OUTSIDE, icmp_about(r, OUTSIDE, REMOTE, 11, left, 32));
    ip = nat_sent(r, INSIDE) + 28;
    assert_addrs(ip, HOST(1), REMOTE);
    assert_int_equal(frame_get16(ip + 24), 7);
    assert_int_equal(l4_sum(ip, 32, false), 0xffff);
    router_rx(r, INSIDE, nat_tcp(r, INSIDE, 5000, TCP_SYN, NULL));
    memcpy(left, nat_sent(r, OUTSIDE), sizeof(left));
    router_rx(r, OUTSIDE, icmp_about(r, OUTSIDE, REMOTE, 3, left, 45));
    quoted_is_right(nat_sent(r, INSIDE) + 28, 45, HOST(1), REMOTE, 5000, 80);
}

static void error_that_is_about_nothing_here_is_dropped(void **state)
{
    struct router *r = *state;
    uint8_t left[64];

    nat_out(r, HOST(1), 4000, REMOTE, 53);
    memcpy(left, nat_sent(r, OUTSIDE), sizeof(left));
    for (uint32_t quote = 0; quote < 28; quote++) /* cut off */
        assert_int_equal(router_rx(r, OUTSIDE, icmp_about(r, OUTSIDE, REMOTE, 3, left, quote)),
                         SIRQ_DROP_NAT_NONE);
    left[22]++; /* another destination port */
    assert_int_equal(router_rx(r, OUTSIDE, icmp_about(r, OUTSIDE, REMOTE, 3, left, 61)),
                     SIRQ_DROP_NAT_NONE);
    assert_int_equal(r->dev[INSIDE].nsent + r->dev[OUTSIDE].nsent, 0);
    assert_int_equal(nat_stats(r).conns, 1);
}

static void traceroute_sees_the_router_and_what_is_behind_it(void **state)
{
    struct router *r = *state;
    uint32_t len = nat_udp(r, INSIDE, HOST(1), 4000, REMOTE, 33434);
    uint8_t left[64];
    const uint8_t *ip;

    r->frame[IP + 8] = 1;
    frame_fix_ip(r->frame);
    assert_int_equal(router_rx(r, INSIDE, len), SIRQ_DROP_IP_TTL);
    ip = nat_sent(r, INSIDE);
    assert_addrs(ip, US4(INSIDE), HOST(1));
    assert_int_equal(ip[20], 11);
    quoted_is_right(ip + 28, 61, HOST(1), REMOTE, 4000, 33434);
    assert_int_equal(nat_stats(r).conns, 0);
    len = nat_udp(r, INSIDE, HOST(1), 4000, REMOTE, 33434);
    r->frame[IP + 8] = 2;
    frame_fix_ip(r->frame);
    assert_int_equal(router_rx(r, INSIDE, len), SIRQ_FORWARDED);
    memcpy(left, nat_sent(r, OUTSIDE), sizeof(left));
    router_rx(r, OUTSIDE, icmp_about(r, OUTSIDE, GATEWAY, 11, left, 28));
    ip = nat_sent(r, INSIDE);
    assert_addrs(ip, GATEWAY, HOST(1));
    quoted_is_right(ip + 28, 28, HOST(1), REMOTE, 4000, 33434);
}

static void too_long_for_outside_is_told_with_the_inside_address(void **state)
{
    struct router *r = *state;
    const struct frame_spec spec = {
        .saddr = HOST(1), .daddr = REMOTE, .sport = 4000, .dport = 53, .payload = 1400};
    uint32_t len = frame_build(r->frame, &spec);
    const uint8_t *ip;

    put_macs(r, INSIDE, HOST(1));
    assert_int_equal(sirq_netdev_set_mtu(&r->dev[OUTSIDE].dev, 1400, NULL), 0);
    assert_int_equal(router_rx(r, INSIDE, len), SIRQ_DROP_IP_MTU);
    ip = nat_sent(r, INSIDE);
    assert_addrs(ip, US4(INSIDE), HOST(1));
    assert_int_equal(frame_get16(ip + 26), 1400);
    quoted_is_right(ip + 28, 548, HOST(1), REMOTE, 4000, 53);
}

static void what_has_no_ports_is_dropped(void **state)
{
    struct router *r = *state;
    uint32_t len = nat_udp(r, INSIDE, HOST(1), 4000, REMOTE, 53);

    r->frame[IP + 9] = 47;
    frame_fix_ip(r->frame);
    assert_int_equal(router_rx(r, INSIDE, len), SIRQ_DROP_NAT_PROTO);
    len = nat_udp(r, INSIDE, HOST(1), 4000, REMOTE, 53);
    frame_put16(r->frame + IP + 6, 0x2000); /* a fragment */
    frame_fix_ip(r->frame);
    assert_int_equal(router_rx(r, INSIDE, len), SIRQ_DROP_IP_FRAG);
    len = nat_udp(r, INSIDE, HOST(1), 4000, REMOTE, 53);
    frame_put16(r->frame + IP + 2, 27); /* cut off */
    frame_fix_ip(r->frame);
    assert_int_equal(router_rx(r, INSIDE, len), SIRQ_DROP_NAT_PROTO);
    assert_int_equal(nat_stats(r).conns, 0);
}

static void what_stays_inside_is_not_translated(void **state)
{
    struct router *r = *state;

    assert_int_equal(nat_out(r, HOST(1), 4000, HOST(2), 53), SIRQ_FORWARDED);
    assert_addrs(nat_sent(r, INSIDE), HOST(1), HOST(2));
    assert_int_equal(nat_stats(r).conns, 0);
}

/* Whoever is on the outside network could send to private addresses, and be answered. */
static void what_comes_past_the_translation_is_filtered(void **state)
{
    struct router *r = *state;

    assert_int_equal(router_rx(r, OUTSIDE, nat_udp(r, OUTSIDE, REMOTE, 53, HOST(1), 4000)),
                     SIRQ_DROP_NAT_FILTER);
    assert_int_equal(nat_out(r, HOST(1), 4000, REMOTE, 53), SIRQ_FORWARDED);
    nat_sent(r, OUTSIDE); /* also of a connection: its remote end does not know that address */
    assert_int_equal(router_rx(r, OUTSIDE, nat_udp(r, OUTSIDE, REMOTE, 53, HOST(1), 4000)),
                     SIRQ_DROP_NAT_FILTER);
    assert_int_equal(r->dev[INSIDE].nsent, 0);
    assert_int_equal(nat_back(r, 53, 4000), SIRQ_FORWARDED);
    nat_sent(r, INSIDE);
    assert_int_equal(sirq_nat_set(r->h.net, NULL, NULL, NULL), 0); /* a router as any */
    assert_int_equal(router_rx(r, OUTSIDE, nat_udp(r, OUTSIDE, REMOTE, 53, HOST(1), 4000)),
                     SIRQ_FORWARDED);
    assert_addrs(nat_sent(r, INSIDE), REMOTE, HOST(1));
}

#define NAT_TEST(test) cmocka_unit_test_setup_teardown(test, setup, router_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NAT_TEST(datagram_leaves_from_the_outside_address_and_is_answered),
        NAT_TEST(hosts_with_the_same_port_get_different_ones),
        NAT_TEST(checksum_that_was_not_made_stays_so_and_a_wrong_one_wrong),
        NAT_TEST(checksums_are_right_for_any_datagram),
        NAT_TEST(checksum_that_was_left_to_a_device_is_filled_in),
        NAT_TEST(steered_packets_are_translated_in_order_on_the_other_cpu),
        NAT_TEST(tcp_is_translated_both_ways),
        NAT_TEST(syn_offers_no_more_than_the_mtu_of_the_way),
        NAT_TEST(options_that_are_malformed_are_left_alone),
        NAT_TEST(ping_is_translated_by_its_identifier),
        NAT_TEST(echo_of_zeros_alone_has_a_checksum_that_is_right),
        NAT_TEST(packet_that_nobody_asked_for_is_for_the_router),
        NAT_TEST(error_about_what_left_comes_to_its_host),
        NAT_TEST(error_about_what_came_in_leaves_from_the_outside_address),
        NAT_TEST(error_about_a_ping_or_tcp_comes_to_its_host),
        NAT_TEST(error_that_is_about_nothing_here_is_dropped),
        NAT_TEST(traceroute_sees_the_router_and_what_is_behind_it),
        NAT_TEST(too_long_for_outside_is_told_with_the_inside_address),
        NAT_TEST(what_has_no_ports_is_dropped),
        NAT_TEST(what_stays_inside_is_not_translated),
        NAT_TEST(what_comes_past_the_translation_is_filtered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
