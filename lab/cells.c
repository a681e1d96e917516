/* SPDX-License-Identifier: MIT */
#include "cells.h"

void sirq_cell_si(struct sirq_lab_table *table, unsigned column, const struct sirq_row *row,
                  const char *metric)
{
    char buf[16];
    double value;

    if (sirq_row_get(row, metric, &value))
        sirq_lab_table_cell(table, column, "%s", sirq_lab_table_si(buf, value));
}

void sirq_cell_number(struct sirq_lab_table *table, unsigned column, const struct sirq_row *row,
                      const char *metric, int decimals)
{
    double value;

    if (sirq_row_get(row, metric, &value))
        sirq_lab_table_cell(table, column, "%.*f", decimals, value);
}

static bool column_is_empty(const struct sirq_lab_table *table, unsigned column)
{
    for (unsigned r = 0; r < table->nrows; r++) {
        if (table->cells[(size_t)r * table->ncolumns + column])
            return false;
    }
    return true;
}

void sirq_cells_hide_empty(struct sirq_lab_table *table)
{
    for (unsigned c = 0; c < table->ncolumns; c++)
        table->column[c].hidden = column_is_empty(table, c);
}
