/* SPDX-License-Identifier: MIT */
/*
 * Items per second from a thread on another CPU through a busy consumer: from the first
 * submit to the last item having run.
 *
 * Items are there before the clock starts (nobody allocates), one cache line each, and each
 * is submitted once a run, so that a queue may grow as long as it likes: call_rcu, which
 * collects for 10 ms, would otherwise be held back by a window.  The work of an item is to
 * be counted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "vehicle.h"

#define MAX_VEHICLES 8u
#define ITEMS 100000u /* per scale */
#define LOST_NS UINT64_C(10000000000)

_Static_assert(sizeof(struct bench_item) <= 64, "one cache line an item");

static uint64_t ran __attribute__((aligned(64)));

static void on_item(struct bench_item *item)
{
    (void)item;
    __atomic_store_n(&ran, ran + 1, __ATOMIC_RELEASE); /* one consumer at a time */
}

/* Items per second. */
static double measure(const struct bench_vehicle *vehicle, char *items, unsigned n)
{
    uint64_t start, now;

    __atomic_store_n(&ran, 0, __ATOMIC_RELAXED);
    start = bench_now_ns();
    for (unsigned i = 0; i < n; i++) {
        struct bench_item *item = (struct bench_item *)(void *)(items + (size_t)i * 64);

        item->run = on_item;
        vehicle->submit(vehicle, item, false);
    }
    do {
        now = bench_now_ns();
        if (now - start > LOST_NS)
            bench_die("items: some were lost", ETIMEDOUT);
    } while (__atomic_load_n(&ran, __ATOMIC_ACQUIRE) < n);
    return (double)n * 1e9 / (double)(now - start);
}

static void report(const struct bench_series *series, unsigned nvehicles)
{
    for (unsigned i = 1; i < nvehicles; i++)
        bench_row("items", "softirq", bench_vehicles[i]->name, bench_vehicles[i]->note, "items/s",
                  BENCH_MORE, &series[0], &series[i]);
}

static void produce(const struct bench_options *options, struct sirq_live *live)
{
    struct bench_series series[MAX_VEHICLES] = {0};
    unsigned n = ITEMS * options->scale, nvehicles = 0;
    const struct timespec pause = {.tv_nsec = 1000000};
    char *items = aligned_alloc(64, (size_t)n * 64);
    uint64_t start = bench_now_ns();

    if (items == NULL)
        bench_die("items", ENOMEM);
    memset(items, 0, (size_t)n * 64);
    bench_pin(options->other);
    bench_vehicle_engine(live);
    for (; bench_vehicles[nvehicles] != NULL; nvehicles++)
        bench_vehicles[nvehicles]->start(bench_vehicles[nvehicles], options->cpu);
    for (unsigned run = 0; run < options->runs && !bench_late(options, start, 1); run++)
        for (unsigned i = 0; i < nvehicles; i++) {
            nanosleep(&pause, NULL);
            bench_add(&series[i], measure(bench_vehicles[i], items, n));
        }
    for (unsigned i = 0; i < nvehicles; i++)
        bench_vehicles[i]->stop(bench_vehicles[i]);
    free(items);
    report(series, nvehicles);
}

void bench_items(const struct bench_options *options)
{
    if (!options->have_other)
        fprintf(stderr, "items: left out: only one CPU may be used\n");
    else
        bench_with_engine(options, produce);
}
