/* SPDX-License-Identifier: MIT */
/*
 * Scheduling: who has a CPU, and when it changes hands.
 *
 * A queue's `nr` counts who can run on the CPU, the current task included; its heap or lists
 * hold the others.  Time is charged to the current task between two updates, whatever ran on
 * its stack meanwhile: interrupts and softirqs eat the time of the task they interrupted,
 * unless IRQ time accounting takes them off.
 */
#define SIRQ_SIM_PRIVATE
#include "sim.h"

#include <errno.h>

static void mask_put(uint64_t *mask, unsigned bit, bool on)
{
    uint64_t value = UINT64_C(1) << (bit % 64);

    if (on)
        mask[bit / 64] |= value;
    else
        mask[bit / 64] &= ~value;
}

void sirq_sched_masks(struct sirq_vcpu *vcpu)
{
    unsigned nr = sirq_vcpu_nr(vcpu);

    mask_put(vcpu->sim->idle_mask, vcpu->id, nr == 0 && vcpu->active);
    mask_put(vcpu->sim->overload_mask, vcpu->id, nr >= 2);
    mask_put(vcpu->sim->rt_mask, vcpu->id, vcpu->rt.nr > 0 || !vcpu->active);
    mask_put(vcpu->sim->rt_overload_mask, vcpu->id, vcpu->rt.nr >= 2);
    vcpu->cpu->rt_tasks = vcpu->rt.nr;
}

/* ---- charging ----------------------------------------------------------------------- */

static uint64_t clock_task(const struct sirq_vcpu *vcpu)
{
    return vcpu->sim->now - (vcpu->sim->irq_time_accounting ? vcpu->irq_ns : 0);
}

void sirq_sched_update(struct sirq_vcpu *vcpu)
{
    struct sirq_sim_task *curr = vcpu->curr;
    uint64_t clock = clock_task(vcpu), delta = clock - curr->exec_start;

    /* An interrupt's time that is not over yet may have been counted: wait for the clock. */
    if ((int64_t)delta <= 0)
        return;
    curr->exec_start = clock;
    curr->sched_ns += delta;
    if (curr->class == SIM_CLASS_FAIR) {
        curr->vruntime += sirq_fair_delta(delta, curr->weight);
        vcpu->sim->fair->charged(vcpu);
    } else if (curr->class == SIM_CLASS_RT) {
        sirq_rt_account(vcpu, delta);
    }
}

uint64_t sirq_sched_charged_ns(const struct sirq_sim_task *task)
{
    int64_t delta = (int64_t)(clock_task(task->vcpu) - task->exec_start);

    return task->sched_ns + (task->vcpu->curr == task && delta > 0 ? (uint64_t)delta : 0);
}

/* ---- run queues --------------------------------------------------------------------- */

/* On the queue of those who wait; nr is the caller's business. */
static void queue_push(struct sirq_vcpu *vcpu, struct sirq_sim_task *task, bool front)
{
    task->queued = true;
    if (task->class == SIM_CLASS_RT)
        sirq_rt_push(&vcpu->rt, task, front);
    else
        vcpu->sim->fair->push(&vcpu->fair, task);
}

static void queue_remove(struct sirq_vcpu *vcpu, struct sirq_sim_task *task)
{
    task->queued = false;
    if (task->class == SIM_CLASS_RT)
        sirq_rt_remove(&vcpu->rt, task);
    else
        vcpu->sim->fair->remove(&vcpu->fair, task);
}

static void count(struct sirq_vcpu *vcpu, const struct sirq_sim_task *task, int n)
{
    if (task->class == SIM_CLASS_RT) {
        vcpu->rt.nr += (unsigned)n;
    } else {
        vcpu->fair.nr += (unsigned)n;
        vcpu->fair.load += (uint64_t)n * task->weight;
    }
    sirq_sched_masks(vcpu);
}

static void enqueue(struct sirq_vcpu *vcpu, struct sirq_sim_task *task)
{
    count(vcpu, task, 1);
    queue_push(vcpu, task, false);
}

