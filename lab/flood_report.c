/* SPDX-License-Identifier: MIT */
/*
 * The tables of udp-flood.  CPU shares stand twice: as the scheduler charges them, which is
 * what `top` showed in the published runs, and "own", without the softirqs that ran on top
 * of the thread.
 */
#include "flood_report.h"

#include <string.h>

#include "cells.h"

#define OTHERS_MOST 10.0 /* percent of the flooded CPU */

enum {
    COL_POLICY,
    COL_CLASS,
    COL_OFFERED,
    COL_RECEIVED,
    COL_EACH,
    COL_CPU,
    COL_OWN,
    COL_KSOFTIRQD,
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
    [COL_CLASS] = {"class", true, 0, false},
    [COL_OFFERED] = {"offered/s", false, 8, false},
    [COL_RECEIVED] = {"received/s", false, 0, false},
    [COL_EACH] = {"each", false, 2, false},
    [COL_CPU] = {"CPU%", false, 9, false},
    [COL_OWN] = {"own%", false, 7, false},
    [COL_KSOFTIRQD] = {"ksoftirqd%", false, 9, false},
    [COL_IRQ] = {"irq%", false, 6, false},
    [COL_NIC] = {"NIC drops", false, 4, false},
    [COL_SOCKET] = {"socket drops", false, 5, false},
    [COL_LIMIT] = {"% of limit", false, 0, false},
    [COL_PUBLISHED] = {"published/s", false, 3, false},
    [COL_P50] = {"p50 us", false, 10, false},
    [COL_P99] = {"p99 us", false, 10, false},
};

/* Per receiver: all of up to four, else the least and the most; scale 0: as a rate. */
static void put_each(struct sirq_lab_table *table, unsigned column, const struct sirq_row *row,
                     unsigned receivers, const char *metric, bool rate)
{
    char text[80] = "", buf[16], name[32];
    double value, min = 0, max = 0;
    size_t len = 0;

    for (unsigned i = 1; i <= receivers; i++) {
        snprintf(name, sizeof(name), "receiver%u_%s", i, metric);
        if (!sirq_row_get(row, name, &value))
            return;
        min = i == 1 || value < min ? value : min;
        max = i == 1 || value > max ? value : max;
        if (!rate)
            snprintf(buf, sizeof(buf), "%.1f", value);
        if (receivers <= 4)
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i > 1 ? " " : "",
                                    rate ? sirq_lab_table_si(buf, value) : buf);
    }
    if (receivers > 4 && rate) {
        len = (size_t)snprintf(text, sizeof(text), "%s..", sirq_lab_table_si(buf, min));
        snprintf(text + len, sizeof(text) - len, "%s", sirq_lab_table_si(buf, max));
    } else if (receivers > 4) {
        snprintf(text, sizeof(text), "%.1f..%.1f", min, max);
    }
    sirq_lab_table_cell(table, column, "%s", text);
}

static void put_receivers(struct sirq_lab_table *table, const struct sirq_row *row, unsigned n)
{
    if (n == 1) {
        sirq_cell_number(table, COL_CPU, row, "receiver_cpu", 1);
        sirq_cell_number(table, COL_OWN, row, "receiver_own_cpu", 1);
        return;
    }
    put_each(table, COL_EACH, row, n, "rate", true);
    put_each(table, COL_CPU, row, n, "cpu", false);
    put_each(table, COL_OWN, row, n, "own_cpu", false);
}

static void put_row(struct sirq_lab_table *table, const struct sirq_results *results,
                    const struct sirq_row *row, unsigned receivers)
{
    const char *class = strchr(row->setup, ' ');
    const struct sirq_spec_figure *published;
    char buf[16];

    if (sirq_lab_table_row(table))
        return;
    sirq_lab_table_cell(table, COL_POLICY, "%s", row->policy);
    class = class ? strchr(class + 1, ' ') : NULL;
    sirq_lab_table_cell(table, COL_CLASS, "%s", class ? class + 1 : row->setup);
    sirq_cell_si(table, COL_OFFERED, row, "offered_rate");
    sirq_cell_si(table, COL_RECEIVED, row, "receiver_rate");
    put_receivers(table, row, receivers);
    sirq_cell_number(table, COL_KSOFTIRQD, row, "ksoftirqd_cpu", 1);
    sirq_cell_number(table, COL_IRQ, row, "irq_cpu", 1);
    sirq_cell_si(table, COL_NIC, row, "nic_drops");
    sirq_cell_si(table, COL_SOCKET, row, "socket_drops");
    sirq_cell_number(table, COL_LIMIT, row, "limit_share", 1);
    sirq_cell_number(table, COL_P50, row, "latency_p50", 2);
    sirq_cell_number(table, COL_P99, row, "latency_p99", 2);
    published = sirq_results_published(results, row, "receiver_rate");
    if (row->comparable && published != NULL)
        sirq_lab_table_cell(table, COL_PUBLISHED, "%s", sirq_lab_table_si(buf, published->value));
}

