/* SPDX-License-Identifier: MIT */
/*
 * A CPU: time, interrupts, ticks.
 *
 * A charge is where time passes.  When nothing in the whole world is due before its end, the
 * clock moves there and the task goes on: no event, no switch.  Otherwise the end becomes an
 * event and the loop gets its turn; an interrupt that comes first is taken on top of whoever
 * waits, and the rest of the charge continues after it, after the softirqs that its exit
 * runs, and, if that took the CPU away, when the task has it again.
 *
 * Hard interrupts do not nest, but they are let in while softirqs run.
 */
#define SIRQ_SIM_PRIVATE
#include "sim.h"

int sirq_vcpu_level(const struct sirq_vcpu *vcpu)
{
    if (vcpu->curr->ctx.hardirq_depth > 0)
        return SIM_HARDIRQ;
    if (vcpu->cpu->running)
        return SIM_SOFTIRQ;
    return vcpu->curr == vcpu->idle ? SIM_IDLE : SIM_TASK;
}

bool sirq_vcpu_preemptible(const struct sirq_vcpu *vcpu)
{
    uint32_t owner = (uint32_t)(vcpu->cpu->word >> 32);

    return vcpu->preempt_off == 0 && !vcpu->irq_off && vcpu->curr->ctx.hardirq_depth == 0 &&
           owner != vcpu->curr->ctx.token;
}

static void account(struct sirq_vcpu *vcpu, int level, uint64_t ns)
{
    vcpu->time_ns[level] += ns;
    vcpu->curr->time_ns[level] += ns;
    if (level == SIM_HARDIRQ || (level == SIM_SOFTIRQ && vcpu->curr != vcpu->ksoftirqd))
        vcpu->irq_ns += ns;
}

/* Let the loop run until an event resumes this CPU. */
static void wait_event(struct sirq_vcpu *vcpu)
{
    struct sirq_sim *sim = vcpu->sim;

    vcpu->wait_since = sim->now;
    vcpu->wait_level = sirq_vcpu_level(vcpu);
    vcpu->waiting = true;
    sim->running = NULL;
    sirq_coro_switch(&vcpu->curr->coro, &sim->loop);
    account(vcpu, vcpu->wait_level, sim->now - vcpu->wait_since);
}

/* From the loop. */
static void resume(struct sirq_vcpu *vcpu)
{
    struct sirq_sim *sim = vcpu->sim;

    assert(sim->running == NULL && vcpu->waiting);
    vcpu->waiting = false;
    sim->running = vcpu;
    sirq_coro_switch(&sim->loop, &vcpu->curr->coro);
    assert(sim->running == NULL);
}

static void run_event(struct sirq_event *event, uint64_t now)
{
    (void)now;
    resume(SIRQ_CONTAINER(event, struct sirq_vcpu, run_event));
}

/* ---- interrupts --------------------------------------------------------------------- */

void sirq_vcpu_post(struct sirq_vcpu *vcpu, struct sirq_vline *line)
{
    assert(vcpu->sim->running == NULL);
    if (line->posted)
        return;
    line->posted = true;
    line->next = NULL;
    if (vcpu->posted_first == NULL)
        vcpu->posted_first = line;
    else
        vcpu->posted_last->next = line;
    vcpu->posted_last = line;
    if (vcpu->irq_off)
        return; /* taken when the CPU lets interrupts in */
    sirq_evq_cancel(&vcpu->sim->evq, &vcpu->run_event);
    resume(vcpu);
}

static void take_interrupts(struct sirq_vcpu *vcpu)
{
    struct sirq_sim *sim = vcpu->sim;
    struct sirq_vline *line;

    vcpu->irq_off = true;
    while ((line = vcpu->posted_first) != NULL) {
        vcpu->posted_first = line->next;
        line->posted = false;
        sirq_sim_note(sim, 'i', vcpu->id);
        sirq_hardirq_enter(vcpu->cpu);
        sirq_vcpu_spend(sim, sim->cost_ns[SIRQ_COST_IRQ]);
        line->handler(vcpu, line);
        sirq_hardirq_exit(vcpu->cpu);
    }
    vcpu->irq_off = false;
}

