/* SPDX-License-Identifier: MIT */
/*
 * sirq/softirq.h - the softirq core: per-CPU pending vectors, raise, hardirq and
 * bottom-half sections, the dispatch loop, ksoftirqd's body, counters, watchdog.
 *
 * The core is mechanism only.  It knows no clock, thread, signal or socket; those come
 * through the host table (sirq/host.h).  *When* deferred work runs is answered by a
 * policy (sirq/policy.h).  It allocates nothing, links with nothing, and builds with
 * -ffreestanding: the caller owns all memory.
 *
 * Contexts, as in Linux (Documentation/core-api, kernel/softirq.c):
 *   task      an ordinary thread
 *   softirq   inside an action, or between sirq_bh_disable() and sirq_bh_enable()
 *   hardirq   between sirq_hardirq_enter() and sirq_hardirq_exit()
 * Unless stated otherwise a function may be called in any of them.
 */
#ifndef SIRQ_SOFTIRQ_H
#define SIRQ_SOFTIRQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sirq/llist.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Vectors in priority order: within a pass a lower number runs first. */
enum sirq_vector {
    SIRQ_HI,
    SIRQ_TIMER,
    SIRQ_NET_TX,
    SIRQ_NET_RX,
    SIRQ_BLOCK,
    SIRQ_IRQ_POLL,
    SIRQ_TASKLET,
    SIRQ_SCHED,
    SIRQ_HRTIMER,
    SIRQ_RCU,
    SIRQ_USER, /* first of the user-defined vectors, see sirq_open_user() */
    SIRQ_NR_VECTORS = 32
};

#define SIRQ_BIT(vec) (UINT32_C(1) << (vec))

/* Most passes of one run under a policy that counts them (Linux MAX_SOFTIRQ_RESTART). */
#define SIRQ_MAX_RESTART 10u

/*
 * Longest run of a policy that limits time, in jiffies: 2 ms, and never less than one
 * jiffy.  An integer constant expression when hz is one.  (Source: Eric Dumazet,
 * "softirq: reduce latencies" v2, January 2013.)
 */
#define SIRQ_MAX_SOFTIRQ_TIME(hz) (2 * (hz) / 1000 > 1 ? 2 * (hz) / 1000 : 1)

/* How the core was entered; policies need it (a flood's runs come from BH_ENABLE). */
enum sirq_entry { SIRQ_ENTRY_IRQ_EXIT, SIRQ_ENTRY_BH_ENABLE, SIRQ_ENTRY_KSOFTIRQD };
#define SIRQ_NR_ENTRIES 3

struct sirq_cpu;
struct sirq_core;
struct sirq_host;
struct sirq_policy;
struct sirq_wq;

/*
 * An action: runs what was raised.  Context: softirq on `cpu`, never twice at once on
 * one CPU.  It may raise (also itself: it is then pending again after this pass) and
 * call sirq_wake(); it must not block.
 */
typedef void (*sirq_action_fn)(struct sirq_cpu *cpu, void *data);

/*
 * Who is executing.  One per thread (live) or per simulated task, found through
 * sirq_host.ctx; written by that thread alone, signal handlers on it included.
 */
struct sirq_ctx {
    uint32_t token;         /* non-zero, < 2^30, unique among living threads (a Linux tid) */
    uint32_t hardirq_depth; /* nesting of sirq_hardirq_enter() */
    uint64_t softirq_ns;    /* time spent in softirq on this thread outside ksoftirqd, ns */
};

/* Counters of one vector on one CPU.  Writer: the owner of that CPU's bottom halves. */
struct sirq_vec_stats {
    uint64_t run;        /* times the action ran */
    uint64_t time_ns;    /* time in the action */
    uint64_t longest_ns; /* longest single call */
};

/* Counters of one CPU.  Writer: the owner of its bottom halves, unless noted. */
struct sirq_cpu_stats {
    uint64_t runs[SIRQ_NR_ENTRIES]; /* runs of the dispatch loop, by entry */
    uint64_t passes;                /* passes over pending vectors */
    uint64_t punts;                 /* runs that ended with work left to ksoftirqd */
    uint64_t held;                  /* entries at which the policy let nothing run; written
                                       without ownership too: may miss some */
    uint64_t deferred;              /* entries at which it held back some vectors */
    uint64_t time_ns;               /* time in runs, all entries */
    uint64_t entry_ns[SIRQ_NR_ENTRIES];
    uint64_t longest_run_ns;
    uint64_t wakes;     /* consumers woken through sirq_wake() */
    uint64_t squeezed;  /* net_rx_action out of budget or time; written by NET_RX */
    uint64_t stalls;    /* watchdog: pending work stood still; policy was replaced */
    uint64_t long_runs; /* watchdog: one run lasted longer than the stall bound */
    uint64_t hardirqs;  /* interrupts entered; approximate across preempted threads */
    struct sirq_vec_stats vec[SIRQ_NR_VECTORS];
};

