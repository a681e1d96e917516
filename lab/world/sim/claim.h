/* SPDX-License-Identifier: MIT */
/* Whether what an experiment's file claims holds in what was run. */
#ifndef SIRQ_LAB_SIM_CLAIM_H
#define SIRQ_LAB_SIM_CLAIM_H

#include "report.h"

/* One side of a claim: a figure of a row, or a number. */
struct sirq_sim_side {
    const struct sirq_sim_row *row; /* null: a number, or it was not run */
    uint32_t figure;
    double value; /* median or pooled, as the table has it; NAN: nothing of it happened */
};

struct sirq_sim_verdict {
    bool run; /* there is something to compare; else nothing below counts */
    bool holds;
    struct sirq_sim_side left, right;
    double bound;         /* what left is compared with: right, times what the claim says */
    uint32_t seeds, good; /* complete on both sides; of them, in which it holds */
};

void sirq_sim_claim_judge(const struct sirq_sim_report *report, const struct sirq_spec_claim *claim,
                          struct sirq_sim_verdict *verdict);

/* How many hold, and each with both values. */
void sirq_sim_claims_print(const struct sirq_sim_report *report, FILE *out);

/* A line of the results for each that was run. */
void sirq_sim_claims_each(const struct sirq_sim_report *report,
                          void (*fn)(void *arg, const struct sirq_line *line), void *arg);

#endif
