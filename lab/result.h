/* SPDX-License-Identifier: MIT */
/*
 * What one run of one setup gave: named figures, as they go into the CSV file, and notes
 * for a person.  The same in every experiment and world.
 */
#ifndef SIRQ_LAB_RESULT_H
#define SIRQ_LAB_RESULT_H

#include <stdbool.h>
#include <stddef.h>

#include "line.h"

#define SIRQ_ROW_METRICS 320
#define SIRQ_ROW_NOTES 4
#define SIRQ_ROW_RUNS 100 /* runs of one setup */

struct sirq_metric {
    char name[32];
    const char *unit; /* by reference: "packets/s", "percent", "packets", "us" */
    double value;
    bool spread;        /* of several runs: value is their median */
    double least, most; /* without: the value */
};

struct sirq_row {
    char setup[64]; /* as published: "1 receiver SCHED_RR 20" */
    const char *policy;
    const char *published_as; /* the policy of the published figures, null: the same */
    double wanted_rate;       /* asked for, packets/s; 0: as fast as the sender can */
    bool skipped;             /* nothing was measured, notes say why */
    bool comparable;          /* the conditions are those of the published figures */
    unsigned nmetrics, nnotes;
    struct sirq_metric metric[SIRQ_ROW_METRICS];
    struct sirq_error note[SIRQ_ROW_NOTES];
};

/* Rows in the order in which they were run; owned, freed with sirq_results_free(). */
struct sirq_results {
    const char *experiment; /* as in the CSV files: udp_flood */
    const char *world;
    const struct sirq_spec *spec; /* of the file by the experiment's name */
    const struct sirq_spec_figures *published;
    unsigned long long seed;
    unsigned missing; /* rows that could not be run here, notes say why */
    unsigned nrows, capacity;
    struct sirq_row **rows;
};

/* A new row at the end, or null.  Owned by results. */
struct sirq_row *sirq_results_row(struct sirq_results *results);
void sirq_results_free(struct sirq_results *results);

void sirq_row_add(struct sirq_row *row, const char *unit, double value, const char *name, ...)
    __attribute__((format(printf, 4, 5)));

/* Of several runs of one setup: of every figure that all of them have, the median and the spread;
 * notes once each. */
void sirq_row_merge(struct sirq_row *out, const struct sirq_row *const *runs, unsigned n);

/* A note; more than SIRQ_ROW_NOTES are dropped. */
void sirq_row_note(struct sirq_row *row, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The figure called `name`, or null; true and *value, or false. */
const struct sirq_metric *sirq_row_find(const struct sirq_row *row, const char *name);
bool sirq_row_get(const struct sirq_row *row, const char *name, double *value);

/* What was published of the row, or null. */
const struct sirq_spec_figure *sirq_results_published(const struct sirq_results *results,
                                                      const struct sirq_row *row,
                                                      const char *metric);

/* All lines of them; `results` is kept by reference.  A setup under a rate that was asked for has
 * that in its name, so that no two lines of a run say the same. */
struct sirq_lines sirq_results_lines(const struct sirq_results *results);

#endif
