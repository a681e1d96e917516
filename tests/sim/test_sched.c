/* SPDX-License-Identifier: MIT */
/* Scheduling classes, preemption, placement and accounts of the simulated machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sched_world.h"

/* 512 MB for 256 CPUs and 2,000 tasks; stacks are larger under AddressSanitizer. */
#if defined(__SANITIZE_ADDRESS__)
#define MEMORY_PER_STACK 400000u
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEMORY_PER_STACK 400000u
#endif
#endif
#ifndef MEMORY_PER_STACK
#define MEMORY_PER_STACK 220000u
#endif

static void fair_equal_tasks_share_equally(void **state)
{
    struct sirq_sim *sim = sched_world(1, 0);
    struct sirq_sim_task *task[5];

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        task[i] = sched_spawn(sim, sched_hog, NULL, 0, NULL);
    sirq_sim_run(sim, 2 * SECOND);
    for (unsigned i = 0; i < 5; i++)
        assert_in_range(sched_time_ns(task[i]), 390 * MS, 410 * MS);
    sirq_sim_destroy(sim);
}

static void fair_nice_tasks_share_by_weight(void **state)
{
    struct sirq_sim *sim = sched_world(1, 0);
    const struct sirq_sched nice = {.nice = 5};
    struct sirq_sim_task *a = sched_spawn(sim, sched_hog, NULL, 0, NULL);
    struct sirq_sim_task *b = sched_spawn(sim, sched_hog, NULL, 0, &nice);
    double ratio;

    (void)state;
    sirq_sim_run(sim, 4 * SECOND);
    ratio = (double)sched_time_ns(a) / (double)sched_time_ns(b);
    assert_true(ratio > 1024.0 / 335 * 0.97 && ratio < 1024.0 / 335 * 1.03);
    sirq_sim_destroy(sim);
}

static void rt_higher_priority_starves_lower(void **state)
{
    struct sirq_sim *sim = sched_world(1, 0);
    const struct sirq_sched low = {.policy = SCHED_FIFO, .priority = 10};
    const struct sirq_sched high = {.policy = SCHED_FIFO, .priority = 11};
    struct sirq_sim_task *a = sched_spawn(sim, sched_hog, NULL, 0, &low);
    struct sirq_sim_task *b = sched_spawn(sim, sched_hog, NULL, 0, &high);

    (void)state;
    sirq_sim_run(sim, SECOND / 2);
    assert_in_range(sched_time_ns(a), 0, MS);
    assert_true(sched_time_ns(b) > 498 * MS);
    sirq_sim_destroy(sim);
}

static void rt_throttling_leaves_five_percent(void **state)
{
    struct sirq_sim *sim = sched_world(1, 0);
    const struct sirq_sched rt = {.policy = SCHED_FIFO, .priority = 50};
    struct sirq_sim_task *a = sched_spawn(sim, sched_hog, NULL, 0, &rt);
    struct sirq_sim_task *b = sched_spawn(sim, sched_hog, NULL, 0, NULL);

    (void)state;
    sirq_sim_run(sim, 10 * SECOND);
    assert_in_range(sched_time_ns(a), 9490 * MS, 9520 * MS);
    assert_in_range(sched_time_ns(b), 470 * MS, 505 * MS);
    sirq_sim_destroy(sim);
}

static void rr_equal_priorities_take_turns(void **state)
{
    struct sirq_sim *sim = sched_world(1, 0);
    const struct sirq_sched rr = {.policy = SCHED_RR, .priority = 20};
    struct sirq_sim_task *a = sched_spawn(sim, sched_hog, NULL, 0, &rr);
    struct sirq_sim_task *b = sched_spawn(sim, sched_hog, NULL, 0, &rr);
    struct sirq_sim_task_stats stats;

    (void)state;
    sirq_sim_run(sim, 10 * SECOND);
    assert_in_range(sched_time_ns(a), 4600 * MS, 4900 * MS);
    assert_in_range(sched_time_ns(b), 4600 * MS, 4900 * MS);
    sirq_sim_task_stats(a, &stats);
    assert_in_range(stats.switches, 40, 70); /* slices of 100 ms, and throttling */
    sirq_sim_destroy(sim);
}

