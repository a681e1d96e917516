/* SPDX-License-Identifier: MIT */
/*
 * thread.c - NAPI instances that a thread of their own polls: threaded NAPI and threaded
 * backlogs.  The host makes the thread; what it does is here, for every host.
 *
 * Who polls is decided by who makes the instance scheduled, in the same compare-and-swap: with
 * THREADED set it sets SCHED_THREADED too, and the instance is the thread's until it is let go
 * of or given to NET_RX; else NET_RX's, until it is let go of or given to the thread.  So at
 * any time exactly one of the two has a scheduled instance, and a switch is: change THREADED,
 * and whoever has the instance passes it on at its next visit, also when it never completes.
 * Nothing is in anybody's hands between two polls, so nothing is lost or overtaken by that.
 *
 * No wake-up is lost, on the way to the thread:
 *   - SCHED_THREADED is set (SEQ_CST), then nwaiters is read (SEQ_CST); the thread announces
 *     itself in nwaiters (SEQ_CST), then looks at SCHED_THREADED (SEQ_CST).  One of the two
 *     sees the other; and who wakes changes wq.seq, which the thread read before it announced.
 * or on the way back:
 *   - the switch clears THREADED, then sets `stop`, then wakes.  The thread ends only when it
 *     has seen stop and after that neither THREADED nor SCHED_THREADED.  With THREADED clear
 *     nobody sets SCHED_THREADED (both are in one word, changed by compare-and-swap), so it
 *     stays clear: the thread cannot leave an instance that is given to it later.  One that it
 *     still has it polls once more, sees THREADED clear, and gives it to NET_RX.
 * The wait queue is the instance's, not the thread's: a waker that is late finds nobody there.
 */
#define SIRQ_NET_INTERNAL
#include "private.h"

/* Hardirqs wake at once, as softirqs do whose run will not: its end, or next pass, is soon. */
void sirq_napi_thread_wake(struct sirq_cpu *cpu, struct sirq_napi *napi)
{
    if (__atomic_load_n(&napi->wq.nwaiters, __ATOMIC_SEQ_CST) == 0)
        return; /* it is awake and will look */
    if (sirq_in_softirq(cpu) && cpu->running)
        sirq_wake(cpu, &napi->wq);
    else
        cpu->core->host->wake(cpu, &napi->wq);
}

