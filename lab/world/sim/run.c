/* SPDX-License-Identifier: MIT */
/*
 * From a file and what a person chose to rows: each setup, at each rate that was asked for,
 * is a variant with a spec of its own.
 */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define MS_PER_S 1000

struct sirq_sim_lab {
    const struct sirq_lab_options *options;
    const char *target;
    struct sirq_spec_text text;
    struct sirq_spec *base; /* in no setup */
    struct sirq_spec_figures published;
    const struct sirq_policy *policy[SIRQ_LAB_POLICIES];
    uint32_t n_policies;
    uint64_t rate[SIRQ_LAB_RATES]; /* [0] == 0: the file's */
    uint32_t n_rates;
    double limit;
    struct sirq_sim_cells cells;
    struct sirq_sim_report report;
};

/* ---- what a person chose ---------------------------------------------------------------------- */

static void choose_policies(struct sirq_sim_lab *run)
{
    const struct sirq_lab_options *options = run->options;

    if (options->policies_given || run->base->n_policies == 0) {
        run->n_policies = options->npolicies;
        memcpy(run->policy, options->policy, sizeof(run->policy));
        return;
    }
    for (uint32_t i = 0; i < run->base->n_policies && i < SIRQ_LAB_POLICIES; i++)
        run->policy[run->n_policies++] = sirq_policy_find(run->base->policies[i]);
}

/* Is setup `i` one of those that were asked for? */
static bool chosen(const struct sirq_sim_lab *run, uint32_t i)
{
    for (unsigned k = 0; k < run->options->nsetups; k++) {
        if (strcmp(run->options->setup[k], run->base->setups[i].name) == 0)
            return true;
    }
    return run->options->nsetups == 0;
}

static int check_setups(const struct sirq_sim_lab *run, struct sirq_error *err)
{
    for (unsigned k = 0; k < run->options->nsetups; k++) {
        char list[160] = "";
        size_t len = 0;
        bool found = false;

        for (uint32_t i = 0; i < run->base->n_setups; i++) {
            const char *name = run->base->setups[i].name;

            found = found || strcmp(run->options->setup[k], name) == 0;
            if (len < sizeof(list))
                len += (size_t)snprintf(list + len, sizeof(list) - len, "%s'%s'",
                                        i != 0 ? ", " : "", name);
        }
        if (!found)
            return sirq_fail(err, EINVAL, "--setup: no such setup: '%.40s'; valid: %s",
                             run->options->setup[k], list);
    }
    return 0;
}

/* Seeds and seconds asked for; the latter are those of all seeds together. */
static int choose_length(const struct sirq_sim_lab *run, struct sirq_spec *spec,
                         struct sirq_error *err)
{
    if (run->options->seeds != 0)
        spec->run.seeds = run->options->seeds;
    if (run->options->seconds > 0)
        spec->run.duration_ms = (uint64_t)(run->options->seconds * MS_PER_S) / spec->run.seeds;
    if (spec->run.duration_ms == 0)
        return sirq_fail(err, EINVAL,
                         "--seconds %g: less than 1 ms for each of %u seeds; give more, or fewer "
                         "--seeds",
                         run->options->seconds, spec->run.seeds);
    return 0;
}

/* ---- rates ------------------------------------------------------------------------------------- */

static uint64_t all_traffic(const struct sirq_spec *spec)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < spec->n_traffic; i++)
        sum += spec->traffic[i].rate;
    return sum;
}

/* Shares stay, and the sum is exactly `rate`. */
static void scale_traffic(struct sirq_spec *spec, uint64_t rate)
{
    uint64_t sum = all_traffic(spec), upto = 0, given = 0;

    for (uint32_t i = 0; i < spec->n_traffic; i++) {
        uint64_t share;

        upto += spec->traffic[i].rate;
        share = (uint64_t)((unsigned __int128)rate * upto / sum);
        spec->traffic[i].rate = share - given;
        given = share;
    }
}

/* What a packet costs its receiver in all, when nothing else is done. */
static double packet_ns(const struct sirq_spec *spec, const struct sirq_spec_traffic *traffic)
{
    const struct sirq_spec_costs *cost = &spec->costs_ns;
    const struct sirq_spec_udp_receiver *receiver = NULL;
    double batch;

    for (uint32_t i = 0; i < spec->n_threads; i++) {
        if (strcmp(spec->threads[i].name, traffic->to) == 0)
            receiver = spec->threads[i].udp_receiver;
    }
    batch = receiver != NULL && receiver->batch != 0 ? receiver->batch : 1;
    return cost->RX_QUEUED + cost->RECV_PACKET + cost->RECV_CALL / batch +
           (double)(cost->PASS + cost->NAPI_POLL) / SIRQ_NAPI_WEIGHT +
           (receiver != NULL ? (double)receiver->work_ns : 0);
}

/* Costs are known: what one CPU can carry is a sum. */
static double one_cpu_limit(const struct sirq_spec *spec)
{
    double ns = 0;

    for (uint32_t i = 0; i < spec->n_traffic; i++)
        ns += packet_ns(spec, &spec->traffic[i]) * (double)spec->traffic[i].rate;
    return 1e9 * (double)all_traffic(spec) / ns;
}

