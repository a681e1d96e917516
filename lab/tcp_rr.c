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

#define DEFAULT_SECONDS 50.0 /* of all seeds together */

static const unsigned rates_hz[] = {1000, 100};
static const struct sirq_world *const worlds[] = {&sirq_world_sim, NULL};

enum { P50, P90, P99, MEAN, STDDEV, MIN, MAX, RT, SAMPLES, THROUGHPUT, LONGEST, NMETRICS };

static const struct {
    const char *name, *unit, *title;
} metrics[NMETRICS] = {
    [P50] = {"p50_latency", "us", "p50 us"},
    [P90] = {"p90_latency", "us", "p90 us"},
    [P99] = {"p99_latency", "us", "p99 us"},
    [MEAN] = {"mean_latency", "us", "mean us"},
    [STDDEV] = {"stddev_latency", "us", "sd us"},
    [MIN] = {"min_latency", "us", "min us"},
    [MAX] = {"max_latency", "us", "max us"},
    [RT] = {"rt_latency", "us", "rt us"},
    [SAMPLES] = {"transactions", "transactions", "samples"},
    [THROUGHPUT] = {"throughput", "transactions/s", "all/s"},
    [LONGEST] = {"longest_run", "ms", "longest run ms"},
};

struct tcp_rr {
    const struct sirq_lab_options *options;
    struct sirq_machine *machine;
    struct sirq_sim_rr_figures *figures; /* one per seed */
    struct sirq_sim_rr_pool pool;        /* of all seeds of a row */
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

/* Newton's; the C library's would do as well, but is one more to link. */
static double square_root(double x)
{
    double r = x > 1 ? x : 1;

    for (unsigned i = 0; i < 200; i++)
        r = (r + x / r) / 2;
    return r;
}

static void latencies(const struct sirq_sim_rr_pool *pool, double *value)
{
    double n = (double)pool->hist.count, mean, variance;

    value[SAMPLES] = n;
    if (pool->hist.count == 0)
        return;
    mean = pool->sum_ns / n;
    variance = pool->squares_ns / n - mean * mean;
    value[P50] = (double)sirq_hist_quantile(&pool->hist, 0.5) / 1e3;
    value[P90] = (double)sirq_hist_quantile(&pool->hist, 0.9) / 1e3;
    value[P99] = (double)sirq_hist_quantile(&pool->hist, 0.99) / 1e3;
    value[MEAN] = mean / 1e3;
    value[STDDEV] = square_root(variance > 0 ? variance : 0) / 1e3;
    value[MIN] = (double)pool->min_ns / 1e3;
    value[MAX] = (double)pool->max_ns / 1e3;
    value[RT] = pool->seconds * 1e6 / n;
}

/* A client that got nothing at all has no latency: those figures are left out. */
static void add_figures(const struct tcp_rr *rr, struct sirq_row *row)
{
    double value[NMETRICS] = {0};

    latencies(&rr->pool, value);
    value[THROUGHPUT] = median(rr, offsetof(struct sirq_sim_rr_figures, throughput));
    value[LONGEST] = median(rr, offsetof(struct sirq_sim_rr_figures, longest_run_ms));
    for (unsigned m = value[SAMPLES] > 0 ? 0 : SAMPLES; m < NMETRICS; m++)
        sirq_row_add(row, metrics[m].unit, value[m], "%s", metrics[m].name);
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
    memset(&rr->pool, 0, sizeof(rr->pool));
    sirq_progress_step(&rr->progress, "%s, %s", row->policy, row->setup);
    for (unsigned i = 0; i < seeds && !rc; i++) {
        const struct sirq_sim_rr run = {
            .machine = rr->machine,
            .policy = policy,
            .hz = hz,
            .seed = rr->options->seed + i,
            .pool = &rr->pool,
            .ns = (uint64_t)(seconds * 1e9) / seeds,
        };

        rc = sirq_sim_rr_run(&run, &rr->figures[i], err);
    }
    row->skipped = rc != 0;
    if (!rc)
        add_figures(rr, row);
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
