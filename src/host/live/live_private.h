/* SPDX-License-Identifier: MIT */
/*
 * Private to src/host/live: the engine's data and what its files offer each other.
 *
 * Who writes what
 *   live_cpu.target            under retarget_lock; read by anybody who interrupts the CPU
 *   live_cpu.lines             under live->config_lock; read by handlers, which announce
 *                              themselves in live_cpu.handlers
 *   live_thread                its thread and, under config_lock, who gives its CPU away;
 *                              read by anybody: __atomic, but for what says own use
 */
#ifndef SIRQ_LIVE_PRIVATE
#error "live_private.h is private to src/host/live"
#endif
#ifndef SIRQ_LIVE_PRIVATE_H
#define SIRQ_LIVE_PRIVATE_H

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#include <sirq/host.h>
#include <sirq/live.h>
#include <sirq/timer.h>

#ifdef SIRQ_HZ
#define LIVE_HZ SIRQ_HZ
#else
#define LIVE_HZ 250u
#endif
#define LIVE_MAX_LINES 16u       /* interrupt lines of one CPU */
#define LIVE_STACK (128u * 1024) /* of the engine's own threads */
#define LIVE_ALTSTACK (64u * 1024)
#define LIVE_NOTES 4u /* reports of one CPU that wait for the clock thread */

/*
 * ThreadSanitizer keeps a signal back until the thread makes a call that it knows, and of
 * several with one number keeps one.
 */
#if defined(__SANITIZE_THREAD__)
#define LIVE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LIVE_TSAN 1
#endif
#endif
#ifndef LIVE_TSAN
#define LIVE_TSAN 0
#endif

struct live_cpu;
struct live_napi;

enum live_thread_state { LIVE_FREE, LIVE_ASLEEP, LIVE_AWAKE };

/* A registered application thread. */
struct live_thread {
    struct sirq_live *live;
    struct live_cpu *lc;        /* __atomic */
    uint32_t state;             /* __atomic, enum live_thread_state */
    struct sirq_cpu *rt_on;     /* __atomic: counted in its rt_tasks, null: nowhere */
    uint32_t woken;             /* __atomic: and has not run since */
    bool rt;                    /* __atomic */
    pid_t tid;                  /* __atomic; 0: not to be interrupted */
    bool floating;              /* own use: not pinned, where it may run */
    struct sirq_wq *waiting_on; /* own use, signal handlers on it included */
    uint32_t interrupts;        /* own use: signals of the engine's taken */
    char *altstack;
    struct { /* as it was before registration */
        cpu_set_t affinity;
        struct sirq_sched sched;
        stack_t altstack;
        sigset_t mask;
    } before;
};

/* Something to be reported by the clock thread; found in any context. */
struct live_note {
    uint32_t state; /* __atomic: 0 free, 1 being written, 2 ready */
    const char *what;
    uint64_t value;
};

struct live_cpu {
    struct sirq_cpu *cpu;
    struct sirq_live *live;
    unsigned number; /* the machine's */
    bool up;         /* its threads run; written under config_lock, __atomic */
    pthread_t ksoftirqd, irq_thread;
    pid_t ksoftirqd_tid;    /* __atomic */
    uint32_t own_ksoftirqd; /* __atomic: its thread runs; else another's does its work */
    struct sirq_sched ksoftirqd_sched;
    cpu_set_t ksoftirqd_cpus; /* empty: its own */
    uint32_t stop;            /* __atomic */
    uint32_t target;          /* __atomic: tid that takes this CPU's interrupts */
    uint32_t kicked;          /* __atomic: an interrupt is under way, see deliver.c */
    uint32_t tick_due;        /* __atomic */
    uint32_t woke_others;     /* __atomic: sleepers that are not registered, or several */
    uint32_t rescan;          /* __atomic: look at every line, a signal may have been lost */
    uint32_t handlers;        /* __atomic: contexts inside take_interrupts() */
    uint32_t nthreads;        /* __atomic: registered here */
    uint32_t overdue;         /* __atomic: irq/N takes interrupts though a thread is awake */
    unsigned unanswered;      /* clock thread: ticks that found the last kick not taken */
    uint64_t taken;           /* clock thread: hardirqs at the last tick */
    struct live_note notes[LIVE_NOTES];
    pthread_mutex_t retarget_lock;
    struct sirq_irq *lines[LIVE_MAX_LINES]; /* __atomic */
    int epfd, doorbell; /* irq/N: epoll set and eventfd; -1 under signal delivery.  Kept until
                           the engine stops: a late kick must not write elsewhere */
};

