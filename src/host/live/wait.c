/* SPDX-License-Identifier: MIT */
/*
 * Sleeping and waking on the live host: futexes.
 *
 * The owner half of sirq_cpu.word is a priority-inheritance futex in the kernel's own
 * format (the owner's tid, FUTEX_WAITERS above it), so a real-time receiver that finds a
 * preempted ksoftirqd inside a run lends it its priority, and the uncontended case is the
 * core's compare-and-swap with no system call.  Source: futex(2), FUTEX_LOCK_PI.
 */
#define SIRQ_LIVE_PRIVATE
#include "live_private.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "owner half is the second word");
_Static_assert(SIRQ_OWNER_WAITERS == FUTEX_WAITERS, "the kernel sets this bit");

static uint32_t *owner_futex(struct sirq_cpu *cpu)
{
    return (uint32_t *)(void *)&cpu->word + 1;
}

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

/*
 * ThreadSanitizer runs signal handlers inside the calls it knows, and futex(2) is none: an
 * endless wait, restarted after each signal, would never let the handler run.  There it is
 * cut into short ones (they end early like any), and the signals are let in between.
 */
long sirq_host_futex_wait(uint32_t *word, uint32_t value, const struct timespec *timeout)
{
#if LIVE_TSAN
    const struct timespec slice = {.tv_nsec = 1000000};

    if (timeout == NULL) {
        futex(word, FUTEX_WAIT, value, &slice);
        usleep(1);
        return 0;
    }
#endif
    return futex(word, FUTEX_WAIT, value, timeout) == 0 ? 0 : -errno;
}

long sirq_host_futex_wake(uint32_t *word, int n)
{
    return futex(word, FUTEX_WAKE, (uint32_t)n, NULL);
}

void sirq_host_bh_lock(struct sirq_cpu *cpu, struct sirq_ctx *ctx)
{
    (void)ctx;
    while (futex(owner_futex(cpu), FUTEX_LOCK_PI, 0, NULL) != 0)
        if (errno == ESRCH) /* nothing can be saved */
            sirq_host_bug("bottom halves: the thread that owned them has ended", __FILE__,
                          __LINE__);
        else if (errno != EINTR && errno != EAGAIN)
            sirq_host_bug("bottom halves: FUTEX_LOCK_PI failed", __FILE__, __LINE__);
    /* Acquire: the kernel handed over; what the owner before us did, ordered by its release
     * in bh_unlock. */
    (void)__atomic_load_n(&cpu->word, __ATOMIC_ACQUIRE);
}

void sirq_host_bh_unlock(struct sirq_cpu *cpu, struct sirq_ctx *ctx)
{
    (void)ctx;
    /* Release: our section, before the kernel lets the next owner in. */
    __atomic_fetch_or(&cpu->word, 0, __ATOMIC_RELEASE);
    while (futex(owner_futex(cpu), FUTEX_UNLOCK_PI, 0, NULL) != 0)
        if (errno != EINTR && errno != EAGAIN)
            sirq_host_bug("bottom halves: FUTEX_UNLOCK_PI failed", __FILE__, __LINE__);
}

/*
 * A sleep that a signal of the engine's ended is not -EINTR: the caller looks once more, as
 * it does after any wake-up.
 */
