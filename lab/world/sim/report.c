/* SPDX-License-Identifier: MIT */
/*
 * A table for each setup: a line for each figure, a column for each policy.  Where policies
 * do not fit side by side, the table goes on below.
 */
#include "report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "kind.h"
#include "score.h"
#include "table.h"

#define EACH_MOST 8u /* threads that have a line each */
#define BLOCK 16u    /* policies side by side */
#define GAP 2u

enum { MEASURE, UNIT, OFFERED, FIRST };

/* A figure, and what stands behind it: how far the seeds lie apart, how far off it is. */
struct cell {
    char value[2 * SIRQ_SIM_TEXT], note[SIRQ_SIM_TEXT];
};

/* Line by line: FIRST columns by their texts, then a cell for each policy. */
struct grid {
    uint32_t n_policies, n_lines;
    struct line {
        const char *measure, *unit; /* by reference; no unit: of what was published */
        char offered[SIRQ_SIM_TEXT];
    } * lines;
    struct cell *cells;
    bool nothing; /* some figure was of nothing that happened */
    bool failed;  /* out of memory */
};

static struct cell *cell(const struct grid *grid, uint32_t line, uint32_t policy)
{
    return &grid->cells[(size_t)line * grid->n_policies + policy];
}

/* In the last line. */
static struct cell *last(const struct grid *grid, uint32_t policy)
{
    return cell(grid, grid->n_lines - 1, policy);
}

static bool add_line(struct grid *grid, const char *measure, const char *unit)
{
    size_t n = grid->n_lines, width = grid->n_policies;
    struct line *lines = realloc(grid->lines, (n + 1) * sizeof(*lines));
    struct cell *cells;

    assert(width != 0); /* nothing runs without a policy */
    grid->lines = lines != NULL ? lines : grid->lines;
    cells = realloc(grid->cells, (n + 1) * width * sizeof(*cells));
    grid->cells = cells != NULL ? cells : grid->cells;
    if (lines == NULL || cells == NULL) {
        grid->failed = true;
        return false;
    }
    memset(&cells[n * width], 0, width * sizeof(*cells));
    lines[n] = (struct line){.measure = measure, .unit = unit};
    grid->n_lines++;
    return true;
}

/* ---- lines ------------------------------------------------------------------------------------ */

static void put_value(struct grid *grid, uint32_t policy, const struct sirq_sim_row *row,
                      uint32_t figure)
{
    struct cell *at = last(grid, policy);
    struct sirq_sim_value v;
    double off;

    if (row->done == 0)
        return;
    if (!sirq_sim_row_value(row, figure, &v)) {
        grid->nothing = true;
        strcpy(at->value, "-");
        return;
    }
    sirq_sim_report_text(at->value, v.value, row->variant->plan.figures[figure].unit);
    off = v.most - v.value > v.value - v.least ? v.most - v.value : v.value - v.least;
    if (v.value > 0 && 100 * off / v.value >= 0.5)
        snprintf(at->note, sizeof(at->note), "+-%.0f%%", 100 * off / v.value);
}

/* The least and the most of many threads. */
static void put_range(struct grid *grid, uint32_t policy, const struct sirq_sim_row *row,
                      uint32_t figure, uint32_t n)
{
    const char *unit = row->variant->plan.figures[figure].unit;
    struct cell *at = last(grid, policy);
    struct sirq_sim_value v;
    double least = 0, most = 0;
    uint32_t seen = 0;
    char buf[2][SIRQ_SIM_TEXT];

    for (uint32_t i = figure; i < figure + n; i++) {
        if (!sirq_sim_row_value(row, i, &v))
            continue;
        least = seen == 0 || v.value < least ? v.value : least;
        most = seen == 0 || v.value > most ? v.value : most;
        seen++;
    }
    if (seen != 0)
        snprintf(at->value, sizeof(at->value), "%s..%s", sirq_sim_report_text(buf[0], least, unit),
                 sirq_sim_report_text(buf[1], most, unit));
}

static bool any_published(const struct sirq_sim_report *report, const struct sirq_sim_row *rows,
                          uint32_t figure)
{
    for (uint32_t p = 0; p < report->cells->n_policies; p++) {
        if (sirq_sim_report_published(report, &rows[p], figure) != NULL)
            return true;
    }
    return false;
}

static void add_published(struct grid *grid, const struct sirq_sim_report *report,
                          const struct sirq_sim_row *rows, uint32_t figure)
{
    if (!any_published(report, rows, figure) || !add_line(grid, "  published", NULL))
        return;
    for (uint32_t p = 0; p < grid->n_policies; p++) {
        const struct sirq_spec_figure *f = sirq_sim_report_published(report, &rows[p], figure);
        struct cell *at = last(grid, p);
        struct sirq_sim_value v;

        if (f == NULL)
            continue;
        sirq_sim_report_text(at->value, f->value, rows->variant->plan.figures[figure].unit);
        if (sirq_sim_row_value(&rows[p], figure, &v))
            sirq_sim_report_error(at->note, sirq_line_error(f, v.value));
    }
}

