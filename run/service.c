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
        .port = service->port,
        .rcvbuf = service->rcvbuf,
        .address = service->address,
        .threads = &service->threads,
        .answer = echo,
        .arg = (void *)(uintptr_t)service->port,
    };

    snprintf(name, sizeof(name), "udp-echo %u", service->port);
    snprintf(path, sizeof(path), "%s.udp-echo", of);
    return sirq_run_server_start(plane, &config, path, err);
}

int sirq_run_services_start(struct sirq_run_plane *plane, struct sirq_error *err)
{
    const struct sirq_run_file *file = plane->source.file;
    int rc = 0;

    for (uint32_t i = 0; i < file->n_services && rc == 0; i++) {
        const struct sirq_run_service *service = &file->services[i];
        char path[32];

        snprintf(path, sizeof(path), "services[%u]", i);
        if (service->udp_echo != NULL)
            rc = start_udp_echo(plane, path, service->udp_echo, err);
        if (service->forward != NULL)
            sirq_net_set_forwarding(plane->net, true);
    }
    return rc;
}
