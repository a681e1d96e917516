/* SPDX-License-Identifier: MIT */
/*
 * Hard interrupts on the live host: three ways to make a CPU pass hardirq enter/exit.
 *
 * signal  The kernel itself sends a signal to the CPU's target thread when a line's
 *         descriptor becomes readable (O_ASYNC, F_SETOWN_EX; see fcntl(2)), so no thread of
 *         ours stands between a device and the interrupted thread.
 *         A line with a mask of its own makes one event for each unmask: it gets the
 *         engine's real-time signal (F_SETSIG), which says whose event it is.  Others are
 *         masked by taking O_ASYNC off, and until then make an event for every frame:
 *         real-time signals would queue, each to be taken.  They get SIGIO, of which one at
 *         most is pending; whoever takes it asks each line.
 *         Kicks and ticks are tgkill(2) of the engine's signal.
 * thread  irq/N waits in epoll on the CPU's lines and on a doorbell for kicks.
 * poll    as thread, but while a registered thread of the CPU is awake irq/N leaves the
 *         interrupts to that thread's next safe point.
 *
 * The target is an awake registered thread of the CPU, else the one that slept last (the
 * signal interrupts its sleep: that is how an idle CPU takes an interrupt), else
 * ksoftirqd, which is then woken instead, if it sleeps, when vectors are all there is.
 *
 * A target that blocks our signals keeps interrupts off its CPU as local_irq_disable() would,
 * but not for long: after two ticks ksoftirqd takes them.
 *
 * `kicked` merges kicks: only the one that sets it sends.  The taker clears it before it
 * looks at what it was kicked for, so a later kick sends again.
 */
#define SIRQ_LIVE_PRIVATE
#include "live_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- taking ------------------------------------------------------------------------- */

static void call_line(struct live_cpu *lc, unsigned i, int fd)
{
    struct sirq_irq *irq = __atomic_load_n(&lc->lines[i], __ATOMIC_SEQ_CST);

    if (irq == NULL || (fd != LIVE_ALL_LINES && irq->fd != fd))
        return;
    if (fd == LIVE_ALL_LINES && !irq->pending(irq->data))
        return;
    irq->handler(lc->cpu, irq->data);
}

/*
 * One hard interrupt: the line with descriptor `fd`, all lines, or none of them (a kick),
 * and whatever else is due.  On the thread that is interrupted.
 */
void sirq_host_take_interrupts(struct live_cpu *lc, int fd)
{
    struct sirq_cpu *cpu = lc->cpu;

    __atomic_add_fetch(&lc->handlers, 1, __ATOMIC_SEQ_CST);
    sirq_hardirq_enter(cpu);
    __atomic_store_n(&lc->kicked, 0, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&lc->rescan, 0, __ATOMIC_ACQ_REL))
        fd = LIVE_ALL_LINES;
    for (unsigned i = 0; fd != LIVE_NO_LINE && i < LIVE_MAX_LINES; i++)
        call_line(lc, i, fd);
    if (__atomic_exchange_n(&lc->tick_due, 0, __ATOMIC_ACQ_REL))
        sirq_tick(cpu);
    __atomic_sub_fetch(&lc->handlers, 1, __ATOMIC_SEQ_CST);
    sirq_hardirq_exit(cpu);
}

bool sirq_host_interrupt_due(struct live_cpu *lc)
{
    bool due = __atomic_load_n(&lc->kicked, __ATOMIC_SEQ_CST);

    if (due)
        return true;
    /* Announced before a line is looked at: see remove_line(). */
    __atomic_add_fetch(&lc->handlers, 1, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; !due && i < LIVE_MAX_LINES; i++) {
        struct sirq_irq *irq = __atomic_load_n(&lc->lines[i], __ATOMIC_SEQ_CST);

        due = irq != NULL && irq->pending(irq->data);
    }
    __atomic_sub_fetch(&lc->handlers, 1, __ATOMIC_SEQ_CST);
    return due;
}

void sirq_host_safe_point(struct sirq_cpu *cpu)
{
    struct live_cpu *lc = live_of(cpu);

    if (lc->live->delivery == SIRQ_DELIVER_POLL && sirq_host_interrupt_due(lc))
        sirq_host_take_interrupts(lc, LIVE_ALL_LINES);
}

void sirq_live_poll(struct sirq_live *live)
{
    struct sirq_cpu *cpu = sirq_host_this_cpu(&live->core);

    if (cpu != NULL)
        sirq_host_safe_point(cpu);
}

