/* SPDX-License-Identifier: MIT */
/*
 * The file for results, one figure a line: docs/experiments.md has its columns.  `path` is
 * only replaced when all is there.
 */
#ifndef SIRQ_LAB_CSV_H
#define SIRQ_LAB_CSV_H

#include <stdio.h>

#include "spec/figures.h"

struct sirq_csv_line {
    const char *experiment, *setup, *world, *policy, *metric, *unit;
    double value;
    bool spread; /* least and most were found */
    double least, most;
    const struct sirq_spec_figure *published; /* null: nothing was */
    unsigned long long seed;
};
void sirq_csv_put(FILE *out, const struct sirq_csv_line *line);

/* How far `value` is off, in percent: 0 of what is 0, infinite of anything else that should be. */
double sirq_csv_error(const struct sirq_spec_figure *published, double value);

/* Before the run, leaves nothing behind: 0 or -EINVAL with err filled. */
int sirq_csv_check(const char *path, struct sirq_error *err);

/* Make a temporary file beside it, let `put` write its lines, rename: 0 or -errno with err
 * filled. */
int sirq_csv_write(const char *path, void (*put)(FILE *out, const void *arg), const void *arg,
                   struct sirq_error *err);

#endif