/*
 * State of one CPU.  `word` is the heart: the pending mask and the owner of the CPU's
 * bottom halves in one atomic 64-bit value, so that "nothing is pending and I let go" is
 * one compare-and-swap and no wake-up can fall between the two.
 *   bits  0..31  pending vectors
 *   bits 32..63  owner token, 0 when free; hosts may add SIRQ_OWNER_WAITERS
 */
#define SIRQ_OWNER_WAITERS UINT32_C(0x80000000)

struct sirq_cpu {
    uint64_t word __attribute__((aligned(64))); /* __atomic access only */
    struct sirq_core *core;
    unsigned id;             /* index in core->cpus */
    bool online;             /* __atomic; false: given back, remote raises go elsewhere */
    uint32_t bh_depth;       /* nesting, owner only */
    bool running;            /* a run is in progress, owner only */
    bool traced;             /* the host traces; constant */
    uint32_t need_resched;   /* any writer, __atomic */
    uint32_t ksoftirqd;      /* 1 runnable, 0 asleep; hosts may sleep on it as a futex */
    uint32_t queue_fill;     /* fullest consumer queue, 1/1000; owner writes (packet path) */
    uint32_t ran_delivered;  /* what came of the action that runs, see struct sirq_ran; ... */
    uint32_t ran_dropped;    /* ... the core clears them before, the packet path fills them */
    uint32_t rt_tasks;       /* RT tasks running or queued here; host writes, __atomic */
    uint32_t looped_valid;   /* owner only, with looped_jiffies */
    uint64_t looped_jiffies; /* jiffy in which the loop last went round (Rik van Riel, 2014) */
    uint64_t run_start_ns;   /* 0 when no run is in progress; watchdog reads */
    struct sirq_llist wakes; /* consumers to be woken when the run lets go */
    uint32_t waking;         /* contexts issuing wake-ups without being owner, __atomic */
    struct sirq_llist tasklets[2];  /* TASKLET, HI: see sirq/tasklet.h */
    struct sirq_timer_base *timers; /* see sirq/timer.h; null: no timers */
    void *net;                      /* the packet path's per-CPU data, see sirq/net.h */
    /* Called by the owner as a run ends; may be null.  goes_on: ksoftirqd, which made it, takes
     * up what is left at once. */
    void (*run_end)(struct sirq_cpu *cpu, bool goes_on);
    void *host; /* the host's own per-CPU data */
    uint64_t watch_look_ns, watch_stood_ns, watch_run_start_ns, watch_run_ns; /* watchdog */
    uint32_t watch_held;
    uint64_t watch_ran[SIRQ_NR_VECTORS];
    struct sirq_cpu_stats stats;
    /* Raises that found the vector pending already; any context, __atomic.  See sirq_raised(). */
    uint64_t merged[SIRQ_NR_VECTORS] __attribute__((aligned(64)));
};

struct sirq_core {
    const struct sirq_host *host;
    void *host_data;
    const struct sirq_policy *policy; /* __atomic; switch with sirq_set_policy() */
    struct sirq_cpu *cpus;
    unsigned ncpus;
    unsigned hz;
    uint64_t tick_ns;
    uint64_t stall_ns;      /* watchdog bound, default one second */
    uint32_t threaded_mask; /* vectors that only ever run in ksoftirqd */
    struct {
        sirq_action_fn fn;
        void *data;
        const char *name;
    } action[SIRQ_NR_VECTORS];
};

/*
 * Prepare `core` over `ncpus` CPUs, in memory the caller owns and keeps until the last
 * thread has left the core.  hz: ticks per second, 1..100000.  All CPUs start online,
 * policy is the default one.  Context: task, before any other call.
 * Returns 0, or -EINVAL.
 */
int sirq_core_init(struct sirq_core *core, struct sirq_cpu *cpus, unsigned ncpus, unsigned hz,
                   const struct sirq_host *host, void *host_data);

/*
 * Give vector `vec` its action.  Context: task, before the vector is first raised.
 * `name` is kept by reference.  Returns 0, -EINVAL (no such vector, null fn) or -EBUSY.
 */
int sirq_open(struct sirq_core *core, unsigned vec, const char *name, sirq_action_fn fn,
              void *data);

/* The same for the first free user-defined vector: its number, or -ENOSPC. */
int sirq_open_user(struct sirq_core *core, const char *name, sirq_action_fn fn, void *data);

/*
 * Mark `vec` pending on the CPU the caller runs on.  Merged when it already is.  Outside
 * of any interrupt or bottom-half section ksoftirqd is woken, since nothing else would
 * notice (Linux raise_softirq).
 */
void sirq_raise(struct sirq_cpu *cpu, unsigned vec);

/*
 * Mark `vec` pending on another CPU and kick it.  One kick until it has been taken, and none
 * while somebody there is in a softirq or bottom-half section: its end sees the vector.  When
 * that CPU is offline, on the first one that is online.
 */
