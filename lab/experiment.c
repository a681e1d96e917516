/* SPDX-License-Identifier: MIT */
/* The table of experiments, and what every run has around it. */
#include "experiment.h"

#include <errno.h>

const struct sirq_experiment *const sirq_experiments[] = {&sirq_udp_flood, &sirq_tcp_rr, NULL};

int sirq_lab_run(const struct sirq_lab_options *options, struct sirq_error *err)
{
    struct sirq_results results = {.experiment = options->experiment->csv_name,
                                   .world = options->world->name,
                                   .seed = options->seed};
    int rc = options->csv ? sirq_csv_check(options->csv, err) : 0;

    if (rc)
        return rc;
    sirq_lab_signals_take();
    rc = options->experiment->run(options, &results, err);
    if (!rc && options->csv)
        rc = sirq_csv_write(options->csv, &results, err);
    sirq_lab_signals_restore();
    sirq_results_free(&results);
    return rc;
}
