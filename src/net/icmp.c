/* SPDX-License-Identifier: MIT */
/*
 * icmp.c - ICMP (RFC 792): echo requests are answered, errors are sent.
 *
 * Errors are not sent about errors, about what was sent to many, from a source that is not one
 * host, or to ourselves (RFC 1122, 3.2.2; RFC 1812, 4.3.2.7), and each CPU sends at most RATE a
 * second, in bursts of BURST (4.3.2.8).
 */
#define SIRQ_NET_INTERNAL
#include "checksum.h"
#include "inet.h"

#define ICMP_HLEN 8u
#define ECHO_REPLY 0u
#define ECHO_REQUEST 8u
#define QUOTE_MAX 548u /* of the packet, so that the error has at most 576 bytes */
#define RATE 1000u
#define BURST 50u

bool sirq_icmp_allowed(struct sirq_cpu *cpu, struct sirq_net_cpu *nc)
{
    uint64_t now = sirq_now_ns(cpu), each = 1000000000u / RATE;

    if ((int64_t)(nc->icmp_ns - now) < 0)
        nc->icmp_ns = now;
    if ((int64_t)(nc->icmp_ns - now) > (int64_t)((BURST - 1) * each)) {
        COUNT(nc->stats.icmp_limited, 1);
        return false;
    }
    nc->icmp_ns += each;
    return true;
}

/* `len` bytes of ICMP stand in the buffer, their checksum field zero: finish and send. */
static void icmp_send(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, uint32_t saddr, uint32_t daddr,
                      uint32_t idx, uint32_t len)
{
    struct sirq_pkt *pkt = &nc->net->pool.pkts[idx];
    uint8_t *icmp = pkt->data + SIRQ_TX_L3 + SIRQ_IP4_HLEN;
    uint16_t sum = (uint16_t)~sirq_csum(icmp, len);
    struct sirq_ip dst = sirq_ip_v4(daddr);

    memcpy(icmp + 2, &sum, 2);
    pkt->len = (uint16_t)(SIRQ_IP4_HLEN + len);
    sirq_ip4_header(pkt, saddr, daddr, SIRQ_PROTO_ICMP);
    sirq_ip_output(cpu, nc, &dst, idx);
}

static bool one_host(const struct sirq_net *net, uint32_t addr, bool local)
{
    struct sirq_ip ip = sirq_ip_v4(addr);
    const struct sirq_hop *hop = sirq_route_lookup(net, &ip);

    return hop != NULL && !sirq_ip_multicast(&ip) && hop->type != SIRQ_HOP_BROADCAST &&
           (hop->type == SIRQ_HOP_LOCAL) == local;
}

static bool to_many(const struct sirq_net *net, uint32_t addr)
{
    struct sirq_ip ip = sirq_ip_v4(addr);
    const struct sirq_hop *hop = sirq_route_lookup(net, &ip);

    return sirq_ip_multicast(&ip) || (hop != NULL && hop->type == SIRQ_HOP_BROADCAST);
}

static enum sirq_drop echo_reply(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                                 const struct sirq_rx *rx)
{
    struct sirq_pkt *pkt;
    uint8_t *icmp;
    uint32_t idx;

    if (!one_host(nc->net, rx->daddr, true))
        return SIRQ_DROP_ICMP_TYPE; /* not to what was sent to many: smurf amplifiers did */
    if (SIRQ_IP4_HLEN + rx->len > SIRQ_MTU_MAX)
        return SIRQ_DROP_OVERSIZE;
    pkt = sirq_tx_alloc(nc, &idx);
    if (pkt == NULL)
        return SIRQ_DROP_NO_BUFFER;
    icmp = pkt->data + SIRQ_TX_L3 + SIRQ_IP4_HLEN;
    memcpy(icmp, rx->data, rx->len);
    memset(icmp, 0, 4); /* type, code, checksum */
    icmp_send(cpu, nc, rx->daddr, rx->saddr, idx, rx->len);
    return SIRQ_HANDLED;
}

enum sirq_drop sirq_icmp_rx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, const struct sirq_rx *rx)
{
    if (rx->len < ICMP_HLEN)
        return SIRQ_DROP_ICMP_SHORT;
    if (sirq_csum(rx->data, rx->len) != 0xffff)
        return SIRQ_DROP_ICMP_CSUM;
    if (rx->data[0] != ECHO_REQUEST || rx->data[1] != 0)
        return SIRQ_DROP_ICMP_TYPE;
    return echo_reply(cpu, nc, rx);
}

/* ---- errors --------------------------------------------------------------------------- */

static bool is_error(const struct sirq_rx *rx)
{
    uint32_t hlen = (rx->ip[0] & 15u) * 4;
    uint8_t type;

    if (rx->ip[9] != SIRQ_PROTO_ICMP)
        return false;
    if (rx->ip_len <= hlen)
        return true;
    type = rx->ip[hlen];
    return type != ECHO_REPLY && type != ECHO_REQUEST && type != 13 && type != 14;
}

void sirq_icmp_error(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, const struct sirq_rx *rx,
                     uint8_t type, uint8_t code, uint32_t info)
{
    uint32_t quote = rx->ip_len < QUOTE_MAX ? rx->ip_len : QUOTE_MAX, idx;
    struct sirq_ip src = sirq_ip_v4(rx->saddr);
    const struct sirq_hop *back = sirq_route_lookup(nc->net, &src);
    uint32_t from = rx->daddr;
    struct sirq_pkt *pkt;
    uint8_t *icmp;

    if (back == NULL || !one_host(nc->net, rx->saddr, false) || rx->saddr == 0 ||
        (rx->eth[0] & 1) || to_many(nc->net, rx->daddr) || is_error(rx) ||
        (sirq_load16(rx->ip + 6) & 0x1fff) != 0)
        return;
    if (!one_host(nc->net, rx->daddr, true)) /* about what we did not forward */
        from = sirq_load32_net(back->src.b + 12);
    if (from == 0 || !sirq_icmp_allowed(cpu, nc) || (pkt = sirq_tx_alloc(nc, &idx)) == NULL)
        return;
    icmp = pkt->data + SIRQ_TX_L3 + SIRQ_IP4_HLEN;
    icmp[0] = type;
    icmp[1] = code;
    sirq_store16(icmp + 2, 0);
    sirq_store32(icmp + 4, info);
    memcpy(icmp + ICMP_HLEN, rx->ip, quote);
    icmp_send(cpu, nc, from, rx->saddr, idx, ICMP_HLEN + quote);
}
