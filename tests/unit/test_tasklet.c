/* SPDX-License-Identifier: MIT */
/* Tasklets, alone and between two CPUs. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sirq/tasklet.h>

#include "fake_host.h"

static struct fake fake;
static struct sirq_cpu *const cpu0 = &fake.cpu[0], *const cpu1 = &fake.cpu[1];
static struct sirq_tasklet t[3];
static unsigned ran[3];

static void count(struct sirq_tasklet *tasklet, void *data)
{
    assert_ptr_equal(data, &ran[tasklet - t]);
    ran[tasklet - t]++;
    fake.log[fake.nlog++] = (uint8_t)(tasklet - t);
}

static int set_up(void **state)
{
    (void)state;
    fake_init(&fake, 1000, NULL);
    assert_int_equal(sirq_tasklet_open(&fake.core), 0);
    memset(ran, 0, sizeof(ran));
    for (unsigned i = 0; i < 3; i++)
        sirq_tasklet_init(&t[i], count, &ran[i]);
    return 0;
}

/* An interrupt on `cpu`, taken by its application thread. */
static void irq_on(unsigned cpu)
{
    unsigned self = fake.self;

    fake_become(&fake, FAKE_APP(cpu));
    fake_irq(&fake, cpu, 0);
    fake_become(&fake, self);
}

static void open_twice_returns_ebusy(void **state)
{
    (void)state;
    assert_int_equal(sirq_tasklet_open(&fake.core), -EBUSY);
    fake_init(&fake, 1000, NULL);
    fake_open(&fake, SIRQ_TASKLET); /* somebody else has it */
    assert_int_equal(sirq_tasklet_open(&fake.core), -EBUSY);
    assert_null(fake.core.action[SIRQ_HI].fn); /* nothing half open */
}

static void schedule_in_hardirq_runs_once_at_exit(void **state)
{
    (void)state;
    sirq_hardirq_enter(cpu0);
    assert_true(sirq_tasklet_schedule(cpu0, &t[0]));
    assert_false(sirq_tasklet_schedule(cpu0, &t[0]));
    assert_false(sirq_tasklet_hi_schedule(cpu0, &t[0])); /* nor on the other list */
    assert_int_equal(sirq_pending(cpu0), SIRQ_BIT(SIRQ_TASKLET));
    sirq_hardirq_exit(cpu0);
    assert_int_equal(ran[0], 1);
    assert_int_equal(cpu0->word, 0);
    irq_on(0);
    assert_int_equal(ran[0], 1);
}

static void schedule_in_task_wakes_ksoftirqd(void **state)
{
    (void)state;
    assert_true(sirq_tasklet_schedule(cpu0, &t[0]));
    assert_int_equal(ran[0], 0);
    assert_int_equal(fake_ksoftirqd(&fake, 0, 3), 1);
    assert_int_equal(ran[0], 1);
    assert_true(sirq_tasklet_schedule(cpu0, &t[0])); /* free again */
}

static void hi_runs_before_plain_and_each_oldest_first(void **state)
{
    (void)state;
    sirq_bh_disable(cpu0);
    sirq_tasklet_schedule(cpu0, &t[2]);
    sirq_tasklet_schedule(cpu0, &t[1]);
    sirq_tasklet_hi_schedule(cpu0, &t[0]);
    sirq_bh_enable(cpu0);
    assert_int_equal(fake.nlog, 3);
    assert_int_equal(fake.log[0], 0);
    assert_int_equal(fake.log[1], 2);
    assert_int_equal(fake.log[2], 1);
}

static void scheduled_on_a_cpu_runs_there(void **state)
{
    (void)state;
    fake_become(&fake, FAKE_APP(1));
    sirq_tasklet_schedule(cpu1, &t[0]);
    assert_int_equal(sirq_pending(cpu0), 0);
    assert_int_equal(cpu1->ksoftirqd, 1);
    irq_on(0);
    assert_int_equal(ran[0], 0);
    irq_on(1);
    assert_int_equal(ran[0], 1);
}

static void again_twice(struct sirq_tasklet *tasklet, void *data)
{
    count(tasklet, data);
    if (ran[0] < 3) {
        assert_true(sirq_tasklet_schedule(cpu0, tasklet));
        assert_false(sirq_tasklet_schedule(cpu0, tasklet));
    }
}

static void scheduled_while_it_runs_runs_once_more(void **state)
{
    (void)state;
    sirq_tasklet_init(&t[0], again_twice, &ran[0]);
    sirq_tasklet_schedule(cpu0, &t[0]);
    irq_on(0);
    assert_int_equal(ran[0], 3);
    assert_int_equal(cpu0->word, 0);
}