static void rt_wakeup_preempts_hog_at_once(void **state)
{
    struct sirq_sim *sim = sched_world(1, 0);
    const struct sirq_sched rt = {.policy = SCHED_FIFO, .priority = 50};
    struct sched_periodic p = {.interval = MS};

    (void)state;
    sched_spawn(sim, sched_hog, NULL, 0, NULL);
    sched_spawn(sim, sched_periodic, &p, 0, &rt);
    sirq_sim_run(sim, SECOND);
    assert_in_range(p.n, 998, 1000);
    /* irq, wake, switch; and a tick that came first */
    assert_in_range(p.late_max, 1900, 4000);
    sirq_sim_destroy(sim);
}

static void fair_sleeper_preempts_hog_soon(void **state)
{
    struct sirq_sim *sim = sched_world(1, 0);
    struct sched_periodic p = {.interval = 20 * MS};

    (void)state;
    sched_spawn(sim, sched_hog, NULL, 0, NULL);
    sched_spawn(sim, sched_periodic, &p, 0, NULL);
    sirq_sim_run(sim, SECOND);
    assert_in_range(p.n, 48, 50);
    assert_in_range(p.late_max, 1000, 5000);
    sirq_sim_destroy(sim);
}

static void balance_unpinned_hogs_fill_all_cpus(void **state)
{
    struct sirq_sim *sim = sched_world(4, 0);
    struct sirq_sim_task *task[8];

    (void)state;
    for (unsigned i = 0; i < 8; i++)
        task[i] = sched_spawn(sim, sched_hog, NULL, -1, NULL);
    sirq_sim_run(sim, SECOND);
    for (unsigned i = 0; i < 8; i++)
        assert_in_range(sched_time_ns(task[i]), 420 * MS, 580 * MS);
    sirq_sim_destroy(sim);
}

static void balance_idle_cpu_pulls_waiting_task(void **state)
{
    struct sirq_sim *sim = sched_world(2, 0);
    const uint64_t both = 3;
    struct sirq_sim_task_config config = {
        .name = "t",
        .fn = sched_hog,
        .cpu = -1,
        .allowed = &both,
    };
    struct sirq_sim_task *a, *b, *pinned = sched_spawn(sim, sched_hog, NULL, 0, NULL);
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_sim_spawn(sim, &config, &a, &err), 0);
    assert_int_equal(sirq_sim_spawn(sim, &config, &b, &err), 0);
    sirq_sim_run(sim, 3 * SECOND);
    /* three tasks on two CPUs, one of them tied to the first */
    assert_true(sched_time_ns(a) + sched_time_ns(b) + sched_time_ns(pinned) > 5980 * MS);
    assert_true(sched_time_ns(pinned) > 1300 * MS);
    sirq_sim_destroy(sim);
}

static void smt_busy_sibling_slows_down(void **state)
{
    struct sirq_sim *sim = sched_world(2, 2);
    uint64_t alone;
    struct sirq_sim_cpu_stats stats;
    struct sirq_sim_events before, after;

    (void)state;
    sched_spawn(sim, sched_hog, NULL, 0, NULL);
    sirq_sim_run(sim, SECOND);
    sirq_sim_events(sim, &before);
    alone = before.charges;
    sched_spawn(sim, sched_hog, NULL, 1, NULL);
    sirq_sim_run(sim, 2 * SECOND);
    sirq_sim_events(sim, &after);
    /* 1.6 times the time per charge, on two threads */
    assert_true((double)(after.charges - before.charges) < 1.35 * (double)alone);
    assert_true((double)(after.charges - before.charges) > 1.15 * (double)alone);
    sirq_sim_cpu_stats(sim, 1, &stats);
    assert_in_range(stats.time_ns[SIRQ_SIM_IDLE], 990 * MS, 1010 * MS);
    sirq_sim_destroy(sim);
}

static void cpu_times_sum_up_to_the_clock(void **state)
{
    struct sirq_sim *sim = sched_world(3, 0);
    struct sched_periodic p = {.interval = 700000};

    (void)state;
    sched_spawn(sim, sched_hog, NULL, 0, NULL);
    sched_spawn(sim, sched_periodic, &p, 1, NULL);
    sirq_sim_run(sim, SECOND + 12345);
    for (unsigned cpu = 0; cpu < 3; cpu++) {
        struct sirq_sim_cpu_stats stats;
        uint64_t sum = 0;

        sirq_sim_cpu_stats(sim, cpu, &stats);
        for (unsigned i = 0; i < SIRQ_SIM_LEVELS; i++)
            sum += stats.time_ns[i];
        assert_int_equal(sum, SECOND + 12345);
    }
    sirq_sim_destroy(sim);
}

