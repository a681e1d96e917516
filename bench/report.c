/* SPDX-License-Identifier: MIT */
/* Series, ratios, the table and the file of figures. */
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *bench, *subject, *peer, *metric, *unit;
    double value, peer_value, ratio, ratio_min, ratio_max; /* ratio 0: no peer */
};

static struct row rows[BENCH_ROWS_MAX];
static unsigned nrows;

void bench_add(struct bench_series *series, double value)
{
    if (series->n < BENCH_RUNS_MAX)
        series->value[series->n++] = value;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median_of(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double bench_median(const struct bench_series *series)
{
    struct bench_series copy = *series;

    return copy.n == 0 ? 0 : bench_median_of(copy.value, copy.n);
}

static void set_ratio(struct row *row, enum bench_better better, const struct bench_series *ours,
                      const struct bench_series *theirs)
{
    struct bench_series ratio = {0};

    for (unsigned i = 0; i < ours->n && i < theirs->n; i++)
        bench_add(&ratio, better == BENCH_LESS ? theirs->value[i] / ours->value[i]
                                               : ours->value[i] / theirs->value[i]);
    if (ratio.n == 0)
        return;
    row->ratio = bench_median_of(ratio.value, ratio.n); /* which leaves them sorted */
    row->ratio_min = ratio.value[0];
    row->ratio_max = ratio.value[ratio.n - 1];
}

void bench_row(const char *bench, const char *subject, const char *peer, const char *metric,
               const char *unit, enum bench_better better, const struct bench_series *ours,
               const struct bench_series *theirs)
{
    struct row *row = &rows[nrows];

    if (nrows == BENCH_ROWS_MAX)
        bench_die("report: too many rows", ENOSPC);
    nrows++;
    *row = (struct row){bench, subject, peer, metric, unit, bench_median(ours), 0, 0, 0, 0};
    if (theirs == NULL)
        return;
    row->peer_value = bench_median(theirs);
    set_ratio(row, better, ours, theirs);
}

static void print_row(FILE *out, const struct row *row, bool first)
{
    if (first)
        fprintf(out, "\n%s\n", row->bench);
    fprintf(out, "  %-21s %-25s %-30s %-8s %12.4g", row->subject, row->peer, row->metric, row->unit,
            row->value);
    if (row->ratio > 0)
        fprintf(out, " %12.4g %8.2f  %.2f-%.2f", row->peer_value, row->ratio, row->ratio_min,
                row->ratio_max);
    fputc('\n', out);
}

void bench_print(FILE *out)
{
    fprintf(out,
            "Medians of several runs; ratio: more than 1 is good for softirq; with the smallest "
            "and\nthe largest of a run.\n\n  %-21s %-25s %-30s %-8s %12s %12s %8s  %s\n",
            "subject", "peer", "metric", "unit", "value", "peer", "ratio", "min-max");
    for (unsigned i = 0; i < nrows; i++)
        print_row(out, &rows[i], i == 0 || strcmp(rows[i].bench, rows[i - 1].bench) != 0);
}

/* A field, quoted when it has a comma. */
static void field(FILE *file, const char *text)
{
    fprintf(file, strchr(text, ',') != NULL ? "\"%s\"," : "%s,", text);
}

int bench_write_csv(const char *path)
{
    FILE *file = fopen(path, "w");

    if (file == NULL)
        return -errno;
    fprintf(file, "bench,subject,peer,metric,unit,value,peer_value,ratio,ratio_min,ratio_max\n");
    for (unsigned i = 0; i < nrows; i++) {
        const struct row *row = &rows[i];

        field(file, row->bench);
        field(file, row->subject);
        field(file, row->peer);
        field(file, row->metric);
        field(file, row->unit);
        fprintf(file, "%.6g,", row->value);
        if (row->ratio > 0)
            fprintf(file, "%.6g,%.4g,%.4g,%.4g\n", row->peer_value, row->ratio, row->ratio_min,
                    row->ratio_max);
        else
            fprintf(file, ",,,\n");
    }
    return fclose(file) == 0 ? 0 : -errno;
}
