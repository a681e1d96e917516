/* SPDX-License-Identifier: MIT */
/*
 * icmp6.c - ICMPv6 (RFC 4443): echo requests are answered, errors are sent, by the rules and
 * limits of icmp.c; and neighbour discovery (RFC 4861): solicitations and advertisements.
 *
 * A solicitation is answered to whoever asks, without noting him.  Neither is believed that
 * came through a router (hop limit below 255).  No duplicate detection, no autoconfiguration:
 * addresses are given by whoever set up the stack.
 */
#define SIRQ_NET_INTERNAL
#include "checksum.h"
#include "inet.h"

#define ICMP_HLEN 8u
#define ECHO_REQUEST 128u
#define ECHO_REPLY 129u
#define ND_SOLICIT 135u
#define ND_ADVERT 136u
#define ND_LEN 24u /* without options */
#define ND_HOPS 255u
#define OPT_SOURCE_MAC 1u
#define OPT_TARGET_MAC 2u
#define ADVERT_ROUTER 0x80000000u
#define ADVERT_SOLICITED 0x40000000u
#define ADVERT_OVERRIDE 0x20000000u
#define QUOTE_MAX (1280u - SIRQ_IP6_HLEN - ICMP_HLEN)

static const struct sirq_ip all_nodes = {{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

void sirq_ip6_header(struct sirq_pkt *pkt, const struct sirq_ip *src, const struct sirq_ip *dst,
                     uint8_t proto, uint8_t hops)
{
    uint8_t *ip = pkt->data + SIRQ_TX_L3;

    sirq_store32(ip, 0x60000000);
    sirq_store16(ip + 4, pkt->len - SIRQ_IP6_HLEN);
    ip[6] = proto;
    ip[7] = hops;
    memcpy(ip + 8, src, 16);
    memcpy(ip + 24, dst, 16);
}

static uint8_t *body(struct sirq_pkt *pkt)
{
    return pkt->data + SIRQ_TX_L3 + SIRQ_IP6_HLEN;
}

/* Header and checksum around `len` bytes of ICMPv6. */
static void finish(struct sirq_pkt *pkt, const struct sirq_ip *src, const struct sirq_ip *dst,
                   uint32_t len, uint8_t hops)
{
    uint16_t sum;

    pkt->len = (uint16_t)(SIRQ_IP6_HLEN + len);
    sirq_ip6_header(pkt, src, dst, SIRQ_PROTO_ICMP6, hops);
    memset(body(pkt) + 2, 0, 2);
    sum = (uint16_t)~sirq_ip6_csum(pkt->data + SIRQ_TX_L3, SIRQ_PROTO_ICMP6, body(pkt), len);
    memcpy(body(pkt) + 2, &sum, 2);
}

/* To a link-local address there is no route but the link that it was seen on. */
static void answer(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                   const struct sirq_ip *dst, uint32_t idx)
{
    if (!sirq_ip_link_local(dst) || dev == NULL) {
        sirq_ip_output(cpu, nc, dst, idx);
        return;
    }
    COUNT(nc->stats.tx_frames, 1);
    sirq_neigh_output(cpu, nc, dev, dst, idx);
}

static bool ours(const struct sirq_net *net, const struct sirq_ip *addr)
{
    const struct sirq_hop *hop = sirq_route_lookup(net, addr);

    return hop != NULL && hop->type == SIRQ_HOP_LOCAL;
}

static enum sirq_drop echo_reply(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                                 const struct sirq_rx *rx)
{
    const struct sirq_ip src = sirq_load_ip6(rx->ip + 8), dst = sirq_load_ip6(rx->ip + 24);
    struct sirq_pkt *pkt;
    uint32_t idx;

    if (!ours(nc->net, &dst) || sirq_ip_none(&src))
        return SIRQ_DROP_ICMP_TYPE;
    if (SIRQ_IP6_HLEN + rx->len > SIRQ_MTU_MAX)
        return SIRQ_DROP_OVERSIZE;
    pkt = sirq_tx_alloc(nc, &idx);
    if (pkt == NULL)
        return SIRQ_DROP_NO_BUFFER;
    memcpy(body(pkt), rx->data, rx->len);
    body(pkt)[0] = ECHO_REPLY;
    finish(pkt, &dst, &src, rx->len, SIRQ_TTL);
    answer(cpu, nc, rx->dev, &src, idx);
    return SIRQ_HANDLED;
}

/* ---- neighbour discovery ---------------------------------------------------------------- */

/* A message with one option: whose MAC is ours.  `mac`: to whom, null: by `dst`. */
static void nd_send(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                    uint8_t type, uint32_t flags, const struct sirq_ip *target,
                    const struct sirq_ip *src, const struct sirq_ip *dst, const uint8_t *mac)
{
    uint8_t multicast[6] = {0x33, 0x33, dst->b[12], dst->b[13], dst->b[14], dst->b[15]};
    uint32_t idx;
    struct sirq_pkt *pkt = sirq_tx_alloc(nc, &idx);
    uint8_t *nd;

    if (pkt == NULL)
        return;
    nd = body(pkt);
    nd[0] = type;
    nd[1] = 0;
    sirq_store32(nd + 4, flags);
    memcpy(nd + 8, target, 16);
    nd[24] = type == ND_SOLICIT ? OPT_SOURCE_MAC : OPT_TARGET_MAC;
    nd[25] = 1;
    memcpy(nd + 26, dev->mac, 6);
    finish(pkt, src, dst, ND_LEN + 8, ND_HOPS);
    COUNT(nc->stats.tx_frames, 1);
    sirq_eth_output(cpu, nc, dev, mac != NULL ? mac : multicast, SIRQ_ETH_IPV6, idx);
}

void sirq_nd_solicit(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                     const struct sirq_ip *addr, const uint8_t *mac)
{
    const struct sirq_fib *fib = __atomic_load_n(&nc->net->fib, __ATOMIC_ACQUIRE);
    struct sirq_ip src = sirq_fib_source(fib, dev, addr), dst = *addr;

    if (sirq_ip_none(&src))
        return;
    if (mac == NULL) /* its solicited-node address: RFC 4291, 2.7.1 */
        dst = (struct sirq_ip){
            {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, addr->b[13], addr->b[14], addr->b[15]}};
    nd_send(cpu, nc, dev, ND_SOLICIT, 0, addr, &src, &dst, mac);
}

/* The MAC in an option of this type, or null; *bad when the options are malformed. */
static const uint8_t *mac_option(const struct sirq_rx *rx, uint8_t type, bool *bad)
{
    const uint8_t *found = NULL;
    uint32_t at = ND_LEN, len;

    *bad = true;
    for (; at < rx->len; at += len) {
        if (rx->len - at < 8)
            return NULL;
        len = rx->data[at + 1] * 8u;
        if (len == 0 || len > rx->len - at)
            return NULL;
        if (rx->data[at] == type && found == NULL)
            found = rx->data + at + 2;
    }
    *bad = false;
    return found != NULL && (found[0] & 1) == 0 ? found : NULL;
}

static enum sirq_drop solicit_rx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                                 const struct sirq_rx *rx, const struct sirq_ip *target,
                                 const uint8_t *mac)
{
    const struct sirq_ip src = sirq_load_ip6(rx->ip + 8);
    uint32_t flags = ADVERT_OVERRIDE;

    if (!ours(nc->net, target) || (rx->eth[6] & 1))
        return SIRQ_DROP_ND;
    if (__atomic_load_n(&nc->net->forwarding, __ATOMIC_RELAXED))
        flags |= ADVERT_ROUTER;
    if (sirq_ip_none(&src)) { /* somebody wants to know whether the address is free */
        nd_send(cpu, nc, rx->dev, ND_ADVERT, flags, target, target, &all_nodes, NULL);
        return SIRQ_HANDLED;
    }
    if (mac != NULL)
        sirq_neigh_update(cpu, nc, rx->dev, &src, mac);
    nd_send(cpu, nc, rx->dev, ND_ADVERT, flags | ADVERT_SOLICITED, target, target, &src,
            rx->eth + 6);
    return SIRQ_HANDLED;
}

static enum sirq_drop nd_rx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, const struct sirq_rx *rx)
{
    bool solicit = rx->data[0] == ND_SOLICIT, bad;
    struct sirq_ip target;
    const uint8_t *mac;