/* ---- two CPUs ------------------------------------------------------------------------ */

/* Runs on CPU 0; meanwhile CPU 1 schedules it and tries to run it. */
static void met_on_cpu1(struct sirq_tasklet *tasklet, void *data)
{
    unsigned self = fake.self;

    count(tasklet, data);
    if (ran[0] > 1)
        return;
    fake_become(&fake, FAKE_APP(1));
    assert_true(sirq_tasklet_schedule(cpu1, tasklet));
    fake_irq(&fake, 1, 0);
    assert_int_equal(ran[0], 1);                                  /* never twice at once */
    assert_int_equal(sirq_pending(cpu1), SIRQ_BIT(SIRQ_TASKLET)); /* but not forgotten */
    assert_int_equal(cpu1->ksoftirqd, 1);
    assert_false(sirq_tasklet_schedule(cpu0, tasklet));
    fake_become(&fake, self);
}

static void scheduled_elsewhere_while_it_runs_runs_there_after(void **state)
{
    (void)state;
    sirq_tasklet_init(&t[0], met_on_cpu1, &ran[0]);
    sirq_tasklet_schedule(cpu0, &t[0]);
    irq_on(0);
    assert_int_equal(ran[0], 1);
    assert_int_equal(sirq_pending(cpu0), 0);
    assert_int_equal(cpu1->stats.passes, SIRQ_MAX_RESTART); /* bounded while it waits */
    fake_ksoftirqd(&fake, 1, 3);
    assert_int_equal(ran[0], 2);
    assert_int_equal(cpu1->word, 0);
    assert_int_equal(t[0].state, 0);
}

static void others_run(struct sirq_tasklet *tasklet, void *data)
{
    unsigned self = fake.self;

    count(tasklet, data);
    if (ran[0] > 1)
        return;
    fake_become(&fake, FAKE_APP(1));
    sirq_bh_disable(cpu1);
    sirq_tasklet_schedule(cpu1, &t[1]);
    sirq_tasklet_schedule(cpu1, tasklet);
    sirq_tasklet_schedule(cpu1, &t[2]);
    sirq_bh_enable(cpu1);
    assert_int_equal(ran[1], 1);
    assert_int_equal(ran[2], 1);
    fake_become(&fake, self);
}

static void one_that_cannot_run_does_not_stop_its_neighbours(void **state)
{
    (void)state;
    sirq_tasklet_init(&t[0], others_run, &ran[0]);
    sirq_tasklet_schedule(cpu0, &t[0]);
    irq_on(0);
    fake_ksoftirqd(&fake, 1, 3);
    assert_int_equal(ran[0], 2);
}

/* ---- disable, enable ------------------------------------------------------------------- */

static void disabled_stays_scheduled_and_runs_when_enabled(void **state)
{
    (void)state;
    sirq_tasklet_disable(cpu0, &t[0]);
    sirq_tasklet_disable(cpu0, &t[0]);
    assert_true(sirq_tasklet_schedule(cpu0, &t[0]));
    irq_on(0);
    assert_int_equal(cpu0->stats.passes, SIRQ_MAX_RESTART); /* the policy's bound, no more */
    assert_int_equal(fake_ksoftirqd(&fake, 0, 4), 4);       /* ksoftirqd keeps trying */
    assert_int_equal(ran[0], 0);
    sirq_tasklet_enable(&t[0]);
    irq_on(0);
    assert_int_equal(ran[0], 0); /* disabled twice */
    assert_false(sirq_tasklet_schedule(cpu0, &t[0]));
    sirq_tasklet_enable(&t[0]);
    irq_on(0);
    assert_int_equal(ran[0], 1);
    assert_int_equal(cpu0->word, 0);
}

/* relax() is where the other side goes on: here the function's end is near, so a second
 * thread's wait is played by taking RUN (bit 1) by hand. */
static void end_of_function(struct fake *f, enum fake_call call, struct sirq_cpu *cpu)
{
    (void)cpu;
    if (call == FAKE_RELAX && f->calls[FAKE_RELAX] == 3)
        __atomic_fetch_and(&t[0].state, ~2u, __ATOMIC_RELEASE);
}

static void disable_of_running_waits_until_it_ended(void **state)
{
    (void)state;
    fake.hook = end_of_function;
    __atomic_fetch_or(&t[0].state, 2u, __ATOMIC_ACQUIRE); /* it runs on CPU 1 */
    sirq_tasklet_disable(cpu0, &t[0]);
    assert_int_equal(fake.calls[FAKE_RELAX], 3);
}

