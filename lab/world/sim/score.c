/* SPDX-License-Identifier: MIT */
/*
 * How far off: every published figure is either compared, or said not to be measured.  Those
 * that a model may have been calibrated on stand apart from those that it has to predict.
 */
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "report.h"

#define NEAR 15.0 /* percent */

/* What we have for a published figure: false when we have nothing. */
static bool measured(const struct sirq_sim_report *report, const struct sirq_spec_figure *figure,
                     double *value)
{
    const struct sirq_sim_cells *cells = report->cells;

    for (uint32_t r = 0; r < cells->n_rows; r++) {
        const struct sirq_sim_row *row = &cells->rows[r];

        for (uint32_t i = 0; i < row->variant->plan.n_figures; i++) {
            struct sirq_sim_value v;

            if (sirq_sim_report_published(report, row, i) != figure)
                continue;
            if (!sirq_sim_row_value(row, i, &v))
                return false;
            *value = v.value;
            return true;
        }
    }
    return false;
}

struct score {
    const char *title;
    double *errors; /* percent, without sign */
    unsigned n, near;
    const struct sirq_spec_figure *worst;
    double worst_error;
};

static void count(struct score *score, const struct sirq_spec_figure *figure, double error)
{
    double size = error < 0 ? -error : error;

    score->errors[score->n++] = size;
    score->near += size <= NEAR;
    if (score->worst == NULL ||
        size > (score->worst_error < 0 ? -score->worst_error : score->worst_error)) {
        score->worst = figure;
        score->worst_error = error;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print_score(struct score *score, FILE *out)
{
    unsigned n = score->n;

    if (n == 0)
        return;
    qsort(score->errors, n, sizeof(score->errors[0]), by_value);
    fprintf(out, "  %s: %u, within %.0f %%: %u; error: median %.1f %%, 90th percentile %.1f %%\n",
            score->title, n, NEAR, score->near,
            (score->errors[(n - 1) / 2] + score->errors[n / 2]) / 2,
            score->errors[(9 * n + 9) / 10 - 1]);
    fprintf(out, "    worst: %s, %s: %s, %+.1f %%\n", score->worst->setup, score->worst->policy,
            score->worst->metric, score->worst_error);
}

/* Those of one setup and policy on one line. */
static void print_missing(const struct sirq_sim_report *report, const bool *missing, FILE *out)
{
    const struct sirq_spec_figures *published = report->published;
    const struct sirq_spec_figure *last = NULL;

    for (unsigned i = 0; i < published->n; i++) {
        const struct sirq_spec_figure *f = &published->row[i];

        if (!missing[i])
            continue;
        if (last == NULL)
            fputs("  not measured:", out);
        if (last == NULL || strcmp(last->setup, f->setup) != 0 ||
            strcmp(last->policy, f->policy) != 0)
            fprintf(out, "\n    %s, %s: %s", f->setup, f->policy, f->metric);
        else
            fprintf(out, ", %s", f->metric);
        if (f->role == SIRQ_SPEC_CLAIM)
            fputs(" (a claim)", out);
        last = f;
    }
    if (last != NULL)
        fputc('\n', out);
}

void sirq_sim_report_score(const struct sirq_sim_report *report, FILE *out)
{
    const struct sirq_spec_figures *published = report->published;
    struct score scores[] = {
        {.title = "predicted"}, {.title = "calibrated on (baseline)"}, {.title = "not scored"}};
    double *errors = calloc((size_t)published->n * 3, sizeof(*errors));
    bool *missing = calloc(published->n, sizeof(*missing));

    for (unsigned i = 0; i < 3; i++)
        scores[i].errors = errors != NULL ? errors + (size_t)i * published->n : NULL;
    for (unsigned i = 0; i < published->n && errors != NULL && missing != NULL; i++) {
        const struct sirq_spec_figure *f = &published->row[i];
        double value = 0;

        missing[i] = !measured(report, f, &value);
        if (!missing[i])
            count(&scores[!f->scored                      ? 2
                          : f->role == SIRQ_SPEC_BASELINE ? 1
                                                          : 0],
                  f, sirq_csv_error(f, value));
    }
    fprintf(out, "\npublished figures:\n");
    for (unsigned i = 0; i < 3; i++)
        print_score(&scores[i], out);
    if (missing != NULL)
        print_missing(report, missing, out);
    free(errors);
    free(missing);
}
