/* SPDX-License-Identifier: MIT */
/*
 * The host table over the simulated machine.
 *
 * A context is a task, whatever runs on top of it; code outside of the world (set-up,
 * the loop's own) has one of its own, which never owns a CPU while the world runs.  A run is
 * not preempted by tasks, so bottom halves of the own CPU are never found taken; those of
 * another may be, by sirq_synchronize().
 */
#define SIRQ_SIM_HOST_PRIVATE
#include "host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define RELAX_NS UINT64_C(50000) /* as the live host */

static uint64_t host_now_ns(const struct sirq_cpu *cpu)
{
    return sirq_vcpu_of(cpu)->sim->now;
}

static struct sirq_ctx *host_ctx(void)
{
    static _Thread_local struct sirq_ctx nowhere = {.token = 1};
    struct sirq_sim *sim = sirq_sim_current();

    if (sim == NULL)
        return &nowhere;
    return sim->running != NULL ? &sim->running->curr->ctx : &sim->outside;
}

static struct sirq_cpu *host_this_cpu(struct sirq_core *core)
{
    struct sirq_sim *sim = sirq_sim_current();

    return sim != NULL && core == &sim->core && sim->running != NULL ? sim->running->cpu : NULL;
}

static void host_charge(struct sirq_cpu *cpu, enum sirq_cost cost, uint64_t n)
{
    struct sirq_sim *sim = sirq_vcpu_of(cpu)->sim;

    sirq_vcpu_spend(sim, n * sim->cost_ns[cost]);
}

/*
 * From outside: let the world go on for a tick.  A task sleeps: spinning, a real-time one
 * would keep the CPU from whom it waits for, ksoftirqd among them.  What cannot be switched
 * away lets time pass.
 */
static void host_relax(struct sirq_cpu *cpu)
{
    struct sirq_sim *sim = sirq_vcpu_of(cpu)->sim;

    if (sim->running == NULL) {
        assert(sirq_sim_current() != sim); /* an event must not wait */
        sirq_sim_run(sim, sim->now + sim->core.tick_ns);
        return;
    }
    if (sirq_vcpu_preemptible(sim->running) && sim->running->curr != sim->running->idle)
        sirq_task_sleep(sim->running->curr, sim->now + RELAX_NS);
    else
        sirq_vcpu_spend(sim, RELAX_NS);
}

static void host_bh_lock(struct sirq_cpu *cpu, struct sirq_ctx *ctx)
{
    while (cpu->word >> 32 != 0)
        host_relax(cpu);
    cpu->word |= (uint64_t)ctx->token << 32;
}

/* Nobody leaves a mark on the owner half: host_bh_lock() polls. */
static void host_bh_unlock(struct sirq_cpu *cpu, struct sirq_ctx *ctx)
{
    (void)ctx;
    cpu->core->host->bug("bh_unlock without waiters", __FILE__, __LINE__);
}

/* ---- waking and sleeping ------------------------------------------------------------- */

/* Waking takes time, and is not preempted by whom it wakes. */
static void wake_task(struct sirq_vcpu *vcpu, struct sirq_sim_task *task)
{
    struct sirq_sim *sim = vcpu->sim;

    if (sim->running == NULL) {
        sirq_task_wake(task);
        return;
    }
    vcpu = sim->running;
    vcpu->preempt_off++;
    sirq_vcpu_spend(sim, sim->cost_ns[SIRQ_COST_WAKE]);
    sirq_task_wake(task);
    vcpu->preempt_off--;
}

static void host_wake_ksoftirqd(struct sirq_cpu *cpu)
{
    struct sirq_vcpu *vcpu = sirq_vcpu_of(cpu);

    wake_task(vcpu, vcpu->ksoftirqd);
}

static void host_kick(struct sirq_cpu *cpu)
{
    sirq_vcpu_kick(sirq_vcpu_of(cpu));
}

static void sleepers_append(struct sirq_wq *wq, struct sirq_sim_task *task)
{
    struct sirq_sim_task *last = wq->host;

    task->wq = wq;
    task->wq_next = NULL;
    if (last == NULL) {
        wq->host = task;
        return;
    }
    while (last->wq_next != NULL)
        last = last->wq_next;
    last->wq_next = task;
}

static void sleepers_remove(struct sirq_sim_task *task)
{
    struct sirq_sim_task *prev = task->wq->host;

    if (prev == task)
        task->wq->host = task->wq_next;
    while (prev != task && prev->wq_next != task)
        prev = prev->wq_next;
    if (prev != task)
        prev->wq_next = task->wq_next;
    task->wq = NULL;
}

static int host_wait(struct sirq_cpu *cpu, struct sirq_wq *wq, uint32_t seq, int64_t timeout_ns)
{
    struct sirq_sim *sim = sirq_vcpu_of(cpu)->sim;
    struct sirq_sim_task *task;
    int err;

    assert(sim->running != NULL); /* only tasks can sleep */
    task = sim->running->curr;
    if (wq->seq != seq)
        return 0;
    sleepers_append(wq, task);
    err = sirq_task_sleep(task, timeout_ns < 0 ? UINT64_MAX : sim->now + (uint64_t)timeout_ns);
    if (task->wq != NULL)
        sleepers_remove(task);
    return err;
}

/* All sleepers leave the queue first: one that runs again at once may come back. */
static void host_wake(struct sirq_cpu *cpu, struct sirq_wq *wq)
{
    struct sirq_sim_task *task = wq->host, *next;

    wq->seq++;
    wq->host = NULL;
    for (next = task; next != NULL; next = next->wq_next)
        next->wq = NULL;
    for (; task != NULL; task = next) {
        next = task->wq_next;
        wake_task(sirq_vcpu_of(cpu), task);
    }
}

