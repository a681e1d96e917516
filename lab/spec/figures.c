/* SPDX-License-Identifier: MIT */
/*
 * What was published: a CSV with the columns of lab/published/README.md, one figure a line.
 * Fields are not quoted and have no commas; anything else is one error with file and line.
 */
#include "figures.h"
#include "files.h"
#include "internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

#define HEADER "source,experiment,setup,policy,metric,unit,value,role,scored"
#define VALUE_MOST 1e15

enum { SOURCE, EXPERIMENT, SETUP, POLICY, METRIC, UNIT, VALUE, ROLE, SCORED, COLUMNS };

static const char *const roles[] = {"baseline", "predict", "claim"};

struct csv {
    struct sirq_conf_place place;
    char *at;
    unsigned line;
};

#define bad(csv, ...) sirq_conf_bad(&(csv)->place, (csv)->line, "", __VA_ARGS__)

/* The next line that is not empty, without its end; null: there is none. */
static char *next_line(struct csv *csv)
{
    while (*csv->at != '\0') {
        char *line = csv->at;
        size_t len = strcspn(line, "\n");

        csv->at = line + len + (line[len] == '\n');
        csv->line++;
        line[len] = '\0';
        if (len > 0 && line[len - 1] == '\r')
            line[--len] = '\0';
        if (len > 0)
            return line;
    }
    return NULL;
}

static int split(const struct csv *csv, char *line, char **field)
{
    unsigned n = 0;

    for (char *at = line; at != NULL; n++) {
        char *comma = strchr(at, ',');

        if (comma != NULL)
            *comma = '\0';
        if (*at == '\0' || strchr(at, '"') != NULL)
            return bad(csv, "field %u is %s; give text without quotes and commas", n + 1,
                       *at == '\0' ? "empty" : "quoted");
        if (n < COLUMNS)
            field[n] = at;
        at = comma != NULL ? comma + 1 : NULL;
    }
    return n == COLUMNS ? 0 : bad(csv, "has %u fields; give %s", n, HEADER);
}

static int read_row(const struct csv *csv, char *line, struct sirq_spec_figure *row)
{
    char *field[COLUMNS] = {NULL};
    unsigned role = 0;
    int rc = split(csv, line, field);

    if (rc != 0)
        return rc;
    for (unsigned i = 0; i < COLUMNS; i++)
        assert(field[i] != NULL); /* as split() has counted */
    *row = (struct sirq_spec_figure){
        .source = field[SOURCE],
        .experiment = field[EXPERIMENT],
        .setup = field[SETUP],
        .policy = field[POLICY],
        .metric = field[METRIC],
        .unit = field[UNIT],
    };
    if (sirq_conf_parse_decimal(field[VALUE], -VALUE_MOST, VALUE_MOST, &row->value) != 0)
        return bad(csv, "value '%.40s': give a decimal number", field[VALUE]);
    while (role < LEN(roles) && strcmp(roles[role], field[ROLE]) != 0)
        role++;
    if (role == LEN(roles))
        return bad(csv, "role '%.40s': give baseline, predict or claim", field[ROLE]);
    row->role = (enum sirq_spec_role)role;
    row->scored = strcmp(field[SCORED], "yes") == 0;
    if (!row->scored && strcmp(field[SCORED], "no") != 0)
        return bad(csv, "scored '%.40s': give yes or no", field[SCORED]);
    return 0;
}

static int once(const struct csv *csv, const struct sirq_spec_figures *figures)
{
    const struct sirq_spec_figure *last = &figures->row[figures->n - 1];

    for (const struct sirq_spec_figure *f = figures->row; f < last; f++) {
        if (strcmp(f->metric, last->metric) == 0 && strcmp(f->setup, last->setup) == 0 &&
            strcmp(f->policy, last->policy) == 0 && strcmp(f->experiment, last->experiment) == 0)
            return bad(csv, "%.40s, %.40s, %.60s is given twice; leave one out", last->setup,
                       last->policy, last->metric);
    }
    return 0;
}

static int read_rows(struct csv *csv, struct sirq_spec_figures *out)
{
    char *line = next_line(csv);
    int rc = 0;

    if (line == NULL || strcmp(line, HEADER) != 0) {
        csv->line = 1;
        return bad(csv, "the first line has to be %s", HEADER);
    }
    while (rc == 0 && (line = next_line(csv)) != NULL) {
        if (out->n == SIRQ_SPEC_FIGURES)
            return bad(csv, "has more than %u figures", SIRQ_SPEC_FIGURES);
        rc = read_row(csv, line, &out->row[out->n]);
        if (rc == 0) {
            out->n++;
            rc = once(csv, out);
        }
    }
    return rc;
}

int sirq_spec_figures_parse(struct sirq_spec_figures *out, const char *name, const char *text,
                            size_t len, struct sirq_error *err)
{
    struct csv csv = {.place = {.file = name, .err = err}, .line = 0};
    int rc;

    *out = (struct sirq_spec_figures){0};
    if (memchr(text, '\0', len) != NULL)
        return sirq_fail(err, EINVAL, "%.120s: has a NUL character; is it a CSV file?", name);
    out->text = strndup(text, len);
    out->row = calloc(SIRQ_SPEC_FIGURES, sizeof(*out->row));
    if (out->text == NULL || out->row == NULL) {
        sirq_spec_figures_free(out);
        return sirq_fail(err, ENOMEM, "out of memory");
    }
    csv.at = out->text;
    rc = read_rows(&csv, out);
    if (rc != 0)
        sirq_spec_figures_free(out);
    return rc;
}

