/* SPDX-License-Identifier: MIT */
/*
 * JSON has no infinity and no NAN: null stands for both.  A name may come from a path and so be
 * any bytes; those that are not UTF-8 become U+FFFD, for else no reader takes the file.
 */
#include "json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "outfile.h"
#include "score.h"

/* Bytes of the character at `text`, 0: not one. */
static unsigned character(const unsigned char *text)
{
    unsigned n = text[0] < 0x80                      ? 1
                 : text[0] >= 0xc2 && text[0] < 0xe0 ? 2
                 : text[0] >= 0xe0 && text[0] < 0xf0 ? 3
                 : text[0] >= 0xf0 && text[0] < 0xf5 ? 4
                                                     : 0;

    for (unsigned i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] >= 0xa0) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] >= 0x90))
        return 0; /* too long, a surrogate, beyond the last */
    return n;
}

static void put_text(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    fputc('"', out);
    while (*at != '\0') {
        unsigned n = character(at);

        if (n == 0)
            fputs("\\ufffd", out);
        else if (*at < ' ')
            fprintf(out, "\\u%04x", *at);
        else if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else
            fwrite(at, 1, n, out);
        at += n != 0 ? n : 1;
    }
    fputc('"', out);
}

static void put_number(FILE *out, const char *key, double value, const char *end)
{
    fprintf(out, "\"%s\": ", key);
    if (__builtin_isfinite(value))
        fprintf(out, "%.10g%s", value, end);
    else
        fprintf(out, "null%s", end);
}

static void put_named(FILE *out, const char *key, const char *text, const char *end)
{
    fprintf(out, "\"%s\": ", key);
    put_text(out, text);
    fputs(end, out);
}

struct list {
    FILE *out;
    unsigned n;
};

static void put_line(void *arg, const struct sirq_line *line)
{
    const double none = __builtin_nan("");
    const struct sirq_spec_figure *published = line->published;
    struct list *list = arg;
    FILE *out = list->out;

    fputs(list->n++ != 0 ? ",\n    {" : "\n    {", out);
    put_named(out, "experiment", line->experiment, ", ");
    put_named(out, "setup", line->setup, ", ");
    put_named(out, "world", line->world, ", ");
    put_named(out, "policy", line->policy, ", ");
    put_named(out, "metric", line->metric, ", ");
    put_named(out, "unit", line->unit, ", ");
    put_number(out, "value", line->value, ", ");
    put_number(out, "least", line->spread ? line->least : none, ", ");
    put_number(out, "most", line->spread ? line->most : none, ", ");
    put_number(out, "published", published != NULL ? published->value : none, ", ");
    if (published != NULL)
        put_named(out, "role", sirq_line_role(published), ", ");
    else
        fputs("\"role\": null, ", out);
    put_number(out, "error", published != NULL ? sirq_line_error(published, line->value) : none,
               ", ");
    fprintf(out, "\"seed\": %llu}", line->seed);
}

/* Keys of one summary, without its braces. */
static void put_summary(FILE *out, const struct sirq_score *score, const char *indent)
{
    const struct sirq_score_part *part = &score->part[SIRQ_SCORE_PREDICTED];
    const double none = __builtin_nan("");
    const struct sirq_spec_figure *worst = part->worst;

    fprintf(out, "%s\"scored\": %u,\n%s\"within_15\": %u,\n", indent, part->n, indent, part->near);
    fprintf(out, "%s\"orderings_right\": %u,\n%s\"orderings_total\": %u,\n", indent, score->hold,
            indent, score->claims);
    fprintf(out, "%s\"not_measured\": %u,\n%s", indent, score->missing, indent);
    put_number(out, "median_rel_error", part->n != 0 ? part->median / 100 : none, ",\n");
    fputs(indent, out);
    put_number(out, "p90_rel_error", part->n != 0 ? part->p90 / 100 : none, ",\n");
    fprintf(out, "%s\"worst\": ", indent);
    if (worst == NULL) {
        fputs("null", out);
        return;
    }
    fputc('{', out);
    put_named(out, "setup", worst->setup, ", ");
    put_named(out, "policy", worst->policy, ", ");
    put_named(out, "metric", worst->metric, ", ");
    put_number(out, "rel_error", part->worst_error / 100, "}");
}

