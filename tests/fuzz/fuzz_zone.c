/* SPDX-License-Identifier: MIT */
/* Any bytes as a zone file: one line about it, or a zone that answers. */
#include "target.h"

#include <ldns/ldns.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dns.h"

static void ask(const struct sirq_dns_zone *zone)
{
    static const uint8_t queries[][29] = {
        "\0\1\1\0\0\1\0\0\0\0\0\0\1a\0\0\xff\0\1",
        "\0\1\1\0\0\1\0\0\0\0\0\0\1w\1a\0\0\1\0\1",
        "\0\1\1\0\0\1\0\0\0\0\0\0\0\0\2\0\1",
    };
    static const size_t lens[] = {19, 21, 17};
    uint8_t answer[SIRQ_DNS_UDP_MAX];

    for (unsigned i = 0; i < 3; i++) {
        ldns_pkt *pkt = NULL;
        size_t len = sirq_dns_answer(zone, queries[i], lens[i], answer, sizeof(answer));

        CHECK(len >= 12 && len <= sizeof(answer));
        CHECK(ldns_wire2pkt(&pkt, answer, len) == LDNS_STATUS_OK);
        ldns_pkt_free(pkt);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    struct sirq_error err = {""};
    struct sirq_dns_zone *zone = NULL;
    char path[32];

    if (fd < 0)
        fd = memfd_create("zone", 0);
    CHECK(fd >= 0 && ftruncate(fd, 0) == 0);
    CHECK(pwrite(fd, data, size, 0) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (sirq_dns_zone_load(&zone, path, &err) == 0) {
        CHECK(sirq_dns_zone_names(zone) >= 1);
        ask(zone);
        sirq_dns_zone_free(zone);
    } else {
        CHECK(strncmp(err.text, path, strlen(path)) == 0);
        CHECK(strchr(err.text, '\n') == NULL);
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
