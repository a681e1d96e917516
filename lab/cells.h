/* SPDX-License-Identifier: MIT */
/* Figures of rows as cells of a table.  What a row does not have stays empty. */
#ifndef SIRQ_LAB_CELLS_H
#define SIRQ_LAB_CELLS_H

#include "result.h"
#include "table.h"

/* "12.3M" / with so many decimals. */
void sirq_cell_si(struct sirq_lab_table *table, unsigned column, const struct sirq_row *row,
                  const char *metric);
void sirq_cell_number(struct sirq_lab_table *table, unsigned column, const struct sirq_row *row,
                      const char *metric, int decimals);

/* Columns without a single cell say nothing: leave them out. */
void sirq_cells_hide_empty(struct sirq_lab_table *table);

#endif
