/* SPDX-License-Identifier: MIT */
/*
 * proto.c - a frame on its way up: Ethernet, IPv4, UDP, socket queue.
 *
 * A frame is parsed in place and not trusted: `len` bytes at `data` shrink layer by layer,
 * and nothing is read that a check against len has not covered.  Frames start anywhere,
 * so every load goes through memcpy.  The order of checks is the order of the list of
 * drops in net.h; every frame ends in exactly one verdict.
 *
 * Only what will be queued is copied: a full queue is seen before a buffer is taken,
 * because under a flood most packets end there.
 */
#define SIRQ_NET_INTERNAL
#include <string.h>

#include "checksum.h"
#include "inet.h"
#include "nat.h"
#include "private.h"

#define IP_FRAG_MASK 0x3fffu /* more fragments, and the offset */

static void fill_header(struct sirq_pkt *pkt, const struct sirq_rx *rx)
{
    pkt->rx_ns = rx->rx_ns;
    pkt->saddr = rx->saddr;
    pkt->daddr = rx->daddr;
    pkt->sport = rx->sport;
    pkt->dport = rx->dport;
    pkt->len = (uint16_t)rx->len;
    pkt->hash = rx->hash;
}

/* Queue the buffer that holds the frame; it stays the caller's unless delivered. */
static __attribute__((noinline)) enum sirq_drop
queue_in_place(struct sirq_net_cpu *nc, struct sirq_socket *sock, const struct sirq_rx *rx)
{
    struct sirq_pkt *pkt = nc->in_place;

    if (sirq_ring_full(&sock->queue))
        return SIRQ_DROP_SOCKET_FULL;
    if (rx->len > SIRQ_PKT_PAYLOAD_MAX)
        return SIRQ_DROP_OVERSIZE;
    fill_header(pkt, rx);
    pkt->place = 0;
    pkt->off = (uint16_t)(rx->data - pkt->data) & 0x7fff;
    if (!sirq_ring_put(&sock->queue, (uint32_t)(pkt - nc->net->pool.pkts)))
        return SIRQ_DROP_SOCKET_FULL;
    return SIRQ_DELIVERED;
}

/* Copy the payload into a buffer and queue that. */
static enum sirq_drop queue_packet(struct sirq_net_cpu *nc, struct sirq_socket *sock,
                                   const struct sirq_rx *rx)
{
    struct sirq_pool *pool = &nc->net->pool;
    struct sirq_pkt *pkt;
    uint32_t idx;

    if (__builtin_expect(nc->in_place != NULL, 0))
        return queue_in_place(nc, sock, rx);
    if (sirq_ring_full(&sock->queue))
        return SIRQ_DROP_SOCKET_FULL;
    idx = sirq_pool_get_local(pool, &nc->cache);
    if (idx == SIRQ_POOL_NIL)
        return SIRQ_DROP_NO_BUFFER;
    if (rx->len > SIRQ_PKT_PAYLOAD_MAX) {
        sirq_pool_put_local(pool, &nc->cache, idx);
        return SIRQ_DROP_OVERSIZE;
    }
    pkt = &pool->pkts[idx];
    fill_header(pkt, rx);
    pkt->place = 0;
    memcpy(pkt->data, rx->data, rx->len);
    if (sirq_ring_put(&sock->queue, idx))
        return SIRQ_DELIVERED;
    sirq_pool_put_local(pool, &nc->cache, idx); /* another CPU was quicker */
    return SIRQ_DROP_SOCKET_FULL;
}

static enum sirq_drop socket_rx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                                const struct sirq_rx *rx)
{
    struct sirq_socket *sock = sirq_table_lookup(&nc->net->table, rx->daddr, rx->dport);
    enum sirq_drop verdict;

    if (__builtin_expect(sock == NULL, 0)) {
        sirq_icmp_error(cpu, nc, rx, SIRQ_ICMP_UNREACH, SIRQ_ICMP_UNREACH_PORT, 0);
        return SIRQ_DROP_UDP_PORT;
    }
    verdict = queue_packet(nc, sock, rx);
    sirq_feed_verdict(nc, &sock->feed[cpu->id], rx, verdict);
    return verdict;
}

/* 0 in the checksum field: the sender made none. */
static bool udp_csum_ok(const struct sirq_rx *rx, uint32_t udp_len)
{
    if (rx->csum_partial || sirq_load16(rx->data + 6) == 0)
        return true;
    return sirq_csum_pseudo(rx->saddr, rx->daddr, SIRQ_PROTO_UDP, rx->data, udp_len) == 0xffff;
}

