/* SPDX-License-Identifier: MIT */
/*
 * How far off a run is: every published figure is either compared, or counted as not measured.
 * Those that a model may have been calibrated on stand apart from those that it has to predict;
 * claims, which hold or do not, apart from both.
 */
#ifndef SIRQ_LAB_SCORE_H
#define SIRQ_LAB_SCORE_H

#include "line.h"

#define SIRQ_SCORE_NEAR 15.0 /* percent */

enum { SIRQ_SCORE_PREDICTED, SIRQ_SCORE_BASELINE, SIRQ_SCORE_OTHER, SIRQ_SCORE_PARTS };

struct sirq_score_part {
    double *errors; /* percent, without sign, in order */
    unsigned n, near;
    double median, p90;                   /* of n > 0 */
    const struct sirq_spec_figure *worst; /* null: n is 0 */
    double worst_error;                   /* with its sign */
};

struct sirq_score {
    struct sirq_score_part part[SIRQ_SCORE_PARTS];
    unsigned claims, hold; /* that were looked at; of them */
    unsigned missing;      /* published and neither compared nor looked at */
    bool *seen;            /* by number in the published figures, those of all runs in a row */
};

/* Of `n` runs together, with n published tables of their own.  0 or -ENOMEM.  Free with
 * sirq_score_free(). */
int sirq_score_make(struct sirq_score *score, const struct sirq_lines *runs, unsigned n);
void sirq_score_free(struct sirq_score *score);

#endif
