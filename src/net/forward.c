/* SPDX-License-Identifier: MIT */
/*
 * forward.c - packets for others (RFC 1812, section 5).
 *
 * The packet is copied into a buffer of ours and changed there: the frame is the device's.  What
 * is too long for the next link is not fragmented: with DF set its source is told, without it is
 * dropped too, and the source told likewise (that is what IPv6 does).
 *
 * A frame that never left this machine may have been given to us before a device would have
 * filled in its transport checksum: that is done here, since it leaves now.
 */
#define SIRQ_NET_INTERNAL
#include "checksum.h"
#include "inet.h"
#include "nat.h"

/* The field holds the sum of the pseudo-header (Linux: CHECKSUM_PARTIAL), so that the sum over
 * the segment as it is makes the checksum. */
static void complete_checksum(uint8_t *segment, uint32_t len, uint32_t proto)
{
    uint32_t at = proto == SIRQ_PROTO_UDP ? 6 : 16;
    uint16_t sum;

    if ((proto != SIRQ_PROTO_UDP && proto != SIRQ_PROTO_TCP) || len < at + 2)
        return;
    sum = (uint16_t)~sirq_csum(segment, len);
    if (sum == 0 && proto == SIRQ_PROTO_UDP)
        sum = 0xffff; /* RFC 768: 0 is none */
    memcpy(segment + at, &sum, 2);
}

/* One less TTL, and the header checksum as RFC 1624 has it: HC' = ~(~HC + ~m + m'). */
static void decrement_ttl(uint8_t *ip)
{
    uint32_t sum = sirq_load16(ip + 10) + 0x100; /* the word of the TTL lost 0x100 */

    ip[8]--;
    sirq_store16(ip + 10, (sum + (sum >> 16)) & 0xffff);
}

/* Of net 0 and 127, which stay on their host (RFC 1812, 5.3.7).  Network order. */
static bool stays(uint32_t addr)
{
    uint8_t first;

    memcpy(&first, &addr, 1);
    return first == 0 || first == 127;
}

/* The copy in `pkt`, changed as it leaves. */
static void rework(const struct sirq_cpu *cpu, struct sirq_pkt *pkt, const struct sirq_rx *rx,
                   const struct sirq_nat_change *change)
{
    uint8_t *ip = pkt->data + SIRQ_TX_L3;
    uint32_t hlen = (rx->ip[0] & 15u) * 4;

    memcpy(ip, rx->ip, rx->ip_len);
    pkt->len = (uint16_t)rx->ip_len;
    if (rx->csum_partial)
        complete_checksum(ip + hlen, rx->ip_len - hlen, ip[9]);
    decrement_ttl(ip);
    if (change->nat != NULL)
        sirq_nat_apply(cpu, change, ip, rx->ip_len);
}

enum sirq_drop sirq_ip4_forward_to(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                                   const struct sirq_rx *rx, const struct sirq_hop *hop,
                                   const struct sirq_ip *dst, struct sirq_nat_change *change)
{
    struct sirq_pkt *pkt;
    uint32_t idx, mtu, mtu_in;

    if (hop == NULL) {
        sirq_icmp_error(cpu, nc, rx, SIRQ_ICMP_UNREACH, SIRQ_ICMP_UNREACH_NET, 0);
        return SIRQ_DROP_IP_ROUTE;
    }
    if (rx->ip[8] <= 1) {
        sirq_icmp_error(cpu, nc, rx, SIRQ_ICMP_TIME, 0, 0);
        return SIRQ_DROP_IP_TTL;
    }
    mtu = __atomic_load_n(&hop->dev->mtu, __ATOMIC_RELAXED);
    if (rx->ip_len > mtu) {
        sirq_icmp_error(cpu, nc, rx, SIRQ_ICMP_UNREACH, SIRQ_ICMP_UNREACH_FRAG, mtu);
        return SIRQ_DROP_IP_MTU;
    }
    pkt = sirq_tx_alloc(nc, &idx);
    if (pkt == NULL)
        return SIRQ_DROP_NO_BUFFER;
    mtu_in = rx->dev != NULL ? __atomic_load_n(&rx->dev->mtu, __ATOMIC_RELAXED) : mtu;
    change->mss = (uint16_t)((mtu_in < mtu ? mtu_in : mtu) - SIRQ_IP4_HLEN - SIRQ_TCP_HLEN);
    rework(cpu, pkt, rx, change);
    sirq_hop_output(cpu, nc, hop, dst, idx);
    return SIRQ_FORWARDED;
}

