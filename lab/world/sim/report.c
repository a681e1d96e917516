/* SPDX-License-Identifier: MIT */
/*
 * A table for each setup: a line for each figure, a column for each policy.  Where policies
 * do not fit side by side, the table goes on below.
 */
#include "report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "table.h"

#define EACH_MOST 8u /* threads that have a line each */
#define BLOCK 16u    /* policies side by side */
#define GAP 2u

enum { MEASURE, UNIT, OFFERED, FIRST };

/* Cells as text, line by line: FIRST columns, then one for each policy. */
struct grid {
    uint32_t n_policies, n_lines;
    char **cells;
    bool nothing; /* some figure was of nothing that happened */
    bool failed;  /* out of memory */
};

static char **cell(const struct grid *grid, uint32_t line, uint32_t column)
{
    return &grid->cells[(size_t)line * (FIRST + grid->n_policies) + column];
}

static void add_line(struct grid *grid)
{
    size_t width = FIRST + grid->n_policies, n = grid->n_lines;
    char **cells = realloc(grid->cells, (n + 1) * width * sizeof(*cells));

    if (cells == NULL) {
        grid->failed = true;
        return;
    }
    memset(&cells[n * width], 0, width * sizeof(*cells));
    grid->cells = cells;
    grid->n_lines++;
}

/* Into a column of the last line, once. */
__attribute__((format(printf, 3, 4))) static void put(struct grid *grid, uint32_t column,
                                                      const char *fmt, ...)
{
    va_list args;

    if (grid->failed)
        return;
    va_start(args, fmt);
    if (vasprintf(cell(grid, grid->n_lines - 1, column), fmt, args) < 0) {
        *cell(grid, grid->n_lines - 1, column) = NULL;
        grid->failed = true;
    }
    va_end(args);
}

const char *sirq_sim_report_number(char *buf, double value)
{
    double size = value < 0 ? -value : value;

    if (size >= 999.5)
        return sirq_lab_table_si(buf, value);
    snprintf(buf, 16, "%.*f",
             size == 0 || size >= 99.95 ? 0
             : size >= 9.995            ? 1
             : size >= 0.9995           ? 2
                                        : 3,
             value);
    return buf;
}

/* ---- lines ------------------------------------------------------------------------------------ */

static void put_value(struct grid *grid, uint32_t column, const struct sirq_sim_row *row,
                      uint32_t figure)
{
    struct sirq_sim_value v;
    double off;
    char buf[16];

    if (row->done == 0)
        return;
    if (!sirq_sim_row_value(row, figure, &v)) {
        grid->nothing = true;
        put(grid, column, "none");
        return;
    }
    off = v.most - v.value > v.value - v.least ? v.most - v.value : v.value - v.least;
    if (v.value > 0 && 100 * off / v.value >= 0.5)
        put(grid, column, "%s +-%.0f%%", sirq_sim_report_number(buf, v.value), 100 * off / v.value);
    else
        put(grid, column, "%s", sirq_sim_report_number(buf, v.value));
}

/* The least and the most of many threads. */
static void put_range(struct grid *grid, uint32_t column, const struct sirq_sim_row *row,
                      uint32_t figure, uint32_t n)
{
    struct sirq_sim_value v;
    double least = 0, most = 0;
    uint32_t seen = 0;
    char buf[2][16];

    for (uint32_t i = figure; i < figure + n; i++) {
        if (!sirq_sim_row_value(row, i, &v))
            continue;
        least = seen == 0 || v.value < least ? v.value : least;
        most = seen == 0 || v.value > most ? v.value : most;
        seen++;
    }
    if (seen != 0)
        put(grid, column, "%s..%s", sirq_sim_report_number(buf[0], least),
            sirq_sim_report_number(buf[1], most));
}

static void add_published(struct grid *grid, const struct sirq_sim_report *report,
                          const struct sirq_sim_row *rows, uint32_t figure)
{
    bool any = false;
    char buf[16];

    for (uint32_t p = 0; p < grid->n_policies && !grid->failed; p++) {
        const struct sirq_spec_figure *f = sirq_sim_report_published(report, &rows[p], figure);
        struct sirq_sim_value v;

        if (f == NULL)
            continue;
        if (!any) {
            add_line(grid);
            put(grid, MEASURE, "  published");
        }
        any = true;
        sirq_sim_report_number(buf, f->value);
        if (!sirq_sim_row_value(&rows[p], figure, &v))
            put(grid, FIRST + p, "%s", buf);
        else
            put(grid, FIRST + p, "%s %+.1f%%", buf, sirq_csv_error(f, v.value));
    }
}

