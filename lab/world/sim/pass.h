/* SPDX-License-Identifier: MIT */
/* Let virtual time pass. */
#ifndef SIRQ_LAB_SIM_PASS_H
#define SIRQ_LAB_SIM_PASS_H

#include <sirq/sim.h>

/* 0, or -EINTR when *stop (__atomic, may be null) became true. */
int sirq_sim_pass_time(struct sirq_sim *sim, uint64_t ns, const bool *stop);

#endif
