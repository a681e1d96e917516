/* SPDX-License-Identifier: MIT */
/* IPv6: discovery, echo, datagrams, extension headers, forwarding. */
#include "inet_env.h"

#include <arpa/inet.h>

#define PAYLOAD 54u /* offset behind the IPv6 header */

static struct sirq_ip ip6(const char *text)
{
    struct sirq_ip ip;

    assert_int_equal(inet_pton(AF_INET6, text, &ip), 1);
    return ip;
}

static int setup(void **state)
{
    struct sirq_ip one = ip6("2001:db8::1"), two = ip6("2001:db8:1::1"), ll = ip6("fe80::1");
    struct router *r;

    router_setup(state);
    r = *state;
    assert_int_equal(sirq_netdev_addr_add(&r->dev[0].dev, &one, 64, NULL), 0);
    assert_int_equal(sirq_netdev_addr_add(&r->dev[0].dev, &ll, 64, NULL), 0);
    assert_int_equal(sirq_netdev_addr_add(&r->dev[1].dev, &two, 64, NULL), 0);
    return 0;
}

/* The plain sum over addresses, length, protocol and segment, as RFC 8200 8.1 has it. */
static uint32_t sum6(const uint8_t *ip, uint8_t proto, const uint8_t *p, uint32_t len)
{
    uint8_t buf[2200] = {0};

    memcpy(buf, ip + 8, 32);
    frame_put32(buf + 32, len);
    buf[39] = proto;
    memcpy(buf + 40, p, len);
    return icmp_sum(buf, 40 + len);
}

/* Header around `len` bytes at PAYLOAD, checksum at `at` behind it put right. */
static uint32_t put6(struct router *r, unsigned dev, const char *from, const char *to,
                     uint8_t proto, uint32_t len, uint32_t at)
{
    struct sirq_ip src = ip6(from), dst = ip6(to);
    uint8_t *ip = r->frame + 14, *body = r->frame + PAYLOAD;
    uint32_t sum;

    memcpy(r->frame, us_mac[dev], 6);
    memcpy(r->frame + 6, "\6\0\0\0\0\7", 6);
    frame_put16(r->frame + 12, 0x86dd);
    frame_put32(ip, 0x60000000);
    frame_put16(ip + 4, len);
    ip[6] = proto;
    ip[7] = proto == 58 ? 255 : 64;
    memcpy(ip + 8, &src, 16);
    memcpy(ip + 24, &dst, 16);
    frame_put16(body + at, 0);
    sum = 0xffff & ~sum6(ip, proto, body, len);
    frame_put16(body + at, sum != 0 ? sum : 0xffff);
    return PAYLOAD + len;
}

static uint32_t put_nd(struct router *r, uint8_t type, const char *from, const char *to,
                       const char *target)
{
    struct sirq_ip ip = ip6(target);
    uint8_t *nd = r->frame + PAYLOAD;

    memset(nd, 0, 32);
    nd[0] = type;
    memcpy(nd + 8, &ip, 16);
    nd[24] = type == 135 ? 1 : 2;
    nd[25] = 1;
    memcpy(nd + 26, "\6\0\0\0\0\7", 6); /* NOLINT(bugprone-not-null-terminated-result) */
    return put6(r, 0, from, to, 58, 32, 2);
}

static uint32_t put_ping6(struct router *r, const char *from, const char *to, uint32_t payload)
{
    uint8_t *icmp = r->frame + PAYLOAD;

    memset(icmp, 0x5a, 8 + payload);
    icmp[0] = 128;
    icmp[1] = 0;
    return put6(r, 0, from, to, 58, 8 + payload, 2);
}

static uint32_t put_udp6(struct router *r, const char *from, const char *to, uint32_t payload)
{
    uint8_t *udp = r->frame + PAYLOAD;

    memset(udp, 0x77, 8 + payload);
    frame_put16(udp, 4000);
    frame_put16(udp + 2, 53);
    frame_put16(udp + 4, 8 + payload);
    return put6(r, 0, from, to, 17, 8 + payload, 6);
}