    if (rx->ip[7] != ND_HOPS || rx->data[1] != 0 || rx->len < ND_LEN || rx->dev == NULL)
        return SIRQ_DROP_ND;
    target = sirq_load_ip6(rx->data + 8);
    mac = mac_option(rx, solicit ? OPT_SOURCE_MAC : OPT_TARGET_MAC, &bad);
    if (bad || sirq_ip_multicast(&target))
        return SIRQ_DROP_ND;
    if (solicit)
        return solicit_rx(cpu, nc, rx, &target, mac);
    if (mac == NULL || ours(nc->net, &target))
        return SIRQ_DROP_ND;
    sirq_neigh_update(cpu, nc, rx->dev, &target, mac);
    return SIRQ_HANDLED;
}

enum sirq_drop sirq_icmp6_rx(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                             const struct sirq_rx *rx)
{
    if (rx->len < ICMP_HLEN)
        return SIRQ_DROP_ICMP_SHORT;
    if (sirq_ip6_csum(rx->ip, SIRQ_PROTO_ICMP6, rx->data, rx->len) != 0xffff)
        return SIRQ_DROP_ICMP_CSUM;
    if (rx->data[0] == ND_SOLICIT || rx->data[0] == ND_ADVERT)
        return nd_rx(cpu, nc, rx);
    if (rx->data[0] != ECHO_REQUEST || rx->data[1] != 0)
        return SIRQ_DROP_ICMP_TYPE;
    return echo_reply(cpu, nc, rx);
}