/* It no longer competes: nr and load go without it. */
static void leave(struct sirq_vcpu *vcpu, struct sirq_sim_task *task)
{
    if (task->class == SIM_CLASS_FAIR && vcpu->sim->fair->leave != NULL)
        vcpu->sim->fair->leave(vcpu, task);
}

static void place(struct sirq_vcpu *to, struct sirq_sim_task *task, enum sim_place how)
{
    if (task->class == SIM_CLASS_FAIR)
        to->sim->fair->place(to, task, how);
    task->vcpu = to;
}

void sirq_sched_move(struct sirq_sim_task *task, struct sirq_vcpu *to)
{
    struct sirq_vcpu *from = task->vcpu;

    sirq_sched_update(from);
    sirq_sched_update(to);
    leave(from, task);
    queue_remove(from, task);
    count(from, task, -1);
    place(to, task, SIM_PLACE_MOVED);
    enqueue(to, task);
    sirq_sim_note(to->sim, 'm', task->ctx.token);
}

void sirq_sched_carry(struct sirq_sim_task *task, struct sirq_vcpu *to)
{
    sirq_sched_update(task->vcpu);
    sirq_sched_update(to);
    place(to, task, SIM_PLACE_MOVED);
}

void sirq_sched_join(struct sirq_sim_task *task, struct sirq_vcpu *to, bool new)
{
    task->state = SIM_RUNNABLE;
    sirq_sched_update(to);
    place(to, task, new ? SIM_PLACE_NEW : SIM_PLACE_WOKEN);
    enqueue(to, task);
    if (sirq_task_preempts(to, task))
        sirq_resched(to);
}

/* ---- the switch --------------------------------------------------------------------- */

static struct sirq_sim_task *pick(struct sirq_vcpu *vcpu)
{
    struct sirq_sim_task *task = NULL;

    if (!vcpu->rt.throttled)
        task = sirq_rt_first(&vcpu->rt);
    if (task == NULL && vcpu->fair.len > 0)
        task = vcpu->sim->fair->first(vcpu);
    return task;
}

/* It may not stay: the CPU is leaving, or the task's affinity has changed. */
static void put_elsewhere(struct sirq_sim_task *task)
{
    struct sirq_vcpu *to = sirq_hotplug_home(task);

    sirq_sched_update(to);
    place(to, task, SIM_PLACE_MOVED);
    enqueue(to, task);
    if (sirq_task_preempts(to, task))
        sirq_resched(to);
}

/* The current task leaves the CPU, or goes back among those who wait for it. */
static void put_prev(struct sirq_vcpu *vcpu, struct sirq_sim_task *prev)
{
    if (prev == vcpu->idle)
        return;
    if (prev->state == SIM_RUNNABLE && sirq_task_allowed(prev, vcpu->id)) {
        queue_push(vcpu, prev, !prev->to_tail);
    } else {
        leave(vcpu, prev);
        count(vcpu, prev, -1);
    }
    prev->to_tail = false;
    if (prev->state == SIM_RUNNABLE && !prev->queued)
        put_elsewhere(prev);
}

/* `prev` has been put back. */
static struct sirq_sim_task *take_next(struct sirq_vcpu *vcpu, const struct sirq_sim_task *prev)
{
    struct sirq_sim_task *next = vcpu->active ? pick(vcpu) : vcpu->idle;

    if (next == vcpu->idle)
        return next;
    if (prev->class == SIM_CLASS_RT && !vcpu->rt.throttled &&
        (next == NULL || next->class != SIM_CLASS_RT || next->priority < prev->priority)) {
        sirq_balance_rt_pull(vcpu);
        next = pick(vcpu);
    }

    if (next == NULL && sirq_balance_pull(vcpu, true))
        next = pick(vcpu);
    if (next == NULL)
        return vcpu->idle;
    queue_remove(vcpu, next);
    if (next->class == SIM_CLASS_RT && vcpu->rt.nr >= 2)
        sirq_balance_rt_push(vcpu);
    return next;
}