struct sirq_live {
    struct sirq_core core;
    struct live_cpu *cpus;
    struct sirq_cpu *core_cpus;
    struct sirq_timer_base *timers;
    unsigned ncpus;
    int16_t by_number[CPU_SETSIZE]; /* the machine's number -> index, -1 */
    struct live_thread *threads;
    unsigned max_threads;
    char *altstacks;
    size_t altstacks_size;
    enum sirq_delivery delivery;
    int signo;
    pthread_mutex_t config_lock; /* CPUs, lines, registration */
    pthread_t clock;
    bool clock_up;
    uint32_t stop;           /* __atomic, futex of the clock thread */
    uint32_t orphans;        /* __atomic: a CPU that was given back has work for some ksoftirqd */
    struct live_napi *napis; /* threads of NAPI instances, under napi_lock */
    pthread_mutex_t napi_lock;
    struct sigaction old_action, old_sigio;
    void (*report)(void *arg, unsigned cpu, const char *what, uint64_t value);
    void *report_arg;
    size_t memory;
};

static inline struct live_cpu *live_of(const struct sirq_cpu *cpu)
{
    return cpu->host;
}

static inline bool live_up(const struct live_cpu *lc)
{
    return __atomic_load_n(&lc->up, __ATOMIC_ACQUIRE);
}

static inline struct live_cpu *thread_lc(const struct live_thread *thread)
{
    return __atomic_load_n(&thread->lc, __ATOMIC_ACQUIRE);
}

/* engine.c: the configuration is locked with the engine's signals blocked, or a softirq on
 * top of the holder would keep the clock thread, and the watchdog with it, waiting. */
void sirq_host_config_lock(struct sirq_live *live, sigset_t *before);
void sirq_host_config_unlock(struct sirq_live *live, const sigset_t *before);

/* report.c */
void sirq_host_report(struct sirq_cpu *cpu, const char *what, uint64_t value);
void sirq_host_report_deliver(struct sirq_live *live);
void sirq_host_bug(const char *expr, const char *file, int line);

/* thread.c: who am I */
extern __thread struct live_cpu *sirq_host_this_lc __attribute__((tls_model("initial-exec")));
extern __thread struct live_thread *sirq_host_this_thread
    __attribute__((tls_model("initial-exec")));
extern __thread bool sirq_host_own_thread __attribute__((tls_model("initial-exec")));
struct sirq_ctx *sirq_host_ctx(void);
struct sirq_cpu *sirq_host_this_cpu(struct sirq_core *core);
void sirq_host_thread_asleep(struct live_thread *thread);
void sirq_host_thread_awake(struct live_thread *thread);
void sirq_host_thread_queued(struct live_thread *thread);
bool sirq_host_others_runnable(const struct live_cpu *lc);
bool sirq_host_anyone_awake(const struct live_cpu *lc);
bool sirq_host_wanted(struct live_cpu *lc);
void sirq_host_threads_move(struct live_cpu *from, struct live_cpu *to);

/*
 * Calls that wait for the engine's threads, or change which thread is interrupted, come from
 * the application's threads and outside of softirqs.  `who` is a string literal.
 */
