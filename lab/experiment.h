/* SPDX-License-Identifier: MIT */
/*
 * Experiments and what a person may choose.  Every experiment is a file that the simulated
 * world can run; those that can also run live or on the kernel have an entry in the table of
 * experiment.c.
 */
#ifndef SIRQ_LAB_EXPERIMENT_H
#define SIRQ_LAB_EXPERIMENT_H

#include <sirq/live.h>

#include "matrix.h"
#include "progress.h"
#include "result.h"
#include "spec/spec.h"
#include "world/kernel/policy.h"

#define SIRQ_LAB_POLICIES 32u
#define SIRQ_LAB_RATES 32u
#define SIRQ_LAB_RECEIVERS 64u
#define SIRQ_LAB_BATCH 64u
#define SIRQ_LAB_SIZE_MIN 64u
#define SIRQ_LAB_SIZE_MAX 1514u
#define SIRQ_LAB_RATE_LIMIT UINT64_C(100000000) /* packets/s; more than any Ethernet */
#define SIRQ_LAB_SWEEP 11u
#define SIRQ_LAB_JOBS 256u
#define SIRQ_LAB_RUNS 3u /* of each cell of the kernel world, if nothing else is said */
#define SIRQ_LAB_LATENCY_RATE 10000.0 /* up to this rate latency means something */

enum sirq_lab_nic { SIRQ_LAB_SHM, SIRQ_LAB_PACKET, SIRQ_LAB_NICS };
enum sirq_lab_rates { SIRQ_LAB_RATE_MAX, SIRQ_LAB_RATE_LIST, SIRQ_LAB_RATE_SWEEP };

struct sirq_lab_options {
    const char *target;                       /* a shipped experiment's name, or a file's path */
    bool all;                                 /* every shipped one, and not the target */
    const struct sirq_experiment *experiment; /* by that name; null: simulated only */
    const struct sirq_world *world;           /* null: the simulated one */
    const struct sirq_policy *policy[SIRQ_LAB_POLICIES];
    unsigned npolicies;
    const struct sirq_kernel_policy *kernel[SIRQ_LAB_POLICIES]; /* kernel world: in their place */
    unsigned nkernel;
    bool policies_given; /* else what the file says goes first */
    enum sirq_lab_nic nic;
    enum sirq_delivery delivery;
    enum sirq_lab_rates rates;
    uint64_t rate[SIRQ_LAB_RATES]; /* packets/s, of a list */
    unsigned nrates;
    unsigned receivers, batch, size;
    int cpu;        /* the flooded CPU, -1: chosen */
    double seconds; /* measured per row, 0: the experiment's default */
    unsigned runs;  /* kernel: of each cell */
    uint64_t seed;
    const char *csv, *json; /* files, null: none */
    /* sim: */
    const char *set[SIRQ_SPEC_SETTINGS], *setup[SIRQ_SPEC_SETUPS];
    unsigned nsets, nsetups; /* no setups: all */
    unsigned seeds;          /* 0: as the file says */
    unsigned jobs;           /* threads that run worlds */
    const char *resume;      /* file of finished cells, null: the usual one */
};

/* Offered load of a sweep, in tenths of what one CPU can carry. */
extern const unsigned sirq_lab_sweep[SIRQ_LAB_SWEEP];

/* One run of udp-flood. */
struct sirq_flood {
    const struct sirq_policy *policy;
    double rate; /* packets/s, 0: as fast as the sender can */
    double seconds;
    unsigned receivers;
    bool rt;        /* receivers under SCHED_RR 20, else SCHED_OTHER */
    bool elsewhere; /* softirqs on another CPU than the receivers */
};

/* The one-CPU limit: median of several short runs, and how far they lie apart. */
struct sirq_flood_limit {
    double rate, rate_min, rate_max; /* packets/s */
};

struct sirq_session; /* a world's own */

struct sirq_world {
    const char *name, *summary; /* the rest is of the live one */

    /* Prepare what all runs share.  0 or -errno with err filled and nothing left behind. */
    int (*open)(struct sirq_session **out, const struct sirq_lab_options *options,
                struct sirq_error *err);
    void (*close)(struct sirq_session *session);

