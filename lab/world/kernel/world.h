/* SPDX-License-Identifier: MIT */
/* The kernel world: experiments that run on the running kernel's own softirqs. */
#ifndef SIRQ_LAB_KERNEL_WORLD_H
#define SIRQ_LAB_KERNEL_WORLD_H

#include "experiment.h"

/* As `run` of struct sirq_experiment. */
int sirq_kernel_udp_flood(const struct sirq_lab_options *options, struct sirq_results *results,
                          struct sirq_error *err);

#endif