static void solicitation_for_our_address_is_answered(void **state)
{
    struct router *r = *state;
    const uint8_t *out = r->dev[0].sent[0];
    struct sirq_ip us = ip6("2001:db8::1");

    assert_int_equal(
        router_rx(r, 0, put_nd(r, 135, "2001:db8::5", "ff02::1:ff00:1", "2001:db8::1")),
        SIRQ_HANDLED);
    assert_int_equal(r->dev[0].nsent, 1);
    assert_memory_equal(out, "\6\0\0\0\0\7", 6);
    assert_int_equal(out[21], 255);
    assert_int_equal(out[54], 136);
    assert_int_equal(frame_get16(out + 58), 0x6000); /* solicited, override */
    assert_memory_equal(out + 62, &us, 16);
    assert_memory_equal(out + 80, us_mac[0], 6);
    assert_int_equal(sum6(out + 14, 58, out + 54, 32), 0xffff);
    assert_int_equal(router_rx(r, 0, put_nd(r, 135, "::", "ff02::1:ff00:1", "2001:db8::1")),
                     SIRQ_HANDLED); /* is it free? */
    assert_memory_equal(r->dev[0].sent[1], "\x33\x33\0\0\0\1", 6);
    assert_int_equal(sirq_net_neighbours(r->h.net, NULL), 0);
}

static void discovery_that_is_not_valid_is_dropped(void **state)
{
    struct router *r = *state;
    uint32_t len = put_nd(r, 135, "2001:db8::5", "2001:db8::1", "2001:db8::9");

    assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_ND); /* not for us */
    put_nd(r, 135, "2001:db8::5", "2001:db8::1", "2001:db8::1");
    r->frame[21] = 254; /* through a router */
    assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_ND);
    for (unsigned option = 0; option < 256; option++) { /* its length in units of 8 bytes */
        put_nd(r, 135, "2001:db8::5", "2001:db8::1", "2001:db8::1");
        r->frame[PAYLOAD + 25] = (uint8_t)option;
        put6(r, 0, "2001:db8::5", "2001:db8::1", 58, 32, 2);
        assert_int_equal(router_rx(r, 0, len), option == 1 ? SIRQ_HANDLED : SIRQ_DROP_ND);
    }
    for (uint32_t cut = 8; cut < 24; cut++) {
        put_nd(r, 135, "2001:db8::5", "2001:db8::1", "2001:db8::1");
        assert_int_equal(router_rx(r, 0, put6(r, 0, "2001:db8::5", "2001:db8::1", 58, cut, 2)),
                         SIRQ_DROP_ND);
    }
    assert_int_equal(r->dev[0].nsent, 1);
}

static void ping_asks_for_the_neighbour_and_is_answered(void **state)
{
    static const char *const from[2] = {"2001:db8::5", "fe80::5"}, *const to[2] = {"2001:db8::1",
                                                                                   "fe80::1"};
    struct router *r = *state;

    for (unsigned i = 0; i < 2; i++) {
        const uint8_t *out = r->dev[0].sent[1];
        uint32_t len = put_ping6(r, from[i], to[i], 57);

        test_dev_sent_clear(&r->dev[0]);
        assert_int_equal(router_rx(r, 0, len), SIRQ_HANDLED);
        assert_int_equal(r->dev[0].nsent, 1);
        assert_memory_equal(r->dev[0].sent[0], "\x33\x33\xff\0\0\5", 6);
        assert_int_equal(sum6(r->dev[0].sent[0] + 14, 58, r->dev[0].sent[0] + 54, 32), 0xffff);
        assert_int_equal(router_rx(r, 0, put_nd(r, 136, from[i], to[i], from[i])), SIRQ_HANDLED);
        assert_int_equal(r->dev[0].nsent, 2);
        assert_int_equal(out[54], 129);
        assert_int_equal(sum6(out + 14, 58, out + 54, len - 54), 0xffff);
        put_ping6(r, from[i], to[i], 57);
        assert_memory_equal(out + 58, r->frame + 58, len - 58);
    }
}

