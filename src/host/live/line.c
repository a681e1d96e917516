/* SPDX-License-Identifier: MIT */
/*
 * Interrupt lines: which descriptor interrupts which CPU, and its mask.
 *
 * lines[] of a CPU changes under config_lock and retarget_lock.  Whoever looks at a line
 * announces itself in live_cpu.handlers first; who takes one off waits for them after.  All
 * of that is seq_cst: either the line is not found, or its finder is waited for.
 */
#define SIRQ_LIVE_PRIVATE
#include "live_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>

void sirq_host_line_owner(const struct sirq_irq *irq, uint32_t tid)
{
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)tid};

    fcntl(irq->fd, F_SETOWN_EX, &owner);
}

static void set_async(const struct sirq_irq *irq, bool on)
{
    int flags = __atomic_load_n(&irq->fd_flags, __ATOMIC_RELAXED);

    fcntl(irq->fd, F_SETFL, on ? flags | O_ASYNC : flags);
}

static int line_epoll(struct live_cpu *lc, struct sirq_irq *irq, int op, bool on)
{
    struct epoll_event event = {.data.fd = irq->fd};

    if (on)
        event.events = EPOLLIN | (irq->self_masking ? EPOLLET : EPOLLONESHOT);
    return epoll_ctl(lc->epfd, op, irq->fd, &event);
}

/* Null while nobody takes it, and for a moment while it moves to another CPU. */
static struct live_cpu *line_cpu(const struct sirq_irq *irq)
{
    const struct sirq_cpu *cpu = __atomic_load_n(&irq->cpu, __ATOMIC_ACQUIRE);

    return cpu == NULL ? NULL : live_of(cpu);
}

void sirq_host_irq_mask(struct sirq_irq *irq)
{
    struct live_cpu *lc = line_cpu(irq);

    if (lc == NULL || irq->self_masking)
        return;
    if (lc->live->delivery == SIRQ_DELIVER_SIGNAL)
        set_async(irq, false);
    /* irq/N: one shot has masked it already */
}

void sirq_host_irq_unmask(struct sirq_irq *irq)
{
    struct live_cpu *lc = line_cpu(irq);

    if (lc == NULL || irq->self_masking)
        return;
    if (lc->live->delivery == SIRQ_DELIVER_SIGNAL)
        set_async(irq, true);
    else
        line_epoll(lc, irq, EPOLL_CTL_MOD, true);
}

static int line_open(struct live_cpu *lc, struct sirq_irq *irq)
{
    int flags;

    if (lc->live->delivery != SIRQ_DELIVER_SIGNAL)
        return line_epoll(lc, irq, EPOLL_CTL_ADD, irq->self_masking) == 0 ? 0 : -errno;
    flags = fcntl(irq->fd, F_GETFL);
    if (flags < 0 || fcntl(irq->fd, F_SETSIG, irq->self_masking ? lc->live->signo : 0) != 0)
        return -errno;
    /* A poll that is under way while the line moves may unmask it: it reads the same value. */
    __atomic_store_n(&irq->fd_flags, flags & ~O_ASYNC, __ATOMIC_RELAXED);
    sirq_host_line_owner(irq, __atomic_load_n(&lc->target, __ATOMIC_ACQUIRE));
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
        __atomic_store_n(&irq->cpu, lc->cpu, __ATOMIC_RELEASE);
        ret = line_open(lc, irq);
        if (ret == 0)
            __atomic_store_n(&lc->lines[i], irq, __ATOMIC_SEQ_CST);
        else
            __atomic_store_n(&irq->cpu, NULL, __ATOMIC_RELEASE);
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
    __atomic_store_n(&irq->cpu, NULL, __ATOMIC_RELEASE);
}

/* Something may have happened on the lines before anybody listened. */
void sirq_host_rescan(struct live_cpu *lc)
{
    __atomic_store_n(&lc->rescan, 1, __ATOMIC_RELEASE);
    sirq_host_kick(lc->cpu);
}

int sirq_live_irq_request(struct sirq_live *live, unsigned cpu, struct sirq_irq *irq,
                          struct sirq_error *err)
{
    struct sirq_cpu *found;
    sigset_t before;
    int ret;

