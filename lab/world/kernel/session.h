/* SPDX-License-Identifier: MIT */
/* What all experiments of the kernel world share: CPUs, the guardian, the namespace, repetition. */
#ifndef SIRQ_LAB_KERNEL_SESSION_H
#define SIRQ_LAB_KERNEL_SESSION_H

#include "experiment.h"
#include "guardian.h"
#include "world/common/cpu.h"

struct sirq_kernel_session {
    const struct sirq_lab_options *options;
    struct sirq_results *results;
    struct sirq_progress progress;
    struct sirq_lab_cpus cpus;
    struct sirq_guardian guardian;
    double seconds;
    unsigned runs; /* of each row */
};

/* Root alone; the guardian, then the run's own namespaces.  seconds: what a row takes if nothing
 * else is asked for.  0 or -errno with err filled and nothing left. */
int sirq_kernel_session_open(struct sirq_kernel_session *session,
                             const struct sirq_lab_options *options, struct sirq_results *results,
                             double seconds, struct sirq_error *err);
void sirq_kernel_session_close(struct sirq_kernel_session *session);

/* One run of a row.  0, -ENOTSUP (this kernel cannot, err says why), -EINTR or -errno. */
typedef int (*sirq_kernel_run)(void *experiment, const struct sirq_kernel_policy *policy,
                               double rate, unsigned nth, struct sirq_row *row,
                               struct sirq_error *err);

/* All runs of a row, one after the other, to rows of `runs`. */
int sirq_kernel_repeat(struct sirq_kernel_session *session, sirq_kernel_run run, void *experiment,
                       const struct sirq_kernel_policy *policy, double rate,
                       struct sirq_results *runs, struct sirq_error *err);

/* Rows of the results, one for each policy that was chosen; they have their names already. */
struct sirq_kernel_rows {
    sirq_kernel_run run;
    void *experiment;
    struct sirq_row *row[SIRQ_LAB_POLICIES];
};

/*
 * Run each once, then each once more: what changes slowly around them changes all of them, and
 * shows in the spread.  Rows become medians and spread, or say why there is none.
 * 0, -EINTR (rows are of the runs so far) or -errno with err filled.
 */
int sirq_kernel_rows_run(struct sirq_kernel_session *session, const struct sirq_kernel_rows *rows,
                         struct sirq_error *err);

/* What the kernel does by itself, as a policy of the published tables; null: nobody knows. */
const char *sirq_kernel_published_as(const struct sirq_kernel_policy *policy);

/* Rows that could not be run, and why. */
void sirq_kernel_print_notes(const struct sirq_results *results, double rate, FILE *out);

#endif
