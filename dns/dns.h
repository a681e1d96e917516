/* SPDX-License-Identifier: MIT */
/*
 * Authoritative answers of DNS for one zone (RFC 1034, 1035), over UDP: bytes in, bytes out, no
 * socket and no clock.  Wildcards (RFC 4592), delegations with their glue, names that exist without
 * records, CNAME within the zone, negative answers (RFC 2308), EDNS (RFC 6891), ANY as RFC 8482 has
 * it.  Records of DNSSEC are served as any other type, and nothing is signed.
 */
#ifndef SIRQ_DNS_DNS_H
#define SIRQ_DNS_DNS_H

#include <sirq/driver.h> /* struct sirq_error */
#include <stddef.h>
#include <stdint.h>

#define SIRQ_DNS_UDP_MIN 512u  /* bytes of an answer that everybody takes */
#define SIRQ_DNS_UDP_MAX 1232u /* bytes of an answer: no IPv6 path has to fragment it */
#define SIRQ_DNS_RECORDS_MAX (1u << 20)

/* A zone that was read: nothing in it changes, any number of threads may ask it at once. */
struct sirq_dns_zone;

/*
 * Read a zone file (RFC 1035 section 5; its owner is that of the SOA record).  0, or -EINVAL, -ENOMEM
 * or another -errno of reading, with err filled: file and line, what is wrong, what would do; then
 * nothing is left.  Free with sirq_dns_zone_free().
 */
int sirq_dns_zone_load(struct sirq_dns_zone **out, const char *path, struct sirq_error *err);
void sirq_dns_zone_free(struct sirq_dns_zone *zone);

/* Records, and names that exist. */
uint32_t sirq_dns_zone_records(const struct sirq_dns_zone *zone);
uint32_t sirq_dns_zone_names(const struct sirq_dns_zone *zone);

/*
 * The answer to the `len` bytes of a query, into `answer` of `size` bytes (SIRQ_DNS_UDP_MIN or
 * more; of more than SIRQ_DNS_UDP_MAX the rest is not used).  Its length; 0: what came is to be left unanswered (it is shorter
 * than a header, or an answer itself: two servers would send such to each other for ever).  Allocates
 * nothing, in time bounded by the query's labels, of any thread.
 */
size_t sirq_dns_answer(const struct sirq_dns_zone *zone, const uint8_t *query, size_t len,
                       uint8_t *answer, size_t size);

#endif
