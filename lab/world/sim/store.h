/* SPDX-License-Identifier: MIT */
/*
 * Cells that are finished, kept in a file from which a run that was interrupted goes on.  A cell is
 * found again by all that it depends on: the program, the experiment's text, what was set in it, the
 * policy and the seed.  One owner at a time; not thread-safe.
 */
#ifndef SIRQ_LAB_SIM_STORE_H
#define SIRQ_LAB_SIM_STORE_H

#include "measure.h"

struct sirq_sim_store;

/*
 * Open or make the file; *found: cells in it that may be used.  A file of another program is begun
 * anew, one that breaks off in the middle (power, a full disk) is good up to there; either is said in
 * `note`, which is empty otherwise.  0, or -errno with err filled: not ours, no access, in use.
 */
int sirq_sim_store_open(struct sirq_sim_store **out, const char *path, unsigned *found,
                        struct sirq_error *note, struct sirq_error *err);

/* What a cell depends on; `text` is that of the experiment. */
uint64_t sirq_sim_store_key(const struct sirq_sim_job *job, const char *text, size_t len,
                            const char *variant, const char *const *set, unsigned nset);

/* Fill `out` (as sirq_sim_job_run() does) with what is kept of the cell; false: nothing is. */
bool sirq_sim_store_get(struct sirq_sim_store *store, uint64_t key,
                        const struct sirq_sim_plan *plan, struct sirq_sim_outcome *out);

/* Keep a complete cell.  0 or -errno; then nothing more is kept, and what was is good. */
int sirq_sim_store_put(struct sirq_sim_store *store, uint64_t key, const struct sirq_sim_plan *plan,
                       const struct sirq_sim_outcome *out);

/* `done`: the run is complete and nobody needs the file any more. */
void sirq_sim_store_close(struct sirq_sim_store *store, bool done);

#endif
