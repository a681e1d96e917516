/* SPDX-License-Identifier: MIT */
/*
 * A table for the terminal: aligned columns, no colours.  When it is wider than the
 * terminal, the columns of the lowest weight are left out and named below the table.
 */
#ifndef SIRQ_LAB_TABLE_H
#define SIRQ_LAB_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#define SIRQ_LAB_TABLE_COLUMNS 24

struct sirq_lab_table_column {
    const char *title; /* kept by reference */
    bool left;         /* text, else a number */
    int weight;        /* what is left out first: the smallest; 0 never */
    bool hidden;       /* leave it out, without a word */
};

struct sirq_lab_table {
    unsigned ncolumns, nrows, capacity;
    struct sirq_lab_table_column column[SIRQ_LAB_TABLE_COLUMNS];
    char **cells; /* nrows * ncolumns; owned */
};

/* Owned by the caller, freed with sirq_lab_table_free(). */
void sirq_lab_table_init(struct sirq_lab_table *table);
void sirq_lab_table_column(struct sirq_lab_table *table, const char *title, bool left, int weight);

/* A new row of empty cells, after all columns are there.  0 or -ENOMEM. */
int sirq_lab_table_row(struct sirq_lab_table *table);

/* Set a cell of the last row.  0 or -ENOMEM. */
int sirq_lab_table_cell(struct sirq_lab_table *table, unsigned column, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* width: columns of the terminal, 0: unlimited. */
void sirq_lab_table_print(const struct sirq_lab_table *table, FILE *out, unsigned width);
void sirq_lab_table_free(struct sirq_lab_table *table);

/* Columns of the terminal behind `out`, 0 when it is not one. */
unsigned sirq_lab_table_width(FILE *out);

/* "12.3M", "987k", "42": a rate or count in three digits.  buf of 16 bytes; returns it. */
const char *sirq_lab_table_si(char *buf, double value);

#endif
