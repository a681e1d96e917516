/* SPDX-License-Identifier: MIT */
/*
 * udp-stream on the running kernel: a stream of datagrams, the larger ones first.  What is offered
 * is what a gigabit's wire would carry of each size, so that small messages are a flood and large
 * ones are not, as in the published runs (netdev, source 002).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cells.h"
#include "flood.h"
#include "spec/figures.h"
#include "spec/files.h"
#include "world.h"

#define DEFAULT_SECONDS 0.5
#define RUN_OVERHEAD_NS 250000000u
#define WIRE_BITS 1e9
#define WIRE_OVERHEAD 66u /* Ethernet 14 and 4, preamble 8, gap 12, IPv4 20, UDP 8 */
#define WIRE_LEAST 84u    /* a frame of 64 bytes, preamble and gap */

static const unsigned sizes[] = {1472, 978, 466, 210, 82, 18}; /* as published */

#define NSIZES (sizeof(sizes) / sizeof(sizes[0]))

struct stream {
    struct sirq_kernel_flood flood;
    struct sirq_lab_options options; /* fewer policies, if the person chose none */
    unsigned message;                /* bytes, of this row */
};

static double wire_rate(unsigned message)
{
    unsigned bytes = message + WIRE_OVERHEAD;

    return WIRE_BITS / 8 / (bytes < WIRE_LEAST ? WIRE_LEAST : bytes);
}

static double mbits(const struct sirq_row *row, const char *metric, unsigned message)
{
    double rate = 0;

    sirq_row_get(row, metric, &rate);
    return rate * message * 8 / 1e6;
}

static int run_once(void *experiment, const struct sirq_kernel_policy *policy, double rate,
                    unsigned nth, struct sirq_row *row, struct sirq_error *err)
{
    struct stream *stream = experiment;
    int rc;

    (void)rate;
    stream->flood.size = SIRQ_FRAME_HEADERS + stream->message;
    rc = sirq_kernel_cell_run(&stream->flood, policy, wire_rate(stream->message), nth, row, err);
    if (rc)
        return rc;
    sirq_row_add(row, "Mbit/s", mbits(row, "offered_rate", stream->message), "sent");
    sirq_row_add(row, "Mbit/s", mbits(row, "receiver_rate", stream->message), "received");
    return 0;
}

static int run_size(struct stream *stream, struct sirq_error *err)
{
    struct sirq_kernel_session *session = &stream->flood.session;
    struct sirq_kernel_rows rows = {.run = run_once, .experiment = stream};

    for (unsigned i = 0; i < stream->options.nkernel; i++) {
        struct sirq_row *row = rows.row[i] = sirq_results_row(session->results);

        if (!row)
            return sirq_fail(err, ENOMEM, "out of memory");
        snprintf(row->setup, sizeof(row->setup), "%u B", stream->message);
        row->policy = stream->options.kernel[i]->name;
    }
    return sirq_kernel_rows_run(session, &rows, err);
}

static int run_all(struct stream *stream, struct sirq_error *err)
{
    struct sirq_kernel_session *session = &stream->flood.session;
    int rc = 0;

    sirq_progress_start(&session->progress,
                        session->runs * stream->options.nkernel * (unsigned)NSIZES,
                        (uint64_t)(session->seconds * 1e9) + RUN_OVERHEAD_NS);
    for (unsigned i = 0; i < NSIZES && !rc; i++) {
        stream->message = sizes[i];
        rc = run_size(stream, err);
    }
    if (!rc)
        sirq_progress_end(&session->progress);
    sirq_progress_clear(&session->progress);
    return rc;
}

/* ---- table ------------------------------------------------------------------------------- */

