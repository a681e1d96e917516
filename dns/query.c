/* SPDX-License-Identifier: MIT */
#include "query.h"

#define CLASS_IN 1u
#define CLASS_ANY 255u
#define POINTER 0xc0u

struct reader {
    const uint8_t *data;
    size_t len, at;
};

/* A name as it is in a question: labels up to the root's, no pointers.  False: it is none. */
static bool read_name(struct reader *r, uint8_t *name, uint32_t *name_len)
{
    uint32_t len = 0;

    for (;;) {
        uint32_t label;

        if (r->at >= r->len)
            return false;
        label = 1u + r->data[r->at];
        if (label > 64 || label > r->len - r->at || len + label > DNS_NAME_MAX)
            return false;
        dns_name_lower(name + len, r->data + r->at, label);
        len += label;
        r->at += label;
        if (label == 1)
            break;
    }
    *name_len = len;
    return true;
}

/* Anywhere else: labels or a pointer, which is not followed. */
static bool skip_name(struct reader *r)
{
    while (r->at < r->len) {
        uint8_t label = r->data[r->at];

        if ((label & POINTER) == POINTER) {
            r->at += 2;
            return r->at <= r->len;
        }
        if (label >= 64)
            return false;
        r->at += 1u + label;
        if (label == 0)
            return true;
    }
    return false;
}

/* A record of the additional section, which may be OPT (RFC 6891 section 6.1). */
static enum dns_rcode read_additional(struct reader *r, struct dns_query *query)
{
    bool root = r->at < r->len && r->data[r->at] == 0;
    const uint8_t *at;

    if (!skip_name(r) || r->len - r->at < 10)
        return DNS_FORMERR;
    at = r->data + r->at;
    r->at += 10u + dns_get16(at + 8);
    if (r->at > r->len)
        return DNS_FORMERR;
    if (dns_get16(at) != DNS_OPT)
        return DNS_NOERROR;
    if (!root || query->edns)
        return DNS_FORMERR;
    query->edns = true;
    query->udp_size = dns_get16(at + 2) > SIRQ_DNS_UDP_MIN ? dns_get16(at + 2) : SIRQ_DNS_UDP_MIN;
    return at[5] == 0 ? DNS_NOERROR : DNS_BADVERS;
}

static enum dns_rcode read_question(struct reader *r, struct dns_query *query, uint16_t *class)
{
    if (!read_name(r, query->name, &query->name_len) || r->len - r->at < 4)
        return DNS_FORMERR;
    query->type = dns_get16(r->data + r->at);
    *class = dns_get16(r->data + r->at + 2);
    r->at += 4;
    query->question_end = (uint32_t)r->at;
    return DNS_NOERROR;
}

bool dns_query_is_one(const uint8_t *data, size_t len)
{
    return len >= DNS_HEADER && !(dns_get16(data + 2) & DNS_QR);
}

enum dns_rcode dns_query_parse(struct dns_query *query, const uint8_t *data, size_t len)
{
    struct reader r = {data, len, DNS_HEADER};
    uint16_t additional = dns_get16(data + 10), class = 0;
    enum dns_rcode rcode;

    query->flags = dns_get16(data + 2);
    query->question_end = DNS_HEADER;
    query->edns = false;
    query->udp_size = SIRQ_DNS_UDP_MIN; /* RFC 1035, without EDNS */
    if (query->flags & DNS_OPCODE)
        return DNS_NOTIMP;
    if (dns_get16(data + 4) != 1 || dns_get16(data + 6) != 0 || dns_get16(data + 8) != 0)
        return DNS_FORMERR;
    rcode = read_question(&r, query, &class);
    for (uint16_t i = 0; i < additional && rcode == DNS_NOERROR; i++)
        rcode = read_additional(&r, query);
    if (rcode != DNS_NOERROR)
        return rcode;
    if (r.at != len)
        return DNS_FORMERR; /* what else came is nothing that we know */
    return class == CLASS_IN || class == CLASS_ANY ? DNS_NOERROR : DNS_REFUSED;
}
