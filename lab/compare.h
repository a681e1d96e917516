/* SPDX-License-Identifier: MIT */
/* Two files of results, cell by cell: softirq lab compare. */
#ifndef SIRQ_LAB_COMPARE_H
#define SIRQ_LAB_COMPARE_H

#include <sirq/driver.h> /* struct sirq_error */
#include <stdio.h>

/*
 * Print which figures lie apart by more than both of their spreads, which claims hold in one file
 * only, and what stands in one only; *moved: how many of all these.  0, or -errno with err filled.
 */
int sirq_lab_compare(const char *a, const char *b, unsigned *moved, FILE *out,
                     struct sirq_error *err);

#endif
