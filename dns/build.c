/* SPDX-License-Identifier: MIT */
/* From records to a zone: sorted, checked, packed. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "zone.h"

#define SOA_NUMBERS 20u /* bytes behind SOA's two names */
#define SOA_MINIMUM 16u /* of them, where the minimum stands */
#define RDATA_MAX 65535u

struct build {
    struct sirq_dns_zone *zone;
    struct dns_record *records;
    uint32_t n;
    const struct dns_record *soa;
    const char *path;
    struct sirq_error *err;
};

/* -EINVAL, with what is wrong. */
#define bad_at(build, line, ...) (say_bad(build, line, __VA_ARGS__), -EINVAL)
#define bad(build, record, ...) bad_at(build, (record)->line, __VA_ARGS__)

static void say_bad(const struct build *build, uint32_t line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void say_bad(const struct build *build, uint32_t line, const char *fmt, ...)
{
    char what[160];
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    sirq_fail(build->err, EINVAL, "%.100s:%u: %s", build->path, line, what);
}

/* ---- what has to hold ---------------------------------------------------------------------- */

static int by_bytes(const uint8_t *a, uint32_t a_len, const uint8_t *b, uint32_t b_len)
{
    int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

    return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

/* By name, type and data: records that are the same stand side by side. */
static int by_name(const void *a, const void *b)
{
    const struct dns_record *x = a, *y = b;
    int order = by_bytes(x->name, x->name_len, y->name, y->name_len);

    if (order == 0)
        order = (x->type > y->type) - (x->type < y->type);
    if (order == 0)
        order = by_bytes(x->data, x->data_len, y->data, y->data_len);
    return order != 0 ? order : (x->line > y->line) - (x->line < y->line);
}

static bool same_name(const struct dns_record *a, const struct dns_record *b)
{
    return a->name_len == b->name_len && memcmp(a->name, b->name, a->name_len) == 0;
}

static bool same_record(const struct dns_record *a, const struct dns_record *b)
{
    return same_name(a, b) && a->type == b->type && a->data_len == b->data_len &&
           memcmp(a->data, b->data, a->data_len) == 0;
}

/* Is `name` the apex or below it?  Labels, not bytes, have to end alike. */
static bool within(const struct dns_record *apex, const uint8_t *name, uint32_t len)
{
    while (len > apex->name_len) {
        len -= 1u + *name;
        name += 1u + *name;
    }
    return len == apex->name_len && memcmp(name, apex->name, len) == 0;
}

static int find_soa(struct build *build)
{
    for (uint32_t i = 0; i < build->n; i++) {
        const struct dns_record *record = &build->records[i];

        if (record->type != DNS_SOA)
            continue;
        if (build->soa != NULL && !same_record(build->soa, record))
            return bad(build, record, "a second SOA; a file is one zone, leave one out");
        if (record->data_len < SOA_NUMBERS + 2)
            return bad(build, record, "an SOA that is too short");
        build->soa = record;
    }
    if (build->soa == NULL)
        return bad_at(build, 1, "no SOA record; a zone begins with one");
    return 0;
}

static int check_record(const struct build *build, const struct dns_record *record)
{
    if (!within(build->soa, record->name, record->name_len))
        return bad(build, record,
                   "a name outside of the zone, which is the SOA's; leave it out, or "
                   "say $ORIGIN before it");
    if (record->type == DNS_DNAME)
        return bad(build, record, "DNAME is not served; give CNAMEs instead");
    if (record->data_len > RDATA_MAX)
        return bad(build, record, "data of %u bytes; a record has at most %u", record->data_len,
                   RDATA_MAX);
    return 0;
}

/* `from`..`to`: all records of a name, sorted by type. */
static int check_name(const struct build *build, const struct dns_record *from,
                      const struct dns_record *to)
{
    const struct dns_record *cname = NULL, *other = NULL;

    for (const struct dns_record *record = from; record < to; record++) {
        if (record->type == DNS_CNAME && cname != NULL && !same_record(cname, record))
            return bad(build, record, "a second CNAME for this name; leave one out");
        if (record->type == DNS_CNAME)
            cname = record;
        else if (record->type != DNS_RRSIG && record->type != DNS_NSEC)
            other = record;
    }
    if (cname != NULL && other != NULL)
        return bad(build, cname,
                   "a CNAME beside other records (line %u) of this name; leave one out",
                   other->line);
    return 0;
}

static int check(struct build *build)
{
    const struct dns_record *from = build->records;
    bool served = false;
    int rc = 0;

    for (uint32_t i = 0; i < build->n && rc == 0; i++) {
        const struct dns_record *record = &build->records[i];

        rc = check_record(build, record);
        served |= record->type == DNS_NS && same_name(record, build->soa);
        if (rc == 0 && (i + 1 == build->n || !same_name(record, record + 1))) {
            rc = check_name(build, from, record + 1);
            from = record + 1;
        }
    }
    if (rc == 0 && !served)
        rc = bad(build, build->soa, "no NS record for the zone itself; give one");
    return rc;
}

/* ---- packing ------------------------------------------------------------------------------- */

/* Room for everything: names of records and above them, data with lengths. */
static int reserve(struct build *build)
{
    struct sirq_dns_zone *zone = build->zone;
    uint64_t bytes = 0, nodes = 0, slots = 4;

    for (uint32_t i = 0; i < build->n; i++) {
        const struct dns_record *record = &build->records[i];

        bytes += 2u + record->data_len;
        if (i > 0 && same_name(record - 1, record))
            continue;
        for (const uint8_t *at = record->name; *at != 0; at += 1u + *at) {
            nodes++;
            bytes += record->name_len - (uint32_t)(at - record->name);
        }
        nodes++;
        bytes++;
    }
    if (bytes > UINT32_MAX || nodes > UINT32_MAX / 4)
        return bad_at(build, 1, "a zone of more than 4 GiB");
    while (slots < 2 * nodes)
        slots *= 2;
    zone->bytes = malloc(bytes + 1);
    zone->rrsets = calloc((size_t)build->n + 1, sizeof(*zone->rrsets));
    zone->nodes = calloc(nodes + 1, sizeof(*zone->nodes));
    zone->table = calloc(slots, sizeof(*zone->table));
    zone->mask = (uint32_t)slots - 1;
    if (zone->bytes == NULL || zone->rrsets == NULL || zone->nodes == NULL || zone->table == NULL) {
        sirq_fail(build->err, ENOMEM, "out of memory");
        return -ENOMEM;
    }
    return 0;
}

static uint32_t put(struct sirq_dns_zone *zone, const uint8_t *data, uint32_t len)
{
    uint32_t at = zone->n_bytes;

    memcpy(zone->bytes + at, data, len);
    zone->n_bytes += len;
    return at;
}

/* The name's node, made if need be. */
static struct dns_node *node_of(struct sirq_dns_zone *zone, const uint8_t *name, uint32_t len)
{
    const struct dns_node *found = dns_zone_node(zone, name, len);
    uint32_t at = dns_hash(name, len) & zone->mask;
    struct dns_node *node;

    if (found != NULL)
        return &zone->nodes[found - zone->nodes];
    while (zone->table[at] != 0)
        at = (at + 1) & zone->mask;
    node = &zone->nodes[zone->n_nodes++];
    zone->table[at] = zone->n_nodes;
    node->name = put(zone, name, len);
    return node;
}

/* Records of a name exist, and so do all names between it and the apex. */
static void make_nodes(struct build *build)
{
    struct sirq_dns_zone *zone = build->zone;
    const struct dns_record *soa = build->soa;

    zone->apex = (uint32_t)(node_of(zone, soa->name, soa->name_len) - zone->nodes);
    zone->apex_len = soa->name_len;
    for (uint32_t i = 0; i < build->n; i++) {
        const uint8_t *name = build->records[i].name;
        uint32_t len = build->records[i].name_len;

        for (; len > soa->name_len; len -= 1u + *name, name += 1u + *name)
            node_of(zone, name, len);
    }
}

static void pack_rrset(struct build *build, struct dns_node *node, const struct dns_record *from,
                       const struct dns_record *to)
{
    struct sirq_dns_zone *zone = build->zone;
    struct dns_rrset *set = &zone->rrsets[zone->n_rrsets];

    *set = (struct dns_rrset){.type = from->type, .ttl = from->ttl, .data = zone->n_bytes};
    if (node->n_rrsets++ == 0)
        node->first = zone->n_rrsets;
    zone->n_rrsets++;
    for (const struct dns_record *record = from; record < to; record++) {
        const uint8_t len[2] = {(uint8_t)(record->data_len >> 8), (uint8_t)record->data_len};

        set->ttl = record->ttl < set->ttl ? record->ttl : set->ttl;
        if (record > from && same_record(record - 1, record))
            continue; /* RFC 2181 section 5: a set holds each record once */
        put(zone, len, sizeof(len));
        put(zone, record->data, record->data_len);
        set->n++;
        zone->n_records++;
    }
    node->cut |= from->type == DNS_NS && (uint32_t)(node - zone->nodes) != zone->apex;
}

static int pack(struct build *build)
{
    const struct dns_record *from = build->records, *end = build->records + build->n;

    for (const struct dns_record *to = from; from < end; from = to) {
        while (to < end && same_name(from, to) && to->type == from->type)
            to++;
        if (to - from > UINT16_MAX)
            return bad(build, from, "more than %u records of a name and type", UINT16_MAX);
        pack_rrset(build, node_of(build->zone, from->name, from->name_len), from, to);
    }
    return 0;
}

static uint32_t soa_minimum(const struct dns_record *soa)
{
    const uint8_t *at = soa->data + soa->data_len - SOA_NUMBERS + SOA_MINIMUM;

    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

int dns_zone_build(struct sirq_dns_zone **out, struct dns_record *records, uint32_t n,
                   const char *path, struct sirq_error *err)
{
    struct build build = {.records = records, .n = n, .path = path, .err = err};
    int rc;

    if (n != 0) /* else there are none at all, not even a place for them */
        qsort(records, n, sizeof(records[0]), by_name);
    rc = find_soa(&build);
    if (rc == 0)
        rc = check(&build);
    if (rc != 0)
        return rc;
    build.zone = calloc(1, sizeof(*build.zone));
    if (build.zone == NULL) {
        sirq_fail(err, ENOMEM, "out of memory");
        return -ENOMEM;
    }
    rc = reserve(&build);
    if (rc == 0) {
        make_nodes(&build);
        rc = pack(&build);
    }
    if (rc != 0) {
        sirq_dns_zone_free(build.zone);
        return rc;
    }
    build.zone->negative = soa_minimum(build.soa);
    if (build.soa->ttl < build.zone->negative)
        build.zone->negative = build.soa->ttl;
    *out = build.zone;
    return 0;
}