/* `rows`: of one variant, one for each policy. */
static void add_figure(struct grid *grid, const struct sirq_sim_report *report,
                       const struct sirq_sim_row *rows, uint32_t figure, uint32_t n)
{
    const struct sirq_sim_figure *f = &rows->variant->plan.figures[figure];
    bool time = sirq_sim_unit_ns(f->unit) != 0; /* has its unit with it */

    if (!add_line(grid, n > 1 ? f->measure->name : f->name, time ? "" : f->unit))
        return;
    if (rows->variant->rate != 0)
        sirq_sim_report_text(grid->lines[grid->n_lines - 1].offered, (double)rows->variant->rate,
                             "");
    for (uint32_t p = 0; p < grid->n_policies; p++) {
        if (n > 1)
            put_range(grid, p, &rows[p], figure, n);
        else
            put_value(grid, p, &rows[p], figure);
    }
    if (n == 1)
        add_published(grid, report, rows, figure);
}

/* A figure of the only thread of a group says nothing more when the group's stands there too, and
 * how fair one thread is says nothing at all. */
static bool says_nothing(const struct sirq_spec *spec, const struct sirq_sim_plan *plan,
                         uint32_t figure)
{
    const struct sirq_spec_measure *measure = plan->figures[figure].measure;
    const struct sirq_sim_target *target = &plan->figures[figure].target;

    if (target->of != SIRQ_SIM_THREADS || sirq_sim_count(&spec->threads[target->first]) != 1)
        return false;
    if (measure->what == SIRQ_SPEC_FAIRNESS || measure->what == SIRQ_SPEC_CPU_FAIRNESS)
        return true;
    for (uint32_t i = 0; i < spec->n_measure && measure->each; i++) {
        const struct sirq_spec_measure *other = &spec->measure[i];

        if (!other->each && other->what == measure->what && other->stat == measure->stat &&
            strcmp(other->of, measure->of) == 0)
            return true;
    }
    return false;
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
        if (says_nothing(report->cells->variants[variant].spec, plan, f) &&
            !any_published(report, &report->cells->rows[(size_t)variant * grid->n_policies], f))
            continue;
        for (uint32_t v = variant; v < variant + n && !grid->failed; v++)
            add_figure(grid, report, &report->cells->rows[(size_t)v * grid->n_policies], f, step);
    }
}

/* ---- printing --------------------------------------------------------------------------------- */

/* Figures end in one column, and notes begin in one: widths of a policy's two. */
struct widths {
    uint32_t value, note;
};

static uint32_t longer(uint32_t width, const char *text)
{
    return strlen(text) > width ? (uint32_t)strlen(text) : width;
}

static const char *unit_of(const struct grid *grid, uint32_t line)
{
    return grid->lines[line].unit != NULL ? grid->lines[line].unit : "";
}

static struct widths widths_of(const struct grid *grid, uint32_t policy, const char *title)
{
    struct widths widths = {(uint32_t)strlen(title), 0};

    for (uint32_t line = 0; line < grid->n_lines; line++) {
        widths.value = longer(widths.value, cell(grid, line, policy)->value);
        widths.note = longer(widths.note, cell(grid, line, policy)->note);
    }
    return widths;
}

static uint32_t titles_of(const struct grid *grid, bool rates)
{
    uint32_t measure = 7, unit = 4, offered = rates ? 9 + GAP : 0; /* of "measure", ... */

    for (uint32_t line = 0; line < grid->n_lines; line++) {
        measure = longer(measure, grid->lines[line].measure);
        unit = longer(unit, unit_of(grid, line));
    }
    return measure + GAP + unit + GAP + offered;
}

/* How many policies from `first` on fit beside the titles; at least one. */
static uint32_t fitting(const struct grid *grid, const struct sirq_sim_row *rows, uint32_t first,
                        uint32_t limit, uint32_t used)
{
    uint32_t n = 0;

    while (first + n < grid->n_policies && n < BLOCK) {
        struct widths widths = widths_of(grid, first + n, rows[first + n].policy->name);

        used += widths.value + (widths.note != 0) + widths.note + GAP;
        if (limit != 0 && used > limit + GAP && n != 0)
            break;
        n++;
    }
    return n;
}

static void put_line(const struct grid *grid, struct sirq_lab_table *table, uint32_t line,
                     uint32_t first, uint32_t n, const struct widths *widths)
{
    sirq_lab_table_cell(table, MEASURE, "%s", grid->lines[line].measure);
    sirq_lab_table_cell(table, UNIT, "%s", unit_of(grid, line));
    sirq_lab_table_cell(table, OFFERED, "%s", grid->lines[line].offered);
    for (uint32_t p = 0; p < n; p++) {
        const struct cell *at = cell(grid, line, first + p);

        if (at->value[0] != '\0')
            sirq_lab_table_cell(table, FIRST + p, "%*s%s%s", (int)widths[p].value, at->value,
                                at->note[0] != '\0' ? " " : "", at->note);
    }
}

