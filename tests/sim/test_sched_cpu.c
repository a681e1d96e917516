/* SPDX-License-Identifier: MIT */
/* Cores and their two threads, RT tasks that move, CPUs that pass no quiescent state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "flood_world.h"
#include "sched_world.h"

#include <sirq/tasklet.h>

/* ---- SMT ---------------------------------------------------------------------------- */

static void count_work(struct sirq_sim_task *task, void *arg)
{
    uint64_t *done = arg;

    for (;;) {
        sirq_sim_spend(sirq_sim_of(task), 50000);
        *done += 50000;
    }
}

/* Work that two hogs do in a second. */
static uint64_t work_on(int a, int b)
{
    struct sirq_sim *sim = sched_world(4, 2);
    uint64_t done = 0;

    sched_spawn(sim, count_work, &done, a, NULL);
    sched_spawn(sim, count_work, &done, b, NULL);
    sirq_sim_run(sim, SECOND);
    sirq_sim_destroy(sim);
    return done;
}

static void smt_two_hogs_on_one_core_do_less_than_on_two(void **state)
{
    uint64_t one = work_on(0, 1), two = work_on(0, 2);

    (void)state;
    assert_in_range(two, 1990 * MS, 2000 * MS);
    assert_in_range(one * 1600 / 1000, two - 5 * MS, two + 5 * MS);
}

struct stretch {
    uint64_t start, work, end; /* virtual time, work of one charge, when it was over */
};

static void one_charge(struct sirq_sim_task *task, void *arg)
{
    struct stretch *self = arg;
    struct sirq_sim *sim = sirq_sim_of(task);

    sirq_sim_sleep_until(task, self->start);
    sirq_sim_spend(sim, self->work);
    self->end = sirq_sim_now_ns(sim);
}

/* The sibling works for 16 ms in the middle: 10 ms worth of it alone. */
static void smt_pace_follows_the_sibling_within_a_charge(void **state)
{
    struct sirq_sim_config config = sched_config(4);
    struct sirq_sim *sim;
    struct stretch whole = {.start = MS, .work = 100 * MS},
                   part = {.start = 50 * MS, .work = 10 * MS};

    (void)state;
    config.smt = 2;
    config.hz = 1; /* no tick that would ask anew */
    sim = sched_create(&config);
    sched_spawn(sim, one_charge, &whole, 2, NULL);
    sched_spawn(sim, one_charge, &part, 3, NULL);
    sirq_sim_run(sim, SECOND);
    /* beside the ticks, 1 us each */
    assert_in_range(part.end - part.start, 16 * MS, 16 * MS + 100000);
    assert_in_range(whole.end - whole.start, 106 * MS, 106 * MS + 300000);
    sirq_sim_destroy(sim);
}

static void spend_in_irq(struct sirq_cpu *cpu, void *data)
{
    sirq_sim_spend(data, 10 * MS);
    (void)cpu;
}

/* An interrupt on top of the idle task is work too. */
static void smt_interrupt_on_idle_sibling_slows_down(void **state)
{
    struct sirq_sim *sim = sched_world(2, 2);
    struct stretch whole = {.start = MS, .work = 50 * MS};
    struct sirq_irq irq = {.handler = spend_in_irq, .data = sim};
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_sim_irq_request(sim, 1, &irq, &err), 0);
    sched_spawn(sim, one_charge, &whole, 0, NULL);
    sirq_sim_irq_raise(sim, &irq, 20 * MS);
    sirq_sim_run(sim, SECOND);
    assert_in_range(whole.end - whole.start, 56 * MS, 56 * MS + 200000);
    sirq_sim_irq_free(sim, &irq);
    sirq_sim_destroy(sim);
}

struct place {
    uint64_t wake;
    unsigned cpu;
};

static void note_cpu(struct sirq_sim_task *task, void *arg)
{
    struct place *self = arg;

    sirq_sim_sleep_until(task, self->wake);
    self->cpu = sirq_sim_this_cpu(sirq_sim_of(task))->id;
}

static void smt_wakeup_prefers_an_idle_core(void **state)
{
    struct sirq_sim *sim = sched_world(4, 2);
    struct place place = {.wake = 10 * MS};
    struct sirq_sim_task *hog;

    (void)state;
    sched_spawn(sim, note_cpu, &place, -1, NULL); /* on CPU 0, all being alike */
    sirq_sim_run(sim, MS);
    hog = sched_spawn(sim, sched_hog, NULL, 0, NULL);
    sirq_sim_run(sim, 20 * MS);
    assert_true(sched_time_ns(hog) > 18 * MS);
    assert_int_equal(place.cpu, 2); /* not 1, beside the hog */
    sirq_sim_destroy(sim);
}

/* ---- RT tasks ----------------------------------------------------------------------- */

static struct sirq_sim *rt_world(unsigned ncpus)
{
    struct sirq_sim_config config = sched_config(ncpus);

    config.rt_runtime_ns = config.rt_period_ns = SECOND; /* not throttled */
    return sched_create(&config);
}

static struct sirq_sched fifo(int priority)
{
    return (struct sirq_sched){.policy = SCHED_FIFO, .priority = priority};
}

