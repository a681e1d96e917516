/* SPDX-License-Identifier: MIT */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The nth run of a row; one that this kernel cannot is not tried again. */
static int run_nth(struct sirq_kernel_session *session, const struct sirq_kernel_rows *rows,
                   unsigned i, unsigned nth, struct sirq_results *runs, struct sirq_error *err)
{
    const struct sirq_kernel_policy *policy = session->options->kernel[i];
    struct sirq_row *row = rows->row[i], *mine;
    int rc;

    sirq_progress_step(&session->progress, "%s, run %u of %u", policy->name, nth + 1,
                       session->runs);
    if (row->skipped)
        return 0;
    mine = sirq_results_row(runs);
    if (!mine)
        return sirq_fail(err, ENOMEM, "out of memory");
    rc = rows->run(rows->experiment, policy, row->wanted_rate, nth, mine, err);
    if (!rc)
        return 0;
    free(mine);
    runs->nrows--;
    if (rc != -ENOTSUP)
        return rc;
    row->skipped = true;
    sirq_row_note(row, "%s", err->text);
    session->results->missing++;
    return 0;
}

int sirq_kernel_rows_run(struct sirq_kernel_session *session, const struct sirq_kernel_rows *rows,
                         struct sirq_error *err)
{
    struct sirq_results runs[SIRQ_LAB_POLICIES] = {0};
    int rc = 0;

    for (unsigned nth = 0; nth < session->runs && !rc; nth++) {
        for (unsigned i = 0; i < session->options->nkernel && !rc; i++)
            rc = run_nth(session, rows, i, nth, &runs[i], err);
    }
    for (unsigned i = 0; i < session->options->nkernel; i++) {
        rows->row[i]->skipped = rows->row[i]->skipped || !runs[i].nrows;
        if (!rows->row[i]->skipped)
            sirq_row_merge(rows->row[i], (const struct sirq_row *const *)runs[i].rows,
                           runs[i].nrows);
        sirq_results_free(&runs[i]);
    }
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
