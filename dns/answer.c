/* SPDX-License-Identifier: MIT */
/*
 * From a question to an answer, as RFC 1034 section 4.3.2 has it.  What does not fit is left out
 * and the answer marked as cut (TC); a set of records stands there whole or not at all.
 */
#include <assert.h>
#include <string.h>

#include "query.h"

#define CHAIN_MAX 8u /* CNAMEs that are followed */
#define POINTER_MAX 0x3fffu

enum section { ANSWER, AUTHORITY, ADDITIONAL, SECTIONS };

struct out {
    const struct sirq_dns_zone *zone;
    const struct dns_query *query;
    uint8_t *buf;
    uint32_t len, size;
    uint16_t count[SECTIONS], flags;
    enum dns_rcode rcode;
};

/* A name and where it stands in the answer already. */
struct owner {
    const uint8_t *name;
    uint32_t len, at; /* at 0: nowhere */
};

/* ---- writing -------------------------------------------------------------------------------- */

static void put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
    put16(at, value >> 16);
    put16(at + 2, value);
}

static bool fits(const struct out *out, uint32_t bytes)
{
    return bytes <= out->size - out->len;
}

/* The fields before a record's data, of 10 bytes and the name's. */
static bool put_record(struct out *out, const struct owner *owner, const struct dns_rrset *set,
                       const uint8_t *data, uint32_t len, uint32_t ttl)
{
    bool pointer = owner->at != 0 && owner->at <= POINTER_MAX;
    uint32_t name_len = pointer ? 2 : owner->len;
    uint8_t *at = out->buf + out->len;

    if (!fits(out, name_len + 10 + len))
        return false;
    if (pointer)
        put16(at, 0xc000u | owner->at);
    else
        memcpy(at, owner->name, owner->len);
    at += name_len;
    put16(at, set->type);
    put16(at + 2, 1); /* IN */
    put32(at + 4, ttl);
    put16(at + 8, len);
    memcpy(at + 10, data, len);
    out->len += name_len + 10 + len;
    return true;
}

/* All records of a set; false: they do not fit, and none is there. */
static bool put_set(struct out *out, enum section section, const struct owner *owner,
                    const struct dns_rrset *set, uint32_t ttl)
{
    const uint8_t *data = out->zone->bytes + set->data;
    uint32_t before = out->len;

    for (uint16_t i = 0; i < set->n; i++) {
        uint32_t len = dns_get16(data);

        if (!put_record(out, owner, set, data + 2, len, ttl)) {
            out->len = before;
            out->flags |= DNS_TC;
            return false;
        }
        data += 2 + len;
    }
    out->count[section] = (uint16_t)(out->count[section] + set->n);
    return true;
}

/* The node's name: a pointer into the question where that ends with it. */
static struct owner owner_of(const struct out *out, const struct dns_node *node)
{
    const uint8_t *name = out->zone->bytes + node->name;
    uint32_t len = dns_name_len(name), skip = out->query->name_len - len;
    struct owner owner = {name, len, 0};

    if (len <= out->query->name_len && memcmp(out->query->name + skip, name, len) == 0)
        owner.at = DNS_HEADER + skip;
    return owner;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* What is known of a name. */
struct found {
    const struct dns_node *cut; /* above it or itself: another zone begins there; else null */
    const struct dns_node
        *node;    /* itself, or the wildcard that stands for it; null: there is none */
    bool outside; /* of the zone */
};

/* Where labels begin; the root's is the last. */
static uint32_t labels_of(const uint8_t *name, uint32_t *starts)
{
    uint32_t n = 0, at = 0;

    for (;;) {
        assert(n < DNS_LABELS_MAX);
        starts[n++] = at;
        if (name[at] == 0)
            return n;
        at += 1u + name[at];
    }
}

/* "*" and what stands for everything below `name`, or null (RFC 4592). */
static const struct dns_node *wildcard(const struct sirq_dns_zone *zone, const uint8_t *name,
                                       uint32_t len)
{
    uint8_t star[DNS_NAME_MAX + 2] = {1, '*'};

    if (len + 2 > DNS_NAME_MAX)
        return NULL;
    memcpy(star + 2, name, len);
    return dns_zone_node(zone, star, len + 2);
}

/* From the apex down to the name: the first cut ends it, and so does the first that is not there. */
static struct found find(const struct sirq_dns_zone *zone, const uint8_t *name, uint32_t len)
{
    uint32_t starts[DNS_LABELS_MAX], n = labels_of(name, starts), first = len - zone->apex_len;
    const uint8_t *apex = zone->bytes + zone->nodes[zone->apex].name;
    struct found found = {NULL, NULL, false};

