/* SPDX-License-Identifier: MIT */
/* CPUs that leave a world and return to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>

#include <sirq/sim.h>
#include <sirq/tasklet.h>
#include <sirq/timer.h>

#define MS UINT64_C(1000000)

static struct sirq_sim *sim;
static struct sirq_core *core;

static int start(unsigned ncpus, unsigned hz)
{
    struct sirq_sim_config config = {.ncpus = ncpus, .hz = hz, .seed = 1};

    for (unsigned i = 0; i < SIRQ_NR_COSTS; i++)
        config.cost_ns[i] = 300;
    if (sirq_sim_create(&sim, &config, NULL) != 0)
        return -1;
    core = sirq_sim_core(sim);
    sirq_sim_run(sim, MS);
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return start(3, 1000);
}

static int teardown(void **state)
{
    (void)state;
    sirq_sim_destroy(sim);
    return 0;
}

static void advance(uint64_t ns)
{
    sirq_sim_run(sim, sirq_sim_now_ns(sim) + ns);
}

static void leave(unsigned cpu)
{
    assert_int_equal(sirq_sim_cpu_offline(sim, cpu, NULL), 0);
    advance(5 * MS);
    assert_false(sirq_sim_cpu_is_online(sim, cpu));
}

static void come_back(unsigned cpu)
{
    assert_int_equal(sirq_sim_cpu_online(sim, cpu, NULL), 0);
    assert_true(sirq_sim_cpu_is_online(sim, cpu));
}

/* Where it is, and how long it has been at work. */
struct worker {
    unsigned cpu;
    uint64_t rounds;
};

static void work(struct sirq_sim_task *task, void *arg)
{
    struct worker *worker = arg;

    (void)task;
    for (;;) {
        sirq_sim_spend(sim, 100000);
        worker->rounds++;
        worker->cpu = sirq_sim_this_cpu(sim)->id;
    }
}

static void nap(struct sirq_sim_task *task, void *arg)
{
    struct worker *worker = arg;

    for (;;) {
        sirq_sim_sleep_until(task, sirq_sim_now_ns(sim) + MS);
        worker->rounds++;
        worker->cpu = sirq_sim_this_cpu(sim)->id;
    }
}

static void spawn(int cpu, void (*fn)(struct sirq_sim_task *task, void *arg), struct worker *worker,
                  struct sirq_sched sched)
{
    const struct sirq_sim_task_config config = {
        .name = "test", .fn = fn, .arg = worker, .cpu = cpu, .sched = sched};

    assert_int_equal(sirq_sim_spawn(sim, &config, NULL, NULL), 0);
}

static void offline_busy_cpu_moves_its_tasks(void **state)
{
    struct worker pinned = {0}, napping = {0}, rt = {0};

    (void)state;
    spawn(1, work, &pinned, (struct sirq_sched){0});
    spawn(1, nap, &napping, (struct sirq_sched){0});
    spawn(1, work, &rt, (struct sirq_sched){.policy = SCHED_FIFO, .priority = 5});
    advance(10 * MS);
    assert_int_equal(rt.cpu, 1);
    leave(1);
    pinned.rounds = napping.rounds = rt.rounds = 0;
    advance(20 * MS);
    assert_true(pinned.rounds > 0 && napping.rounds > 0 && rt.rounds > 0);
    assert_true(pinned.cpu != 1 && napping.cpu != 1 && rt.cpu != 1);
}

static void offline_cpu_spends_no_time_but_idle(void **state)
{
    struct worker worker = {0};
    struct sirq_sim_cpu_stats before, after;

    (void)state;
    spawn(1, work, &worker, (struct sirq_sched){0});
    advance(10 * MS);
    leave(1);
    sirq_sim_cpu_stats(sim, 1, &before);
    advance(100 * MS);
    sirq_sim_cpu_stats(sim, 1, &after);
    assert_int_equal(after.ticks, before.ticks);
    assert_int_equal(after.time_ns[SIRQ_SIM_IDLE] - before.time_ns[SIRQ_SIM_IDLE], 100 * MS);
    assert_int_equal(after.time_ns[SIRQ_SIM_HARDIRQ], before.time_ns[SIRQ_SIM_HARDIRQ]);
}

static void offline_last_cpu_refused(void **state)
{
    (void)state;
    assert_int_equal(sirq_sim_cpu_offline(sim, 3, NULL), -EINVAL);
    assert_int_equal(sirq_sim_cpu_online(sim, 0, NULL), -EINVAL);
    assert_int_equal(sirq_sim_cpu_offline(sim, 0, NULL), 0);
    assert_int_equal(sirq_sim_cpu_offline(sim, 1, NULL), -EBUSY); /* one at a time */
    assert_int_equal(sirq_sim_cpu_online(sim, 0, NULL), -EBUSY);  /* it has not left yet */
    advance(5 * MS);
    leave(1);
    assert_int_equal(sirq_sim_cpu_offline(sim, 1, NULL), -EINVAL);
    assert_int_equal(sirq_sim_cpu_offline(sim, 2, NULL), -EBUSY);
}

