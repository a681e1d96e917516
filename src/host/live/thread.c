/* SPDX-License-Identifier: MIT */
/*
 * Application threads the engine knows: registration, who is awake, what they used.
 *
 * The engine learns that a registered thread sleeps only when it does so inside the
 * library (sirq_host_wait).  A thread that sleeps elsewhere counts as awake: it may be chosen
 * as the target of an interrupt, which then interrupts its sleep; that is correct, only
 * slower.
 */
#define SIRQ_LIVE_PRIVATE
#include "live_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

__thread struct live_cpu *sirq_host_this_lc __attribute__((tls_model("initial-exec")));
__thread struct live_thread *sirq_host_this_thread __attribute__((tls_model("initial-exec")));
static __thread struct sirq_ctx this_ctx __attribute__((tls_model("initial-exec")));

/* See sirq_live_thread_usage(): what was seen at the last call. */
static __thread struct {
    uint64_t cpu_ns, delay_ns, wall_softirq_ns, softirq_ns;
} seen __attribute__((tls_model("initial-exec")));

struct sirq_ctx *sirq_host_ctx(void)
{
    if (__builtin_expect(this_ctx.token == 0, 0))
        this_ctx.token = (uint32_t)gettid();
    return &this_ctx;
}

struct sirq_cpu *sirq_host_this_cpu(struct sirq_core *core)
{
    struct sirq_live *live = core->host_data;
    int number;

    if (sirq_host_this_thread != NULL && !sirq_host_this_thread->floating)
        return sirq_host_this_thread->lc->cpu;
    number = sched_getcpu();
    return number < 0 ? NULL : sirq_live_cpu(live, (unsigned)number);
}

/* ---- awake or asleep ---------------------------------------------------------------- */

static void rt_count(struct live_thread *thread, bool runnable)
{
    if (!thread->rt ||
        __atomic_exchange_n(&thread->rt_counted, runnable, __ATOMIC_ACQ_REL) == runnable)
        return;
    __atomic_add_fetch(&thread->lc->cpu->rt_tasks, runnable ? 1u : -1u, __ATOMIC_RELAXED);
}

static bool awake(const struct live_thread *thread)
{
    return __atomic_load_n(&thread->state, __ATOMIC_SEQ_CST) == LIVE_AWAKE;
}

void sirq_host_thread_asleep(struct live_thread *thread)
{
    struct live_cpu *lc = thread->lc;

    __atomic_store_n(&thread->state, LIVE_ASLEEP, __ATOMIC_SEQ_CST);
    rt_count(thread, false);
    if (__atomic_load_n(&lc->nthreads, __ATOMIC_RELAXED) > 1)
        sirq_host_retarget(lc);
}

void sirq_host_thread_awake(struct live_thread *thread)
{
    struct live_cpu *lc = thread->lc;

    __atomic_store_n(&thread->state, LIVE_AWAKE, __ATOMIC_RELEASE);
    rt_count(thread, true);
    if (__atomic_load_n(&lc->nthreads, __ATOMIC_RELAXED) > 1)
        sirq_host_retarget(lc);
}

/* It was woken and will run: to the policy an RT task counts from here on. */
void sirq_host_thread_queued(struct live_thread *thread)
{
    if (__atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) != LIVE_FREE)
        rt_count(thread, true);
}

static unsigned count_awake(const struct live_cpu *lc)
{
    const struct sirq_live *live = lc->live;
    unsigned n = 0;

    for (unsigned i = 0; i < live->max_threads; i++)
        n += awake(&live->threads[i]) && live->threads[i].lc == lc;
    return n;
}

bool sirq_host_anyone_awake(const struct live_cpu *lc)
{
    return __atomic_load_n(&lc->nthreads, __ATOMIC_RELAXED) > 0 && count_awake(lc) > 0;
}

bool sirq_host_others_runnable(const struct live_cpu *lc)
{
    return count_awake(lc) + (__atomic_load_n(&lc->cpu->ksoftirqd, __ATOMIC_RELAXED) != 0) > 1;
}