/* ---- errors --------------------------------------------------------------------------- */

/* Its type is looked for behind no extension headers: behind some, an error about it is not
 * sent, which is the safe side. */
static bool may_be_error(const struct sirq_rx *rx)
{
    if (rx->ip[6] == SIRQ_PROTO_UDP || rx->ip[6] == 6)
        return false;
    return rx->ip[6] != SIRQ_PROTO_ICMP6 || rx->ip_len <= SIRQ_IP6_HLEN ||
           rx->ip[SIRQ_IP6_HLEN] < 128;
}

void sirq_icmp6_error(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, const struct sirq_rx *rx,
                      uint8_t type, uint8_t code, uint32_t info)
{
    const struct sirq_ip src = sirq_load_ip6(rx->ip + 8), dst = sirq_load_ip6(rx->ip + 24);
    uint32_t quote = rx->ip_len < QUOTE_MAX ? rx->ip_len : QUOTE_MAX, idx;
    const struct sirq_hop *back = sirq_route_lookup(nc->net, &src);
    struct sirq_ip from = dst;
    struct sirq_pkt *pkt;

    if (back == NULL || back->type == SIRQ_HOP_LOCAL || (rx->eth[0] & 1) ||
        sirq_ip_multicast(&dst) || sirq_ip_none(&src) || may_be_error(rx))
        return;
    if (!ours(nc->net, &dst))
        from = back->src;
    if (sirq_ip_none(&from) || !sirq_icmp_allowed(cpu, nc) ||
        (pkt = sirq_tx_alloc(nc, &idx)) == NULL)
        return;
    body(pkt)[0] = type;
    body(pkt)[1] = code;
    sirq_store32(body(pkt) + 4, info);
    memcpy(body(pkt) + ICMP_HLEN, rx->ip, quote);
    finish(pkt, &from, &src, ICMP_HLEN + quote, SIRQ_TTL);
    answer(cpu, nc, rx->dev, &src, idx);
}