static void datagram_is_delivered_with_its_addresses_and_answered(void **state)
{
    const struct sirq_socket_config config = {.v6 = true, .port = 53}, v4 = {.port = 53};
    struct router *r = *state;
    struct sirq_socket *sock, *other;
    struct sirq_ip her = ip6("2001:db8::5"), us = ip6("2001:db8::1");
    uint8_t buf[100];
    struct sirq_msg msg = {.buf = buf, .size = sizeof(buf)};
    const uint8_t *out = r->dev[0].sent[1];

    assert_int_equal(sirq_socket_open(r->h.net, &config, &sock), 0);
    assert_int_equal(sirq_socket_open(r->h.net, &v4, &other), 0);
    assert_int_equal(router_rx(r, 0, put_udp6(r, "2001:db8::5", "2001:db8::1", 33)),
                     SIRQ_DELIVERED);
    assert_int_equal(sirq_recv(other, &msg, 1, 0), -EAGAIN);
    assert_int_equal(sirq_recv(sock, &msg, 1, 0), 1);
    assert_true(msg.len == 33 && buf[0] == 0x77 && buf[32] == 0x77);
    assert_memory_equal(&msg.saddr6, &her, 16);
    assert_memory_equal(&msg.daddr6, &us, 16);
    msg.saddr6 = us;
    msg.daddr6 = her;
    msg.dport = msg.sport;
    assert_int_equal(sirq_send(sock, &msg, 1), 1);
    assert_int_equal(router_rx(r, 0, put_nd(r, 136, "2001:db8::5", "2001:db8::1", "2001:db8::5")),
                     SIRQ_HANDLED);
    assert_int_equal(r->dev[0].sent_len[1], 54 + 8 + 33);
    assert_int_equal(sum6(out + 14, 17, out + 54, 41), 0xffff);
    assert_int_equal(frame_get16(out + 56), 4000);
    sirq_socket_close(sock);
    sirq_socket_close(other);
}

static void header_spoilt_or_cut_has_its_verdict(void **state)
{
    struct router *r = *state;
    uint32_t len = put_udp6(r, "2001:db8::5", "2001:db8::1", 10);

    for (uint32_t cut = 14; cut < len; cut++)
        assert_int_equal(router_rx(r, 0, cut), cut < 54 ? SIRQ_DROP_IP6_SHORT : SIRQ_DROP_IP6_LEN);
    r->frame[14] = 0x45;
    assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_IP6_VERSION);
    assert_int_equal(router_rx(r, 0, put_udp6(r, "ff02::5", "2001:db8::1", 10)), SIRQ_DROP_IP6_SRC);
    assert_int_equal(router_rx(r, 0, put_udp6(r, "::", "2001:db8::1", 10)), SIRQ_DROP_IP6_SRC);
    assert_int_equal(router_rx(r, 0, put_udp6(r, "2001:db8::5", "2001:db8::2", 10)),
                     SIRQ_DROP_IP_DST);
    put_udp6(r, "2001:db8::5", "2001:db8::1", 10);
    frame_put16(r->frame + PAYLOAD + 6, 0); /* no checksum is not for IPv6 */
    assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_UDP_CSUM);
    put_udp6(r, "2001:db8::5", "2001:db8::1", 10);
    r->frame[len - 1] ^= 1;
    assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_UDP_CSUM);
}

/* `n` extension headers of 8 bytes before a datagram. */
static uint32_t put_extensions(struct router *r, uint8_t type, unsigned n)
{
    uint32_t len = put_udp6(r, "2001:db8::5", "2001:db8::1", 10);
    uint8_t *ext = r->frame + PAYLOAD;

    memmove(ext + 8 * n, ext, len - PAYLOAD);
    memset(ext, 0, 8 * n);
    for (unsigned i = 0; i < n; i++) {
        ext[8 * i] = i + 1 < n ? type : 17;
        if (type != 43) { /* PadN */
            ext[8 * i + 2] = 1;
            ext[8 * i + 3] = 4;
        }
    }
    r->frame[20] = type;
    frame_put16(r->frame + 18, len - PAYLOAD + 8 * n);
    return len + 8 * n;
}

