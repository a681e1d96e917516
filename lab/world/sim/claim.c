/* SPDX-License-Identifier: MIT */
/*
 * Claims are judged twice: on the figures that the tables have, which is the verdict, and seed
 * by seed, which says how sure it is.  A side of which nothing was seen is NAN, and nothing
 * holds of that.
 */
#include "claim.h"

#include <string.h>

#define NONE __builtin_nan("")
#define WORDS 8 /* letters of the longest word for a relation */

static const char *const words[] = {
    [SIRQ_SPEC_AT_MOST] = "at most", [SIRQ_SPEC_AT_LEAST] = "at least", [SIRQ_SPEC_ABOUT] = "about",
    [SIRQ_SPEC_BELOW] = "below",     [SIRQ_SPEC_ABOVE] = "above",
};

static double factor_of(const struct sirq_spec_claim *claim)
{
    return claim->times != NULL ? *claim->times : 1;
}

static bool holds(const struct sirq_spec_claim *claim, double left, double bound)
{
    double room = bound * claim->percent / 100;

    switch (claim->is) {
    case SIRQ_SPEC_AT_MOST:
        return left <= bound + room;
    case SIRQ_SPEC_AT_LEAST:
        return left >= bound - room;
    case SIRQ_SPEC_ABOUT:
        return left >= bound - room && left <= bound + room;
    case SIRQ_SPEC_BELOW:
        return left < bound;
    default:
        return left > bound;
    }
}

/* ---- finding --------------------------------------------------------------------------------- */

/* The row of a cell, at the file's rates, when it was run and any seed of it is complete. */
static bool find(const struct sirq_sim_report *report, const struct sirq_spec_claim *claim,
                 const struct sirq_spec_cell *cell, struct sirq_sim_side *side)
{
    uint32_t setup = sirq_spec_cell_setup(report->spec, claim, cell);
    const struct sirq_policy *policy = sirq_spec_cell_policy(report->spec, claim, cell);
    struct sirq_sim_value v;

    for (uint32_t r = 0; r < report->cells->n_rows; r++) {
        const struct sirq_sim_row *row = &report->cells->rows[r];

        if (row->variant->setup != setup || row->policy != policy || row->done == 0)
            continue;
        for (uint32_t i = 0; i < row->variant->plan.n_figures; i++) {
            if (strcmp(row->variant->plan.figures[i].name, cell->metric) != 0)
                continue;
            side->row = row;
            side->figure = i;
            side->value = sirq_sim_row_value(row, i, &v) ? v.value : NONE;
            return true;
        }
    }
    return false;
}

static bool complete(const struct sirq_sim_side *side, uint32_t seed)
{
    return side->row == NULL ||
           (seed < side->row->variant->spec->run.seeds && side->row->complete[seed]);
}

static double in_seed(const struct sirq_sim_side *side, uint32_t seed)
{
    return side->row == NULL
               ? side->value
               : side->row
                     ->values[(size_t)seed * side->row->variant->plan.n_figures + side->figure];
}

void sirq_sim_claim_judge(const struct sirq_sim_report *report, const struct sirq_spec_claim *claim,
                          struct sirq_sim_verdict *v)
{
    *v = (struct sirq_sim_verdict){0};
    v->run = !report->rates && find(report, claim, &claim->left, &v->left);
    if (v->run && claim->right != NULL)
        v->run = find(report, claim, claim->right, &v->right);
    else if (claim->value != NULL)
        v->right.value = *claim->value;
    if (!v->run)
        return;
    v->bound = v->right.value * factor_of(claim);
    v->holds = holds(claim, v->left.value, v->bound);
    for (uint32_t i = 0; i < v->left.row->variant->spec->run.seeds; i++) {
        if (!complete(&v->left, i) || !complete(&v->right, i))
            continue;
        v->seeds++;
        v->good += holds(claim, in_seed(&v->left, i), in_seed(&v->right, i) * factor_of(claim));
    }
}

/* ---- as lines of the results ------------------------------------------------------------------- */

void sirq_sim_claims_each(const struct sirq_sim_report *report,
                          void (*fn)(void *arg, const struct sirq_line *line), void *arg)
{
    static const struct sirq_spec_figure own = {.value = 1, .role = SIRQ_SPEC_CLAIM};

    for (uint32_t i = 0; i < report->spec->n_claims; i++) {
        const struct sirq_spec_claim *claim = &report->spec->claims[i];
        struct sirq_line line = {
            .experiment = report->experiment,
            .setup = claim->setup,
            .world = "sim",
            .policy = claim->policy,
            .metric = claim->name,
            .unit = "claim",
            .claim = true,
            .spread = true,
            .published = sirq_spec_figure_of_claim(report->published, claim),
            .seed = report->cells->first_seed,
        };
        struct sirq_sim_verdict v;

        sirq_sim_claim_judge(report, claim, &v);
        if (!v.run)
            continue;
        if (line.published == NULL)
            line.published = &own;
        line.value = v.holds;
        line.least = v.seeds != 0 && v.good == v.seeds;
        line.most = v.good != 0;
        fn(arg, &line);
    }
}

