/* SPDX-License-Identifier: MIT */
/*
 * inet.h - what the files of the host and router side of src/net share: addresses, headers,
 * routes, neighbours.
 *
 * Packets that we make or forward are built in a packet buffer with the IP header at
 * data[SIRQ_TX_L3] and pkt->len bytes from there; sirq_ip_output() puts the Ethernet header
 * before it.
 */
#ifndef SIRQ_NET_INET_H
#define SIRQ_NET_INET_H

#ifndef SIRQ_NET_INTERNAL
#error "src/net/inet.h is private to src/net"
#endif

#include <string.h>

#include <sirq/inet.h>
#include <sirq/timer.h>

#include "private.h"

#define SIRQ_ETH_HLEN 14u
#define SIRQ_ETH_IPV4 0x0800u
#define SIRQ_ETH_ARP 0x0806u
#define SIRQ_ETH_VLAN 0x8100u
#define SIRQ_ETH_IPV6 0x86ddu
#define SIRQ_IP4_HLEN 20u
#define SIRQ_IP6_HLEN 40u
#define SIRQ_PROTO_ICMP 1u
#define SIRQ_PROTO_UDP 17u
#define SIRQ_PROTO_ICMP6 58u
#define SIRQ_UDP_HLEN 8u
#define SIRQ_TTL 64u /* of what we send; RFC 1700 */

/* Room for the Ethernet header and a tag; the IP header begins a cache line. */
#define SIRQ_TX_L3 36u
_Static_assert(SIRQ_TX_L3 + SIRQ_MTU_MAX <= SIRQ_PKT_ROOM, "the longest packet fits");
_Static_assert(SIRQ_TX_L3 + SIRQ_IP6_HLEN + SIRQ_UDP_HLEN <= SIRQ_PKT_ROOM - SIRQ_PKT_PAYLOAD_MAX,
               "the longest datagram fits");

static inline uint32_t sirq_load16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static inline void sirq_store16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static inline uint32_t sirq_load32(const uint8_t *p)
{
    return sirq_load16(p) << 16 | sirq_load16(p + 2);
}

static inline void sirq_store32(uint8_t *p, uint32_t v)
{
    sirq_store16(p, v >> 16);
    sirq_store16(p + 2, v & 0xffff);
}

