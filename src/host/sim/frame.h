/* SPDX-License-Identifier: MIT */
/* Frames of sources and flows: checked, built, and where they arrive. */
#ifndef SIRQ_SIM_HOST_PRIVATE
#error "frame.h is private to src/host/sim"
#endif
#ifndef SIRQ_HOST_SIM_FRAME_H
#define SIRQ_HOST_SIM_FRAME_H

#include "host.h"

int sirq_frame_check(const struct sirq_sim_nic *nic, const struct sirq_sim_source_config *config,
                     struct sirq_error *err);
void sirq_frame_make(struct sirq_frame *frame, const struct sirq_sim_source_config *config);
/* Where its frames arrive: told, or by the hash of addresses and ports. */
struct sirq_nic_ring *sirq_frame_ring(struct sirq_sim_nic *nic,
                                      const struct sirq_sim_source_config *config);

#endif
