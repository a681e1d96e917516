/* SPDX-License-Identifier: MIT */
/* Parts of cyclictest on the running kernel that need no kernel to be tested. */
#ifndef SIRQ_LAB_KERNEL_CYCLIC_H
#define SIRQ_LAB_KERNEL_CYCLIC_H

#include <stdio.h>

#include "result.h"

/* Is `tool` in a directory of `path`?  0, or -ENOENT with err filled: what to install. */
int sirq_cyclic_need(const char *tool, const char *package, const char *path,
                     struct sirq_error *err);

/* What `cyclictest -q` wrote, as figures; the text is taken apart.  How many threads it has. */
unsigned sirq_cyclic_parse(char *text, struct sirq_row *row);

/* Bytes that the receiving end had so far.  0 or -errno. */
int sirq_cyclic_received(const char *proc, uint64_t *bytes);

void sirq_cyclic_report(const struct sirq_results *results, unsigned runs, bool partial, FILE *out);

#endif