/* As it stands in memory: network order. */
static inline uint32_t sirq_load32_net(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static inline struct sirq_ip sirq_load_ip6(const uint8_t *p)
{
    struct sirq_ip ip;

    memcpy(&ip, p, sizeof(ip));
    return ip;
}

static inline bool sirq_ip_equal(const struct sirq_ip *a, const struct sirq_ip *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static inline bool sirq_ip_none(const struct sirq_ip *ip)
{
    static const struct sirq_ip none;

    return sirq_ip_equal(ip, &none);
}

static inline bool sirq_ip_is_v4(const struct sirq_ip *ip)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

    return memcmp(ip, mapped, sizeof(mapped)) == 0;
}

/* 224.0.0.0/4, ff00::/8; and the broadcast of all nets. */
static inline bool sirq_ip_multicast(const struct sirq_ip *ip)
{
    if (sirq_ip_is_v4(ip))
        return (ip->b[12] & 0xf0) == 0xe0 || sirq_load32(ip->b + 12) == UINT32_MAX;
    return ip->b[0] == 0xff;
}

/* fe80::/10; 169.254.0.0/16 is not treated as such. */
static inline bool sirq_ip_link_local(const struct sirq_ip *ip)
{
    return ip->b[0] == 0xfe && (ip->b[1] & 0xc0) == 0x80;
}

/* ---- routes (fib.c, inet.c) ------------------------------------------------------------- */

enum sirq_hop_type {
    SIRQ_HOP_LOCAL,     /* an address of ours */
    SIRQ_HOP_BROADCAST, /* of one of our prefixes */
    SIRQ_HOP_LINK,      /* a neighbour */
    SIRQ_HOP_GATEWAY    /* by a neighbour */
};

struct sirq_hop {
    struct sirq_ip dst;
    struct sirq_ip gateway;
    struct sirq_ip src; /* our address towards it; LOCAL: itself */
    struct sirq_netdev *dev;
    uint8_t plen; /* of 128 bits */
    uint8_t type; /* enum sirq_hop_type */
};

/* The hop of the longest prefix of `addr`, or null.  Valid until the caller's softirq or
 * bottom-half section ends.  fib may be null. */
const struct sirq_hop *sirq_fib_lookup(const struct sirq_fib *fib, const struct sirq_ip *addr);

/* An address of ours on `dev` to ask the neighbour `addr` from, or none. */
struct sirq_ip sirq_fib_source(const struct sirq_fib *fib, const struct sirq_netdev *dev,
                               const struct sirq_ip *addr);

/* A table of n hops; the first of equal prefixes counts.  Null: out of memory. */
struct sirq_fib *sirq_fib_build(const struct sirq_hop *hops, uint32_t n);
const struct sirq_hop *sirq_fib_hops(const struct sirq_fib *fib, uint32_t *n);
size_t sirq_fib_bytes(uint32_t n);
struct sirq_ip sirq_ip_masked(const struct sirq_ip *ip, unsigned plen);

static inline const struct sirq_hop *sirq_route_lookup(const struct sirq_net *net,
                                                       const struct sirq_ip *addr)
{
    return sirq_fib_lookup(__atomic_load_n(&net->fib, __ATOMIC_ACQUIRE), addr);
}

void sirq_inet_forget(struct sirq_netdev *dev);
void sirq_inet_fini(struct sirq_net *net);

/* ---- neighbours (neigh.c) ----------------------------------------------------------------- */

int sirq_neigh_init(struct sirq_net *net);
void sirq_neigh_fini(struct sirq_net *net);
/* Task context; nobody arms it any more.  It runs on no CPU when this returns. */
void sirq_net_timer_stop(struct sirq_core *core, struct sirq_timer *timer);
/* In sirq_synchronize_call(): every entry of the device (data) goes, and what waits for it. */
void sirq_neigh_forget(struct sirq_cpu *cpu, void *data);

/* Send the packet in `idx` to `next` on `dev`, asking for its MAC first if need be. */
void sirq_neigh_output(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                       const struct sirq_ip *next, uint32_t idx);

/* `addr` on `dev` said that it has `mac`.  Only those that are known or asked for are noted. */
void sirq_neigh_update(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                       const struct sirq_ip *addr, const uint8_t mac[6]);

/* ---- going up, cold ----------------------------------------------------------------------- */

/* Not plain IPv4.  *hlen: 0: it had its verdict, the one returned; else IPv4 begins there. */
enum sirq_drop sirq_eth_other(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_rx *rx,
                              uint32_t *hlen);
enum sirq_drop sirq_arp_rx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, const struct sirq_rx *rx);
enum sirq_drop sirq_ip4_fragment(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_rx *rx,
                                 uint32_t total);
/* The destination is not the device's own address: SIRQ_DELIVERED: for us nevertheless. */
enum sirq_drop sirq_ip4_route(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                              const struct sirq_rx *rx);
enum sirq_drop sirq_ip4_other(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                              const struct sirq_rx *rx, uint8_t proto);
enum sirq_drop sirq_icmp_rx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                            const struct sirq_rx *rx);

/* 224.0.0.0/4, broadcast, 127.0.0.0/8.  Network order. */
static inline bool sirq_ip4_source_bad(uint32_t saddr)
{
    uint8_t first;

    memcpy(&first, &saddr, 1);
    return (first & 0xf0) == 0xe0 || first == 127 || saddr == UINT32_MAX;
}

/*
 * Is the frame (of at least 14 bytes) for another Ethernet address?  A device without one takes
 * all.  Eight bytes are loaded of both, the last two are shifted out.
 */
