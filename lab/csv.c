/* SPDX-License-Identifier: MIT */
/* Figures as comma-separated values. */
#include "csv.h"

#include <string.h>

#include "outfile.h"

/* Our names hold neither, but a reader must be able to rely on it. */
static void put_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void put_line(void *arg, const struct sirq_line *line)
{
    const char *const text[] = {line->experiment, line->setup,  line->world,
                                line->policy,     line->metric, line->unit};
    const struct sirq_spec_figure *published = line->published;
    FILE *out = arg;

    for (unsigned i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        put_text(out, text[i]);
        fputc(',', out);
    }
    fprintf(out, "%.10g,", line->value);
    if (line->spread)
        fprintf(out, "%.10g,%.10g,", line->least, line->most);
    else
        fputs(",,", out);
    if (published != NULL)
        fprintf(out, "%.10g,%s,%.4g,", published->value, sirq_line_role(published),
                sirq_line_error(published, line->value));
    else
        fputs(",,,", out);
    fprintf(out, "%llu\n", line->seed);
}

struct document {
    const struct sirq_lines *runs;
    unsigned n;
};

static void put(FILE *out, const void *arg)
{
    const struct document *document = arg;

    fputs(SIRQ_CSV_HEADER "\n", out);
    for (unsigned i = 0; i < document->n; i++)
        document->runs[i].each(document->runs[i].of, put_line, out);
}

int sirq_csv_write(const char *path, const struct sirq_lines *runs, unsigned n,
                   struct sirq_error *err)
{
    const struct document document = {runs, n};

    return sirq_outfile_write("--csv", path, put, &document, err);
}