static void print_notes(const struct sirq_flood_run *run, double rate, FILE *out)
{
    const char *last = "";

    for (unsigned i = 0; i < run->results->nrows; i++) {
        const struct sirq_row *row = run->results->rows[i];

        for (unsigned n = 0; row->wanted_rate == rate && n < row->nnotes; n++) {
            if (strcmp(last, row->note[n].text) == 0)
                continue; /* the same for every policy: once is enough */
            if (row->skipped)
                fprintf(out, "  no row %s: %s\n", row->setup, row->note[n].text);
            else
                fprintf(out, "  %s, %s: %s\n", row->policy, row->setup, row->note[n].text);
            last = row->note[n].text;
        }
    }
}

static bool rate_measured(const struct sirq_results *results, double rate)
{
    for (unsigned i = 0; i < results->nrows; i++) {
        if (results->rows[i]->wanted_rate == rate && !results->rows[i]->skipped)
            return true;
    }
    return false;
}

static void print_rate(const struct sirq_flood_run *run, double rate, FILE *out)
{
    struct sirq_lab_table table;
    char buf[16];

    sirq_lab_table_init(&table);
    for (unsigned c = 0; c < sizeof(columns) / sizeof(columns[0]); c++)
        sirq_lab_table_column(&table, columns[c].title, columns[c].left, columns[c].weight);
    for (unsigned i = 0; i < run->results->nrows; i++) {
        const struct sirq_row *row = run->results->rows[i];

        if (row->wanted_rate == rate && !row->skipped)
            put_row(&table, run->results, row, run->options->receivers);
    }
    fprintf(out, "\noffered: %s%s\n\n",
            rate > 0 ? sirq_lab_table_si(buf, rate)
                     : "as fast as the "
                       "sender can",
            rate > 0 ? " packets/s" : "");
    sirq_cells_hide_empty(&table);
    sirq_lab_table_print(&table, out, sirq_lab_table_width(out));
    sirq_lab_table_free(&table);
}

static bool first_of_rate(const struct sirq_results *results, unsigned i)
{
    for (unsigned k = 0; k < i; k++) {
        if (results->rows[k]->wanted_rate == results->rows[i]->wanted_rate)
            return false;
    }
    return true;
}

static bool first_of_setup(const struct sirq_results *results, unsigned i)
{
    const struct sirq_row *row = results->rows[i];

    for (unsigned k = 0; k < i; k++) {
        if (strcmp(results->rows[k]->setup, row->setup) == 0 &&
            strcmp(results->rows[k]->policy, row->policy) == 0)
            return false;
    }
    return true;
}

static void sweep_columns(struct sirq_lab_table *table, const struct sirq_results *results,
                          const char *setup)
{
    sirq_lab_table_column(table, "offered/s", false, 0);
    sirq_lab_table_column(table, "x limit", false, 0);
    for (unsigned i = 0; i < results->nrows; i++) {
        if (first_of_setup(results, i) && strcmp(results->rows[i]->setup, setup) == 0)
            sirq_lab_table_column(table, results->rows[i]->policy, false, 1);
    }
}

/* One offered load: a cell per policy, in the order in which all loads were run.  True when
 * one of them has a star. */
static bool sweep_row(struct sirq_lab_table *table, const struct sirq_flood_run *run,
                      const char *setup, double rate)
{
    const struct sirq_results *results = run->results;
    double offered, value;
    unsigned column = 2;
    bool short_of, starred = false;
    char buf[16];

    if (sirq_lab_table_row(table))
        return false;
    sirq_lab_table_cell(table, 0, "%s", sirq_lab_table_si(buf, rate));
    sirq_lab_table_cell(table, 1, "%.1f", run->limit.rate > 0 ? rate / run->limit.rate : 0);
    for (unsigned i = 0; i < results->nrows && column < table->ncolumns; i++) {
        const struct sirq_row *row = results->rows[i];

        if (row->wanted_rate != rate || strcmp(row->setup, setup) != 0)
            continue;
        if (sirq_row_get(row, "goodput_share", &value) &&
            sirq_row_get(row, "offered_rate", &offered)) {
            short_of = offered < 0.97 * rate;
            starred = starred || short_of;
            sirq_lab_table_cell(table, column, "%.1f%s", value, short_of ? "*" : "");
        }
        column++;
    }
    return starred;
}

