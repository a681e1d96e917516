/* SPDX-License-Identifier: MIT */
/*
 * The fair class: CFS as in Linux 2.6.23 to 6.5.
 *
 * A task's vruntime is the time it was charged, scaled by its weight; the one with the least
 * is next.  It may run for its share of the latency period; a sleeper comes back at most
 * half a period behind the others; a wake-up preempts when it is more than the wake-up
 * granularity behind.  (Source: Linux kernel/sched/fair.c, 4.9; buddies and group scheduling
 * are left out.)
 *
 * vruntimes are compared by signed difference.
 */
#define SIRQ_SIM_PRIVATE
#include "sim.h"

#include <errno.h>
#include <stdlib.h>

#define NICE_0_WEIGHT 1024u

/* Each step of nice is worth about 10 % of a CPU: a factor of 1.25. */
static const uint32_t weights[40] = {
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906,  3121,  2501,  1991,  1586,  1277,  1024,  820,   655,   526,   423,  335,  272,  215,
    172,   137,   110,   87,    70,    56,    45,    36,    29,    23,    18,   15,
};

uint32_t sirq_fair_weight(int nice)
{
    return weights[nice + 20];
}

uint64_t sirq_fair_delta(uint64_t delta_ns, uint32_t weight)
{
    return weight == NICE_0_WEIGHT ? delta_ns : delta_ns * NICE_0_WEIGHT / weight;
}

/* ---- the heap ----------------------------------------------------------------------- */

static bool earlier(const struct sirq_sim_task *a, const struct sirq_sim_task *b)
{
    int64_t diff = (int64_t)(a->vruntime - b->vruntime);

    return diff < 0 || (diff == 0 && a->heap_seq < b->heap_seq);
}

static void place(struct sirq_fair_rq *rq, uint32_t i, struct sirq_sim_task *task)
{
    rq->heap[i] = task;
    task->heap_pos = i + 1;
}

static void sift_up(struct sirq_fair_rq *rq, uint32_t i, struct sirq_sim_task *task)
{
    for (; i > 0 && earlier(task, rq->heap[(i - 1) / 2]); i = (i - 1) / 2)
        place(rq, i, rq->heap[(i - 1) / 2]);
    place(rq, i, task);
}

static void sift_down(struct sirq_fair_rq *rq, uint32_t i, struct sirq_sim_task *task)
{
    for (uint32_t child; (child = 2 * i + 1) < rq->len; i = child) {
        if (child + 1 < rq->len && earlier(rq->heap[child + 1], rq->heap[child]))
            child++;
        if (!earlier(rq->heap[child], task))
            break;
        place(rq, i, rq->heap[child]);
    }
    place(rq, i, task);
}

int sirq_fair_reserve(struct sirq_fair_rq *rq, unsigned n)
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

void sirq_fair_push(struct sirq_fair_rq *rq, struct sirq_sim_task *task)
{
    assert(rq->len < rq->cap && task->heap_pos == 0);
    task->heap_seq = rq->seq++;
    sift_up(rq, rq->len++, task);
}

void sirq_fair_remove(struct sirq_fair_rq *rq, struct sirq_sim_task *task)
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

/* ---- fairness ----------------------------------------------------------------------- */

/* min_vruntime never goes back: it follows the slowest of those who can run. */
void sirq_fair_update_min(struct sirq_vcpu *vcpu)
{
    struct sirq_fair_rq *rq = &vcpu->fair;
    bool curr = vcpu->curr->class == SIM_CLASS_FAIR && vcpu->curr->state == SIM_RUNNABLE;
    uint64_t least = rq->min_vruntime;

    if (curr)
        least = vcpu->curr->vruntime;
    if (rq->len > 0 && (!curr || (int64_t)(rq->heap[0]->vruntime - least) < 0))
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

void sirq_fair_place(struct sirq_vcpu *vcpu, struct sirq_sim_task *task, bool initial)
{
    struct sirq_fair_rq *rq = &vcpu->fair;
    uint64_t vruntime = rq->min_vruntime;

    if (initial)
        vruntime += sirq_fair_delta(slice(vcpu, task->weight, rq->nr + 1, rq->load + task->weight),
                                    task->weight);
    else
        vruntime -= vcpu->sim->latency_ns / 2;
    if ((int64_t)(vruntime - task->vruntime) > 0 || initial)
        task->vruntime = vruntime;
}

bool sirq_fair_preempts(const struct sirq_vcpu *vcpu, const struct sirq_sim_task *task)
{
    uint64_t floor = vcpu->fair.min_vruntime - vcpu->sim->latency_ns / 2;
    uint64_t vruntime = task->vruntime;
    int64_t behind;

    if (task->state == SIM_SLEEPING && (int64_t)(floor - vruntime) > 0)
        vruntime = floor; /* where sirq_fair_place() will put it */
    behind = (int64_t)(vcpu->curr->vruntime - vruntime);
    return behind > (int64_t)sirq_fair_delta(vcpu->sim->wakeup_granularity_ns, task->weight);
}

void sirq_fair_tick(struct sirq_vcpu *vcpu)
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
