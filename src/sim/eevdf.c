/* SPDX-License-Identifier: MIT */
/*
 * EEVDF, the fair scheduler of Linux since 6.6: earliest eligible virtual deadline first.
 *
 * V, the mean of all vruntimes by weight, is how far everybody would be if all ran at once.  A
 * task's lag is V - vruntime: what the CPU owes it.  It is eligible while that is not negative.
 * Each asks for slices: its virtual deadline is its vruntime at the beginning of a slice plus
 * the slice by its weight.  Of the eligible, the one with the earliest deadline is next, and
 * keeps the CPU for its slice as long as it stays eligible (RUN_TO_PARITY): a wake-up preempts
 * only beyond that.  A task that leaves takes its lag along, bounded by two slices or a tick,
 * and finds it again where it joins; there V moves by what it brings, for which place()
 * allows.  (Sources: Stoica and Abdel-Wahab, 1995; Linux 6.6, kernel/sched/fair.c.  Of 6.12,
 * the dequeue that is put off until the lag is gone and slices of single tasks are left out.)
 *
 * At least one of those who compete is eligible, since V is their mean, rounded down to a
 * whole number, and none is below the least.  vruntimes are kept relative to min_vruntime in
 * sum_wv, which moves with it; it never goes back.
 */
#define SIRQ_SIM_PRIVATE
#include "dtree.h"

static uint64_t vslice(const struct sirq_vcpu *vcpu, const struct sirq_sim_task *task)
{
    return sirq_fair_delta(vcpu->sim->slice_ns, task->weight);
}

/* V of those who wait and of `also`, unless it is null. */
static uint64_t mean(const struct sirq_fair_rq *rq, const struct sirq_sim_task *also)
{
    int64_t sum = rq->sum_wv, load = (int64_t)rq->sum_w;

    if (also != NULL) {
        sum += (int64_t)(also->vruntime - rq->min_vruntime) * also->weight;
        load += also->weight;
    }
    if (load == 0)
        return rq->min_vruntime;
    if (sum < 0)
        sum -= load - 1; /* rounds down */
    return rq->min_vruntime + (uint64_t)(sum / load);
}

static bool eligible(const struct sirq_sim_task *task, uint64_t v)
{
    return (int64_t)(task->vruntime - v) <= 0;
}

static void sum(struct sirq_fair_rq *rq, const struct sirq_sim_task *task, int sign)
{
    rq->sum_wv += sign * (int64_t)(task->vruntime - rq->min_vruntime) * task->weight;
    rq->sum_w += (uint64_t)((int64_t)sign * task->weight);
}

static void push(struct sirq_fair_rq *rq, struct sirq_sim_task *task)
{
    task->fair_seq = rq->seq++;
    rq->root = sirq_dtree_insert(rq->root, task);
    sum(rq, task, 1);
    rq->len++;
}

static void remove_queued(struct sirq_fair_rq *rq, struct sirq_sim_task *task)
{
    rq->root = sirq_dtree_remove(rq->root, task);
    sum(rq, task, -1);
    rq->len--;
    task->parity = task->deadline;
}

static struct sirq_sim_task *pick(const struct sirq_vcpu *vcpu)
{
    const struct sirq_fair_rq *rq = &vcpu->fair;
    struct sirq_sim_task *curr = vcpu->curr, *best;
    uint64_t v = mean(rq, sirq_fair_curr(vcpu));

    /* It may have been sent elsewhere just now. */
    if (curr->class != SIM_CLASS_FAIR || curr->state != SIM_RUNNABLE || curr->vcpu != vcpu ||
        !eligible(curr, v))
        curr = NULL;
    if (curr != NULL && curr->parity == curr->deadline)
        return curr;
    best = sirq_dtree_first(rq->root, v);
    if (curr != NULL && (best == NULL || (int64_t)(curr->deadline - best->deadline) < 0))
        return curr;
    return best;
}

static struct sirq_sim_task *movable(const struct sirq_vcpu *vcpu, unsigned cpu)
{
    unsigned looks = SIM_FAIR_LOOKS;

    return sirq_dtree_last_allowed(vcpu->fair.root, cpu, &looks);
}

/* min_vruntime follows the least of those who compete. */
static void advance(struct sirq_fair_rq *rq, const struct sirq_sim_task *curr)
{
    uint64_t least = rq->min_vruntime;

    if (rq->root != NULL)
        least = rq->root->least_vruntime;
    if (curr != NULL && (rq->root == NULL || (int64_t)(curr->vruntime - least) < 0))
        least = curr->vruntime;
    if ((int64_t)(least - rq->min_vruntime) <= 0)
        return;
    rq->sum_wv -= (int64_t)(rq->sum_w * (least - rq->min_vruntime));
    rq->min_vruntime = least;
}

/* A slice that is used up begins anew, behind the others'. */
static void charged(struct sirq_vcpu *vcpu)
{
    struct sirq_sim_task *curr = vcpu->curr;
    const struct sirq_sim_task *competes = sirq_fair_curr(vcpu);

    advance(&vcpu->fair, competes);
    if (competes == NULL || (int64_t)(curr->vruntime - curr->deadline) < 0)
        return;
    curr->deadline = curr->vruntime + vslice(vcpu, curr);
    if (vcpu->fair.nr > 1)
        sirq_resched(vcpu);
}

static void leave(struct sirq_vcpu *vcpu, struct sirq_sim_task *task)
{
    const struct sirq_sim *sim = vcpu->sim;
    uint64_t most = 2 * sim->slice_ns > sim->core.tick_ns ? 2 * sim->slice_ns : sim->core.tick_ns;
    int64_t limit = (int64_t)sirq_fair_delta(most, task->weight);
    int64_t lag = (int64_t)(mean(&vcpu->fair, task->queued ? NULL : task) - task->vruntime);

    task->lag = lag > limit ? limit : lag < -limit ? -limit : lag;
}

/*
 * V moves towards who joins: by its share of the weight.  The lag is made that much larger
 * before, so that it is what it was after.
 */
static void place(struct sirq_vcpu *to, struct sirq_sim_task *task, enum sim_place how)
{
    const struct sirq_sim_task *curr = sirq_fair_curr(to);
    int64_t load = (int64_t)to->fair.sum_w + (curr != NULL ? curr->weight : 0);
    int64_t lag = how != SIM_PLACE_NEW && load > 0 ? task->lag : 0;

    if (lag != 0)
        lag += lag * task->weight / load;
    task->vruntime = mean(&to->fair, curr) - (uint64_t)lag;
    task->deadline = task->vruntime + vslice(to, task) / (how == SIM_PLACE_NEW ? 2 : 1);
}

static bool preempts(const struct sirq_vcpu *vcpu, const struct sirq_sim_task *task)
{
    return pick(vcpu) == task;
}

static void yield(struct sirq_vcpu *vcpu, struct sirq_sim_task *task)
{
    task->deadline += vslice(vcpu, task);
}

const struct sirq_fair_ops sirq_eevdf = {
    .leave = leave,
    .place = place,
    .push = push,
    .remove = remove_queued,
    .first = pick,
    .movable = movable,
    .charged = charged,
    .preempts = preempts,
    .yield = yield,
};
