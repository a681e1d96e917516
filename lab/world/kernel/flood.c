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
#include <sys/utsname.h>
#include <unistd.h>

#include "net.h"
#include "world.h"

#define DEFAULT_SECONDS 0.8
#define RUN_OVERHEAD_NS 450000000u /* a pair, warm-up, settling; a first guess */

/* What the kernel does by itself, as a policy of the published table: from 4.9 to 6.4 softirqs
 * were left to ksoftirqd while that is runnable. */
static const char *published_as(void)
{
    struct utsname name;
    unsigned major, minor;

    if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
        return NULL;
    return (major == 4 && minor >= 9) || major == 5 || (major == 6 && minor < 5) ? "ksoftirqd"
                                                                                 : "time2ms";
}

static void name_row(const struct sirq_kernel_flood *flood, const struct sirq_kernel_policy *policy,
                     double rate, struct sirq_row *row)
{
    unsigned n = flood->options->receivers;

    snprintf(row->setup, sizeof(row->setup), "%u receiver%s %s%s", n, n == 1 ? "" : "s",
             policy->rr ? "SCHED_RR 20" : "SCHED_OTHER",
             policy->elsewhere ? " softirqs elsewhere" : "");
    row->policy = policy->name;
    row->wanted_rate = rate;
    if (!policy->threaded && !policy->backlog_threads && !policy->fifo_ksoftirqd && !policy->file)
        row->published_as = published_as();
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

/* All runs of a cell.  each: rows of its own, taken from `scratch`. */
static int run_all(struct sirq_kernel_flood *flood, const struct sirq_kernel_policy *policy,
                   double rate, struct sirq_results *scratch, struct sirq_error *err)
{
    for (unsigned i = 0; i < flood->runs; i++) {
        struct sirq_row *row = sirq_results_row(scratch);
        int rc;

        if (!row)
            return sirq_fail(err, ENOMEM, "out of memory");
        sirq_progress_step(&flood->progress, "%s, run %u of %u", policy->name, i + 1, flood->runs);
        rc = sirq_kernel_cell_run(flood, policy, rate, i, row, err);
        if (rc)
            return rc;
        add_shares(row, &flood->limit);
    }
    return 0;
}

static bool fatal(int rc)
{
    return rc && rc != -ENOTSUP;
}

static int run_cell(struct sirq_kernel_flood *flood, const struct sirq_kernel_policy *policy,
                    double rate, struct sirq_error *err)
{
    struct sirq_row *row = sirq_results_row(flood->results);
    struct sirq_results scratch = {0};
    double offered = 0;
    int rc;

    if (!row)
        return sirq_fail(err, ENOMEM, "out of memory");
    name_row(flood, policy, rate, row);
    rc = run_all(flood, policy, rate, &scratch, err);
    if (!rc) {
        sirq_row_merge(row, (const struct sirq_row *const *)scratch.rows, scratch.nrows);
        sirq_row_get(row, "offered_rate", &offered);
        row->comparable = flood->limit.rate > 0 && offered >= flood->limit.rate;
    } else {
        row->skipped = true;
    }
    if (rc == -ENOTSUP) {
        sirq_row_note(row, "%s", err->text);
        flood->missing++;
    }
    sirq_results_free(&scratch);
    return fatal(rc) ? rc : 0;
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
    struct sirq_results scratch = {0};
    double *rates = calloc(flood->runs, sizeof(*rates));
    int rc;

    if (!rates)
        return sirq_fail(err, ENOMEM, "out of memory");
    rc = run_all(flood, policy, 0, &scratch, err);
    for (unsigned i = 0; i < scratch.nrows && !rc; i++)
        rates[i] = sirq_kernel_limit_of(scratch.rows[i]);
    if (!rc) {
        qsort(rates, flood->runs, sizeof(*rates), by_value);
        limit->rate = rates[flood->runs / 2];
        limit->rate_min = rates[0];
        limit->rate_max = rates[flood->runs - 1];
    }
    if (rc == -ENOTSUP)
        flood->no_limit = *err;
    sirq_results_free(&scratch);
    free(rates);
    return fatal(rc) ? rc : 0;
}

static int run_cells(struct sirq_kernel_flood *flood, struct sirq_error *err)
{
    const struct sirq_lab_options *options = flood->options;
    unsigned nrates = options->rates == SIRQ_LAB_RATE_LIST ? options->nrates : 1;
    int rc;

    sirq_progress_start(&flood->progress, flood->runs * (1 + nrates * options->nkernel),
                        (uint64_t)(flood->seconds * 1e9) + RUN_OVERHEAD_NS);
    rc = measure_limit(flood, err);
    for (unsigned r = 0; r < nrates && !rc; r++) {
        double rate = options->rates == SIRQ_LAB_RATE_LIST ? (double)options->rate[r] : 0;

        for (unsigned p = 0; p < options->nkernel && !rc; p++)
            rc = run_cell(flood, options->kernel[p], rate, err);
    }
    if (!rc)
        sirq_progress_end(&flood->progress);
    sirq_progress_clear(&flood->progress);
    return rc;
}

/* The guardian comes first: it stays where the machine's settings are. */
static int enter(struct sirq_kernel_flood *flood, struct sirq_error *err)
{
    int rc = sirq_lab_cpus_choose(&flood->cpus, flood->options->cpu, err);

    if (rc)
        return rc;
    sirq_lab_cpus_avoid(&flood->cpus);
    rc = sirq_guardian_start(&flood->guardian, "", err);
    if (rc)
        return rc;
    rc = sirq_kernel_net_enter(err);
    if (rc)
        sirq_guardian_end(&flood->guardian);
    return rc;
}

int sirq_kernel_udp_flood(const struct sirq_lab_options *options, struct sirq_results *results,
                          struct sirq_error *err)
{
    struct sirq_kernel_flood flood = {.options = options, .results = results};
    int rc;

    if (geteuid() != 0)
        return sirq_fail(err, EPERM,
                         "--world kernel needs root: it changes settings of the kernel and classes "
                         "of its threads, and puts them back; run it with sudo, or use --world "
                         "live, which needs no right");
    rc = enter(&flood, err);
    if (rc)
        return rc;
    flood.runs = options->runs;
    flood.seconds = options->seconds > 0 ? options->seconds : DEFAULT_SECONDS;
    rc = run_cells(&flood, err);
    sirq_guardian_end(&flood.guardian);
    sirq_lab_cpus_restore(&flood.cpus);
    sirq_kernel_flood_report(&flood, rc == -EINTR, stdout);
    results->missing = flood.missing;
    return rc;
}

const struct sirq_world sirq_world_kernel = {
    .name = "kernel",
    .summary = "this kernel's own softirqs, under its own settings",
};
