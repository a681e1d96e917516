/* SPDX-License-Identifier: MIT */
/* An authoritative DNS server for one zone file, over UDP. */
#include "common.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dns.h"

#define WAIT_NS 200000000 /* how long Ctrl-C may go unseen */

/* Answers of a batch, each from where its query went to where it came from. */
static void answer_all(struct example *ex, const struct sirq_dns_zone *zone,
                       const struct sirq_msg *queries, unsigned n)
{
    static uint8_t bytes[BATCH][SIRQ_DNS_UDP_MAX];
    struct sirq_msg answers[BATCH];
    unsigned ready = 0;

    for (unsigned i = 0; i < n; i++) {
        const struct sirq_msg *query = &queries[i];
        size_t len = 0;

        if (query->len <= query->size) /* else it was cut */
            len = sirq_dns_answer(zone, query->buf, query->len, bytes[ready], sizeof(bytes[0]));
        if (len == 0)
            continue;
        answers[ready] = (struct sirq_msg){
            .buf = bytes[ready],
            .len = (unsigned)len,
            .saddr = query->daddr,
            .daddr = query->saddr,
            .dport = query->sport,
        };
        ready++;
    }
    ex->received += n;
    for (unsigned i = 0; i < ready;) {
        int sent = sirq_send(ex->sock, answers + i, ready - i);

        ex->sent += sent > 0 ? (unsigned)sent : 0;
        i += sent > 0 ? (unsigned)sent : 1;
    }
}

static int serve(struct example *ex, const struct sirq_dns_zone *zone)
{
    struct sirq_msg *queries = example_batch();
    int rc = 0;

    while (rc == 0 && !example_ended()) {
        int n = sirq_recv(ex->sock, queries, BATCH, WAIT_NS);

        if (n > 0)
            answer_all(ex, zone, queries, (unsigned)n);
        else if (n != -ETIMEDOUT && n != -EINTR)
            rc = n;
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct sirq_error err = {""};
    struct sirq_dns_zone *zone;
    struct example ex;
    int rc;

    example_options(&ex, argc, argv, "An authoritative DNS server for the zone of a file.", 53,
                    "ZONE-FILE", 1);
    if (sirq_dns_zone_load(&zone, ex.args[0], &err) != 0) {
        fprintf(stderr, "%s: %s\n", argv[0], err.text);
        return 1;
    }
    rc = example_start(&ex);
    if (rc == 0) {
        fprintf(stderr, "%s: %u records of %u names\n", argv[0], sirq_dns_zone_records(zone),
                sirq_dns_zone_names(zone));
        rc = serve(&ex, zone);
        if (rc != 0)
            fprintf(stderr, "%s: receive: %s\n", argv[0], strerror(-rc));
    }
    example_stop(&ex);
    sirq_dns_zone_free(zone);
    return rc != 0;
}
