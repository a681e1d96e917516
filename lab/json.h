/* SPDX-License-Identifier: MIT */
/* The file for results and their summary as JSON: docs/experiments.md has its keys. */
#ifndef SIRQ_LAB_JSON_H
#define SIRQ_LAB_JSON_H

#include "line.h"
#include "matrix.h"

/* Of `n` runs; matrix: null, or of them all.  0 or -errno with err filled; see outfile.h. */
int sirq_json_write(const char *path, const struct sirq_lines *runs, unsigned n,
                    const struct sirq_matrix *matrix, struct sirq_error *err);

#endif
