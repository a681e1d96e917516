/* SPDX-License-Identifier: MIT */
/*
 * sirq/tasklet.h - tasklets: deferred functions that never run on two CPUs at once.
 *
 * A scheduled tasklet runs once, on the CPU that scheduled it, in the TASKLET vector (hi
 * tasklets in HI).  Scheduling one that is scheduled already changes nothing; scheduling
 * one while it runs makes it run once more.
 */
#ifndef SIRQ_TASKLET_H
#define SIRQ_TASKLET_H

#include <sirq/softirq.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sirq_tasklet {
    struct sirq_lnode node;
    uint32_t state;    /* __atomic; scheduled and running bits */
    uint32_t disabled; /* __atomic; > 0: stays scheduled, does not run */
    void (*fn)(struct sirq_tasklet *tasklet, void *data);
    void *data;
};

/* Open the HI and TASKLET vectors.  Once per core.  Returns 0 or -EBUSY. */
int sirq_tasklet_open(struct sirq_core *core);

/* The caller owns `tasklet` and keeps it until sirq_tasklet_kill() has returned. */
void sirq_tasklet_init(struct sirq_tasklet *tasklet,
                       void (*fn)(struct sirq_tasklet *tasklet, void *data), void *data);

/* Any context.  True when this call scheduled it, false when it already was. */
bool sirq_tasklet_schedule(struct sirq_cpu *cpu, struct sirq_tasklet *tasklet);
bool sirq_tasklet_hi_schedule(struct sirq_cpu *cpu, struct sirq_tasklet *tasklet);

/* Nest.  disable returns when the function runs nowhere.  Task context. */
void sirq_tasklet_disable(struct sirq_cpu *cpu, struct sirq_tasklet *tasklet);
void sirq_tasklet_enable(struct sirq_tasklet *tasklet);

/*
 * Wait until the tasklet is neither scheduled nor running.  Task context; the caller
 * makes sure that nobody schedules it again and that it is not disabled.
 */
void sirq_tasklet_kill(struct sirq_cpu *cpu, struct sirq_tasklet *tasklet);

#ifdef __cplusplus
}
#endif
#endif