static void enable_without_disable_traps(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        signal(SIGILL, SIG_DFL); /* cmocka's handler would go on with the tests */
        signal(SIGTRAP, SIG_DFL);
        sirq_tasklet_enable(&t[0]);
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

/* ---- kill ------------------------------------------------------------------------------ */

static void let_ksoftirqd_run(struct fake *f, enum fake_call call, struct sirq_cpu *cpu)
{
    if (call == FAKE_RELAX)
        fake_ksoftirqd(f, cpu->id, 1);
}

static void kill_of_idle_returns_at_once(void **state)
{
    (void)state;
    sirq_tasklet_kill(cpu0, &t[0]);
    assert_int_equal(fake.calls[FAKE_RELAX], 0);
}

static void kill_of_scheduled_waits_until_it_ran(void **state)
{
    (void)state;
    fake.hook = let_ksoftirqd_run;
    sirq_tasklet_schedule(cpu0, &t[0]);
    sirq_tasklet_kill(cpu0, &t[0]);
    assert_int_equal(fake.calls[FAKE_RELAX], 1);
    assert_int_equal(ran[0], 1);
    memset(&t[0], 0xff, sizeof(t[0])); /* the owner's again: nobody looks at it */
    irq_on(0);
    fake_ksoftirqd(&fake, 0, 3);
    assert_int_equal(ran[0], 1);
}

static void kill_of_running_waits_until_it_ended(void **state)
{
    (void)state;
    fake.hook = end_of_function;
    __atomic_fetch_or(&t[0].state, 2u, __ATOMIC_ACQUIRE);
    sirq_tasklet_kill(cpu0, &t[0]);
    assert_int_equal(fake.calls[FAKE_RELAX], 3);
}

static void free_self(struct sirq_tasklet *tasklet, void *data)
{
    count(tasklet, data);
    tasklet->fn = NULL;
    tasklet->data = NULL;
}

static void function_is_the_last_to_use_its_fields(void **state)
{
    (void)state;
    sirq_tasklet_init(&t[0], free_self, &ran[0]);
    sirq_tasklet_schedule(cpu0, &t[0]);
    irq_on(0);
    assert_int_equal(ran[0], 1);
}

static void wait_outside_task_context_is_a_bug(void **state)
{
    (void)state;
    sirq_bh_disable(cpu0);
    FAKE_EXPECT_BUG(&fake, sirq_tasklet_kill(cpu0, &t[0]));
    FAKE_EXPECT_BUG(&fake, sirq_tasklet_disable(cpu0, &t[0]));
    sirq_bh_enable(cpu0);
    sirq_hardirq_enter(cpu0);
    FAKE_EXPECT_BUG(&fake, sirq_tasklet_kill(cpu0, &t[0]));
    sirq_hardirq_exit(cpu0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(open_twice_returns_ebusy, set_up),
        cmocka_unit_test_setup(schedule_in_hardirq_runs_once_at_exit, set_up),
        cmocka_unit_test_setup(schedule_in_task_wakes_ksoftirqd, set_up),
        cmocka_unit_test_setup(hi_runs_before_plain_and_each_oldest_first, set_up),
        cmocka_unit_test_setup(scheduled_on_a_cpu_runs_there, set_up),
        cmocka_unit_test_setup(scheduled_while_it_runs_runs_once_more, set_up),
        cmocka_unit_test_setup(scheduled_elsewhere_while_it_runs_runs_there_after, set_up),
        cmocka_unit_test_setup(one_that_cannot_run_does_not_stop_its_neighbours, set_up),
        cmocka_unit_test_setup(disabled_stays_scheduled_and_runs_when_enabled, set_up),
        cmocka_unit_test_setup(disable_of_running_waits_until_it_ended, set_up),
        cmocka_unit_test_setup(enable_without_disable_traps, set_up),
        cmocka_unit_test_setup(kill_of_idle_returns_at_once, set_up),
        cmocka_unit_test_setup(kill_of_scheduled_waits_until_it_ran, set_up),
        cmocka_unit_test_setup(kill_of_running_waits_until_it_ended, set_up),
        cmocka_unit_test_setup(function_is_the_last_to_use_its_fields, set_up),
        cmocka_unit_test_setup(wait_outside_task_context_is_a_bug, set_up),
    };

    return cmocka_run_group_tests_name("tasklet", tests, NULL, NULL);
}
