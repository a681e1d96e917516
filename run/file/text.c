/* SPDX-License-Identifier: MIT */
/* Addresses and classes as people write them. */
#include "file.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

bool sirq_run_is_v4(const struct sirq_ip *addr)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(addr->b, mapped, sizeof(mapped)) == 0;
}

static bool host_of(const char *text, struct sirq_ip *addr, unsigned *bits)
{
    struct in_addr v4;

    *bits = 32;
    if (inet_pton(AF_INET, text, &v4) == 1) {
        *addr = sirq_ip_v4(v4.s_addr);
        return true;
    }
    *bits = 128;
    /* ::ffff:192.0.2.1 would be IPv4, written so that one does not see it. */
    return inet_pton(AF_INET6, text, addr->b) == 1 && !sirq_run_is_v4(addr);
}

bool sirq_run_address(const char *text, struct sirq_ip *addr, unsigned *prefix)
{
    char host[INET6_ADDRSTRLEN];
    size_t len = strcspn(text, "/"), digits;
    unsigned bits;

    if (len >= sizeof(host) || (text[len] == '/') != (prefix != NULL))
        return false;
    memcpy(host, text, len);
    host[len] = '\0';
    if (!host_of(host, addr, &bits))
        return false;
    if (prefix == NULL)
        return true;
    text += len + 1;
    digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 3 || text[digits] != '\0' || (text[0] == '0' && digits > 1))
        return false;
    *prefix = (unsigned)strtoul(text, NULL, 10);
    return *prefix <= bits;
}

/* 16: no digit. */
static unsigned hex(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c != '\0' ? strchr(digits, c | 0x20) : NULL;

    return at != NULL ? (unsigned)(at - digits) : 16;
}

bool sirq_run_mac(const char *text, uint8_t mac[6])
{
    if (strlen(text) != 17)
        return false;
    for (unsigned i = 0; i < 6; i++) {
        const char *at = text + (size_t)3 * i;
        unsigned high = hex(at[0]), low = hex(at[1]);

        if (high > 15 || low > 15 || at[2] != (i < 5 ? ':' : '\0'))
            return false;
        mac[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

struct sirq_sched sirq_run_sched_of(const struct sirq_run_sched *sched)
{
    static const int class[] = {
        [SIRQ_RUN_OTHER] = SCHED_OTHER, [SIRQ_RUN_BATCHED] = SCHED_BATCH,
        [SIRQ_RUN_IDLE] = SCHED_IDLE,   [SIRQ_RUN_FIFO] = SCHED_FIFO,
        [SIRQ_RUN_RR] = SCHED_RR,
    };

    return (struct sirq_sched){
        .policy = class[sched->class],
        .priority = (int)sched->priority,
        .nice = sched->nice,
    };
}

const struct sirq_run_listen *sirq_run_listen_of(const struct sirq_run_service *service)
{
    if (service->udp_echo != NULL)
        return &service->udp_echo->listen;
    return service->dns != NULL ? &service->dns->listen : NULL;
}

uint32_t sirq_run_port_of(const struct sirq_run_service *service)
{
    const struct sirq_run_listen *listen = sirq_run_listen_of(service);

    if (listen == NULL)
        return 0;
    return listen->port == 0 && service->dns != NULL ? SIRQ_RUN_DNS_PORT : listen->port;
}

unsigned sirq_run_threads_of(const struct sirq_run_file *file)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < file->n_services; i++) {
        const struct sirq_run_listen *listen = sirq_run_listen_of(&file->services[i]);

        n += listen != NULL ? 2 * (listen->threads.n_cpus + 1) : 0;
    }
    return n;
}
