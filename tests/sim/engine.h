/* SPDX-License-Identifier: MIT */
/* Experiments of a few lines, run in the simulated world, for tests. */
#ifndef SIRQ_TESTS_SIM_ENGINE_H
#define SIRQ_TESTS_SIM_ENGINE_H

#include "world/sim/cells.h"

struct engine {
    struct sirq_spec *spec;
    struct sirq_sim_plan plan;
    struct sirq_sim_outcome outcome;
    int rc; /* of the run */
    struct sirq_error err;
};

/* Machine, costs and run of a test's file; it adds what it needs. */
extern const char engine_head[];

/* Run engine_head and `text`, or the shipped experiment `text` in one of its setups, with
 * settings (null-terminated), under a policy. */
void engine_run(struct engine *engine, const char *text, const char *policy, uint64_t seed);
void engine_run_shipped(struct engine *engine, const char *name, uint32_t setup,
                        const char *const *set, const char *policy);

/* The figure called so; the run must have succeeded. */
double engine_value(const struct engine *engine, const char *name);
void engine_free(struct engine *engine);

#endif
