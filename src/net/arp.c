/* SPDX-License-Identifier: MIT */
/*
 * arp.c - the address resolution protocol (RFC 826, RFC 5227).
 *
 * Requests for an address of ours are answered to whoever asks, without noting him: he makes no
 * entry, so a flood of requests takes no memory.  What a sender says of himself is noted where we
 * know him or asked for him.
 */
#define SIRQ_NET_INTERNAL
#include "inet.h"

#define ARP_LEN 28u
#define ARP_REQUEST 1u
#define ARP_REPLY 2u

static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* Tell `mac` (null: ask all) who we are, from `saddr`. */
static void arp_send(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                     uint32_t op, const uint8_t *saddr, const uint8_t *daddr, const uint8_t *mac)
{
    static const uint8_t head[6] = {0, 1, 8, 0, 6, 4}; /* Ethernet, IPv4, their lengths */
    uint32_t idx;
    struct sirq_pkt *pkt = sirq_tx_alloc(nc, &idx);
    uint8_t *arp;

    if (pkt == NULL)
        return;
    arp = pkt->data + SIRQ_TX_L3;
    memcpy(arp, head, sizeof(head));
    sirq_store16(arp + 6, op);
    memcpy(arp + 8, dev->mac, 6);
    memcpy(arp + 14, saddr, 4);
    memset(arp + 18, 0, 6);
    if (op == ARP_REPLY)
        memcpy(arp + 18, mac, 6);
    memcpy(arp + 24, daddr, 4);
    pkt->len = ARP_LEN;
    COUNT(nc->stats.tx_frames, 1);
    sirq_eth_output(cpu, nc, dev, mac != NULL ? mac : broadcast, SIRQ_ETH_ARP, idx);
}

void sirq_arp_request(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                      const struct sirq_ip *addr, const uint8_t *mac)
{
    const struct sirq_hop *hop = sirq_route_lookup(nc->net, addr);

    if (hop != NULL && sirq_ip_is_v4(&hop->src))
        arp_send(cpu, nc, dev, ARP_REQUEST, hop->src.b + 12, addr->b + 12, mac);
}

static bool header_good(const struct sirq_rx *rx)
{
    const uint8_t *arp = rx->data;

    return rx->len >= ARP_LEN && sirq_load16(arp) == 1 && sirq_load16(arp + 2) == SIRQ_ETH_IPV4 &&
           arp[4] == 6 && arp[5] == 4 && (arp[8] & 1) == 0;
}

static bool ours(const struct sirq_net *net, const struct sirq_ip *addr)
{
    const struct sirq_hop *hop = sirq_route_lookup(net, addr);

    return hop != NULL && hop->type == SIRQ_HOP_LOCAL;
}

enum sirq_drop sirq_arp_rx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, const struct sirq_rx *rx)
{
    const uint8_t *arp = rx->data;
    struct sirq_ip sender, target;
    uint32_t op;

    if (__atomic_load_n(&nc->net->fib, __ATOMIC_RELAXED) == NULL || rx->dev == NULL)
        return SIRQ_DROP_ETH_TYPE; /* a receiver only */
    if (!header_good(rx))
        return SIRQ_DROP_ARP;
    op = sirq_load16(arp + 6);
    sender = sirq_ip_v4(sirq_load32_net(arp + 14));
    target = sirq_ip_v4(sirq_load32_net(arp + 24));
    if ((op != ARP_REQUEST && op != ARP_REPLY) || sirq_ip_multicast(&sender) ||
        ours(nc->net, &sender))
        return SIRQ_DROP_ARP;
    if (sirq_load32(arp + 14) != 0) /* 0.0.0.0 probes whether an address is taken: RFC 5227 */
        sirq_neigh_update(cpu, nc, rx->dev, &sender, arp + 8);
    if (!ours(nc->net, &target))
        return SIRQ_DROP_ARP;
    if (op == ARP_REQUEST)
        arp_send(cpu, nc, rx->dev, ARP_REPLY, arp + 24, arp + 14, arp + 8);
    return SIRQ_HANDLED;
}
