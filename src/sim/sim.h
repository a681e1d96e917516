/* SPDX-License-Identifier: MIT */
/*
 * What the files of the simulator share.
 *
 * Who executes: either the loop of sirq_sim_run() (sim->running is null), which takes events
 * off the queue, or the current task of one CPU (sim->running), on its own stack, with
 * whatever interrupted it on top.  There is no other concurrency, so no locks.
 *   - a task's code runs in zero time until it spends; then the loop gets its turn, unless
 *     nothing is due before the end of the charge
 *   - interrupts are posted by events, hence from the loop, while every CPU is at a point
 *     where time passes: within a charge, or idle
 *   - context of a CPU is what the core says: hardirq_depth of the current task's ctx, then
 *     ownership of the bottom halves in a run, else the task
 */
#ifndef SIRQ_SIM_PRIVATE
#error "sim.h belongs to the simulator"
#endif
#ifndef SIRQ_SIM_SIM_H
#define SIRQ_SIM_SIM_H

#include <assert.h>

#include <sirq/host.h>
#include <sirq/policy.h>
#include <sirq/sched.h>
#include <sirq/timer.h>

#include "coro.h"
#include "evq.h"
#include "rng.h"

#define SIM_CPUS 1024u
#define SIM_RT_PRIOS 100u
#define SIM_LEVELS 4 /* idle, task, softirq, hardirq: sirq/sim.h */

enum { SIM_IDLE, SIM_TASK, SIM_SOFTIRQ, SIM_HARDIRQ };
enum sim_class { SIM_CLASS_IDLE, SIM_CLASS_FAIR, SIM_CLASS_RT };
enum sim_state { SIM_RUNNABLE, SIM_SLEEPING, SIM_DEAD };

struct sirq_sim;
struct sirq_sim_trace;
struct sirq_vcpu;
struct sirq_vtrace;
struct sirq_sim_nic;
struct sim_napi_thread;

/* An interrupt line of one CPU.  Posted at most once until it is taken. */
struct sirq_vline {
    struct sirq_vline *next;
    bool posted;
    void (*handler)(struct sirq_vcpu *vcpu, struct sirq_vline *line); /* hardirq context */
};

/* An interrupt line of a user's device; the world owns it. */
struct sirq_sim_line {
    struct sirq_vline line;
    struct sirq_event event; /* it will be posted */
    struct sirq_vcpu *vcpu;
    struct sirq_irq *irq; /* null: freed */
    struct sirq_sim_line *next;
};

struct sirq_sim_task {
    struct sirq_coro coro;
    struct sirq_ctx ctx;
    struct sirq_sim *sim;
    struct sirq_sim_task *next; /* all tasks of the world, newest first */
    const char *name;
    void (*fn)(struct sirq_sim_task *task, void *arg);
    void *arg;

    struct sirq_vcpu *vcpu; /* where it runs, is queued, or last was */
    enum sim_state state;
    bool queued; /* on vcpu's run queue; the current task is not */
    uint64_t allowed[SIM_CPUS / 64];
    bool pinned; /* to one CPU */

    enum sim_class class;
    int priority; /* RT: 1..99 */
    bool rr;
    uint32_t weight;
    uint64_t vruntime;
    uint64_t exec_start;     /* clock of the CPU's tasks up to which it was charged */
    uint64_t sched_ns;       /* charged so far */
    uint64_t sched_ns_begin; /* when it was last switched to */
    uint64_t slice_ns;       /* RR: left */
    uint64_t fair_seq;       /* order of queueing, breaks ties */
    uint32_t heap_pos;       /* CFS: in the heap + 1 */
    uint64_t deadline;       /* EEVDF: of the present slice, a vruntime */
    uint64_t parity;         /* its deadline when it was last switched to */
    int64_t lag;             /* V - vruntime when it last left a queue */
    uint64_t least_vruntime; /* of its subtree; dtree.h */
    unsigned height;
    struct sirq_sim_task *child[2];
    struct sirq_sim_task *rt_next, *rt_prev;