/* ---- registration ------------------------------------------------------------------- */

static struct live_thread *claim(struct sirq_live *live)
{
    for (unsigned i = 0; i < live->max_threads; i++) {
        uint32_t state = LIVE_FREE;

        if (__atomic_compare_exchange_n(&live->threads[i].state, &state, LIVE_ASLEEP, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return &live->threads[i];
    }
    return NULL;
}

static void remember(struct live_thread *thread)
{
    pthread_getaffinity_np(pthread_self(), sizeof(cpu_set_t), &thread->before.affinity);
    sirq_host_sched_get(thread->tid, &thread->before.sched);
    sigaltstack(NULL, &thread->before.altstack);
    pthread_sigmask(SIG_SETMASK, NULL, &thread->before.mask);
}

static void restore(struct live_thread *thread)
{
    struct sirq_live *live = thread->live;
    struct timespec none = {0};
    sigset_t ours;

    sigemptyset(&ours);
    sigaddset(&ours, live->signo);
    pthread_sigmask(SIG_BLOCK, &ours, NULL);
    while (sigtimedwait(&ours, NULL, &none) > 0)
        ; /* what was meant for this thread is found by the rescan */
    sigaltstack(&thread->before.altstack, NULL);
    pthread_sigmask(SIG_SETMASK, &thread->before.mask, NULL);
    sirq_host_sched_set(thread->tid, &thread->before.sched, "thread", NULL);
    pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), &thread->before.affinity);
}

static void open_signals(const struct live_thread *thread)
{
    const struct sirq_live *live = thread->live;
    stack_t stack = {.ss_sp = thread->altstack, .ss_size = LIVE_ALTSTACK};
    sigset_t ours;

    if (live->delivery != SIRQ_DELIVER_SIGNAL)
        return;
    sigaltstack(&stack, NULL);
    sigemptyset(&ours);
    sigaddset(&ours, live->signo);
    sigaddset(&ours, SIGIO);
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
}

static struct live_cpu *find_cpu(struct sirq_live *live, int cpu, struct sirq_error *err)
{
    if (cpu < 0) {
        for (unsigned i = 0; i < live->ncpus; i++)
            if (live->cpus[i].up)
                return &live->cpus[i];
    } else {
        struct sirq_cpu *found = sirq_live_cpu(live, (unsigned)cpu);

        if (found != NULL)
            return live_of(found);
    }
    sirq_fail(err, EINVAL, "cpu %d: not one of the engine's CPUs: add it to the set", cpu);
    return NULL;
}

int sirq_live_thread_register(struct sirq_live *live, int cpu, const struct sirq_sched *sched,
                              struct sirq_error *err)
{
    struct live_thread *thread;
    struct live_cpu *lc;
    int ret = 0;

    if (sirq_host_this_thread != NULL)
        return sirq_fail(err, EBUSY, "thread: already registered: unregister it first");
    if (sched != NULL && (ret = sirq_host_sched_check(sched, "thread", err)) != 0)
        return ret;
    thread = claim(live);
    if (thread == NULL)
        return sirq_fail(err, ENOSPC, "thread: %u are registered: raise max_threads",
                         live->max_threads);
    pthread_mutex_lock(&live->config_lock);
    lc = find_cpu(live, cpu, err);
    if (lc == NULL) {
        ret = -EINVAL;
        goto out;
    }
    thread->live = live;
    thread->lc = lc;
    thread->tid = gettid();
    thread->floating = cpu < 0;
    remember(thread);
    if (cpu >= 0 && (ret = sirq_host_pin(thread->tid, lc->number)) != 0) {
        sirq_fail(err, -ret, "cpu %d: cannot run there: %s", cpu, strerror(-ret));
        goto out;
    }
    if (sched != NULL && (ret = sirq_host_sched_set(thread->tid, sched, "thread", err)) != 0) {
        restore(thread);
        goto out;
    }
    if (sched != NULL)
        thread->rt = sched->policy == SCHED_FIFO || sched->policy == SCHED_RR;
    sirq_host_this_lc = lc;
    sirq_host_this_thread = thread;
    __atomic_add_fetch(&lc->nthreads, 1, __ATOMIC_RELAXED);
    open_signals(thread);
    __atomic_store_n(&thread->state, LIVE_AWAKE, __ATOMIC_RELEASE);
    rt_count(thread, true);
    sirq_host_retarget(lc);
out:
    pthread_mutex_unlock(&live->config_lock);
    if (ret != 0)
        __atomic_store_n(&thread->state, LIVE_FREE, __ATOMIC_RELEASE);
    return ret;
}