/* ---- for a person -------------------------------------------------------------------------------- */

static void print_value(double value, const char *unit, FILE *out)
{
    char buf[SIRQ_SIM_TEXT];

    if (__builtin_isnan(value))
        fputs("none", out);
    else
        fprintf(out, "%s%s%s", sirq_sim_report_text(buf, value, unit),
                sirq_sim_unit_ns(unit) != 0 ? "" : " ", sirq_sim_unit_ns(unit) != 0 ? "" : unit);
}

/* "3.85M packets, nic_drops: 1 receiver SCHED_OTHER, ksoftirqd" */
static void print_side(const struct sirq_spec *spec, const struct sirq_spec_claim *claim,
                       const struct sirq_spec_cell *cell, const struct sirq_sim_side *side,
                       FILE *out)
{
    print_value(side->value, side->row->variant->plan.figures[side->figure].unit, out);
    fprintf(out, ", %s: %s, %s\n", cell->metric,
            spec->setups[sirq_spec_cell_setup(spec, claim, cell)].name,
            sirq_spec_cell_policy(spec, claim, cell)->name);
}

static void print_claim(const struct sirq_sim_report *report, const struct sirq_spec_claim *claim,
                        const struct sirq_sim_verdict *v, FILE *out)
{
    static const char *const room[] = {[SIRQ_SPEC_AT_MOST] = "+",
                                       [SIRQ_SPEC_AT_LEAST] = "-",
                                       [SIRQ_SPEC_ABOUT] = "+-",
                                       [SIRQ_SPEC_BELOW] = "",
                                       [SIRQ_SPEC_ABOVE] = ""};
    bool bound = claim->right == NULL || factor_of(claim) != 1;

    fprintf(out, "  %-14s  %s (%u of %u seeds)\n", v->holds ? "holds" : "does NOT hold",
            claim->name, v->good, v->seeds);
    fprintf(out, "%*s  ", 2 + WORDS, "");
    print_side(report->spec, claim, &claim->left, &v->left, out);
    fprintf(out, "  %*s  ", WORDS, words[claim->is]);
    if (bound)
        print_value(v->bound, v->left.row->variant->plan.figures[v->left.figure].unit, out);
    if (bound && claim->percent != 0)
        fprintf(out, " %s%u %%", room[claim->is], claim->percent);
    if (factor_of(claim) != 1)
        fprintf(out, " = %.10g x ", factor_of(claim));
    if (claim->right == NULL) {
        if (factor_of(claim) != 1)
            fprintf(out, "%.10g", *claim->value);
        fputc('\n', out);
        return;
    }
    if (!bound && claim->percent != 0)
        fprintf(out, "(%s%u %%) ", room[claim->is], claim->percent);
    print_side(report->spec, claim, claim->right, &v->right, out);
}

static void print_not_run(const struct sirq_spec *spec, const struct sirq_sim_verdict *v, FILE *out)
{
    const char *last = NULL;
    uint32_t at = 0;

    for (uint32_t i = 0; i < spec->n_claims; i++) {
        if (v[i].run)
            continue;
        if (last == NULL)
            at = (uint32_t)fprintf(out, "  not run:");
        else
            sirq_sim_report_word(out, &at, last, ",");
        last = spec->claims[i].name;
    }
    if (last != NULL)
        sirq_sim_report_word(out, &at, last, "\n");
}

void sirq_sim_claims_print(const struct sirq_sim_report *report, FILE *out)
{
    const struct sirq_spec *spec = report->spec;
    struct sirq_sim_verdict v[SIRQ_SPEC_CLAIMS];
    unsigned run = 0, good = 0;

    for (uint32_t i = 0; i < spec->n_claims; i++) {
        sirq_sim_claim_judge(report, &spec->claims[i], &v[i]);
        run += v[i].run;
        good += v[i].run && v[i].holds;
    }
    fprintf(out, "\nclaims: %u of %u hold", good, run);
    if (run < spec->n_claims)
        fprintf(out, ", %u not run", spec->n_claims - run);
    fputc('\n', out);
    for (int want = 0; want < 2; want++) { /* what does not hold comes first */
        for (uint32_t i = 0; i < spec->n_claims; i++) {
            if (v[i].run && v[i].holds == (want == 1))
                print_claim(report, &spec->claims[i], &v[i], out);
        }
    }
    print_not_run(spec, v, out);
}
