/* SPDX-License-Identifier: MIT */
/*
 * udp-flood, live: packets flood one CPU; what does the thread receive that should consume them?
 *
 * Published by J. D. Brouer and E. Dumazet on netdev, August 2016 (lab/published,
 * source 000).  Every policy is run with receivers under SCHED_OTHER and SCHED_RR 20, and
 * once with softirqs on another CPU.  Everything is measured against the one-CPU limit:
 * what one CPU could receive if it did nothing but each packet's share of softirq and one
 * receive call.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "flood_report.h"
#include "table.h"
#include "world/kernel/world.h"

#define DEFAULT_SECONDS 2.0
#define SWEEP_SECONDS 1.0
#define ROW_OVERHEAD_NS 400000000u /* start, warm-up, drain; a first guess for the progress line */

static unsigned count_rates(const struct sirq_lab_options *options)
{
    return options->rates == SIRQ_LAB_RATE_SWEEP  ? SIRQ_LAB_SWEEP
           : options->rates == SIRQ_LAB_RATE_LIST ? options->nrates
                                                  : 1;
}

static double nth_rate(const struct sirq_flood_run *run, unsigned n)
{
    if (run->options->rates == SIRQ_LAB_RATE_SWEEP) {
        double rate = sirq_lab_sweep[n] * run->limit.rate / 10;

        return rate < 1 ? 1 : (double)(uint64_t)rate;
    }
    if (run->options->rates == SIRQ_LAB_RATE_LIST)
        return (double)run->options->rate[n];
    return 0;
}

static void name_setup(const struct sirq_flood *flood, struct sirq_row *row)
{
    snprintf(row->setup, sizeof(row->setup), "%u receiver%s %s%s", flood->receivers,
             flood->receivers == 1 ? "" : "s", flood->rt ? "SCHED_RR 20" : "SCHED_OTHER",
             flood->elsewhere ? " softirqs elsewhere" : "");
}

/* The figures that need the limit. */
static void add_shares(struct sirq_row *row, const struct sirq_flood_limit *limit)
{
    double offered, received, bound;

    if (!sirq_row_get(row, "offered_rate", &offered) ||
        !sirq_row_get(row, "receiver_rate", &received))
        return;
    row->comparable = offered >= limit->rate; /* published: a flood, not a load */
    bound = offered < limit->rate ? offered : limit->rate;
    sirq_row_add(row, "packets/s", limit->rate, "limit_rate");
    sirq_row_add(row, "percent", limit->rate > 0 ? 100 * received / limit->rate : 0, "limit_share");
    sirq_row_add(row, "percent", bound > 0 ? 100 * received / bound : 0, "goodput_share");
}

static void step_row(struct sirq_progress *progress, const struct sirq_row *row)
{
    char rate[16];

    if (row->wanted_rate > 0)
        sirq_progress_step(progress, "%s, %s, %s/s", row->policy, row->setup,
                           sirq_lab_table_si(rate, row->wanted_rate));
    else
        sirq_progress_step(progress, "%s, %s", row->policy, row->setup);
}

static int run_row(struct sirq_flood_run *run, const struct sirq_flood *flood,
                   struct sirq_error *err)
{
    struct sirq_row *row = sirq_results_row(run->results);
    int rc;

    if (!row)
        return sirq_fail(err, ENOMEM, "out of memory");
    name_setup(flood, row);
    row->policy = flood->policy->name;
    row->wanted_rate = flood->rate;
    step_row(&run->progress, row);
    rc = run->options->world->flood(run->session, flood, &run->progress, row, err);
    if (rc == -EPERM) {
        row->skipped = true;
        sirq_row_note(row, "%s", err->text);
        return 0;
    }
    if (rc)
        row->skipped = true;
    else
        add_shares(row, &run->limit);
    return rc;
}

/* One row with softirqs on another CPU, under the first policy chosen. */
static int run_elsewhere(struct sirq_flood_run *run, const struct sirq_flood *like,
                         struct sirq_error *err)
{
    struct sirq_flood flood = *like;
    const char *why = run->options->world->no_elsewhere(run->session);

    flood.elsewhere = true;
    flood.rt = false;
    flood.policy = run->options->policy[0];
    if (why) {
        run->no_elsewhere = why;
        return 0;
    }
    return run_row(run, &flood, err);
}

static int run_rate(struct sirq_flood_run *run, double rate, struct sirq_error *err)
{
    const struct sirq_lab_options *options = run->options;
    struct sirq_flood flood = {
        .rate = rate, .receivers = options->receivers, .seconds = run->seconds};
    int rc = 0;

    for (unsigned rt = 0; rt < 2 && !rc; rt++) {
        flood.rt = rt;
        for (unsigned p = 0; p < options->npolicies && !rc; p++) {
            flood.policy = options->policy[p];
            rc = run_row(run, &flood, err);
        }
    }
    if (!rc && options->rates != SIRQ_LAB_RATE_SWEEP)
        rc = run_elsewhere(run, &flood, err);
    return rc;
}

static int run_all(struct sirq_flood_run *run, struct sirq_error *err)
{
    const struct sirq_lab_options *options = run->options;
    unsigned nrates = count_rates(options), rows = 2 * options->npolicies;
    int rc;

    if (options->rates != SIRQ_LAB_RATE_SWEEP && !options->world->no_elsewhere(run->session))
        rows++;
    sirq_progress_start(&run->progress, 1 + nrates * rows,
                        (uint64_t)(run->seconds * 1e9) + ROW_OVERHEAD_NS);
    sirq_progress_step(&run->progress, "one-CPU limit");
    rc = options->world->flood_limit(run->session, &run->limit, err);
    for (unsigned i = 0; i < nrates && !rc; i++)
        rc = run_rate(run, nth_rate(run, i), err);
    if (!rc)
        sirq_progress_end(&run->progress);
    sirq_progress_clear(&run->progress);
    return rc;
}

static int udp_flood_run(const struct sirq_lab_options *options, struct sirq_results *results,
                         struct sirq_error *err)
{
    struct sirq_flood_run run = {.options = options, .results = results};
    int rc = options->world->open(&run.session, options, err);

    if (rc)
        return rc;
    run.seconds = options->seconds > 0                    ? options->seconds
                  : options->rates == SIRQ_LAB_RATE_SWEEP ? SWEEP_SECONDS
                                                          : DEFAULT_SECONDS;
    rc = run_all(&run, err);
    options->world->close(run.session);
    sirq_flood_report(&run, rc == -EINTR, stdout);
    return rc;
}

const struct sirq_experiment sirq_udp_flood = {
    .name = "udp-flood",
    .run = udp_flood_run,
    .kernel = sirq_kernel_udp_flood,
};
