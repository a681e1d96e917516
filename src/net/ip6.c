/* SPDX-License-Identifier: MIT */
/*
 * ip6.c - IPv6 packets on their way up (RFC 8200): header, extension headers, where they go.
 *
 * At most EXT_MAX extension headers are walked, and none may reach beyond the packet.  Fragments
 * are not reassembled; a routing header must have no segments left (RFC 5095); an option that
 * we do not know refuses the packet when its type says so.
 */
#define SIRQ_NET_INTERNAL
#include "checksum.h"
#include "inet.h"

#define EXT_MAX 8u
#define NEXT_HOP_BY_HOP 0u
#define NEXT_ROUTING 43u
#define NEXT_FRAGMENT 44u
#define NEXT_DEST_OPTIONS 60u

uint16_t sirq_ip6_csum(const uint8_t *ip, uint8_t proto, const uint8_t *segment, uint32_t len)
{
    const uint8_t tail[8] = {0, 0, (uint8_t)(len >> 8), (uint8_t)len, 0, 0, 0, proto};
    uint64_t sum = sirq_csum_add(0, ip + 8, 32);

    sum = sirq_csum_add(sum, tail, sizeof(tail));
    return sirq_csum_fold(sirq_csum_add(sum, segment, len));
}

uint32_t sirq_ip6_upper(const uint8_t *ip, uint32_t len, uint8_t *proto)
{
    uint8_t next = ip[6];
    uint32_t at = SIRQ_IP6_HLEN;

    for (unsigned i = 0; i <= EXT_MAX && next != NEXT_FRAGMENT; i++) {
        if (next != NEXT_HOP_BY_HOP && next != NEXT_ROUTING && next != NEXT_DEST_OPTIONS) {
            *proto = next;
            return at;
        }
        if (len - at < 8 || (ip[at + 1] + 1u) * 8 > len - at)
            return 0;
        next = ip[at];
        at += (ip[at + 1] + 1u) * 8;
    }
    return 0;
}

/* Options of a hop-by-hop or destination header; false: they refuse the packet. */
static bool options_good(const uint8_t *p, uint32_t len)
{
    uint32_t at = 2;

    while (at < len) {
        uint8_t type = p[at];

        if (type == 0) { /* Pad1 */
            at++;
            continue;
        }
        if (at + 2 > len || at + 2 + p[at + 1] > len || (type & 0xc0) != 0)
            return false;
        at += 2u + p[at + 1];
    }
    return true;
}

/* Behind the extension headers: the protocol in *proto. */
static enum sirq_drop skip_extensions(struct sirq_rx *rx, uint8_t *proto)
{
    uint8_t next = rx->ip[6];

    for (unsigned i = 0; i <= EXT_MAX; i++) {
        uint32_t len;

        if (next == NEXT_FRAGMENT)
            return SIRQ_DROP_IP6_FRAG;
        if (next != NEXT_ROUTING && next != NEXT_DEST_OPTIONS &&
            (next != NEXT_HOP_BY_HOP || i != 0)) {
            *proto = next;
            return SIRQ_DELIVERED;
        }
        if (rx->len < 8)
            return SIRQ_DROP_IP6_SHORT;
        len = (rx->data[1] + 1u) * 8;
        if (len > rx->len)
            return SIRQ_DROP_IP6_SHORT;
        if (next == NEXT_ROUTING ? rx->data[3] != 0 : !options_good(rx->data, len))
            return SIRQ_DROP_IP6_EXT;
        next = rx->data[0];
        rx->data += len;
        rx->len -= len;
    }
    return SIRQ_DROP_IP6_EXT;
}

static enum sirq_drop header_check(struct sirq_rx *rx)
{
    uint32_t len;

    if (rx->len < SIRQ_IP6_HLEN)
        return SIRQ_DROP_IP6_SHORT;
    if (rx->data[0] >> 4 != 6)
        return SIRQ_DROP_IP6_VERSION;
    len = sirq_load16(rx->data + 4);
    if (len > rx->len - SIRQ_IP6_HLEN)
        return SIRQ_DROP_IP6_LEN;
    rx->ip = rx->data;
    rx->ip_len = SIRQ_IP6_HLEN + len;
    rx->data += SIRQ_IP6_HLEN;
    rx->len = len;
    return SIRQ_DELIVERED;
}

/* For us? */
static enum sirq_drop destination(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                                  const struct sirq_rx *rx)
{
    const struct sirq_ip dst = sirq_load_ip6(rx->ip + 24);
    const struct sirq_hop *hop;

    if (__atomic_load_n(&nc->net->fib, __ATOMIC_RELAXED) == NULL || sirq_ip_multicast(&dst))
        return SIRQ_DELIVERED;
    hop = sirq_route_lookup(nc->net, &dst);
    if (hop != NULL && hop->type == SIRQ_HOP_LOCAL)
        return SIRQ_DELIVERED;
    if (!__atomic_load_n(&nc->net->forwarding, __ATOMIC_RELAXED) || (rx->eth[0] & 1) ||
        sirq_ip_link_local(&dst))
        return SIRQ_DROP_IP_DST;
    return sirq_ip6_forward(cpu, nc, rx, hop);
}

/* ---- UDP ------------------------------------------------------------------------------ */

