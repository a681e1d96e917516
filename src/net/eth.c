/* SPDX-License-Identifier: MIT */
/*
 * eth.c - Ethernet and 802.1Q: frames that are not plain IPv4 on their way up, and the header of
 * those that go out.
 *
 * One tag is looked at; a second one (802.1ad) is an EtherType that nobody handles.
 */
#define SIRQ_NET_INTERNAL
#include "inet.h"

#define TAG_LEN 4u
#define VID_MASK 0x0fffu

/* The tag, if any, against the device's VLAN.  False: not for us. */
static bool untag(const struct sirq_rx *rx, uint32_t *type, uint32_t *hlen)
{
    uint16_t vlan = rx->dev != NULL ? __atomic_load_n(&rx->dev->vlan, __ATOMIC_RELAXED) : 0;

    *type = sirq_load16(rx->data + 12);
    *hlen = SIRQ_ETH_HLEN;
    if (*type != SIRQ_ETH_VLAN)
        return vlan == 0;
    if (rx->len < SIRQ_ETH_HLEN + TAG_LEN)
        return false;
    *type = sirq_load16(rx->data + SIRQ_ETH_HLEN + 2);
    *hlen += TAG_LEN;
    return (sirq_load16(rx->data + SIRQ_ETH_HLEN) & VID_MASK) == vlan;
}

enum sirq_drop sirq_eth_other(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_rx *rx,
                              uint32_t *hlen)
{
    uint32_t type, at;

    *hlen = 0;
    if (!untag(rx, &type, &at))
        return SIRQ_DROP_VLAN;
    if (type == SIRQ_ETH_IPV4) {
        *hlen = at;
        return SIRQ_DELIVERED;
    }
    rx->data += at;
    rx->len -= at;
    if (type == SIRQ_ETH_ARP)
        return sirq_arp_rx(cpu, nc, rx);
    return type == SIRQ_ETH_IPV6 ? sirq_ip6_rx(cpu, nc, rx) : SIRQ_DROP_ETH_TYPE;
}

void sirq_eth_output(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                     const uint8_t mac[6], uint32_t type, uint32_t idx)
{
    struct sirq_pkt *pkt = &nc->net->pool.pkts[idx];
    uint16_t vlan = __atomic_load_n(&dev->vlan, __ATOMIC_RELAXED);
    uint16_t prio = __atomic_load_n(&dev->vlan_prio, __ATOMIC_RELAXED);
    uint32_t off = SIRQ_TX_L3 - SIRQ_ETH_HLEN - (vlan != 0 || prio != 0 ? TAG_LEN : 0);
    uint8_t *eth = pkt->data + off;

    memcpy(eth, mac, 6);
    memcpy(eth + 6, dev->mac, 6);
    if (off < SIRQ_TX_L3 - SIRQ_ETH_HLEN) {
        sirq_store16(eth + 12, SIRQ_ETH_VLAN);
        sirq_store16(eth + 14, (uint32_t)prio << 13 | vlan);
    }
    sirq_store16(pkt->data + SIRQ_TX_L3 - 2, type);
    pkt->len = (uint16_t)(pkt->len + SIRQ_TX_L3 - off);
    pkt->off = off & 0x7fff;
    sirq_tx(cpu, nc, dev, idx);
}
