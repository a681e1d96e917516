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
__thread bool sirq_host_own_thread __attribute__((tls_model("initial-exec")));
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
        return thread_lc(sirq_host_this_thread)->cpu;
    number = sched_getcpu();
    return number < 0 ? NULL : sirq_live_cpu(live, (unsigned)number);
}

bool sirq_host_in_softirq(const struct sirq_live *live)
{
    bool in = this_ctx.hardirq_depth > 0;

    for (unsigned i = 0; !in && i < live->ncpus; i++)
        in = sirq_in_softirq(live->cpus[i].cpu);
    return in;
}

/* ---- awake or asleep ---------------------------------------------------------------- */

/*
 * Count it as runnable on its CPU, or no more.  The exchange says where it was counted: by
 * whatever ways several callers meet, each adds and takes off what it changed.
 */
static void rt_count(struct live_thread *thread, bool runnable)
{
    bool rt = __atomic_load_n(&thread->rt, __ATOMIC_RELAXED);
    struct sirq_cpu *now = rt && runnable ? thread_lc(thread)->cpu : NULL;
    struct sirq_cpu *old = __atomic_exchange_n(&thread->rt_on, now, __ATOMIC_SEQ_CST);

    if (old == now)
        return;
    if (old != NULL)
        __atomic_sub_fetch(&old->rt_tasks, 1, __ATOMIC_RELAXED);
    if (now != NULL)
        __atomic_add_fetch(&now->rt_tasks, 1, __ATOMIC_RELAXED);
}

static bool awake(const struct live_thread *thread)
{
    return __atomic_load_n(&thread->state, __ATOMIC_SEQ_CST) == LIVE_AWAKE;
}

void sirq_host_thread_asleep(struct live_thread *thread)
{
    struct live_cpu *lc = thread_lc(thread);

    __atomic_store_n(&thread->state, LIVE_ASLEEP, __ATOMIC_SEQ_CST);
    rt_count(thread, false);
    if (__atomic_load_n(&lc->nthreads, __ATOMIC_RELAXED) > 1)
        sirq_host_retarget(lc);
}

void sirq_host_thread_awake(struct live_thread *thread)
{
    struct live_cpu *lc = thread_lc(thread);

    __atomic_store_n(&thread->woken, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->state, LIVE_AWAKE, __ATOMIC_RELEASE);
    rt_count(thread, true);
    if (__atomic_load_n(&lc->nthreads, __ATOMIC_RELAXED) > 1)
        sirq_host_retarget(lc);
}

static bool gone(const struct live_thread *thread)
{
    return __atomic_load_n(&thread->state, __ATOMIC_SEQ_CST) == LIVE_FREE;
}

/* In the order opposite to sirq_host_thread_queued(): whose exchange is the last clears both. */
static void forget(struct live_thread *thread)
{
    rt_count(thread, false);
    __atomic_store_n(&thread->woken, 0, __ATOMIC_RELAXED);
}

/*
 * It was woken and will run: to the policy an RT task counts from here on.  It may unregister
 * while we count it.  We count, then look whether it is gone; it says so, then takes off what
 * is counted (all seq_cst): one of the two sees the other.  Should the place be taken again in
 * between, the next sleep of its new thread sets the count right.
 */
void sirq_host_thread_queued(struct live_thread *thread)
{
    if (gone(thread))
        return;
    __atomic_store_n(&thread->woken, 1, __ATOMIC_RELAXED);
    rt_count(thread, true);
    if (gone(thread))
        forget(thread);
}

