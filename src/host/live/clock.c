/* SPDX-License-Identifier: MIT */
/*
 * The live host's clock, and the clock thread: ticks and the watchdog.
 *
 * now_ns is read twice per softirq run, so it is the CPU's cycle counter where that runs
 * at a constant rate (about 11 ns against 26 ns for clock_gettime here), scaled once at
 * the first start; else CLOCK_MONOTONIC.  Counters of two CPUs may differ by a little:
 * durations are always taken on one thread and a step back counts as zero.
 *
 * Ticks do not come as an interrupt each.  The thread looks at every CPU and interrupts
 * it only for a reason: a timer is due, or work is pending that nobody is running.
 */
#define SIRQ_LIVE_PRIVATE
#include "live_private.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#define CALIBRATE_NS 5000000u
#define CALIBRATE_READS 16u
#define SHIFT 24
#define OVERDUE_TICKS 2u
#define SLICE_NS 3000000u /* what a scheduler lets a task have while another waits */

static uint64_t clock_mult; /* ns per cycle << SHIFT; 0: use CLOCK_MONOTONIC */
static pthread_once_t clock_once = PTHREAD_ONCE_INIT;

static uint64_t monotonic_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#if defined(__x86_64__)
static bool tsc_invariant(void)
{
    unsigned eax, ebx, ecx, edx;

    return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && (edx & (1u << 8));
}

/*
 * Both clocks at one moment.  A thread that loses its CPU between the two readings would
 * scale all time of the process wrongly: of several pairs the one read fastest.
 */
static void read_both(uint64_t *ns, uint64_t *cycles)
{
    uint64_t best = UINT64_MAX;

    for (unsigned i = 0; i < CALIBRATE_READS; i++) {
        uint64_t before = __rdtsc(), now = monotonic_ns(), took = __rdtsc() - before;

        if (took >= best)
            continue;
        best = took;
        *ns = now;
        *cycles = before + took / 2;
    }
}

static void calibrate(void)
{
    uint64_t ns0, ns1, cycles0, cycles1;

    if (!tsc_invariant())
        return;
    read_both(&ns0, &cycles0);
    do
        ns1 = monotonic_ns();
    while (ns1 - ns0 < CALIBRATE_NS);
    read_both(&ns1, &cycles1);
    /* On a busy machine the two may lie far apart: 128 bits hold any time. */
    clock_mult = (uint64_t)(((unsigned __int128)(ns1 - ns0) << SHIFT) / (cycles1 - cycles0));
}

static uint64_t cycles_ns(void)
{
    return (uint64_t)(((unsigned __int128)__rdtsc() * clock_mult) >> SHIFT);
}
#else
static void calibrate(void)
{
}

static uint64_t cycles_ns(void)
{
    return 0;
}
#endif

void sirq_host_clock_init(void)
{
    pthread_once(&clock_once, calibrate);
}

uint64_t sirq_host_now_ns(const struct sirq_cpu *cpu)
{
    (void)cpu;
    return clock_mult != 0 ? cycles_ns() : monotonic_ns();
}

/*
 * What the tick of `lc` would have found.  need_resched is set only inside a run: outside
 * of one the kernel's scheduler does as it likes anyway.  As in the kernel a tick looks at
 * the time used, and does not by itself end what it meets: a run that began just before it
 * goes on, one that has used up its slice while somebody else is runnable gives way.  Slices
 * end at ticks: at 250 Hz a run has 3 to 7 ms.  (Wake-ups set it at once: sirq_wake().)
 */
static void tick_cpu(struct live_cpu *lc, uint64_t now_ns)
{
    struct sirq_cpu *cpu = lc->cpu;
    uint64_t start_ns = __atomic_load_n(&cpu->run_start_ns, __ATOMIC_RELAXED);
    bool running = start_ns != 0;

    if (running && now_ns >= start_ns + SLICE_NS && sirq_host_others_runnable(lc))
        __atomic_store_n(&cpu->need_resched, 1, __ATOMIC_RELAXED);
    if (sirq_timer_next(cpu) <= now_ns / lc->live->core.tick_ns ||
        (!running && sirq_pending(cpu) != 0)) {
        __atomic_store_n(&lc->tick_due, 1, __ATOMIC_RELEASE);
        sirq_host_kick(cpu);
    }
    sirq_watchdog(cpu, now_ns);
}