static enum sirq_drop udp_rx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_rx *rx)
{
    uint32_t udp_len;

    if (rx->len < SIRQ_UDP_HLEN)
        return SIRQ_DROP_UDP_SHORT;
    udp_len = sirq_load16(rx->data + 4);
    if (udp_len < SIRQ_UDP_HLEN || udp_len > rx->len)
        return SIRQ_DROP_UDP_LEN;
    if (!udp_csum_ok(rx, udp_len))
        return SIRQ_DROP_UDP_CSUM;
    rx->sport = (uint16_t)sirq_load16(rx->data);
    rx->dport = (uint16_t)sirq_load16(rx->data + 2);
    rx->data += SIRQ_UDP_HLEN;
    rx->len = udp_len - SIRQ_UDP_HLEN;
    return socket_rx(cpu, nc, rx);
}

/* Is it for us?  With addresses of our own these decide, else those of sockets do. */
static enum sirq_drop ip_destination(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                                     struct sirq_rx *rx)
{
    if (__atomic_load_n(&nc->net->fib, __ATOMIC_RELAXED) == NULL)
        return sirq_table_takes_addr(&nc->net->table, rx->daddr) ? SIRQ_DELIVERED
                                                                 : SIRQ_DROP_IP_DST;
    if (rx->dev != NULL && rx->daddr == __atomic_load_n(&rx->dev->addr4, __ATOMIC_RELAXED)) {
        struct sirq_nat *nat = __atomic_load_n(&nc->net->nat, __ATOMIC_ACQUIRE);

        if (__builtin_expect(nat == NULL || nat->outside != rx->dev, 1))
            return SIRQ_DELIVERED;
        return sirq_nat_in(cpu, nc, nat, rx);
    }
    return sirq_ip4_route(cpu, nc, rx);
}

/* The header's own checks; its length in *hlen, the packet's in *total. */
static enum sirq_drop ip_check(const struct sirq_rx *rx, uint32_t *hlen, uint32_t *total)
{
    if (rx->len < SIRQ_IP4_HLEN)
        return SIRQ_DROP_IP_SHORT;
    if (rx->data[0] >> 4 != 4)
        return SIRQ_DROP_IP_VERSION;
    *hlen = (rx->data[0] & 15u) * 4;
    if (*hlen < SIRQ_IP4_HLEN || *hlen > rx->len)
        return SIRQ_DROP_IP_IHL;
    *total = sirq_load16(rx->data + 2);
    if (*total < *hlen || *total > rx->len)
        return SIRQ_DROP_IP_LEN;
    if (sirq_csum(rx->data, *hlen) != 0xffff)
        return SIRQ_DROP_IP_CSUM;
    if ((sirq_load16(rx->data + 6) & IP_FRAG_MASK) != 0)
        return SIRQ_DROP_IP_FRAG;
    return SIRQ_DELIVERED;
}

static enum sirq_drop ip_rx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_rx *rx)
{
    uint32_t hlen, total;
    enum sirq_drop drop = ip_check(rx, &hlen, &total);
    uint8_t proto;

    if (__builtin_expect(drop != SIRQ_DELIVERED, 0))
        return drop == SIRQ_DROP_IP_FRAG ? sirq_ip4_fragment(cpu, nc, rx, total) : drop;
    rx->saddr = sirq_load32_net(rx->data + 12);
    rx->daddr = sirq_load32_net(rx->data + 16);
    if (sirq_ip4_source_bad(rx->saddr))
        return SIRQ_DROP_IP_SRC;
    rx->ip = rx->data;
    rx->ip_len = total;
    drop = ip_destination(cpu, nc, rx);
    if (__builtin_expect(drop != SIRQ_DELIVERED, 0))
        return drop;
    proto = rx->data[9];
    rx->data += hlen;
    rx->len = total - hlen; /* and not what Ethernet padded it with */
    if (__builtin_expect(proto != SIRQ_PROTO_UDP, 0))
        return sirq_ip4_other(cpu, nc, rx, proto);
    return udp_rx(cpu, nc, rx);
}

static enum sirq_drop eth_rx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_rx *rx)
{
    uint32_t hlen = SIRQ_ETH_HLEN;

