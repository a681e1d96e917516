/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "cells.h"
#include "cyclic.h"
#include "session.h"
#include "world/common/netns.h"

int sirq_cyclic_received(const char *proc, uint64_t *bytes)
{
    char line[512], path[256];
    unsigned long long value;
    int rc = -ENODEV;
    FILE *file;

    snprintf(path, sizeof(path), "%s/thread-self/net/dev", proc);
    file = fopen(path, "re");
    if (!file)
        return -errno;
    while (fgets(line, sizeof(line), file)) {
        const char *name = line + strspn(line, " ");

        if (strncmp(name, SIRQ_VETH_RX ":", sizeof(SIRQ_VETH_RX)) == 0 &&
            sscanf(name + sizeof(SIRQ_VETH_RX), "%llu", &value) == 1) {
            *bytes = value;
            rc = 0;
        }
    }
    fclose(file);
    return rc;
}

/* The worst of a few seconds says little by itself: its spread stands beside it. */
void sirq_cyclic_report(const struct sirq_results *results, unsigned runs, bool partial, FILE *out)
{
    static const char *const titles[] = {"setup",      "policy",       "worst us", "least..most",
                                         "t0 mean us", "iperf Mbit/s", "irq%"};
    struct sirq_lab_table table;

    if (partial)
        fputs("Stopped: what follows is partial.\n", out);
    sirq_lab_table_init(&table);
    for (unsigned c = 0; c < sizeof(titles) / sizeof(titles[0]); c++)
        sirq_lab_table_column(&table, titles[c], c < 2, 0);
    for (unsigned i = 0; i < results->nrows; i++) {
        const struct sirq_row *row = results->rows[i];
        const struct sirq_metric *worst = sirq_row_find(row, "worst_max");

        if (row->skipped || !worst || sirq_lab_table_row(&table))
            continue;
        sirq_lab_table_cell(&table, 0, "%s", row->setup);
        sirq_lab_table_cell(&table, 1, "%s", row->policy);
        sirq_cell_number(&table, 2, row, "worst_max", 0);
        if (worst->spread)
            sirq_lab_table_cell(&table, 3, "%.0f..%.0f", worst->least, worst->most);
        sirq_cell_number(&table, 4, row, "t0_mean", 0);
        sirq_cell_number(&table, 5, row, "iperf_rate", 0);
        sirq_cell_number(&table, 6, row, "irq_cpu", 1);
    }
    sirq_cells_hide_empty(&table);
    fprintf(out, "cyclictest beside iperf3 and dd; medians of %u run%s\n\n", runs,
            runs == 1 ? "" : "s");
    sirq_lab_table_print(&table, out, sirq_lab_table_width(out));
    sirq_kernel_print_notes(results, 0, out);
    sirq_lab_table_free(&table);
    fflush(out);
}
