/* SPDX-License-Identifier: MIT */
/* The figures of lab/published, made into a table by embed.py at build time. */
#ifndef SIRQ_LAB_PUBLISHED_H
#define SIRQ_LAB_PUBLISHED_H

struct sirq_figure {
    const char *experiment, *setup, *policy, *metric;
    double value;
};

/* Ends with a null experiment. */
extern const struct sirq_figure sirq_figures[];

#endif
