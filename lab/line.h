/* SPDX-License-Identifier: MIT */
/*
 * What a run gave, one figure or claim after the other: the same for every file of results and
 * for the score, in every world.
 */
#ifndef SIRQ_LAB_LINE_H
#define SIRQ_LAB_LINE_H

#include "spec/figures.h"

struct sirq_line {
    const char *experiment, *setup, *world, *policy, *metric, *unit;
    double value; /* of a claim: 1 it holds, 0 it does not */
    bool claim;
    bool spread; /* least and most of the seeds were found */
    double least, most;
    const struct sirq_spec_figure *published; /* null: nothing was */
    unsigned long long seed;
};

/* All lines of a run; `each` calls fn for one after the other, always the same ones. */
struct sirq_lines {
    void (*each)(const void *of, void (*fn)(void *arg, const struct sirq_line *line), void *arg);
    const void *of;
    const char *experiment;
    const struct sirq_spec_figures *published; /* of the experiment */
};

/* How far `value` is off, in percent: 0 of what is 0, infinite of anything else that should be. */
double sirq_line_error(const struct sirq_spec_figure *published, double value);

/* "baseline", "predict", "claim" */
const char *sirq_line_role(const struct sirq_spec_figure *published);

#endif