static void extension_headers_are_walked_within_bounds(void **state)
{
    struct router *r = *state;
    uint8_t *ext = r->frame + PAYLOAD;
    uint32_t len;

    for (unsigned n = 1; n <= 8; n++)
        assert_int_equal(router_rx(r, 0, put_extensions(r, 60, n)), SIRQ_DROP_UDP_PORT);
    assert_int_equal(router_rx(r, 0, put_extensions(r, 60, 9)), SIRQ_DROP_IP6_EXT);
    assert_int_equal(router_rx(r, 0, put_extensions(r, 0, 1)), SIRQ_DROP_UDP_PORT);
    assert_int_equal(router_rx(r, 0, put_extensions(r, 0, 2)), SIRQ_DROP_IP_PROTO); /* one, first */
    assert_int_equal(router_rx(r, 0, put_extensions(r, 44, 1)), SIRQ_DROP_IP6_FRAG);
    assert_int_equal(router_rx(r, 0, put_extensions(r, 43, 1)), SIRQ_DROP_UDP_PORT);
    len = put_extensions(r, 43, 1);
    ext[3] = 1; /* a segment left */
    assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_IP6_EXT);
    for (unsigned units = 3; units < 256; units++) {
        len = put_extensions(r, 60, 1);
        ext[1] = (uint8_t)units;
        assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_IP6_SHORT);
    }
    for (unsigned option = 0; option < 256; option++) {
        len = put_extensions(r, 60, 1);
        ext[2] = (uint8_t)option;
        assert_int_equal(router_rx(r, 0, len), option < 64 && option != 0 ? SIRQ_DROP_UDP_PORT
                                               : option == 0              ? SIRQ_DROP_UDP_PORT
                                                                          : SIRQ_DROP_IP6_EXT);
        len = put_extensions(r, 60, 1);
        ext[3] = (uint8_t)option; /* the option's length */
        assert_int_equal(router_rx(r, 0, len) == SIRQ_DROP_UDP_PORT, option <= 4);
    }
}

static void datagram_for_another_net_is_forwarded_with_one_hop_less(void **state)
{
    struct router *r = *state;
    uint32_t len = put_udp6(r, "2001:db8::5", "2001:db8:1::5", 20);
    const uint8_t *out = r->dev[1].sent[1];

    sirq_net_set_forwarding(r->h.net, true);
    assert_int_equal(router_rx(r, 0, len), SIRQ_FORWARDED);
    put_nd(r, 136, "2001:db8:1::5", "2001:db8:1::1", "2001:db8:1::5");
    memcpy(r->frame, us_mac[1], 6);
    assert_int_equal(router_rx(r, 1, 86), SIRQ_HANDLED);
    assert_int_equal(r->dev[1].nsent, 2);
    put_udp6(r, "2001:db8::5", "2001:db8:1::5", 20);
    assert_int_equal(out[21], r->frame[21] - 1);
    assert_memory_equal(out + 22, r->frame + 22, len - 22);
    r->frame[21] = 1;
    assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_IP_TTL);
    assert_int_equal(router_rx(r, 0, put_udp6(r, "fe80::5", "2001:db8:1::5", 20)),
                     SIRQ_DROP_IP6_SRC);
    assert_int_equal(router_rx(r, 0, put_udp6(r, "2001:db8::5", "2001:db8:1::5", 1500)),
                     SIRQ_DROP_IP_MTU);
    assert_int_equal(router_rx(r, 0, put_udp6(r, "2001:db8::5", "2001:dead::5", 20)),
                     SIRQ_DROP_IP_ROUTE);
    assert_int_equal(router_stats(r).tx_held - router_stats(r).tx_released, 3); /* the errors */
}

static void address_that_no_wire_may_show_is_dropped(void **state)
{
    static const char *const bad[] = {"::1", "::ffff:10.0.1.5", "::ffff:10.0.0.1"};
    struct router *r = *state;

    sirq_net_set_forwarding(r->h.net, true);
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(router_rx(r, 0, put_udp6(r, bad[i], "2001:db8:1::5", 20)),
                         SIRQ_DROP_IP6_SRC);
        assert_int_equal(router_rx(r, 0, put_ping6(r, bad[i], "2001:db8::1", 20)),
                         SIRQ_DROP_IP6_SRC);
        /* Of IPv4's routes and addresses, which lie in the same table. */
        assert_int_equal(router_rx(r, 0, put_udp6(r, "2001:db8::5", bad[i], 20)), SIRQ_DROP_IP_DST);
    }
    assert_int_equal(r->dev[0].nsent + r->dev[1].nsent, 0);
}

