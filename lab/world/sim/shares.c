/* SPDX-License-Identifier: MIT */
/*
 * Policies are compared seed by seed: the same seed offers each of them the same traffic, so that
 * what the traffic's luck does to all of them does not blur how far they lie apart.
 */
#include "shares.h"

#include <errno.h>

/* NAN: there is no such figure. */
static double in_seed(const struct sirq_sim_row *row, uint32_t figure, uint32_t seed)
{
    return row->complete[seed] ? row->values[(size_t)seed * row->variant->plan.n_figures + figure]
                               : __builtin_nan("");
}

/* Percent of the best; both may be nothing at all. */
static double share_of(double value, double best, bool less)
{
    double part = less ? best : value, whole = less ? value : best;

    if (part == whole)
        return 100;
    return whole > 0 ? 100 * part / whole : 0;
}

static bool find_best(struct sirq_matrix_row *to, const struct sirq_sim_row *rows, uint32_t figure,
                      uint32_t n_policies)
{
    struct sirq_sim_value v;
    bool found = false;

    for (uint32_t p = 0; p < n_policies; p++) {
        struct sirq_matrix_cell *cell = &to->cells[p];

        cell->run = sirq_sim_row_value(&rows[p], figure, &v);
        if (!cell->run)
            continue;
        cell->value = v.value;
        if (!found ||
            (to->less ? v.value < to->cells[to->best].value : v.value > to->cells[to->best].value))
            to->best = p;
        found = true;
    }
    return found;
}

/* Returns the number of seeds. */
static uint32_t compare(struct sirq_matrix_cell *cell, const struct sirq_sim_row *row,
                        const struct sirq_sim_row *best, uint32_t figure, bool less)
{
    double shares[SIRQ_SPEC_SEEDS];
    struct sirq_matrix_median median;
    uint32_t n = 0;

    for (uint32_t i = 0; i < row->variant->spec->run.seeds && i < SIRQ_SPEC_SEEDS; i++) {
        double value = in_seed(row, figure, i), other = in_seed(best, figure, i);

        if (!__builtin_isnan(value) && !__builtin_isnan(other))
            shares[n++] = share_of(value, other, less);
    }
    cell->run = n != 0;
    if (n == 0)
        return 0;
    median = sirq_matrix_median(shares, n);
    cell->share = median.median;
    cell->low = median.low;
    cell->high = median.high;
    return n;
}

static int add_figure(struct sirq_matrix *matrix, const char *experiment,
                      const struct sirq_sim_row *rows, uint32_t figure)
{
    const struct sirq_sim_figure *f = &rows->variant->plan.figures[figure];
    struct sirq_matrix_row *to = sirq_matrix_add(matrix);

    if (to == NULL)
        return -ENOMEM;
    to->experiment = experiment;
    to->setup = rows->variant->name;
    to->metric = f->name;
    to->unit = f->unit;
    to->less = f->measure->better == SIRQ_SPEC_LESS;
    if (!find_best(to, rows, figure, matrix->n_policies))
        return 0;
    for (uint32_t p = 0; p < matrix->n_policies; p++) {
        uint32_t n = compare(&to->cells[p], &rows[p], &rows[to->best], figure, to->less);

        if (n != 0 && (matrix->seeds == 0 || n < matrix->seeds))
            matrix->seeds = n;
    }
    return 0;
}

int sirq_sim_matrix_add(struct sirq_matrix *matrix, const char *experiment,
                        const struct sirq_sim_cells *cells)
{
    int rc = 0;

    for (uint32_t v = 0; v < cells->n_variants; v++) {
        const struct sirq_sim_plan *plan = &cells->variants[v].plan;

        for (uint32_t f = 0; f < plan->n_figures && !rc; f++) {
            if (plan->figures[f].measure->better != SIRQ_SPEC_NEITHER)
                rc = add_figure(matrix, experiment, &cells->rows[(size_t)v * cells->n_policies], f);
        }
    }
    return rc;
}
