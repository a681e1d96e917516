/* SPDX-License-Identifier: MIT */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "net.h"

/* The guardian comes first: it stays where the machine's settings are. */
int sirq_kernel_session_open(struct sirq_kernel_session *session,
                             const struct sirq_lab_options *options, struct sirq_results *results,
                             double seconds, struct sirq_error *err)
{
    int rc;

    memset(session, 0, sizeof(*session));
    session->options = options;
    session->results = results;
    session->runs = options->runs;
    session->seconds = options->seconds > 0 ? options->seconds : seconds;
    if (geteuid() != 0)
        return sirq_fail(err, EPERM,
                         "--world kernel needs root: it changes settings of the kernel and classes "
                         "of its threads, and puts them back; run it with sudo, or use another "
                         "world (--world live or sim), which needs no right");
    rc = sirq_lab_cpus_choose(&session->cpus, options->cpu, err);
    if (rc)
        return rc;
    sirq_lab_cpus_avoid(&session->cpus);
    rc = sirq_guardian_start(&session->guardian, "", err);
    if (!rc) {
        rc = sirq_kernel_net_enter(err);
        if (rc)
            sirq_guardian_end(&session->guardian);
    }
    if (rc)
        sirq_lab_cpus_restore(&session->cpus);
    return rc;
}

void sirq_kernel_session_close(struct sirq_kernel_session *session)
{
    sirq_guardian_end(&session->guardian);
    sirq_lab_cpus_restore(&session->cpus);
}

int sirq_kernel_repeat(struct sirq_kernel_session *session, sirq_kernel_run run, void *experiment,
                       const struct sirq_kernel_policy *policy, double rate,
                       struct sirq_results *runs, struct sirq_error *err)
{
    for (unsigned i = 0; i < session->runs; i++) {
        struct sirq_row *row = sirq_results_row(runs);
        int rc;

        if (!row)
            return sirq_fail(err, ENOMEM, "out of memory");
        sirq_progress_step(&session->progress, "%s, run %u of %u", policy->name, i + 1,
                           session->runs);
        rc = run(experiment, policy, rate, i, row, err);
        if (rc)
            return rc;
    }
    return 0;
}

int sirq_kernel_row(struct sirq_kernel_session *session, sirq_kernel_run run, void *experiment,
                    const struct sirq_kernel_policy *policy, struct sirq_row *row,
                    struct sirq_error *err)
{
    struct sirq_results runs = {0};
    int rc = sirq_kernel_repeat(session, run, experiment, policy, row->wanted_rate, &runs, err);

    row->skipped = rc != 0;
    if (!rc)
        sirq_row_merge(row, (const struct sirq_row *const *)runs.rows, runs.nrows);
    if (rc == -ENOTSUP) {
        sirq_row_note(row, "%s", err->text);
        session->results->missing++;
        rc = 0;
    }
    sirq_results_free(&runs);
    return rc;
}

/* From 4.9 to 6.4 softirqs were left to ksoftirqd while that is runnable. */
const char *sirq_kernel_published_as(const struct sirq_kernel_policy *policy)
{
    struct utsname name;
    unsigned major, minor;

    if (policy->threaded || policy->backlog_threads || policy->fifo_ksoftirqd || policy->file)
        return NULL;
    if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
        return NULL;
    return (major == 4 && minor >= 9) || major == 5 || (major == 6 && minor < 5) ? "ksoftirqd"
                                                                                 : "time2ms";
}

void sirq_kernel_print_notes(const struct sirq_results *results, double rate, FILE *out)
{
    for (unsigned i = 0; i < results->nrows; i++) {
        const struct sirq_row *row = results->rows[i];

        for (unsigned n = 0; row->wanted_rate == rate && n < row->nnotes; n++)
            fprintf(out, row->skipped ? "  no row %s: %s\n" : "  %s: %s\n", row->policy,
                    row->note[n].text);
    }
}
