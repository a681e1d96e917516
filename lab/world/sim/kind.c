/* SPDX-License-Identifier: MIT */
#include "kind.h"

static const struct sirq_sim_kind *const kinds[] = {
    &sirq_kind_udp_receiver, &sirq_kind_rr_client,    &sirq_kind_rr_server,
    &sirq_kind_hog,          &sirq_kind_cyclictest,   &sirq_kind_watchdog,
    &sirq_kind_disk_reader,  &sirq_kind_tcp_receiver, &sirq_kind_tcp_sender,
};

const struct sirq_sim_kind *sirq_sim_kind_of(const struct sirq_spec_threads *spec)
{
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i]->settings(spec) != NULL)
            return kinds[i];
    }
    return NULL;
}
