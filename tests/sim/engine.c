/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

const char engine_head[] =
    "machine: {cpus: 2, hz: 1000}\n"
    "costs_ns: {pass: 100, napi_poll: 200, rx_queued: 400, rx_full: 200, rx_drop: 200,\n"
    "  rx_ack: 200, tx: 300, blk_done: 300,\n"
    "  rx_steered: 100,\n"
    "  forward: 600,\n"
    "  recv_call: 300, recv_packet: 200, irq: 500, tick: 1000, switch: 1000, wake: 300,\n"
    "  ksoftirqd: 100}\n"
    "run: {seeds: 1, warmup_ms: 10, duration_ms: 200}\n";

static void run(struct engine *engine, const char *policy, uint64_t seed)
{
    const struct sirq_sim_job job = {
        .spec = engine->spec,
        .plan = &engine->plan,
        .policy = sirq_policy_find(policy),
        .seed = seed,
    };

    assert_non_null(job.policy);
    assert_int_equal(sirq_sim_plan_make(&engine->plan, engine->spec, &engine->err), 0);
    engine->outcome.values = calloc((size_t)engine->plan.n_figures + 1, sizeof(double));
    engine->outcome.dists = calloc((size_t)engine->plan.n_dists + 1, sizeof(struct sirq_dist));
    assert_non_null(engine->outcome.values);
    assert_non_null(engine->outcome.dists);
    engine->rc = sirq_sim_job_run(&job, &engine->outcome, &engine->err);
}

void engine_run(struct engine *engine, const char *text, const char *policy, uint64_t seed)
{
    char whole[4096], name[] = "test.yaml";
    const struct sirq_spec_text file = {.name = name, .text = whole};
    struct sirq_spec_text all = file;

    *engine = (struct engine){0};
    all.len = (size_t)snprintf(whole, sizeof(whole), "%s%s", engine_head, text);
    assert_true(all.len < sizeof(whole));
    if (sirq_spec_parse(&engine->spec, &all, 0, NULL, 0, &engine->err) != 0)
        fail_msg("%s", engine->err.text);
    run(engine, policy, seed);
}

void engine_run_shipped(struct engine *engine, const char *name, uint32_t setup,
                        const char *const *set, const char *policy)
{
    struct sirq_spec_text text;
    unsigned nset = 0;

    *engine = (struct engine){0};
    while (set[nset] != NULL)
        nset++;
    assert_int_equal(sirq_spec_read(&text, name, &engine->err), 0);
    if (sirq_spec_parse(&engine->spec, &text, setup, set, nset, &engine->err) != 0)
        fail_msg("%s", engine->err.text);
    sirq_spec_text_free(&text);
    run(engine, policy, 1);
}

double engine_value(const struct engine *engine, const char *name)
{
    if (engine->rc != 0)
        fail_msg("%s", engine->err.text);
    for (uint32_t i = 0; i < engine->plan.n_figures; i++) {
        if (strcmp(engine->plan.figures[i].name, name) == 0)
            return engine->outcome.values[i];
    }
    fail_msg("no figure is called %s", name);
    return 0;
}

void engine_free(struct engine *engine)
{
    free(engine->outcome.values);
    free(engine->outcome.dists);
    sirq_sim_plan_free(&engine->plan);
    sirq_spec_free(engine->spec);
}
