/* SPDX-License-Identifier: MIT */
/*
 * udp-flood on the running kernel: every policy several times, the median and its spread, beside
 * what the CPU could receive if it did nothing else.
 *
 * That limit comes from runs in which a thread polls and receivers go first (threaded NAPI,
 * SCHED_RR): a poll of up to 64 frames, then their receive calls, no frame lost in between.  It is
 * what was received, over the part of the CPU that those threads had for it.
 */
#include "flood.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define DEFAULT_SECONDS 0.8
#define RUN_OVERHEAD_NS 250000000u /* a pair, warm-up, settling; a first guess */

static void name_row(const struct sirq_kernel_flood *flood, const struct sirq_kernel_policy *policy,
                     double rate, struct sirq_row *row)
{
    unsigned n = flood->session.options->receivers;

    snprintf(row->setup, sizeof(row->setup), "%u receiver%s %s%s", n, n == 1 ? "" : "s",
             policy->rr ? "SCHED_RR 20" : "SCHED_OTHER",
             policy->elsewhere ? " softirqs elsewhere" : "");
    row->policy = policy->name;
    row->wanted_rate = rate;
    row->published_as = sirq_kernel_published_as(policy);
}

static void add_shares(struct sirq_row *row, const struct sirq_flood_limit *limit)
{
    double offered = 0, received = 0;

    if (limit->rate <= 0 || !sirq_row_get(row, "offered_rate", &offered) ||
        !sirq_row_get(row, "receiver_rate", &received))
        return;
    sirq_row_add(row, "packets/s", limit->rate, "limit_rate");
    sirq_row_add(row, "percent", 100 * received / limit->rate, "limit_share");
    if (offered > 0)
        sirq_row_add(row, "percent",
                     100 * received / (offered < limit->rate ? offered : limit->rate),
                     "goodput_share");
}

static int run_once(void *experiment, const struct sirq_kernel_policy *policy, double rate,
                    unsigned nth, struct sirq_row *row, struct sirq_error *err)
{
    struct sirq_kernel_flood *flood = experiment;
    int rc = sirq_kernel_cell_run(flood, policy, rate, nth, row, err);

    if (!rc)
        add_shares(row, &flood->limit);
    return rc;
}

/* The same in every run of a row: its spread is that of the runs it was measured in. */
static void spread_limit(struct sirq_row *row, const struct sirq_flood_limit *limit)
{
    for (unsigned i = 0; i < row->nmetrics; i++) {
        if (strcmp(row->metric[i].name, "limit_rate") != 0)
            continue;
        row->metric[i].least = limit->rate_min;
        row->metric[i].most = limit->rate_max;
    }
}

static int run_rate(struct sirq_kernel_flood *flood, double rate, struct sirq_error *err)
{
    struct sirq_kernel_session *session = &flood->session;
    struct sirq_kernel_rows rows = {.run = run_once, .experiment = flood};
    int rc;

    for (unsigned i = 0; i < session->options->nkernel; i++) {
        rows.row[i] = sirq_results_row(session->results);
        if (!rows.row[i])
            return sirq_fail(err, ENOMEM, "out of memory");
        name_row(flood, session->options->kernel[i], rate, rows.row[i]);
    }
    rc = sirq_kernel_rows_run(session, &rows, err);
    for (unsigned i = 0; i < session->options->nkernel; i++) {
        double offered = 0;

        spread_limit(rows.row[i], &flood->limit);
        sirq_row_get(rows.row[i], "offered_rate", &offered);
        rows.row[i]->comparable = flood->limit.rate > 0 && offered >= flood->limit.rate;
    }
    return rc;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int measure_limit(struct sirq_kernel_flood *flood, struct sirq_error *err)
{
    const struct sirq_kernel_policy *policy = sirq_kernel_policy_find("kernel:threaded-napi-rr");
    struct sirq_flood_limit *limit = &flood->limit;
    struct sirq_results runs = {0};
    double rates[SIRQ_ROW_RUNS];
    int rc = sirq_kernel_repeat(&flood->session, run_once, flood, policy, 0, &runs, err);

    if (!rc) {
        for (unsigned i = 0; i < runs.nrows; i++)
            rates[i] = sirq_kernel_limit_of(runs.rows[i]);
        qsort(rates, runs.nrows, sizeof(*rates), by_value);
        limit->rate = rates[runs.nrows / 2];
        limit->rate_min = rates[0];
        limit->rate_max = rates[runs.nrows - 1];
    }
    sirq_results_free(&runs);
    if (rc != -ENOTSUP)
        return rc;
    flood->no_limit = *err;
    return 0;
}

static int run_all(struct sirq_kernel_flood *flood, struct sirq_error *err)
{
    struct sirq_kernel_session *session = &flood->session;
    const struct sirq_lab_options *options = session->options;
    unsigned nrates = options->rates == SIRQ_LAB_RATE_LIST ? options->nrates : 1;
    int rc;

    sirq_progress_start(&session->progress, session->runs * (1 + nrates * options->nkernel),
                        (uint64_t)(session->seconds * 1e9) + RUN_OVERHEAD_NS);
    rc = measure_limit(flood, err);
    for (unsigned r = 0; r < nrates && !rc; r++)
        rc = run_rate(flood, options->rates == SIRQ_LAB_RATE_LIST ? (double)options->rate[r] : 0,
                      err);
    if (!rc)
        sirq_progress_end(&session->progress);
    sirq_progress_clear(&session->progress);
    return rc;
}

int sirq_kernel_udp_flood(const struct sirq_lab_options *options, struct sirq_results *results,
                          struct sirq_error *err)
{
    struct sirq_kernel_flood flood = {.size = options->size};
    int rc = sirq_kernel_session_open(&flood.session, options, results, DEFAULT_SECONDS, err);

    if (rc)
        return rc;
    rc = run_all(&flood, err);
    sirq_kernel_session_close(&flood.session);
    sirq_kernel_flood_report(&flood, rc == -EINTR, stdout);
    return rc;
}

const struct sirq_world sirq_world_kernel = {
    .name = "kernel",
    .summary = "this kernel's own softirqs, under its own settings",
};
