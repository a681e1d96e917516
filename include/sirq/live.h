/* SPDX-License-Identifier: MIT */
/*
 * sirq/live.h - the live host: the core on this machine's CPUs and threads.
 *
 * One engine per process over a set of CPUs.  Each CPU has a pinned ksoftirqd thread; a
 * clock thread, off those CPUs where it can be, gives ticks and runs the watchdog.  Hard
 * interrupts are delivered in one of three ways:
 *   signal  a real-time signal to the application thread running on the CPU, so softirqs
 *           run on top of the thread they interrupt, on its alternate stack.  Needs no
 *           privilege.  Handlers and actions must be async-signal-safe; see below.
 *   thread  a pinned thread irq/N, SCHED_FIFO where permitted.
 *   poll    application threads take interrupts at safe points (sirq_recv,
 *           sirq_live_poll); while all of them sleep, or when none came to a safe point for
 *           two ticks, irq/N takes them.
 *
 * What a handler or action may do under signal delivery: everything in sirq/softirq.h,
 * tasklet.h, timer.h and net.h that names softirq or hardirq context, and what
 * signal-safety(7) lists.  Not: malloc, stdio, locks shared with interrupted threads,
 * blocking.  The calls of this library are checked as far as they can tell: misuse is
 * asserted (assertions stay on) or refused with -EDEADLK.
 *
 * What registered threads see of signal delivery: system calls are restarted (SA_RESTART),
 * but for those that never are (nanosleep, poll, epoll_wait, ...: signal(7)), which return
 * EINTR.  The signals used are config.signo and SIGIO.  A thread that blocks them keeps
 * interrupts off its CPU, for two ticks; then ksoftirqd takes them.  Handlers of the program's
 * own signals may run on top of a softirq: they must return (no siglongjmp out of them).
 *
 * After fork() the child has no engine: the threads are the parent's.  It may call nothing of
 * this library, but the wire side in sirq/shm.h, until it executes another program, which
 * inherits affinity and class of the thread that forked.
 *
 * Taking down, in this order: sirq_live_detach each device, end threads of NAPI instances,
 * sirq_socket_close, sirq_netdev_close,
 * sirq_net_destroy, unregister threads, sirq_live_stop.
 */
#ifndef SIRQ_LIVE_H
#define SIRQ_LIVE_H

#include <sirq/driver.h>
#include <sirq/policy.h>
#include <sirq/sched.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sirq_live;

enum sirq_delivery { SIRQ_DELIVER_SIGNAL, SIRQ_DELIVER_THREAD, SIRQ_DELIVER_POLL };

struct sirq_live_config {
    const cpu_set_t *cpus; /* null: the first CPU of the affinity mask */
    unsigned hz;           /* 0: 250 */
    enum sirq_delivery delivery;
    const struct sirq_policy *policy; /* null: the default */
    struct sirq_sched ksoftirqd;      /* zeroed, and not permitted: as the program has it */
    int signo;                        /* 0: SIGRTMIN + 3 */
    unsigned max_threads;             /* registered at once; 0: 64, at most 1024 */
    uint64_t stall_ns;                /* watchdog bound; 0: one second */
    void (*report)(void *arg, unsigned cpu, const char *what, uint64_t value); /* may be null;
                                     called from the clock thread or sirq_live_stop() */
    void *report_arg;
};

/*
 * Start an engine.  Task context.  0, or -errno with err filled and nothing left behind:
 * -EINVAL (a CPU offline or outside the affinity mask, a number out of range), -EPERM (a
 * scheduling class), -EBUSY (an engine runs already), -ENOMEM, -EAGAIN.
 */
int sirq_live_start(struct sirq_live **out, const struct sirq_live_config *config,
                    struct sirq_error *err);

/*
 * Stop: threads joined, signal handler restored, memory freed.  Devices are detached and
 * application threads unregistered before; that is asserted.  Task context, of a thread that
 * is neither registered nor the engine's own (report callback); once.
 */
void sirq_live_stop(struct sirq_live *live);

struct sirq_core *sirq_live_core(struct sirq_live *live);

/* The core's CPU for the machine's CPU `cpu`, or null when the engine does not have it. */
struct sirq_cpu *sirq_live_cpu(struct sirq_live *live, unsigned cpu);

/* The machine's number of a core CPU. */
unsigned sirq_live_cpu_number(const struct sirq_cpu *cpu);

/* Give the engine one more CPU, or take one away: its interrupts, timers and registered
 * threads move to another CPU, its pending work is run first, and what is still raised on it
 * by somebody who holds on to it is run by another CPU's ksoftirqd.  0, -EINVAL, -EBUSY (the
 * last CPU; too many interrupts for the other; has it already), -EPERM, -ENOMEM, with err
 * filled.  When an interrupt cannot be moved (-ENOMEM, -EBADF, ...) the CPU stays, and what
 * was not moved before stays with it. */
int sirq_live_cpu_add(struct sirq_live *live, unsigned cpu, struct sirq_error *err);
int sirq_live_cpu_remove(struct sirq_live *live, unsigned cpu, struct sirq_error *err);

