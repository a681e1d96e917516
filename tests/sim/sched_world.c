/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "flood_world.h"
#include "sched_world.h"

struct sirq_sim_config sched_config(unsigned ncpus)
{
    struct sirq_sim_config config = {.ncpus = ncpus, .hz = 1000, .seed = 1};

    for (unsigned i = 0; i < SIRQ_NR_COSTS; i++)
        config.cost_ns[i] = flood_costs[i];
    return config;
}

struct sirq_sim *sched_create(const struct sirq_sim_config *config)
{
    struct sirq_error err;
    struct sirq_sim *sim;

    assert_int_equal(sirq_sim_create(&sim, config, &err), 0);
    return sim;
}

struct sirq_sim *sched_world(unsigned ncpus, unsigned smt)
{
    struct sirq_sim_config config = sched_config(ncpus);

    config.smt = smt;
    return sched_create(&config);
}

void sched_hog(struct sirq_sim_task *task, void *arg)
{
    (void)arg;
    for (;;)
        sirq_sim_spend(sirq_sim_of(task), 50000);
}

struct sirq_sim_task *sched_spawn(struct sirq_sim *sim,
                                  void (*fn)(struct sirq_sim_task *task, void *arg), void *arg,
                                  int cpu, const struct sirq_sched *sched)
{
    struct sirq_sim_task_config config = {.name = "t", .fn = fn, .arg = arg, .cpu = cpu};
    struct sirq_sim_task *task;
    struct sirq_error err;

    if (sched != NULL)
        config.sched = *sched;
    assert_int_equal(sirq_sim_spawn(sim, &config, &task, &err), 0);
    return task;
}

uint64_t sched_time_ns(struct sirq_sim_task *task)
{
    struct sirq_sim_task_stats stats;

    sirq_sim_task_stats(task, &stats);
    return stats.sched_ns;
}

void sched_periodic(struct sirq_sim_task *task, void *arg)
{
    struct sched_periodic *self = arg;

    for (uint64_t next = self->interval;; next += self->interval) {
        uint64_t now;

        sirq_sim_sleep_until(task, next);
        now = sirq_sim_now_ns(sirq_sim_of(task));
        if (now - next > self->late_max)
            self->late_max = now - next;
        self->n++;
        sirq_sim_spend(sirq_sim_of(task), 10000);
    }
}
