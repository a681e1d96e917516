/* SPDX-License-Identifier: MIT */
/* How far off, for a person: lab/score.h has what is counted. */
#include "score.h"

#include <string.h>

#include "claim.h"

static void print_part(const struct sirq_score_part *part, const char *title, FILE *out)
{
    char buf[SIRQ_SIM_TEXT];

    if (part->n == 0)
        return;
    fprintf(out, "  %s: %u, within %.0f %%: %u; error: median %.1f %%, 90th percentile %.1f %%\n",
            title, part->n, SIRQ_SCORE_NEAR, part->near, part->median, part->p90);
    fprintf(out, "    worst: %s, %s: %s, %s\n", part->worst->setup, part->worst->policy,
            part->worst->metric, sirq_sim_report_error(buf, part->worst_error));
}

/* Claims of the file are said to hold, or not, or not to have been run. */
static bool is_claim(const struct sirq_sim_report *report, const struct sirq_spec_figure *figure)
{
    for (uint32_t i = 0; i < report->spec->n_claims; i++) {
        if (sirq_spec_figure_of_claim(report->published, &report->spec->claims[i]) == figure)
            return true;
    }
    return false;
}

/* Those of one setup and policy on one line. */
static void print_missing(const struct sirq_sim_report *report, const bool *seen, FILE *out)
{
    const struct sirq_spec_figures *published = report->published;
    const struct sirq_spec_figure *last = NULL;
    uint32_t at = 0;

    for (unsigned i = 0; i < published->n; i++) {
        const struct sirq_spec_figure *f = &published->row[i];
        bool claim = f->role == SIRQ_SPEC_CLAIM || strcmp(f->unit, "claim") == 0;

        if (seen[i] || is_claim(report, f))
            continue;
        if (last == NULL)
            fputs("  not measured:", out);
        if (last == NULL || strcmp(last->setup, f->setup) != 0 ||
            strcmp(last->policy, f->policy) != 0)
            at = (uint32_t)fprintf(out, "\n    %s, %s:", f->setup, f->policy) - 1;
        else
            fputc(',', out);
        sirq_sim_report_word(out, &at, f->metric, claim ? " (a claim)" : "");
        last = f;
    }
    if (last != NULL)
        fputc('\n', out);
}

void sirq_sim_report_score(const struct sirq_sim_report *report, FILE *out)
{
    const struct sirq_lines lines = sirq_sim_report_lines(report);
    struct sirq_score score;

    fputs("\npublished figures:\n", out);
    if (sirq_score_make(&score, &lines, 1) != 0) {
        fputs("  out of memory\n", out);
        return;
    }
    print_part(&score.part[SIRQ_SCORE_PREDICTED], "predicted", out);
    print_part(&score.part[SIRQ_SCORE_BASELINE], "calibrated on (baseline)", out);
    print_part(&score.part[SIRQ_SCORE_OTHER], "not scored", out);
    print_missing(report, score.seen, out);
    sirq_score_free(&score);
}
