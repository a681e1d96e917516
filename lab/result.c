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
    metric->spread = false;
    metric->least = metric->most = value;
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

const struct sirq_metric *sirq_row_find(const struct sirq_row *row, const char *name)
{
    for (unsigned i = 0; i < row->nmetrics; i++) {
        if (strcmp(row->metric[i].name, name) == 0)
            return &row->metric[i];
    }
    return NULL;
}

bool sirq_row_get(const struct sirq_row *row, const char *name, double *value)
{
    const struct sirq_metric *metric = sirq_row_find(row, name);

    if (metric)
        *value = metric->value;
    return metric != NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void merge_metric(struct sirq_row *out, const struct sirq_row *const *runs, unsigned n,
                         const struct sirq_metric *like)
{
    double values[SIRQ_ROW_RUNS];
    struct sirq_metric *metric;

    for (unsigned i = 0; i < n; i++) {
        if (!sirq_row_get(runs[i], like->name, &values[i]))
            return;
    }
    qsort(values, n, sizeof(*values), by_value);
    sirq_row_add(out, like->unit, n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2,
                 "%s", like->name);
    metric = &out->metric[out->nmetrics - 1];
    metric->spread = n > 1;
    metric->least = values[0];
    metric->most = values[n - 1];
}

static bool has_note(const struct sirq_row *row, const char *text)
{
    for (unsigned i = 0; i < row->nnotes; i++) {
        if (strcmp(row->note[i].text, text) == 0)
            return true;
    }
    return false;
}

void sirq_row_merge(struct sirq_row *out, const struct sirq_row *const *runs, unsigned n)
{
    assert(n >= 1 && n <= SIRQ_ROW_RUNS);
    for (unsigned m = 0; m < runs[0]->nmetrics; m++)
        merge_metric(out, runs, n, &runs[0]->metric[m]);
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k < runs[i]->nnotes; k++) {
            if (!has_note(out, runs[i]->note[k].text))
                sirq_row_note(out, "%s", runs[i]->note[k].text);
        }
    }
}

const struct sirq_spec_figure *sirq_results_published(const struct sirq_results *results,
                                                      const struct sirq_row *row,
                                                      const char *metric)
{
    for (uint32_t i = 0; results->spec != NULL && i < results->spec->n_setups; i++) {
        if (strcmp(results->spec->setups[i].name, row->setup) == 0)
            return sirq_spec_figure(results->published, results->spec, i,
                                    row->published_as ? row->published_as : row->policy, metric,
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
        .spread = metric->spread,
        .least = metric->least,
        .most = metric->most,
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
