/* SPDX-License-Identifier: MIT */
/*
 * sirq/policy.h - when does deferred work run?
 *
 * A policy answers up to four questions; every hook but the name may be null.  Hooks are
 * called by the owner of the CPU's bottom halves or on the way to becoming it, in any
 * context: they must not block, raise or call back into the core, and must be quick.  A
 * policy keeps no state of its own; what the core remembers for it is in the view.
 */
#ifndef SIRQ_POLICY_H
#define SIRQ_POLICY_H

#include <sirq/softirq.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What a policy may look at: these fields and the functions below.  Read-only; valid during
 * the call.  What costs something to find out is found out when it is asked for.
 */
struct sirq_view {
    const struct sirq_cpu *cpu;
    enum sirq_entry entry;
    uint32_t pending;  /* vectors pending now */
    unsigned pass;     /* passes completed in this run */
    uint64_t start_ns; /* when this run began; 0 before it does */
    uint64_t now_ns;   /* current to the last pass boundary; 0 before the run */
};

static inline unsigned sirq_view_hz(const struct sirq_view *view)
{
    return view->cpu->core->hz;
}

/* now_ns and start_ns in jiffies; a question asked before the run reads the clock. */
static inline uint64_t sirq_view_jiffies(const struct sirq_view *view)
{
    uint64_t now_ns = view->now_ns != 0 ? view->now_ns : sirq_now_ns(view->cpu);

    return now_ns / view->cpu->core->tick_ns;
}

static inline uint64_t sirq_view_start_jiffies(const struct sirq_view *view)
{
    return view->start_ns / view->cpu->core->tick_ns;
}

/* Did the loop go round in this very jiffy? */
static inline bool sirq_view_looped(const struct sirq_view *view)
{
    return __atomic_load_n(&view->cpu->looped_valid, __ATOMIC_RELAXED) &&
           __atomic_load_n(&view->cpu->looped_jiffies, __ATOMIC_RELAXED) == sirq_view_jiffies(view);
}

static inline bool sirq_view_need_resched(const struct sirq_view *view)
{
    return __atomic_load_n(&view->cpu->need_resched, __ATOMIC_RELAXED) != 0;
}

static inline bool sirq_view_ksoftirqd_runnable(const struct sirq_view *view)
{
    return __atomic_load_n(&view->cpu->ksoftirqd, __ATOMIC_SEQ_CST) != 0;
}

/* A real-time task is running or queued on this CPU. */
static inline bool sirq_view_rt_task(const struct sirq_view *view)
{
    return __atomic_load_n(&view->cpu->rt_tasks, __ATOMIC_RELAXED) > 0;
}

/* How full the fullest consumer queue fed from here is, in 1/1000. */
static inline uint32_t sirq_view_queue_fill(const struct sirq_view *view)
{
    return __atomic_load_n(&view->cpu->queue_fill, __ATOMIC_RELAXED);
}

/* What just ran. */
struct sirq_ran {
    unsigned vec;
    uint64_t time_ns;
};

/* A waking real-time task, for place(). */
struct sirq_task_view {
    unsigned cpu;                 /* where it last ran */
    const uint32_t *softirq_busy; /* per CPU: 1 when a long softirq runs or is pending */
    const uint32_t *rt_tasks;     /* per CPU: RT tasks running or queued */
    const uint64_t *allowed;      /* CPU mask, bit per CPU, (ncpus + 63) / 64 words */
    unsigned ncpus;
};

struct sirq_policy {
    const char *name;   /* as on the command line */
    const char *origin; /* where it comes from, one line */

    /*
     * Which of view->pending may run here and now?  Asked before each pass.  What is held
     * back stays pending and ksoftirqd is woken for it.  Null: all of it.
     */
    uint32_t (*select)(const struct sirq_view *view);

    /*
     * Something is pending again after a pass: go round once more, or punt?  Null: up to
     * SIRQ_MAX_RESTART passes.
     */
    bool (*restart)(const struct sirq_view *view);

    /* What just ran.  Null: not told. */
    void (*ran)(const struct sirq_view *view, const struct sirq_ran *ran);

    /* On which CPU should this waking real-time task run?  Null: where it last ran. */
    unsigned (*place)(const struct sirq_task_view *task);
};

/* The table of policies, null-terminated, in the order of their history. */
extern const struct sirq_policy *const sirq_policies[];

/* The policy called `name`, or null. */
const struct sirq_policy *sirq_policy_find(const char *name);

/* What the core starts with and falls back to. */
const struct sirq_policy *sirq_policy_default(void);

#ifdef __cplusplus
}
#endif
#endif
