/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a query: the answer is within its bounds, carries the query's id, and ldns can take
 * it apart.
 */
#include "target.h"

#include <ldns/ldns.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dns.h"

static const char text[] = "$ORIGIN a.\n@ SOA n m 1 2 3 4 5\n@ NS n\n@ NS m.s\nn A 192.0.2.1\n"
                           "n AAAA 2001:db8::1\nw CNAME n\nx CNAME y\ny CNAME x\n*.v TXT \"t\"\n"
                           "s NS m.s\nm.s A 192.0.2.2\nb.c.d A 192.0.2.3\n";

static struct sirq_dns_zone *make_zone(void)
{
    struct sirq_error err = {""};
    struct sirq_dns_zone *zone;
    char path[32];
    int fd = memfd_create("zone", 0);

    CHECK(fd >= 0 && write(fd, text, sizeof(text) - 1) == (ssize_t)sizeof(text) - 1);
    for (unsigned i = 0; i < 40; i++) { /* more than an answer takes */
        char line[80];
        int n = snprintf(line, sizeof(line), "l TXT \"%050u\"\n", i);

        CHECK(write(fd, line, (size_t)n) == n);
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    CHECK(sirq_dns_zone_load(&zone, path, &err) == 0);
    close(fd);
    return zone;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sirq_dns_zone *zone;
    uint8_t answer[SIRQ_DNS_UDP_MAX];
    size_t len;

    if (zone == NULL)
        zone = make_zone();
    len = sirq_dns_answer(zone, data, size, answer, sizeof(answer));
    if (len != 0) {
        ldns_pkt *pkt = NULL;

        CHECK(size >= 12 && len >= 12 && len <= sizeof(answer));
        CHECK(memcmp(answer, data, 2) == 0 && answer[2] & 0x80);
        CHECK(ldns_wire2pkt(&pkt, answer, len) == LDNS_STATUS_OK);
        ldns_pkt_free(pkt);
    }
    return 0;
}

#ifdef FUZZ_REPLAY
int main(int argc, char **argv)
{
    printf("%u inputs\n", replay(argc, argv));
    return 0;
}
#endif