    struct sirq_wq *wq; /* it sleeps on */
    struct sirq_sim_task *wq_next;
    struct sirq_event timer;
    struct sirq_vline timer_line;
    uint64_t timer_until;
    bool timer_armed, timed_out;
    uint64_t woken_ns;                             /* when it was woken, or wanted to be */
    void (*woken)(void *arg, uint64_t latency_ns); /* null: nobody asks */
    bool to_tail; /* RT: behind those of its priority when it gives way */

    uint64_t time_ns[SIM_LEVELS]; /* true time, by what ran on its stack */
    uint64_t switches, preempted;
};

/* Fair tasks that are queued. */
struct sirq_fair_rq {
    struct sirq_sim_task **heap; /* CFS: by vruntime */
    struct sirq_sim_task *root;  /* EEVDF: by deadline, dtree.h */
    int64_t sum_wv;              /* EEVDF: of weight * (vruntime - min_vruntime) ... */
    uint64_t sum_w;              /* ... and of weights */
    uint32_t len, cap;
    uint64_t seq;
    uint64_t min_vruntime;
    uint64_t load; /* weights, the current task's included */
    unsigned nr;   /* runnable, the current one included */
};

struct sirq_rt_rq {
    struct sirq_sim_task *first[SIM_RT_PRIOS], *last[SIM_RT_PRIOS];
    uint64_t bitmap[2]; /* by priority: somebody is queued */
    unsigned nr;        /* runnable, the current one included */
    uint64_t time_ns;   /* in this period */
    bool throttled;
    struct sirq_event period;
};

struct sirq_rcu {
    uint64_t quiet_ns; /* last quiescent state */
    uint64_t told_ns;  /* last report of the stall that goes on; 0: none does */
    uint64_t stalls, longest_ns, first_stall_jiffies;
};

struct sirq_vcpu {
    struct sirq_sim *sim;
    struct sirq_cpu *cpu;
    unsigned id;
    struct sirq_sim_task *curr, *idle, *ksoftirqd, *dead;
    bool waiting; /* curr waits within a charge or idle: an interrupt may come */
    bool irq_off;
    bool active; /* false: takes no tasks; it is leaving, or has left (cpu->online: which) */
    unsigned preempt_off;
    struct sirq_vline *posted_first, *posted_last;
    struct sirq_event run_event; /* end of the present charge */
    uint64_t work_ns;            /* left of it at work_since, at full speed ... */
    uint64_t work_since;
    unsigned work_permille; /* ... and what each takes since */
    bool idling;            /* waits for an interrupt with nothing to do */
    struct sirq_rcu rcu;

    struct sirq_fair_rq fair;
    struct sirq_rt_rq rt;
    uint64_t irq_ns; /* not the tasks' time under IRQ time accounting */
    uint64_t balance_next_ns;
    uint32_t load; /* runnable tasks * 1024, averaged over a few ticks */

    struct sirq_event tick_event, kick_event, resched_event;
    struct sirq_vline tick_line, kick_line, resched_line;
    bool tick_stopped;
    uint64_t tick_timer; /* stopped, it sleeps until this jiffy */

    uint64_t time_ns[SIM_LEVELS];
    uint64_t wait_since; /* of the wait in progress, at ... */
    int wait_level;
    uint64_t switches, ticks;
};

struct sirq_sim {
    uint64_t now;
    struct sirq_evq evq;
    struct sirq_vcpu *running; /* whose task executes; null: the loop */
    struct sirq_coro loop;
    bool stop;
    struct sirq_event stop_event, watch_event;
    struct sirq_sim *outer; /* world that the thread ran when this one was entered */
    uint64_t nevents, ncharges, nswitches, digest;

    struct sirq_host host; /* its table: with or without trace */
    struct sirq_core core;
    struct sirq_cpu *cpus;
    struct sirq_vcpu *vcpus;
    unsigned ncpus;
    struct sirq_timer_base *timers;
    struct sirq_ctx outside; /* of code that runs between runs or in the loop */

