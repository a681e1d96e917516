/* SPDX-License-Identifier: MIT */
/* What all rows gave, for a person and as a file, beside what was published. */
#ifndef SIRQ_LAB_SIM_REPORT_H
#define SIRQ_LAB_SIM_REPORT_H

#include <stdio.h>

#include "cells.h"
#include "spec/figures.h"

struct sirq_sim_report {
    const char *experiment; /* as in the results */
    const struct sirq_sim_cells *cells;
    const struct sirq_spec_figures *published;
    double limit; /* packets/s that one CPU can carry, where a sweep asked for it; else 0 */
    bool rates;   /* asked for: nothing was published of those */
    bool partial; /* stopped by a person */
};

/* What was published of a figure of a row, or null. */
const struct sirq_spec_figure *sirq_sim_report_published(const struct sirq_sim_report *report,
                                                         const struct sirq_sim_row *row,
                                                         uint32_t figure);

/* A number in a few digits: "12.3M", "50.2", "0.013".  buf of 16 bytes; returns it. */
const char *sirq_sim_report_number(char *buf, double value);

/* A table for each setup; then how far off what was published. */
void sirq_sim_report_print(const struct sirq_sim_report *report, FILE *out);
void sirq_sim_report_score(const struct sirq_sim_report *report, FILE *out);

/* Lines of the CSV file; `arg` is a struct sirq_sim_report. */
void sirq_sim_report_put(FILE *out, const void *arg);

#endif