    if (irq->handler == NULL || irq->pending == NULL)
        return sirq_fail(err, EINVAL, "interrupt: no '%s' function given",
                         irq->handler == NULL ? "handler" : "pending");
    sirq_host_config_lock(live, &before);
    found = sirq_live_cpu(live, cpu);
    if (found == NULL)
        ret =
            sirq_fail(err, EINVAL, "cpu %u: not one of the engine's CPUs: add it to the set", cpu);
    else if (irq->cpu != NULL)
        ret = sirq_fail(err, EBUSY, "interrupt: is delivered to cpu %u already: free it first",
                        live_of(irq->cpu)->number);
    else if ((ret = add_line(live_of(found), irq)) != 0)
        sirq_fail(err, -ret, "interrupt: cannot be delivered to cpu %u: %s", cpu,
                  ret == -ENOSPC ? "16 lines are the most one CPU takes" : strerror(-ret));
    sirq_host_config_unlock(live, &before);
    return ret;
}

void sirq_live_irq_free(struct sirq_live *live, struct sirq_irq *irq)
{
    sigset_t before;

    sirq_host_config_lock(live, &before);
    if (irq->cpu != NULL)
        remove_line(live_of(irq->cpu), irq);
    sirq_host_config_unlock(live, &before);
}

static unsigned count_lines(const struct live_cpu *lc)
{
    unsigned n = 0;

    for (unsigned i = 0; i < LIVE_MAX_LINES; i++)
        n += lc->lines[i] != NULL;
    return n;
}

bool sirq_host_lines_fit(const struct live_cpu *from, const struct live_cpu *to)
{
    return count_lines(from) + count_lines(to) <= LIVE_MAX_LINES;
}

/* When `to` cannot have it, it goes back where it was; that place is free, so this works
 * unless its descriptor itself is at fault. */
static int move_line(struct live_cpu *from, struct live_cpu *to, struct sirq_irq *irq)
{
    int ret;

    remove_line(from, irq);
    ret = add_line(to, irq);
    if (ret != 0 && add_line(from, irq) != 0)
        sirq_host_report(from->cpu, "an interrupt is delivered no more; its descriptor",
                         (uint64_t)irq->fd);
    sirq_host_irq_unmask(irq);
    return ret;
}

/* The lines of a CPU that is given away, up to the first that cannot be moved; config_lock is
 * held. */
int sirq_host_lines_move(struct live_cpu *from, struct live_cpu *to)
{
    int ret = 0;

    for (unsigned i = 0; ret == 0 && i < LIVE_MAX_LINES; i++)
        if (from->lines[i] != NULL)
            ret = move_line(from, to, from->lines[i]);
    sirq_host_rescan(to);
    if (ret != 0)
        sirq_host_rescan(from);
    return ret;
}

/* The CPU may be given back at any time: the line is where it is when we look. */
int sirq_live_attach(struct sirq_live *live, unsigned cpu, struct sirq_netdev *dev,
                     struct sirq_error *err)
{
    int ret = sirq_live_irq_request(live, cpu, &dev->irq, err);
    struct live_cpu *lc;
    sigset_t before;

    if (ret != 0)
        return ret;
    sirq_napi_enable(&dev->napi);
    dev->driver->irq_unmask(dev);
    sirq_host_config_lock(live, &before);
    lc = line_cpu(&dev->irq);
    if (lc != NULL)
        sirq_host_rescan(lc);
    sirq_host_config_unlock(live, &before);
    return 0;
}

/* Attached is a device whose NAPI is enabled: its line may have been lost. */
void sirq_live_detach(struct sirq_live *live, struct sirq_netdev *dev)
{
    if (__atomic_load_n(&dev->napi.state, __ATOMIC_ACQUIRE) & SIRQ_NAPI_DISABLED)
        return;
    dev->driver->irq_mask(dev);
    sirq_live_irq_free(live, &dev->irq);
    sirq_napi_disable(sirq_any_online(&live->core), &dev->napi);
    dev->driver->irq_mask(dev); /* a poll that was under way may have unmasked it */
}
