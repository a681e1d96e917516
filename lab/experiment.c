/* SPDX-License-Identifier: MIT */
/* The table of experiments that run outside of the simulator, and what every run has around it. */
#include "experiment.h"

#include <errno.h>
#include <sys/stat.h>

#include "all.h"
#include "csv.h"
#include "json.h"
#include "outfile.h"
#include "world/sim/run.h"

const struct sirq_experiment *const sirq_experiments[] = {&sirq_udp_flood, &sirq_tcp_rr, NULL};

/* Offered load of a sweep, in tenths of what one CPU can carry. */
const unsigned sirq_lab_sweep[SIRQ_LAB_SWEEP] = {1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100};

int sirq_lab_write(const struct sirq_lab_options *options, const struct sirq_lines *runs,
                   unsigned n, const struct sirq_matrix *matrix, struct sirq_error *err)
{
    int rc = options->csv ? sirq_csv_write(options->csv, runs, n, err) : 0;

    return !rc && options->json ? sirq_json_write(options->json, runs, n, matrix, err) : rc;
}

static int run_live(const struct sirq_lab_options *options, struct sirq_error *err)
{
    struct sirq_spec_text text;
    struct sirq_spec_figures published;
    struct sirq_spec *spec;
    int rc = sirq_spec_read(&text, options->target, err);

    if (rc)
        return rc;
    rc = sirq_spec_parse(&spec, &text, UINT32_MAX, NULL, 0, err);
    if (!rc) {
        rc = sirq_spec_figures(&published, spec, &text, err);
        if (!rc) {
            struct sirq_results results = {.experiment = spec->name,
                                           .world = options->world->name,
                                           .spec = spec,
                                           .published = &published,
                                           .seed = options->seed};

            const struct sirq_lines lines = sirq_results_lines(&results);

            rc = options->world == &sirq_world_kernel
                     ? options->experiment->kernel(options, &results, err)
                     : options->experiment->run(options, &results, err);
            if (!rc)
                rc = sirq_lab_write(options, &lines, 1, NULL, err);
            if (!rc && results.missing)
                rc = sirq_fail(err, ENOTSUP,
                               "%u of %u rows could not be measured; their reasons stand below "
                               "the table",
                               results.missing, results.nrows);
            sirq_results_free(&results);
            sirq_spec_figures_free(&published);
        }
        sirq_spec_free(spec);
    }
    sirq_spec_text_free(&text);
    return rc;
}

/* May results be written there?  Not over the experiment itself. */
static int check_outfile(const struct sirq_lab_options *options, const char *option,
                         const char *path, struct sirq_error *err)
{
    struct stat in, out;

    if (!path)
        return 0;
    if (!stat(options->target, &in) && !stat(path, &out) && in.st_dev == out.st_dev &&
        in.st_ino == out.st_ino)
        return sirq_fail(err, EINVAL, "%s %s: is the experiment itself; name another file", option,
                         path);
    return sirq_outfile_check(option, path, err);
}

int sirq_lab_run(const struct sirq_lab_options *options, struct sirq_error *err)
{
    int rc = check_outfile(options, "--csv", options->csv, err);

    if (!rc)
        rc = check_outfile(options, "--json", options->json, err);
    if (rc)
        return rc;
    sirq_lab_signals_take();
    rc = options->all     ? sirq_lab_all(options, err)
         : options->world ? run_live(options, err)
                          : sirq_sim_lab_run(options, err);
    sirq_lab_signals_restore();
    return rc;
}
