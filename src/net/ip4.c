/* SPDX-License-Identifier: MIT */
/*
 * ip4.c - IPv4 packets that are not plain UDP to the device's own address: where they go.
 */
#define SIRQ_NET_INTERNAL
#include "inet.h"

enum sirq_drop sirq_ip4_route(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                              const struct sirq_rx *rx)
{
    const struct sirq_ip dst = sirq_ip_v4(rx->daddr);
    const struct sirq_hop *hop;

    if (sirq_ip_multicast(&dst))
        return SIRQ_DELIVERED;
    hop = sirq_route_lookup(nc->net, &dst);
    if (hop != NULL && (hop->type == SIRQ_HOP_LOCAL || hop->type == SIRQ_HOP_BROADCAST))
        return SIRQ_DELIVERED;
    /* What a link sent to all was not for us to pass on (RFC 1812, 5.3.4). */
    if (!__atomic_load_n(&nc->net->forwarding, __ATOMIC_RELAXED) || (rx->eth[0] & 1))
        return SIRQ_DROP_IP_DST;
    return sirq_ip4_forward(cpu, nc, rx, hop);
}

enum sirq_drop sirq_ip4_fragment(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_rx *rx,
                                 uint32_t total)
{
    enum sirq_drop verdict;

    rx->saddr = sirq_load32_net(rx->data + 12);
    rx->daddr = sirq_load32_net(rx->data + 16);
    if (sirq_ip4_source_bad(rx->saddr))
        return SIRQ_DROP_IP_SRC;
    if (__atomic_load_n(&nc->net->fib, __ATOMIC_RELAXED) == NULL)
        return SIRQ_DROP_IP_FRAG;
    rx->ip = rx->data;
    rx->ip_len = total;
    verdict = sirq_ip4_route(cpu, nc, rx);
    return verdict == SIRQ_DELIVERED ? SIRQ_DROP_IP_FRAG : verdict;
}

enum sirq_drop sirq_ip4_other(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                              const struct sirq_rx *rx, uint8_t proto)
{
    if (proto == SIRQ_PROTO_ICMP && __atomic_load_n(&nc->net->fib, __ATOMIC_RELAXED) != NULL)
        return sirq_icmp_rx(cpu, nc, rx);
    sirq_icmp_error(cpu, nc, rx, SIRQ_ICMP_UNREACH, SIRQ_ICMP_UNREACH_PROTO, 0);
    return SIRQ_DROP_IP_PROTO;
}