/*
 * Behind NAT, what leaves by the outside device has its connection, and what comes from there comes
 * to its address; other addresses are nobody's business there (RFC 2663, 2.9; RFC 6092 for IPv6
 * leaves the choice, and that is forwarded as it is).
 */
enum sirq_drop sirq_ip4_forward(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                                const struct sirq_rx *rx, const struct sirq_hop *hop)
{
    struct sirq_nat *nat = __atomic_load_n(&nc->net->nat, __ATOMIC_ACQUIRE);
    const struct sirq_ip dst = sirq_ip_v4(rx->daddr);
    struct sirq_nat_change change = {.nat = NULL};

    if (stays(rx->saddr))
        return SIRQ_DROP_IP_SRC;
    if (stays(rx->daddr))
        return SIRQ_DROP_IP_DST;
    if (nat != NULL && hop != NULL && rx->dev == nat->outside && hop->dev != nat->outside)
        return SIRQ_DROP_NAT_FILTER;
    if (nat != NULL && hop != NULL && hop->dev == nat->outside && rx->dev != nat->outside &&
        rx->ip[8] > 1) { /* one that ends here needs no connection */
        enum sirq_drop verdict = sirq_nat_out(cpu, nat, rx, &change);

        if (verdict != SIRQ_DELIVERED)
            return verdict;
    }
    return sirq_ip4_forward_to(cpu, nc, rx, hop, &dst, &change);
}

enum sirq_drop sirq_ip6_forward(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                                const struct sirq_rx *rx, const struct sirq_hop *hop)
{
    const struct sirq_ip dst = sirq_load_ip6(rx->ip + 24), src = sirq_load_ip6(rx->ip + 8);
    struct sirq_pkt *pkt;
    uint32_t idx, mtu, upper;
    uint8_t proto = 0;

    if (sirq_ip_link_local(&src) || sirq_ip_none(&src)) /* RFC 4291, 2.5.2 and 2.5.6 */
        return SIRQ_DROP_IP6_SRC;
    if (hop == NULL) {
        sirq_icmp6_error(cpu, nc, rx, SIRQ_ICMP6_UNREACH, 0, 0);
        return SIRQ_DROP_IP_ROUTE;
    }
    if (rx->ip[7] <= 1) {
        sirq_icmp6_error(cpu, nc, rx, SIRQ_ICMP6_TIME, 0, 0);
        return SIRQ_DROP_IP_TTL;
    }
    mtu = __atomic_load_n(&hop->dev->mtu, __ATOMIC_RELAXED);
    if (rx->ip_len > mtu) {
        sirq_icmp6_error(cpu, nc, rx, SIRQ_ICMP6_TOO_BIG, 0, mtu);
        return SIRQ_DROP_IP_MTU;
    }
    pkt = sirq_tx_alloc(nc, &idx);
    if (pkt == NULL)
        return SIRQ_DROP_NO_BUFFER;
    memcpy(pkt->data + SIRQ_TX_L3, rx->ip, rx->ip_len);
    pkt->len = (uint16_t)rx->ip_len;
    upper = rx->csum_partial ? sirq_ip6_upper(rx->ip, rx->ip_len, &proto) : 0;
    if (upper != 0)
        complete_checksum(pkt->data + SIRQ_TX_L3 + upper, rx->ip_len - upper, proto);
    pkt->data[SIRQ_TX_L3 + 7]--;
    sirq_hop_output(cpu, nc, hop, &dst, idx);
    return SIRQ_FORWARDED;
}