    uint64_t idle_mask[SIM_CPUS / 64], overload_mask[SIM_CPUS / 64];  /* nobody, and >= 2 */
    uint64_t rt_mask[SIM_CPUS / 64], rt_overload_mask[SIM_CPUS / 64]; /* RT tasks: any, >= 2 */
    struct sirq_sim_task *tasks;
    unsigned ntasks;
    struct sirq_stacks stacks;
    struct sirq_rng rng;
    struct sirq_sim_nic *nics;
    struct sirq_source **crossing; /* far.h */
    uint32_t ncrossing;
    uint64_t disordered; /* frames that came out behind a later one of their flow */
    struct sirq_sim_disk *disks;
    struct sirq_sim_line *lines;
    struct sim_napi_thread *napi_threads;           /* of the host */
    void (*check)(struct sirq_sim *sim, void *arg); /* after every event; null: none */
    void *check_arg;
    /* Faults, null: none.  How much later than ipi_ns this kick comes; is this interrupt of a
     * device lost? */
    uint64_t (*late_ns)(void *arg);
    bool (*lose_irq)(void *arg);
    uint64_t (*linger_ns)(void *arg); /* of ksoftirqd, after each round */
    void *fault_arg;

    uint32_t cost_ns[SIRQ_NR_COSTS];
    const struct sirq_fair_ops *fair;
    uint64_t latency_ns, min_granularity_ns, wakeup_granularity_ns, slice_ns;
    uint64_t ipi_ns, rt_period_ns, rt_runtime_ns, balance_ns, stall_ns;
    uint64_t rcu_stall_ns, rcu_next_ns; /* before the latter nobody can have stalled */
    bool irq_time_accounting;
    unsigned smt, smt_permille;
    void (*report)(void *arg, unsigned cpu, const char *what, uint64_t value);
    void *report_arg;
    void (*trace)(void *arg, const struct sirq_sim_trace *trace); /* src/host/sim/trace.c */
    void *trace_arg;
    struct sirq_vtrace *traces; /* of each CPU; null: nobody traces */
};

static inline struct sirq_vcpu *sirq_vcpu_of(const struct sirq_cpu *cpu)
{
    return cpu->host;
}

/* Everything that happened goes into the digest: what, where, when. */
static inline void sirq_sim_note(struct sirq_sim *sim, uint32_t what, uint32_t where)
{
    uint64_t x = sim->digest ^ sim->now ^ ((uint64_t)what << 56 | (uint64_t)where << 40);

    sim->digest = (x ^ x >> 29) * UINT64_C(0x9fb21c651e98df25);
}

/* From a kick to its interrupt. */
static inline uint64_t sirq_ipi_ns(const struct sirq_sim *sim)
{
    return sim->ipi_ns + (sim->late_ns != NULL ? sim->late_ns(sim->fault_arg) : 0);
}

/* vcpu.c: the CPU */
void sirq_vcpu_init(struct sirq_vcpu *vcpu);
/* Time passes for the current task of the running CPU, or whoever is on top of it. */
void sirq_vcpu_spend(struct sirq_sim *sim, uint64_t ns);
/* Nothing to do until an interrupt; idle task only. */
void sirq_vcpu_idle_wait(struct sirq_vcpu *vcpu);
/* From the loop: the line wants the CPU. */
void sirq_vcpu_post(struct sirq_vcpu *vcpu, struct sirq_vline *line);
void sirq_vcpu_irq_on(struct sirq_vcpu *vcpu);
void sirq_vcpu_kick(struct sirq_vcpu *vcpu);
void sirq_vcpu_tick_restart(struct sirq_vcpu *vcpu);
int sirq_vcpu_level(const struct sirq_vcpu *vcpu);
/* May the current task be switched away here? */
bool sirq_vcpu_preemptible(const struct sirq_vcpu *vcpu);

