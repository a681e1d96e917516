/* SPDX-License-Identifier: MIT */
/*
 * rtdefer: as time2ms, but vectors that may run long wait for ksoftirqd while a real-time
 * task runs or is queued on this CPU; short ones run at once, whether ksoftirqd is
 * runnable or not (Pavankumar Kondeti and John Stultz, 2022; source 001).
 *
 * Placement goes with it: a waking real-time task looks for a CPU without another
 * real-time task and without a long softirq; when there is none it stays where it was.
 */
#define SIRQ_POLICY_INTERNAL
#include "policies.h"

#define LONG_VECTORS \
    (SIRQ_BIT(SIRQ_NET_TX) | SIRQ_BIT(SIRQ_NET_RX) | SIRQ_BIT(SIRQ_BLOCK) | SIRQ_BIT(SIRQ_IRQ_POLL))

static uint32_t select(const struct sirq_view *view)
{
    if (sirq_view_rt_task(view) && view->entry != SIRQ_ENTRY_KSOFTIRQD)
        return view->pending & ~LONG_VECTORS;
    return view->pending;
}

static bool fits(const struct sirq_task_view *task, unsigned cpu)
{
    return (task->allowed[cpu / 64] >> (cpu % 64) & 1) && task->rt_tasks[cpu] == 0 &&
           task->softirq_busy[cpu] == 0;
}

static unsigned place(const struct sirq_task_view *task)
{
    if (fits(task, task->cpu))
        return task->cpu;
    for (unsigned cpu = 0; cpu < task->ncpus; cpu++)
        if (fits(task, cpu))
            return cpu;
    return task->cpu;
}

const struct sirq_policy sirq_policy_rtdefer = {
    .name = "rtdefer",
    .origin = "Android, RFC v4 2022 (Kondeti, Stultz)",
    .select = select,
    .restart = sirq_restart_time2ms,
    .place = place,
};
