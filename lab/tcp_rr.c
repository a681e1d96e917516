/* SPDX-License-Identifier: MIT */
/*
 * tcp-rr: what does a request cost a client that shares its CPU with the softirqs of 200
 * others?
 *
 * Published by E. Dumazet on netdev, January 2013 (lab/published, source 003), with and
 * without the limit of 2 ms.  Run at HZ 1000 and 100: the longest softirq run follows HZ.
 * Simulated only: it takes a second machine and the kernel of those days.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment.h"
#include "table.h"
#include "world/sim/rr.h"

#define DEFAULT_SECONDS 100.0 /* of all seeds together */

static const unsigned rates_hz[] = {1000, 100};
static const struct sirq_world *const worlds[] = {&sirq_world_sim, NULL};

static const struct {
    const char *name, *unit, *title;
    size_t at;
} metrics[] = {
#define METRIC(name, unit, title, field)                               \
    {                                                                  \
        name, unit, title, offsetof(struct sirq_sim_rr_figures, field) \
    }
    METRIC("p50_latency", "us", "p50 us", p50),
    METRIC("p90_latency", "us", "p90 us", p90),
    METRIC("p99_latency", "us", "p99 us", p99),
    METRIC("mean_latency", "us", "mean us", mean),
    METRIC("stddev_latency", "us", "sd us", stddev),
    METRIC("min_latency", "us", "min us", min),
    METRIC("max_latency", "us", "max us", max),
    METRIC("rt_latency", "us", "rt us", rt_latency),
    METRIC("throughput", "transactions/s", "all trans/s", throughput),
    METRIC("longest_run", "ms", "longest run ms", longest_run_ms),
#undef METRIC
};
#define NMETRICS (sizeof(metrics) / sizeof(metrics[0]))

struct tcp_rr {
    const struct sirq_lab_options *options;
    struct sirq_machine *machine;
    struct sirq_sim_rr_figures *figures; /* one per seed */
    struct sirq_progress progress;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(const struct tcp_rr *rr, size_t at)
{
    unsigned n = rr->machine->run.seeds;
    double value[SIRQ_MACHINE_SEEDS];