/* ---- signal delivery ---------------------------------------------------------------- */

static void on_signal(int signo, siginfo_t *info, void *ucontext)
{
    struct live_thread *thread = sirq_host_this_thread;
    struct live_cpu *lc = thread != NULL ? thread_lc(thread) : sirq_host_this_lc;
    int saved_errno = errno;

    (void)ucontext;
    if (lc == NULL)
        return; /* came late, after unregistering: the rescan there has seen to it */
    if (thread != NULL)
        __atomic_store_n(&thread->interrupts, thread->interrupts + 1, __ATOMIC_RELAXED);
    /* SIGIO also stands for all lines when the kernel's queue of real-time signals was full. */
    if (signo == SIGIO || LIVE_TSAN)
        sirq_host_take_interrupts(lc, LIVE_ALL_LINES);
    else
        sirq_host_take_interrupts(lc, info->si_code > 0 ? info->si_fd : LIVE_NO_LINE);
    errno = saved_errno;
}

/* Were the signals blocked before? */
static bool change_mask(const struct live_cpu *lc, int how)
{
    sigset_t set, before;

    sigemptyset(&set);
    sigaddset(&set, lc->live->signo);
    sigaddset(&set, SIGIO);
    pthread_sigmask(how, &set, &before);
    return sigismember(&before, lc->live->signo) == 1;
}

/*
 * The handler runs with its signal blocked, so that interrupts do not nest.  A run that
 * goes on after its first pass lets them in until it ends: two system calls a run, and
 * none at light load, where a run is one short pass.  An interrupt that the application
 * makes itself (sirq_hardirq_enter) has nothing blocked, and leaves it so.
 */
static __thread bool was_blocked __attribute__((tls_model("initial-exec")));

void sirq_host_irq_enable(struct sirq_cpu *cpu, unsigned pass)
{
    if (pass == 1 && live_of(cpu)->live->delivery == SIRQ_DELIVER_SIGNAL)
        was_blocked = change_mask(live_of(cpu), SIG_UNBLOCK);
}

void sirq_host_irq_disable(struct sirq_cpu *cpu, unsigned passes)
{
    if (passes > 1 && was_blocked && live_of(cpu)->live->delivery == SIRQ_DELIVER_SIGNAL)
        change_mask(live_of(cpu), SIG_BLOCK);
}

int sirq_host_signals_install(struct sirq_live *live)
{
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};

    if (live->delivery != SIRQ_DELIVER_SIGNAL)
        return 0;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, live->signo);
    sigaddset(&action.sa_mask, SIGIO);
    if (sigaction(live->signo, &action, &live->old_action) != 0)
        return -errno;
    sigaction(SIGIO, &action, &live->old_sigio);
    return 0;
}

void sirq_host_signals_restore(struct sirq_live *live)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    if (live->delivery != SIRQ_DELIVER_SIGNAL)
        return;
    /* Ignored first: that discards what a thread has pending and blocked.  The default of
     * either is to end the program. */
    sigaction(live->signo, &ignore, NULL);
    sigaction(SIGIO, &ignore, NULL);
    sigaction(live->signo, &live->old_action, NULL);
    sigaction(SIGIO, &live->old_sigio, NULL);
}

/* ---- sending ------------------------------------------------------------------------ */

static bool interrupt_thread(const struct live_cpu *lc, uint32_t tid)
{
    return syscall(SYS_tgkill, getpid(), tid, lc->live->signo) == 0;
}

/*
 * It fails when the target ended without unregistering, and when the user's queue of
 * signals is full (RLIMIT_SIGPENDING): then nobody was kicked, and ksoftirqd does the work.
 */
static void kick_by_signal(struct live_cpu *lc)
{
    uint32_t ksoftirqd = (uint32_t)__atomic_load_n(&lc->ksoftirqd_tid, __ATOMIC_ACQUIRE);

    if (interrupt_thread(lc, __atomic_load_n(&lc->target, __ATOMIC_ACQUIRE)) ||
        interrupt_thread(lc, ksoftirqd))
        return;
    __atomic_store_n(&lc->kicked, 0, __ATOMIC_SEQ_CST);
    if (sirq_pending(lc->cpu) != 0)
        sirq_ksoftirqd_wake(lc->cpu);
}

