/* SPDX-License-Identifier: MIT */
/* The file for results and their summary as JSON: docs/experiments.md has its keys. */
#ifndef SIRQ_LAB_JSON_H
#define SIRQ_LAB_JSON_H

#include "line.h"

/* 0 or -errno with err filled; see outfile.h. */
int sirq_json_write(const char *path, const struct sirq_lines *lines, struct sirq_error *err);

#endif
