/* SPDX-License-Identifier: MIT */
/* The threads of one CPU: ksoftirqd/N and, unless signals deliver interrupts, irq/N. */
#define SIRQ_LIVE_PRIVATE
#include "live_private.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#define IRQ_THREAD_PRIORITY 50
#define DRAIN_RUNS 1000u /* most runs a leaving ksoftirqd makes of what is pending */
#define ORPHAN_RUNS 16u  /* most runs made in a row for a CPU that was given back */

static bool stopping(const struct live_cpu *lc)
{
    return __atomic_load_n(&lc->stop, __ATOMIC_ACQUIRE) != 0;
}

/* name/number; the system takes 15 characters, and the number is what tells them apart. */
void sirq_host_thread_name(char full[16], const char *name, unsigned number)
{
    int digits = snprintf(NULL, 0, "/%u", number);

    snprintf(full, 16, "%.*s/%u", 15 - digits, name, number);
}

/*
 * Start a thread of the engine's own.  It begins with all signals blocked: the program's
 * signals are the program's.
 */
int sirq_host_spawn(pthread_t *thread, const char *name, unsigned number, void *(*fn)(void *),
                    void *arg)
{
    sigset_t all, before;
    pthread_attr_t attr;
    char full[16];
    int ret;

    if (pthread_attr_init(&attr) != 0)
        return -ENOMEM;
    pthread_attr_setstacksize(&attr, LIVE_STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    ret = pthread_create(thread, &attr, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (ret != 0)
        return -ret;
    if (number == UINT32_MAX)
        snprintf(full, sizeof(full), "%s", name);
    else
        sirq_host_thread_name(full, name, number);
    pthread_setname_np(*thread, full);
    return 0;
}

static void take_signals(const struct live_cpu *lc)
{
    sigset_t ours;

    sigemptyset(&ours);
    sigaddset(&ours, lc->live->signo);
    sigaddset(&ours, SIGIO);
    if (lc->live->delivery == SIRQ_DELIVER_SIGNAL)
        pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
}

/* Its next wake-up comes to us again; at once when there is something left. */
static void orphans_leave(struct sirq_cpu *cpu)
{
    __atomic_store_n(&cpu->ksoftirqd, 0, __ATOMIC_SEQ_CST);
    if (sirq_pending(cpu) != 0)
        sirq_ksoftirqd_wake(cpu);
}

/*
 * Work that came in for a CPU after it was given back, by somebody who still held on to it
 * (a run that was under way, a tasklet): the CPU's owner lock serializes as ever, so it can
 * be run from here.  Bounded; what is left is asked for again.
 */
static void run_orphans(struct sirq_live *live)
{
    if (!__atomic_exchange_n(&live->orphans, 0, __ATOMIC_SEQ_CST))
        return;
    for (unsigned i = 0; i < live->ncpus; i++) {
        struct sirq_cpu *cpu = live->cpus[i].cpu;

        if (__atomic_load_n(&live->cpus[i].own_ksoftirqd, __ATOMIC_ACQUIRE))
            continue;
        for (unsigned n = 0; n < ORPHAN_RUNS && sirq_ksoftirqd_run(cpu); n++)
            ;
        orphans_leave(cpu);
    }
}

static void ksoftirqd_wait(struct live_cpu *lc)
{
    struct sirq_cpu *cpu = lc->cpu;

    if (!sirq_ksoftirqd_sleep(cpu))
        return;
    /* Seq_cst after seq_cst: who adds an orphan sets orphans, then looks at ksoftirqd. */
    if (__atomic_load_n(&lc->live->orphans, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&cpu->ksoftirqd, 1, __ATOMIC_SEQ_CST);
        return;
    }
    while (__atomic_load_n(&cpu->ksoftirqd, __ATOMIC_SEQ_CST) == 0)
        sirq_host_futex_wait(&cpu->ksoftirqd, 0, NULL);
}

static void *ksoftirqd_main(void *arg)
{
    struct live_cpu *lc = arg;
    struct sirq_cpu *cpu = lc->cpu;
    unsigned drain = 0;

    sirq_host_this_lc = lc;
    sirq_host_own_thread = true;
    __atomic_store_n(&lc->ksoftirqd_tid, gettid(), __ATOMIC_RELEASE);
    sirq_host_futex_wake((uint32_t *)&lc->ksoftirqd_tid, 1);
    take_signals(lc);
    while (!stopping(lc) || drain < DRAIN_RUNS) {
        drain += stopping(lc);
        if (sirq_ksoftirqd_run(cpu))
            continue;
        run_orphans(lc->live);
        if (stopping(lc))
            break;
        ksoftirqd_wait(lc);
    }
    return NULL;
}

/*
 * Poll delivery: is it left to a thread's safe point?  Marked as a kick first and the
 * threads looked at then (seq_cst both), against a thread that falls asleep, which says so
 * first and looks for a kick then: one of the two takes it.
 */
static bool left_to_safe_point(struct live_cpu *lc)
{
    if (lc->live->delivery != SIRQ_DELIVER_POLL)
        return false;
    __atomic_store_n(&lc->kicked, 1, __ATOMIC_SEQ_CST);
    return sirq_host_anyone_awake(lc);
}

static void irq_events(struct live_cpu *lc, const struct epoll_event *events, int n)
{
    uint64_t rung;

    for (int i = 0; i < n; i++) {
        bool bell = events[i].data.fd == lc->doorbell;

        if (bell && read(lc->doorbell, &rung, sizeof(rung)) < 0)
            continue;
        if (__atomic_exchange_n(&lc->overdue, 0, __ATOMIC_ACQ_REL))
            sirq_host_take_interrupts(lc, LIVE_ALL_LINES);
        else if (!left_to_safe_point(lc))
            sirq_host_take_interrupts(lc, bell ? LIVE_NO_LINE : events[i].data.fd);
    }
}

static void *irq_main(void *arg)
{
    struct live_cpu *lc = arg;
    struct epoll_event events[LIVE_MAX_LINES + 1];
    struct sched_param param = {.sched_priority = IRQ_THREAD_PRIORITY};

    sirq_host_this_lc = lc;
    sirq_host_own_thread = true;
    if (sched_setscheduler(0, SCHED_FIFO, &param) != 0) /* as high as permitted */
        setpriority(PRIO_PROCESS, 0, -20);
    while (!stopping(lc)) {
        int n = epoll_wait(lc->epfd, events, LIVE_MAX_LINES + 1, -1);

        if (n > 0)
            irq_events(lc, events, n);
    }
    return NULL;
}

static int open_irq(struct live_cpu *lc)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (lc->epfd >= 0)
        return 0; /* the CPU was here before */
    lc->epfd = epoll_create1(EPOLL_CLOEXEC);
    if (lc->epfd < 0)
        return -errno;
    lc->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    event.data.fd = lc->doorbell;
    if (lc->doorbell >= 0 && epoll_ctl(lc->epfd, EPOLL_CTL_ADD, lc->doorbell, &event) == 0)
        return 0;
    event.data.fd = -errno;
    sirq_host_cpu_close(lc);
    return event.data.fd;
}

static int start_irq_thread(struct live_cpu *lc)
{
    cpu_set_t set;
    int ret;

    ret = open_irq(lc);
    if (ret != 0)
        return ret;
    ret = sirq_host_spawn(&lc->irq_thread, "irq", lc->number, irq_main, lc);
    if (ret != 0)
        return ret;
    CPU_ZERO(&set);
    CPU_SET(lc->number, &set);
    pthread_setaffinity_np(lc->irq_thread, sizeof(set), &set);
    return 0;
}

/* The engine stops, or did not start. */
void sirq_host_cpu_close(struct live_cpu *lc)
{
    if (lc->epfd >= 0)
        close(lc->epfd);
    if (lc->doorbell >= 0)
        close(lc->doorbell);
    lc->epfd = lc->doorbell = -1;
}

static void stop_ksoftirqd(struct live_cpu *lc)
{
    __atomic_store_n(&lc->stop, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&lc->cpu->ksoftirqd, 1, __ATOMIC_SEQ_CST);
    sirq_host_futex_wake(&lc->cpu->ksoftirqd, 1);
    pthread_join(lc->ksoftirqd, NULL);
    __atomic_store_n(&lc->own_ksoftirqd, 0, __ATOMIC_RELEASE);
}

/*
 * The default class and nice may be more than an ordinary user's program has itself (it was
 * started by nice(1), or as SCHED_IDLE) and so may not be set.  What was not asked for is
 * then left as the program has it.
 */
static int give_class(const struct live_cpu *lc, struct sirq_error *err)
{
    const struct sirq_sched *sched = &lc->ksoftirqd_sched;
    int ret = sirq_host_sched_set(lc->ksoftirqd_tid, sched, "ksoftirqd", err);
    bool asked = sched->policy != SCHED_OTHER || sched->nice != 0;

    if (ret != -EPERM || asked)
        return ret;
    if (err != NULL)
        err->text[0] = '\0';
    return 0;
}

static int start_ksoftirqd(struct live_cpu *lc, struct sirq_error *err)
{
    int ret;

    __atomic_store_n(&lc->ksoftirqd_tid, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&lc->own_ksoftirqd, 1, __ATOMIC_RELEASE);
    ret = sirq_host_spawn(&lc->ksoftirqd, "ksoftirqd", lc->number, ksoftirqd_main, lc);
    if (ret != 0)
        __atomic_store_n(&lc->own_ksoftirqd, 0, __ATOMIC_RELEASE);
    if (ret != 0)
        return sirq_fail(err, -ret, "ksoftirqd/%u: cannot start: %s", lc->number, strerror(-ret));
    while (__atomic_load_n(&lc->ksoftirqd_tid, __ATOMIC_ACQUIRE) == 0)
        sirq_host_futex_wait((uint32_t *)&lc->ksoftirqd_tid, 0, NULL);
    ret = sirq_host_ksoftirqd_place(lc);
    if (ret != 0)
        sirq_fail(err, -ret, "cpu %u: ksoftirqd cannot run there: %s", lc->number, strerror(-ret));
    else
        ret = give_class(lc, err);
    if (ret != 0)
        stop_ksoftirqd(lc);
    return ret;
}

int sirq_host_cpu_up(struct live_cpu *lc, struct sirq_error *err)
{
    int ret;

    /* Late kicks of the time before may still look at these. */
    __atomic_store_n(&lc->stop, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&lc->tick_due, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&lc->kicked, 0, __ATOMIC_RELAXED);
    ret = start_ksoftirqd(lc, err);
    if (ret != 0)
        return ret;
    __atomic_store_n(&lc->target, (uint32_t)lc->ksoftirqd_tid, __ATOMIC_RELEASE);
    if (lc->live->delivery != SIRQ_DELIVER_SIGNAL && (ret = start_irq_thread(lc)) != 0) {
        stop_ksoftirqd(lc);
        return sirq_fail(err, -ret, "irq/%u: cannot start: %s", lc->number, strerror(-ret));
    }
    __atomic_store_n(&lc->cpu->online, true, __ATOMIC_SEQ_CST);
    __atomic_store_n(&lc->up, true, __ATOMIC_RELEASE);
    return 0;
}

/*
 * Its lines and threads have been moved or are gone.  What is pending is run by its own
 * ksoftirqd; what comes in later, by another CPU's (sirq_host_wake_ksoftirqd).  Offline
 * before the last look at pending, and a raise looks at online after setting it pending, all
 * seq_cst: one of the two sees the other.
 */
void sirq_host_cpu_down(struct live_cpu *lc)
{
    uint64_t one = 1;

    __atomic_store_n(&lc->up, false, __ATOMIC_RELEASE);
    __atomic_store_n(&lc->cpu->online, false, __ATOMIC_SEQ_CST);
    if (lc->live->delivery != SIRQ_DELIVER_SIGNAL) {
        __atomic_store_n(&lc->stop, 1, __ATOMIC_RELEASE);
        while (write(lc->doorbell, &one, sizeof(one)) < 0 && errno == EINTR)
            ; /* else it is full, and so rung */
        pthread_join(lc->irq_thread, NULL);
    }
    stop_ksoftirqd(lc);
    orphans_leave(lc->cpu);
}
