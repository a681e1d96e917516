/* SPDX-License-Identifier: MIT */
/* The file for results, one figure a line: docs/experiments.md has its columns. */
#ifndef SIRQ_LAB_CSV_H
#define SIRQ_LAB_CSV_H

#include <stdio.h>

#include "line.h"

/* The first line of the file: what it says is of this version. */
#define SIRQ_CSV_HEADER \
    "experiment,setup,world,policy,metric,unit,value,least,most,published,role,error,seed"

/* Of `n` runs.  0 or -errno with err filled; see outfile.h. */
int sirq_csv_write(const char *path, const struct sirq_lines *runs, unsigned n,
                   struct sirq_error *err);

#endif
