/* SPDX-License-Identifier: MIT */
/* Machines and tasks for tests of the simulated scheduler. */
#ifndef SIRQ_TESTS_SIM_SCHED_WORLD_H
#define SIRQ_TESTS_SIM_SCHED_WORLD_H

#include <sirq/sim.h>

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

/* Defaults, HZ 1000 and the costs of flood_world.c; to be changed before it is created. */
struct sirq_sim_config sched_config(unsigned ncpus);
struct sirq_sim *sched_create(const struct sirq_sim_config *config);
struct sirq_sim *sched_world(unsigned ncpus, unsigned smt);

/* cpu -1: anywhere; sched null: SCHED_OTHER. */
struct sirq_sim_task *sched_spawn(struct sirq_sim *sim,
                                  void (*fn)(struct sirq_sim_task *task, void *arg), void *arg,
                                  int cpu, const struct sirq_sched *sched);

/* As the scheduler charged it. */
uint64_t sched_time_ns(struct sirq_sim_task *task);

/* Spends 50 us at a time for ever; arg: not used. */
void sched_hog(struct sirq_sim_task *task, void *arg);

/* Wakes every interval and works for 10 us. */
struct sched_periodic {
    uint64_t interval, late_max, n;
};
void sched_periodic(struct sirq_sim_task *task, void *arg);

#endif