/* The addresses go before the payload, wherever it lies. */
static enum sirq_drop queue_packet(struct sirq_net_cpu *nc, struct sirq_socket *sock,
                                   const struct sirq_rx *rx)
{
    struct sirq_pool *pool = &nc->net->pool;
    struct sirq_pkt *pkt = nc->in_place;
    uint32_t idx, off = 32;

    if (rx->len > SIRQ_PKT_PAYLOAD_MAX)
        return SIRQ_DROP_OVERSIZE;
    if (sirq_ring_full(&sock->queue))
        return SIRQ_DROP_SOCKET_FULL;
    if (pkt != NULL) {
        idx = (uint32_t)(pkt - pool->pkts);
        off = (uint32_t)(rx->data - pkt->data);
        memmove(pkt->data + off - 32, rx->ip + 8, 32);
    } else {
        idx = sirq_pool_get_local(pool, &nc->cache);
        if (idx == SIRQ_POOL_NIL)
            return SIRQ_DROP_NO_BUFFER;
        pkt = &pool->pkts[idx];
        memcpy(pkt->data, rx->ip + 8, 32);
        memcpy(pkt->data + 32, rx->data, rx->len);
    }
    pkt->rx_ns = rx->rx_ns;
    pkt->sport = rx->sport;
    pkt->dport = rx->dport;
    pkt->len = (uint16_t)rx->len;
    pkt->hash = rx->hash;
    pkt->off = off & 0x7fff;
    pkt->v6 = 1;
    if (sirq_ring_put(&sock->queue, idx))
        return SIRQ_DELIVERED;
    if (nc->in_place == NULL)
        sirq_pool_put_local(pool, &nc->cache, idx);
    return SIRQ_DROP_SOCKET_FULL;
}

static enum sirq_drop socket_rx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_rx *rx)
{
    const struct sirq_ip dst = sirq_load_ip6(rx->ip + 24);
    struct sirq_socket *sock = sirq_table_lookup6(&nc->net->table6, &dst, rx->dport);
    enum sirq_drop verdict;

    if (sock == NULL) {
        sirq_icmp6_error(cpu, nc, rx, SIRQ_ICMP6_UNREACH, SIRQ_ICMP6_UNREACH_PORT, 0);
        return SIRQ_DROP_UDP_PORT;
    }
    verdict = queue_packet(nc, sock, rx);
    sirq_feed_verdict(nc, &sock->feed[cpu->id], rx, verdict);
    return verdict;
}

static enum sirq_drop udp_rx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_rx *rx)
{
    uint32_t len;

    if (rx->len < SIRQ_UDP_HLEN)
        return SIRQ_DROP_UDP_SHORT;
    len = sirq_load16(rx->data + 4);
    if (len < SIRQ_UDP_HLEN || len > rx->len)
        return SIRQ_DROP_UDP_LEN;
    /* IPv6 has no header checksum: one of zero is not accepted (RFC 8200, 8.1). */
    if (!rx->csum_partial && (sirq_load16(rx->data + 6) == 0 ||
                              sirq_ip6_csum(rx->ip, SIRQ_PROTO_UDP, rx->data, len) != 0xffff))
        return SIRQ_DROP_UDP_CSUM;
    rx->sport = (uint16_t)sirq_load16(rx->data);
    rx->dport = (uint16_t)sirq_load16(rx->data + 2);
    rx->data += SIRQ_UDP_HLEN;
    rx->len = len - SIRQ_UDP_HLEN;
    return socket_rx(cpu, nc, rx);
}

/*
 * Addresses that no wire may show: ::1 (RFC 4291, 2.5.3), and those that stand for IPv4 ones here,
 * which would find IPv4's routes and neighbours (RFC 4942, 2.2).
 */
static bool never_on_a_wire(const struct sirq_ip *ip)
{
    static const struct sirq_ip loopback = {{[15] = 1}};

    return sirq_ip_is_v4(ip) || sirq_ip_equal(ip, &loopback);
}

enum sirq_drop sirq_ip6_rx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_rx *rx)
{
    enum sirq_drop drop = header_check(rx);
    struct sirq_ip src, dst;
    uint8_t proto;

    if (drop != SIRQ_DELIVERED)
        return drop;
    src = sirq_load_ip6(rx->ip + 8);
    if (sirq_ip_multicast(&src) || never_on_a_wire(&src))
        return SIRQ_DROP_IP6_SRC;
    dst = sirq_load_ip6(rx->ip + 24);
    if (never_on_a_wire(&dst))
        return SIRQ_DROP_IP_DST;
    drop = destination(cpu, nc, rx);
    if (drop != SIRQ_DELIVERED)
        return drop;
    drop = skip_extensions(rx, &proto);
    if (drop != SIRQ_DELIVERED)
        return drop;
    if (proto == SIRQ_PROTO_ICMP6 && __atomic_load_n(&nc->net->fib, __ATOMIC_RELAXED) != NULL)
        return sirq_icmp6_rx(cpu, nc, rx);
    if (sirq_ip_none(&src)) /* a host without an address has nothing else to say */
        return SIRQ_DROP_IP6_SRC;
    return proto == SIRQ_PROTO_UDP ? udp_rx(cpu, nc, rx) : SIRQ_DROP_IP_PROTO;
}
