/* SPDX-License-Identifier: MIT */
/*
 * CPUs that leave and return while the world goes on.
 *
 * A CPU that is to leave takes no more tasks (active is false): whoever has it gives it to
 * the idle task at the next point where it can be preempted, and idle, which nobody waits
 * for, gives away all that is there.  Only then is the CPU offline for the core (sirq_cpu's
 * online is false), and its idle task waits until it is brought back.
 *
 * One CPU leaves at a time, so the one that inherits does not leave meanwhile.
 */
#define SIRQ_SIM_PRIVATE
#include "sim.h"
#include "disk.h"
#include "nic.h"

#include <string.h>

struct heritage {
    struct sirq_vcpu *from, *to;
};

/* ---- where tasks go ------------------------------------------------------------------ */

static struct sirq_vcpu *least_loaded(struct sirq_sim *sim, const struct sirq_sim_task *task)
{
    struct sirq_vcpu *best = NULL;

    for (unsigned i = 0; i < sim->ncpus; i++) {
        struct sirq_vcpu *vcpu = &sim->vcpus[i];

        if ((task != NULL ? sirq_task_allowed(task, i) : vcpu->active) &&
            (best == NULL || sirq_vcpu_nr(vcpu) < sirq_vcpu_nr(best)))
            best = vcpu;
    }
    return best;
}

struct sirq_vcpu *sirq_hotplug_home(struct sirq_sim_task *task)
{
    struct sirq_vcpu *vcpu = least_loaded(task->sim, task);

    if (vcpu != NULL)
        return vcpu;
    /* Linux select_fallback_rq(): somewhere else rather than nowhere. */
    for (unsigned i = 0; i < task->sim->ncpus; i++)
        task->allowed[i / 64] |= UINT64_C(1) << (i % 64);
    task->pinned = false;
    return least_loaded(task->sim, task);
}

/* It waits somewhere, and goes home. */
static void send_home(struct sirq_sim_task *task)
{
    struct sirq_vcpu *to = sirq_hotplug_home(task);

    sirq_sched_move(task, to);
    if (sirq_task_preempts(to, task))
        sirq_resched(to);
}

static void push_tasks(struct sirq_vcpu *vcpu)
{
    struct sirq_sim_task *task;

    while ((task = sirq_rt_first(&vcpu->rt)) != NULL ||
           (task = vcpu->fair.len > 0 ? vcpu->sim->fair->first(vcpu) : NULL) != NULL)
        send_home(task);
}

/* ---- leaving ------------------------------------------------------------------------- */

static void move_rings(struct sirq_sim_nic *nic, const struct heritage *heritage)
{
    for (unsigned i = 0; i < nic->nrings; i++) {
        struct sirq_nic_ring *ring = &nic->ring[i];

        if (ring->vcpu != heritage->from)
            continue;
        ring->vcpu = heritage->to;
        if (ring->irq != NULL)
            ring->irq->cpu = heritage->to->cpu;
    }
}

/* Sleepers, since their timers interrupt where they last ran; and interrupts of devices. */
static void move_interrupts(struct sirq_sim *sim, const struct heritage *heritage)
{
    struct sirq_vcpu *from = heritage->from, *to = heritage->to;

    assert(from->posted_first == NULL);
    for (struct sirq_sim_task *task = sim->tasks; task != NULL; task = task->next)
        if (task->vcpu == from && task != from->idle)
            sirq_sched_carry(task, to);
    for (struct sirq_sim_nic *nic = sim->nics; nic != NULL; nic = nic->next)
        move_rings(nic, heritage);
    for (struct sirq_sim_disk *disk = sim->disks; disk != NULL; disk = disk->next)
        if (disk->vcpu == from)
            disk->vcpu = to;
    for (struct sirq_sim_line *line = sim->lines; line != NULL; line = line->next)
        if (line->vcpu == from) {
            line->vcpu = to;
            if (line->irq != NULL)
                line->irq->cpu = to->cpu;
        }
}

/* As the owner of each CPU's bottom halves in turn, and all the time of the leaving one's. */
static void move_timers(struct sirq_cpu *cpu, void *data)
{
    const struct heritage *heritage = data;

    if (cpu != heritage->to->cpu)
        return;
    sirq_timer_migrate_local(heritage->from->cpu, cpu);
    sirq_vcpu_tick_restart(heritage->to); /* idle, it may sleep beyond them */
}

static void stop_events(struct sirq_vcpu *vcpu)
{
    struct sirq_evq *evq = &vcpu->sim->evq;

    sirq_evq_cancel(evq, &vcpu->tick_event);
    sirq_evq_cancel(evq, &vcpu->kick_event);
    sirq_evq_cancel(evq, &vcpu->resched_event);
    sirq_evq_cancel(evq, &vcpu->rt.period);
    vcpu->rt.time_ns = 0;
    vcpu->rt.throttled = false;
    vcpu->tick_stopped = true;
    vcpu->tick_timer = UINT64_MAX;
    vcpu->load = 0;
}

/*
 * Idle task.  Devices go first, so that nothing new comes in; timers while the bottom halves
 * are ours; then the core hears of it, and what is pending runs here for the last time, by
 * the default policy, whose runs end.  What is left of that is its ksoftirqd's, elsewhere.
 */
void sirq_hotplug_leave(struct sirq_vcpu *vcpu)
{
    struct sirq_sim *sim = vcpu->sim;
    struct sirq_cpu *cpu = vcpu->cpu;
    struct heritage heritage = {.from = vcpu, .to = least_loaded(sim, NULL)};

    push_tasks(vcpu);
    move_interrupts(sim, &heritage);
    sirq_bh_disable(cpu);
    sirq_synchronize_call(&sim->core, move_timers, &heritage);
    __atomic_store_n(&cpu->online, false, __ATOMIC_SEQ_CST);
    assert(vcpu->posted_first == NULL && sirq_vcpu_nr(vcpu) == 0);
    stop_events(vcpu); /* also a kick on its way: what it is for is pending */
    sirq_bh_enable(cpu);
    if (sirq_pending(cpu) != 0 || sirq_timer_next(cpu) != UINT64_MAX)
        sirq_ksoftirqd_wake(cpu);
    sirq_sim_note(sim, '-', vcpu->id);
}

void sirq_hotplug_offline(struct sirq_vcpu *vcpu)
{
    vcpu->active = false;
    sirq_sched_masks(vcpu);
    sirq_resched(vcpu);
}

/* ---- returning ----------------------------------------------------------------------- */

/* It belongs to its CPU, wherever it is by now. */
static void ksoftirqd_return(struct sirq_vcpu *vcpu)
{
    struct sirq_sim_task *task = vcpu->ksoftirqd;
    struct sirq_vcpu *from = task->vcpu;

    memset(task->allowed, 0, sizeof(task->allowed));
    task->allowed[vcpu->id / 64] = UINT64_C(1) << (vcpu->id % 64);
    task->pinned = true;
    if (task->queued) {
        send_home(task);
    } else if (task->state == SIM_SLEEPING) {
        sirq_sched_carry(task, vcpu);
    } else {
        sirq_resched(from); /* it runs: it moves when it can be switched away */
    }
}

void sirq_hotplug_online(struct sirq_vcpu *vcpu)
{
    vcpu->active = true;
    __atomic_store_n(&vcpu->cpu->online, true, __ATOMIC_SEQ_CST);
    sirq_sched_masks(vcpu);
    ksoftirqd_return(vcpu);
    sirq_resched(vcpu); /* idle looks for work, and at its timers */
    sirq_sim_note(vcpu->sim, '+', vcpu->id);
}