static inline bool sirq_eth_foreign(const struct sirq_netdev *dev, const uint8_t *eth)
{
    uint64_t ours, theirs;

    memcpy(&ours, (const uint8_t *)dev + offsetof(struct sirq_netdev, mac), 8);
    memcpy(&theirs, eth, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (ours ^ theirs) << 16 != 0 && ours << 16 != 0 && (eth[0] & 1) == 0;
#else
    return (ours ^ theirs) >> 16 != 0 && ours >> 16 != 0 && (eth[0] & 1) == 0;
#endif
}

/* ---- ICMP errors (icmp.c) --------------------------------------------------------------- */

#define SIRQ_ICMP_UNREACH 3u
#define SIRQ_ICMP_UNREACH_NET 0u
#define SIRQ_ICMP_UNREACH_HOST 1u
#define SIRQ_ICMP_UNREACH_PROTO 2u
#define SIRQ_ICMP_UNREACH_PORT 3u
#define SIRQ_ICMP_UNREACH_FRAG 4u
#define SIRQ_ICMP_TIME 11u

/* Tell the source of the packet at rx->ip, unless that must not be, or too many were told. */
void sirq_icmp_error(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, const struct sirq_rx *rx,
                     uint8_t type, uint8_t code, uint32_t info);
/* May another error be sent?  Takes one from this CPU's share, or counts. */
bool sirq_icmp_allowed(struct sirq_cpu *cpu, struct sirq_net_cpu *nc);

#define SIRQ_ICMP6_UNREACH 1u
#define SIRQ_ICMP6_UNREACH_PORT 4u
#define SIRQ_ICMP6_TOO_BIG 2u
#define SIRQ_ICMP6_TIME 3u

/* icmp6.c: the same, of a packet at rx->ip that is IPv6 */
void sirq_icmp6_error(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, const struct sirq_rx *rx,
                      uint8_t type, uint8_t code, uint32_t info);
enum sirq_drop sirq_icmp6_rx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                             const struct sirq_rx *rx);

/* ip6.c */
enum sirq_drop sirq_ip6_rx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_rx *rx);
/* Where the upper layer's header begins in a packet of `len` bytes, and which that is; what the
 * extension headers ask for is not looked at.  0: a fragment, cut, or too many. */
uint32_t sirq_ip6_upper(const uint8_t *ip, uint32_t len, uint8_t *proto);
/* The folded sum of a segment and its pseudo-header, from the packet at `ip`; memory order. */
uint16_t sirq_ip6_csum(const uint8_t *ip, uint8_t proto, const uint8_t *segment, uint32_t len);

/* forward.c */
enum sirq_drop sirq_ip6_forward(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                                const struct sirq_rx *rx, const struct sirq_hop *hop);
enum sirq_drop sirq_ip4_forward(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                                const struct sirq_rx *rx, const struct sirq_hop *hop);

/* ---- going down --------------------------------------------------------------------------- */

/* EtherType of the packet in a buffer to be sent. */
static inline uint32_t sirq_pkt_type(const struct sirq_pkt *pkt)
{
    return pkt->data[SIRQ_TX_L3] >> 4 == 4 ? SIRQ_ETH_IPV4 : SIRQ_ETH_IPV6;
}

/* A buffer for a packet to be sent, or null. */
struct sirq_pkt *sirq_tx_alloc(struct sirq_net_cpu *nc, uint32_t *idx);

/* Send the IP packet in `idx` (see above) to `dst`: route, neighbour, device. */
void sirq_ip_output(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, const struct sirq_ip *dst,
                    uint32_t idx);
/* The same where the hop is known. */
void sirq_hop_output(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, const struct sirq_hop *hop,
                     const struct sirq_ip *dst, uint32_t idx);

/* The Ethernet header before what lies at data[SIRQ_TX_L3], and off to the device. */
void sirq_eth_output(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                     const uint8_t mac[6], uint32_t type, uint32_t idx);

/* An IPv4 header of 20 bytes for pkt->len bytes in all, checksum filled in. */
void sirq_ip4_header(struct sirq_pkt *pkt, uint32_t saddr, uint32_t daddr, uint8_t proto);

/* An IPv6 header for pkt->len bytes in all. */
void sirq_ip6_header(struct sirq_pkt *pkt, const struct sirq_ip *src, const struct sirq_ip *dst,
                     uint8_t proto, uint8_t hops);

void sirq_nd_solicit(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                     const struct sirq_ip *addr, const uint8_t *mac);
/* Ask for the MAC of `addr`: all, or with a mac that one. */
void sirq_arp_request(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                      const struct sirq_ip *addr, const uint8_t *mac);

#endif
