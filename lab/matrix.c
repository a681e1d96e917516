/* SPDX-License-Identifier: MIT */
#include "matrix.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

struct sirq_matrix_row *sirq_matrix_add(struct sirq_matrix *matrix)
{
    struct sirq_matrix_row *rows =
        realloc(matrix->rows, ((size_t)matrix->n_rows + 1) * sizeof(*rows));
    struct sirq_matrix_row *row;

    if (rows == NULL)
        return NULL;
    matrix->rows = rows;
    row = &rows[matrix->n_rows];
    *row = (struct sirq_matrix_row){
        .cells = calloc((size_t)matrix->n_policies + 1, sizeof(*row->cells))};
    if (row->cells == NULL)
        return NULL;
    matrix->n_rows++;
    return row;
}

void sirq_matrix_free(struct sirq_matrix *matrix)
{
    for (uint32_t i = 0; i < matrix->n_rows; i++)
        free(matrix->rows[i].cells);
    free(matrix->rows);
    *matrix = (struct sirq_matrix){0};
}

const struct sirq_matrix_row *sirq_matrix_worst(const struct sirq_matrix *matrix, uint32_t policy)
{
    const struct sirq_matrix_row *worst = NULL;

    for (uint32_t i = 0; i < matrix->n_rows; i++) {
        const struct sirq_matrix_row *row = &matrix->rows[i];

        if (row->cells[policy].run &&
            (worst == NULL || row->cells[policy].share < worst->cells[policy].share))
            worst = row;
    }
    return worst;
}

/* ---- the median and how sure it is ----------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/*
 * The largest k such that the k-th of n from below and from above hold the median between them with
 * 95 %: fewer than k of n lie below it with at most 2.5 %, each with one half.  0: even the first
 * and the last do not.
 */
static uint32_t rank_of(uint32_t n)
{
    double term = 1, sum;
    uint32_t k = 0;

    for (uint32_t i = 0; i < n; i++)
        term /= 2;
    for (sum = term; sum <= 0.025 && k < n; sum += term) {
        term *= (double)(n - k) / (k + 1);
        k++;
    }
    return k;
}

struct sirq_matrix_median sirq_matrix_median(double *values, uint32_t n)
{
    uint32_t rank = rank_of(n);

    assert(n > 0);
    qsort(values, n, sizeof(values[0]), by_value);
    rank = rank != 0 ? rank : 1;
    return (struct sirq_matrix_median){
        .median = (values[(n - 1) / 2] + values[n / 2]) / 2,
        .low = values[rank - 1],
        .high = values[n - rank],
    };
}

/* ---- for a person ---------------------------------------------------------------------------- */

static void put_share(struct sirq_lab_table *table, unsigned column,
                      const struct sirq_matrix_cell *cell, bool best)
{
    double off = cell->high - cell->share > cell->share - cell->low ? cell->high - cell->share
                                                                    : cell->share - cell->low;

    if (!cell->run)
        sirq_lab_table_cell(table, column, "-");
    else if (best)
        sirq_lab_table_cell(table, column, "best");
    else if (off >= 0.5)
        sirq_lab_table_cell(table, column, "%.*f +-%.0f", cell->share < 9.95 ? 1 : 0, cell->share,
                            off);
    else
        sirq_lab_table_cell(table, column, "%.*f", cell->share < 9.95 ? 1 : 0, cell->share);
}

static void print_rows(const struct sirq_matrix *matrix, FILE *out)
{
    struct sirq_lab_table table;
    char what[160];

    sirq_lab_table_init(&table);
    sirq_lab_table_column(&table, "workload", true, 0);
    for (uint32_t p = 0; p < matrix->n_policies; p++)
        sirq_lab_table_column(&table, matrix->policies[p]->name, false, 0);
    for (uint32_t i = 0; i < matrix->n_rows; i++) {
        const struct sirq_matrix_row *row = &matrix->rows[i];

        if (sirq_lab_table_row(&table))
            break;
        snprintf(what, sizeof(what), "%s, %s: %s", row->experiment, row->setup, row->metric);
        sirq_lab_table_cell(&table, 0, "%s", what);
        for (uint32_t p = 0; p < matrix->n_policies; p++)
            put_share(&table, 1 + p, &row->cells[p], p == row->best);
    }
    sirq_lab_table_print(&table, out, 0);
    sirq_lab_table_free(&table);
}

void sirq_matrix_print(const struct sirq_matrix *matrix, FILE *out)
{
    fputs("\npolicies by workload: percent of what the best one reaches\n\n", out);
    print_rows(matrix, out);
    fprintf(out,
            "\n  +-3: the bounds of the median of the seeds (at least %u) with 95 %%%s\n"
            "\nthe worst of each:\n",
            matrix->seeds, matrix->seeds < 6 ? ", or all where they are fewer than six" : "");
    for (uint32_t p = 0; p < matrix->n_policies; p++) {
        const struct sirq_matrix_row *row = sirq_matrix_worst(matrix, p);

        if (row != NULL)
            fprintf(out, "  %-12s%.1f of 100 (%s): %s, %s: %s\n", matrix->policies[p]->name,
                    row->cells[p].share, matrix->policies[row->best]->name, row->experiment,
                    row->setup, row->metric);
    }
}
