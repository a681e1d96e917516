/* SPDX-License-Identifier: MIT */
/* A run of udp-flood, and how it is shown on the terminal. */
#ifndef SIRQ_LAB_FLOOD_REPORT_H
#define SIRQ_LAB_FLOOD_REPORT_H

#include <stdio.h>

#include "experiment.h"

struct sirq_flood_run {
    const struct sirq_lab_options *options;
    struct sirq_results *results;
    struct sirq_session *session;
    struct sirq_progress progress;
    struct sirq_flood_limit limit;
    double seconds;
    const char *no_elsewhere; /* null, or why that row was left out */
};

/* Print what there is; partial: the person stopped it. */
void sirq_flood_report(const struct sirq_flood_run *run, bool partial, FILE *out);

#endif