    for (unsigned i = 0; i < n; i++)
        memcpy(&value[i], (const char *)&rr->figures[i] + at, sizeof(value[i]));
    qsort(value, n, sizeof(value[0]), by_value);
    return (value[(n - 1) / 2] + value[n / 2]) / 2;
}

static int run_row(struct tcp_rr *rr, struct sirq_row *row, const struct sirq_policy *policy,
                   unsigned hz, struct sirq_error *err)
{
    double seconds = rr->options->seconds > 0 ? rr->options->seconds : DEFAULT_SECONDS;
    unsigned seeds = rr->machine->run.seeds;
    int rc = 0;

    snprintf(row->setup, sizeof(row->setup), "%u antagonists HZ=%u", rr->machine->rr->antagonists,
             hz);
    row->policy = policy->name;
    row->comparable = true;
    sirq_progress_step(&rr->progress, "%s, %s", row->policy, row->setup);
    for (unsigned i = 0; i < seeds && !rc; i++) {
        const struct sirq_sim_rr run = {
            .machine = rr->machine,
            .policy = policy,
            .hz = hz,
            .seed = rr->options->seed + i,
            .ns = (uint64_t)(seconds * 1e9) / seeds,
        };

        rc = sirq_sim_rr_run(&run, &rr->figures[i], err);
    }
    row->skipped = rc != 0;
    for (unsigned m = 0; m < NMETRICS && !rc; m++)
        sirq_row_add(row, metrics[m].unit, median(rr, metrics[m].at), "%s", metrics[m].name);
    return rc;
}

static int run_all(struct tcp_rr *rr, struct sirq_results *results, struct sirq_error *err)
{
    const struct sirq_lab_options *options = rr->options;
    int rc = 0;

    sirq_progress_start(&rr->progress, 2 * options->npolicies, 5000000000u);
    for (unsigned h = 0; h < 2 && !rc; h++) {
        for (unsigned p = 0; p < options->npolicies && !rc; p++) {
            struct sirq_row *row = sirq_results_row(results);

            rc = row ? run_row(rr, row, options->policy[p], rates_hz[h], err)
                     : sirq_fail(err, ENOMEM, "out of memory");
        }
    }
    sirq_progress_clear(&rr->progress);
    return rc;
}

/* ---- report --------------------------------------------------------------------------- */

/* What was published for the row, and how far off we are; nothing where nothing was. */
static void put_published(struct sirq_lab_table *table, const struct sirq_row *row)
{
    double published, value;
    bool any = false;

    for (unsigned m = 0; m < NMETRICS; m++)
        any = any || sirq_published("tcp_rr", row->setup, row->policy, metrics[m].name, &published);
    for (unsigned line = 0; line < 2 && any; line++) {
        if (sirq_lab_table_row(table))
            return;
        sirq_lab_table_cell(table, 0, "%s", line ? "  error %" : "  published");
        for (unsigned m = 0; m < NMETRICS; m++) {
            if (!sirq_published("tcp_rr", row->setup, row->policy, metrics[m].name, &published) ||
                !sirq_row_get(row, metrics[m].name, &value))
                continue;
            if (line)
                sirq_lab_table_cell(table, m + 2, "%+.1f", 100 * (value / published - 1));
            else
                sirq_lab_table_cell(table, m + 2, "%.0f", published);
        }
    }
}

static void report(const struct sirq_results *results, bool partial, FILE *out)
{
    struct sirq_lab_table table;
    double value;

    sirq_lab_table_init(&table);
    sirq_lab_table_column(&table, "policy", true, 0);
    sirq_lab_table_column(&table, "setup", true, 1);
    for (unsigned m = 0; m < NMETRICS; m++)
        sirq_lab_table_column(&table, metrics[m].title, false, 0);
    for (unsigned i = 0; i < results->nrows; i++) {
        const struct sirq_row *row = results->rows[i];

        if (row->skipped || sirq_lab_table_row(&table))
            continue;
        sirq_lab_table_cell(&table, 0, "%s", row->policy);
        sirq_lab_table_cell(&table, 1, "%s", row->setup);
        for (unsigned m = 0; m < NMETRICS; m++) {
            if (sirq_row_get(row, metrics[m].name, &value))
                sirq_lab_table_cell(&table, m + 2, "%.*f", value < 100 ? 2 : 0, value);
        }
        put_published(&table, row);
    }
    if (partial)
        fputs("Stopped: what follows is partial.\n", out);
    sirq_lab_table_print(&table, out, sirq_lab_table_width(out));
    sirq_lab_table_free(&table);
}

static int tcp_rr_run(const struct sirq_lab_options *options, struct sirq_results *results,
                      struct sirq_error *err)
{
    struct tcp_rr rr = {.options = options};
    int rc = options->machine ? sirq_machine_load(&rr.machine, options->machine, err)
                              : sirq_machine_shipped(&rr.machine, options->experiment->name, err);

    if (rc)
        return rc;
    if (!rr.machine->rr) {
        sirq_machine_free(rr.machine);
        return sirq_fail(err, EINVAL, "%s: rr: is missing; tcp-rr needs it", options->machine);
    }
    rr.figures = calloc(rr.machine->run.seeds, sizeof(*rr.figures));
    rc = rr.figures ? run_all(&rr, results, err) : sirq_fail(err, ENOMEM, "out of memory");
    report(results, rc == -EINTR, stdout);
    free(rr.figures);
    sirq_machine_free(rr.machine);
    return rc;
}

const struct sirq_experiment sirq_tcp_rr = {
    .name = "tcp-rr",
    .csv_name = "tcp_rr",
    .summary = "a request and its answer beside 200 others on one CPU's softirqs",
    .worlds = worlds,
    .run = tcp_rr_run,
};