static unsigned count_awake(const struct live_cpu *lc)
{
    const struct sirq_live *live = lc->live;
    unsigned n = 0;

    for (unsigned i = 0; i < live->max_threads; i++)
        n += awake(&live->threads[i]) && thread_lc(&live->threads[i]) == lc;
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

/* Does, as far as is known, anybody but the caller wait for this CPU? */
bool sirq_host_wanted(struct live_cpu *lc)
{
    const struct sirq_live *live = lc->live;

    if (__atomic_exchange_n(&lc->woke_others, 0, __ATOMIC_RELAXED))
        return true;
    for (unsigned i = 0; i < live->max_threads; i++) {
        const struct live_thread *thread = &live->threads[i];

        if ((awake(thread) || __atomic_load_n(&thread->woken, __ATOMIC_RELAXED)) &&
            thread_lc(thread) == lc && thread != sirq_host_this_thread)
            return true;
    }
    return false;
}

/* ---- the end of a thread ------------------------------------------------------------- */

static pthread_key_t end_key; /* not null: the thread is registered */
static pthread_once_t end_once = PTHREAD_ONCE_INIT;
static bool end_watched;

/* It would go on being the target of interrupts, which nobody would take then. */
static void on_end(void *thread)
{
    (void)thread;
    sirq_host_bug("a thread ended without sirq_live_thread_unregister()", __FILE__, __LINE__);
}

static void make_end_key(void)
{
    end_watched = pthread_key_create(&end_key, on_end) == 0;
}

/* Best effort: without a key or memory for it the mistake goes unnoticed, no more. */
static void watch_end(const struct live_thread *thread)
{
    pthread_once(&end_once, make_end_key);
    if (end_watched)
        pthread_setspecific(end_key, thread);
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
    sirq_host_sched_get(gettid(), &thread->before.sched);
    sigaltstack(NULL, &thread->before.altstack);
}

/* Our signals are blocked; `mask` is the thread's from before registration. */
static void restore(struct live_thread *thread)
{
    struct sirq_live *live = thread->live;
    struct timespec none = {0};
    sigset_t ours;

    sigemptyset(&ours);
    sigaddset(&ours, live->signo);
    while (live->delivery == SIRQ_DELIVER_SIGNAL && sigtimedwait(&ours, NULL, &none) > 0)
        ; /* what was meant for this thread is found by the rescan */
    sigaltstack(&thread->before.altstack, NULL);
    sirq_host_sched_set(gettid(), &thread->before.sched, "thread", NULL);
    pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), &thread->before.affinity);
}

/* From the end of registration on, with the lock let go of. */
static void open_signals(const struct live_thread *thread, sigset_t *mask)
{
    const struct sirq_live *live = thread->live;
    stack_t stack = {.ss_sp = thread->altstack, .ss_size = LIVE_ALTSTACK};

    if (live->delivery != SIRQ_DELIVER_SIGNAL)
        return;
    sigaltstack(&stack, NULL);
    sigdelset(mask, live->signo);
    sigdelset(mask, SIGIO);
}

static struct live_cpu *find_cpu(struct sirq_live *live, int cpu, struct sirq_error *err)
{
    if (cpu < 0) {
        for (unsigned i = 0; i < live->ncpus; i++)
            if (live_up(&live->cpus[i]))
                return &live->cpus[i];
    } else {
        struct sirq_cpu *found = sirq_live_cpu(live, (unsigned)cpu);

        if (found != NULL)
            return live_of(found);
    }
    sirq_fail(err, EINVAL, "cpu %d: not one of the engine's CPUs: add it to the set", cpu);
    return NULL;
}

/* Make the caller what it is to be; config_lock is held.  0, or as it was before. */
static int change_thread(struct live_thread *thread, int cpu, const struct sirq_sched *sched,
                         struct sirq_error *err)
{
    int policy, ret = 0;

    remember(thread);
    if (cpu >= 0 && (ret = sirq_host_pin(gettid(), (unsigned)cpu)) != 0)
        return sirq_fail(err, -ret, "cpu %d: cannot run there: %s", cpu, strerror(-ret));
    if (sched != NULL && (ret = sirq_host_sched_set(gettid(), sched, "thread", err)) != 0) {
        restore(thread);
        return ret;
    }
    policy = sched != NULL ? sched->policy : thread->before.sched.policy;
    __atomic_store_n(&thread->rt, policy == SCHED_FIFO || policy == SCHED_RR, __ATOMIC_RELAXED);
    return 0;
}