static void checksum_that_was_left_to_a_device_is_filled_in_when_forwarded(void **state)
{
    struct router *r = *state;
    uint32_t len = put_udp6(r, "2001:db8::5", "2001:db8:1::5", 21);
    uint8_t good[FRAME_MAX];

    sirq_net_set_forwarding(r->h.net, true);
    memcpy(good, r->frame, len);
    leave_checksum(r->frame + 54, r->frame + 22, 16);
    assert_memory_not_equal(good, r->frame, len);
    r->dev[0].dev.rx_csum_partial = true;
    assert_int_equal(router_rx(r, 0, len), SIRQ_FORWARDED);
    put_nd(r, 136, "2001:db8:1::5", "2001:db8:1::1", "2001:db8:1::5");
    memcpy(r->frame, us_mac[1], 6);
    assert_int_equal(router_rx(r, 1, 86), SIRQ_HANDLED);
    assert_int_equal(r->dev[1].nsent, 2);
    assert_memory_equal(r->dev[1].sent[1] + 22, good + 22, len - 22);
}

/* Hop-by-hop and destination options before the datagram; then with a length that leads beyond the
 * packet, of which nothing is touched but the hop limit. */
static void checksum_left_to_a_device_is_found_behind_extension_headers(void **state)
{
    static const uint8_t options[24] = {60, 0, 1, 4, 0, 0, 0, 0, 17, 1, 1, 12};
    struct router *r = *state;
    uint32_t len = put_udp6(r, "2001:db8::5", "2001:db8:1::5", 21);
    uint8_t good[FRAME_MAX];

    sirq_net_set_forwarding(r->h.net, true);
    memcpy(good, r->frame + 54, len - 54);
    leave_checksum(r->frame + 54, r->frame + 22, 16);
    memmove(r->frame + 54 + sizeof(options), r->frame + 54, len - 54);
    memcpy(r->frame + 54, options, sizeof(options));
    frame_put16(r->frame + 18, frame_get16(r->frame + 18) + sizeof(options));
    r->frame[20] = 0; /* hop-by-hop */
    r->dev[0].dev.rx_csum_partial = true;
    assert_int_equal(router_rx(r, 0, len + sizeof(options)), SIRQ_FORWARDED);
    r->frame[54 + 8 + 1] = 200;
    assert_int_equal(router_rx(r, 0, len + sizeof(options)), SIRQ_FORWARDED);
    put_nd(r, 136, "2001:db8:1::5", "2001:db8:1::1", "2001:db8:1::5");
    memcpy(r->frame, us_mac[1], 6);
    assert_int_equal(router_rx(r, 1, 86), SIRQ_HANDLED);
    assert_int_equal(r->dev[1].nsent, 3);
    assert_memory_equal(r->dev[1].sent[1] + 54 + sizeof(options), good, len - 54);
    assert_memory_not_equal(r->dev[1].sent[2] + 54 + sizeof(options), good, len - 54);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, router_teardown)
    const struct CMUnitTest tests[] = {
        CASE(solicitation_for_our_address_is_answered),
        CASE(discovery_that_is_not_valid_is_dropped),
        CASE(ping_asks_for_the_neighbour_and_is_answered),
        CASE(datagram_is_delivered_with_its_addresses_and_answered),
        CASE(header_spoilt_or_cut_has_its_verdict),
        CASE(extension_headers_are_walked_within_bounds),
        CASE(datagram_for_another_net_is_forwarded_with_one_hop_less),
        CASE(address_that_no_wire_may_show_is_dropped),
        CASE(checksum_that_was_left_to_a_device_is_filled_in_when_forwarded),
        CASE(checksum_left_to_a_device_is_found_behind_extension_headers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