/* sched.c: whose turn it is */
void sirq_sched_tick(struct sirq_vcpu *vcpu);
/* Give the CPU to whom it belongs; the current task may sleep or be over. */
void sirq_schedule(struct sirq_vcpu *vcpu);
/* Switch if somebody asked for it and it is allowed here. */
void sirq_resched_point(struct sirq_sim *sim);
void sirq_resched(struct sirq_vcpu *vcpu);
/* True when it slept.  Any context, loop included. */
bool sirq_task_wake(struct sirq_sim_task *task);
/* `task` waits on vcpu: should it have the CPU? */
bool sirq_task_preempts(const struct sirq_vcpu *vcpu, const struct sirq_sim_task *task);
void sirq_sched_update(struct sirq_vcpu *vcpu);
/* It can run, on `to`, for the first time or again. */
void sirq_sched_join(struct sirq_sim_task *task, struct sirq_vcpu *to, bool new);
/* idle_mask and overload_mask follow the number of runnable tasks. */
void sirq_sched_masks(struct sirq_vcpu *vcpu);
/* From the queue of one CPU to that of another. */
void sirq_sched_move(struct sirq_sim_task *task, struct sirq_vcpu *to);
/* A sleeper will wake on `to`, or from there. */
void sirq_sched_carry(struct sirq_sim_task *task, struct sirq_vcpu *to);
/* Charged up to now. */
uint64_t sirq_sched_charged_ns(const struct sirq_sim_task *task);
void sirq_finish_switch(struct sirq_sim *sim);
static inline unsigned sirq_vcpu_nr(const struct sirq_vcpu *vcpu)
{
    return vcpu->fair.nr + vcpu->rt.nr;
}

/* fair.c: what fair schedulers share */
uint32_t sirq_fair_weight(int nice);
uint64_t sirq_fair_delta(uint64_t delta_ns, uint32_t weight);
/* The current task when it competes and is not queued, or null. */
const struct sirq_sim_task *sirq_fair_curr(const struct sirq_vcpu *vcpu);

#define SIM_FAIR_LOOKS 32u /* tasks looked at for one that may move (Linux sched_nr_migrate) */

enum sim_place { SIM_PLACE_NEW, SIM_PLACE_WOKEN, SIM_PLACE_MOVED };

/* A fair scheduler: cfs.c, eevdf.c.  Times have been charged up to now. */
struct sirq_fair_ops {
    /* Room for n tasks on a queue, 0 or -ENOMEM; and give it back.  Null: needs none. */
    int (*reserve)(struct sirq_fair_rq *rq, unsigned n);
    void (*fini)(struct sirq_fair_rq *rq);
    /* It stops competing on its CPU: asleep, over, or about to be moved.  Null: no matter. */
    void (*leave)(struct sirq_vcpu *vcpu, struct sirq_sim_task *task);
    /* It is about to compete on `to`; task->vcpu is where it did before. */
    void (*place)(struct sirq_vcpu *to, struct sirq_sim_task *task, enum sim_place how);
    /* Among those who wait, and not. */
    void (*push)(struct sirq_fair_rq *rq, struct sirq_sim_task *task);
    void (*remove)(struct sirq_fair_rq *rq, struct sirq_sim_task *task);
    /* Who waits and is next, or null. */
    struct sirq_sim_task *(*first)(const struct sirq_vcpu *vcpu);
    /* Who waits, may run on `cpu` and would wait long; or null. */
    struct sirq_sim_task *(*movable)(const struct sirq_vcpu *vcpu, unsigned cpu);
    /* vruntime of the current task went on. */
    void (*charged)(struct sirq_vcpu *vcpu);
    void (*tick)(struct sirq_vcpu *vcpu); /* may be null */
    /* `task` waits on vcpu, whose current task is fair: should it have the CPU? */
    bool (*preempts)(const struct sirq_vcpu *vcpu, const struct sirq_sim_task *task);
    /* The current task lets others go first. */
    void (*yield)(struct sirq_vcpu *vcpu, struct sirq_sim_task *task);
};
extern const struct sirq_fair_ops sirq_cfs, sirq_eevdf;

