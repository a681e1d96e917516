/* SPDX-License-Identifier: MIT */
/*
 * All experiments' cells are run as one list, so that no CPU waits for the last cell of an
 * experiment.  What is finished is kept in a file; the same command goes on from there.
 */
#include "all.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "score.h"
#include "table.h"
#include "world/sim/claim.h"
#include "world/sim/run.h"
#include "world/sim/shares.h"

#define EXPERIMENTS 32u

struct all {
    const struct sirq_lab_options *options;
    struct sirq_sim_lab *labs[EXPERIMENTS];
    struct sirq_sim_cells *cells[EXPERIMENTS];
    struct sirq_lines lines[EXPERIMENTS];
    unsigned n;
    struct sirq_sim_store *store;
    char path[PATH_MAX]; /* of the store, empty: none */
};

/* ---- the file that a run goes on from ---------------------------------------------------------- */

/* $XDG_CACHE_HOME, else ~/.cache, as the XDG Base Directory Specification has it; neither is there:
 * path stays as it is. */
static void default_path(char *path)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool own = cache != NULL && *cache == '/';
    size_t len;

    if (!own && (home == NULL || *home != '/'))
        return;
    len = (size_t)snprintf(path, PATH_MAX, "%s%s", own ? cache : home, own ? "" : "/.cache");
    (void)mkdir(path, 0700); /* what is wrong with it is said when the file is opened */
    if (len < PATH_MAX)
        snprintf(path + len, PATH_MAX - len, "/softirq-lab.cells");
}

static int open_store(struct all *all, struct sirq_error *err)
{
    struct sirq_error note = {""};
    unsigned found = 0;
    int rc;

    if (all->options->resume != NULL)
        snprintf(all->path, sizeof(all->path), "%s", all->options->resume);
    else
        default_path(all->path);
    if (*all->path == '\0')
        return 0;
    rc = sirq_sim_store_open(&all->store, all->path, &found, &note, err);
    if (rc && all->options->resume == NULL) { /* nobody asked for it */
        fprintf(stderr, "softirq lab: %s; finished cells are not kept\n", err->text);
        return 0;
    }
    if (*note.text != '\0')
        fprintf(stderr, "softirq lab: %s\n", note.text);
    if (found != 0)
        fprintf(stderr, "softirq lab: %u finished cells are in %s\n", found, all->path);
    return rc;
}

/* ---- running ------------------------------------------------------------------------------------ */

static int open_labs(struct all *all, struct sirq_error *err)
{
    int rc = 0;

    for (const char *const *name = sirq_spec_shipped(); *name != NULL && !rc; name++) {
        if (all->n == EXPERIMENTS)
            return sirq_fail(err, E2BIG, "more than %u experiments", EXPERIMENTS);
        rc = sirq_sim_lab_open(&all->labs[all->n], all->options, *name, err);
        if (rc)
            break;
        all->cells[all->n] = sirq_sim_lab_cells(all->labs[all->n]);
        all->lines[all->n] = sirq_sim_report_lines(sirq_sim_lab_report(all->labs[all->n]));
        all->n++;
    }
    return rc;
}

static int run(struct all *all, struct sirq_error *err)
{
    struct sirq_sim_batch batch = {
        .cells = all->cells, .n = all->n, .jobs = all->options->jobs, .store = all->store};
    int rc = sirq_sim_cells_run(&batch, err);

    if (*batch.note.text != '\0')
        fprintf(stderr, "softirq lab: %s: %s\n", all->path, batch.note.text);
    return rc;
}

/* ---- what it gave ------------------------------------------------------------------------------- */

static void print_score(const char *name, const struct sirq_lines *lines, unsigned n,
                        struct sirq_lab_table *table)
{
    const struct sirq_score_part *part;
    struct sirq_score score;
    char buf[SIRQ_SIM_TEXT];

    if (sirq_score_make(&score, lines, n) != 0 || sirq_lab_table_row(table) != 0)
        return;
    part = &score.part[SIRQ_SCORE_PREDICTED];
    sirq_lab_table_cell(table, 0, "%s", name);
    sirq_lab_table_cell(table, 1, "%u of %u", score.hold, score.claims);
    sirq_lab_table_cell(table, 2, "%u", part->n);
    if (part->n != 0) {
        sirq_lab_table_cell(table, 3, "%.1f", part->median);
        sirq_lab_table_cell(table, 4, "%.1f", part->p90);
        sirq_lab_table_cell(table, 6, "%s, %s: %s, %s", part->worst->setup, part->worst->policy,
                            part->worst->metric, sirq_sim_report_error(buf, part->worst_error));
    }
    sirq_lab_table_cell(table, 5, "%u", score.missing);
    sirq_score_free(&score);
}