static int choose_rates(struct sirq_sim_lab *run, struct sirq_error *err)
{
    const struct sirq_lab_options *options = run->options;

    run->n_rates = 1;
    if (options->rates == SIRQ_LAB_RATE_MAX)
        return 0;
    if (all_traffic(run->base) == 0)
        return sirq_fail(err, EINVAL, "--rate: %.60s has no traffic whose rate could be set",
                         run->text.name);
    if (options->rates == SIRQ_LAB_RATE_LIST) {
        run->n_rates = options->nrates;
        memcpy(run->rate, options->rate, sizeof(run->rate));
        return 0;
    }
    run->limit = one_cpu_limit(run->base);
    run->n_rates = SIRQ_LAB_SWEEP;
    for (unsigned i = 0; i < SIRQ_LAB_SWEEP; i++) {
        double rate = sirq_lab_sweep[i] * run->limit / 10;

        run->rate[i] = rate < 1 ? 1 : (uint64_t)rate;
    }
    return 0;
}

/* ---- variants ----------------------------------------------------------------------------------- */

static int make_variant(struct sirq_sim_lab *run, uint32_t setup, uint64_t rate,
                        struct sirq_error *err)
{
    const struct sirq_lab_options *options = run->options;
    struct sirq_sim_variant *variant = &run->cells.variants[run->cells.n_variants++];
    const char *name = run->base->setups[setup].name;
    int rc = sirq_spec_parse(&variant->spec, &run->text, setup, options->set, options->nsets, err);
    int n;

    if (rc)
        return rc;
    variant->setup = setup;
    variant->rate = rate;
    if (rate != 0)
        scale_traffic(variant->spec, rate);
    n = rate != 0 ? asprintf(&variant->name, "%s %llu/s", name, (unsigned long long)rate)
                  : asprintf(&variant->name, "%s", name);
    if (n < 0) {
        variant->name = NULL;
        return sirq_fail(err, ENOMEM, "out of memory");
    }
    rc = choose_length(run, variant->spec, err);
    return rc ? rc : sirq_sim_plan_make(&variant->plan, variant->spec, err);
}

static int make_variants(struct sirq_sim_lab *run, struct sirq_error *err)
{
    int rc = 0;

    run->cells.first_seed = run->options->seed;
    run->cells.text = &run->text;
    run->cells.set = run->options->set;
    run->cells.nset = run->options->nsets;
    run->cells.variants =
        calloc((size_t)run->base->n_setups * run->n_rates, sizeof(*run->cells.variants));
    if (run->cells.variants == NULL)
        return sirq_fail(err, ENOMEM, "out of memory");
    for (uint32_t s = 0; s < run->base->n_setups && !rc; s++) {
        for (uint32_t r = 0; r < run->n_rates && !rc && chosen(run, s); r++)
            rc = make_variant(run, s, run->rate[r], err);
    }
    return rc ? rc : sirq_sim_cells_rows(&run->cells, run->policy, run->n_policies, err);
}

static int prepare(struct sirq_sim_lab *run, struct sirq_error *err)
{
    const struct sirq_lab_options *options = run->options;
    int rc = sirq_spec_read(&run->text, run->target, err);

    if (!rc)
        rc = sirq_spec_parse(&run->base, &run->text, UINT32_MAX, options->set, options->nsets, err);
    if (!rc)
        rc = check_setups(run, err);
    if (!rc)
        rc = sirq_spec_figures(&run->published, run->base, &run->text, err);
    if (!rc)
        rc = choose_rates(run, err);
    if (rc)
        return rc;
    choose_policies(run);
    return make_variants(run, err);
}

int sirq_sim_lab_open(struct sirq_sim_lab **out, const struct sirq_lab_options *options,
                      const char *target, struct sirq_error *err)
{
    struct sirq_sim_lab *run = calloc(1, sizeof(*run));
    int rc;

    if (run == NULL) {
        sirq_fail(err, ENOMEM, "out of memory");
        return -ENOMEM;
    }
    run->options = options;
    run->target = target;
    rc = prepare(run, err);
    if (rc) {
        sirq_sim_lab_close(run);
        return rc;
    }
    run->report = (struct sirq_sim_report){
        .experiment = run->base->name,
        .spec = run->base,
        .cells = &run->cells,
        .published = &run->published,
        .limit = run->limit,
        .rates = options->rates != SIRQ_LAB_RATE_MAX,
    };
    *out = run;
    return 0;
}

void sirq_sim_lab_close(struct sirq_sim_lab *run)
{
    sirq_sim_cells_free(&run->cells);
    sirq_spec_figures_free(&run->published);
    sirq_spec_free(run->base);
    sirq_spec_text_free(&run->text);
    free(run);
}

struct sirq_sim_report *sirq_sim_lab_report(struct sirq_sim_lab *run)
{
    return &run->report;
}

struct sirq_sim_cells *sirq_sim_lab_cells(struct sirq_sim_lab *run)
{
    return &run->cells;
}

int sirq_sim_lab_run(const struct sirq_lab_options *options, struct sirq_error *err)
{
    struct sirq_sim_lab *run;
    int rc = sirq_sim_lab_open(&run, options, options->target, err);

    if (!rc) {
        struct sirq_sim_cells *cells = &run->cells;
        struct sirq_sim_batch batch = {.cells = &cells, .n = 1, .jobs = options->jobs};
        const struct sirq_lines lines = sirq_sim_report_lines(&run->report);

        rc = sirq_sim_cells_run(&batch, err);
        run->report.partial = rc == -EINTR;
        if (!rc || rc == -EINTR)
            sirq_sim_report_print(&run->report, stdout);
        if (!rc)
            rc = sirq_lab_write(options, &lines, 1, NULL, err);
        sirq_sim_lab_close(run);
    }
    return rc;
}