/* `rows`: of one variant, one for each policy. */
static void add_figure(struct grid *grid, const struct sirq_sim_report *report,
                       const struct sirq_sim_row *rows, uint32_t figure, uint32_t n)
{
    const struct sirq_sim_figure *f = &rows->variant->plan.figures[figure];
    char buf[16];

    add_line(grid);
    put(grid, MEASURE, "%s", n > 1 ? f->measure->name : f->name);
    put(grid, UNIT, "%s", f->unit);
    if (rows->variant->rate != 0)
        put(grid, OFFERED, "%s", sirq_lab_table_si(buf, (double)rows->variant->rate));
    for (uint32_t p = 0; p < grid->n_policies; p++) {
        if (n > 1)
            put_range(grid, FIRST + p, &rows[p], figure, n);
        else
            put_value(grid, FIRST + p, &rows[p], figure);
    }
    if (n == 1)
        add_published(grid, report, rows, figure);
}

/* Figures of the measure that this one belongs to, from here on. */
static uint32_t siblings(const struct sirq_sim_plan *plan, uint32_t figure)
{
    uint32_t n = 1;

    while (figure + n < plan->n_figures &&
           plan->figures[figure + n].measure == plan->figures[figure].measure)
        n++;
    return n;
}

/* Variants of one setup: they differ in their rate. */
static uint32_t same_setup(const struct sirq_sim_cells *cells, uint32_t variant)
{
    uint32_t n = 1;

    while (variant + n < cells->n_variants &&
           cells->variants[variant + n].setup == cells->variants[variant].setup)
        n++;
    return n;
}

static void fill(struct grid *grid, const struct sirq_sim_report *report, uint32_t variant,
                 uint32_t n)
{
    const struct sirq_sim_plan *plan = &report->cells->variants[variant].plan;
    uint32_t step;

    for (uint32_t f = 0; f < plan->n_figures && !grid->failed; f += step) {
        step = siblings(plan, f);
        step = step > EACH_MOST ? step : 1;
        for (uint32_t v = variant; v < variant + n && !grid->failed; v++)
            add_figure(grid, report, &report->cells->rows[(size_t)v * grid->n_policies], f, step);
    }
}

/* ---- printing --------------------------------------------------------------------------------- */

static uint32_t width_of(const struct grid *grid, uint32_t column, const char *title)
{
    size_t width = strlen(title);

    for (uint32_t line = 0; line < grid->n_lines; line++) {
        const char *text = *cell(grid, line, column);

        if (text != NULL && strlen(text) > width)
            width = strlen(text);
    }
    return (uint32_t)width + GAP;
}

/* How many policies from `first` on fit beside the titles; at least one. */
static uint32_t fitting(const struct grid *grid, const struct sirq_sim_row *rows, uint32_t first,
                        uint32_t limit, uint32_t *used)
{
    uint32_t n = 0;

    while (first + n < grid->n_policies && n < BLOCK) {
        *used += width_of(grid, FIRST + first + n, rows[first + n].policy->name);
        if (limit != 0 && *used > limit + GAP && n != 0)
            break;
        n++;
    }
    return n;
}

static void print_block(const struct grid *grid, const struct sirq_sim_row *rows, uint32_t first,
                        uint32_t n, bool rates, FILE *out)
{
    struct sirq_lab_table table;

    sirq_lab_table_init(&table);
    sirq_lab_table_column(&table, "measure", true, 0);
    sirq_lab_table_column(&table, "unit", true, 0);
    sirq_lab_table_column(&table, "offered/s", false, 0);
    table.column[OFFERED].hidden = !rates;
    for (uint32_t p = 0; p < n; p++)
        sirq_lab_table_column(&table, rows[first + p].policy->name, false, 0);
    for (uint32_t line = 0; line < grid->n_lines; line++) {
        if (sirq_lab_table_row(&table))
            break;
        for (uint32_t c = 0; c < FIRST + n; c++) {
            const char *text = *cell(grid, line, c < FIRST ? c : c + first);

            if (text != NULL)
                sirq_lab_table_cell(&table, c, "%s", text);
        }
    }
    sirq_lab_table_print(&table, out, 0);
    sirq_lab_table_free(&table);
}