    /* Null, or why a row with softirqs on another CPU cannot be run. */
    const char *(*no_elsewhere)(const struct sirq_session *session);

    /* Measure the one-CPU limit.  0, -EINTR or -errno with err filled. */
    int (*flood_limit)(struct sirq_session *session, struct sirq_flood_limit *out,
                       struct sirq_error *err);

    /*
     * Run one row: figures and notes go to `row`.  0, -EPERM (the class is not permitted;
     * err says why, nothing was run), -EINTR, or -errno with err filled.
     */
    int (*flood)(struct sirq_session *session, const struct sirq_flood *flood,
                 const struct sirq_progress *progress, struct sirq_row *row,
                 struct sirq_error *err);
};

struct sirq_experiment {
    const char *name; /* of the shipped file: udp-flood */

    /* Live; null: there is none.  Fill results and print them.  0, -EINTR (partial) or -errno with err filled. */
    int (*run)(const struct sirq_lab_options *options, struct sirq_results *results,
               struct sirq_error *err);
    /* The same on the running kernel; null: there is none. */
    int (*kernel)(const struct sirq_lab_options *options, struct sirq_results *results,
                  struct sirq_error *err);
};

extern const struct sirq_experiment *const sirq_experiments[]; /* null-terminated */
extern const struct sirq_experiment sirq_udp_flood, sirq_tcp_rr;
extern const struct sirq_world sirq_world_live, sirq_world_kernel;

/* ---- options: each names the argument and the remedy; 0 or -EINVAL ------------------ */

void sirq_lab_defaults(struct sirq_lab_options *options);
/* The experiment's name or file; `world`: null, "live", "sim" or "kernel". */
int sirq_lab_set_target(struct sirq_lab_options *options, const char *text, const char *world,
                        struct sirq_error *err);
int sirq_lab_add_setting(struct sirq_lab_options *options, const char *text,
                         struct sirq_error *err);
int sirq_lab_add_setup(struct sirq_lab_options *options, const char *text, struct sirq_error *err);
int sirq_lab_set_policies(struct sirq_lab_options *options, const char *text,
                          struct sirq_error *err);
/* text null: all that a running kernel can be set to. */
int sirq_lab_set_kernel_policies(struct sirq_lab_options *options, const char *text,
                                 struct sirq_error *err);
int sirq_lab_set_nic(struct sirq_lab_options *options, const char *text, struct sirq_error *err);
int sirq_lab_set_delivery(struct sirq_lab_options *options, const char *text,
                          struct sirq_error *err);
int sirq_lab_set_rates(struct sirq_lab_options *options, const char *text, struct sirq_error *err);
int sirq_lab_set_number(unsigned *out, const char *option, const char *text, unsigned min,
                        unsigned max, struct sirq_error *err);
int sirq_lab_set_seconds(struct sirq_lab_options *options, const char *text,
                         struct sirq_error *err);
int sirq_lab_set_seed(struct sirq_lab_options *options, const char *text, struct sirq_error *err);

/* The files that were asked for, of `n` runs; matrix: null, or of them all.  0 or -errno with err filled. */
int sirq_lab_write(const struct sirq_lab_options *options, const struct sirq_lines *runs,
                   unsigned n, const struct sirq_matrix *matrix, struct sirq_error *err);

/* Run options->experiment and write the files.  0, -EINTR or -errno with err filled. */
int sirq_lab_run(const struct sirq_lab_options *options, struct sirq_error *err);

/* ---- interruption by the person ------------------------------------------------------ */

/*
 * SIGINT, SIGTERM and SIGHUP: blocked in the caller and every thread it starts from here
 * on, taken only inside sirq_lab_wait().  Until sirq_lab_signals_restore().
 */
void sirq_lab_signals_take(void);
void sirq_lab_signals_restore(void);

/* The signal that came, or 0. */
int sirq_lab_interrupted(void);

/* Sleep until `fd` (-1: none) is readable: 1, the time is over: 0, interrupted: -EINTR. */
int sirq_lab_wait(int fd, int64_t timeout_ns);

uint64_t sirq_lab_now_ns(void); /* CLOCK_MONOTONIC */

#endif
