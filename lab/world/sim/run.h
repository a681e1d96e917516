/* SPDX-License-Identifier: MIT */
/* Any experiment file in the simulated world. */
#ifndef SIRQ_LAB_SIM_RUN_H
#define SIRQ_LAB_SIM_RUN_H

#include "experiment.h"

/* Run options->target, print and write what it gave.  0, -EINTR (partial) or -errno with err
 * filled. */
int sirq_sim_lab_run(const struct sirq_lab_options *options, struct sirq_error *err);

#endif
