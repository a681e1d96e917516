/* SPDX-License-Identifier: MIT */
/* Rows of results: a bounded set of named figures each. */
#include "result.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sirq_row *sirq_results_row(struct sirq_results *results)
{
    struct sirq_row *row;

    if (results->nrows == results->capacity) {
        unsigned capacity = results->capacity ? 2 * results->capacity : 32;
        struct sirq_row **rows = realloc(results->rows, sizeof(*rows) * capacity);

        if (!rows)
            return NULL;
        results->rows = rows;
        results->capacity = capacity;
    }
    row = calloc(1, sizeof(*row));
    if (row)
        results->rows[results->nrows++] = row;
    return row;
}

void sirq_results_free(struct sirq_results *results)
{
    for (unsigned i = 0; i < results->nrows; i++)
        free(results->rows[i]);
    free(results->rows);
    results->rows = NULL;
    results->nrows = results->capacity = 0;
}

void sirq_row_add(struct sirq_row *row, const char *unit, double value, const char *name, ...)
{
    struct sirq_metric *metric;
    va_list args;

    assert(row->nmetrics < SIRQ_ROW_METRICS);
    metric = &row->metric[row->nmetrics++];
    metric->unit = unit;
    metric->value = value;
    va_start(args, name);
    vsnprintf(metric->name, sizeof(metric->name), name, args);
    va_end(args);
}

void sirq_row_note(struct sirq_row *row, const char *fmt, ...)
{
    va_list args;

    if (row->nnotes == SIRQ_ROW_NOTES)
        return;
    va_start(args, fmt);
    vsnprintf(row->note[row->nnotes].text, sizeof(row->note[0].text), fmt, args);
    va_end(args);
    row->nnotes++;
}

bool sirq_row_get(const struct sirq_row *row, const char *name, double *value)
{
    for (unsigned i = 0; i < row->nmetrics; i++) {
        if (strcmp(row->metric[i].name, name) == 0) {
            *value = row->metric[i].value;
            return true;
        }
    }
    return false;
}

const struct sirq_spec_figure *sirq_results_published(const struct sirq_results *results,
                                                      const struct sirq_row *row,
                                                      const char *metric)
{
    for (uint32_t i = 0; results->spec != NULL && i < results->spec->n_setups; i++) {
        if (strcmp(results->spec->setups[i].name, row->setup) == 0)
            return sirq_spec_figure(results->published, results->spec, i, row->policy, metric,
                                    NULL);
    }
    return NULL;
}

struct sink {
    void (*fn)(void *arg, const struct sirq_line *line);
    void *arg;
};

static void give_metric(const struct sirq_results *results, const struct sirq_row *row,
                        const struct sirq_metric *metric, const struct sink *sink)
{
    char setup[sizeof(row->setup) + 32];
    const struct sirq_line line = {
        .experiment = results->experiment,
        .setup = setup,
        .world = results->world,
        .policy = row->policy,
        .metric = metric->name,
        .unit = metric->unit,
        .value = metric->value,
        .published = row->comparable ? sirq_results_published(results, row, metric->name) : NULL,
        .seed = results->seed,
    };

    snprintf(setup, sizeof(setup), "%s", row->setup);
    if (row->wanted_rate > 0)
        snprintf(setup, sizeof(setup), "%s %.0f/s", row->setup, row->wanted_rate);
    sink->fn(sink->arg, &line);
}

static void each(const void *of, void (*fn)(void *arg, const struct sirq_line *line), void *arg)
{
    const struct sirq_results *results = of;
    const struct sink sink = {fn, arg};

    for (unsigned r = 0; r < results->nrows; r++) {
        for (unsigned m = 0; m < results->rows[r]->nmetrics; m++)
            give_metric(results, results->rows[r], &results->rows[r]->metric[m], &sink);
    }
}

struct sirq_lines sirq_results_lines(const struct sirq_results *results)
{
    return (struct sirq_lines){each, results, results->experiment, results->published};
}
