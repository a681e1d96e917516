/* SPDX-License-Identifier: MIT */
/* Any experiment file in the simulated world; alone, or several together. */
#ifndef SIRQ_LAB_SIM_RUN_H
#define SIRQ_LAB_SIM_RUN_H

#include "experiment.h"
#include "report.h"

/* An experiment, with what a person chose of it; nothing is run yet. */
struct sirq_sim_lab;

/* `options` and `target` are kept by reference.  0 or -errno with err filled. */
int sirq_sim_lab_open(struct sirq_sim_lab **out, const struct sirq_lab_options *options,
                      const char *target, struct sirq_error *err);
void sirq_sim_lab_close(struct sirq_sim_lab *lab);

/* To be run, and what is to be said of it then; owned by the lab. */
struct sirq_sim_cells *sirq_sim_lab_cells(struct sirq_sim_lab *lab);
struct sirq_sim_report *sirq_sim_lab_report(struct sirq_sim_lab *lab);

/* Run options->target, print and write what it gave.  0, -EINTR (partial) or -errno with err
 * filled. */
int sirq_sim_lab_run(const struct sirq_lab_options *options, struct sirq_error *err);

#endif
