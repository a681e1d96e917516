/* SPDX-License-Identifier: MIT */
/*
 * Raise + inline dispatch: a vector is raised inside a section, and its action has run when
 * the section's end returns.
 *
 * No peer does this: to them "later" is another turn of a loop or another thread.  The
 * nearest are
 *   direct call     what deferring cannot beat: the floor
 *   libuv           uv_async_send() and one uv_run(NOWAIT) of that loop, on one thread
 *   eventfd+epoll   write, epoll_wait without waiting, read, on one thread
 *   call_rcu        the enqueue alone; it runs elsewhere, up to 10 ms later, untimed
 */
#include <errno.h>

#include "bench.h"
#include "vehicle.h"

#define LOOP_NS 2000000.0 /* of one measurement, about, per scale */

uint64_t bench_ran;

static struct sirq_cpu *cpu;
static unsigned vector;

static void action(struct sirq_cpu *on, void *data)
{
    (void)on;
    (void)data;
    bench_ran++;
}

static void irq_loop(unsigned n)
{
    while (n-- > 0) {
        sirq_hardirq_enter(cpu);
        sirq_raise(cpu, vector);
        sirq_hardirq_exit(cpu);
    }
}

static void bh_loop(unsigned n)
{
    while (n-- > 0) {
        sirq_bh_disable(cpu);
        sirq_raise(cpu, vector);
        sirq_bh_enable(cpu);
    }
}

static void call_loop(unsigned n)
{
    sirq_action_fn volatile fn = action;

    while (n-- > 0)
        fn(cpu, NULL);
}

static const struct bench_inline irq = {.name = "irq section", .loop = irq_loop};
static const struct bench_inline bh = {.name = "bh section", .loop = bh_loop};
static const struct bench_inline call = {
    .name = "direct call", .metric = "through a pointer", .loop = call_loop};

static const struct bench_inline *const contenders[] = {
    &irq,
    &bh,
    &call,
#ifdef BENCH_UV
    &bench_uv_inline,
#endif
    &bench_epoll_inline,
#ifdef BENCH_URCU
    &bench_rcu_inline,
#endif
};
#define NOURS 2u
#define NCONTENDERS (sizeof(contenders) / sizeof(contenders[0]))

/* ns of a turn.  That every turn ran is checked where it runs at once. */
static double measure(const struct bench_inline *one, unsigned n)
{
    uint64_t before = bench_ran, start, end;

    start = bench_now_ns();
    one->loop(n);
    end = bench_now_ns();
    if (one->settle != NULL)
        one->settle();
    if (bench_ran - before != n)
        bench_die(one->name, EPROTO);
    return (double)(end - start) / n;
}

/* Turns that take about LOOP_NS; what settles later has its bound. */
static unsigned turns(const struct bench_inline *one, unsigned scale)
{
    double ns = LOOP_NS * scale / measure(one, 1000);

    if (one->settle != NULL || ns < 1000)
        return 4000;
    return (unsigned)ns;
}

static void report(const struct bench_series *series)
{
    for (unsigned ours = 0; ours < NOURS; ours++)
        for (unsigned i = NOURS; i < NCONTENDERS; i++)
            bench_row("dispatch", contenders[ours]->name, contenders[i]->name,
                      contenders[i]->metric, "ns", BENCH_LESS, &series[ours], &series[i]);
}

static void compete(const struct bench_options *options, struct sirq_live *live)
{
    struct bench_series series[NCONTENDERS] = {0};
    uint64_t start = bench_now_ns();
    unsigned n[NCONTENDERS];

    cpu = sirq_live_cpu(live, options->cpu);
    vector = (unsigned)sirq_open_user(sirq_live_core(live), "BENCH", action, NULL);
    if (sirq_live_thread_register(live, (int)options->cpu, NULL, NULL) != 0)
        bench_die("cannot register the thread", EINVAL);
    for (unsigned i = 0; i < NCONTENDERS; i++) {
        if (contenders[i]->start != NULL)
            contenders[i]->start();
        n[i] = turns(contenders[i], options->scale);
    }
    for (unsigned run = 0; run < options->runs && !bench_late(options, start, 1); run++)
        for (unsigned i = 0; i < NCONTENDERS; i++)
            bench_add(&series[i], measure(contenders[i], n[i]));
    for (unsigned i = 0; i < NCONTENDERS; i++)
        if (contenders[i]->stop != NULL)
            contenders[i]->stop();
    sirq_live_thread_unregister(live);
    report(series);
}

void bench_dispatch(const struct bench_options *options)
{
    bench_with_engine(options, compete);
}
