/* SPDX-License-Identifier: MIT */
/*
 * Every policy on every workload: of each figure that says which way is better, how much of what
 * the best policy reaches there each of them does.
 */
#ifndef SIRQ_LAB_MATRIX_H
#define SIRQ_LAB_MATRIX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <sirq/policy.h>

/* Shares are in percent of the row's best: 100 as good, 50 half as much of it, or twice as much
 * where less is better. */
struct sirq_matrix_cell {
    bool run;         /* else nothing below counts */
    double value;     /* as in the results */
    double share;     /* median over the seeds, each against the best in the same seed */
    double low, high; /* of the share, that hold its median with 95 %; of few seeds: all */
};

struct sirq_matrix_row {
    const char *experiment, *setup, *metric, *unit; /* by reference */
    bool less;                                      /* is better */
    uint32_t best;                                  /* policy */
    struct sirq_matrix_cell *cells;                 /* n_policies */
};

struct sirq_matrix {
    const struct sirq_policy *const *policies; /* by reference */
    uint32_t n_policies, n_rows, seeds;        /* seeds: the fewest of any row */
    struct sirq_matrix_row *rows;
};

/* A row more, of zeroed cells, or null. */
struct sirq_matrix_row *sirq_matrix_add(struct sirq_matrix *matrix);
void sirq_matrix_free(struct sirq_matrix *matrix);

/* The row in which the policy reaches the least; null: it ran in none. */
const struct sirq_matrix_row *sirq_matrix_worst(const struct sirq_matrix *matrix, uint32_t policy);

/* Median of n > 0 numbers, which are put in order, and the bounds that hold the true median with
 * 95 % whatever their distribution is (ranks from the binomial; of fewer than six: all of them). */
struct sirq_matrix_median {
    double median, low, high;
};
struct sirq_matrix_median sirq_matrix_median(double *values, uint32_t n);

void sirq_matrix_print(const struct sirq_matrix *matrix, FILE *out);

#endif