static void rt_task_that_is_preempted_goes_on_elsewhere(void **state)
{
    struct sirq_sim *sim = rt_world(2);
    struct stretch high = {.start = 10 * MS, .work = 500 * MS};
    struct sirq_sched low_sched = fifo(10), high_sched = fifo(20);
    struct sirq_sim_task *low = sched_spawn(sim, sched_hog, NULL, -1, &low_sched), *fair;

    (void)state;
    fair = sched_spawn(sim, sched_hog, NULL, 1, NULL);
    sched_spawn(sim, one_charge, &high, 0, &high_sched);
    sirq_sim_run(sim, SECOND);
    assert_true(sched_time_ns(low) > 999 * MS);
    assert_in_range(high.end, 510 * MS, 512 * MS);
    assert_true(sched_time_ns(fair) < 20 * MS); /* its CPU was taken; the low one stays there */
    sirq_sim_destroy(sim);
}

static void rt_cpu_that_is_done_pulls_a_waiting_task(void **state)
{
    struct sirq_sim *sim = rt_world(2);
    struct stretch a = {.start = MS, .work = 100 * MS}, b = {.start = MS, .work = 50 * MS};
    struct stretch c = {.start = 2 * MS, .work = 10 * MS};
    struct sirq_sched high = fifo(30), low = fifo(10);

    (void)state;
    sched_spawn(sim, one_charge, &a, 0, &high);
    sched_spawn(sim, one_charge, &b, 1, &high);
    sched_spawn(sim, sched_hog, NULL, 0, NULL);
    sched_spawn(sim, sched_hog, NULL, 1, NULL);
    sched_spawn(sim, one_charge, &c, -1, &low);
    sirq_sim_run(sim, SECOND);
    assert_in_range(b.end, 51 * MS, 52 * MS);
    assert_in_range(c.end, b.end + 10 * MS, b.end + 11 * MS); /* before CPU 0 is free */
    assert_in_range(a.end, 101 * MS, 102 * MS);
    sirq_sim_destroy(sim);
}

static void rt_wakeup_takes_the_cpu_of_the_lowest_priority(void **state)
{
    struct sirq_sim *sim = rt_world(3);
    struct place place = {.wake = 10 * MS};
    struct sirq_sched high = fifo(30), middle = fifo(8), low = fifo(5), mine = fifo(10);

    (void)state;
    sched_spawn(sim, note_cpu, &place, -1, &mine); /* on CPU 0 */
    sirq_sim_run(sim, MS);
    sched_spawn(sim, sched_hog, NULL, 0, &high);
    sched_spawn(sim, sched_hog, NULL, 1, &middle);
    sched_spawn(sim, sched_hog, NULL, 2, &low);
    sirq_sim_run(sim, 20 * MS);
    assert_int_equal(place.cpu, 2);
    sirq_sim_destroy(sim);
}

static void rt_pinned_task_waits_where_it_is(void **state)
{
    struct sirq_sim *sim = rt_world(2);
    struct stretch high = {.start = 10 * MS, .work = 500 * MS};
    struct sirq_sched low_sched = fifo(10), high_sched = fifo(20);
    struct sirq_sim_task *low = sched_spawn(sim, sched_hog, NULL, 0, &low_sched);

    (void)state;
    sched_spawn(sim, one_charge, &high, 0, &high_sched);
    sirq_sim_run(sim, SECOND);
    assert_in_range(sched_time_ns(low), 495 * MS, 500 * MS);
    sirq_sim_destroy(sim);
}

/* ---- quiescent states --------------------------------------------------------------- */

struct told {
    unsigned n, cpu;
    uint64_t jiffies;
};

static void note_stall(void *arg, unsigned cpu, const char *what, uint64_t value)
{
    struct told *told = arg;

    if (strncmp(what, "RCU stall", 9) != 0)
        return;
    if (told->n++ == 0)
        told->jiffies = value;
    told->cpu = cpu;
}

static void section(struct sirq_sim_task *task, void *arg)
{
    struct sirq_sim *sim = sirq_sim_of(task);
    struct sirq_cpu *cpu = sirq_sim_this_cpu(sim);

    sirq_bh_disable(cpu);
    sirq_sim_spend(sim, *(const uint64_t *)arg);
    sirq_bh_enable(cpu);
    sched_hog(task, NULL);
}

static void rcu_long_section_is_reported_once_a_period(void **state)
{
    struct told told = {0};
    struct sirq_sim_config config = sched_config(2);
    struct sirq_sim_cpu_stats stats;
    uint64_t ns = 50 * SECOND;
    struct sirq_sim *sim;

    (void)state;
    config.report = note_stall;
    config.report_arg = &told;
    sim = sched_create(&config);
    sched_spawn(sim, section, &ns, 1, NULL);
    sirq_sim_run(sim, 100 * SECOND);
    assert_int_equal(told.n, 2); /* after 21 s and 42 s */
    assert_int_equal(told.cpu, 1);
    assert_in_range(told.jiffies, 21000, 21001);
    sirq_sim_cpu_stats(sim, 1, &stats);
    assert_int_equal(stats.rcu_stalls, 2);
    assert_int_equal(stats.rcu_first_stall_jiffies, told.jiffies);
    assert_in_range(stats.rcu_stall_longest_ns, 50 * SECOND, 50 * SECOND + 100 * MS);
    sirq_sim_cpu_stats(sim, 0, &stats);
    assert_int_equal(stats.rcu_stalls, 0);
    assert_int_equal(stats.rcu_stall_longest_ns, 0);
    sirq_sim_destroy(sim);
}

