/* SPDX-License-Identifier: MIT */
/*
 * Tables on the terminal.  Widths are bytes: titles and cells are ASCII, so that every
 * terminal and pager shows them alike.
 */
#include "table.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define GAP 2u

void sirq_lab_table_init(struct sirq_lab_table *table)
{
    memset(table, 0, sizeof(*table));
}

void sirq_lab_table_column(struct sirq_lab_table *table, const char *title, bool left, int weight)
{
    assert(table->ncolumns < SIRQ_LAB_TABLE_COLUMNS && !table->nrows);
    table->column[table->ncolumns++] = (struct sirq_lab_table_column){title, left, weight, false};
}

int sirq_lab_table_row(struct sirq_lab_table *table)
{
    if (table->nrows == table->capacity) {
        unsigned capacity = table->capacity ? 2 * table->capacity : 16;
        char **cells = realloc(table->cells, sizeof(*cells) * capacity * table->ncolumns);

        if (!cells)
            return -ENOMEM;
        table->cells = cells;
        table->capacity = capacity;
    }
    memset(&table->cells[(size_t)table->nrows * table->ncolumns], 0,
           sizeof(char *) * table->ncolumns);
    table->nrows++;
    return 0;
}

static const char *cell(const struct sirq_lab_table *table, unsigned row, unsigned column)
{
    const char *text = table->cells[(size_t)row * table->ncolumns + column];

    return text ? text : "";
}

int sirq_lab_table_cell(struct sirq_lab_table *table, unsigned column, const char *fmt, ...)
{
    char **slot;
    va_list args;
    int n;

    assert(table->nrows && column < table->ncolumns);
    slot = &table->cells[(size_t)(table->nrows - 1) * table->ncolumns + column];
    free(*slot);
    va_start(args, fmt);
    n = vasprintf(slot, fmt, args);
    va_end(args);
    if (n < 0) {
        *slot = NULL;
        return -ENOMEM;
    }
    return 0;
}

static void measure(const struct sirq_lab_table *table, unsigned *width)
{
    for (unsigned c = 0; c < table->ncolumns; c++) {
        width[c] = table->column[c].hidden ? 0 : (unsigned)strlen(table->column[c].title);
        for (unsigned r = 0; r < table->nrows && !table->column[c].hidden; r++) {
            unsigned len = (unsigned)strlen(cell(table, r, c));

            if (len > width[c])
                width[c] = len;
        }
    }
}

/* Hide the lightest columns (width 0) until the rest fits. */
static void hide(const struct sirq_lab_table *table, unsigned *width, unsigned limit)
{
    for (unsigned pass = 0; pass < table->ncolumns; pass++) {
        unsigned total = 0, lightest = table->ncolumns;

        for (unsigned c = 0; c < table->ncolumns; c++) {
            if (!width[c])
                continue;
            total += width[c] + (total ? GAP : 0);
            if (table->column[c].weight &&
                (lightest == table->ncolumns ||
                 table->column[c].weight <= table->column[lightest].weight))
                lightest = c;
        }
        if (total <= limit || lightest == table->ncolumns)
            return;
        width[lightest] = 0;
    }
}

/* row -1: the titles. */
static void print_row(const struct sirq_lab_table *table, FILE *out, const unsigned *width, int row)
{
    unsigned pad = 0;

    for (unsigned c = 0; c < table->ncolumns; c++) {
        const char *text = row < 0 ? table->column[c].title : cell(table, (unsigned)row, c);
        unsigned room;

        if (!width[c])
            continue;
        room = width[c] - (unsigned)strlen(text);
        if (!table->column[c].left)
            pad += room;
        if (*text) { /* blanks only before text: none trail */
            fprintf(out, "%*s%s", (int)pad, "", text);
            pad = 0;
        }
        if (table->column[c].left)
            pad += room;
        pad += GAP;
    }
    fputc('\n', out);
}

void sirq_lab_table_print(const struct sirq_lab_table *table, FILE *out, unsigned width)
{
    unsigned widths[SIRQ_LAB_TABLE_COLUMNS];
    const char *before = "not shown, the terminal is too narrow: ";

    measure(table, widths);
    if (width)
        hide(table, widths, width);
    for (int row = -1; row < (int)table->nrows; row++)
        print_row(table, out, widths, row);
    for (unsigned c = 0; c < table->ncolumns; c++) {
        if (widths[c] || table->column[c].hidden)
            continue;
        fprintf(out, "%s%s", before, table->column[c].title);
        before = ", ";
    }
    if (before[0] == ',')
        fputc('\n', out);
}

void sirq_lab_table_free(struct sirq_lab_table *table)
{
    for (size_t i = 0; i < (size_t)table->nrows * table->ncolumns; i++)
        free(table->cells[i]);
    free(table->cells);
    memset(table, 0, sizeof(*table));
}

unsigned sirq_lab_table_width(FILE *out)
{
    struct winsize size;
    int fd = fileno(out);

    if (fd < 0 || !isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col)
        return 0;
    return size.ws_col;
}

const char *sirq_lab_table_si(char *buf, double value)
{
    static const char suffix[] = {'\0', 'k', 'M', 'G', 'T'};
    unsigned i = 0;
    int decimals;

    while (value >= 999.5 && i + 1 < sizeof(suffix)) {
        value /= 1000;
        i++;
    }
    decimals = !i || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(buf, 16, "%.*f%c", decimals, value, suffix[i]);
    return buf;
}