void sirq_vcpu_irq_on(struct sirq_vcpu *vcpu)
{
    vcpu->irq_off = false;
    if (vcpu->posted_first != NULL)
        take_interrupts(vcpu);
}

/* ---- time --------------------------------------------------------------------------- */

/* The other thread of the core, or null. */
static struct sirq_vcpu *sibling(const struct sirq_vcpu *vcpu)
{
    return vcpu->sim->smt > 1 ? &vcpu->sim->vcpus[vcpu->id ^ 1] : NULL;
}

/* Work takes longer while the other thread works too. */
static unsigned pace(const struct sirq_vcpu *vcpu)
{
    const struct sirq_vcpu *other = sibling(vcpu);

    return other == NULL || other->idling ? 1000 : vcpu->sim->smt_permille;
}

/* x * num / den without overflow, for factors up to some thousand; rounds down. */
static uint64_t scaled(uint64_t x, unsigned num, unsigned den)
{
    return num == den ? x : x / den * num + x % den * num / den;
}

/* Time for the work that is left; rounds up, so that its end is not before the work's. */
static uint64_t work_time(struct sirq_vcpu *vcpu, uint64_t ns)
{
    vcpu->work_ns = ns;
    vcpu->work_since = vcpu->sim->now;
    vcpu->work_permille = pace(vcpu);
    ns = scaled(ns, vcpu->work_permille, 1000);
    return ns + (scaled(ns, 1000, vcpu->work_permille) < vcpu->work_ns);
}

static uint64_t work_left(const struct sirq_vcpu *vcpu)
{
    uint64_t done = scaled(vcpu->sim->now - vcpu->work_since, 1000, vcpu->work_permille);

    return done < vcpu->work_ns ? vcpu->work_ns - done : 0;
}

/* The other thread of the core goes on at another pace, also in the middle of a charge. */
static void set_idling(struct sirq_vcpu *vcpu, bool idling)
{
    struct sirq_vcpu *other = sibling(vcpu);
    struct sirq_sim *sim = vcpu->sim;

    vcpu->idling = idling;
    if (other == NULL || !sirq_event_queued(&other->run_event))
        return;
    sirq_evq_cancel(&sim->evq, &other->run_event);
    sirq_evq_add(&sim->evq, &other->run_event, sim->now + work_time(other, work_left(other)));
}

void sirq_vcpu_spend(struct sirq_sim *sim, uint64_t ns)
{
    struct sirq_vcpu *vcpu = sim->running;

    if (vcpu == NULL)
        return; /* code outside of the world takes no time in it */
    sim->ncharges++;
    sirq_resched_point(sim);
    vcpu = sim->running;
    while (ns > 0) {
        uint64_t time_ns = work_time(vcpu, ns), end = sim->now + time_ns;

        if (end < sim->evq.next) {
            sim->now = end;
            account(vcpu, sirq_vcpu_level(vcpu), time_ns);
            return;
        }
        sirq_evq_add(&sim->evq, &vcpu->run_event, end);
        wait_event(vcpu);
        ns = work_left(vcpu);
        if (vcpu->posted_first != NULL && !vcpu->irq_off)
            take_interrupts(vcpu);
        sirq_resched_point(sim);
        vcpu = sim->running; /* the task may have moved */
    }
}

void sirq_vcpu_idle_wait(struct sirq_vcpu *vcpu)
{
    /* A timer that was armed by a softirq on top of us. */
    if (vcpu->active && vcpu->tick_stopped && sirq_timer_next(vcpu->cpu) < vcpu->tick_timer)
        sirq_vcpu_tick_restart(vcpu);
    set_idling(vcpu, true);
    wait_event(vcpu);
    set_idling(vcpu, false);
    sirq_rcu_quiet(vcpu);
    if (vcpu->posted_first != NULL)
        take_interrupts(vcpu);
    sirq_resched_point(vcpu->sim); /* nobody can run when this returns */
}

/* ---- ticks and kicks ---------------------------------------------------------------- */

