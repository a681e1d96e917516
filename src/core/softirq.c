/* SPDX-License-Identifier: MIT */
/*
 * The softirq core: raise, sections, the dispatch loop, ksoftirqd's body.
 *
 * Invariants
 *  - cpu->word holds the pending mask and the owner of the CPU's bottom halves.  Actions
 *    run only under ownership, so no vector runs twice at once on a CPU, and none runs
 *    inside somebody's bottom-half section.  Ownership is a lock, not a place: it stays
 *    correct when the host preempts or migrates a thread inside a run.
 *  - A pending bit is never forgotten.  Letting go is one compare-and-swap that fails when
 *    a vector came in that nobody has answered for; otherwise ksoftirqd is woken for what
 *    is left.  So after any entry either nothing is pending, or the CPU has an owner who
 *    will look again, or ksoftirqd is runnable.
 *  - All accesses to word and to cpu->ksoftirqd that take part in this are sequentially
 *    consistent: "set pending, then look for an owner" against "let go, then look at
 *    pending", and "set pending, then look at ksoftirqd" against "ksoftirqd asleep, then
 *    look at pending".
 */
#define SIRQ_CORE_PRIVATE
#include "core.h"

#include <sirq/timer.h>

static uint64_t word_load(const struct sirq_cpu *cpu)
{
    return __atomic_load_n(&cpu->word, __ATOMIC_SEQ_CST);
}

