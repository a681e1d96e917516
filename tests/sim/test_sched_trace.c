/* SPDX-License-Identifier: MIT */
/* What a world tells whoever measures: latencies, runs, wake-ups; and that it changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "flood_world.h"
#include "sched_world.h"

#define COST_IRQ 500u /* flood_costs */
#define COST_PASS 100u
#define WORK 3000u

struct seen {
    struct sirq_sim_trace last[SIRQ_NR_TRACES];
    uint64_t n[SIRQ_NR_TRACES], frames, run_ns, longest_ns, late_restart_ns;
};

static void note(void *arg, const struct sirq_sim_trace *trace)
{
    struct seen *seen = arg;

    assert_true(trace->what < SIRQ_NR_TRACES);
    if (trace->cpu != 0)
        return;
    seen->last[trace->what] = *trace;
    seen->n[trace->what]++;
    if (trace->what == SIRQ_TRACE_RUN_END) {
        seen->frames += trace->frames;
        seen->run_ns += trace->since_ns;
        if (trace->since_ns > seen->longest_ns)
            seen->longest_ns = trace->since_ns;
    }
    if (trace->what == SIRQ_TRACE_RESTART && trace->since_ns > seen->late_restart_ns)
        seen->late_restart_ns = trace->since_ns;
}

static struct sirq_sim *traced(struct seen *seen)
{
    struct sirq_sim_config config = sched_config(1);

    config.trace = note;
    config.trace_arg = seen;
    return sched_create(&config);
}

static void raise_user(struct sirq_cpu *cpu, void *data)
{
    sirq_raise(cpu, SIRQ_USER);
    sirq_sim_spend(data, WORK);
}

static void work(struct sirq_cpu *cpu, void *data)
{
    (void)cpu;
    sirq_sim_spend(data, 2 * WORK);
}

static void trace_of_an_interrupt_gives_latency_and_length(void **state)
{
    struct seen seen = {0};
    struct sirq_sim *sim = traced(&seen);
    struct sirq_irq irq = {.handler = raise_user, .data = sim};
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_open(sirq_sim_core(sim), SIRQ_USER, "test", work, sim), 0);
    assert_int_equal(sirq_sim_irq_request(sim, 0, &irq, &err), 0);
    sirq_sim_irq_raise(sim, &irq, 10 * MS);
    sirq_sim_run(sim, 20 * MS);
    assert_int_equal(seen.last[SIRQ_TRACE_RAISE].time_ns, 10 * MS + COST_IRQ);
    assert_int_equal(seen.last[SIRQ_TRACE_ENTRY].arg, SIRQ_USER);
    assert_int_equal(seen.last[SIRQ_TRACE_ENTRY].since_ns, WORK + COST_PASS);
    assert_int_equal(seen.last[SIRQ_TRACE_EXIT].since_ns, 2 * WORK);
    assert_int_equal(seen.last[SIRQ_TRACE_RUN_END].since_ns, COST_PASS + 2 * WORK);
    assert_int_equal(seen.last[SIRQ_TRACE_RUN_END].arg, 1);
    sirq_sim_irq_free(sim, &irq);
    sirq_sim_destroy(sim);
}

/* HI raises USER, which its pass has taken already: each raise has its run. */
static void raise_again(struct sirq_cpu *cpu, void *data)
{
    sirq_sim_spend(data, WORK);
    sirq_raise(cpu, SIRQ_USER);
}

static void raise_both(struct sirq_sim_task *task, void *arg)
{
    struct sirq_sim *sim = sirq_sim_of(task);
    struct sirq_cpu *cpu = sirq_sim_this_cpu(sim);

    (void)arg;
    sirq_bh_disable(cpu);
    sirq_raise(cpu, SIRQ_USER);
    sirq_raise(cpu, SIRQ_HI);
    sirq_bh_enable(cpu);
}

