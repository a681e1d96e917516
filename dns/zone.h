/* SPDX-License-Identifier: MIT */
/*
 * A zone in memory: names in a hash table, each with its sets of records, those with their data in
 * one array of bytes.  Names are in the form of the wire (RFC 1035 section 3.1) and in lower case
 * where they are looked up.
 */
#ifndef SIRQ_DNS_ZONE_H
#define SIRQ_DNS_ZONE_H

#include <stdbool.h>

#include "dns.h"

#define DNS_NAME_MAX 255u /* bytes, with the root's 0 */
#define DNS_LABELS_MAX 128u

enum dns_type {
    DNS_A = 1,
    DNS_NS = 2,
    DNS_CNAME = 5,
    DNS_SOA = 6,
    DNS_AAAA = 28,
    DNS_DNAME = 39,
    DNS_OPT = 41,
    DNS_DS = 43,
    DNS_RRSIG = 46,
    DNS_NSEC = 47,
    DNS_IXFR = 251,
    DNS_AXFR = 252,
    DNS_ANY = 255
};

/* All records of a type at a name.  In `bytes` from `data` on: for each, its length in two bytes and
 * that many of data. */
struct dns_rrset {
    uint16_t type, n;
    uint32_t ttl, data;
};

/* A name that exists, be it because one below it does. */
struct dns_node {
    uint32_t name; /* in bytes */
    uint32_t first, n_rrsets;
    bool cut; /* another zone begins here */
};

struct sirq_dns_zone {
    uint8_t *bytes;
    struct dns_rrset *rrsets;
    struct dns_node *nodes;
    uint32_t *table; /* number of a node and 1; 0: free */
    uint32_t n_bytes, n_rrsets, n_nodes, mask, n_records;
    uint32_t apex;     /* node */
    uint32_t apex_len; /* bytes of its name */
    uint32_t negative; /* TTL of what does not exist: the least of SOA's and its minimum */
};

/* Bytes of a name in the form of the wire, with its 0. */
uint32_t dns_name_len(const uint8_t *name);
void dns_name_lower(uint8_t *to, const uint8_t *name, uint32_t len);

/* The node of a name in lower case, or null. */
const struct dns_node *dns_zone_node(const struct sirq_dns_zone *zone, const uint8_t *name,
                                     uint32_t len);
const struct dns_rrset *dns_zone_rrset(const struct sirq_dns_zone *zone,
                                       const struct dns_node *node, uint16_t type);

/* ---- building ------------------------------------------------------------------------------ */

/* A record as it was read. */
struct dns_record {
    uint8_t *name, *data; /* owned; name in lower case */
    uint32_t name_len, data_len, ttl, line;
    uint16_t type;
};

/* Make a zone of records, which are put in another order.  `path` is for err.  0, or -EINVAL or
 * -ENOMEM with err filled and nothing left. */
int dns_zone_build(struct sirq_dns_zone **out, struct dns_record *records, uint32_t n,
                   const char *path, struct sirq_error *err);

#endif