/* From NET_RX, which has it: to the thread, if it is to have it. */
bool sirq_napi_to_thread(struct sirq_cpu *cpu, struct sirq_napi *napi)
{
    uint32_t state = __atomic_load_n(&napi->state, __ATOMIC_RELAXED);

    do {
        if (!(state & SIRQ_NAPI_THREADED))
            return false;
    } while (!__atomic_compare_exchange_n(&napi->state, &state, state | SIRQ_NAPI_SCHED_THREADED,
                                          true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    sirq_napi_thread_wake(cpu, napi);
    return true;
}

/* From the thread, which has it, to NET_RX.  Ours until it is on a list: SCHED stays set. */
static void to_net_rx(struct sirq_cpu *cpu, struct sirq_napi_thread *thread)
{
    __atomic_fetch_and(&thread->napi->state, ~SIRQ_NAPI_SCHED_THREADED, __ATOMIC_SEQ_CST);
    sirq_napi_list(cpu, thread->home, thread->napi);
}

static uint32_t state_of(const struct sirq_napi_thread *thread)
{
    return __atomic_load_n(&thread->napi->state, __ATOMIC_SEQ_CST);
}

/* Where the thread runs, or the instance belongs when that is none of the core's CPUs. */
static struct sirq_cpu *thread_cpu(const struct sirq_napi_thread *thread)
{
    struct sirq_core *core = thread->home->core;
    struct sirq_cpu *cpu = core->host->this_cpu(core);

    return cpu != NULL ? cpu : thread->home;
}

/* Sleep until the instance is ours; false: the thread is to end. */
static bool thread_wait(struct sirq_napi_thread *thread)
{
    struct sirq_wq *wq = &thread->napi->wq;

    for (;;) {
        uint32_t seq = __atomic_load_n(&wq->seq, __ATOMIC_SEQ_CST);
        bool stop;

        if (state_of(thread) & SIRQ_NAPI_SCHED_THREADED)
            return true;
        __atomic_fetch_add(&wq->nwaiters, 1, __ATOMIC_SEQ_CST);
        /* Stop before state: see the opening comment. */
        stop = __atomic_load_n(&thread->stop, __ATOMIC_SEQ_CST);
        if (!(state_of(thread) & SIRQ_NAPI_SCHED_THREADED) && !stop)
            thread->home->core->host->wait(thread_cpu(thread), wq, seq, -1);
        __atomic_fetch_sub(&wq->nwaiters, 1, __ATOMIC_SEQ_CST);
        if (stop && !(state_of(thread) & (SIRQ_NAPI_SCHED_THREADED | SIRQ_NAPI_THREADED)))
            return false;
    }
}

/* One poll, in a bottom-half section: sockets are woken and kicks sent when it ends. */
static void thread_poll(struct sirq_cpu *cpu, struct sirq_napi_thread *thread)
{
    struct sirq_net_cpu *nc = sirq_net_cpu(cpu);
    uint32_t state = state_of(thread);
    int work;

    if (state & SIRQ_NAPI_DISABLED) {
        sirq_napi_release(thread->napi);
    } else if (!(state & SIRQ_NAPI_THREADED)) {
        to_net_rx(cpu, thread);
    } else {
        sirq_napi_poll_local(cpu, nc, thread->napi, &work);
        COUNT(nc->stats.polls_threaded, 1);
        /* The next poll may be on another CPU: nobody stays listed here. */
        sirq_feeds_run_end(cpu, false);
        sirq_kicks_flush(cpu, nc);
    }
}

void sirq_napi_thread_main(struct sirq_napi_thread *thread)
{
    struct sirq_cpu *cpu;

    while (thread_wait(thread)) {
        sirq_charge(thread_cpu(thread), SIRQ_COST_KSOFTIRQD, 1);
        cpu = thread_cpu(thread);
        sirq_bh_disable(cpu);
        thread_poll(cpu, thread);
        sirq_bh_enable(cpu);
        /* As ksoftirqd between two runs. */
        if (cpu->core->host->resched != NULL &&
            __atomic_load_n(&cpu->need_resched, __ATOMIC_RELAXED))
            cpu->core->host->resched(cpu, SIRQ_ENTRY_KSOFTIRQD);
    }
    __atomic_store_n(&thread->ended, 1, __ATOMIC_RELEASE);
}

void sirq_napi_thread_init(struct sirq_napi_thread *thread, struct sirq_napi *napi,
                           struct sirq_cpu *home)
{
    *thread = (struct sirq_napi_thread){.napi = napi, .home = home};
}

void sirq_napi_thread_on(struct sirq_napi_thread *thread)
{
    uint32_t old = __atomic_fetch_or(&thread->napi->state, SIRQ_NAPI_THREADED, __ATOMIC_SEQ_CST);

    assert(!(old & SIRQ_NAPI_THREADED)); /* one thread, and its predecessor has been told to end */
    (void)old;
}

void sirq_napi_thread_off(struct sirq_napi_thread *thread)
{
    struct sirq_cpu *cpu = thread_cpu(thread);

    assert(!sirq_in_softirq(cpu) && !sirq_in_hardirq(cpu));
    __atomic_fetch_and(&thread->napi->state, ~SIRQ_NAPI_THREADED, __ATOMIC_SEQ_CST);
    __atomic_store_n(&thread->stop, 1, __ATOMIC_SEQ_CST);
    cpu->core->host->wake(cpu, &thread->napi->wq);
}
