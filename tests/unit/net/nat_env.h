/* SPDX-License-Identifier: MIT */
/* The router of inet_env.h with NAT: hosts of 10.0.0.0/24 inside, all else behind 10.0.1.2. */
#ifndef SIRQ_TESTS_NAT_ENV_H
#define SIRQ_TESTS_NAT_ENV_H

#include <sirq/nat.h>

#include "inet_env.h"

#define INSIDE 0u /* devices */
#define OUTSIDE 1u
#define HOST(i) (US4(INSIDE) + (i)) /* i: 1 and 2 */
#define GATEWAY (US4(OUTSIDE) + 1)
#define REMOTE 0x0b000001u
#define IP 14u /* in a frame */

static inline uint32_t hlen_of(const uint8_t *ip)
{
    return (ip[0] & 15u) * 4;
}

/* The sum over a segment; UDP and TCP: with its pseudo-header, alone or not. */
static inline uint16_t l4_sum(const uint8_t *ip, uint32_t len, bool pseudo_only)
{
    static uint8_t sum_of[12 + FRAME_MAX];
    uint32_t l4_len = len - hlen_of(ip);

    if (ip[9] == 1)
        return icmp_sum(ip + hlen_of(ip), l4_len);
    memcpy(sum_of, ip + 12, 8);
    frame_put16(sum_of + 8, ip[9]);
    frame_put16(sum_of + 10, l4_len);
    memcpy(sum_of + 12, ip + hlen_of(ip), l4_len);
    return icmp_sum(sum_of, pseudo_only ? 12 : 12 + l4_len);
}

/* Where the checksum of the transport header lies, or 0. */
static inline uint32_t l4_sum_at(const uint8_t *ip, uint32_t len)
{
    uint32_t at = ip[9] == 17 ? 6 : ip[9] == 6 ? 16 : ip[9] == 1 ? 2 : 0;

    return at != 0 && hlen_of(ip) >= 20 && len >= hlen_of(ip) + at + 2 ? hlen_of(ip) + at : 0;
}

/* Fill in the checksum of the transport header, or leave it to a device, and the IP header's. */
static inline void fix_sums(uint8_t *ip, uint32_t len, bool leave)
{
    uint32_t at = l4_sum_at(ip, len);

    frame_put16(ip + at, 0);
    frame_put16(ip + at, leave ? l4_sum(ip, len, true) : 0xffffu & ~l4_sum(ip, len, false));
    frame_put16(ip + 10, 0);
    frame_put16(ip + 10, 0xffffu & ~icmp_sum(ip, hlen_of(ip)));
}

/* Asked for and answered: packets to it go out at once. */
static inline void nat_neighbour(struct router *r, unsigned dev, uint32_t addr)
{
    router_rx(r, dev, put_ping(r, dev, addr, US4(dev), 8));
    router_resolve(r, dev, addr);
    test_dev_sent_clear(&r->dev[dev]);
}

static inline void nat_start(struct router *r, const struct sirq_nat_config *config)
{
    const struct sirq_route any = {.dst = sirq_ip_v4(0), .gateway = ip4(GATEWAY)};

    sirq_net_set_forwarding(r->h.net, true);
    assert_int_equal(sirq_route_add(r->h.net, &any, NULL), 0);
    nat_neighbour(r, INSIDE, HOST(1));
    nat_neighbour(r, INSIDE, HOST(2));
    nat_neighbour(r, OUTSIDE, GATEWAY);
    assert_int_equal(sirq_nat_set(r->h.net, &r->dev[OUTSIDE].dev, config, NULL), 0);
}

static inline struct sirq_nat_stats nat_stats(const struct router *r)
{
    struct sirq_nat_stats stats;

    sirq_nat_stats(r->h.net, &stats);
    return stats;
}

/* The packet that left by `dev`, alone, since the last look; its sums are right. */
static inline const uint8_t *nat_sent(struct router *r, unsigned dev)
{
    static uint8_t frame[TEST_TX_FRAME];
    const uint8_t *ip = frame + IP;
    uint32_t len;

    assert_int_equal(r->dev[dev].nsent, 1);
    assert_int_equal(r->dev[!dev].nsent, 0);
    memcpy(frame, r->dev[dev].sent[0], TEST_TX_FRAME);
    len = frame_get16(ip + 2);
    assert_int_equal(r->dev[dev].sent_len[0], IP + len);
    assert_int_equal(icmp_sum(ip, hlen_of(ip)), 0xffff);
    if (ip[9] != 17 || frame_get16(ip + hlen_of(ip) + 6) != 0)
        assert_int_equal(l4_sum(ip, len, false), 0xffff);
    test_dev_sent_clear(&r->dev[dev]);
    return ip;
}

static inline void assert_addrs(const uint8_t *ip, uint32_t from, uint32_t to)
{
    assert_int_equal(frame_net32(from), *(const uint32_t *)memcpy(&(uint32_t){0}, ip + 12, 4));
    assert_int_equal(frame_net32(to), *(const uint32_t *)memcpy(&(uint32_t){0}, ip + 16, 4));
}

static inline void assert_ports(const uint8_t *l4, uint32_t from, uint32_t to)
{
    assert_int_equal(frame_get16(l4), from);
    assert_int_equal(frame_get16(l4 + 2), to);
}

/* A datagram from `from` to `to`, to be given to router_rx(). */
static inline uint32_t nat_udp(struct router *r, unsigned dev, uint32_t from, uint16_t sport,
                               uint32_t to, uint16_t dport)
{
    const struct frame_spec spec = {
        .saddr = from, .daddr = to, .sport = sport, .dport = dport, .payload = 33};
    uint32_t len = frame_build(r->frame, &spec);

    put_macs(r, dev, dev == INSIDE ? from : GATEWAY);
    return len;
}

static inline enum sirq_drop nat_out(struct router *r, uint32_t host, uint16_t sport, uint32_t to,
                                     uint16_t dport)
{
    return router_rx(r, INSIDE, nat_udp(r, INSIDE, host, sport, to, dport));
}

/* From REMOTE's `sport` to the outside address. */
static inline enum sirq_drop nat_back(struct router *r, uint16_t sport, uint16_t dport)
{
    return router_rx(r, OUTSIDE, nat_udp(r, OUTSIDE, REMOTE, sport, US4(OUTSIDE), dport));
}

#define TCP_FIN 1u
#define TCP_SYN 2u
#define TCP_RST 4u
#define TCP_ACK 16u

/* A segment with `options` (of 8 bytes, or none) and 5 bytes of data. */
static inline uint32_t nat_tcp(struct router *r, unsigned dev, uint16_t port, uint8_t flags,
                               const uint8_t *options)
{
    const uint32_t from = dev == INSIDE ? HOST(1) : REMOTE;
    uint8_t *ip = r->frame + IP, *tcp = ip + 20;
    uint32_t size = options != NULL ? 8 : 0, len = 20 + 20 + size + 5;

    nat_udp(r, dev, from, dev == INSIDE ? port : 80, dev == INSIDE ? REMOTE : US4(OUTSIDE),
            dev == INSIDE ? 80 : port);
    frame_put16(ip + 2, len);
    ip[9] = 6;
    memset(tcp + 4, 0, 16);
    tcp[12] = (uint8_t)(0x50 + size * 4);
    tcp[13] = flags;
    if (options != NULL)
        memcpy(tcp + 20, options, size);
    memcpy(tcp + 20 + size, "hello", 5);
    fix_sums(ip, len, false);
    return IP + len;
}

#endif