static void print_notes(const struct sirq_sim_report *report, uint32_t variant, uint32_t n,
                        FILE *out)
{
    const struct sirq_sim_cells *cells = report->cells;

    for (uint32_t i = variant * cells->n_policies; i < (variant + n) * cells->n_policies; i++) {
        const struct sirq_sim_row *row = &cells->rows[i];
        uint32_t seeds = row->variant->spec->run.seeds;

        if (row->done < seeds)
            fprintf(out, "  %s, %s: %u of %u seeds\n", row->policy->name, row->variant->name,
                    row->done, seeds);
        if (row->stalled != 0)
            fprintf(out,
                    "  %s, %s: watchdog: pending softirqs stood still with %u of %u seeds; the "
                    "rest of each ran under the default policy\n",
                    row->policy->name, row->variant->name, row->stalled, row->done);
    }
}

static void print_setup(const struct sirq_sim_report *report, uint32_t variant, uint32_t n,
                        FILE *out)
{
    const struct sirq_sim_cells *cells = report->cells;
    const struct sirq_sim_row *rows = &cells->rows[(size_t)variant * cells->n_policies];
    struct grid grid = {.n_policies = cells->n_policies};
    uint32_t limit = sirq_lab_table_width(out), titles, step;

    fill(&grid, report, variant, n);
    titles = width_of(&grid, MEASURE, "measure") + width_of(&grid, UNIT, "unit") +
             (report->rates ? width_of(&grid, OFFERED, "offered/s") : 0);
    fprintf(out, "\n%s\n",
            cells->variants[variant].spec->setups[cells->variants[variant].setup].name);
    for (uint32_t p = 0; p < grid.n_policies && grid.n_lines != 0; p += step) {
        uint32_t used = titles;

        step = fitting(&grid, rows, p, limit, &used);
        fputc('\n', out);
        print_block(&grid, rows, p, step, report->rates, out);
    }
    if (grid.nothing)
        fputs("  none: nothing of it happened\n", out);
    if (grid.failed)
        fputs("  out of memory: the table is not complete\n", out);
    print_notes(report, variant, n, out);
    for (size_t i = 0; i < (size_t)grid.n_lines * (FIRST + grid.n_policies); i++)
        free(grid.cells[i]);
    free(grid.cells);
}

const struct sirq_spec_figure *sirq_sim_report_published(const struct sirq_sim_report *report,
                                                         const struct sirq_sim_row *row,
                                                         uint32_t figure)
{
    const struct sirq_sim_variant *variant = row->variant;

    if (report->rates)
        return NULL;
    return sirq_spec_figure(report->published, variant->spec, variant->setup, row->policy->name,
                            variant->plan.figures[figure].name);
}

void sirq_sim_report_print(const struct sirq_sim_report *report, FILE *out)
{
    const struct sirq_sim_cells *cells = report->cells;
    uint32_t step;

    if (report->partial)
        fputs("Stopped: what follows is partial.\n", out);
    if (report->limit > 0)
        fprintf(out, "what one CPU can carry, at the costs of the file: %.0f packets/s\n",
                report->limit);
    for (uint32_t v = 0; v < cells->n_variants; v += step) {
        step = same_setup(cells, v);
        print_setup(report, v, step, out);
    }
    if (report->published->n != 0 && !report->rates)
        sirq_sim_report_score(report, out);
    fflush(out);
}

void sirq_sim_report_put(FILE *out, const void *arg)
{
    const struct sirq_sim_report *report = arg;
    const struct sirq_sim_cells *cells = report->cells;

    for (uint32_t r = 0; r < cells->n_rows; r++) {
        const struct sirq_sim_row *row = &cells->rows[r];

        for (uint32_t i = 0; i < row->variant->plan.n_figures; i++) {
            const struct sirq_sim_figure *figure = &row->variant->plan.figures[i];
            struct sirq_csv_line line = {
                .experiment = report->experiment,
                .setup = row->variant->name,
                .world = "sim",
                .policy = row->policy->name,
                .metric = figure->name,
                .unit = figure->unit,
                .spread = true,
                .published = sirq_sim_report_published(report, row, i),
                .seed = cells->first_seed,
            };
            struct sirq_sim_value v;

            if (!sirq_sim_row_value(row, i, &v))
                continue;
            line.value = v.value;
            line.least = v.least;
            line.most = v.most;
            sirq_csv_put(out, &line);
        }
    }
}