static void tick_handler(struct sirq_vcpu *vcpu, struct sirq_vline *line)
{
    (void)line;
    vcpu->ticks++;
    sirq_vcpu_spend(vcpu->sim, vcpu->sim->cost_ns[SIRQ_COST_TICK]);
    sirq_tick(vcpu->cpu);
    sirq_sched_tick(vcpu);
    sirq_rcu_tick(vcpu);
}

/*
 * The tick goes on as long as the CPU has anything to do; idle, it sleeps until the next
 * timer.  Ticks of CPUs are a little apart, so that they do not all contend at once.
 */
static void tick_event(struct sirq_event *event, uint64_t now)
{
    struct sirq_vcpu *vcpu = SIRQ_CONTAINER(event, struct sirq_vcpu, tick_event);
    uint64_t tick_ns = vcpu->sim->core.tick_ns, next = now + tick_ns;

    if (vcpu->wait_level == SIM_IDLE && sirq_pending(vcpu->cpu) == 0) {
        uint64_t timer = sirq_timer_next(vcpu->cpu), jiffy = now / tick_ns;

        vcpu->tick_stopped = timer > jiffy + 1;
        vcpu->tick_timer = timer;
        vcpu->load = 0;
        if (timer == UINT64_MAX)
            return;
        if (timer > jiffy + 1)
            next = now + (timer - jiffy) * tick_ns;
        sirq_evq_add(&vcpu->sim->evq, event, next);
        if (timer <= jiffy)
            sirq_vcpu_post(vcpu, &vcpu->tick_line);
        return;
    }
    sirq_evq_add(&vcpu->sim->evq, event, next);
    sirq_vcpu_post(vcpu, &vcpu->tick_line);
}

static uint64_t tick_skew(const struct sirq_vcpu *vcpu)
{
    return vcpu->sim->core.tick_ns / 2 / vcpu->sim->ncpus * vcpu->id;
}

void sirq_vcpu_tick_restart(struct sirq_vcpu *vcpu)
{
    uint64_t tick_ns = vcpu->sim->core.tick_ns, skew = tick_skew(vcpu);

    if (!vcpu->tick_stopped)
        return;
    vcpu->tick_stopped = false;
    sirq_evq_cancel(&vcpu->sim->evq, &vcpu->tick_event);
    sirq_evq_add(&vcpu->sim->evq, &vcpu->tick_event,
                 ((vcpu->sim->now + tick_ns - skew) / tick_ns) * tick_ns + skew);
}

static void kick_event(struct sirq_event *event, uint64_t now)
{
    struct sirq_vcpu *vcpu = SIRQ_CONTAINER(event, struct sirq_vcpu, kick_event);

    (void)now;
    sirq_vcpu_post(vcpu, &vcpu->kick_line);
}

static void resched_event(struct sirq_event *event, uint64_t now)
{
    struct sirq_vcpu *vcpu = SIRQ_CONTAINER(event, struct sirq_vcpu, resched_event);

    (void)now;
    sirq_vcpu_post(vcpu, &vcpu->resched_line);
}

/* The interrupt itself is all there is to it: its exit runs softirqs or reschedules. */
static void ipi_handler(struct sirq_vcpu *vcpu, struct sirq_vline *line)
{
    (void)vcpu;
    (void)line;
}

void sirq_vcpu_kick(struct sirq_vcpu *vcpu)
{
    struct sirq_sim *sim = vcpu->sim;

    if (!sirq_event_queued(&vcpu->kick_event) && !vcpu->kick_line.posted)
        sirq_evq_add(&sim->evq, &vcpu->kick_event, sim->now + sirq_ipi_ns(sim));
}

void sirq_vcpu_init(struct sirq_vcpu *vcpu)
{
    vcpu->run_event.fn = run_event;
    vcpu->tick_event.fn = tick_event;
    vcpu->kick_event.fn = kick_event;
    vcpu->resched_event.fn = resched_event;
    vcpu->rt.period.fn = sirq_rt_period;
    vcpu->tick_line.handler = tick_handler;
    vcpu->kick_line.handler = ipi_handler;
    vcpu->resched_line.handler = ipi_handler;
    vcpu->tick_stopped = true;
    vcpu->tick_timer = UINT64_MAX;
}
