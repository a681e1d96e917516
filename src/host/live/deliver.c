/* SPDX-License-Identifier: MIT */
/*
 * Hard interrupts on the live host: three ways to make a CPU pass hardirq enter/exit.
 *
 * signal  The kernel itself sends a real-time signal to the CPU's target thread when a
 *         line's descriptor becomes readable (F_SETSIG, F_SETOWN_EX; see fcntl(2)), so no
 *         thread of ours stands between a device and the interrupted thread.  A line
 *         without a mask of its own is masked by taking O_ASYNC off.  Kicks and ticks are
 *         tgkill(2) of the same signal.
 * thread  irq/N waits in epoll on the CPU's lines and on a doorbell for kicks.
 * poll    as thread, but while a registered thread of the CPU is awake irq/N leaves the
 *         interrupts to that thread's next safe point.
 *
 * The target is an awake registered thread of the CPU, else the one that slept last (the
 * signal interrupts its sleep: that is how an idle CPU takes an interrupt), else
 * ksoftirqd, which is then woken instead, if it sleeps, when vectors are all there is.
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
    struct sirq_irq *irq = __atomic_load_n(&lc->lines[i], __ATOMIC_ACQUIRE);

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

void sirq_host_safe_point(struct sirq_cpu *cpu)
{
    struct live_cpu *lc = live_of(cpu);
    bool due = __atomic_load_n(&lc->kicked, __ATOMIC_RELAXED);

    if (lc->live->delivery != SIRQ_DELIVER_POLL)
        return;
    for (unsigned i = 0; !due && i < LIVE_MAX_LINES; i++) {
        struct sirq_irq *irq = __atomic_load_n(&lc->lines[i], __ATOMIC_ACQUIRE);

        due = irq != NULL && irq->pending(irq->data);
    }
    if (due)
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
    struct live_cpu *lc = sirq_host_this_lc;
    int saved_errno = errno;

    (void)ucontext;
    if (lc == NULL)
        return;         /* came late, after unregistering: the rescan there has seen to it */
    if (signo == SIGIO) /* the kernel's queue of real-time signals was full */
        sirq_host_take_interrupts(lc, LIVE_ALL_LINES);
    else
        sirq_host_take_interrupts(lc, info->si_code > 0 ? info->si_fd : LIVE_NO_LINE);
    errno = saved_errno;
}

static void change_mask(const struct live_cpu *lc, int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, lc->live->signo);
    pthread_sigmask(how, &set, NULL);
}

/*
 * The handler runs with its signal blocked, so that interrupts do not nest.  A run that
 * goes on after its first pass lets them in until it ends: two system calls a run, and
 * none at light load, where a run is one short pass.
 */
void sirq_host_irq_enable(struct sirq_cpu *cpu, unsigned pass)
{
    if (pass == 1 && live_of(cpu)->live->delivery == SIRQ_DELIVER_SIGNAL)
        change_mask(live_of(cpu), SIG_UNBLOCK);
}

void sirq_host_irq_disable(struct sirq_cpu *cpu, unsigned passes)
{
    if (passes > 1 && live_of(cpu)->live->delivery == SIRQ_DELIVER_SIGNAL)
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
    if (live->delivery != SIRQ_DELIVER_SIGNAL)
        return;
    sigaction(live->signo, &live->old_action, NULL);
    sigaction(SIGIO, &live->old_sigio, NULL);
}

/* ---- sending ------------------------------------------------------------------------ */

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
    uint64_t one = 1;

    if (lc->live->delivery == SIRQ_DELIVER_SIGNAL && ksoftirqd_suffices(lc)) {
        sirq_ksoftirqd_wake(cpu);
        return;
    }
    if (__atomic_exchange_n(&lc->kicked, 1, __ATOMIC_SEQ_CST))
        return;
    if (lc->live->delivery == SIRQ_DELIVER_SIGNAL)
        syscall(SYS_tgkill, getpid(), __atomic_load_n(&lc->target, __ATOMIC_ACQUIRE),
                lc->live->signo);
    else if (lc->live->delivery == SIRQ_DELIVER_THREAD || !sirq_host_anyone_awake(lc))
        if (write(lc->doorbell, &one, sizeof(one)) < 0)
            __atomic_store_n(&lc->kicked, 0, __ATOMIC_RELEASE);
}

