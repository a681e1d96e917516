/* SPDX-License-Identifier: MIT */
#include "score.h"

#include <errno.h>
#include <stdlib.h>

struct taker {
    struct sirq_score *score;
    const struct sirq_spec_figures *published;
    bool *seen; /* of these */
};

static double size_of(double error)
{
    return error < 0 ? -error : error;
}

static void count(struct sirq_score_part *part, const struct sirq_spec_figure *figure, double error)
{
    part->errors[part->n++] = size_of(error);
    part->near += size_of(error) <= SIRQ_SCORE_NEAR;
    if (part->worst == NULL || size_of(error) > size_of(part->worst_error)) {
        part->worst = figure;
        part->worst_error = error;
    }
}

static unsigned part_of(const struct sirq_spec_figure *figure)
{
    if (!figure->scored)
        return SIRQ_SCORE_OTHER;
    return figure->role == SIRQ_SPEC_BASELINE ? SIRQ_SCORE_BASELINE : SIRQ_SCORE_PREDICTED;
}

static void take(void *arg, const struct sirq_line *line)
{
    const struct taker *taker = arg;
    struct sirq_score *score = taker->score;
    const struct sirq_spec_figure *figure = line->published, *rows = taker->published->row;

    score->claims += line->claim;
    score->hold += line->claim && line->value == 1;
    if (figure == NULL || figure < rows || figure >= rows + taker->published->n ||
        taker->seen[figure - rows])
        return; /* a claim of the file's own stands in no list */
    taker->seen[figure - rows] = true;
    if (!line->claim)
        count(&score->part[part_of(figure)], figure, sirq_line_error(figure, line->value));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void sum_up(struct sirq_score_part *part)
{
    unsigned n = part->n;

    if (n == 0)
        return;
    qsort(part->errors, n, sizeof(part->errors[0]), by_value);
    part->median = (part->errors[(n - 1) / 2] + part->errors[n / 2]) / 2;
    part->p90 = part->errors[(9 * n + 9) / 10 - 1];
}

static size_t all_published(const struct sirq_lines *runs, unsigned n)
{
    size_t sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += runs[i].published->n;
    return sum;
}

int sirq_score_make(struct sirq_score *score, const struct sirq_lines *runs, unsigned n_runs)
{
    size_t n = all_published(runs, n_runs), at = 0;
    double *errors = calloc(SIRQ_SCORE_PARTS * n + 1, sizeof(*errors));

    *score = (struct sirq_score){.seen = calloc(n + 1, sizeof(bool))};
    if (errors == NULL || score->seen == NULL) {
        free(errors);
        free(score->seen);
        return -ENOMEM;
    }
    for (unsigned i = 0; i < SIRQ_SCORE_PARTS; i++)
        score->part[i].errors = errors + i * n;
    for (unsigned i = 0; i < n_runs; i++) {
        struct taker taker = {score, runs[i].published, score->seen + at};

        runs[i].each(runs[i].of, take, &taker);
        at += runs[i].published->n;
    }
    for (unsigned i = 0; i < SIRQ_SCORE_PARTS; i++)
        sum_up(&score->part[i]);
    for (size_t i = 0; i < n; i++)
        score->missing += !score->seen[i];
    return 0;
}

void sirq_score_free(struct sirq_score *score)
{
    free(score->part[0].errors);
    free(score->seen);
    *score = (struct sirq_score){0};
}