/* First thing a task does when it was switched to. */
void sirq_finish_switch(struct sirq_sim *sim)
{
    struct sirq_vcpu *vcpu = sim->running;

    if (vcpu->dead != NULL) {
        sirq_coro_fini(&vcpu->dead->coro, &sim->stacks);
        vcpu->dead = NULL;
    }
    if (vcpu->curr != vcpu->idle)
        sirq_vcpu_tick_restart(vcpu);
    vcpu->preempt_off++;
    sirq_vcpu_spend(sim, sim->cost_ns[SIRQ_COST_SWITCH]);
    vcpu->preempt_off--;
}

void sirq_schedule(struct sirq_vcpu *vcpu)
{
    struct sirq_sim_task *prev = vcpu->curr, *next;
    struct sirq_sim *sim = vcpu->sim;

    assert(sim->running == vcpu && sirq_vcpu_preemptible(vcpu));
    sirq_sched_update(vcpu);
    sirq_rcu_quiet(vcpu);
    vcpu->cpu->need_resched = 0;
    put_prev(vcpu, prev);
    next = take_next(vcpu, prev);
    sirq_coro_prefetch(&next->coro);
    next->exec_start = clock_task(vcpu);
    next->sched_ns_begin = next->sched_ns;
    if (next == prev)
        return;
    prev->preempted += prev->state == SIM_RUNNABLE;
    next->switches++;
    vcpu->switches++;
    sim->nswitches++;
    sirq_sim_note(sim, 's', next->ctx.token);
    if (prev->state == SIM_DEAD)
        vcpu->dead = prev;
    vcpu->curr = next;
    sirq_coro_switch(&prev->coro, &next->coro);
    sirq_finish_switch(sim);
}

/* Again after each switch: an interrupt may have woken somebody while we came back. */
void sirq_resched_point(struct sirq_sim *sim)
{
    struct sirq_vcpu *vcpu = sim->running;

    while (vcpu->cpu->need_resched && sirq_vcpu_preemptible(vcpu)) {
        sirq_schedule(vcpu);
        vcpu = sim->running;
    }
}

void sirq_resched(struct sirq_vcpu *vcpu)
{
    struct sirq_sim *sim = vcpu->sim;

    vcpu->cpu->need_resched = 1;
    if (vcpu != sim->running && !vcpu->resched_line.posted &&
        !sirq_event_queued(&vcpu->resched_event))
        sirq_evq_add(&sim->evq, &vcpu->resched_event, sim->now + sirq_ipi_ns(sim));
}

/* ---- waking ------------------------------------------------------------------------- */

bool sirq_task_preempts(const struct sirq_vcpu *vcpu, const struct sirq_sim_task *task)
{
    const struct sirq_sim_task *curr = vcpu->curr;

    if (curr == vcpu->idle)
        return true;
    if (task->class == SIM_CLASS_RT)
        return !vcpu->rt.throttled &&
               (curr->class != SIM_CLASS_RT || task->priority > curr->priority);
    return curr->class == SIM_CLASS_FAIR && vcpu->sim->fair->preempts(vcpu, task);
}

bool sirq_task_wake(struct sirq_sim_task *task)
{
    struct sirq_vcpu *vcpu;

    if (task->state != SIM_SLEEPING)
        return false;
    vcpu = sirq_balance_wake(task);
    sirq_sim_note(task->sim, 'w', task->ctx.token);
    task->woken_ns = task->sim->now;
    sirq_coro_prefetch(&task->coro);
    sirq_sched_join(task, vcpu, false);
    return true;
}

/* ---- the tick ----------------------------------------------------------------------- */

void sirq_sched_tick(struct sirq_vcpu *vcpu)
{
    struct sirq_sim *sim = vcpu->sim;

    sirq_sched_update(vcpu);
    if (vcpu->curr->class == SIM_CLASS_FAIR && sim->fair->tick != NULL)
        sim->fair->tick(vcpu);
    else if (vcpu->curr->class == SIM_CLASS_RT)
        sirq_rt_tick(vcpu);
    vcpu->load = (3 * vcpu->load + 1024 * sirq_vcpu_nr(vcpu)) / 4;
    if (sim->ncpus > 1 && sim->now >= vcpu->balance_next_ns) {
        vcpu->balance_next_ns = sim->now + sim->balance_ns;
        sirq_raise(vcpu->cpu, SIRQ_SCHED);
    }
}