static void set_owner(const struct sirq_irq *irq, uint32_t tid)
{
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)tid};

    fcntl(irq->fd, F_SETOWN_EX, &owner);
}

static uint32_t choose_target(const struct live_cpu *lc)
{
    const struct sirq_live *live = lc->live;
    uint32_t last = __atomic_load_n(&lc->target, __ATOMIC_ACQUIRE), asleep = 0;

    for (unsigned i = 0; i < live->max_threads; i++) {
        const struct live_thread *thread = &live->threads[i];
        uint32_t state = __atomic_load_n(&thread->state, __ATOMIC_ACQUIRE);

        if (state == LIVE_FREE || thread->lc != lc || thread->tid == 0)
            continue;
        if (state == LIVE_AWAKE)
            return (uint32_t)thread->tid;
        if (asleep == 0 || (uint32_t)thread->tid == last)
            asleep = (uint32_t)thread->tid;
    }
    return asleep != 0 ? asleep : (uint32_t)lc->ksoftirqd_tid;
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
                set_owner(lc->lines[i], target);
    }
    pthread_mutex_unlock(&lc->retarget_lock);
}

/* ---- lines -------------------------------------------------------------------------- */

static void set_async(const struct sirq_irq *irq, bool on)
{
    int flags = fcntl(irq->fd, F_GETFL);

    fcntl(irq->fd, F_SETFL, on ? flags | O_ASYNC : flags & ~O_ASYNC);
}

static int line_epoll(struct live_cpu *lc, struct sirq_irq *irq, int op, bool on)
{
    struct epoll_event event = {.data.fd = irq->fd};

    if (on)
        event.events = EPOLLIN | (irq->self_masking ? EPOLLET : EPOLLONESHOT);
    return epoll_ctl(lc->epfd, op, irq->fd, &event);
}

void sirq_host_irq_mask(struct sirq_irq *irq)
{
    struct live_cpu *lc = irq->cpu == NULL ? NULL : live_of(irq->cpu);

    if (lc == NULL || irq->self_masking)
        return;
    if (lc->live->delivery == SIRQ_DELIVER_SIGNAL)
        set_async(irq, false);
    /* irq/N: one shot has masked it already */
}

void sirq_host_irq_unmask(struct sirq_irq *irq)
{
    struct live_cpu *lc = irq->cpu == NULL ? NULL : live_of(irq->cpu);

    if (lc == NULL || irq->self_masking)
        return;
    if (lc->live->delivery == SIRQ_DELIVER_SIGNAL)
        set_async(irq, true);
    else
        line_epoll(lc, irq, EPOLL_CTL_MOD, true);
}

static int line_open(struct live_cpu *lc, struct sirq_irq *irq)
{
    if (lc->live->delivery != SIRQ_DELIVER_SIGNAL)
        return line_epoll(lc, irq, EPOLL_CTL_ADD, irq->self_masking) == 0 ? 0 : -errno;
    if (fcntl(irq->fd, F_SETSIG, lc->live->signo) != 0)
        return -errno;
    set_owner(irq, __atomic_load_n(&lc->target, __ATOMIC_ACQUIRE));
    if (irq->self_masking)
        set_async(irq, true);
    return 0;
}

static void line_close(struct live_cpu *lc, struct sirq_irq *irq)
{
    if (lc->live->delivery == SIRQ_DELIVER_SIGNAL)
        set_async(irq, false);
    else
        epoll_ctl(lc->epfd, EPOLL_CTL_DEL, irq->fd, NULL);
}