/* What was published may be of policies in another block. */
static bool is_empty(const struct grid *grid, uint32_t line, uint32_t first, uint32_t n)
{
    for (uint32_t p = first; p < first + n; p++) {
        if (cell(grid, line, p)->value[0] != '\0')
            return false;
    }
    return grid->lines[line].unit == NULL;
}

static void print_block(const struct grid *grid, const struct sirq_sim_row *rows, uint32_t first,
                        uint32_t n, bool rates, FILE *out)
{
    struct sirq_lab_table table;
    struct widths widths[BLOCK];
    char titles[BLOCK][64];

    sirq_lab_table_init(&table);
    sirq_lab_table_column(&table, "measure", true, 0);
    sirq_lab_table_column(&table, "unit", true, 0);
    sirq_lab_table_column(&table, "offered/s", false, 0);
    table.column[OFFERED].hidden = !rates;
    for (uint32_t p = 0; p < n; p++) {
        const char *name = rows[first + p].policy->name;

        widths[p] = widths_of(grid, first + p, name);
        snprintf(titles[p], sizeof(titles[p]), "%*s", (int)widths[p].value, name);
        sirq_lab_table_column(&table, titles[p], true, 0);
    }
    for (uint32_t line = 0; line < grid->n_lines; line++) {
        if (is_empty(grid, line, first, n))
            continue;
        if (sirq_lab_table_row(&table))
            break;
        put_line(grid, &table, line, first, n, widths);
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

        if (row->done < seeds || row->cut != 0)
            fprintf(out, "  %s, %s: %u of %u seeds, %u of them cut short\n", row->policy->name,
                    row->variant->name, row->done, seeds, row->cut);
        if (row->stalled != 0)
            fprintf(out,
                    "  %s, %s: watchdog: pending softirqs stood still with %u of %u seeds; the "
                    "rest of each ran under the default policy\n",
                    row->policy->name, row->variant->name, row->stalled, row->done);
    }
}

static void print_title(const char *title, FILE *out)
{
    fprintf(out, "\n%s\n", title);
    for (size_t i = 0; i < strlen(title); i++)
        fputc('-', out);
    fputc('\n', out);
}

/* Returns whether some figure was of nothing that happened. */
static bool print_setup(const struct sirq_sim_report *report, uint32_t variant, uint32_t n,
                        FILE *out)
{
    const struct sirq_sim_cells *cells = report->cells;
    const struct sirq_sim_row *rows = &cells->rows[(size_t)variant * cells->n_policies];
    struct grid grid = {.n_policies = cells->n_policies};
    uint32_t limit = sirq_lab_table_width(out), step;

    fill(&grid, report, variant, n);
    print_title(cells->variants[variant].spec->setups[cells->variants[variant].setup].name, out);
    for (uint32_t p = 0; p < grid.n_policies && grid.n_lines != 0; p += step) {
        step = fitting(&grid, rows, p, limit, titles_of(&grid, report->rates));
        if (p != 0)
            fputc('\n', out);
        print_block(&grid, rows, p, step, report->rates, out);
    }
    if (grid.failed)
        fputs("  out of memory: the table is not complete\n", out);
    print_notes(report, variant, n, out);
    free(grid.cells);
    free(grid.lines);
    return grid.nothing;
}

const struct sirq_spec_figure *sirq_sim_report_published(const struct sirq_sim_report *report,
                                                         const struct sirq_sim_row *row,
                                                         uint32_t figure)
{
    const struct sirq_sim_variant *variant = row->variant;

    if (report->rates)
        return NULL;
    return sirq_spec_figure(report->published, variant->spec, variant->setup, row->policy->name,
                            variant->plan.figures[figure].name,
                            variant->plan.figures[figure].measure->published);
}

static void print_legend(const struct sirq_sim_report *report, bool nothing, FILE *out)
{
    fputs("\n  +-3%: so far off lies the seed that is farthest from the value\n", out);
    if (nothing)
        fputs("  -: nothing of it happened\n", out);
    if (report->published->n != 0 && !report->rates)
        fprintf(out, "  published: by others, and how far off it we are; !: more than %.0f %%\n",
                SIRQ_SCORE_NEAR);
}

void sirq_sim_report_print(const struct sirq_sim_report *report, FILE *out)
{
    const struct sirq_sim_cells *cells = report->cells;
    bool nothing = false;
    uint32_t step;

    if (report->partial)
        fputs("Stopped: what follows is partial.\n", out);
    if (report->limit > 0)
        fprintf(out, "what one CPU can carry, at the costs of the file: %.0f packets/s\n",
                report->limit);
    for (uint32_t v = 0; v < cells->n_variants; v += step) {
        step = same_setup(cells, v);
        nothing |= print_setup(report, v, step, out);
    }
    print_legend(report, nothing, out);
    if (report->spec->n_claims != 0 && !report->rates)
        sirq_sim_claims_print(report, out);
    if (report->published->n != 0 && !report->rates)
        sirq_sim_report_score(report, out);
    fflush(out);
}