static void quick(struct sirq_sim_task *task, void *arg)
{
    unsigned *n = arg;

    sirq_sim_spend(sirq_sim_of(task), 1000);
    ++*n;
}

static void task_that_returns_gives_its_stack_back(void **state)
{
    struct sirq_sim *sim = sched_world(1, 0);
    unsigned n = 0;
    size_t before = 0;

    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        sched_spawn(sim, quick, &n, 0, NULL);
        sirq_sim_run(sim, (i + 1) * MS);
        if (i == 0)
            before = sirq_sim_memory(sim);
    }
    assert_int_equal(n, 50);
    assert_true(sirq_sim_memory(sim) < before + 50 * 2048); /* but no 50 stacks */
    sirq_sim_destroy(sim);
}

static void world_idle_makes_few_events(void **state)
{
    struct sirq_sim *sim = sched_world(8, 0);
    struct sirq_sim_events events;

    (void)state;
    sirq_sim_run(sim, 100 * SECOND);
    sirq_sim_events(sim, &events);
    assert_true(events.events < 1000); /* ticks sleep; four looks of the watchdog a second */
    sirq_sim_destroy(sim);
}

static void busy_life(struct sirq_sim_task *task, void *arg)
{
    struct sirq_sim *sim = sirq_sim_of(task);

    (void)arg;
    for (;;) {
        sirq_sim_spend(sim, 1000 + sirq_sim_random(sim, 100000));
        sirq_sim_sleep_until(task, sirq_sim_now_ns(sim) + 1 + sirq_sim_random(sim, MS));
    }
}

static void world_of_256_cpus_stays_within_memory(void **state)
{
    struct sirq_sim *sim = sched_world(256, 2);
    size_t before;

    (void)state;
    for (unsigned i = 0; i < 2000; i++)
        sched_spawn(sim, busy_life, NULL, -1, NULL);
    sirq_sim_run(sim, 2 * MS);
    before = sirq_sim_memory(sim);
    sirq_sim_run(sim, 50 * MS);
    assert_int_equal(sirq_sim_memory(sim), before); /* constant in virtual time */
    assert_true(before < (size_t)MEMORY_PER_STACK * 2300);
    sirq_sim_destroy(sim);
}

static void config_out_of_range_is_refused(void **state)
{
    struct sirq_sim_config config = {.ncpus = 0};
    struct sirq_error err;
    struct sirq_sim *sim;

    (void)state;
    for (unsigned i = 0; i < SIRQ_NR_COSTS; i++)
        config.cost_ns[i] = 1;
    assert_int_equal(sirq_sim_create(&sim, &config, &err), -22);
    assert_non_null(strstr(err.text, "cpus 0"));
    config.ncpus = 1;
    config.cost_ns[SIRQ_COST_WAKE] = 0;
    assert_int_equal(sirq_sim_create(&sim, &config, &err), -22);
    assert_non_null(strstr(err.text, "cost wake"));
    config.cost_ns[SIRQ_COST_WAKE] = 1;
    config.ksoftirqd.priority = 3;
    assert_int_equal(sirq_sim_create(&sim, &config, &err), -22);
    assert_non_null(strstr(err.text, "priority 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fair_equal_tasks_share_equally),
        cmocka_unit_test(fair_nice_tasks_share_by_weight),
        cmocka_unit_test(rt_higher_priority_starves_lower),
        cmocka_unit_test(rt_throttling_leaves_five_percent),
        cmocka_unit_test(rr_equal_priorities_take_turns),
        cmocka_unit_test(rt_wakeup_preempts_hog_at_once),
        cmocka_unit_test(fair_sleeper_preempts_hog_soon),
        cmocka_unit_test(balance_unpinned_hogs_fill_all_cpus),
        cmocka_unit_test(balance_idle_cpu_pulls_waiting_task),
        cmocka_unit_test(smt_busy_sibling_slows_down),
        cmocka_unit_test(cpu_times_sum_up_to_the_clock),
        cmocka_unit_test(task_that_returns_gives_its_stack_back),
        cmocka_unit_test(world_idle_makes_few_events),
        cmocka_unit_test(world_of_256_cpus_stays_within_memory),
        cmocka_unit_test(config_out_of_range_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