static int add_line(struct live_cpu *lc, struct sirq_irq *irq)
{
    int ret = -ENOSPC;

    pthread_mutex_lock(&lc->retarget_lock);
    for (unsigned i = 0; i < LIVE_MAX_LINES; i++) {
        if (lc->lines[i] != NULL)
            continue;
        irq->cpu = lc->cpu;
        ret = line_open(lc, irq);
        if (ret == 0)
            __atomic_store_n(&lc->lines[i], irq, __ATOMIC_RELEASE);
        else
            irq->cpu = NULL;
        break;
    }
    pthread_mutex_unlock(&lc->retarget_lock);
    return ret;
}

/* Take the line off and wait for handlers that may have found it there. */
static void remove_line(struct live_cpu *lc, struct sirq_irq *irq)
{
    pthread_mutex_lock(&lc->retarget_lock);
    line_close(lc, irq);
    for (unsigned i = 0; i < LIVE_MAX_LINES; i++)
        if (lc->lines[i] == irq)
            __atomic_store_n(&lc->lines[i], NULL, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&lc->retarget_lock);
    while (__atomic_load_n(&lc->handlers, __ATOMIC_SEQ_CST) != 0)
        sirq_host_relax(lc->cpu);
    irq->cpu = NULL;
}

/* Something may have happened on the lines before anybody listened. */
static void rescan(struct live_cpu *lc)
{
    __atomic_store_n(&lc->rescan, 1, __ATOMIC_RELEASE);
    sirq_host_kick(lc->cpu);
}

int sirq_live_irq_request(struct sirq_live *live, unsigned cpu, struct sirq_irq *irq,
                          struct sirq_error *err)
{
    struct sirq_cpu *found;
    int ret;

    pthread_mutex_lock(&live->config_lock);
    found = sirq_live_cpu(live, cpu);
    if (found == NULL)
        ret =
            sirq_fail(err, EINVAL, "cpu %u: not one of the engine's CPUs: add it to the set", cpu);
    else if ((ret = add_line(live_of(found), irq)) != 0)
        sirq_fail(err, -ret, "interrupt: cannot be delivered to cpu %u: %s", cpu,
                  ret == -ENOSPC ? "16 lines are the most one CPU takes" : strerror(-ret));
    pthread_mutex_unlock(&live->config_lock);
    return ret;
}

void sirq_live_irq_free(struct sirq_live *live, struct sirq_irq *irq)
{
    pthread_mutex_lock(&live->config_lock);
    if (irq->cpu != NULL)
        remove_line(live_of(irq->cpu), irq);
    pthread_mutex_unlock(&live->config_lock);
}

/* The lines of a CPU that is given away; config_lock is held. */
void sirq_host_lines_move(struct live_cpu *from, struct live_cpu *to)
{
    for (unsigned i = 0; i < LIVE_MAX_LINES; i++) {
        struct sirq_irq *irq = from->lines[i];

        if (irq == NULL)
            continue;
        remove_line(from, irq);
        if (add_line(to, irq) == 0)
            sirq_host_irq_unmask(irq);
    }
    rescan(to);
}

int sirq_live_attach(struct sirq_live *live, unsigned cpu, struct sirq_netdev *dev,
                     struct sirq_error *err)
{
    int ret = sirq_live_irq_request(live, cpu, &dev->irq, err);

    if (ret != 0)
        return ret;
    sirq_napi_enable(&dev->napi);
    dev->driver->irq_unmask(dev);
    rescan(live_of(dev->irq.cpu));
    return 0;
}

void sirq_live_detach(struct sirq_live *live, struct sirq_netdev *dev)
{
    struct sirq_cpu *cpu = dev->irq.cpu;

    if (cpu == NULL)
        return;
    dev->driver->irq_mask(dev);
    sirq_live_irq_free(live, &dev->irq);
    sirq_napi_disable(cpu, &dev->napi);
    dev->driver->irq_mask(dev);
}
