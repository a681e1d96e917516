/* SPDX-License-Identifier: MIT */
/*
 * nat_pkt.c - what NAT44 reads of a packet, and changes in it (RFC 3022, 4; RFC 5508).
 *
 * A packet was checked up to its IPv4 header; what follows is not trusted, and nothing is read or
 * written beyond its length.  Checksums are corrected by what changed (RFC 1624), not made anew:
 * one that was wrong stays wrong.  Addresses and ports lie at even distances from where the sum
 * begins; for a TCP option and for what an ICMP error quotes the sums before and after are taken.
 */
#define SIRQ_NET_INTERNAL
#include "checksum.h"
#include "nat.h"

#define ICMP_HLEN 8u
#define ECHO_REPLY 0u
#define ECHO_REQUEST 8u
#define OPT_END 0u
#define OPT_NOP 1u
#define OPT_MSS 2u

static uint32_t hlen_of(const uint8_t *ip)
{
    return (ip[0] & 15u) * 4;
}

static bool is_echo(const uint8_t *icmp)
{
    return (icmp[0] == ECHO_REPLY || icmp[0] == ECHO_REQUEST) && icmp[1] == 0;
}

/* Destination unreachable, source quench, time exceeded, parameter problem. */
static bool is_icmp_error(const uint8_t *ip, uint32_t len)
{
    const uint8_t *icmp = ip + hlen_of(ip);

    return ip[9] == SIRQ_PROTO_ICMP && len >= hlen_of(ip) + ICMP_HLEN &&
           (icmp[0] == 3 || icmp[0] == 4 || icmp[0] == 11 || icmp[0] == 12);
}

