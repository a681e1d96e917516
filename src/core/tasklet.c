/* SPDX-License-Identifier: MIT */
/*
 * Tasklets, on top of the HI and TASKLET vectors.
 *
 * Invariants:
 *   - SCHED is set exactly while the node is on some CPU's list, or has been taken off it
 *     by an action that has not yet decided what to do with it.  Whoever sets SCHED owns
 *     the node and pushes it, so a node is never on two lists.
 *   - RUN is a try-lock around the function: it never runs on two CPUs at once.  SCHED is
 *     cleared before the function is called, so that scheduling it meanwhile counts.
 *   - Once RUN and SCHED are both clear nobody in here looks at the tasklet any more; that
 *     is what sirq_tasklet_kill() waits for, and its owner may then free it.
 *
 * A tasklet that is running elsewhere, or disabled, goes back on the list and its vector is
 * raised again; the policy's limits decide when that turns into ksoftirqd's business.
 */
#define SIRQ_CORE_PRIVATE
#include "core.h"

#include <sirq/tasklet.h>

#define TASKLET_SCHED UINT32_C(1)
#define TASKLET_RUN UINT32_C(2)

enum { LIST_TASKLET, LIST_HI }; /* indexes of sirq_cpu.tasklets */

/* True when `tasklet` ran; false when it has to stay scheduled. */
static bool tasklet_try(struct sirq_cpu *cpu, struct sirq_tasklet *tasklet)
{
    uint32_t old;

    /* seq_cst: RUN is set before `disabled` is read, against sirq_tasklet_disable(), which
     * writes `disabled` before it reads RUN.  One of the two sees the other. */
    old = __atomic_fetch_or(&tasklet->state, TASKLET_RUN, __ATOMIC_SEQ_CST);
    if (old & TASKLET_RUN)
        return false;
    SIRQ_BUG_ON(cpu, !(old & TASKLET_SCHED));

    if (__atomic_load_n(&tasklet->disabled, __ATOMIC_SEQ_CST) != 0) {
        __atomic_fetch_and(&tasklet->state, ~TASKLET_RUN, __ATOMIC_RELEASE);
        return false;
    }
    /* acquire: what a scheduler wrote before it found SCHED set, and so pushed nothing, is
     * seen by the function; it found it set because its fetch_or came before this one. */
    __atomic_fetch_and(&tasklet->state, ~TASKLET_SCHED, __ATOMIC_ACQUIRE);
    tasklet->fn(tasklet, tasklet->data);
    /* release: the function's writes before RUN is seen clear.  Last look at the tasklet. */
    __atomic_fetch_and(&tasklet->state, ~TASKLET_RUN, __ATOMIC_RELEASE);
    return true;
}

static void tasklet_list_run(struct sirq_cpu *cpu, unsigned list, unsigned vec)
{
    struct sirq_lnode *node, *next;
    bool again = false;

    for (node = sirq_llist_take(&cpu->tasklets[list]); node != NULL; node = next) {
        next = node->next; /* first: another CPU may push the node while it runs */
        if (tasklet_try(cpu, SIRQ_CONTAINER(node, struct sirq_tasklet, node)))
            continue;
        sirq_llist_push(&cpu->tasklets[list], node);
        again = true;
    }
    if (again)
        sirq_raise(cpu, vec);
}

static void tasklet_action(struct sirq_cpu *cpu, void *data)
{
    (void)data;
    tasklet_list_run(cpu, LIST_TASKLET, SIRQ_TASKLET);
}

static void tasklet_hi_action(struct sirq_cpu *cpu, void *data)
{
    (void)data;
    tasklet_list_run(cpu, LIST_HI, SIRQ_HI);
}

int sirq_tasklet_open(struct sirq_core *core)
{
    int err;

    if (core->action[SIRQ_HI].fn != NULL || core->action[SIRQ_TASKLET].fn != NULL)
        return -EBUSY;
    err = sirq_open(core, SIRQ_HI, "HI", tasklet_hi_action, NULL);
    if (err == 0)
        err = sirq_open(core, SIRQ_TASKLET, "TASKLET", tasklet_action, NULL);
    return err;
}

void sirq_tasklet_init(struct sirq_tasklet *tasklet,
                       void (*fn)(struct sirq_tasklet *tasklet, void *data), void *data)
{
    *tasklet = (struct sirq_tasklet){.fn = fn, .data = data};
}

static bool tasklet_schedule(struct sirq_cpu *cpu, struct sirq_tasklet *tasklet, unsigned list,
                             unsigned vec)
{
    /* release: the caller's writes before a SCHED that somebody else pushed for.
     * acquire: the action's last use of node.next before this CPU writes it. */
    if (__atomic_fetch_or(&tasklet->state, TASKLET_SCHED, __ATOMIC_ACQ_REL) & TASKLET_SCHED)
        return false;
    sirq_llist_push(&cpu->tasklets[list], &tasklet->node);
    sirq_raise(cpu, vec); /* after the push: who takes the vector finds the node */
    return true;
}

bool sirq_tasklet_schedule(struct sirq_cpu *cpu, struct sirq_tasklet *tasklet)
{
    return tasklet_schedule(cpu, tasklet, LIST_TASKLET, SIRQ_TASKLET);
}

bool sirq_tasklet_hi_schedule(struct sirq_cpu *cpu, struct sirq_tasklet *tasklet)
{
    return tasklet_schedule(cpu, tasklet, LIST_HI, SIRQ_HI);
}

/* Task context; the wait is as long as the tasklet's function, or its CPU, takes. */
static void tasklet_wait_clear(struct sirq_cpu *cpu, struct sirq_tasklet *tasklet, uint32_t bits)
{
    SIRQ_BUG_ON(cpu, sirq_in_softirq(cpu) || sirq_in_hardirq(cpu));
    /* seq_cst: see tasklet_try(); and acquire, what the function wrote is seen after. */
    while (__atomic_load_n(&tasklet->state, __ATOMIC_SEQ_CST) & bits)
        cpu->core->host->relax(cpu);
}

void sirq_tasklet_disable(struct sirq_cpu *cpu, struct sirq_tasklet *tasklet)
{
    __atomic_fetch_add(&tasklet->disabled, 1, __ATOMIC_SEQ_CST);
    tasklet_wait_clear(cpu, tasklet, TASKLET_RUN);
}

void sirq_tasklet_enable(struct sirq_tasklet *tasklet)
{
    /* release: what was done while it was disabled, before it can run again. */
    if (__atomic_fetch_sub(&tasklet->disabled, 1, __ATOMIC_RELEASE) == 0)
        __builtin_trap(); /* more enables than disables; there is no CPU to report it to */
}

void sirq_tasklet_kill(struct sirq_cpu *cpu, struct sirq_tasklet *tasklet)
{
    tasklet_wait_clear(cpu, tasklet, TASKLET_SCHED | TASKLET_RUN);
}