static bool word_cas(struct sirq_cpu *cpu, uint64_t *old, uint64_t new)
{
    return __atomic_compare_exchange_n(&cpu->word, old, new, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

static struct sirq_ctx *this_ctx(const struct sirq_cpu *cpu)
{
    return cpu->core->host->ctx();
}

static bool owns(const struct sirq_cpu *cpu, const struct sirq_ctx *ctx)
{
    return (sirq_word_owner(word_load(cpu)) & ~SIRQ_OWNER_WAITERS) == ctx->token;
}

uint64_t sirq_now_ns(const struct sirq_cpu *cpu)
{
    return cpu->core->host->now_ns(cpu);
}

uint32_t sirq_pending(const struct sirq_cpu *cpu)
{
    return sirq_word_pending(word_load(cpu));
}

bool sirq_in_softirq(const struct sirq_cpu *cpu)
{
    return owns(cpu, this_ctx(cpu));
}

/* ---- ownership ---------------------------------------------------------------------- */

/*
 * Become owner if nobody is, and take those of `mask` that are pending in the same step:
 * *pending is what was pending, taken or not.
 */
static bool own_try(struct sirq_cpu *cpu, const struct sirq_ctx *ctx, uint32_t mask,
                    uint32_t *pending)
{
    uint64_t word = word_load(cpu);

    while (sirq_word_owner(word) == 0) {
        *pending = sirq_word_pending(word);
        if (word_cas(cpu, &word, (*pending & ~mask) | (uint64_t)ctx->token << 32))
            return true;
    }
    return false;
}

void sirq_own_local(struct sirq_cpu *cpu, struct sirq_ctx *ctx)
{
    uint32_t pending;

    if (own_try(cpu, ctx, 0, &pending))
        return;
    SIRQ_BUG_ON(cpu, cpu->core->host->bh_lock == NULL);
    /* Another thread of this CPU was preempted for us while it ran: it should let go. */
    __atomic_store_n(&cpu->need_resched, 1, __ATOMIC_RELAXED);
    cpu->core->host->bh_lock(cpu, ctx);
}

/*
 * Let go unless a vector outside `left` is pending.  With a waiter on the owner word the
 * host hands over, and the next owner answers for whatever is pending.  The waiters bit may
 * be stale, though (its waiter was the last to get the CPU, or is busy with a signal), and
 * then nobody got it: so look, and take it back if need be.
 */
static bool disown(struct sirq_cpu *cpu, struct sirq_ctx *ctx, uint32_t left)
{
    uint64_t word = word_load(cpu);
    uint32_t pending;

    while (sirq_word_owner(word) == ctx->token) {
        if (sirq_word_pending(word) & ~left)
            return false;
        if (word_cas(cpu, &word, sirq_word_pending(word)))
            return true;
    }
    cpu->core->host->bh_unlock(cpu, ctx);
    return (sirq_pending(cpu) & ~left) == 0 || !own_try(cpu, ctx, 0, &pending);
}

void sirq_disown_local(struct sirq_cpu *cpu, struct sirq_ctx *ctx)
{
    disown(cpu, ctx, UINT32_MAX);
}

/* ---- consumers ---------------------------------------------------------------------- */

void sirq_wake(struct sirq_cpu *cpu, struct sirq_wq *wq)
{
    const struct sirq_host *host = cpu->core->host;

    if (host->wake_at_once) {
        host->wake(cpu, wq);
        __atomic_fetch_add(&cpu->stats.wakes, 1, __ATOMIC_RELAXED);
        return;
    }
    if (__atomic_exchange_n(&wq->queued, 1, __ATOMIC_ACQ_REL))
        return;
    if (host->wake_preempts == NULL || host->wake_preempts(cpu, wq))
        __atomic_store_n(&cpu->need_resched, 1, __ATOMIC_RELAXED);
    sirq_llist_push(&cpu->wakes, &wq->node);
}

/*
 * Issue the collected wake-ups.  Several contexts may do this at once.  queued is cleared
 * before the wake-up: a request that comes later queues wq again, one that came before is
 * served by this one.
 */
static void flush_wakes(struct sirq_cpu *cpu)
{
    struct sirq_lnode *node, *next;

    if (sirq_llist_empty(&cpu->wakes))
        return;
    /* Nobody owns the CPU now: `waking` tells sirq_synchronize() that we hold what is about
     * to leave the list.  Set before the take, cleared (RELEASE) after the last wake. */
    __atomic_fetch_add(&cpu->waking, 1, __ATOMIC_SEQ_CST);
    node = sirq_llist_take(&cpu->wakes);
    for (; node != NULL; node = next) {
        struct sirq_wq *wq = SIRQ_CONTAINER(node, struct sirq_wq, node);

        next = node->next;
        __atomic_store_n(&wq->queued, 0, __ATOMIC_SEQ_CST);
        cpu->core->host->wake(cpu, wq);
        __atomic_fetch_add(&cpu->stats.wakes, 1, __ATOMIC_RELAXED);
    }
    __atomic_fetch_sub(&cpu->waking, 1, __ATOMIC_RELEASE);
}

/* ---- the dispatch loop -------------------------------------------------------------- */

/* A CPU that was given back is emptied under the default policy, whose runs end. */
static const struct sirq_policy *policy_of(const struct sirq_cpu *cpu)
{
    if (__atomic_load_n(&cpu->online, __ATOMIC_RELAXED))
        return __atomic_load_n(&cpu->core->policy, __ATOMIC_ACQUIRE);
    return sirq_policy_default();
}

/* Vectors that need no question before the first pass of an interrupt exit. */
static uint32_t admitted_unasked(const struct sirq_cpu *cpu)
{
    if (policy_of(cpu)->select != NULL)
        return 0;
    return ~__atomic_load_n(&cpu->core->threaded_mask, __ATOMIC_RELAXED);
}

/*
 * Which of `pending` may run now, as the policy sees it; 0 ends the run.  What select
 * holds back does not count as "pending again": only the rest asks for another pass.
 */
static uint32_t admit(struct sirq_cpu *cpu, struct sirq_view *view, uint32_t pending)
{
    const struct sirq_policy *policy = policy_of(cpu);
    uint32_t mask = pending;

    if (view->entry != SIRQ_ENTRY_KSOFTIRQD)
        mask &= ~__atomic_load_n(&cpu->core->threaded_mask, __ATOMIC_RELAXED);
    if (view->pass == 0 && policy->select == NULL)
        return mask;
    view->pending = pending;
    if (policy->select != NULL)
        mask &= policy->select(view);
    if (view->pass == 0 || mask == 0)
        return mask;
    SIRQ_STORE(cpu->looped_jiffies, sirq_view_jiffies(view));
    SIRQ_STORE(cpu->looped_valid, 1u);
    if (policy->restart != NULL ? policy->restart(view) : view->pass < SIRQ_MAX_RESTART)
        return mask;
    return 0;
}

/* Tell the policy what ran; a run's first pass may not have needed a current view. */
static void tell_ran(struct sirq_cpu *cpu, struct sirq_view *view, unsigned vec, uint64_t time_ns)
{
    const struct sirq_policy *policy = sirq_get_policy(cpu->core);

    if (policy->ran != NULL) {
        view->pending = sirq_pending(cpu);
        policy->ran(view, &(const struct sirq_ran){.vec = vec,
                                                   .time_ns = time_ns,
                                                   .delivered = cpu->ran_delivered,
                                                   .dropped = cpu->ran_dropped});
    }
}

static void call_action(struct sirq_cpu *cpu, struct sirq_view *view, unsigned vec)
{
    struct sirq_vec_stats *stats = &cpu->stats.vec[vec];
    uint64_t now, time_ns;

    cpu->ran_delivered = cpu->ran_dropped = 0;
    sirq_tracepoint(cpu, SIRQ_TRACE_ENTRY, vec);
    cpu->core->action[vec].fn(cpu, cpu->core->action[vec].data);
    sirq_tracepoint(cpu, SIRQ_TRACE_EXIT, vec);
    SIRQ_BUG_ON(cpu, cpu->bh_depth != 1);
    now = sirq_now_ns(cpu);
    time_ns = now > view->now_ns ? now - view->now_ns : 0;
    view->now_ns += time_ns;
    SIRQ_COUNT(stats->run, 1);
    SIRQ_COUNT(stats->time_ns, time_ns);
    if (time_ns > stats->longest_ns)
        SIRQ_STORE(stats->longest_ns, time_ns);
    tell_ran(cpu, view, vec, time_ns);
}

/* Run the vectors of `mask`, which are pending no more, lowest number first. */
static void run_pass(struct sirq_cpu *cpu, struct sirq_view *view, uint32_t mask)
{
    const struct sirq_host *host = cpu->core->host;

    if (view->pass == 0)
        sirq_tracepoint(cpu, SIRQ_TRACE_RUN_BEGIN, view->entry);
    else
        sirq_tracepoint(cpu, SIRQ_TRACE_RESTART, view->pass);
    if (view->entry == SIRQ_ENTRY_IRQ_EXIT && host->irq_enable != NULL)
        host->irq_enable(cpu, view->pass);
    sirq_charge(cpu, SIRQ_COST_PASS, 1);
    for (; mask != 0; mask &= mask - 1)
        call_action(cpu, view, (unsigned)__builtin_ctz(mask));
    view->pass++;
    SIRQ_COUNT(cpu->stats.passes, 1);
}

static void run_begin(struct sirq_cpu *cpu, struct sirq_view *view, enum sirq_entry entry)
{
    *view = (struct sirq_view){.cpu = cpu, .entry = entry};
    view->start_ns = view->now_ns = sirq_now_ns(cpu);
    cpu->bh_depth = 1;
    cpu->running = true;
    __atomic_store_n(&cpu->run_start_ns, view->start_ns, __ATOMIC_RELAXED);
}

/* The owner's last duties: `left` is what stays pending, for ksoftirqd to take. */
static void run_end(struct sirq_cpu *cpu, struct sirq_ctx *ctx, const struct sirq_view *view,
                    uint32_t left)
{
    const struct sirq_host *host = cpu->core->host;
    struct sirq_cpu_stats *stats = &cpu->stats;
    uint64_t time_ns = view->now_ns - view->start_ns;

    if (view->pass > 0 && view->entry == SIRQ_ENTRY_IRQ_EXIT && host->irq_disable != NULL)
        host->irq_disable(cpu, view->pass);
    if (view->pass > 0) {
        if (cpu->run_end != NULL)
            cpu->run_end(cpu, left != 0 && view->entry == SIRQ_ENTRY_KSOFTIRQD);
        SIRQ_COUNT(stats->runs[view->entry], 1);
        SIRQ_COUNT(stats->time_ns, time_ns);
        SIRQ_COUNT(stats->entry_ns[view->entry], time_ns);
        if (time_ns > stats->longest_run_ns)
            SIRQ_STORE(stats->longest_run_ns, time_ns);
        if (view->entry != SIRQ_ENTRY_KSOFTIRQD)
            ctx->softirq_ns += time_ns;
        SIRQ_COUNT(stats->punts, left != 0);
        sirq_tracepoint(cpu, SIRQ_TRACE_RUN_END, view->pass);
    } else {
        SIRQ_COUNT(stats->held, left != 0);
    }
    __atomic_store_n(&cpu->run_start_ns, 0, __ATOMIC_RELAXED);
    cpu->running = false;
    cpu->bh_depth = 0;
}

/* Take what the next pass is to run off *pending, the pending vectors; 0 ends the run. */
static uint32_t take(struct sirq_cpu *cpu, struct sirq_view *view, uint32_t *pending)
{
    uint32_t mask;

    *pending = sirq_pending(cpu);
    if (*pending == 0 || (mask = admit(cpu, view, *pending)) == 0)
        return 0;
    SIRQ_COUNT(cpu->stats.deferred, mask != *pending);
    if (view->pass > 0)
        flush_wakes(cpu);
    __atomic_and_fetch(&cpu->word, ~(uint64_t)mask, __ATOMIC_SEQ_CST);
    return mask;
}

/*
 * One run.  The caller owns the CPU's bottom halves and has none when this returns; `mask`
 * is what it has taken off the pending vectors already, for the first pass.  Each
 * turn either runs a pass the policy admits, or ends the run and lets go; when a vector
 * came in between, letting go fails and the policy is asked again.
 */
static void dispatch(struct sirq_cpu *cpu, struct sirq_ctx *ctx, enum sirq_entry entry,
                     uint32_t mask)
{
    struct sirq_view view;
    uint32_t pending;

restart:
    run_begin(cpu, &view, entry);
    while (mask != 0 || (mask = take(cpu, &view, &pending)) != 0) {
        run_pass(cpu, &view, mask);
        mask = 0;
    }
    run_end(cpu, ctx, &view, pending);
    if (!disown(cpu, ctx, pending))
        goto restart;
    /* Only now: whoever is woken may preempt us, and would find the CPU taken. */
    if (pending != 0) {
        sirq_tracepoint(cpu, SIRQ_TRACE_PUNT, pending);
        sirq_ksoftirqd_wake(cpu);
    }
    flush_wakes(cpu);
    if (cpu->core->host->resched != NULL && __atomic_load_n(&cpu->need_resched, __ATOMIC_RELAXED))
        cpu->core->host->resched(cpu, entry);
}

/* ---- entries ------------------------------------------------------------------------ */

void sirq_hardirq_enter(struct sirq_cpu *cpu)
{
    this_ctx(cpu)->hardirq_depth++;
    SIRQ_COUNT(cpu->stats.hardirqs, 1);
}

void sirq_hardirq_exit(struct sirq_cpu *cpu)
{
    struct sirq_ctx *ctx = this_ctx(cpu);
    uint32_t pending, mask;

    SIRQ_BUG_ON(cpu, ctx->hardirq_depth == 0);
    if (--ctx->hardirq_depth > 0 || sirq_pending(cpu) == 0)
        return;
    mask = admitted_unasked(cpu);
    if (!own_try(cpu, ctx, mask, &pending))
        return;
    mask &= pending;
    SIRQ_COUNT(cpu->stats.deferred, mask != 0 && mask != pending);
    dispatch(cpu, ctx, SIRQ_ENTRY_IRQ_EXIT, mask);
}

void sirq_bh_disable(struct sirq_cpu *cpu)
{
    struct sirq_ctx *ctx = this_ctx(cpu);

    SIRQ_BUG_ON(cpu, ctx->hardirq_depth > 0);
    if (owns(cpu, ctx)) {
        cpu->bh_depth++;
        return;
    }
    sirq_own_local(cpu, ctx);
    cpu->bh_depth = 1;
}

void sirq_bh_enable(struct sirq_cpu *cpu)
{
    struct sirq_ctx *ctx = this_ctx(cpu);

    SIRQ_BUG_ON(cpu, ctx->hardirq_depth > 0 || !owns(cpu, ctx) || cpu->bh_depth == 0);
    if (cpu->bh_depth > 1) {
        cpu->bh_depth--;
        return;
    }
    cpu->bh_depth = 0;
    if (!disown(cpu, ctx, 0))
        dispatch(cpu, ctx, SIRQ_ENTRY_BH_ENABLE, 0);
    else
        flush_wakes(cpu);
}

/*
 * The question is asked before becoming owner: under a policy that leaves pending work to
 * ksoftirqd this is all that a receive call pays for each packet of a flood.
 */
static bool held_at_the_door(struct sirq_cpu *cpu, uint64_t word)
{
    struct sirq_view view = {.cpu = cpu, .entry = SIRQ_ENTRY_BH_ENABLE};

    if (sirq_word_owner(word) != 0 || policy_of(cpu)->select == NULL)
        return false;
    if (admit(cpu, &view, sirq_word_pending(word)) != 0)
        return false;
    SIRQ_COUNT(cpu->stats.held, 1); /* approximate: not the owner */
    sirq_ksoftirqd_wake(cpu);
    return true;
}

void sirq_bh_cycle(struct sirq_cpu *cpu)
{
    uint64_t word = word_load(cpu);

    if (word == 0 || held_at_the_door(cpu, word))
        return;
    sirq_bh_disable(cpu);
    sirq_bh_enable(cpu);
}

/* ---- raise -------------------------------------------------------------------------- */

/* True when it was not pending and nobody owned the CPU: somebody has to be sent. */
static inline bool raise_bit(struct sirq_cpu *cpu, unsigned vec)
{
    uint64_t bit = UINT64_C(1) << vec; /* as wide as word: one lock bts instead of a loop */
    uint64_t old;

    SIRQ_BUG_ON(cpu, vec >= SIRQ_NR_VECTORS || cpu->core->action[vec].fn == NULL);
    old = __atomic_fetch_or(&cpu->word, bit, __ATOMIC_SEQ_CST);
    if (old & bit)
        __atomic_fetch_add(&cpu->merged[vec], 1, __ATOMIC_RELAXED);
    else
        sirq_tracepoint(cpu, SIRQ_TRACE_RAISE, vec);
    return (old & (bit | ~(uint64_t)UINT32_MAX)) == 0;
}

void sirq_raise(struct sirq_cpu *cpu, unsigned vec)
{
    const struct sirq_ctx *ctx;

    raise_bit(cpu, vec);
    ctx = this_ctx(cpu);
    if (ctx->hardirq_depth == 0 && !owns(cpu, ctx))
        sirq_ksoftirqd_wake(cpu);
}

void sirq_raise_remote(struct sirq_cpu *cpu, unsigned vec)
{
    if (!__atomic_load_n(&cpu->online, __ATOMIC_ACQUIRE))
        cpu = sirq_any_online(cpu->core);
    /* An owner cannot let go without seeing the bit, and an interrupt could not run it. */
    if (raise_bit(cpu, vec))
        cpu->core->host->kick(cpu);
}

/* ---- ksoftirqd ---------------------------------------------------------------------- */

void sirq_ksoftirqd_wake(struct sirq_cpu *cpu)
{
    if (__atomic_load_n(&cpu->ksoftirqd, __ATOMIC_SEQ_CST) == 0 &&
        __atomic_exchange_n(&cpu->ksoftirqd, 1, __ATOMIC_SEQ_CST) == 0)
        cpu->core->host->wake_ksoftirqd(cpu);
}

bool sirq_ksoftirqd_run(struct sirq_cpu *cpu)
{
    struct sirq_ctx *ctx = this_ctx(cpu);

    if (sirq_pending(cpu) == 0)
        return false;
    sirq_own_local(cpu, ctx);
    dispatch(cpu, ctx, SIRQ_ENTRY_KSOFTIRQD, 0);
    return sirq_pending(cpu) != 0;
}

bool sirq_ksoftirqd_sleep(struct sirq_cpu *cpu)
{
    __atomic_store_n(&cpu->ksoftirqd, 0, __ATOMIC_SEQ_CST);
    if (sirq_pending(cpu) == 0)
        return true;
    /* A raise that saw us runnable left its work to us. */
    __atomic_store_n(&cpu->ksoftirqd, 1, __ATOMIC_SEQ_CST);
    return false;
}
