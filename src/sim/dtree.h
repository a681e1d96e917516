/* SPDX-License-Identifier: MIT */
/*
 * A tree of waiting tasks by virtual deadline, that finds the earliest eligible one.
 *
 * It is an AVL tree: of n tasks none lies deeper than 1.45 log2(n + 2), 24 for the 65536 of a
 * world, and that bounds each function below.  A task's deadline and vruntime do not change
 * while it is in it.
 */
#ifndef SIRQ_SIM_PRIVATE
#error "dtree.h belongs to the simulator"
#endif
#ifndef SIRQ_SIM_DTREE_H
#define SIRQ_SIM_DTREE_H

#include "sim.h"

/* Both give the new root. */
struct sirq_sim_task *sirq_dtree_insert(struct sirq_sim_task *root, struct sirq_sim_task *task);
struct sirq_sim_task *sirq_dtree_remove(struct sirq_sim_task *root, struct sirq_sim_task *task);

/* The first whose vruntime is not after v, or null. */
struct sirq_sim_task *sirq_dtree_first(struct sirq_sim_task *root, uint64_t v);

/* The last that may run on `cpu`, of the last *looks; or null. */
struct sirq_sim_task *sirq_dtree_last_allowed(struct sirq_sim_task *root, unsigned cpu,
                                              unsigned *looks);

#endif
