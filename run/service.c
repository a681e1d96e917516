/* SPDX-License-Identifier: MIT */
/* The services of a plane's file. */
#include "plane.h"

#include <stdio.h>

/*
 * udp-echo: what comes goes back.  Not to its own port: two echo servers would keep a datagram
 * with a forged source between them for ever.
 */
static bool echo(void *arg, const struct sirq_msg *query, struct sirq_msg *answer)
{
    answer->buf = query->buf;
    answer->len = query->len;
    return query->sport != (uintptr_t)arg;
}

static int start_udp_echo(struct sirq_run_plane *plane, const char *of,
                          const struct sirq_run_udp_echo *service, struct sirq_error *err)
{
    char name[32], path[64];
    const struct sirq_run_server_config config = {
        .name = name,
        .port = service->listen.port,
        .listen = &service->listen,
        .answer = echo,
        .arg = (void *)(uintptr_t)service->listen.port,
    };

    snprintf(name, sizeof(name), "udp-echo %u", config.port);
    snprintf(path, sizeof(path), "%s.udp-echo", of);
    return sirq_run_server_start(plane, &config, path, err);
}

/* dns: `arg` has the zone, which may be another one from one query to the next. */
static bool answer_dns(void *arg, const struct sirq_msg *query, struct sirq_msg *answer)
{
    const struct sirq_run_dns_zone *dns = arg;
    /* ACQUIRE: all of a zone that has just taken its place is seen. */
    const struct sirq_dns_zone *zone = __atomic_load_n(&dns->zone, __ATOMIC_ACQUIRE);

    answer->len =
        (unsigned)sirq_dns_answer(zone, query->buf, query->len, answer->buf, answer->size);
    return answer->len != 0;
}

static int start_dns(struct sirq_run_plane *plane, uint32_t i, const char *of,
                     struct sirq_error *err)
{
    const struct sirq_run_service *service = &plane->source.file->services[i];
    char name[32], path[64];
    const struct sirq_run_server_config config = {
        .name = name,
        .port = sirq_run_port_of(service),
        .listen = &service->dns->listen,
        .answer = answer_dns,
        .arg = &plane->dns[i],
    };
    int rc;

    snprintf(name, sizeof(name), "dns %u", config.port);
    snprintf(path, sizeof(path), "%s.dns", of);
    rc = sirq_run_server_start(plane, &config, path, err);
    if (rc == 0)
        plane->dns[i].server = plane->servers[plane->nservers - 1];
    return rc;
}

static int start_nat_router(struct sirq_run_plane *plane, const char *of,
                            const struct sirq_run_nat_router *service, struct sirq_error *err)
{
    const struct sirq_nat_config config = {
        .max_conns = service->max_conns,
        .port_lo = (uint16_t)service->port_lo,
        .port_hi = (uint16_t)service->port_hi,
        .udp_s = service->udp_s,
        .udp_stream_s = service->udp_stream_s,
        .tcp_transitory_s = service->tcp_transitory_s,
        .tcp_established_s = service->tcp_established_s,
        .icmp_s = service->icmp_s,
    };
    struct sirq_netdev *outside = sirq_run_device_of(plane, service->outside);

    sirq_net_set_forwarding(plane->net, true);
    return sirq_run_blame(&plane->source, sirq_nat_set(plane->net, outside, &config, err), err,
                          "%s.nat-router", of);
}

int sirq_run_services_start(struct sirq_run_plane *plane, struct sirq_error *err)
{
    const struct sirq_run_file *file = plane->source.file;
    struct sirq_dns_zone *zones[SIRQ_RUN_SERVICES];
    int rc = sirq_run_zones_load(&plane->source, zones, err);

    if (rc == 0)
        sirq_run_zones_take(plane, zones);
    for (uint32_t i = 0; i < file->n_services && rc == 0; i++) {
        const struct sirq_run_service *service = &file->services[i];
        char path[32];

        snprintf(path, sizeof(path), "services[%u]", i);
        if (service->udp_echo != NULL)
            rc = start_udp_echo(plane, path, service->udp_echo, err);
        if (service->dns != NULL)
            rc = start_dns(plane, i, path, err);
        if (service->forward != NULL)
            sirq_net_set_forwarding(plane->net, true);
        if (rc == 0 && service->nat_router != NULL)
            rc = start_nat_router(plane, path, service->nat_router, err);
    }
    return rc;
}
