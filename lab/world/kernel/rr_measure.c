/* SPDX-License-Identifier: MIT */
/* Figures of tcp-rr, by the names of its file, and their table. */
#include <string.h>

#include "cells.h"
#include "rr.h"

int sirq_kernel_rr_sample(const struct sirq_kernel_rr *rr, struct sirq_kernel_rr_sample *sample,
                          struct sirq_error *err)
{
    int rc = sirq_kernel_counters_read(&sample->count, "/proc", rr->session.cpus.flooded);

    if (rc)
        return sirq_fail(err, -rc, "--world kernel: counters in /proc: %s", strerror(-rc));
    sample->wall_ns = sirq_lab_now_ns();
    sample->transactions = sirq_rr_transactions(&rr->others);
    sample->ksoftirqd_ns = sirq_kernel_thread_ns(rr->knobs.ksoftirqd);
    sample->client_ns = sirq_lab_thread_cpu_ns(rr->client.thread);
    sample->napi_ns = 0;
    for (unsigned i = 0; i < rr->knobs.n_napi; i++)
        sample->napi_ns += sirq_kernel_thread_ns(rr->knobs.napi[i]);
    return 0;
}

static void add_cpu(struct sirq_row *row, const char *name, uint64_t begin, uint64_t end,
                    double seconds)
{
    sirq_row_add(row, "percent", end > begin ? (double)(end - begin) / 1e7 / seconds : 0, "%s",
                 name);
}

void sirq_kernel_rr_measure(struct sirq_row *row, const struct sirq_kernel_rr *rr,
                            const struct sirq_kernel_rr_sample *begin,
                            const struct sirq_kernel_rr_sample *end)
{
    const struct sirq_dist *latency = &rr->client.latency;
    double seconds = (double)(end->wall_ns - begin->wall_ns) / 1e9;

    sirq_row_add(row, "us", sirq_dist_quantile(latency, 0.5) / 1e3, "p50_latency");
    sirq_row_add(row, "us", sirq_dist_quantile(latency, 0.9) / 1e3, "p90_latency");
    sirq_row_add(row, "us", sirq_dist_quantile(latency, 0.99) / 1e3, "p99_latency");
    sirq_row_add(row, "us", sirq_dist_mean(latency) / 1e3, "mean_latency");
    sirq_row_add(row, "us", sirq_dist_stddev(latency) / 1e3, "stddev_latency");
    sirq_row_add(row, "us", (double)latency->min / 1e3, "min_latency");
    sirq_row_add(row, "us", (double)latency->max / 1e3, "max_latency");
    sirq_row_add(row, "us", 1e6 * seconds / (double)latency->hist.count, "rt_latency");
    sirq_row_add(row, "transactions/s", (double)(end->transactions - begin->transactions) / seconds,
                 "throughput");
    add_cpu(row, "client_cpu", begin->client_ns, end->client_ns, seconds);
    if (rr->knobs.ksoftirqd)
        add_cpu(row, "ksoftirqd_cpu", begin->ksoftirqd_ns, end->ksoftirqd_ns, seconds);
    if (rr->knobs.n_napi)
        add_cpu(row, "napi_cpu", begin->napi_ns, end->napi_ns, seconds);
    add_cpu(row, "irq_cpu", begin->count.irq_ns, end->count.irq_ns, seconds);
    sirq_row_add(row, "cycles", (double)(end->count.squeezed - begin->count.squeezed),
                 "time_squeeze");
}

/* ---- table ------------------------------------------------------------------------------- */

static const struct {
    struct sirq_lab_table_column column;
    const char *metric;
    int decimals; /* -1: as a rate */
} columns[] = {
    {{"policy", true, 0, false}, NULL, 0},
    {{"p50 us", false, 0, false}, "p50_latency", 1},
    {{"least..most", false, 9, false}, NULL, 0},
    {{"p90 us", false, 5, false}, "p90_latency", 1},
    {{"p99 us", false, 0, false}, "p99_latency", 1},
    {{"mean us", false, 6, false}, "mean_latency", 1},
    {{"max us", false, 6, false}, "max_latency", 0},
    {{"others/s", false, 8, false}, "throughput", -1},
    {{"CPU%", false, 4, false}, "client_cpu", 1},
    {{"ksoftirqd%", false, 3, false}, "ksoftirqd_cpu", 1},
    {{"napi%", false, 3, false}, "napi_cpu", 1},
    {{"irq%", false, 4, false}, "irq_cpu", 1},
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))
#define COL_SPREAD 2u

static void put_row(struct sirq_lab_table *table, const struct sirq_row *row)
{
    const struct sirq_metric *p50 = sirq_row_find(row, "p50_latency");

    if (row->skipped || sirq_lab_table_row(table))
        return;
    sirq_lab_table_cell(table, 0, "%s", row->policy);
    if (p50 && p50->spread)
        sirq_lab_table_cell(table, COL_SPREAD, "%.1f..%.1f", p50->least, p50->most);
    for (unsigned c = 0; c < COLUMNS; c++) {
        if (columns[c].metric && columns[c].decimals < 0)
            sirq_cell_si(table, c, row, columns[c].metric);
        else if (columns[c].metric)
            sirq_cell_number(table, c, row, columns[c].metric, columns[c].decimals);
    }
}

void sirq_kernel_rr_report(const struct sirq_kernel_rr *rr, bool partial, FILE *out)
{
    const struct sirq_results *results = rr->session.results;
    struct sirq_lab_table table;

    if (partial)
        fputs("Stopped: what follows is partial.\n", out);
    sirq_lab_table_init(&table);
    for (unsigned c = 0; c < COLUMNS; c++)
        sirq_lab_table_column(&table, columns[c].column.title, columns[c].column.left,
                              columns[c].column.weight);
    for (unsigned i = 0; i < results->nrows; i++)
        put_row(&table, results->rows[i]);
    if (table.nrows) {
        fprintf(out, "a client beside %u others; medians of %u run%s\n\n", SIRQ_KERNEL_RR_OTHERS,
                rr->session.runs, rr->session.runs == 1 ? "" : "s");
        sirq_cells_hide_empty(&table);
        sirq_lab_table_print(&table, out, sirq_lab_table_width(out));
    }
    sirq_kernel_print_notes(results, 0, out);
    sirq_lab_table_free(&table);
    fflush(out);
}