static void online_cpu_takes_work_again(void **state)
{
    struct worker worker[3] = {{0}};

    (void)state;
    leave(1);
    for (unsigned i = 0; i < 3; i++)
        spawn(-1, work, &worker[i], (struct sirq_sched){0});
    advance(20 * MS);
    for (unsigned i = 0; i < 3; i++)
        assert_int_not_equal(worker[i].cpu, 1);
    come_back(1);
    advance(20 * MS);
    assert_int_equal((1 << worker[0].cpu) | (1 << worker[1].cpu) | (1 << worker[2].cpu), 7);
}

/* ---- what the core keeps per CPU ----------------------------------------------------- */

static unsigned fired_on;

static void timer_fn(struct sirq_cpu *cpu, struct sirq_timer *timer, void *data)
{
    fired_on = cpu->id;
    if (data != NULL)
        sirq_timer_mod_local(cpu, timer, sirq_jiffies(cpu) + 2);
}

static void arm(struct sirq_timer *timer, unsigned cpu, uint64_t jiffies, void *data)
{
    sirq_timer_init(timer, timer_fn, data);
    fired_on = UINT32_MAX;
    sirq_bh_disable(&core->cpus[cpu]);
    sirq_timer_mod_local(&core->cpus[cpu], timer, sirq_jiffies(&core->cpus[cpu]) + jiffies);
    sirq_bh_enable(&core->cpus[cpu]);
}

static void offline_cpus_timer_fires_elsewhere(void **state)
{
    struct sirq_timer timer;

    (void)state;
    arm(&timer, 1, 20, NULL);
    leave(1);
    assert_true(sirq_timer_pending(&timer));
    advance(30 * MS);
    assert_false(sirq_timer_pending(&timer));
    assert_true(fired_on == 0 || fired_on == 2);
}

static void offline_cpus_pending_softirq_runs(void **state)
{
    struct sirq_timer timer;

    (void)state;
    leave(1);
    /* Somebody held on to the CPU: an action there that arms a timer where it runs. */
    arm(&timer, 1, 1, &timer);
    sirq_raise(&core->cpus[1], SIRQ_TIMER);
    advance(10 * MS);
    assert_int_equal(sirq_pending(&core->cpus[1]), 0);
    assert_true(fired_on == 0 || fired_on == 2);
    assert_int_equal(sirq_timer_next(&core->cpus[1]), UINT64_MAX);
    come_back(1);
    sirq_raise(&core->cpus[1], SIRQ_TIMER); /* its ksoftirqd is back with it */
    advance(MS);
    assert_int_equal(sirq_pending(&core->cpus[1]), 0);
}

struct deletion {
    struct sirq_timer *timer;
    unsigned deleted;
};

static void delete_here(struct sirq_cpu *cpu, void *data)
{
    struct deletion *deletion = data;

    if (sirq_timer_cpu(deletion->timer) == cpu)
        deletion->deleted += sirq_timer_del_local(cpu, deletion->timer);
}

static void offline_cpus_timer_is_found_and_deleted(void **state)
{
    struct sirq_timer timer;
    struct deletion deletion = {.timer = &timer};

    (void)state;
    arm(&timer, 1, 20, NULL);
    assert_ptr_equal(sirq_timer_cpu(&timer), &core->cpus[1]);
    leave(1);
    assert_ptr_not_equal(sirq_timer_cpu(&timer), &core->cpus[1]);
    come_back(1); /* the timer does not */
    sirq_synchronize_call(core, delete_here, &deletion);
    assert_int_equal(deletion.deleted, 1);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(sirq_timer_next(&core->cpus[i]), UINT64_MAX);
    advance(30 * MS);
    assert_int_equal(fired_on, UINT32_MAX);
}

/* ---- interrupts ---------------------------------------------------------------------- */

static unsigned interrupted;

static void handler(struct sirq_cpu *cpu, void *data)
{
    (void)data;
    interrupted = cpu->id;
}

static void offline_cpus_interrupt_moves(void **state)
{
    struct sirq_irq irq = {.handler = handler};

    (void)state;
    assert_int_equal(sirq_sim_irq_request(sim, 1, &irq, NULL), 0);
    sirq_sim_irq_raise(sim, &irq, 20 * MS);
    leave(1);
    interrupted = UINT32_MAX;
    advance(20 * MS);
    assert_true(interrupted == 0 || interrupted == 2);
    assert_ptr_equal(irq.cpu, &core->cpus[interrupted]);
    sirq_sim_irq_free(sim, &irq);
    assert_int_equal(sirq_sim_irq_request(sim, 1, &irq, NULL), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(offline_busy_cpu_moves_its_tasks, setup, teardown),
        cmocka_unit_test_setup_teardown(offline_cpu_spends_no_time_but_idle, setup, teardown),
        cmocka_unit_test_setup_teardown(offline_last_cpu_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(online_cpu_takes_work_again, setup, teardown),
        cmocka_unit_test_setup_teardown(offline_cpus_timer_fires_elsewhere, setup, teardown),
        cmocka_unit_test_setup_teardown(offline_cpus_timer_is_found_and_deleted, setup, teardown),
        cmocka_unit_test_setup_teardown(offline_cpus_pending_softirq_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(offline_cpus_interrupt_moves, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
