/* SPDX-License-Identifier: MIT */
/* The file for results, one figure a line: docs/experiments.md has its columns. */
#ifndef SIRQ_LAB_CSV_H
#define SIRQ_LAB_CSV_H

#include <stdio.h>

#include "line.h"

/* 0 or -errno with err filled; see outfile.h. */
int sirq_csv_write(const char *path, const struct sirq_lines *lines, struct sirq_error *err);

#endif
