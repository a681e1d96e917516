/* SPDX-License-Identifier: MIT */
/* What every fair scheduler has to keep, under CFS and under EEVDF; and what EEVDF promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "sched_world.h"

#define SIRQ_SIM_PRIVATE
#include "../../src/sim/sim.h"

static struct sirq_sim *world(void **state, unsigned ncpus)
{
    struct sirq_sim_config config = sched_config(ncpus);

    config.scheduler = *(const enum sirq_sim_scheduler *)*state;
    return sched_create(&config);
}

static bool eevdf(void **state)
{
    return *(const enum sirq_sim_scheduler *)*state == SIRQ_SIM_EEVDF;
}

static void shares_over_a_long_run_follow_weights(void **state)
{
    static const int nice[] = {0, 5, -5, 10, 19};
    static const double weight[] = {1024, 335, 3121, 110, 15};
    struct sirq_sim *sim = world(state, 1);
    struct sirq_sim_task *task[5];
    uint64_t sum = 0;

    for (unsigned i = 0; i < 5; i++)
        task[i] = sched_spawn(sim, sched_hog, NULL, 0, &(struct sirq_sched){.nice = nice[i]});
    sirq_sim_run(sim, 200 * SECOND);
    for (unsigned i = 0; i < 5; i++)
        sum += sched_time_ns(task[i]);
    for (unsigned i = 0; i < 5; i++) {
        double ratio = (double)sched_time_ns(task[i]) / ((double)sum * weight[i] / 4605);

        assert_true(ratio > 0.98 && ratio < 1.02);
    }
    sirq_sim_destroy(sim);
}

static void sleeper_beside_a_hog_runs_within_a_slice(void **state)
{
    struct sirq_sim *sim = world(state, 1);
    struct sched_periodic p = {.interval = 20 * MS + 300000};

    sched_spawn(sim, sched_hog, NULL, 0, NULL);
    sched_spawn(sim, sched_periodic, &p, 0, &(struct sirq_sched){.nice = -10});
    sirq_sim_run(sim, 4 * SECOND);
    assert_in_range(p.n, 190, 197);
    /* CFS preempts at once; EEVDF lets the slice end, which a tick sees */
    if (eevdf(state))
        assert_in_range(p.late_max, MS / 2, 2 * MS);
    else
        assert_in_range(p.late_max, 1000, 5000);
    sirq_sim_destroy(sim);
}

struct gap {
    uint64_t last, most;
};

static void watch_gaps(struct sirq_sim_task *task, void *arg)
{
    struct sirq_sim *sim = sirq_sim_of(task);
    struct gap *gap = arg;

    for (;;) {
        uint64_t now = sirq_sim_now_ns(sim);

        if (now - gap->last > gap->most)
            gap->most = now - gap->last;
        sirq_sim_spend(sim, 20000);
        gap->last = sirq_sim_now_ns(sim);
    }
}

static void crowd_of_hogs_starves_nobody(void **state)
{
    struct sirq_sim *sim = world(state, 1);
    struct gap gap[20] = {0};

    for (unsigned i = 0; i < 20; i++)
        sched_spawn(sim, watch_gaps, &gap[i], 0, NULL);
    sirq_sim_run(sim, SECOND); /* those who come first wait for the others' first turns */
    for (unsigned i = 0; i < 20; i++)
        gap[i].most = 0;
    sirq_sim_run(sim, 5 * SECOND);
    for (unsigned i = 0; i < 20; i++) {
        assert_true(sirq_sim_now_ns(sim) - gap[i].last < 25 * MS);
        assert_true(gap[i].most < 25 * MS); /* 20 slices that a tick ends */
    }
    sirq_sim_destroy(sim);
}

static void sleep_then_hog(struct sirq_sim_task *task, void *arg)
{
    sirq_sim_sleep_until(task, 5 * SECOND);
    sched_hog(task, arg);
}