/* An echo request, which from outside is for us whatever its identifier. */
static bool asks(const uint8_t *ip)
{
    return ip[9] == SIRQ_PROTO_ICMP && ip[hlen_of(ip)] == ECHO_REQUEST;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* Source and destination of the `len` bytes at `ip`.  A quoted packet need not be whole. */
static bool ends_of(const uint8_t *ip, uint32_t len, bool quoted, uint16_t port[2])
{
    uint32_t hlen = hlen_of(ip), whole = ip[9] == SIRQ_PROTO_TCP && !quoted ? SIRQ_TCP_HLEN : 8;
    const uint8_t *l4 = ip + hlen;

    if (len < hlen + whole)
        return false;
    if (ip[9] == SIRQ_PROTO_UDP || ip[9] == SIRQ_PROTO_TCP) {
        port[0] = (uint16_t)sirq_load16(l4);
        port[1] = (uint16_t)sirq_load16(l4 + 2);
        return true;
    }
    if (ip[9] != SIRQ_PROTO_ICMP || !is_echo(l4))
        return false;
    port[0] = port[1] = (uint16_t)sirq_load16(l4 + 4);
    return true;
}

/* `dir`: which way the packet goes.  Its inside end is its source OUT, its destination IN. */
static bool tuple_of(const uint8_t *ip, uint32_t len, enum sirq_nat_dir dir, bool quoted,
                     struct sirq_nat_tuple *t)
{
    uint32_t addr[2] = {sirq_load32_net(ip + 12), sirq_load32_net(ip + 16)};
    uint16_t port[2];

    if (!ends_of(ip, len, quoted, port))
        return false;
    *t = (struct sirq_nat_tuple){.local = addr[dir],
                                 .remote = addr[!dir],
                                 .lport = port[dir],
                                 .rport = ip[9] == SIRQ_PROTO_ICMP ? 0 : port[!dir],
                                 .proto = ip[9]};
    return true;
}

/* The packet that an ICMP error quotes; null: none that is whole enough. */
static const uint8_t *quote_of(const uint8_t *ip, uint32_t len, uint32_t *qlen)
{
    uint32_t at = hlen_of(ip) + ICMP_HLEN;
    const uint8_t *quote = ip + at;

    if (len < at + SIRQ_IP4_HLEN || quote[0] >> 4 != 4 || hlen_of(quote) < SIRQ_IP4_HLEN ||
        len < at + hlen_of(quote) || (sirq_load16(quote + 6) & 0x1fff) != 0)
        return NULL;
    *qlen = len - at;
    return quote;
}

static uint32_t flags_of(const uint8_t *ip)
{
    return ip[9] == SIRQ_PROTO_TCP ? ip[hlen_of(ip) + 13] & 7u : 0;
}

/* Fills in the change, and where the packet then goes in `found`. */
static enum sirq_drop find(struct sirq_cpu *cpu, struct sirq_nat *nat, enum sirq_nat_dir dir,
                           const struct sirq_rx *rx, struct sirq_nat_change *change,
                           struct sirq_nat_tuple *found)
{
    const uint8_t *ip = rx->ip;
    uint32_t len = rx->ip_len, flags = SIRQ_NAT_QUOTED;
    struct sirq_nat_tuple t;
    enum sirq_drop verdict;

    change->quoted = is_icmp_error(ip, len);
    if (change->quoted) {
        /* What it quotes went the other way. */
        ip = quote_of(ip, len, &len);
        if (ip == NULL || !tuple_of(ip, len, (enum sirq_nat_dir) !dir, true, &t))
            return SIRQ_DROP_NAT_PROTO;
    } else {
        if (!tuple_of(ip, len, dir, false, &t) || (dir == SIRQ_NAT_IN && asks(ip)))
            return SIRQ_DROP_NAT_PROTO;
        flags = flags_of(ip);
    }
    verdict = sirq_nat_find(cpu, nat, dir, &t, flags, found);
    if (verdict != SIRQ_DELIVERED)
        return verdict;
    change->nat = nat;
    change->dir = dir;
    change->addr = dir == SIRQ_NAT_OUT ? nat->addr : found->local;
    change->port = found->lport;
    return SIRQ_DELIVERED;
}

enum sirq_drop sirq_nat_out(struct sirq_cpu *cpu, struct sirq_nat *nat, const struct sirq_rx *rx,
                            struct sirq_nat_change *change)
{
    struct sirq_nat_tuple found;

    if ((sirq_load16(rx->ip + 6) & 0x3fff) != 0)
        return SIRQ_DROP_IP_FRAG; /* later ones have no ports */
    return find(cpu, nat, SIRQ_NAT_OUT, rx, change, &found);
}

enum sirq_drop sirq_nat_in(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_nat *nat,
                           const struct sirq_rx *rx)
{
    struct sirq_nat_change change = {0};
    struct sirq_nat_tuple found;
    const struct sirq_hop *hop;
    struct sirq_ip dst;
    enum sirq_drop verdict = find(cpu, nat, SIRQ_NAT_IN, rx, &change, &found);

    if (verdict == SIRQ_DROP_NAT_BUSY)
        return verdict;
    if (verdict != SIRQ_DELIVERED) /* of no connection: for a socket of ours, or an echo */
        return change.quoted ? SIRQ_DROP_NAT_NONE : SIRQ_DELIVERED;
    dst = sirq_ip_v4(found.local);
    hop = sirq_route_lookup(nc->net, &dst);
    if (hop != NULL && hop->type != SIRQ_HOP_LINK && hop->type != SIRQ_HOP_GATEWAY)
        return SIRQ_DROP_IP_ROUTE; /* our addresses have changed since */
    return sirq_ip4_forward_to(cpu, nc, rx, hop, &dst, &change);
}

/* ---- writing ---------------------------------------------------------------------------- */

/* HC' = ~(~HC + ~m + m') (RFC 1624); delta: the sum of all ~m + m'. */
static void correct(uint8_t *field, uint64_t delta)
{
    uint16_t sum;

    memcpy(&sum, field, 2);
    sum = (uint16_t)~sirq_csum_fold((uint16_t)~sum + delta);
    memcpy(field, &sum, 2);
}

/* Both in memory order; of a header, the sums before and after. */
static uint64_t delta16(uint16_t before, uint16_t after)
{
    return (uint64_t)(uint16_t)~before + after;
}

/* Another address at `at`. */
static uint64_t set_addr(uint8_t *at, uint32_t addr)
{
    uint64_t delta = (uint64_t)~sirq_load32_net(at) + addr;

    memcpy(at, &addr, 4);
    return delta;
}

/* Another port, or identifier. */
static uint64_t set_port(uint8_t *at, uint16_t port)
{
    uint16_t before, after;

    memcpy(&before, at, 2);
    sirq_store16(at, port);
    memcpy(&after, at, 2);
    return delta16(before, after);
}

/* An MSS above `most` is made smaller; it may lie at an odd place. */
static void clamp_mss(uint8_t *tcp, uint32_t len, uint16_t most)
{
    uint32_t at = SIRQ_TCP_HLEN;

    while (at + 1 < len && tcp[at] != OPT_END) {
        uint32_t size = tcp[at] == OPT_NOP ? 1 : tcp[at + 1];

        if (size == 0 || at + size > len || (size == 1 && tcp[at] != OPT_NOP))
            return;
        if (tcp[at] == OPT_MSS && size == 4 && sirq_load16(tcp + at + 2) > most)
            sirq_store16(tcp + at + 2, most);
        at += size;
    }
}

/* Where the checksum of a segment lies; 0: beyond what is there, or none was made. */
static uint32_t checksum_at(uint8_t proto, const uint8_t *l4, uint32_t len)
{
    uint32_t at = proto == SIRQ_PROTO_UDP ? 6 : proto == SIRQ_PROTO_TCP ? 16 : 2;

    return at + 2 <= len && (proto != SIRQ_PROTO_UDP || sirq_load16(l4 + 6) != 0) ? at : 0;
}

static uint64_t clamp(uint8_t *tcp, uint32_t len, uint16_t most)
{
    uint32_t hlen = (tcp[12] >> 4) * 4u;
    uint16_t before;

    if (hlen > len)
        return 0;
    before = sirq_csum(tcp, hlen);
    clamp_mss(tcp, hlen, most);
    return delta16(before, sirq_csum(tcp, hlen));
}

/*
 * Give the source (end 0) or destination (1) of the packet at `ip` another address and port.
 * `len` bytes are there, 8 of them behind the IP header at least.  mss 0: a quoted packet.
 */
static void rewrite(uint8_t *ip, uint32_t len, unsigned end, uint32_t addr, uint16_t port,
                    uint16_t mss)
{
    uint8_t *l4 = ip + hlen_of(ip), proto = ip[9];
    uint32_t l4_len = len - hlen_of(ip), at = checksum_at(proto, l4, l4_len);
    uint64_t delta = set_addr(ip + 12 + (size_t)end * 4, addr);

    correct(ip + 10, delta);
    if (proto == SIRQ_PROTO_ICMP) /* its sum has no addresses */
        delta = set_port(l4 + 4, port);
    else
        delta += set_port(l4 + (size_t)end * 2, port);
    if (mss != 0 && proto == SIRQ_PROTO_TCP && (l4[13] & SIRQ_NAT_SYN) != 0)
        delta += clamp(l4, l4_len, mss);
    if (at == 0)
        return;
    correct(l4 + at, delta);
    /* RFC 768: 0 is none.  And of an echo of zeros alone it is wrong: no sum of theirs is 0. */
    if (sirq_load16(l4 + at) == 0 &&
        (proto == SIRQ_PROTO_UDP || (proto == SIRQ_PROTO_ICMP && sirq_csum(l4, l4_len) == 0)))
        sirq_store16(l4 + at, 0xffff);
}

/* The quoted packet went the other way: its other end is ours.  Then the error's own address. */
static void rewrite_quoted(const struct sirq_nat_change *change, uint8_t *ip, uint32_t len)
{
    uint32_t hlen = hlen_of(ip), end = change->dir == SIRQ_NAT_OUT ? 0 : 1;
    uint8_t *icmp = ip + hlen, *quote = icmp + ICMP_HLEN;
    uint32_t icmp_len = len - hlen;
    uint16_t before = sirq_csum(icmp, icmp_len);

    rewrite(quote, icmp_len - ICMP_HLEN, !end, change->addr, change->port, 0);
    correct(icmp + 2, delta16(before, sirq_csum(icmp, icmp_len)));
    correct(ip + 10, set_addr(ip + 12 + (size_t)end * 4, change->addr));
}

void sirq_nat_apply(const struct sirq_cpu *cpu, const struct sirq_nat_change *change, uint8_t *ip,
                    uint32_t len)
{
    struct sirq_nat_count *count = &change->nat->count[cpu->id];

    if (change->quoted)
        rewrite_quoted(change, ip, len);
    else
        rewrite(ip, len, change->dir == SIRQ_NAT_OUT ? 0 : 1, change->addr, change->port,
                change->mss);
    COUNT(count->translated[change->dir], 1);
    COUNT(count->errors, change->quoted);
}