static void rcu_hog_outside_of_sections_is_quiet(void **state)
{
    struct sirq_sim_config config = sched_config(2);
    struct sirq_sim_cpu_stats stats;
    uint64_t ns = 5 * MS;
    struct sirq_sim *sim;

    (void)state;
    config.rcu_stall_ns = 10 * MS;
    sim = sched_create(&config);
    sched_spawn(sim, section, &ns, 1, NULL); /* shorter than the bound */
    sirq_sim_run(sim, 10 * SECOND);
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        sirq_sim_cpu_stats(sim, cpu, &stats);
        assert_int_equal(stats.rcu_stalls, 0);
    }
    sirq_sim_destroy(sim);
}

/* A CPU that does softirqs alone, its receiver on another. */
static struct flood_result dedicated(const char *policy)
{
    struct flood_config config = {
        .policy = policy,
        .rate = 4000000,
        .receivers = 1,
        .hz = 1000,
        .ncpus = 2,
        .elsewhere = true,
        .seed = 3,
        .ns = SECOND,
        .rcu_stall_ns = 210 * MS,
    };
    struct flood_result result;

    flood_run(&config, &result);
    return result;
}

static void rcu_resched_on_dedicated_cpu_stalls(void **state)
{
    struct flood_result result = dedicated("resched");

    (void)state;
    assert_in_range(result.rcu_stalls, 3, 4);
    assert_in_range(result.rcu_first_stall_jiffies, 210, 212);
    assert_true(result.rcu_stall_longest_ns > 900 * MS);
}

static void rcu_time2ms_on_dedicated_cpu_is_quiet(void **state)
{
    struct flood_result result = dedicated("time2ms");

    (void)state;
    assert_int_equal(result.rcu_stalls, 0);
}

/* ---- waiting for ksoftirqd ---------------------------------------------------------- */

struct killer {
    struct sirq_tasklet tasklet;
    unsigned ran, killed;
};

static void ran(struct sirq_tasklet *tasklet, void *data)
{
    (void)tasklet;
    ((struct killer *)data)->ran++;
}

/* Scheduled outside of any section, it is ksoftirqd's. */
static void kill_main(struct sirq_sim_task *task, void *arg)
{
    struct killer *killer = arg;
    struct sirq_cpu *cpu = sirq_sim_this_cpu(sirq_sim_of(task));

    sirq_tasklet_schedule(cpu, &killer->tasklet);
    sirq_tasklet_kill(cpu, &killer->tasklet);
    killer->killed = killer->ran;
}

static void rt_task_that_kills_a_tasklet_lets_ksoftirqd_run_it(void **state)
{
    const struct sirq_sched fifo = {.policy = SCHED_FIFO, .priority = 50};
    struct sirq_sim_config config = sched_config(1);
    struct killer killer = {0};
    struct sirq_sim *sim;

    (void)state;
    config.policy = sirq_policy_find("threaded");        /* nor does the tick's interrupt run it */
    config.rt_period_ns = config.rt_runtime_ns = SECOND; /* no throttling that would help */
    sim = sched_create(&config);
    assert_int_equal(sirq_tasklet_open(sirq_sim_core(sim)), 0);
    sirq_tasklet_init(&killer.tasklet, ran, &killer);
    sched_spawn(sim, kill_main, &killer, 0, &fifo);
    sirq_sim_run(sim, SECOND);
    assert_int_equal(killer.killed, 1);
    sirq_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smt_two_hogs_on_one_core_do_less_than_on_two),
        cmocka_unit_test(smt_pace_follows_the_sibling_within_a_charge),
        cmocka_unit_test(smt_interrupt_on_idle_sibling_slows_down),
        cmocka_unit_test(smt_wakeup_prefers_an_idle_core),
        cmocka_unit_test(rt_task_that_is_preempted_goes_on_elsewhere),
        cmocka_unit_test(rt_cpu_that_is_done_pulls_a_waiting_task),
        cmocka_unit_test(rt_wakeup_takes_the_cpu_of_the_lowest_priority),
        cmocka_unit_test(rt_task_that_kills_a_tasklet_lets_ksoftirqd_run_it),
        cmocka_unit_test(rt_pinned_task_waits_where_it_is),
        cmocka_unit_test(rcu_long_section_is_reported_once_a_period),
        cmocka_unit_test(rcu_hog_outside_of_sections_is_quiet),
        cmocka_unit_test(rcu_resched_on_dedicated_cpu_stalls),
        cmocka_unit_test(rcu_time2ms_on_dedicated_cpu_is_quiet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
