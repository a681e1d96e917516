/* SPDX-License-Identifier: MIT */
/*
 * out.c - packets on their way down: buffer, IPv4 header, route, neighbour.
 *
 * What we make ourselves is never fragmented (DF set, so its identification may be 0: RFC 6864)
 * and has to fit the device's MTU.
 */
#define SIRQ_NET_INTERNAL
#include "checksum.h"
#include "inet.h"

struct sirq_pkt *sirq_tx_alloc(struct sirq_net_cpu *nc, uint32_t *idx)
{
    *idx = sirq_pool_get_local(&nc->net->pool, &nc->cache);
    return *idx != SIRQ_POOL_NIL ? &nc->net->pool.pkts[*idx] : NULL;
}

/* RFC 1112 section 6.4, RFC 2464 section 7. */
static void multicast_mac(const struct sirq_ip *dst, uint8_t mac[6])
{
    if (!sirq_ip_is_v4(dst)) {
        mac[0] = mac[1] = 0x33;
        memcpy(mac + 2, dst->b + 12, 4);
    } else if (dst->b[12] == 0xff) {
        memset(mac, 0xff, 6);
    } else {
        mac[0] = 1;
        mac[1] = 0;
        mac[2] = 0x5e;
        mac[3] = dst->b[13] & 0x7f;
        memcpy(mac + 4, dst->b + 14, 2);
    }
}

void sirq_hop_output(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, const struct sirq_hop *hop,
                     const struct sirq_ip *dst, uint32_t idx)
{
    const struct sirq_pkt *pkt = &nc->net->pool.pkts[idx];
    uint8_t mac[6];

    COUNT(nc->stats.tx_frames, 1);
    if (hop == NULL || hop->type == SIRQ_HOP_LOCAL) { /* to ourselves: there is no loopback */
        sirq_tx_drop(nc, SIRQ_TX_DROP_ROUTE, idx);
        return;
    }
    if (pkt->len > __atomic_load_n(&hop->dev->mtu, __ATOMIC_RELAXED)) {
        sirq_tx_drop(nc, SIRQ_TX_DROP_SIZE, idx);
        return;
    }
    if (hop->type == SIRQ_HOP_BROADCAST)
        memset(mac, 0xff, sizeof(mac));
    else if (sirq_ip_multicast(dst))
        multicast_mac(dst, mac);
    else {
        sirq_neigh_output(cpu, nc, hop->dev, hop->type == SIRQ_HOP_GATEWAY ? &hop->gateway : dst,
                          idx);
        return;
    }
    sirq_eth_output(cpu, nc, hop->dev, mac, sirq_pkt_type(pkt), idx);
}

void sirq_ip_output(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, const struct sirq_ip *dst,
                    uint32_t idx)
{
    sirq_hop_output(cpu, nc, sirq_route_lookup(nc->net, dst), dst, idx);
}

void sirq_ip4_header(struct sirq_pkt *pkt, uint32_t saddr, uint32_t daddr, uint8_t proto)
{
    uint8_t *ip = pkt->data + SIRQ_TX_L3;
    uint16_t sum;

    sirq_store32(ip, 0x45u << 24 | pkt->len);
    sirq_store32(ip + 4, 0x4000);
    sirq_store32(ip + 8, SIRQ_TTL << 24 | (uint32_t)proto << 16);
    memcpy(ip + 12, &saddr, 4);
    memcpy(ip + 16, &daddr, 4);
    sum = (uint16_t)~sirq_csum(ip, SIRQ_IP4_HLEN);
    memcpy(ip + 10, &sum, 2);
}