void sirq_raise_remote(struct sirq_cpu *cpu, unsigned vec);

/* The first online CPU. */
struct sirq_cpu *sirq_any_online(struct sirq_core *core);

/*
 * Bracket a hard interrupt handler.  The exit runs what is pending, through the policy,
 * unless it nests in another interrupt or in a softirq, or bottom halves are disabled.
 */
void sirq_hardirq_enter(struct sirq_cpu *cpu);
void sirq_hardirq_exit(struct sirq_cpu *cpu);

/*
 * Keep softirqs off this CPU.  Nests.  Waits (host->bh_lock, with priority inheritance
 * where the host has it) when another thread of this CPU was preempted inside a run.
 * Context: task or softirq.  The enable that ends the outermost section runs what is
 * pending, through the policy.
 */
void sirq_bh_disable(struct sirq_cpu *cpu);
void sirq_bh_enable(struct sirq_cpu *cpu);

/*
 * The same as sirq_bh_disable(cpu); sirq_bh_enable(cpu);, and a few loads when it would
 * change nothing: a point at which the calling thread lets pending softirqs run.  Task
 * context.
 */
void sirq_bh_cycle(struct sirq_cpu *cpu);

/* Is the caller in a softirq or bottom-half section of this CPU / in a hardirq? */
bool sirq_in_softirq(const struct sirq_cpu *cpu);
bool sirq_in_hardirq(const struct sirq_cpu *cpu);

/*
 * How often `vec` was raised on `cpu`, merged raises included.  Exact while no run is in
 * progress there: a raise that was not merged has been run, or is pending.
 */
uint64_t sirq_raised(const struct sirq_cpu *cpu, unsigned vec);

/* The vectors pending on `cpu` now. */
uint32_t sirq_pending(const struct sirq_cpu *cpu);

/*
 * ksoftirqd's body: one run of what is pending.  Returns true when work is left.  The
 * host's thread does:  for (;;) { while (sirq_ksoftirqd_run(cpu)) yield if asked;
 * if (sirq_ksoftirqd_sleep(cpu)) wait until cpu->ksoftirqd is 1; }
 */
bool sirq_ksoftirqd_run(struct sirq_cpu *cpu);

/* Declare ksoftirqd asleep; false when work came in meanwhile and it must go on. */
bool sirq_ksoftirqd_sleep(struct sirq_cpu *cpu);

/* Make ksoftirqd of `cpu` runnable. */
void sirq_ksoftirqd_wake(struct sirq_cpu *cpu);

/*
 * Ask that the sleepers on `wq` be woken.  Context: softirq.  Sets need_resched at once;
 * the wake-up itself is issued when the run lets go of the CPU or goes round again, since
 * a softirq is not preempted by the consumer it feeds.  Merged per wq.  (At once on hosts
 * where it never is.)
 */
void sirq_wake(struct sirq_cpu *cpu, struct sirq_wq *wq);

/*
 * The periodic tick of `cpu`, in hardirq context: raises TIMER when a timer is due.
 */
void sirq_tick(struct sirq_cpu *cpu);

/*
 * Watchdog: call for each online CPU every few ticks, from any thread, one at a time.  A
 * longer gap than half of core->stall_ns counts as that: the program was stopped, not held.
 * A pending vector that did not run for core->stall_ns means the policy holds it forever: the
 * default policy takes over, stats.stalls counts it and ksoftirqd is woken.  One run that
 * lasts longer than core->stall_ns is counted in stats.long_runs and reported through
 * host->report, no more: the published stall of `resched` has to be visible.
 */
void sirq_watchdog(struct sirq_cpu *cpu, uint64_t now_ns);

/* Switch policy while running.  Takes effect at the next question asked. */
void sirq_set_policy(struct sirq_core *core, const struct sirq_policy *policy);
const struct sirq_policy *sirq_get_policy(const struct sirq_core *core);

/* Vectors of `mask` run in ksoftirqd only, whatever the policy (forced threading). */
void sirq_force_threaded(struct sirq_core *core, uint32_t mask);

/*
 * Wait until no CPU is inside a run or bottom-half section begun before the call, nor busy
 * with the wake-ups that one asked for; on the way call fn(cpu, data), unless it is null, as
 * the owner of each CPU's bottom halves in turn.  Task context.
 */
void sirq_synchronize_call(struct sirq_core *core, void (*fn)(struct sirq_cpu *cpu, void *data),
                           void *data);

static inline void sirq_synchronize(struct sirq_core *core)
{
    sirq_synchronize_call(core, NULL, NULL);
}

/* Host clock of `cpu`, ns; and the same in jiffies. */
uint64_t sirq_now_ns(const struct sirq_cpu *cpu);
uint64_t sirq_jiffies(const struct sirq_cpu *cpu);

const char *sirq_vector_name(const struct sirq_core *core, unsigned vec);

#ifdef __cplusplus
}
#endif
#endif
