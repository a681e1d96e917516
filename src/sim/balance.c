/* SPDX-License-Identifier: MIT */
/*
 * On which CPU a task runs: where it wakes, and what an idle or less loaded CPU pulls.
 *
 * A waking task goes back to its CPU when that is idle, else to the waker's or another idle
 * one, on an idle core rather than beside a busy thread, else to its own.  A real-time task
 * that cannot have its CPU at once, or is preempted, goes where it is the best; the policy may
 * choose for it where to wake (place).  A CPU done with an RT task looks for others that wait.
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

/* Which CPUs will do: those of `mask`, or of its complement; whole cores only. */
struct wanted {
    const uint64_t *mask;
    bool not, cores;
};

/* Of 64 CPUs those that belong to pairs of which both are there. */
static uint64_t whole_cores(uint64_t bits)
{
    uint64_t pairs = bits & bits >> 1 & UINT64_C(0x5555555555555555);

    return pairs | pairs << 1;
}

/* The first CPU at or after `from` that is wanted and that the task may use, or null. */
static struct sirq_vcpu *find(const struct sirq_sim_task *task, unsigned from, struct wanted wanted)
{
    struct sirq_sim *sim = task->sim;
    unsigned words = (sim->ncpus + 63) / 64;

    for (unsigned i = 0; i <= words; i++) {
        unsigned word = (from / 64 + i) % words;
        uint64_t bits = wanted.not ? ~wanted.mask[word] : wanted.mask[word];

        bits = (wanted.cores ? whole_cores(bits) : bits) & task->allowed[word];
        if (i == 0)
            bits &= UINT64_MAX << (from % 64);
        if (bits != 0)
            return &sim->vcpus[word * 64 + (unsigned)__builtin_ctzll(bits)];
    }
    return NULL;
}

/* An idle core is better than the idle half of a busy one. */
static struct sirq_vcpu *find_idle(const struct sirq_sim_task *task, unsigned from)
{
    const uint64_t *idle = task->sim->idle_mask;
    struct sirq_vcpu *vcpu = NULL;

    if (task->sim->smt > 1)
        vcpu = find(task, from, (struct wanted){.mask = idle, .cores = true});
    return vcpu != NULL ? vcpu : find(task, from, (struct wanted){.mask = idle});
}

/* As the policy sees it: which CPUs are in a long softirq, how many RT tasks each has. */
static struct sirq_vcpu *ask_policy(const struct sirq_policy *policy,
                                    const struct sirq_sim_task *task, struct sirq_vcpu *prev)
{
    struct sirq_sim *sim = task->sim;
    uint32_t busy[SIM_CPUS], rt[SIM_CPUS];
    uint64_t allowed[SIM_CPUS / 64] = {0};
    struct sirq_task_view view = {
        .cpu = prev->id,
        .softirq_busy = busy,
        .rt_tasks = rt,
        .allowed = allowed,
        .ncpus = sim->ncpus,
    };
    unsigned cpu;

    for (unsigned i = 0; i < sim->ncpus; i++) {
        busy[i] = sim->cpus[i].running || (sirq_pending(&sim->cpus[i]) & LONG_VECTORS) != 0;
        rt[i] = sim->cpus[i].rt_tasks;
        allowed[i / 64] |= (uint64_t)sirq_task_allowed(task, i) << (i % 64);
    }
    cpu = policy->place(&view);
    return cpu < sim->ncpus && sirq_task_allowed(task, cpu) ? &sim->vcpus[cpu] : prev;
}

/* ---- real-time tasks ---------------------------------------------------------------- */

/* Priority of the best that the CPU runs or could run: 0 when that is no RT task. */
static int rt_priority(const struct sirq_vcpu *vcpu)
{
    const struct sirq_sim_task *curr = vcpu->curr, *first = sirq_rt_first(&vcpu->rt);
    int priority = curr->class == SIM_CLASS_RT && curr->state == SIM_RUNNABLE ? curr->priority : 0;

    return first != NULL && first->priority > priority ? first->priority : priority;
}

/*
 * Where the task could run at once: an idle CPU, one without RT tasks, else the one whose RT
 * tasks have the lowest priority, if that is lower than the task's.  Or null.
 */
static struct sirq_vcpu *find_lower(const struct sirq_sim_task *task, unsigned from)
{
    struct sirq_sim *sim = task->sim;
    struct sirq_vcpu *best = find_idle(task, from);
    int lowest = task->priority;

    if (best == NULL)
        best = find(task, from, (struct wanted){.mask = sim->rt_mask, .not = true});
    if (best != NULL)
        return best;
    assert(sim->vcpus != NULL);
    for (unsigned i = 0; i < sim->ncpus; i++) {
        struct sirq_vcpu *vcpu = &sim->vcpus[(from + i) % sim->ncpus];

        if (!sirq_task_allowed(task, vcpu->id) || vcpu->rt.throttled || rt_priority(vcpu) >= lowest)
            continue;
        lowest = rt_priority(vcpu);
        best = vcpu;
    }
    return best;
}

static struct sirq_vcpu *wake_rt(struct sirq_sim_task *task, struct sirq_vcpu *prev)
{
    const struct sirq_policy *policy = sirq_get_policy(&task->sim->core);
    struct sirq_vcpu *lower;

    if (policy->place != NULL)
        return ask_policy(policy, task, prev);
    if (rt_priority(prev) < task->priority)
        return prev;
    lower = find_lower(task, prev->id);
    return lower != NULL ? lower : prev;
}

/*
 * The CPU is about to run an RT task: the others that wait for it go where they run at once.
 * (Linux: push_rt_tasks.)  Each push makes one wait less.
 */
void sirq_balance_rt_push(struct sirq_vcpu *vcpu)
{
    struct sirq_sim_task *task;

    while ((task = sirq_rt_movable(&vcpu->rt, -1, 0)) != NULL) {
        struct sirq_vcpu *to = find_lower(task, vcpu->id);

        if (to == NULL || to == vcpu)
            return;
        sirq_sched_move(task, to);
        if (sirq_task_preempts(to, task))
            sirq_resched(to);
    }
}

/*
 * The CPU ran an RT task and is about to run something lower: take the best that waits
 * elsewhere and is better than what there is here.  (Linux: pull_rt_task.)
 */
void sirq_balance_rt_pull(struct sirq_vcpu *vcpu)
{
    struct sirq_sim *sim = vcpu->sim;
    struct sirq_sim_task *best = NULL, *task;
    int priority = rt_priority(vcpu);

    for (unsigned word = 0; word < (sim->ncpus + 63) / 64; word++)
        for (uint64_t bits = sim->rt_overload_mask[word]; bits != 0; bits &= bits - 1) {
            struct sirq_vcpu *from = &sim->vcpus[word * 64 + (unsigned)__builtin_ctzll(bits)];

            if (from == vcpu ||
                (task = sirq_rt_movable(&from->rt, (int)vcpu->id, priority)) == NULL)
                continue;
            priority = task->priority;
            best = task;
        }
    if (best != NULL)
        sirq_sched_move(best, vcpu);
}

/* ---- waking ------------------------------------------------------------------------- */

struct sirq_vcpu *sirq_balance_wake(struct sirq_sim_task *task)
{
    struct sirq_vcpu *prev = task->vcpu, *here = task->sim->running, *idle;

    if (!sirq_task_allowed(task, prev->id))
        prev = sirq_hotplug_home(task);
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