int sirq_host_wait(struct sirq_cpu *cpu, struct sirq_wq *wq, uint32_t seq, int64_t timeout_ns)
{
    struct live_thread *self = sirq_host_this_thread;
    struct timespec ts = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    uint32_t interrupts = 0;
    void *mine = self;
    long ret;

    __atomic_store_n(&wq->host, self, __ATOMIC_RELEASE);
    if (self != NULL) {
        interrupts = __atomic_load_n(&self->interrupts, __ATOMIC_RELAXED);
        __atomic_store_n(&self->waiting_on, wq, __ATOMIC_RELAXED);
        sirq_host_thread_asleep(self);
    }
    /* Asleep first, then the last look: irq/N leaves interrupts to whoever is awake. */
    sirq_live_poll(live_of(cpu)->live); /* cpu may only name the engine: see sirq/host.h */
    ret = sirq_host_futex_wait(&wq->seq, seq, timeout_ns < 0 ? NULL : &ts);
    if (self != NULL) {
        sirq_host_thread_awake(self);
        __atomic_store_n(&self->waiting_on, NULL, __ATOMIC_RELAXED);
        __atomic_compare_exchange_n(&wq->host, &mine, NULL, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
        if (ret == -EINTR && __atomic_load_n(&self->interrupts, __ATOMIC_RELAXED) != interrupts)
            ret = 0;
    }
    return ret == -ETIMEDOUT || ret == -EINTR ? (int)ret : 0;
}

bool sirq_host_wake_preempts(struct sirq_cpu *cpu, const struct sirq_wq *wq)
{
    const struct live_thread *sleeper = __atomic_load_n(&wq->host, __ATOMIC_ACQUIRE);

    return sleeper == NULL || thread_lc(sleeper) == live_of(cpu);
}

/*
 * The sequence number changes before anybody is woken, so a sleeper that is not yet in
 * the kernel sees it and does not sleep.
 */
void sirq_host_wake(struct sirq_cpu *cpu, struct sirq_wq *wq)
{
    struct live_thread *sleeper = __atomic_load_n(&wq->host, __ATOMIC_ACQUIRE);
    const struct live_thread *self = sirq_host_this_thread;
    uint32_t waiters = __atomic_load_n(&wq->nwaiters, __ATOMIC_SEQ_CST);
    uint64_t one = 1;

    __atomic_add_fetch(&wq->seq, 1, __ATOMIC_SEQ_CST);
    if (sleeper != NULL)
        sirq_host_thread_queued(sleeper);
    if (sleeper == NULL || waiters > 1)
        __atomic_store_n(&live_of(cpu)->woke_others, 1, __ATOMIC_RELAXED);
    /* A softirq on top of the only sleeper: it looks again when the handler returns. */
    if (waiters > 1 || (waiters == 1 && (self == NULL || __atomic_load_n(&self->waiting_on,
                                                                         __ATOMIC_RELAXED) != wq)))
        sirq_host_futex_wake(&wq->seq, INT_MAX);
    if (__atomic_exchange_n(&wq->armed, 0, __ATOMIC_SEQ_CST) && wq->eventfd >= 0)
        if (write(wq->eventfd, &one, sizeof(one)) < 0 && errno != EAGAIN)
            sirq_host_bug("socket: its eventfd was closed behind its back", __FILE__, __LINE__);
}

/* The ksoftirqd of a CPU that was given back is any other's; see run_orphans(). */
void sirq_host_wake_ksoftirqd(struct sirq_cpu *cpu)
{
    struct sirq_live *live = live_of(cpu)->live;
    struct sirq_cpu *heir;

    sirq_host_futex_wake(&cpu->ksoftirqd, 1);
    if (__atomic_load_n(&cpu->online, __ATOMIC_SEQ_CST))
        return;
    __atomic_store_n(&live->orphans, 1, __ATOMIC_SEQ_CST);
    heir = sirq_any_online(&live->core);
    if (heir != cpu)
        sirq_ksoftirqd_wake(heir);
}

/*
 * The kernel has already preempted whoever it wanted to; what is left is ksoftirqd's
 * cond_resched(): without it a woken receiver waits until its slice is over, and the two
 * no longer share the CPU in steps of one run (measured in docs/decisions.md).  When the
 * woken thread was let in at once, has run and sleeps again, nobody is waiting.
 */
void sirq_host_resched(struct sirq_cpu *cpu, enum sirq_entry entry)
{
    __atomic_store_n(&cpu->need_resched, 0, __ATOMIC_RELAXED);
    if (entry == SIRQ_ENTRY_KSOFTIRQD && sirq_host_wanted(live_of(cpu)))
        sched_yield();
}

void sirq_host_relax(struct sirq_cpu *cpu)
{
    struct timespec ts = {.tv_nsec = 50000};

    (void)cpu;
    nanosleep(&ts, NULL);
}