static void trace_of_a_raise_after_the_take_counts_for_the_next_run(void **state)
{
    struct seen seen = {0};
    struct sirq_sim *sim = traced(&seen);

    (void)state;
    assert_int_equal(sirq_open(sirq_sim_core(sim), SIRQ_HI, "hi", raise_again, sim), 0);
    assert_int_equal(sirq_open(sirq_sim_core(sim), SIRQ_USER, "test", work, sim), 0);
    sched_spawn(sim, raise_both, NULL, 0, NULL);
    sirq_sim_run(sim, 100000);
    assert_int_equal(seen.n[SIRQ_TRACE_RAISE], 3);
    assert_int_equal(seen.n[SIRQ_TRACE_RESTART], 1);
    /* the second run of USER: through the first one, and a pass */
    assert_int_equal(seen.last[SIRQ_TRACE_ENTRY].since_ns, 2 * WORK + COST_PASS);
    assert_int_equal(seen.last[SIRQ_TRACE_RESTART].since_ns, COST_PASS + 3 * WORK);
    sirq_sim_destroy(sim);
}

static void trace_of_a_flood_agrees_with_the_counters(void **state)
{
    struct seen seen = {0};
    struct flood_config config = {
        .policy = "time2ms",
        .rate = 4000000,
        .receivers = 1,
        .hz = 1000,
        .seed = 3,
        .ns = SECOND,
    };
    struct flood_result plain, traced_result;

    (void)state;
    flood_run(&config, &plain);
    config.trace = note;
    config.trace_arg = &seen;
    flood_run(&config, &traced_result);
    assert_int_equal(plain.digest, traced_result.digest);
    assert_int_equal(plain.received, traced_result.received);
    /* of the whole run, its end included */
    assert_true(seen.frames >= traced_result.arrived - traced_result.nic_drops - 1000);
    assert_true(seen.longest_ns >= traced_result.longest_run_ns);
    assert_true(seen.n[SIRQ_TRACE_PUNT] > 0);
    /* no pass is begun at or after the third jiffy: 2 ms at HZ 1000 */
    assert_in_range(seen.late_restart_ns, 100000, 3 * MS);
}

struct latencies {
    uint64_t n, most, least;
};

static void note_woken(void *arg, uint64_t latency_ns)
{
    struct latencies *self = arg;

    self->n++;
    if (latency_ns > self->most)
        self->most = latency_ns;
    if (self->n == 1 || latency_ns < self->least)
        self->least = latency_ns;
}

static void sleep_each_ms(struct sirq_sim_task *task, void *arg)
{
    (void)arg;
    for (uint64_t next = MS / 2;; next += MS)
        sirq_sim_sleep_until(task, next);
}

static void wakeup_latency_counts_from_the_timer(void **state)
{
    struct latencies seen = {0};
    struct sirq_sim *sim = sched_world(1, 0);
    struct sirq_sim_task_config config = {
        .name = "cyclic",
        .fn = sleep_each_ms,
        .arg = &seen,
        .woken = note_woken,
        .sched = {.policy = SCHED_FIFO, .priority = 80},
    };
    struct sirq_error err;

    (void)state;
    sched_spawn(sim, sched_hog, NULL, 0, NULL);
    assert_int_equal(sirq_sim_spawn(sim, &config, NULL, &err), 0);
    sirq_sim_run(sim, SECOND);
    assert_int_equal(seen.n, 1000);
    /* interrupt, wake-up, switch: 500 + 400 + 1000 */
    assert_int_equal(seen.least, 1900);
    assert_in_range(seen.most, 1900, 3000);
    sirq_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trace_of_an_interrupt_gives_latency_and_length),
        cmocka_unit_test(trace_of_a_raise_after_the_take_counts_for_the_next_run),
        cmocka_unit_test(trace_of_a_flood_agrees_with_the_counters),
        cmocka_unit_test(wakeup_latency_counts_from_the_timer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