/* Did an interrupt wait from tick to tick, and none was taken? */
static bool unanswered(struct live_cpu *lc)
{
    uint64_t taken = __atomic_load_n(&lc->cpu->stats.hardirqs, __ATOMIC_RELAXED);
    bool waits = taken == lc->taken && sirq_host_interrupt_due(lc) &&
                 __atomic_load_n(&lc->cpu->run_start_ns, __ATOMIC_RELAXED) == 0;

    lc->taken = taken;
    return waits;
}

/*
 * Poll delivery leaves interrupts to the safe points of threads that are awake.  When none
 * came by between two ticks (they compute, or sleep outside the library), irq/N takes over.
 * Signal delivery leaves them to the target, which may block the signals, or be held up:
 * then ksoftirqd takes over.
 */
static void check_overdue(struct live_cpu *lc)
{
    bool overdue = false;

    if (lc->live->delivery == SIRQ_DELIVER_POLL)
        overdue = __atomic_load_n(&lc->kicked, __ATOMIC_RELAXED);
    else if (lc->live->delivery == SIRQ_DELIVER_SIGNAL)
        overdue = unanswered(lc);
    lc->unanswered = overdue ? lc->unanswered + 1 : 0;
    if (lc->unanswered < OVERDUE_TICKS)
        return;
    if (lc->live->delivery == SIRQ_DELIVER_POLL)
        sirq_host_ring_overdue(lc);
    else
        sirq_host_take_over(lc);
}

/* A CPU that was given back: what still comes in for it is run by somebody's ksoftirqd. */
static void tick_offline(struct live_cpu *lc, uint64_t now_ns)
{
    struct sirq_cpu *cpu = lc->cpu;

    if (sirq_timer_next(cpu) <= now_ns / lc->live->core.tick_ns)
        sirq_raise(cpu, SIRQ_TIMER);
    if (sirq_pending(cpu) != 0)
        sirq_ksoftirqd_wake(cpu);
}

static void tick_one(struct live_cpu *lc, uint64_t now_ns)
{
    if (!live_up(lc)) {
        tick_offline(lc, now_ns);
        return;
    }
    check_overdue(lc);
    tick_cpu(lc, now_ns);
}

static void *clock_main(void *arg)
{
    struct sirq_live *live = arg;
    struct timespec tick = {.tv_nsec = (long)(live->core.tick_ns % 1000000000u),
                            .tv_sec = (time_t)(live->core.tick_ns / 1000000000u)};

    sirq_host_own_thread = true;
    while (sirq_host_futex_wait(&live->stop, 0, &tick) == -ETIMEDOUT ||
           !__atomic_load_n(&live->stop, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&live->config_lock);
        for (unsigned i = 0; i < live->ncpus; i++)
            tick_one(&live->cpus[i], sirq_host_now_ns(NULL));
        pthread_mutex_unlock(&live->config_lock);
        sirq_host_report_deliver(live);
    }
    return NULL;
}

/* Off the engine's CPUs where there are others: a flood must not delay the watchdog. */
static void place_clock(struct sirq_live *live)
{
    cpu_set_t set;

    if (sched_getaffinity(getpid(), sizeof(set), &set) != 0)
        return;
    for (unsigned i = 0; i < live->ncpus; i++)
        if (live_up(&live->cpus[i]))
            CPU_CLR(live->cpus[i].number, &set);
    if (CPU_COUNT(&set) > 0)
        pthread_setaffinity_np(live->clock, sizeof(set), &set);
}

int sirq_host_clock_start(struct sirq_live *live)
{
    const struct sirq_sched fifo = {.policy = SCHED_FIFO, .priority = 1};
    struct sched_param param = {.sched_priority = fifo.priority};
    int ret = sirq_host_spawn(&live->clock, "sirq-clock", UINT32_MAX, clock_main, live);

    if (ret != 0)
        return ret;
    live->clock_up = true;
    place_clock(live);
    pthread_setschedparam(live->clock, fifo.policy, &param); /* where permitted */
    return 0;
}

void sirq_host_clock_stop(struct sirq_live *live)
{
    if (!live->clock_up)
        return;
    __atomic_store_n(&live->stop, 1, __ATOMIC_RELEASE);
    sirq_host_futex_wake(&live->stop, 1);
    pthread_join(live->clock, NULL);
    live->clock_up = false;
}
