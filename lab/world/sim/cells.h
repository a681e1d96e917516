/* SPDX-License-Identifier: MIT */
/*
 * All worlds of an experiment: each variant under each policy is a row, each seed of a row a
 * cell.  Cells, of one experiment or several, run side by side on any number of threads; what they
 * give is kept by row and seed and is the same in whatever order they end.
 */
#ifndef SIRQ_LAB_SIM_CELLS_H
#define SIRQ_LAB_SIM_CELLS_H

#include "measure.h"
#include "store.h"

/* One setup, at the file's rates or at one that was asked for. */
struct sirq_sim_variant {
    char *name;     /* as in results: "1 receiver SCHED_RR 20 1000/s" */
    uint32_t setup; /* number in the spec */
    uint64_t rate;  /* asked for, packets/s; 0: the file's */
    struct sirq_spec *spec;
    struct sirq_sim_plan plan;
};

struct sirq_sim_row {
    const struct sirq_sim_cells *cells; /* that it is one of */
    const struct sirq_sim_variant *variant;
    const struct sirq_policy *policy;
    uint32_t done, stalled; /* seeds that gave figures; of them, whose policy was taken away */
    uint32_t cut;           /* and that were stopped in the middle */
    uint32_t ran;           /* seeds that were run, and not found in a store; how long they took */
    uint64_t ran_ns;
    bool *complete;          /* by seed: it gave figures */
    double *values;          /* by seed, then figure of the plan */
    struct sirq_dist *dists; /* of the plan, of all complete seeds; null while there are none */
};

struct sirq_sim_cells {
    struct sirq_sim_variant *variants;
    struct sirq_sim_row *rows; /* variants, in each of them policies */
    uint32_t n_variants, n_rows, n_policies;
    uint64_t first_seed;
    const struct sirq_spec_text *text; /* of the experiment, and what was set in it: by reference */
    const char *const *set;
    unsigned nset;
};

/* What a row says of a figure of its plan; false: no complete seed saw anything of it. */
struct sirq_sim_value {
    double value, least, most; /* median of the seeds or pooled; of the seeds */
};
bool sirq_sim_row_value(const struct sirq_sim_row *row, uint32_t figure,
                        struct sirq_sim_value *out);

/* Make rows of the variants.  0, or -ENOMEM with err filled. */
int sirq_sim_cells_rows(struct sirq_sim_cells *cells, const struct sirq_policy *const *policy,
                        uint32_t n_policies, struct sirq_error *err);

/* What is run together. */
struct sirq_sim_batch {
    struct sirq_sim_cells *const *cells; /* with the same first seed */
    unsigned n, jobs;                    /* threads */
    struct sirq_sim_store *store;        /* null: nothing is kept or found */
    struct sirq_error note;              /* set to why cells could not be kept, else empty */
};

/*
 * Run them, with progress on stderr.  0; -EINTR: stopped by a person; or -errno with err filled, of
 * the first cell that failed.
 */
int sirq_sim_cells_run(struct sirq_sim_batch *batch, struct sirq_error *err);

/* Rows, variants and their specs. */
void sirq_sim_cells_free(struct sirq_sim_cells *cells);

#endif