struct document {
    const struct sirq_lines *runs;
    unsigned n;
    const struct sirq_score *score; /* of each run; at the end, of all together */
    const struct sirq_matrix *matrix;
};

static void put_matrix_row(FILE *out, const struct sirq_matrix *matrix,
                           const struct sirq_matrix_row *row)
{
    put_named(out, "experiment", row->experiment, ", ");
    put_named(out, "setup", row->setup, ", ");
    put_named(out, "metric", row->metric, ", ");
    put_named(out, "unit", row->unit, ", ");
    put_named(out, "better", row->less ? "less" : "more", ", ");
    put_named(out, "best", matrix->policies[row->best]->name, ",\n     \"cells\": [");
    for (uint32_t p = 0, n = 0; p < matrix->n_policies; p++) {
        const struct sirq_matrix_cell *cell = &row->cells[p];

        if (!cell->run)
            continue;
        fputs(n++ != 0 ? ",\n      {" : "\n      {", out);
        put_named(out, "policy", matrix->policies[p]->name, ", ");
        put_number(out, "value", cell->value, ", ");
        put_number(out, "share", cell->share, ", ");
        put_number(out, "low", cell->low, ", ");
        put_number(out, "high", cell->high, "}");
    }
    fputc(']', out);
}

static void put_matrix(FILE *out, const struct sirq_matrix *matrix)
{
    fputs(",\n  \"matrix\": [", out);
    for (uint32_t i = 0; i < matrix->n_rows; i++) {
        fputs(i != 0 ? ",\n    {" : "\n    {", out);
        put_matrix_row(out, matrix, &matrix->rows[i]);
        fputc('}', out);
    }
    fputs("\n  ]", out);
}

static void put(FILE *out, const void *arg)
{
    const struct document *document = arg;
    struct list list = {.out = out};

    fputs("{\n  \"figures\": [", out);
    for (unsigned i = 0; i < document->n; i++)
        document->runs[i].each(document->runs[i].of, put_line, &list);
    fputs("\n  ],\n  \"summary\": {\n", out);
    put_summary(out, &document->score[document->n], "    ");
    fputs(",\n    \"experiments\": {", out);
    for (unsigned i = 0; i < document->n; i++) {
        fputs(i != 0 ? ",\n      " : "\n      ", out);
        put_text(out, document->runs[i].experiment);
        fputs(": {\n", out);
        put_summary(out, &document->score[i], "        ");
        fputs("\n      }", out);
    }
    fputs("\n    }\n  }", out);
    if (document->matrix != NULL)
        put_matrix(out, document->matrix);
    fputs("\n}\n", out);
}

static int make_scores(struct sirq_score *score, const struct sirq_lines *runs, unsigned n)
{
    int rc = sirq_score_make(&score[n], runs, n);

    for (unsigned i = 0; i < n && rc == 0; i++)
        rc = sirq_score_make(&score[i], &runs[i], 1);
    return rc;
}

int sirq_json_write(const char *path, const struct sirq_lines *runs, unsigned n,
                    const struct sirq_matrix *matrix, struct sirq_error *err)
{
    struct sirq_score *score = calloc((size_t)n + 1, sizeof(*score));
    const struct document document = {runs, n, score, matrix};
    int rc = score != NULL ? make_scores(score, runs, n) : -ENOMEM;

    if (rc == 0)
        rc = sirq_outfile_write("--json", path, put, &document, err);
    else
        rc = sirq_fail(err, ENOMEM, "--json %s: out of memory", path);
    for (unsigned i = 0; i <= n && score != NULL; i++)
        sirq_score_free(&score[i]);
    free(score);
    return rc;
}