static void long_sleep_earns_little(void **state)
{
    struct sirq_sim *sim = world(state, 1);
    struct sirq_sim_task *late = sched_spawn(sim, sleep_then_hog, NULL, 0, NULL);

    sched_spawn(sim, sched_hog, NULL, 0, NULL);
    sirq_sim_run(sim, 5 * SECOND + 100 * MS);
    assert_in_range(sched_time_ns(late), 48 * MS, 54 * MS);
    sirq_sim_destroy(sim);
}

static void nap(struct sirq_sim_task *task, void *arg)
{
    struct sirq_sim *sim = sirq_sim_of(task);

    (void)arg;
    for (;;) {
        sirq_sim_spend(sim, 900000);
        sirq_sim_sleep_until(task, sirq_sim_now_ns(sim) + 10000);
    }
}

static void naps_earn_no_more_than_a_fair_share(void **state)
{
    struct sirq_sim *sim = world(state, 1);
    struct sirq_sim_task *napper = sched_spawn(sim, nap, NULL, 0, NULL);

    sched_spawn(sim, sched_hog, NULL, 0, NULL);
    sirq_sim_run(sim, 10 * SECOND);
    assert_in_range(sched_time_ns(napper), 4500 * MS, 5100 * MS);
    sirq_sim_destroy(sim);
}

static void dodge_ticks(struct sirq_sim_task *task, void *arg)
{
    struct sirq_sim *sim = sirq_sim_of(task);

    (void)arg;
    for (;;) {
        sirq_sim_sleep_until(task, sirq_sim_now_ns(sim) / MS * MS + MS + 100000);
        sirq_sim_spend(sim, 850000);
    }
}

/* It is always asleep when a tick looks; but a sleep keeps the debt. */
static void naps_at_ticks_do_not_wipe_out_a_debt(void **state)
{
    struct sirq_sim *sim = world(state, 1);
    struct sirq_sim_task *dodger = sched_spawn(sim, dodge_ticks, NULL, 0, NULL);

    sched_spawn(sim, sched_hog, NULL, 0, NULL);
    sirq_sim_run(sim, 10 * SECOND);
    assert_in_range(sched_time_ns(dodger), 3 * SECOND, 5200 * MS);
    sirq_sim_destroy(sim);
}

static void section_then_hog(struct sirq_sim_task *task, void *arg)
{
    struct sirq_sim *sim = sirq_sim_of(task);
    struct sirq_cpu *cpu = sirq_sim_this_cpu(sim);

    sirq_bh_disable(cpu);
    sirq_sim_spend(sim, 5 * SECOND);
    sirq_bh_enable(cpu);
    sirq_sim_sleep_until(task, 6 * SECOND);
    sched_hog(task, arg);
}

/* EEVDF bounds the debt that a task takes along; under CFS it would wait for seconds. */
static void debt_taken_through_a_sleep_is_bounded(void **state)
{
    struct sirq_sim *sim = world(state, 1);
    struct sirq_sim_task *task = sched_spawn(sim, section_then_hog, NULL, 0, NULL);
    uint64_t before;

    sched_spawn(sim, sched_hog, NULL, 0, NULL);
    sirq_sim_run(sim, 6 * SECOND);
    before = sched_time_ns(task);
    sirq_sim_run(sim, 6 * SECOND + 100 * MS);
    assert_in_range(sched_time_ns(task) - before, 45 * MS, 52 * MS);
    sirq_sim_destroy(sim);
}

static void yield_for_ever(struct sirq_sim_task *task, void *arg)
{
    (void)arg;
    for (;;) {
        sirq_sim_spend(sirq_sim_of(task), 5000);
        sirq_sim_yield(task);
    }
}

