/* SPDX-License-Identifier: MIT */
/*
 * The simulator's cost of an event against the size of the machine.  Tasks work for 1 to
 * 21 us and sleep for up to 300 us, wherever the scheduler puts them: wake-ups, switches,
 * pulls and ticks are what a large machine has more of.  The peer is what the cost would be
 * if it grew from the smallest machine's with log2(CPUs + tasks).
 */
#include "sim.h"

#include <stdlib.h>

#define SCALE_EVENTS UINT64_C(400000)
#define STEP_NS UINT64_C(1000000)

static const struct machine {
    const char *name;
    unsigned cpus, tasks;
    double log2;
} machines[] = {
    {"2 CPUs, 16 tasks", 2, 16, 4.170},      {"16 CPUs, 128 tasks", 16, 128, 7.170},
    {"64 CPUs, 512 tasks", 64, 512, 9.170},  {"256 CPUs, 2000 tasks", 256, 2000, 11.140},
    {"2 CPUs, 2000 tasks", 2, 2000, 10.967},
};
#define NMACHINES (sizeof(machines) / sizeof(machines[0]))

static void periodic(struct sirq_sim_task *task, void *arg)
{
    struct sirq_sim *sim = sirq_sim_of(task);

    (void)arg;
    for (;;) {
        sirq_sim_spend(sim, 1000 + sirq_sim_random(sim, 20000));
        sirq_sim_sleep_until(task, sirq_sim_now_ns(sim) + 1 + sirq_sim_random(sim, 300000));
    }
}

static double ns_per_event(const struct machine *machine)
{
    const struct sirq_sim_task_config task = {.name = "periodic", .fn = periodic, .cpu = -1};
    struct sirq_sim *sim = bench_world(machine->cpus, "time2ms");
    struct sirq_error err;
    uint64_t start, events;

    for (unsigned i = 0; i < machine->tasks; i++)
        bench_must(sirq_sim_spawn(sim, &task, NULL, &err), &err);
    sirq_sim_run(sim, 2 * STEP_NS);
    events = bench_events(sim);
    start = bench_now_ns();
    while (bench_events(sim) - events < SCALE_EVENTS)
        sirq_sim_run(sim, sirq_sim_now_ns(sim) + STEP_NS);
    start = bench_now_ns() - start;
    events = bench_events(sim) - events;
    sirq_sim_destroy(sim);
    return (double)start / (double)events;
}

void bench_sim_scale(const struct bench_options *options)
{
    struct bench_series ns[NMACHINES] = {0}, logs[NMACHINES] = {0};
    uint64_t begin = bench_now_ns();

    for (unsigned i = 0; i < options->runs && (i == 0 || !bench_late(options, begin, 0.4)); i++) {
        for (unsigned m = 0; m < NMACHINES; m++) {
            bench_add(&ns[m], ns_per_event(&machines[m]));
            bench_add(&logs[m], ns[0].value[i] * machines[m].log2 / machines[0].log2);
        }
    }
    for (unsigned m = 0; m < NMACHINES; m++)
        bench_row("sim", machines[m].name, "log2(CPUs + tasks)", "event", "ns", BENCH_LESS, &ns[m],
                  m > 0 ? &logs[m] : NULL);
}
