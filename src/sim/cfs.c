/* SPDX-License-Identifier: MIT */
/*
 * CFS, the fair scheduler of Linux 2.6.23 to 6.5.
 *
 * The task with the least vruntime is next.  It may run for its share of the latency period;
 * a sleeper comes back at most half a period behind the others; a wake-up preempts when it is
 * more than the wake-up granularity behind.  (Source: Linux kernel/sched/fair.c, 4.9; buddies and group scheduling
 * are left out.)
 */
#define SIRQ_SIM_PRIVATE
#include "sim.h"

#include <errno.h>
#include <stdlib.h>

/* ---- the heap ----------------------------------------------------------------------- */

static bool earlier(const struct sirq_sim_task *a, const struct sirq_sim_task *b)
{
    int64_t diff = (int64_t)(a->vruntime - b->vruntime);

    return diff < 0 || (diff == 0 && a->fair_seq < b->fair_seq);
}

static void put(struct sirq_fair_rq *rq, uint32_t i, struct sirq_sim_task *task)
{
    rq->heap[i] = task;
    task->heap_pos = i + 1;
}

static void sift_up(struct sirq_fair_rq *rq, uint32_t i, struct sirq_sim_task *task)
{
    for (; i > 0 && earlier(task, rq->heap[(i - 1) / 2]); i = (i - 1) / 2)
        put(rq, i, rq->heap[(i - 1) / 2]);
    put(rq, i, task);
}

static void sift_down(struct sirq_fair_rq *rq, uint32_t i, struct sirq_sim_task *task)
{
    for (uint32_t child; (child = 2 * i + 1) < rq->len; i = child) {
        if (child + 1 < rq->len && earlier(rq->heap[child + 1], rq->heap[child]))
            child++;
        if (!earlier(rq->heap[child], task))
            break;
        put(rq, i, rq->heap[child]);
    }
    put(rq, i, task);
}

static int reserve(struct sirq_fair_rq *rq, unsigned n)
{
    struct sirq_sim_task **heap;

    if (n <= rq->cap)
        return 0;
    heap = realloc(rq->heap, 2 * n * sizeof(struct sirq_sim_task *));
    if (heap == NULL)
        return -ENOMEM;
    rq->heap = heap;
    rq->cap = 2 * n;
    return 0;
}

static void push(struct sirq_fair_rq *rq, struct sirq_sim_task *task)
{
    assert(rq->len < rq->cap && task->heap_pos == 0);
    task->fair_seq = rq->seq++;
    sift_up(rq, rq->len++, task);
}

static void remove_queued(struct sirq_fair_rq *rq, struct sirq_sim_task *task)
{
    uint32_t i = task->heap_pos - 1;
    struct sirq_sim_task *last = rq->heap[--rq->len];

    assert(task->heap_pos != 0);
    task->heap_pos = 0;
    if (i == rq->len)
        return;
    if (i > 0 && earlier(last, rq->heap[(i - 1) / 2]))
        sift_up(rq, i, last);
    else
        sift_down(rq, i, last);
}

static struct sirq_sim_task *first(const struct sirq_vcpu *vcpu)
{
    return vcpu->fair.len > 0 ? vcpu->fair.heap[0] : NULL;
}

/* From the end of the heap: of those who wait longest, somebody. */
static struct sirq_sim_task *movable(const struct sirq_vcpu *vcpu, unsigned cpu)
{
    const struct sirq_fair_rq *rq = &vcpu->fair;
    uint32_t end = rq->len > SIM_FAIR_LOOKS ? rq->len - SIM_FAIR_LOOKS : 0;

    for (uint32_t i = rq->len; i-- > end;)
        if (sirq_task_allowed(rq->heap[i], cpu))
            return rq->heap[i];
    return NULL;
}

static void fini(struct sirq_fair_rq *rq)
{
    free(rq->heap);
}

/* ---- fairness ----------------------------------------------------------------------- */

/* min_vruntime never goes back: it follows the slowest of those who can run. */
static void charged(struct sirq_vcpu *vcpu)
{
    struct sirq_fair_rq *rq = &vcpu->fair;
    const struct sirq_sim_task *curr = sirq_fair_curr(vcpu);
    uint64_t least = rq->min_vruntime;

    if (curr != NULL)
        least = curr->vruntime;
    if (rq->len > 0 && (curr == NULL || (int64_t)(rq->heap[0]->vruntime - least) < 0))
        least = rq->heap[0]->vruntime;
    if ((int64_t)(least - rq->min_vruntime) > 0)
        rq->min_vruntime = least;
}

/* What `weight` of the load gets of one period. */
static uint64_t slice(const struct sirq_vcpu *vcpu, uint32_t weight, unsigned nr, uint64_t load)
{
    const struct sirq_sim *sim = vcpu->sim;
    uint64_t period = sim->latency_ns;

    if ((uint64_t)nr * sim->min_granularity_ns > period)
        period = (uint64_t)nr * sim->min_granularity_ns;
    return period * weight / load;
}

/* vruntime is relative to a queue: take the distance along. */
static void place(struct sirq_vcpu *to, struct sirq_sim_task *task, enum sim_place how)
{
    struct sirq_fair_rq *rq = &to->fair;
    uint64_t vruntime = rq->min_vruntime;

    task->vruntime += rq->min_vruntime - task->vcpu->fair.min_vruntime;
    if (how == SIM_PLACE_MOVED)
        return;
    if (how == SIM_PLACE_NEW)
        vruntime += sirq_fair_delta(slice(to, task->weight, rq->nr + 1, rq->load + task->weight),
                                    task->weight);
    else
        vruntime -= to->sim->latency_ns / 2;
    if ((int64_t)(vruntime - task->vruntime) > 0 || how == SIM_PLACE_NEW)
        task->vruntime = vruntime;
}

static bool preempts(const struct sirq_vcpu *vcpu, const struct sirq_sim_task *task)
{
    int64_t behind = (int64_t)(vcpu->curr->vruntime - task->vruntime);

    return behind > (int64_t)sirq_fair_delta(vcpu->sim->wakeup_granularity_ns, task->weight);
}

static void yield(struct sirq_vcpu *vcpu, struct sirq_sim_task *task)
{
    const struct sirq_sim_task *next = first(vcpu);

    if (next != NULL && (int64_t)(next->vruntime - task->vruntime) >= 0)
        task->vruntime = next->vruntime + 1;
}

static void tick(struct sirq_vcpu *vcpu)
{
    const struct sirq_fair_rq *rq = &vcpu->fair;
    const struct sirq_sim_task *curr = vcpu->curr;
    uint64_t ideal, ran;

    if (rq->nr < 2)
        return;
    ideal = slice(vcpu, curr->weight, rq->nr, rq->load);
    ran = curr->sched_ns - curr->sched_ns_begin;
    if (ran > ideal || (ran >= vcpu->sim->min_granularity_ns && rq->len > 0 &&
                        (int64_t)(curr->vruntime - rq->heap[0]->vruntime) > (int64_t)ideal))
        sirq_resched(vcpu);
}

const struct sirq_fair_ops sirq_cfs = {
    .reserve = reserve,
    .fini = fini,
    .place = place,
    .push = push,
    .remove = remove_queued,
    .first = first,
    .movable = movable,
    .charged = charged,
    .tick = tick,
    .preempts = preempts,
    .yield = yield,
};
