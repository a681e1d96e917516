/* SPDX-License-Identifier: MIT */
/* Zones of the services of DNS: read before anything is changed, taken up as a whole. */
#include <stdio.h>
#include <string.h>

#include "plane.h"

int sirq_run_zones_load(const struct sirq_run_source *source, struct sirq_dns_zone **zones,
                        struct sirq_error *err)
{
    const struct sirq_run_file *file = source->file;
    int rc = 0;

    memset(zones, 0, SIRQ_RUN_SERVICES * sizeof(*zones));
    for (uint32_t i = 0; i < file->n_services && rc == 0; i++) {
        if (file->services[i].dns == NULL)
            continue;
        rc = sirq_dns_zone_load(&zones[i], file->services[i].dns->zone, err);
        rc = sirq_run_blame(source, rc, err, "services[%u].dns.zone", i);
    }
    if (rc != 0)
        sirq_run_zones_free(zones);
    return rc;
}

void sirq_run_zones_take(struct sirq_run_plane *plane, struct sirq_dns_zone **zones)
{
    for (uint32_t i = 0; i < SIRQ_RUN_SERVICES; i++) {
        struct sirq_run_dns_zone *dns = &plane->dns[i];
        /* ACQ_REL: a zone is whole before a thread can find it. */
        struct sirq_dns_zone *old = __atomic_exchange_n(&dns->zone, zones[i], __ATOMIC_ACQ_REL);

        if (old != NULL && dns->server != NULL)
            sirq_run_server_wait_batch(dns->server);
        sirq_dns_zone_free(old);
    }
}

void sirq_run_zones_free(struct sirq_dns_zone **zones)
{
    for (uint32_t i = 0; i < SIRQ_RUN_SERVICES; i++) {
        sirq_dns_zone_free(zones[i]);
        zones[i] = NULL;
    }
}
