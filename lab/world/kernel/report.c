/* SPDX-License-Identifier: MIT */
/* The table of udp-flood on the running kernel: medians, and how far apart the runs were. */
#include <string.h>

#include "flood.h"
#include "ordering.h"
#include "cells.h"

#define OTHERS_MOST 10.0 /* percent of the flooded CPU */

enum {
    COL_POLICY,
    COL_CLASS,
    COL_OFFERED,
    COL_RECEIVED,
    COL_SPREAD,
    COL_CPU,
    COL_KSOFTIRQD,
    COL_NAPI,
    COL_IRQ,
    COL_NIC,
    COL_SOCKET,
    COL_LIMIT,
    COL_PUBLISHED,
    COL_P50,
    COL_P99
};

static const struct sirq_lab_table_column columns[] = {
    [COL_POLICY] = {"policy", true, 0, false},
    [COL_CLASS] = {"class", true, 3, false},
    [COL_OFFERED] = {"offered/s", false, 8, false},
    [COL_RECEIVED] = {"received/s", false, 0, false},
    [COL_SPREAD] = {"least..most", false, 9, false},
    [COL_CPU] = {"CPU%", false, 9, false},
    [COL_KSOFTIRQD] = {"ksoftirqd%", false, 7, false},
    [COL_NAPI] = {"napi%", false, 7, false},
    [COL_IRQ] = {"irq%", false, 6, false},
    [COL_NIC] = {"NIC drops", false, 4, false},
    [COL_SOCKET] = {"socket drops", false, 5, false},
    [COL_LIMIT] = {"% of limit", false, 0, false},
    [COL_PUBLISHED] = {"published/s", false, 2, false},
    [COL_P50] = {"p50 us", false, 10, false},
    [COL_P99] = {"p99 us", false, 10, false},
};

static void put_spread(struct sirq_lab_table *table, const struct sirq_row *row)
{
    const struct sirq_metric *metric = sirq_row_find(row, "receiver_rate");
    char least[16], most[16];

    if (metric && metric->spread)
        sirq_lab_table_cell(table, COL_SPREAD, "%s..%s", sirq_lab_table_si(least, metric->least),
                            sirq_lab_table_si(most, metric->most));
}

/* Of several receivers, the least and the most. */
static void put_cpu(struct sirq_lab_table *table, const struct sirq_row *row, unsigned receivers)
{
    double value, min = 0, max = 0;
    char name[32];

    if (receivers == 1) {
        sirq_cell_number(table, COL_CPU, row, "receiver_cpu", 1);
        return;
    }
    for (unsigned i = 1; i <= receivers; i++) {
        snprintf(name, sizeof(name), "receiver%u_cpu", i);
        if (!sirq_row_get(row, name, &value))
            return;
        min = i == 1 || value < min ? value : min;
        max = i == 1 || value > max ? value : max;
    }
    sirq_lab_table_cell(table, COL_CPU, "%.1f..%.1f", min, max);
}

static void put_row(struct sirq_lab_table *table, const struct sirq_kernel_flood *flood,
                    const struct sirq_row *row)
{
    const struct sirq_spec_figure *published;
    const char *class = strstr(row->setup, "SCHED_");
    char buf[16];

    if (sirq_lab_table_row(table))
        return;
    sirq_lab_table_cell(table, COL_POLICY, "%s", row->policy);
    sirq_lab_table_cell(table, COL_CLASS, "%s", class ? class : "");
    sirq_cell_si(table, COL_OFFERED, row, "offered_rate");
    sirq_cell_si(table, COL_RECEIVED, row, "receiver_rate");
    put_spread(table, row);
    put_cpu(table, row, flood->session.options->receivers);
    sirq_cell_number(table, COL_KSOFTIRQD, row, "ksoftirqd_cpu", 1);
    sirq_cell_number(table, COL_NAPI, row, "napi_cpu", 1);
    sirq_cell_number(table, COL_IRQ, row, "irq_cpu", 1);
    sirq_cell_si(table, COL_NIC, row, "nic_drops");
    sirq_cell_si(table, COL_SOCKET, row, "socket_drops");
    sirq_cell_number(table, COL_LIMIT, row, "limit_share", 1);
    sirq_cell_number(table, COL_P50, row, "latency_p50", 2);
    sirq_cell_number(table, COL_P99, row, "latency_p99", 2);
    published = sirq_results_published(flood->session.results, row, "receiver_rate");
    if (row->comparable && published)
        sirq_lab_table_cell(table, COL_PUBLISHED, "%s", sirq_lab_table_si(buf, published->value));
}