static void yielding_task_leaves_the_cpu_to_a_hog(void **state)
{
    struct sirq_sim *sim = world(state, 1);
    struct sirq_sim_task *yielder = sched_spawn(sim, yield_for_ever, NULL, 0, NULL);
    struct sirq_sim_task *hog = sched_spawn(sim, sched_hog, NULL, 0, NULL);

    sirq_sim_run(sim, 5 * SECOND);
    assert_true(sched_time_ns(hog) > 2400 * MS); /* no less than its share */
    assert_true(sched_time_ns(yielder) > 5 * MS);
    sirq_sim_destroy(sim);
}

static void restless(struct sirq_sim_task *task, void *arg)
{
    struct sirq_sim *sim = sirq_sim_of(task);

    (void)arg;
    for (;;) {
        sirq_sim_spend(sim, 1000 + sirq_sim_random(sim, 3 * MS));
        if (sirq_sim_random(sim, 3) == 0)
            sirq_sim_sleep_until(task, sirq_sim_now_ns(sim) + sirq_sim_random(sim, 5 * MS));
    }
}

static struct sirq_sim_task *all[12];

/* Lag of all who compete on `vcpu`, in real time, stays within two slices and two ticks. */
static void check_lags(struct sirq_vcpu *vcpu)
{
    double sum = 0, load = 0, bound = 2 * 0.75e6 * 2 + 2e6;
    unsigned n = 0;

    for (unsigned i = 0; i < 12; i++)
        if (all[i]->vcpu == vcpu && all[i]->state == SIM_RUNNABLE) {
            sum += (double)(int64_t)(all[i]->vruntime - vcpu->fair.min_vruntime) * all[i]->weight;
            load += all[i]->weight;
            n++;
        }
    assert_in_range(vcpu->fair.nr, n, n + 1); /* ksoftirqd */
    for (unsigned i = 0; i < 12; i++)
        if (all[i]->vcpu == vcpu && all[i]->state == SIM_RUNNABLE) {
            double lag = sum / load - (double)(int64_t)(all[i]->vruntime - vcpu->fair.min_vruntime);

            lag *= all[i]->weight / 1024.0;
            assert_true(lag < bound && lag > -bound);
        }
}

static void lag_under_random_load_stays_bounded(void **state)
{
    static const int nice[] = {-20, 19, 0, -6};
    struct sirq_sim *sim = world(state, 2);

    for (unsigned i = 0; i < 12; i++)
        all[i] = sched_spawn(sim, restless, NULL, -1, &(struct sirq_sched){.nice = nice[i % 4]});
    for (uint64_t ms = 1; ms < 4000; ms++) {
        sirq_sim_run(sim, ms * MS + ms * 997 % MS);
        for (unsigned cpu = 0; cpu < 2; cpu++)
            check_lags(&sim->vcpus[cpu]);
    }
    sirq_sim_destroy(sim);
}

static int run_under(const char *name, enum sirq_sim_scheduler scheduler)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(shares_over_a_long_run_follow_weights, &scheduler),
        cmocka_unit_test_prestate(sleeper_beside_a_hog_runs_within_a_slice, &scheduler),
        cmocka_unit_test_prestate(crowd_of_hogs_starves_nobody, &scheduler),
        cmocka_unit_test_prestate(long_sleep_earns_little, &scheduler),
        cmocka_unit_test_prestate(naps_earn_no_more_than_a_fair_share, &scheduler),
        cmocka_unit_test_prestate(naps_at_ticks_do_not_wipe_out_a_debt, &scheduler),
        cmocka_unit_test_prestate(yielding_task_leaves_the_cpu_to_a_hog, &scheduler),
        /* from here on EEVDF alone */
        cmocka_unit_test_prestate(debt_taken_through_a_sleep_is_bounded, &scheduler),
        cmocka_unit_test_prestate(lag_under_random_load_stays_bounded, &scheduler),
    };

    return _cmocka_run_group_tests(name, tests, (size_t)(scheduler == SIRQ_SIM_EEVDF ? 9 : 7), NULL,
                                   NULL);
}

int main(void)
{
    return run_under("cfs", SIRQ_SIM_CFS) + run_under("eevdf", SIRQ_SIM_EEVDF);
}