/* ---- interrupts and rescheduling ----------------------------------------------------- */

static void host_irq_enable(struct sirq_cpu *cpu, unsigned pass)
{
    (void)pass;
    sirq_vcpu_irq_on(sirq_vcpu_of(cpu));
}

static void host_irq_disable(struct sirq_cpu *cpu, unsigned pass)
{
    (void)pass;
    sirq_vcpu_of(cpu)->irq_off = true;
}

/* At an interrupt's exit it is too early: more of them may wait.  vcpu.c asks again. */
static void host_resched(struct sirq_cpu *cpu, enum sirq_entry entry)
{
    struct sirq_sim *sim = sirq_vcpu_of(cpu)->sim;

    (void)entry;
    if (sim->running != NULL)
        sirq_resched_point(sim);
}

static void host_report(struct sirq_cpu *cpu, const char *what, uint64_t value)
{
    const struct sirq_sim *sim = sirq_vcpu_of(cpu)->sim;

    if (sim->report != NULL)
        sim->report(sim->report_arg, cpu->id, what, value);
}

static void host_bug(const char *expr, const char *file, int line)
{
    fprintf(stderr, "softirq: %s:%d: broken invariant: %s\n", file, line, expr);
    abort();
}

const struct sirq_host sirq_sim_host = {
    .now_ns = host_now_ns,
    .charge = host_charge,
    .ctx = host_ctx,
    .this_cpu = host_this_cpu,
    .bh_lock = host_bh_lock,
    .bh_unlock = host_bh_unlock,
    .wake_ksoftirqd = host_wake_ksoftirqd,
    .kick = host_kick,
    .wait = host_wait,
    .wake_at_once = true,
    .wake = host_wake,
    .irq_enable = host_irq_enable,
    .irq_disable = host_irq_disable,
    .resched = host_resched,
    .relax = host_relax,
    .report = host_report,
    .bug = host_bug,
};

/* ---- ksoftirqd ------------------------------------------------------------------------ */

/* Timers that softirqs of a CPU armed there after it had left: of those the core knows nothing. */
static bool left_timers(const struct sirq_cpu *cpu)
{
    return !cpu->online && sirq_timer_next(cpu) != UINT64_MAX;
}

static void bring_timers(struct sirq_cpu *from, struct sirq_cpu *to)
{
    sirq_bh_disable(from);
    sirq_timer_migrate_local(from, to);
    sirq_bh_enable(from);
}

/*
 * `cpu` has left, or is about to: its ksoftirqd runs what comes in for it still, on another
 * CPU, whose softirqs it keeps off meanwhile as any softirq does.  The other's bottom halves
 * are taken first, and given up when those of `cpu` are taken: whoever has these (the
 * leaving CPU) may wait for ours.
 */
static bool run_orphans(struct sirq_cpu *cpu)
{
    struct sirq_sim *sim = sirq_vcpu_of(cpu)->sim;
    struct sirq_cpu *here = sim->running->cpu;
    bool more = true;

    sirq_bh_disable(here);
    if (cpu->word >> 32 == 0) {
        sirq_ksoftirqd_run(cpu);
        if (left_timers(cpu))
            bring_timers(cpu, here);
        more = sirq_pending(cpu) != 0 || left_timers(cpu);
    }
    sirq_bh_enable(here);
    if (more)
        sirq_task_yield(sim->running->curr); /* whoever has the bottom halves may be behind us */
    return more;
}

static bool ksoftirqd_round(struct sirq_sim *sim, struct sirq_cpu *cpu)
{
    const struct sirq_vcpu *home = sirq_vcpu_of(cpu);

    sirq_vcpu_spend(sim, sim->cost_ns[SIRQ_COST_KSOFTIRQD]);
    if (sim->running != home && home->active)
        sirq_task_yield(home->ksoftirqd); /* it is back: that is where we go */
    if (sim->running != home)
        return run_orphans(cpu);
    return sirq_ksoftirqd_run(cpu);
}

/* A test wants things to happen between two rounds, or the last one and the sleep. */
static void linger(struct sirq_sim *sim)
{
    uint64_t ns = sim->linger_ns != NULL ? sim->linger_ns(sim->fault_arg) : 0;

    if (ns > 0)
        sirq_vcpu_spend(sim, ns);
}

static void ksoftirqd_main(struct sirq_sim_task *task, void *arg)
{
    struct sirq_sim *sim = task->sim;
    struct sirq_cpu *cpu = arg;
    bool more;

    for (;;) {
        do {
            more = ksoftirqd_round(sim, cpu);
            sirq_rcu_quiet(task->vcpu);
            linger(sim);
        } while (more);
        if (!left_timers(cpu) && sirq_ksoftirqd_sleep(cpu))
            sirq_task_sleep(task, UINT64_MAX);
    }
}

int sirq_sim_ksoftirqds(struct sirq_sim *sim, const struct sirq_sched *sched)
{
    for (unsigned i = 0; i < sim->ncpus; i++) {
        struct sirq_vcpu *vcpu = &sim->vcpus[i];
        uint64_t allowed[SIM_CPUS / 64] = {0};
        struct sirq_task_params params = {
            .name = "ksoftirqd",
            .fn = ksoftirqd_main,
            .arg = vcpu->cpu,
            .allowed = allowed,
            .sched = *sched,
        };

        allowed[i / 64] = UINT64_C(1) << (i % 64);
        vcpu->ksoftirqd = sirq_task_new(sim, vcpu, &params);
        if (vcpu->ksoftirqd == NULL)
            return -ENOMEM;
        vcpu->cpu->ksoftirqd = 1; /* until it finds nothing to do */
        sirq_task_start(vcpu->ksoftirqd);
    }
    return 0;
}
