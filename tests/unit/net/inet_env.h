/* SPDX-License-Identifier: MIT */
/* A router of two test devices: 10.0.0.1/24 on the one, 10.0.1.1/24 on the other. */
#ifndef SIRQ_TESTS_INET_ENV_H
#define SIRQ_TESTS_INET_ENV_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sirq/inet.h>

#include "frames.h"
#include "net_host.h"

#define US4(dev) (0x0a000001u + 256 * (dev)) /* our address on a device, host order */
#define SECOND UINT64_C(1000000000)

struct router {
    struct net_host h;
    struct test_dev dev[2];
    uint8_t frame[FRAME_MAX];
};

static const uint8_t us_mac[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};
static const uint8_t all_mac[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* The MAC of a neighbour, made from the end of its address. */
static inline void mac_of(uint32_t addr, uint8_t mac[6])
{
    mac[0] = 6;
    mac[1] = 0;
    frame_put32(mac + 2, addr);
}

static inline struct sirq_ip ip4(uint32_t addr)
{
    return sirq_ip_v4(frame_net32(addr));
}

static inline int router_setup(void **state)
{
    struct router *r = aligned_alloc(64, (sizeof(*r) + 63) & ~(size_t)63);

    memset(r, 0, sizeof(*r));
    net_host_init(&r->h, NULL);
    for (unsigned i = 0; i < 2; i++) {
        struct sirq_ip addr = ip4(US4(i));

        test_dev_open(&r->dev[i], &r->h);
        assert_int_equal(sirq_netdev_set_mac(&r->dev[i].dev, us_mac[i], NULL), 0);
        assert_int_equal(sirq_netdev_addr_add(&r->dev[i].dev, &addr, 24, NULL), 0);
    }
    *state = r;
    return 0;
}

static inline int router_teardown(void **state)
{
    struct router *r = *state;

    for (unsigned i = 0; i < 2; i++)
        test_dev_close(&r->dev[i], &r->h.cpu[0]);
    net_host_fini(&r->h);
    free(r);
    return 0;
}

/* `len` bytes of r->frame in at a device, in memory that ends where they do. */
static inline enum sirq_drop router_rx(struct router *r, unsigned dev, uint32_t len)
{
    uint8_t *exact = malloc(len != 0 ? len : 1);
    enum sirq_drop verdict;

    memcpy(exact, r->frame, len);
    verdict = test_dev_rx(&r->dev[dev], &r->h.cpu[0], exact, len);
    free(exact);
    net_host_check_sums(&r->h);
    return verdict;
}

/* The frame from `from`, a neighbour on the device, to us. */
static inline void put_macs(struct router *r, unsigned dev, uint32_t from)
{
    memcpy(r->frame, us_mac[dev], 6);
    mac_of(from, r->frame + 6);
}

static inline uint32_t put_arp(struct router *r, unsigned dev, uint32_t op, uint32_t from,
                               uint32_t to)
{
    static const uint8_t head[6] = {0, 1, 8, 0, 6, 4};
    uint8_t *arp = r->frame + 14;

    memcpy(r->frame, op == 1 ? all_mac : us_mac[dev], 6);
    mac_of(from, r->frame + 6);
    frame_put16(r->frame + 12, 0x0806);
    memcpy(arp, head, 6);
    frame_put16(arp + 6, op);
    mac_of(from, arp + 8);
    frame_put32(arp + 14, from);
    memset(arp + 18, 0, 6);
    frame_put32(arp + 24, to);
    return 14 + 28;
}

/* A datagram to `to`, by us. */
static inline uint32_t put_udp(struct router *r, unsigned dev, uint32_t from, uint32_t to)
{
    const struct frame_spec spec = {.saddr = from, .daddr = to, .payload = 32};
    uint32_t len = frame_build(r->frame, &spec);

    put_macs(r, dev, from);
    return len;
}

static inline uint16_t icmp_sum(const uint8_t *p, uint32_t len)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < len; i++)
        sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

static inline uint32_t put_ping(struct router *r, unsigned dev, uint32_t from, uint32_t to,
                                uint32_t payload)
{
    const struct frame_spec spec = {.saddr = from, .daddr = to, .payload = payload};
    uint32_t len = frame_build(r->frame, &spec);
    uint8_t *icmp = r->frame + 34;

    put_macs(r, dev, from);
    r->frame[23] = 1;
    frame_fix_ip(r->frame);
    icmp[0] = 8;
    icmp[1] = 0;
    frame_put16(icmp + 2, 0);
    frame_put32(icmp + 4, 0x12340001);
    frame_put16(icmp + 2, 0xffffu & ~icmp_sum(icmp, 8 + payload));
    return len;
}

/*
 * The checksum of the datagram at `udp` as a kernel leaves it to a device: the sum of the
 * pseudo-header, of two addresses of `size` bytes each at `addrs`.
 */
static inline void leave_checksum(uint8_t *udp, const uint8_t *addrs, uint32_t size)
{
    uint8_t pseudo[40] = {0};

    memcpy(pseudo, addrs, (size_t)2 * size);
    pseudo[2 * size + 1] = 17;
    memcpy(pseudo + 2 * size + 2, udp + 4, 2);
    frame_put16(udp + 6, icmp_sum(pseudo, 2 * size + 4));
}

/* The neighbour answers for its address: it is known from here on. */
static inline void router_resolve(struct router *r, unsigned dev, uint32_t addr)
{
    assert_int_equal(router_rx(r, dev, put_arp(r, dev, 2, addr, US4(dev))), SIRQ_HANDLED);
}

static inline struct sirq_net_stats router_stats(const struct router *r)
{
    struct sirq_net_stats stats;

    sirq_net_stats_sum(r->h.net, &stats);
    return stats;
}

#endif