static void print_table(const struct sirq_kernel_flood *flood, double rate, FILE *out)
{
    struct sirq_lab_table table;
    char buf[16];

    sirq_lab_table_init(&table);
    for (unsigned c = 0; c < sizeof(columns) / sizeof(columns[0]); c++)
        sirq_lab_table_column(&table, columns[c].title, columns[c].left, columns[c].weight);
    for (unsigned i = 0; i < flood->session.results->nrows; i++) {
        const struct sirq_row *row = flood->session.results->rows[i];

        if (row->wanted_rate == rate && !row->skipped)
            put_row(&table, flood, row);
    }
    sirq_cells_hide_empty(&table);
    if (table.nrows) {
        fprintf(out, "\noffered: %s%s\n\n",
                rate > 0 ? sirq_lab_table_si(buf, rate) : "as fast as the sender can",
                rate > 0 ? " packets/s" : "");
        sirq_lab_table_print(&table, out, sirq_lab_table_width(out));
    }
    sirq_lab_table_free(&table);
}

/* Orderings of a flood; at a load that everybody receives there are none. */
static void print_orderings(const struct sirq_kernel_flood *flood, FILE *out)
{
    static const char *const words[] = {
        [SIRQ_KERNEL_NO_FLOOD] = "cannot be said: no flood, other programs kept the sender",
        [SIRQ_KERNEL_HOLDS] = "holds in every run",
        [SIRQ_KERNEL_UNSURE] = "of the medians; runs overlap",
        [SIRQ_KERNEL_REVERSED] = "does not hold"};
    const char *title = "\norder of received/s:\n";

    for (const struct sirq_kernel_ordering *o = sirq_kernel_orderings; o->name; o++) {
        enum sirq_kernel_verdict verdict = sirq_kernel_ordering_judge(o, flood->session.results, 0);

        if (verdict == SIRQ_KERNEL_NOT_RUN)
            continue;
        fprintf(out, "%s  %s: %s\n", title, o->name, words[verdict]);
        title = "";
    }
}

static void report_others(const struct sirq_results *results, FILE *out)
{
    double most = 0, others;

    for (unsigned i = 0; i < results->nrows; i++) {
        if (sirq_row_get(results->rows[i], "others_cpu", &others) && others > most)
            most = others;
    }
    if (most > OTHERS_MOST)
        fprintf(out,
                "  other programs took at least %.0f %% of the flooded CPU in some row: these "
                "figures are too low; run it again when they are quiet\n",
                most);
}

void sirq_kernel_flood_report(const struct sirq_kernel_flood *flood, bool partial, FILE *out)
{
    const struct sirq_results *results = flood->session.results;
    char rate[16], min[16], max[16];

    if (partial)
        fputs("Stopped: what follows is partial.\n", out);
    if (flood->limit.rate > 0)
        fprintf(out, "one-CPU limit: %s packets/s (%s..%s); medians of %u run%s\n",
                sirq_lab_table_si(rate, flood->limit.rate),
                sirq_lab_table_si(min, flood->limit.rate_min),
                sirq_lab_table_si(max, flood->limit.rate_max), flood->session.runs,
                flood->session.runs == 1 ? "" : "s");
    else if (*flood->no_limit.text)
        fprintf(out, "no one-CPU limit: %s\n", flood->no_limit.text);
    for (unsigned i = 0; i < results->nrows; i++) {
        double rate_here = results->rows[i]->wanted_rate;
        bool first = true;

        for (unsigned k = 0; k < i && first; k++)
            first = results->rows[k]->wanted_rate != rate_here;
        if (!first)
            continue;
        print_table(flood, rate_here, out);
        sirq_kernel_print_notes(results, rate_here, out);
    }
    print_orderings(flood, out);
    report_others(results, out);
    fflush(out);
}
