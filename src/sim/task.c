/* SPDX-License-Identifier: MIT */
/* Tasks: born, put to sleep, over. */
#define SIRQ_SIM_PRIVATE
#include "sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RR_SLICE_NS UINT64_C(100000000)

static void task_main(void *arg)
{
    struct sirq_sim_task *task = arg;

    sirq_finish_switch(task->sim);
    task->fn(task, task->arg);
    task->state = SIM_DEAD;
    sirq_schedule(task->vcpu); /* the stack goes back when we are off it */
}

/* The task's time to wake has come; on the CPU that it last ran on. */
static void timer_handler(struct sirq_vcpu *vcpu, struct sirq_vline *line)
{
    struct sirq_sim_task *task = SIRQ_CONTAINER(line, struct sirq_sim_task, timer_line);

    if (!task->timer_armed || vcpu->sim->now < task->timer_until)
        return; /* it was woken by another, and may sleep again */
    task->timer_armed = false;
    task->timed_out = true;
    sirq_vcpu_spend(vcpu->sim, vcpu->sim->cost_ns[SIRQ_COST_WAKE]);
    if (sirq_task_wake(task))
        task->woken_ns = task->timer_until;
}

static void timer_event(struct sirq_event *event, uint64_t now)
{
    struct sirq_sim_task *task = SIRQ_CONTAINER(event, struct sirq_sim_task, timer);

    (void)now;
    sirq_vcpu_post(task->vcpu, &task->timer_line);
}

static void set_sched(struct sirq_sim_task *task, const struct sirq_sched *sched)
{
    task->weight = sirq_fair_weight(sched->policy == SCHED_IDLE ? 19 : sched->nice);
    if (sched->policy == SCHED_IDLE)
        task->weight = 3;
    task->rr = sched->policy == SCHED_RR;
    task->priority = sched->priority;
    task->class = task->rr || sched->policy == SCHED_FIFO ? SIM_CLASS_RT : SIM_CLASS_FAIR;
    task->slice_ns = RR_SLICE_NS;
}

static bool is_pinned(const struct sirq_sim *sim, const struct sirq_sim_task *task)
{
    unsigned n = 0;

    for (unsigned word = 0; word < (sim->ncpus + 63) / 64; word++)
        n += (unsigned)__builtin_popcountll(task->allowed[word]);
    return n == 1;
}

/* Whatever is allocated per task beside itself. */
static int reserve(struct sirq_sim *sim, struct sirq_vcpu *vcpu)
{
    if (sirq_evq_reserve(&sim->evq, 1) != 0)
        return -ENOMEM;
    if (vcpu->fair.cap > sim->ntasks)
        return 0;
    for (unsigned i = 0; i < sim->ncpus; i++)
        if (sirq_fair_reserve(sim, &sim->vcpus[i].fair) != 0)
            return -ENOMEM;
    return 0;
}

struct sirq_sim_task *sirq_task_new(struct sirq_sim *sim, struct sirq_vcpu *vcpu,
                                    const struct sirq_task_params *params)
{
    struct sirq_sim_task *task = calloc(1, sizeof(*task));

    if (task == NULL)
        return NULL;
    if (reserve(sim, vcpu) != 0 ||
        sirq_coro_init(&task->coro, &sim->stacks, task_main, task) != 0) {
        free(task);
        return NULL;
    }
    task->sim = sim;
    task->vcpu = vcpu;
    task->name = params->name;
    task->fn = params->fn;
    task->arg = params->arg;
    task->woken = params->woken;
    task->state = SIM_SLEEPING;
    task->ctx.token = 2 + sim->ntasks++;
    task->timer.fn = timer_event;
    task->timer_line.handler = timer_handler;
    memcpy(task->allowed, params->allowed, sizeof(task->allowed));
    task->pinned = is_pinned(sim, task);
    set_sched(task, &params->sched);
    task->next = sim->tasks;
    sim->tasks = task;
    return task;
}

void sirq_task_start(struct sirq_sim_task *task)
{
    sirq_sched_join(task, task->vcpu, true);
}

int sirq_task_sleep(struct sirq_sim_task *task, uint64_t until)
{
    struct sirq_sim *sim = task->sim;

    assert(sim->running != NULL && sim->running->curr == task);
    if (until <= sim->now)
        return -ETIMEDOUT;
    task->timed_out = false;
    task->timer_armed = until != UINT64_MAX;
    task->timer_until = until;
    if (task->timer_armed)
        sirq_evq_add(&sim->evq, &task->timer, until);
    task->state = SIM_SLEEPING;
    sirq_schedule(task->vcpu);
    task->timer_armed = false;
    sirq_evq_cancel(&sim->evq, &task->timer);
    if (task->woken != NULL)
        task->woken(task->arg, sim->now - task->woken_ns);
    return task->timed_out ? -ETIMEDOUT : 0;
}

/* Behind everybody who waits for the CPU. */
void sirq_task_yield(struct sirq_sim_task *task)
{
    struct sirq_vcpu *vcpu = task->vcpu;

    sirq_sched_update(vcpu);
    if (task->class == SIM_CLASS_RT)
        task->to_tail = true;
    else
        vcpu->sim->fair->yield(vcpu, task);
    sirq_schedule(vcpu);
}