/* It is ready: from here on it may be interrupted. */
static void publish(struct live_thread *thread, struct live_cpu *lc)
{
    sirq_host_this_lc = lc;
    sirq_host_this_thread = thread;
    __atomic_add_fetch(&lc->nthreads, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->state, LIVE_AWAKE, __ATOMIC_SEQ_CST);
    __atomic_store_n(&thread->tid, gettid(), __ATOMIC_RELEASE);
    rt_count(thread, true);
    sirq_host_retarget(lc);
}

int sirq_live_thread_register(struct sirq_live *live, int cpu, const struct sirq_sched *sched,
                              struct sirq_error *err)
{
    struct live_thread *thread;
    struct live_cpu *lc;
    sigset_t mask;
    int ret = 0;

    LIVE_ASSERT_TASK(live, "sirq_live_thread_register");
    if (sirq_host_this_thread != NULL)
        return sirq_fail(err, EBUSY, "thread: already registered: unregister it first");
    if (sched != NULL && (ret = sirq_host_sched_check(sched, "thread", err)) != 0)
        return ret;
    thread = claim(live);
    if (thread == NULL)
        return sirq_fail(err, ENOSPC, "thread: %u are registered: raise max_threads",
                         live->max_threads);
    sirq_host_config_lock(live, &mask);
    thread->before.mask = mask;
    thread->live = live;
    thread->floating = cpu < 0;
    lc = find_cpu(live, cpu, err);
    ret = lc == NULL ? -EINVAL : change_thread(thread, cpu, sched, err);
    if (ret == 0) {
        __atomic_store_n(&thread->lc, lc, __ATOMIC_RELEASE);
        open_signals(thread, &mask);
        publish(thread, lc);
        watch_end(thread);
    } else {
        __atomic_store_n(&thread->state, LIVE_FREE, __ATOMIC_RELEASE);
    }
    sirq_host_config_unlock(live, &mask);
    return ret;
}

/*
 * In this order: no target any more; what was sent already is thrown away with our signals
 * still blocked; then whoever is the target now looks at everything.  A kick that was sent
 * off before and arrives later finds no CPU in this thread and is ignored.
 */
void sirq_live_thread_unregister(struct sirq_live *live)
{
    struct live_thread *thread = sirq_host_this_thread;
    struct live_cpu *lc;
    sigset_t mask;

    if (thread == NULL || thread->live != live)
        return;
    LIVE_ASSERT_TASK(live, "sirq_live_thread_unregister");
    watch_end(NULL);
    sirq_host_config_lock(live, &mask);
    lc = thread_lc(thread);
    mask = thread->before.mask;
    __atomic_store_n(&thread->tid, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&thread->state, LIVE_ASLEEP, __ATOMIC_SEQ_CST);
    rt_count(thread, false);
    __atomic_store_n(&thread->rt, false, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&lc->nthreads, 1, __ATOMIC_RELAXED);
    sirq_host_retarget(lc);
    sirq_host_this_thread = NULL;
    sirq_host_this_lc = NULL;
    restore(thread);
    __atomic_store_n(&thread->state, LIVE_FREE, __ATOMIC_SEQ_CST);
    forget(thread); /* a waker may have counted it meanwhile; nobody publishes: config_lock */
    /* An interrupt may have been on its way to this thread: let the next target look. */
    __atomic_store_n(&lc->rescan, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&lc->kicked, 0, __ATOMIC_SEQ_CST);
    sirq_host_kick(lc->cpu);
    sirq_host_config_unlock(live, &mask);
}

/* Registered threads of a CPU that is given away; config_lock is held. */
void sirq_host_threads_move(struct live_cpu *from, struct live_cpu *to)
{
    struct sirq_live *live = from->live;

    for (unsigned i = 0; i < live->max_threads; i++) {
        struct live_thread *thread = &live->threads[i];

        pid_t tid = __atomic_load_n(&thread->tid, __ATOMIC_ACQUIRE);

        if (tid == 0 || thread_lc(thread) != from)
            continue;
        rt_count(thread, false);
        __atomic_store_n(&thread->lc, to, __ATOMIC_RELEASE);
        rt_count(thread, awake(thread));
        if (!thread->floating)
            sirq_host_pin(tid, to->number);
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
