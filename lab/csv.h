/* SPDX-License-Identifier: MIT */
/* The file for results, one figure a line: docs/experiments.md has its columns. */
#ifndef SIRQ_LAB_CSV_H
#define SIRQ_LAB_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "line.h"

/* The first line of the file: what it says is of this version. */
#define SIRQ_CSV_HEADER \
    "experiment,setup,world,policy,metric,unit,value,least,most,published,role,error,seed"

/* A line of such a file.  Texts point into the table. */
struct sirq_csv_row {
    const char *experiment, *setup, *world, *policy, *metric, *unit;
    double value, least, most; /* without a spread: all the same */
    bool spread;
};

struct sirq_csv_table {
    struct sirq_csv_row *rows;
    size_t n;
    char *text; /* owned */
};

/* Read one.  0, or -errno with err filled: the file, the line and what would do.  Free with
 * sirq_csv_free(). */
int sirq_csv_read(struct sirq_csv_table *out, const char *path, struct sirq_error *err);
void sirq_csv_free(struct sirq_csv_table *table);

/* Of `n` runs.  0 or -errno with err filled; see outfile.h. */
int sirq_csv_write(const char *path, const struct sirq_lines *runs, unsigned n,
                   struct sirq_error *err);

#endif
