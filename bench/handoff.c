/* SPDX-License-Identifier: MIT */
/*
 * Hand-off to a sleeping consumer: from just before the submit to the item running.
 *
 * All consumers live at once and sleep; a round goes to each in turn.  On another CPU the
 * producer watches for the item, on the same CPU it sleeps on a futex that the item wakes,
 * as somebody who waits for an answer does.  Between rounds it sleeps, so that every
 * consumer has gone back to sleep; the other CPU then has gone idle as well.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "vehicle.h"

#define MAX_VEHICLES 8u
#define ROUNDS 60u     /* per run and scale */
#define SLOW_ROUNDS 2u /* of a vehicle with milliseconds of latency */
#define PAUSE_NS 60000
#define LOST_NS UINT64_C(2000000000)

static struct {
    struct bench_item item;
    uint64_t ran_ns;
    uint32_t done;
    bool same_cpu;
} probe;

static void pause_ns(long ns)
{
    struct timespec ts = {.tv_nsec = ns};

    nanosleep(&ts, NULL);
}

static void on_item(struct bench_item *item)
{
    (void)item;
    probe.ran_ns = bench_now_ns();
    __atomic_store_n(&probe.done, 1, __ATOMIC_SEQ_CST);
    if (probe.same_cpu)
        syscall(SYS_futex, &probe.done, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void await(uint64_t start)
{
    const struct timespec second = {.tv_sec = 1};

    while (!__atomic_load_n(&probe.done, __ATOMIC_ACQUIRE)) {
        if (probe.same_cpu)
            syscall(SYS_futex, &probe.done, FUTEX_WAIT_PRIVATE, 0, &second, NULL, 0);
        if (bench_now_ns() - start > LOST_NS)
            bench_die("hand-off: an item was lost", ETIMEDOUT);
    }
}

static double round_trip(const struct bench_vehicle *vehicle)
{
    uint64_t start;

    pause_ns(PAUSE_NS);
    __atomic_store_n(&probe.done, 0, __ATOMIC_RELAXED);
    probe.item.run = on_item;
    start = bench_now_ns();
    vehicle->submit(vehicle, &probe.item, probe.same_cpu);
    await(start);
    return (double)(probe.ran_ns - start);
}

struct contest {
    const struct bench_vehicle *vehicle[MAX_VEHICLES];
    struct bench_series series[MAX_VEHICLES];
    unsigned n;
};

/* At least one round, and no more than fit into the run's share of time. */
static void one_run(struct contest *contest, const struct bench_options *options)
{
    static double ns[MAX_VEHICLES][ROUNDS * 8];
    unsigned count[MAX_VEHICLES] = {0}, rounds = ROUNDS * options->scale;
    uint64_t start = bench_now_ns();

    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < contest->n; i++)
            if (!contest->vehicle[i]->slow || round < SLOW_ROUNDS)
                ns[i][count[i]++] = round_trip(contest->vehicle[i]);
        if (bench_late(options, start, 0.5 / options->runs))
            break;
    }
    for (unsigned i = 0; i < contest->n; i++)
        bench_add(&contest->series[i], bench_median_of(ns[i], count[i]));
}

static void placement(const struct bench_options *options, struct contest *contest, bool same_cpu)
{
    const char *name = same_cpu ? "handoff same CPU" : "handoff other CPU";
    uint64_t start = bench_now_ns();

    bench_pin(same_cpu ? options->cpu : options->other);
    probe.same_cpu = same_cpu;
    for (unsigned i = 0; i < contest->n; i++)
        contest->series[i].n = 0;
    for (unsigned run = 0; run < options->runs && !bench_late(options, start, 0.5); run++)
        one_run(contest, options);
    for (unsigned i = 1; i < contest->n; i++)
        bench_row(name, "softirq", contest->vehicle[i]->name, "median latency", "ns", BENCH_LESS,
                  &contest->series[0], &contest->series[i]);
}

static void produce(const struct bench_options *options, struct sirq_live *live)
{
    struct contest contest = {0};

    prctl(PR_SET_TIMERSLACK, 1);
    bench_vehicle_engine(live);
    for (unsigned i = 0; bench_vehicles[i] != NULL; i++)
        if (!bench_vehicles[i]->idiomatic)
            contest.vehicle[contest.n++] = bench_vehicles[i];
    for (unsigned i = 0; i < contest.n; i++)
        contest.vehicle[i]->start(contest.vehicle[i], options->cpu);
    placement(options, &contest, true);
    if (options->have_other)
        placement(options, &contest, false);
    for (unsigned i = 0; i < contest.n; i++)
        contest.vehicle[i]->stop(contest.vehicle[i]);
}

void bench_handoff(const struct bench_options *options)
{
    bench_with_engine(options, produce);
}