void sirq_live_thread_unregister(struct sirq_live *live)
{
    struct live_thread *thread = sirq_host_this_thread;
    struct live_cpu *lc;

    if (thread == NULL || thread->live != live)
        return;
    pthread_mutex_lock(&live->config_lock);
    lc = thread->lc;
    rt_count(thread, false);
    __atomic_store_n(&thread->state, LIVE_ASLEEP, __ATOMIC_RELEASE);
    __atomic_sub_fetch(&lc->nthreads, 1, __ATOMIC_RELAXED);
    thread->tid = 0;
    sirq_host_retarget(lc);
    thread->tid = gettid();
    restore(thread);
    thread->rt = false;
    sirq_host_this_thread = NULL;
    sirq_host_this_lc = NULL;
    thread->tid = 0;
    __atomic_store_n(&thread->state, LIVE_FREE, __ATOMIC_RELEASE);
    /* An interrupt may have been on its way to this thread: let the next target look. */
    __atomic_store_n(&lc->rescan, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&lc->kicked, 0, __ATOMIC_RELEASE);
    sirq_host_kick(lc->cpu);
    pthread_mutex_unlock(&live->config_lock);
}

/* Registered threads of a CPU that is given away; config_lock is held. */
void sirq_host_threads_move(struct live_cpu *from, struct live_cpu *to)
{
    struct sirq_live *live = from->live;

    for (unsigned i = 0; i < live->max_threads; i++) {
        struct live_thread *thread = &live->threads[i];

        if (__atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == LIVE_FREE || thread->lc != from ||
            thread->tid == 0)
            continue;
        rt_count(thread, false);
        thread->lc = to;
        rt_count(thread, awake(thread));
        if (!thread->floating)
            sirq_host_pin(thread->tid, to->number);
        __atomic_sub_fetch(&from->nthreads, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&to->nthreads, 1, __ATOMIC_RELAXED);
    }
}

/* ---- usage -------------------------------------------------------------------------- */

/* Time this thread waited for a CPU while runnable: schedstat's second figure. */
static uint64_t run_delay_ns(void)
{
    unsigned long long run = 0, delay = 0;
    char text[96];
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    return sscanf(text, "%llu %llu", &run, &delay) == 2 ? delay : 0;
}

/*
 * The core measures softirq time on the wall clock; a thread preempted inside a run goes
 * on being "in softirq".  Of the time since the last call, the thread had the CPU for
 * d_cpu and waited for it for d_delay; that it was preempted inside a run as often as
 * outside, by time, gives softirq CPU time = wall * d_cpu / (d_cpu + d_delay).
 */
void sirq_live_thread_usage(struct sirq_thread_usage *out)
{
    uint64_t wall = this_ctx.softirq_ns, delay = run_delay_ns(), cpu, d_cpu, d_delay, part;
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    cpu = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
    d_cpu = cpu - seen.cpu_ns;
    d_delay = delay - seen.delay_ns;
    part = wall - seen.wall_softirq_ns;
    if (d_cpu + d_delay > 0)
        part = (uint64_t)((double)part * (double)d_cpu / (double)(d_cpu + d_delay));
    if (part > d_cpu)
        part = d_cpu;
    seen.cpu_ns = cpu;
    seen.delay_ns = delay;
    seen.wall_softirq_ns = wall;
    seen.softirq_ns += part;
    *out = (struct sirq_thread_usage){.cpu_ns = cpu, .softirq_ns = seen.softirq_ns};
}