    if (rx->len < SIRQ_ETH_HLEN)
        return SIRQ_DROP_ETH_SHORT;
    if (rx->dev != NULL && sirq_eth_foreign(rx->dev, rx->data))
        return SIRQ_DROP_ETH_DST;
    if (__builtin_expect(sirq_load16(rx->data + 12) != SIRQ_ETH_IPV4 ||
                             (rx->dev != NULL && rx->dev->vlan != 0),
                         0)) {
        enum sirq_drop verdict = sirq_eth_other(cpu, nc, rx, &hlen);

        if (hlen == 0)
            return verdict;
    }
    rx->data += hlen;
    rx->len -= hlen;
    return ip_rx(cpu, nc, rx);
}

/* SIRQ_DELIVERED: it is to go up here. */
static enum sirq_drop rx_steer(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                               struct sirq_steer *steer, struct sirq_rx *rx)
{
    struct sirq_steered in = {.frame = rx->data,
                              .len = rx->len,
                              .n = rx->n,
                              .rx_ns = rx->rx_ns,
                              .csum_partial = rx->csum_partial,
                              .dev = rx->dev->link->id};
    enum sirq_drop verdict = sirq_steer(cpu, nc->net, steer, &in);

    rx->hash = in.hash;
    return verdict;
}

/* Where the verdict is counted; a drop is that of all `n` frames. */
static uint64_t *counter_of(struct sirq_net_stats *stats, enum sirq_drop verdict, uint32_t *n)
{
    if (verdict < SIRQ_NR_DROPS)
        return &stats->verdict[verdict];
    *n = 1;
    return verdict == SIRQ_STEERED   ? &stats->steered
           : verdict == SIRQ_HANDLED ? &stats->handled
                                     : &stats->forwarded;
}

enum sirq_drop sirq_net_rx_alike(struct sirq_cpu *cpu, struct sirq_netdev *dev,
                                 const uint8_t *frame, uint32_t len, uint64_t rx_ns, uint32_t n)
{
    struct sirq_net_cpu *nc = sirq_net_cpu(cpu);
    enum sirq_drop verdict = SIRQ_DELIVERED;
    uint64_t *counter;
    struct sirq_rx rx; /* what headers say is filled in when they have been checked */

    assert(nc->polling && n > 0); /* wake-ups and sums are settled when the poll ends */
    rx.data = rx.eth = frame;
    rx.len = len;
    rx.rx_ns = rx_ns;
    rx.n = n;
    rx.hash = 0;
    rx.csum_partial = false;
    rx.dev = dev;
    if (dev != NULL) {
        struct sirq_steer *steer = __atomic_load_n(&dev->steer, __ATOMIC_ACQUIRE);

        rx.csum_partial = dev->rx_csum_partial;
        if (__builtin_expect(steer != NULL, 0))
            verdict = rx_steer(cpu, nc, steer, &rx);
    } else if (nc->in_place != NULL) {
        rx.csum_partial = nc->in_place->csum_partial != 0;
        rx.hash = nc->in_place->hash;
        /* Null when it was closed meanwhile. */
        rx.dev = __atomic_load_n(&nc->net->devs[nc->in_place->dev], __ATOMIC_ACQUIRE);
    }
    if (__builtin_expect(verdict == SIRQ_DELIVERED, 1))
        verdict = eth_rx(cpu, nc, &rx);
    counter = &nc->stats.verdict[SIRQ_DELIVERED];
    if (__builtin_expect(verdict == SIRQ_DELIVERED, 1))
        n = 1;
    else
        counter = counter_of(&nc->stats, verdict, &n);
    if (__builtin_expect(nc->in_place == NULL, 1))
        COUNT(nc->stats.frames, n);
    COUNT(*counter, n);
    return verdict;
}

enum sirq_drop sirq_net_rx(struct sirq_cpu *cpu, struct sirq_netdev *dev, const uint8_t *frame,
                           uint32_t len, uint64_t rx_ns)
{
    return sirq_net_rx_alike(cpu, dev, frame, len, rx_ns, 1);
}

/* The same way up: one body, inlined in one place, keeps the packet in registers. */
enum sirq_drop sirq_net_rx_steered(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, uint32_t idx)
{
    struct sirq_pkt *pkt = &nc->net->pool.pkts[idx];
    enum sirq_drop verdict;

    nc->in_place = pkt;
    verdict = sirq_net_rx_alike(cpu, NULL, pkt->data, pkt->len, pkt->rx_ns, 1);
    nc->in_place = NULL;
    COUNT(nc->stats.received_rps, 1);
    if (verdict != SIRQ_DELIVERED)
        sirq_pool_put_local(&nc->net->pool, &nc->cache, idx);
    return verdict;
}