/*
 * Make the calling thread one that the engine knows: pinned to the machine's CPU `cpu`
 * (-1: left where it may run, counted on the first engine CPU), with an alternate signal
 * stack of the engine's, under scheduling `sched` (null: left alone).  Registered threads
 * can be interrupted; a thread that receives should be registered.  0, -EBUSY (registered
 * already), -EINVAL, -EPERM, -ENOSPC (max_threads), with err filled.  Unregistering, before the
 * thread ends, gives back affinity, class, signal mask and alternate stack as they were.
 */
int sirq_live_thread_register(struct sirq_live *live, int cpu, const struct sirq_sched *sched,
                              struct sirq_error *err);
void sirq_live_thread_unregister(struct sirq_live *live);

/* Class and priority of ksoftirqd on the machine's CPU `cpu`. */
int sirq_live_ksoftirqd_sched(struct sirq_live *live, unsigned cpu, const struct sirq_sched *sched,
                              struct sirq_error *err);

/*
 * CPUs, by the machine's numbers, that ksoftirqd of `cpu` may run on; null or empty: `cpu`
 * alone, as at the start.  What it runs stays softirqs of `cpu`: they keep that CPU's threads
 * out of its bottom halves from wherever they run.  0, -EINVAL (`cpu` is not the engine's, or
 * none of the set may be used), -EPERM, with err filled.
 */
int sirq_live_ksoftirqd_affinity(struct sirq_live *live, unsigned cpu, const cpu_set_t *set,
                                 struct sirq_error *err);

/* A safe point of poll delivery; nothing under the others.  Task context. */
void sirq_live_poll(struct sirq_live *live);

/* Deliver `irq` (fd, handler, ... filled) to the machine's CPU `cpu`; and stop that: no
 * handler runs when sirq_live_irq_free() returns.  0, -EINVAL (not the engine's CPU, no handler
 * or pending), -EBUSY (is delivered already),
 * -ENOSPC (16 on one CPU), with err filled. */
int sirq_live_irq_request(struct sirq_live *live, unsigned cpu, struct sirq_irq *irq,
                          struct sirq_error *err);
void sirq_live_irq_free(struct sirq_live *live, struct sirq_irq *irq);

/* Request the device's interrupt on `cpu`, enable NAPI, unmask; and the reverse. */
int sirq_live_attach(struct sirq_live *live, unsigned cpu, struct sirq_netdev *dev,
                     struct sirq_error *err);
void sirq_live_detach(struct sirq_live *live, struct sirq_netdev *dev);

/* How a thread that polls NAPI instances runs; null or zeroed is what stands first. */
struct sirq_live_napi_attr {
    struct sirq_sched sched; /* SCHED_OTHER, as the program has it */
    const cpu_set_t *cpus;   /* where, by the machine's numbers; null: the engine's CPUs that are
                                on the NUMA node of the CPU whose work it does */
};

/*
 * Let a thread napi/DEV-0 poll the device instead of NET_RX (threaded NAPI), or with
 * sirq_live_napi_unthread() NET_RX again; at any time while the device is open.  Called again,
 * the thread gets the new attributes.  Ended before the device is closed.  Task context.
 * 0, -EINVAL, -EPERM, -ENOMEM, -EAGAIN with err filled, and all as it was before.
 */
int sirq_live_napi_thread(struct sirq_live *live, struct sirq_netdev *dev,
                          const struct sirq_live_napi_attr *attr, struct sirq_error *err);
void sirq_live_napi_unthread(struct sirq_live *live, struct sirq_netdev *dev);

/*
 * The same for the backlogs of the CPUs in `set` (by the machine's numbers; null: all of the
 * engine): a thread backlog_napi/N each.  On an error those before it in the set have theirs.
 * Ended before sirq_net_destroy().
 */
int sirq_live_backlog_threads(struct sirq_live *live, struct sirq_net *net, const cpu_set_t *set,
                              const struct sirq_live_napi_attr *attr, struct sirq_error *err);
void sirq_live_backlog_unthread(struct sirq_live *live, struct sirq_net *net, const cpu_set_t *set);

/* CPU time used so far, ns. */
struct sirq_live_usage {
    uint64_t ksoftirqd_ns;  /* the thread */
    uint64_t irq_thread_ns; /* irq/N, 0 under signal delivery */
};
int sirq_live_usage(struct sirq_live *live, unsigned cpu, struct sirq_live_usage *out);

/* CPU time of the calling registered thread: all of it, and the part that softirqs took on
 * top of it (estimated from wall time and run-queue waits; see docs/decisions.md). */
struct sirq_thread_usage {
    uint64_t cpu_ns;
    uint64_t softirq_ns;
};
void sirq_live_thread_usage(struct sirq_thread_usage *out);

/* Bytes the engine holds, without the stacks the system gives its threads. */
size_t sirq_live_memory(const struct sirq_live *live);

#ifdef __cplusplus
}
#endif
#endif
