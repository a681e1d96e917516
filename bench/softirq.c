/* SPDX-License-Identifier: MIT */
/*
 * softirq as a vehicle: a lock-free list drained by a vector of its own.  Who finds the list
 * empty raises the vector; who does not knows that it is raised.  From a thread of the same
 * CPU, outside any section, the raise wakes ksoftirqd; from another CPU it kicks.
 */
#include <errno.h>

#include "bench.h"
#include "vehicle.h"

static struct sirq_live *engine;
static struct sirq_cpu *target;
static struct sirq_llist items;
static int vector;

static void run_items(struct sirq_cpu *cpu, void *data)
{
    (void)cpu;
    (void)data;
    bench_run_chain(sirq_llist_take(&items));
}

void bench_vehicle_engine(struct sirq_live *live)
{
    engine = live;
}

static void start(const struct bench_vehicle *self, unsigned cpu)
{
    (void)self;
    target = sirq_live_cpu(engine, cpu);
    if (target == NULL)
        bench_die("softirq: the engine does not have the CPU", EINVAL);
    vector = sirq_open_user(sirq_live_core(engine), "BENCH", run_items, NULL);
    if (vector < 0)
        bench_die("softirq: no vector", -vector);
}

static void submit(const struct bench_vehicle *self, struct bench_item *item, bool same_cpu)
{
    (void)self;
    if (!sirq_llist_push(&items, &item->link.node))
        return;
    if (same_cpu)
        sirq_raise(target, (unsigned)vector);
    else
        sirq_raise_remote(target, (unsigned)vector);
}

static void stop(const struct bench_vehicle *self)
{
    (void)self;
    target = NULL; /* the vector goes with its engine */
}

const struct bench_vehicle bench_softirq = {
    .name = "softirq", .start = start, .submit = submit, .stop = stop};

const struct bench_vehicle *const bench_vehicles[] = {
    &bench_softirq,
#ifdef BENCH_UV
    &bench_uv,
    &bench_uv_mutex,
#endif
    &bench_epoll,
    &bench_epoll_mutex,
#ifdef BENCH_URCU
    &bench_call_rcu,
#endif
#ifdef BENCH_URCU_WORKQUEUE
    &bench_urcu_wq,
#endif
    NULL,
};
