/* SPDX-License-Identifier: MIT */
/*
 * SCHED_FIFO and SCHED_RR: a list for each priority, the highest first.
 *
 * Throttling: of every period RT tasks of a CPU get no more than rt_runtime_ns; then they
 * wait for the next period, even if the CPU idles.  (Source: sched(7).)
 */
#define SIRQ_SIM_PRIVATE
#include "sim.h"

#define RR_SLICE_NS UINT64_C(100000000)
#define RT_LOOKS 32u

void sirq_rt_push(struct sirq_rt_rq *rq, struct sirq_sim_task *task, bool front)
{
    int prio = task->priority;
    struct sirq_sim_task **first = &rq->first[prio], **last = &rq->last[prio];

    task->rt_next = front ? *first : NULL;
    task->rt_prev = front ? NULL : *last;
    if (task->rt_next != NULL)
        task->rt_next->rt_prev = task;
    else
        *last = task;
    if (task->rt_prev != NULL)
        task->rt_prev->rt_next = task;
    else
        *first = task;
    rq->bitmap[prio / 64] |= UINT64_C(1) << (prio % 64);
}

void sirq_rt_remove(struct sirq_rt_rq *rq, struct sirq_sim_task *task)
{
    int prio = task->priority;

    if (task->rt_next != NULL)
        task->rt_next->rt_prev = task->rt_prev;
    else
        rq->last[prio] = task->rt_prev;
    if (task->rt_prev != NULL)
        task->rt_prev->rt_next = task->rt_next;
    else
        rq->first[prio] = task->rt_next;
    if (rq->first[prio] == NULL)
        rq->bitmap[prio / 64] &= ~(UINT64_C(1) << (prio % 64));
}

struct sirq_sim_task *sirq_rt_first(const struct sirq_rt_rq *rq)
{
    for (unsigned word = 2; word-- > 0;)
        if (rq->bitmap[word] != 0)
            return rq->first[word * 64 + 63 - (unsigned)__builtin_clzll(rq->bitmap[word])];
    return NULL;
}

/*
 * The best that waits, is better than priority `above` and may run on `cpu`; -1: on more than
 * one.  Of those looked at.
 */
struct sirq_sim_task *sirq_rt_movable(const struct sirq_rt_rq *rq, int cpu, int above)
{
    unsigned looks = RT_LOOKS;

    for (int prio = SIM_RT_PRIOS - 1; prio > above; prio--)
        for (struct sirq_sim_task *task = rq->first[prio]; task != NULL; task = task->rt_next) {
            if (cpu < 0 ? !task->pinned : sirq_task_allowed(task, (unsigned)cpu))
                return task;
            if (--looks == 0)
                return NULL;
        }
    return NULL;
}

void sirq_rt_account(struct sirq_vcpu *vcpu, uint64_t delta_ns)
{
    struct sirq_sim *sim = vcpu->sim;
    struct sirq_sim_task *curr = vcpu->curr;

    curr->slice_ns = curr->slice_ns > delta_ns ? curr->slice_ns - delta_ns : 0;
    if (sim->rt_runtime_ns >= sim->rt_period_ns)
        return;
    vcpu->rt.time_ns += delta_ns;
    if (!sirq_event_queued(&vcpu->rt.period))
        sirq_evq_add(&sim->evq, &vcpu->rt.period,
                     (sim->now / sim->rt_period_ns + 1) * sim->rt_period_ns);
    if (vcpu->rt.time_ns >= sim->rt_runtime_ns && !vcpu->rt.throttled) {
        vcpu->rt.throttled = true;
        sirq_resched(vcpu);
    }
}

/* A new period.  An overrun of the last one is paid back in this. */
void sirq_rt_period(struct sirq_event *event, uint64_t now)
{
    struct sirq_vcpu *vcpu = SIRQ_CONTAINER(event, struct sirq_vcpu, rt.period);
    struct sirq_sim *sim = vcpu->sim;
    struct sirq_rt_rq *rq = &vcpu->rt;

    rq->time_ns = rq->time_ns > sim->rt_runtime_ns ? rq->time_ns - sim->rt_runtime_ns : 0;
    if (rq->time_ns > 0 || rq->nr > 0)
        sirq_evq_add(&sim->evq, event, now + sim->rt_period_ns);
    if (rq->throttled && rq->time_ns < sim->rt_runtime_ns) {
        rq->throttled = false;
        if (rq->nr > 0)
            sirq_resched(vcpu);
    }
}

void sirq_rt_tick(struct sirq_vcpu *vcpu)
{
    struct sirq_sim_task *curr = vcpu->curr;

    if (!curr->rr || curr->slice_ns > 0)
        return;
    curr->slice_ns = RR_SLICE_NS;
    if (vcpu->rt.first[curr->priority] != NULL) {
        curr->to_tail = true;
        sirq_resched(vcpu);
    }
}
