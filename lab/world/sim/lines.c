/* SPDX-License-Identifier: MIT */
/* All rows as lines of the results, then what the file claims of them. */
#include "claim.h"

static void give_row(const struct sirq_sim_report *report, const struct sirq_sim_row *row,
                     void (*fn)(void *arg, const struct sirq_line *line), void *arg)
{
    for (uint32_t i = 0; i < row->variant->plan.n_figures; i++) {
        const struct sirq_sim_figure *figure = &row->variant->plan.figures[i];
        struct sirq_line line = {
            .experiment = report->experiment,
            .setup = row->variant->name,
            .world = "sim",
            .policy = row->policy->name,
            .metric = figure->name,
            .unit = figure->unit,
            .spread = true,
            .published = sirq_sim_report_published(report, row, i),
            .seed = report->cells->first_seed,
        };
        struct sirq_sim_value v;

        if (!sirq_sim_row_value(row, i, &v))
            continue;
        line.value = v.value;
        line.least = v.least;
        line.most = v.most;
        fn(arg, &line);
    }
}

static void each(const void *of, void (*fn)(void *arg, const struct sirq_line *line), void *arg)
{
    const struct sirq_sim_report *report = of;

    for (uint32_t r = 0; r < report->cells->n_rows; r++)
        give_row(report, &report->cells->rows[r], fn, arg);
    sirq_sim_claims_each(report, fn, arg);
}

struct sirq_lines sirq_sim_report_lines(const struct sirq_sim_report *report)
{
    return (struct sirq_lines){each, report, report->experiment, report->published};
}