/* Baselines stand apart: a model may have been fitted to them. */
static void print_baselines(const struct all *all, FILE *out)
{
    fputs("\ncalibrated on (baseline), error in percent:\n", out);
    for (unsigned i = 0; i < all->n; i++) {
        const struct sirq_score_part *part;
        struct sirq_score score;

        if (sirq_score_make(&score, &all->lines[i], 1) != 0)
            continue;
        part = &score.part[SIRQ_SCORE_BASELINE];
        if (part->n != 0)
            fprintf(out, "  %-18s%u figures, median %.1f, 90th percentile %.1f\n",
                    all->lines[i].experiment, part->n, part->median, part->p90);
        sirq_score_free(&score);
    }
}

static void print_scores(const struct all *all, FILE *out)
{
    struct sirq_lab_table table;

    sirq_lab_table_init(&table);
    sirq_lab_table_column(&table, "experiment", true, 0);
    sirq_lab_table_column(&table, "claims hold", false, 0);
    sirq_lab_table_column(&table, "predicted", false, 0);
    sirq_lab_table_column(&table, "median %", false, 0);
    sirq_lab_table_column(&table, "p90 %", false, 0);
    sirq_lab_table_column(&table, "not measured", false, 0);
    sirq_lab_table_column(&table, "worst", true, 0);
    for (unsigned i = 0; i < all->n; i++)
        print_score(all->lines[i].experiment, &all->lines[i], 1, &table);
    print_score("all", all->lines, all->n, &table);
    fputs("published figures, and how far off:\n\n", out);
    sirq_lab_table_print(&table, out, 0);
    sirq_lab_table_free(&table);
}

static void print_broken_claims(const struct all *all, FILE *out)
{
    bool any = false;

    for (unsigned i = 0; i < all->n; i++) {
        const struct sirq_sim_report *report = sirq_sim_lab_report(all->labs[i]);

        for (uint32_t k = 0; k < report->spec->n_claims; k++) {
            struct sirq_sim_verdict v;

            sirq_sim_claim_judge(report, &report->spec->claims[k], &v);
            if (!v.run || v.holds)
                continue;
            if (!any)
                fputs("\ndo not hold:\n", out);
            any = true;
            fprintf(out, "  %s: %s (in %u of %u seeds)\n", report->experiment,
                    report->spec->claims[k].name, v.good, v.seeds);
        }
    }
}

static int fill_matrix(const struct all *all, struct sirq_matrix *matrix)
{
    int rc = 0;

    for (unsigned i = 0; i < all->n && !rc; i++)
        rc = sirq_sim_matrix_add(matrix, all->lines[i].experiment, all->cells[i]);
    return rc;
}

static int report(const struct all *all, struct sirq_error *err)
{
    struct sirq_matrix matrix = {.policies = all->options->policy,
                                 .n_policies = all->options->npolicies};
    int rc = fill_matrix(all, &matrix);

    if (rc)
        rc = sirq_fail(err, ENOMEM, "out of memory");
    if (!rc) {
        print_scores(all, stdout);
        print_broken_claims(all, stdout);
        print_baselines(all, stdout);
        sirq_matrix_print(&matrix, stdout);
        rc = sirq_lab_write(all->options, all->lines, all->n, &matrix, err);
    }
    sirq_matrix_free(&matrix);
    return rc;
}

int sirq_lab_all(const struct sirq_lab_options *options, struct sirq_error *err)
{
    struct sirq_lab_options mine = *options;
    struct all all = {.options = &mine};
    int rc;

    mine.policies_given = true; /* every policy, also where a file compares a few */
    rc = open_labs(&all, err);
    if (!rc)
        rc = open_store(&all, err);
    if (!rc)
        rc = run(&all, err);
    if (!rc)
        rc = report(&all, err);
    sirq_sim_store_close(all.store, !rc);
    for (unsigned i = 0; i < all.n; i++)
        sirq_sim_lab_close(all.labs[i]);
    return rc;
}