    while (n > 0 && starts[n - 1] != first) /* labels below the root's that are the apex's */
        n--;
    if (n == 0 || memcmp(name + first, apex, zone->apex_len) != 0) {
        found.outside = true;
        return found;
    }
    found.node = &zone->nodes[zone->apex];
    for (uint32_t i = n - 1; i-- > 0;) {
        found.node = dns_zone_node(zone, name + starts[i], len - starts[i]);
        if (found.node == NULL) {
            found.node = wildcard(zone, name + starts[i + 1], len - starts[i + 1]);
            return found;
        }
        if (found.node->cut) {
            found.cut = found.node;
            found.node = i == 0 ? found.node : NULL;
            return found;
        }
    }
    return found;
}

/* ---- the three kinds of answers ---------------------------------------------------------------- */

/* There is no such name, or no such type of it: with the SOA, whose TTL says for how long. */
static void say_no(struct out *out, enum dns_rcode rcode)
{
    const struct dns_node *apex = &out->zone->nodes[out->zone->apex];
    struct owner owner = owner_of(out, apex);

    out->rcode = rcode;
    put_set(out, AUTHORITY, &owner, dns_zone_rrset(out->zone, apex, DNS_SOA), out->zone->negative);
}

/* Addresses of a name server that only this zone knows: it is below the cut, or else in the zone. */
static void put_glue(struct out *out, const uint8_t *target)
{
    static const uint16_t types[] = {DNS_A, DNS_AAAA};
    uint8_t name[DNS_NAME_MAX];
    uint32_t len = dns_name_len(target);
    const struct dns_node *node;
    struct owner owner = {target, len, 0};

    dns_name_lower(name, target, len);
    node = dns_zone_node(out->zone, name, len);
    for (unsigned i = 0; i < 2 && node != NULL; i++) {
        const struct dns_rrset *set = dns_zone_rrset(out->zone, node, types[i]);

        if (set != NULL)
            put_set(out, ADDITIONAL, &owner, set, set->ttl);
    }
}

static void refer(struct out *out, const struct dns_node *cut)
{
    const struct dns_rrset *set = dns_zone_rrset(out->zone, cut, DNS_NS);
    const uint8_t *data = out->zone->bytes + set->data;
    struct owner owner = owner_of(out, cut);

    out->flags &= (uint16_t)~DNS_AA;
    if (!put_set(out, AUTHORITY, &owner, set, set->ttl))
        return;
    for (uint16_t i = 0; i < set->n; i++) {
        put_glue(out, data + 2);
        data += 2u + dns_get16(data);
    }
}

/* Of a node that exists; `owner` is what was asked for, which a wildcard may stand for.  Returns
 * the name that a CNAME leads to, or null: it is said. */
static const uint8_t *say(struct out *out, const struct dns_node *node, const struct owner *owner)
{
    const struct sirq_dns_zone *zone = out->zone;
    const struct dns_rrset *set = dns_zone_rrset(zone, node, out->query->type);

    if (out->query->type == DNS_ANY && node->n_rrsets > 0)
        set = &zone->rrsets[node->first]; /* RFC 8482 section 4.1: one of them */
    if (set != NULL) {
        put_set(out, ANSWER, owner, set, set->ttl);
        return NULL;
    }
    set = dns_zone_rrset(zone, node, DNS_CNAME);
    if (set == NULL) {
        say_no(out, DNS_NOERROR);
        return NULL;
    }
    return put_set(out, ANSWER, owner, set, set->ttl) ? zone->bytes + set->data + 2 : NULL;
}

/* The name that was asked for, and those that CNAMEs lead to. */
static void resolve(struct out *out)
{
    uint8_t name[DNS_NAME_MAX];
    struct owner owner = {out->query->name, out->query->name_len, DNS_HEADER};
    const uint8_t *next = owner.name;

    for (unsigned i = 0; i < CHAIN_MAX && next != NULL; i++) {
        uint32_t len = dns_name_len(next);
        struct found found;

        dns_name_lower(name, next, len);
        found = find(out->zone, name, len);
        if (i > 0) /* the target is the data of the record before, at its end */
            owner = (struct owner){next, len, out->len - len};
        if (found.outside) {
            out->rcode = i == 0 ? DNS_REFUSED : DNS_NOERROR;
            out->flags &= i == 0 ? (uint16_t)~DNS_AA : 0xffff;
            return;
        }
        if (found.cut != NULL && !(out->query->type == DNS_DS && found.cut == found.node)) {
            if (i == 0)
                refer(out, found.cut);
            return; /* the asker goes there for the rest */
        }
        if (found.node == NULL) {
            say_no(out, DNS_NXDOMAIN);
            return;
        }
        next = say(out, found.node, &owner);
    }
}

/* ---- the message -------------------------------------------------------------------------------- */

static size_t finish(struct out *out, const uint8_t *query)
{
    uint8_t *buf = out->buf;

    memcpy(buf, query, 2);
    put16(buf + 2, out->flags | (out->rcode & 15u));
    put16(buf + 4, out->query->question_end > DNS_HEADER);
    put16(buf + 6, out->count[ANSWER]);
    put16(buf + 8, out->count[AUTHORITY]);
    put16(buf + 10, out->count[ADDITIONAL] + (out->query->edns ? 1u : 0u));
    if (out->query->edns) { /* RFC 6891 section 6.1.3; room was kept for it */
        uint8_t *at = buf + out->len;

        memset(at, 0, DNS_OPT_BYTES);
        put16(at + 1, DNS_OPT);
        put16(at + 3, SIRQ_DNS_UDP_MAX);
        at[5] = (uint8_t)(out->rcode >> 4);
        out->len += DNS_OPT_BYTES;
    }
    return out->len;
}

size_t sirq_dns_answer(const struct sirq_dns_zone *zone, const uint8_t *query, size_t len,
                       uint8_t *answer, size_t size)
{
    struct dns_query asked;
    struct out out = {.zone = zone, .query = &asked, .buf = answer};

    assert(size >= SIRQ_DNS_UDP_MIN); /* a question and OPT always fit */
    if (!dns_query_is_one(query, len))
        return 0;
    out.rcode = dns_query_parse(&asked, query, len);
    out.flags = DNS_QR | (asked.flags & (DNS_OPCODE | DNS_RD | DNS_CD));
    size = size < SIRQ_DNS_UDP_MAX ? size : SIRQ_DNS_UDP_MAX;
    out.size = asked.udp_size < size ? asked.udp_size : (uint32_t)size;
    if (asked.edns)
        out.size -= DNS_OPT_BYTES;
    out.len = asked.question_end;
    memcpy(answer + DNS_HEADER, query + DNS_HEADER, out.len - DNS_HEADER);
    if (out.rcode == DNS_NOERROR && (asked.type == DNS_AXFR || asked.type == DNS_IXFR))
        out.rcode = DNS_REFUSED;
    if (out.rcode == DNS_NOERROR) {
        out.flags |= DNS_AA;
        resolve(&out);
    }
    return finish(&out, query);
}