#define LIVE_ASSERT_TASK(live, who)                                                         \
    do {                                                                                    \
        if (sirq_host_own_thread)                                                           \
            sirq_host_bug(who ": on a thread of the engine", __FILE__, __LINE__);           \
        if (sirq_host_in_softirq(live))                                                     \
            sirq_host_bug(who ": in a softirq, interrupt or bottom-half section", __FILE__, \
                          __LINE__);                                                        \
    } while (0)
bool sirq_host_in_softirq(const struct sirq_live *live);

/* sched.c */
int sirq_host_sched_check(const struct sirq_sched *sched, const char *who, struct sirq_error *err);
int sirq_host_sched_set(pid_t tid, const struct sirq_sched *sched, const char *who,
                        struct sirq_error *err);
int sirq_host_sched_get(pid_t tid, struct sirq_sched *sched);
int sirq_host_pin(pid_t tid, unsigned cpu);
int sirq_host_ksoftirqd_place(const struct live_cpu *lc);

/* wait.c: host table entries */
void sirq_host_bh_lock(struct sirq_cpu *cpu, struct sirq_ctx *ctx);
void sirq_host_bh_unlock(struct sirq_cpu *cpu, struct sirq_ctx *ctx);
int sirq_host_wait(struct sirq_cpu *cpu, struct sirq_wq *wq, uint32_t seq, int64_t timeout_ns);
void sirq_host_wake(struct sirq_cpu *cpu, struct sirq_wq *wq);
bool sirq_host_wake_preempts(struct sirq_cpu *cpu, const struct sirq_wq *wq);
void sirq_host_wake_ksoftirqd(struct sirq_cpu *cpu);
void sirq_host_resched(struct sirq_cpu *cpu, enum sirq_entry entry);
void sirq_host_relax(struct sirq_cpu *cpu);
long sirq_host_futex_wait(uint32_t *word, uint32_t value, const struct timespec *timeout);
long sirq_host_futex_wake(uint32_t *word, int n);

/* deliver.c */
#define LIVE_ALL_LINES (-1) /* instead of a descriptor */
#define LIVE_NO_LINE (-2)
int sirq_host_signals_install(struct sirq_live *live);
void sirq_host_signals_restore(struct sirq_live *live);
void sirq_host_kick(struct sirq_cpu *cpu);
void sirq_host_irq_enable(struct sirq_cpu *cpu, unsigned pass);
void sirq_host_irq_disable(struct sirq_cpu *cpu, unsigned passes);
void sirq_host_safe_point(struct sirq_cpu *cpu);
void sirq_host_take_interrupts(struct live_cpu *lc, int fd);
void sirq_host_retarget(struct live_cpu *lc);
void sirq_host_ring_overdue(struct live_cpu *lc);
bool sirq_host_interrupt_due(struct live_cpu *lc);
void sirq_host_take_over(struct live_cpu *lc);

/* line.c */
void sirq_host_irq_mask(struct sirq_irq *irq);
void sirq_host_irq_unmask(struct sirq_irq *irq);
void sirq_host_line_owner(const struct sirq_irq *irq, uint32_t tid);
bool sirq_host_lines_fit(const struct live_cpu *from, const struct live_cpu *to);
int sirq_host_lines_move(struct live_cpu *from, struct live_cpu *to);
void sirq_host_rescan(struct live_cpu *lc);

/* cpu.c */
int sirq_host_cpu_up(struct live_cpu *lc, struct sirq_error *err);
void sirq_host_cpu_down(struct live_cpu *lc);
void sirq_host_cpu_close(struct live_cpu *lc);
void sirq_host_thread_name(char full[16], const char *name, unsigned number);
int sirq_host_spawn(pthread_t *thread, const char *name, unsigned number, void *(*fn)(void *),
                    void *arg);

/* clock.c */
uint64_t sirq_host_now_ns(const struct sirq_cpu *cpu);
void sirq_host_clock_init(void);
int sirq_host_clock_start(struct sirq_live *live);
void sirq_host_clock_stop(struct sirq_live *live);

#endif