static const struct {
    struct sirq_lab_table_column column;
    const char *metric;
    int decimals; /* -1: as a count */
} columns[] = {
    {{"message", false, 0, false}, NULL, 0},
    {{"policy", true, 0, false}, NULL, 0},
    {{"sent Mbit/s", false, 7, false}, "sent", 0},
    {{"received", false, 0, false}, "received", 0},
    {{"least..most", false, 9, false}, NULL, 0},
    {{"published", false, 3, false}, NULL, 0},
    {{"received/s", false, 6, false}, "receiver_rate", -1},
    {{"CPU%", false, 5, false}, "receiver_cpu", 1},
    {{"ksoftirqd%", false, 4, false}, "ksoftirqd_cpu", 1},
    {{"napi%", false, 4, false}, "napi_cpu", 1},
    {{"irq%", false, 4, false}, "irq_cpu", 1},
    {{"NIC drops", false, 3, false}, "nic_drops", -1},
    {{"socket drops", false, 3, false}, "socket_drops", -1},
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

enum { COL_MESSAGE = 0, COL_POLICY = 1, COL_SPREAD = 4, COL_PUBLISHED = 5 };

/* What the unpatched kernel received; its "82 B" has a remark in its name. */
static const struct sirq_spec_figure *published(const struct sirq_spec_figures *figures,
                                                const char *setup)
{
    size_t len = strlen(setup);

    for (uint32_t i = 0; i < figures->n; i++) {
        const struct sirq_spec_figure *f = &figures->row[i];

        if (strcmp(f->policy, "before") == 0 && strcmp(f->metric, "received") == 0 &&
            strncmp(f->setup, setup, len) == 0 && (f->setup[len] == '\0' || f->setup[len] == ' '))
            return f;
    }
    return NULL;
}

static void put_row(struct sirq_lab_table *table, const struct sirq_row *row,
                    const struct sirq_spec_figures *figures)
{
    const struct sirq_metric *received = sirq_row_find(row, "received");
    const struct sirq_spec_figure *before = published(figures, row->setup);

    if (row->skipped || sirq_lab_table_row(table))
        return;
    sirq_lab_table_cell(table, COL_MESSAGE, "%s", row->setup);
    sirq_lab_table_cell(table, COL_POLICY, "%s", row->policy);
    if (received && received->spread)
        sirq_lab_table_cell(table, COL_SPREAD, "%.0f..%.0f", received->least, received->most);
    if (before && strcmp(row->policy, "kernel:default") == 0)
        sirq_lab_table_cell(table, COL_PUBLISHED, "%.0f", before->value);
    for (unsigned c = 0; c < COLUMNS; c++) {
        if (columns[c].metric && columns[c].decimals < 0)
            sirq_cell_si(table, c, row, columns[c].metric);
        else if (columns[c].metric)
            sirq_cell_number(table, c, row, columns[c].metric, columns[c].decimals);
    }
}

static void report(const struct stream *stream, bool partial,
                   const struct sirq_spec_figures *figures)
{
    const struct sirq_results *results = stream->flood.session.results;
    struct sirq_lab_table table;

    if (partial)
        puts("Stopped: what follows is partial.");
    sirq_lab_table_init(&table);
    for (unsigned c = 0; c < COLUMNS; c++)
        sirq_lab_table_column(&table, columns[c].column.title, columns[c].column.left,
                              columns[c].column.weight);
    for (unsigned i = 0; i < results->nrows; i++)
        put_row(&table, results->rows[i], figures);
    sirq_cells_hide_empty(&table);
    printf("offered: what a gigabit's wire carries; medians of %u run%s\n\n",
           stream->flood.session.runs, stream->flood.session.runs == 1 ? "" : "s");
    sirq_lab_table_print(&table, stdout, sirq_lab_table_width(stdout));
    sirq_kernel_print_notes(results, 0, stdout);
    sirq_lab_table_free(&table);
    fflush(stdout);
}

static int report_all(const struct stream *stream, bool partial, struct sirq_error *err)
{
    for (const struct sirq_spec_file *csv = sirq_spec_csvs; csv->name; csv++) {
        struct sirq_spec_figures figures;
        int rc;

        if (strcmp(csv->name, "udp_stream") != 0)
            continue;
        rc = sirq_spec_figures_parse(&figures, csv->name, csv->text, strlen(csv->text), err);
        if (rc)
            return rc;
        report(stream, partial, &figures);
        sirq_spec_figures_free(&figures);
    }
    return 0;
}

/* ---- the experiment ---------------------------------------------------------------------- */

static int udp_stream(const struct sirq_lab_options *options, struct sirq_results *results,
                      struct sirq_error *err)
{
    struct stream stream = {.options = *options};
    struct sirq_error ignored;
    int rc;

    if (!options->policies_given) /* six sizes of everything would take minutes */
        sirq_kernel_few_policies(&stream.options);
    rc = sirq_kernel_session_open(&stream.flood.session, &stream.options, results, DEFAULT_SECONDS,
                                  err);
    if (rc)
        return rc;
    rc = run_all(&stream, err);
    sirq_kernel_session_close(&stream.flood.session);
    if (rc)
        report_all(&stream, rc == -EINTR, &ignored);
    else
        rc = report_all(&stream, false, err);
    return rc;
}

const struct sirq_experiment sirq_udp_stream = {
    .name = "udp-stream",
    .summary = "datagrams of six sizes at what a gigabit's wire carries",
    .kernel = udp_stream,
};