static int read_shipped(struct sirq_spec_figures *out, const struct sirq_spec *spec,
                        const struct sirq_conf_place *place)
{
    const char *names[SIRQ_SPEC_POLICIES];
    unsigned n = 0;
    char hint[180], name[80];

    for (const struct sirq_spec_file *csv = sirq_spec_csvs; csv->name != NULL; csv++) {
        if (strcmp(csv->name, spec->published) == 0) {
            snprintf(name, sizeof(name), "%.60s.csv", csv->name);
            return sirq_spec_figures_parse(out, name, csv->text, strlen(csv->text), place->err);
        }
        if (n < LEN(names))
            names[n++] = csv->name;
    }
    sirq_conf_suggest(hint, sizeof(hint), spec->published, names, n);
    return sirq_conf_bad(place, 0, "published", "'%.40s': no such figures are shipped; %s",
                         spec->published, hint);
}

/* A file may have figures of several experiments. */
static int keep_own(struct sirq_spec_figures *figures, const struct sirq_spec *spec,
                    const struct sirq_conf_place *place)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < figures->n; i++) {
        assert(figures->row[i].experiment != NULL);
        if (strcmp(figures->row[i].experiment, spec->name) == 0)
            figures->row[n++] = figures->row[i];
    }
    figures->n = n;
    if (n > 0)
        return 0;
    sirq_spec_figures_free(figures);
    return sirq_conf_bad(place, 0, "published",
                         "'%.40s': no figure of experiment '%.40s' is there; "
                         "its column 2 is the experiment's name",
                         spec->published, spec->name);
}

int sirq_spec_figures(struct sirq_spec_figures *out, const struct sirq_spec *spec,
                      const struct sirq_spec_text *text, struct sirq_error *err)
{
    const struct sirq_conf_place place = {.file = text->name, .err = err};
    const char *slash = strrchr(text->name, '/');
    int dir = slash != NULL && spec->published != NULL && spec->published[0] != '/'
                  ? (int)(slash - text->name) + 1
                  : 0;
    char path[4096], *csv;
    size_t len;
    int rc;

    *out = (struct sirq_spec_figures){0};
    if (spec->published == NULL)
        return 0;
    if (strpbrk(spec->published, "./") == NULL) {
        rc = read_shipped(out, spec, &place);
        return rc != 0 ? rc : keep_own(out, spec, &place);
    }
    if (snprintf(path, sizeof(path), "%.*s%s", dir, text->name, spec->published) >=
        (int)sizeof(path))
        return sirq_conf_bad(&place, 0, "published", "the path is too long");
    rc = sirq_conf_slurp(path, "published figures", &csv, &len, err);
    if (rc != 0)
        return rc;
    rc = sirq_spec_figures_parse(out, path, csv, len, err);
    free(csv);
    return rc != 0 ? rc : keep_own(out, spec, &place);
}

void sirq_spec_figures_free(struct sirq_spec_figures *figures)
{
    free(figures->text);
    free(figures->row);
    *figures = (struct sirq_spec_figures){0};
}

/* ---- finding ------------------------------------------------------------------------------------- */

static bool is_policy(const struct sirq_spec *spec, const struct sirq_spec_setup *setup,
                      const char *published, const char *policy)
{
    if (setup->published != NULL)
        return strcmp(setup->published->name, published) == 0 &&
               strcmp(setup->published->policy, policy) == 0;
    for (uint32_t i = 0; i < spec->n_unpatched; i++) {
        if (strcmp(spec->unpatched[i].name, published) == 0)
            return strcmp(spec->unpatched[i].policy, policy) == 0;
    }
    return strcmp(published, policy) == 0;
}

const struct sirq_spec_figure *sirq_spec_figure(const struct sirq_spec_figures *figures,
                                                const struct sirq_spec *spec, uint32_t setup,
                                                const char *policy, const char *metric,
                                                const struct sirq_spec_row *row)
{
    const struct sirq_spec_setup *of = &spec->setups[setup];
    const char *name = row != NULL ? row->setup : of->name;

    metric = row != NULL ? row->metric : metric;
    for (uint32_t i = 0; i < figures->n; i++) {
        const struct sirq_spec_figure *f = &figures->row[i];

        if (strcmp(f->metric, metric) == 0 && is_policy(spec, of, f->policy, policy) &&
            strcmp(f->setup, name) == 0)
            return f;
    }
    return NULL;
}

const struct sirq_spec_figure *sirq_spec_figure_of_claim(const struct sirq_spec_figures *figures,
                                                         const struct sirq_spec_claim *claim)
{
    for (uint32_t i = 0; i < figures->n; i++) {
        const struct sirq_spec_figure *f = &figures->row[i];

        if (strcmp(f->metric, claim->name) == 0 && strcmp(f->policy, claim->policy) == 0 &&
            strcmp(f->setup, claim->setup) == 0)
            return f;
    }
    return NULL;
}
