/* SPDX-License-Identifier: MIT */
/*
 * On which CPU a task runs: where it wakes, and what an idle or less loaded CPU pulls.
 *
 * A waking task goes back to its CPU when that is idle, else to the waker's or another idle
 * one, else to its own.  A real-time task that cannot have its CPU at once looks for one
 * without RT tasks; the policy may choose for it (place).
 */
#define SIRQ_SIM_PRIVATE
#include "sim.h"

#define PULL_TRIES 8u /* CPUs looked at in one attempt to pull */

#define LONG_VECTORS \
    (SIRQ_BIT(SIRQ_NET_TX) | SIRQ_BIT(SIRQ_NET_RX) | SIRQ_BIT(SIRQ_BLOCK) | SIRQ_BIT(SIRQ_IRQ_POLL))

static bool is_idle(const struct sirq_vcpu *vcpu)
{
    return sirq_vcpu_nr(vcpu) == 0;
}

/* The first idle CPU at or after `from` that the task may use, or null. */
static struct sirq_vcpu *find_idle(const struct sirq_sim_task *task, unsigned from)
{
    struct sirq_sim *sim = task->sim;
    unsigned words = (sim->ncpus + 63) / 64;

    for (unsigned i = 0; i <= words; i++) {
        unsigned word = (from / 64 + i) % words;
        uint64_t bits = sim->idle_mask[word] & task->allowed[word];

        if (i == 0)
            bits &= UINT64_MAX << (from % 64);
        if (bits != 0)
            return &sim->vcpus[word * 64 + (unsigned)__builtin_ctzll(bits)];
    }
    return NULL;
}

static struct sirq_vcpu *first_allowed(const struct sirq_sim_task *task)
{
    unsigned cpu = 0;

    while (!sirq_task_allowed(task, cpu))
        cpu++;
    return &task->sim->vcpus[cpu];
}

/* As the policy sees it: which CPUs are in a long softirq, how many RT tasks each has. */
static struct sirq_vcpu *ask_policy(const struct sirq_policy *policy,
                                    const struct sirq_sim_task *task)
{
    struct sirq_sim *sim = task->sim;
    uint32_t busy[SIM_CPUS], rt[SIM_CPUS];
    struct sirq_task_view view = {
        .cpu = task->vcpu->id,
        .softirq_busy = busy,
        .rt_tasks = rt,
        .allowed = task->allowed,
        .ncpus = sim->ncpus,
    };
    unsigned cpu;

    for (unsigned i = 0; i < sim->ncpus; i++) {
        busy[i] = sim->cpus[i].running || (sirq_pending(&sim->cpus[i]) & LONG_VECTORS) != 0;
        rt[i] = sim->cpus[i].rt_tasks;
    }
    cpu = policy->place(&view);
    return cpu < sim->ncpus && sirq_task_allowed(task, cpu) ? &sim->vcpus[cpu] : task->vcpu;
}

static struct sirq_vcpu *wake_rt(struct sirq_sim_task *task, struct sirq_vcpu *prev)
{
    const struct sirq_policy *policy = sirq_get_policy(&task->sim->core);
    struct sirq_vcpu *idle;

    if (policy->place != NULL)
        return ask_policy(policy, task);
    if (prev->curr->class != SIM_CLASS_RT || prev->curr->priority < task->priority)
        return prev;
    idle = find_idle(task, prev->id);
    if (idle != NULL)
        return idle;
    assert(task->sim->vcpus != NULL);
    for (unsigned i = 1; i < task->sim->ncpus; i++) {
        struct sirq_vcpu *vcpu = &task->sim->vcpus[(prev->id + i) % task->sim->ncpus];

        if (vcpu->rt.nr == 0 && sirq_task_allowed(task, vcpu->id))
            return vcpu;
    }
    return prev;
}

struct sirq_vcpu *sirq_balance_wake(struct sirq_sim_task *task)
{
    struct sirq_vcpu *prev = task->vcpu, *here = task->sim->running, *idle;

    if (!sirq_task_allowed(task, prev->id))
        prev = first_allowed(task);
    if (task->sim->ncpus == 1)
        return prev;
    if (task->class == SIM_CLASS_RT)
        return wake_rt(task, prev);
    if (is_idle(prev))
        return prev;
    if (here != NULL && is_idle(here) && sirq_task_allowed(task, here->id))
        return here;
    idle = find_idle(task, prev->id);
    return idle != NULL ? idle : prev;
}

/* ---- pulling ------------------------------------------------------------------------ */

/* Somebody who waits on `from` and may run on `to`; the one that would wait longest. */
static struct sirq_sim_task *movable(const struct sirq_vcpu *from, const struct sirq_vcpu *to)
{
    struct sirq_sim_task *task = sirq_rt_first(&from->rt);

    if (task != NULL && sirq_task_allowed(task, to->id))
        return task;
    return from->sim->fair->movable(from, to->id);
}

static bool pull_from(struct sirq_vcpu *to, struct sirq_vcpu *from, bool idle)
{
    struct sirq_sim_task *task = movable(from, to);

    if (task == NULL)
        return false;
    sirq_sched_move(task, to);
    if (!idle && sirq_task_preempts(to, task))
        sirq_resched(to); /* idle: the caller picks who is next */
    return true;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/*
 * Worth pulling?  An idle CPU takes any waiting task; a busy one goes by averages, and on
 * the side of leaving things alone: a burst of wake-ups is no load.  (Linux: source_load,
 * target_load.)
 */
static bool imbalanced(const struct sirq_vcpu *from, const struct sirq_vcpu *to, bool idle)
{
    unsigned source = least(from->load, 1024 * sirq_vcpu_nr(from));
    unsigned target = 1024 * sirq_vcpu_nr(to);

    return idle || source >= (target > to->load ? target : to->load) + 2048;
}

bool sirq_balance_pull(struct sirq_vcpu *vcpu, bool idle)
{
    struct sirq_sim *sim = vcpu->sim;
    unsigned words = (sim->ncpus + 63) / 64, tries = 0;

    for (unsigned i = 0; i < words; i++) {
        unsigned word = (vcpu->id / 64 + i) % words;
        uint64_t bits = sim->overload_mask[word];

        for (; bits != 0 && tries < PULL_TRIES; bits &= bits - 1, tries++) {
            struct sirq_vcpu *from = &sim->vcpus[word * 64 + (unsigned)__builtin_ctzll(bits)];

            if (from == vcpu || !imbalanced(from, vcpu, idle))
                continue;
            if (pull_from(vcpu, from, idle))
                return true;
        }
    }
    return false;
}