static inline int sirq_fair_reserve(const struct sirq_sim *sim, struct sirq_fair_rq *rq)
{
    return sim->fair->reserve != NULL ? sim->fair->reserve(rq, sim->ntasks + 1) : 0;
}

/* rt.c */
void sirq_rt_push(struct sirq_rt_rq *rq, struct sirq_sim_task *task, bool front);
void sirq_rt_remove(struct sirq_rt_rq *rq, struct sirq_sim_task *task);
struct sirq_sim_task *sirq_rt_first(const struct sirq_rt_rq *rq);
struct sirq_sim_task *sirq_rt_movable(const struct sirq_rt_rq *rq, int cpu, int above);
void sirq_rt_tick(struct sirq_vcpu *vcpu);
void sirq_rt_account(struct sirq_vcpu *vcpu, uint64_t delta_ns);
void sirq_rt_period(struct sirq_event *event, uint64_t now);

/* rcu.c */
void sirq_rcu_tick(struct sirq_vcpu *vcpu);
void sirq_rcu_check(struct sirq_sim *sim);
uint64_t sirq_rcu_longest_ns(const struct sirq_vcpu *vcpu); /* of stalls, that of now included */

static inline void sirq_rcu_quiet(struct sirq_vcpu *vcpu)
{
    struct sirq_rcu *rcu = &vcpu->rcu;

    if (__builtin_expect(rcu->told_ns != 0, 0)) {
        rcu->longest_ns = sirq_rcu_longest_ns(vcpu);
        rcu->told_ns = 0;
    }
    rcu->quiet_ns = vcpu->sim->now;
}

/* balance.c */
struct sirq_vcpu *sirq_balance_wake(struct sirq_sim_task *task);
/* Pull a task to `vcpu`, which runs out of work (or has less than others). */
bool sirq_balance_pull(struct sirq_vcpu *vcpu, bool idle);
void sirq_balance_rt_push(struct sirq_vcpu *vcpu);
void sirq_balance_rt_pull(struct sirq_vcpu *vcpu);

/* task.c */
struct sirq_task_params {
    const char *name;
    void (*fn)(struct sirq_sim_task *task, void *arg);
    void *arg;
    void (*woken)(void *arg, uint64_t latency_ns);
    const uint64_t *allowed;
    struct sirq_sched sched;
};
/* A sleeping task on `vcpu`, or null. */
struct sirq_sim_task *sirq_task_new(struct sirq_sim *sim, struct sirq_vcpu *vcpu,
                                    const struct sirq_task_params *params);
void sirq_task_start(struct sirq_sim_task *task);
/* The current task sleeps until woken; < UINT64_MAX: or until then.  0 or -ETIMEDOUT. */
int sirq_task_sleep(struct sirq_sim_task *task, uint64_t until);
void sirq_task_yield(struct sirq_sim_task *task);
static inline bool sirq_task_allowed(const struct sirq_sim_task *task, unsigned cpu)
{
    return (task->allowed[cpu / 64] >> (cpu % 64) & 1) && task->sim->vcpus[cpu].active;
}

/* hotplug.c: CPUs that leave and return */
/* It takes no more tasks and is on its way; idle then lets it go. */
void sirq_hotplug_offline(struct sirq_vcpu *vcpu);
void sirq_hotplug_leave(struct sirq_vcpu *vcpu);
void sirq_hotplug_online(struct sirq_vcpu *vcpu);
/* The least loaded of the CPUs that the task may use; any, and its affinity is gone, when
 * there is none. */
struct sirq_vcpu *sirq_hotplug_home(struct sirq_sim_task *task);

/* machine.c.  The caller has filled in ncpus and all parameters. */
int sirq_machine_init(struct sirq_sim *sim, unsigned hz, const struct sirq_host *host);
void sirq_machine_fini(struct sirq_sim *sim);
void sirq_machine_run(struct sirq_sim *sim, uint64_t until);

#endif
