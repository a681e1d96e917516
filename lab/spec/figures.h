/* SPDX-License-Identifier: MIT */
/* The published figures of an experiment: a shipped CSV, or one beside the file. */
#ifndef SIRQ_LAB_SPEC_FIGURES_H
#define SIRQ_LAB_SPEC_FIGURES_H

#include "spec.h"

#define SIRQ_SPEC_FIGURES 4096u /* of a file, which has at most SIRQ_CONF_BYTES */

/* Whether a model may be fitted to it, or has to bring it out; a claim is an ordering. */
enum sirq_spec_role { SIRQ_SPEC_BASELINE, SIRQ_SPEC_PREDICT, SIRQ_SPEC_CLAIM };

struct sirq_spec_figure {
    const char *source, *experiment, *setup, *policy, *metric, *unit; /* as published */
    double value;
    enum sirq_spec_role role;
    bool scored; /* counts in the error of the experiment */
};

struct sirq_spec_figures {
    struct sirq_spec_figure *row;
    uint32_t n;
    char *text; /* that the rows point into */
};

/* Those of this experiment in spec->published, none when that is null; `text` is what the spec was
 * parsed from.  0, -EINVAL or -ENOMEM with err filled.  Free with sirq_spec_figures_free(). */
int sirq_spec_figures(struct sirq_spec_figures *out, const struct sirq_spec *spec,
                      const struct sirq_spec_text *text, struct sirq_error *err);
int sirq_spec_figures_parse(struct sirq_spec_figures *out, const char *name, const char *text,
                            size_t len, struct sirq_error *err);
void sirq_spec_figures_free(struct sirq_spec_figures *figures);

/* What was published for it, or null: policies through the setup's `published` and
 * spec->unpatched, and through `row`, when it is not null, setup and metric. */
const struct sirq_spec_figure *sirq_spec_figure(const struct sirq_spec_figures *figures,
                                                const struct sirq_spec *spec, uint32_t setup,
                                                const char *policy, const char *metric,
                                                const struct sirq_spec_row *row);

/* What a claim of the file's was published as, or null: names are the same to the letter. */
const struct sirq_spec_figure *sirq_spec_figure_of_claim(const struct sirq_spec_figures *figures,
                                                         const struct sirq_spec_claim *claim);

#endif