/* Whoever was sent the interrupt does not take it: ksoftirqd does, and looks at every line. */
void sirq_host_take_over(struct live_cpu *lc)
{
    __atomic_store_n(&lc->rescan, 1, __ATOMIC_SEQ_CST);
    interrupt_thread(lc, (uint32_t)__atomic_load_n(&lc->ksoftirqd_tid, __ATOMIC_ACQUIRE));
}

static void ring(struct live_cpu *lc)
{
    uint64_t one = 1;

    if (write(lc->doorbell, &one, sizeof(one)) < 0)
        __atomic_store_n(&lc->kicked, 0, __ATOMIC_RELEASE);
}

void sirq_host_ring_overdue(struct live_cpu *lc)
{
    __atomic_store_n(&lc->overdue, 1, __ATOMIC_RELEASE);
    ring(lc);
}

/*
 * Nobody of the application is on this CPU, ksoftirqd sleeps, and it is for pending vectors
 * alone: a signal would only be a dearer way to wake it.  A tick or line that becomes due
 * meanwhile has a kick of its own.  ksoftirqd looks at what is pending after it has said
 * that it sleeps, so one that is just falling asleep is woken, or finds the vector.
 */
static bool ksoftirqd_suffices(struct live_cpu *lc)
{
    return __atomic_load_n(&lc->target, __ATOMIC_ACQUIRE) == (uint32_t)lc->ksoftirqd_tid &&
           !__atomic_load_n(&lc->tick_due, __ATOMIC_ACQUIRE) &&
           !__atomic_load_n(&lc->rescan, __ATOMIC_ACQUIRE) &&
           __atomic_load_n(&lc->cpu->ksoftirqd, __ATOMIC_SEQ_CST) == 0;
}

void sirq_host_kick(struct sirq_cpu *cpu)
{
    struct live_cpu *lc = live_of(cpu);

    if (!__atomic_load_n(&cpu->online, __ATOMIC_SEQ_CST)) {
        sirq_ksoftirqd_wake(cpu); /* given back meanwhile */
        return;
    }
    if (lc->live->delivery == SIRQ_DELIVER_SIGNAL && ksoftirqd_suffices(lc)) {
        sirq_ksoftirqd_wake(cpu);
        return;
    }
    if (__atomic_exchange_n(&lc->kicked, 1, __ATOMIC_SEQ_CST))
        return;
    if (lc->live->delivery == SIRQ_DELIVER_SIGNAL)
        kick_by_signal(lc);
    else if (lc->live->delivery == SIRQ_DELIVER_THREAD || !sirq_host_anyone_awake(lc))
        ring(lc);
}

/* Of those awake a real-time thread: while there is one, it is the one that runs. */
static uint32_t choose_target(const struct live_cpu *lc)
{
    const struct sirq_live *live = lc->live;
    uint32_t last = __atomic_load_n(&lc->target, __ATOMIC_ACQUIRE), asleep = 0, awake = 0;

    for (unsigned i = 0; i < live->max_threads; i++) {
        const struct live_thread *thread = &live->threads[i];
        uint32_t state = __atomic_load_n(&thread->state, __ATOMIC_ACQUIRE);
        uint32_t tid = (uint32_t)__atomic_load_n(&thread->tid, __ATOMIC_ACQUIRE);

        if (state == LIVE_FREE || tid == 0 || thread_lc(thread) != lc)
            continue;
        if (state == LIVE_AWAKE && __atomic_load_n(&thread->rt, __ATOMIC_RELAXED))
            return tid;
        if (state == LIVE_AWAKE && awake == 0)
            awake = tid;
        if (asleep == 0 || tid == last)
            asleep = tid;
    }
    if (awake != 0)
        return awake;
    return asleep != 0 ? asleep : (uint32_t)__atomic_load_n(&lc->ksoftirqd_tid, __ATOMIC_ACQUIRE);
}

void sirq_host_retarget(struct live_cpu *lc)
{
    uint32_t target;

    if (lc->live->delivery != SIRQ_DELIVER_SIGNAL)
        return;
    pthread_mutex_lock(&lc->retarget_lock);
    target = choose_target(lc);
    if (target != __atomic_load_n(&lc->target, __ATOMIC_RELAXED)) {
        __atomic_store_n(&lc->target, target, __ATOMIC_RELEASE);
        for (unsigned i = 0; i < LIVE_MAX_LINES; i++)
            if (lc->lines[i] != NULL)
                sirq_host_line_owner(lc->lines[i], target);
    }
    pthread_mutex_unlock(&lc->retarget_lock);
}
