/* SPDX-License-Identifier: MIT */
/* See flow.h.  A frame is not trusted: nothing beyond `len` is read. */
#define SIRQ_NET_INTERNAL
#include "flow.h"

#include <stdbool.h>

#include "hash.h"

#define ETH_HLEN 14u
#define VLAN_HLEN 4u
#define VLAN_TAGS 2u /* looked through */
#define TYPE_IPV4 0x0800u
#define TYPE_IPV6 0x86ddu
#define TYPE_VLAN 0x8100u
#define TYPE_QINQ 0x88a8u
#define IPV4_HLEN 20u
#define IPV6_HLEN 40u
#define IPV4_FRAG_MASK 0x3fffu /* more fragments, and the offset */

static uint32_t load16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static bool has_ports(uint8_t proto)
{
    return proto == 6 || proto == 17; /* TCP, UDP */
}

void sirq_flow_table_init(struct sirq_flow_table *table)
{
    for (unsigned i = 0; i < 2 * SIRQ_FLOW_INPUT; i++)
        for (unsigned v = 0; v < 16; v++) {
            uint8_t input[SIRQ_FLOW_INPUT] = {0};

            input[i / 2] = (uint8_t)(i % 2 == 0 ? v << 4 : v);
            table->half[i][v] = sirq_rss_hash(sirq_rss_key, input, sizeof(input));
        }
}

/* The part of the hash that `n` bytes of input at place `at` make. */
static uint32_t part(const struct sirq_flow_table *table, const uint8_t *p, uint32_t at, uint32_t n)
{
    const uint32_t(*half)[16] = &table->half[2 * at];
    uint32_t hash = 0;

    for (uint32_t i = 0; i < n; i++)
        hash ^= half[2 * i][p[i] >> 4] ^ half[2 * i + 1][p[i] & 15];
    return hash;
}

static uint32_t ipv4_hash(const struct sirq_flow_table *table, const uint8_t *ip, uint32_t len)
{
    uint32_t hlen, hash;

    if (len < IPV4_HLEN || ip[0] >> 4 != 4)
        return 0;
    hlen = (ip[0] & 15u) * 4;
    hash = part(table, ip + 12, 0, 8);
    if (has_ports(ip[9]) && (load16(ip + 6) & IPV4_FRAG_MASK) == 0 && hlen >= IPV4_HLEN &&
        len >= hlen + 4)
        hash ^= part(table, ip + hlen, 8, 4);
    return hash != 0 ? hash : 1;
}

/* Ports behind extension headers are not looked for. */
static uint32_t ipv6_hash(const struct sirq_flow_table *table, const uint8_t *ip, uint32_t len)
{
    bool ports;
    uint32_t hash;

    if (len < IPV6_HLEN || ip[0] >> 4 != 6)
        return 0;
    ports = has_ports(ip[6]) && len >= IPV6_HLEN + 4;
    hash = part(table, ip + 8, 0, ports ? 36 : 32); /* ports follow the addresses at once */
    return hash != 0 ? hash : 1;
}

uint32_t sirq_flow_hash(const struct sirq_flow_table *table, const uint8_t *frame, uint32_t len)
{
    uint32_t at = ETH_HLEN, type;

    if (len < at)
        return 0;
    type = load16(frame + at - 2);
    for (unsigned i = 0; i < VLAN_TAGS && (type == TYPE_VLAN || type == TYPE_QINQ); i++) {
        at += VLAN_HLEN;
        if (len < at)
            return 0;
        type = load16(frame + at - 2);
    }
    if (type == TYPE_IPV4)
        return ipv4_hash(table, frame + at, len - at);
    if (type == TYPE_IPV6)
        return ipv6_hash(table, frame + at, len - at);
    return 0;
}
