/* SPDX-License-Identifier: MIT */
/*
 * The benchmarks: what a run measures and how figures are kept.
 *
 * Everything is measured in several runs, and within a run one subject after the other (or
 * one round of each after the other), so that a machine that drifts drifts for all of them.
 * A ratio is formed within each run; what is reported is its median, smallest and largest.
 * It is made so that more than 1 is good for softirq, whatever the unit.
 *
 * Every part ends in time on a machine that is busy with something else; it then has fewer
 * runs, and at least one.
 */
#ifndef SIRQ_BENCH_H
#define SIRQ_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sirq/sirq.h>

#define BENCH_RUNS_MAX 32u
#define BENCH_ROWS_MAX 96u

struct bench_options {
    unsigned runs;   /* of each part */
    unsigned scale;  /* iterations, relative to the quick run */
    unsigned cpu;    /* of the engine and of every consumer */
    unsigned other;  /* of producers on another CPU */
    bool have_other; /* there is one */
    double seconds;  /* each part ends its current run and stops after as long */
    int priority;    /* SCHED_FIFO of producers and consumers, 0: SCHED_OTHER */
    const char *csv; /* null: none */
};

/* One figure per run. */
struct bench_series {
    double value[BENCH_RUNS_MAX];
    unsigned n;
};

void bench_add(struct bench_series *series, double value);
double bench_median(const struct bench_series *series);

/* Sort `values` and return the middle one; n > 0. */
double bench_median_of(double *values, size_t n);

enum bench_better { BENCH_LESS, BENCH_MORE };

/*
 * One line of the report.  `theirs` null: for the record, without a peer.  The strings are
 * kept by reference, the series are copied.
 */
void bench_row(const char *bench, const char *subject, const char *peer, const char *metric,
               const char *unit, enum bench_better better, const struct bench_series *ours,
               const struct bench_series *theirs);
void bench_print(FILE *out);
int bench_write_csv(const char *path);

/* CLOCK_MONOTONIC, ns. */
uint64_t bench_now_ns(void);

/* Pin the calling thread; ends the program when that fails. */
void bench_pin(unsigned cpu);

/* Has the part that began at `start_ns` used this share of its time? */
bool bench_late(const struct bench_options *options, uint64_t start_ns, double share);

/*
 * Run fn(options) on a thread of its own, under the scheduling of the run, while an engine
 * is up on options->cpu.  Threads that it starts inherit the scheduling.
 */
void bench_with_engine(const struct bench_options *options,
                       void (*fn)(const struct bench_options *options, struct sirq_live *live));

/* "what: why" on stderr, exit 1. */
void bench_die(const char *what, int error) __attribute__((noreturn));

/* An engine; ends the program when it cannot start. */
struct sirq_live *bench_engine(const struct bench_options *options, const cpu_set_t *cpus);

/* The parts, in the order of the report. */
void bench_dispatch(const struct bench_options *options);
void bench_handoff(const struct bench_options *options);
void bench_items(const struct bench_options *options);
void bench_packet(const struct bench_options *options);
void bench_wire(const struct bench_options *options);
void bench_forward(const struct bench_options *options);
void bench_memory(const struct bench_options *options);
void bench_sim(const struct bench_options *options);

#endif