/* Offered load downwards, a column per policy: goodput in percent of min(offered, limit). */
static void print_sweep(const struct sirq_flood_run *run, const char *setup, FILE *out)
{
    const struct sirq_results *results = run->results;
    struct sirq_lab_table table;
    bool starred = false;

    sirq_lab_table_init(&table);
    sweep_columns(&table, results, setup);
    for (unsigned i = 0; i < results->nrows; i++) {
        if (first_of_rate(results, i))
            starred |= sweep_row(&table, run, setup, results->rows[i]->wanted_rate);
    }
    fprintf(out, "\ngoodput, %% of min(offered, limit); %s\n\n", setup);
    sirq_lab_table_print(&table, out, sirq_lab_table_width(out));
    if (starred)
        fputs("  * the sender reached less than this load; the share is of what it did offer\n",
              out);
    sirq_lab_table_free(&table);
}

static bool setup_measured(const struct sirq_results *results, unsigned i)
{
    for (unsigned k = 0; k < results->nrows; k++) {
        if (k < i && strcmp(results->rows[k]->setup, results->rows[i]->setup) == 0)
            return false; /* printed with that one */
    }
    for (unsigned k = i; k < results->nrows; k++) {
        if (!results->rows[k]->skipped &&
            strcmp(results->rows[k]->setup, results->rows[i]->setup) == 0)
            return true;
    }
    return false;
}

static void report_rates(const struct sirq_flood_run *run, FILE *out)
{
    const struct sirq_results *results = run->results;

    for (unsigned i = 0; i < results->nrows; i++) {
        if (!first_of_rate(results, i))
            continue;
        if (rate_measured(results, results->rows[i]->wanted_rate))
            print_rate(run, results->rows[i]->wanted_rate, out);
        print_notes(run, results->rows[i]->wanted_rate, out);
    }
    if (run->no_elsewhere)
        fprintf(out, "  no row with softirqs on another CPU: %s\n", run->no_elsewhere);
}

static void report_sweep(const struct sirq_flood_run *run, FILE *out)
{
    const struct sirq_results *results = run->results;

    for (unsigned i = 0; i < results->nrows; i++) {
        if (setup_measured(results, i))
            print_sweep(run, results->rows[i]->setup, out);
    }
    for (unsigned i = 0; i < results->nrows; i++) {
        if (first_of_rate(results, i))
            print_notes(run, results->rows[i]->wanted_rate, out);
    }
}

/* Others on the flooded CPU spoil the figures: say so. */
static void report_others(const struct sirq_results *results, FILE *out)
{
    unsigned spoilt = 0, measured = 0;
    double most = 0, others;

    for (unsigned i = 0; i < results->nrows; i++) {
        if (!sirq_row_get(results->rows[i], "others_cpu", &others))
            continue;
        measured++;
        spoilt += others > OTHERS_MOST;
        most = others > most ? others : most;
    }
    if (spoilt)
        fprintf(out,
                "  other programs took up to %.0f %% of the flooded CPU in %u of %u rows: these "
                "figures are too low; run it again when they are quiet\n",
                most, spoilt, measured);
}

void sirq_flood_report(const struct sirq_flood_run *run, bool partial, FILE *out)
{
    const struct sirq_results *results = run->results;
    char rate[16], min[16], max[16];

    if (partial)
        fputs("Stopped: what follows is partial.\n", out);
    if (run->limit.rate > 0)
        fprintf(out, "one-CPU limit: %s packets/s (%s..%s)\n",
                sirq_lab_table_si(rate, run->limit.rate),
                sirq_lab_table_si(min, run->limit.rate_min),
                sirq_lab_table_si(max, run->limit.rate_max));
    if (run->options->rates == SIRQ_LAB_RATE_SWEEP)
        report_sweep(run, out);
    else
        report_rates(run, out);
    report_others(results, out);
    fflush(out);
}
