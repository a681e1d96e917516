/* SPDX-License-Identifier: MIT */
/* What all rows gave, for a person and as lines of files, beside what was published. */
#ifndef SIRQ_LAB_SIM_REPORT_H
#define SIRQ_LAB_SIM_REPORT_H

#include <stdio.h>

#include "cells.h"
#include "line.h"

#define SIRQ_SIM_TEXT 24u /* bytes of a figure as text */

struct sirq_sim_report {
    const char *experiment;       /* as in the results */
    const struct sirq_spec *spec; /* in no setup: its claims */
    const struct sirq_sim_cells *cells;
    const struct sirq_spec_figures *published;
    double limit; /* packets/s that one CPU can carry, where a sweep asked for it; else 0 */
    bool rates;   /* asked for: nothing was published or claimed of those */
    bool partial; /* stopped by a person */
};

/* What was published of a figure of a row, or null. */
const struct sirq_spec_figure *sirq_sim_report_published(const struct sirq_sim_report *report,
                                                         const struct sirq_sim_row *row,
                                                         uint32_t figure);

/* Into buf of SIRQ_SIM_TEXT bytes; returns it.  Three digits of a figure: "12.3M", "0.013"; of a
 * time, "13.0ms" whatever its unit is. */
const char *sirq_sim_report_text(char *buf, double value, const char *unit);

/* How far off, of percent: "-4.2%", "+50.3%!" beyond SIRQ_SCORE_NEAR, "x16!" of ten times off. */
const char *sirq_sim_report_error(char *buf, double error);

/* The next word of a list that goes on below where a line is full; `at`: the line's length. */
void sirq_sim_report_word(FILE *out, uint32_t *at, const char *word, const char *end);

/* A table for each setup, what the file claims, how far off what was published. */
void sirq_sim_report_print(const struct sirq_sim_report *report, FILE *out);
void sirq_sim_report_score(const struct sirq_sim_report *report, FILE *out);

/* `report` is kept by reference. */
struct sirq_lines sirq_sim_report_lines(const struct sirq_sim_report *report);

#endif
