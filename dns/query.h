/* SPDX-License-Identifier: MIT */
/* What a query asks. */
#ifndef SIRQ_DNS_QUERY_H
#define SIRQ_DNS_QUERY_H

#include "zone.h"

#define DNS_HEADER 12u
#define DNS_OPT_BYTES 11u /* of an OPT record without options */

/* Bits of the header's second 16, in the order of the wire. */
#define DNS_QR 0x8000u
#define DNS_OPCODE 0x7800u
#define DNS_AA 0x0400u
#define DNS_TC 0x0200u
#define DNS_RD 0x0100u
#define DNS_CD 0x0010u

enum dns_rcode {
    DNS_NOERROR = 0,
    DNS_FORMERR = 1,
    DNS_NXDOMAIN = 3,
    DNS_NOTIMP = 4,
    DNS_REFUSED = 5,
    DNS_BADVERS = 16
};

struct dns_query {
    uint16_t flags, type;
    uint8_t name[DNS_NAME_MAX]; /* asked for, in lower case */
    uint32_t name_len;
    uint32_t question_end; /* bytes of header and question, 12: the question is not repeated */
    bool edns;
    uint32_t udp_size; /* the most that the asker takes */
};

/* Whether there is to be an answer at all. */
bool dns_query_is_one(const uint8_t *data, size_t len);

/* Take it apart; DNS_NOERROR, or what the answer has to say instead. */
enum dns_rcode dns_query_parse(struct dns_query *query, const uint8_t *data, size_t len);

static inline uint16_t dns_get16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

#endif
