/* SPDX-License-Identifier: MIT */
/* ksoftirqd's body: run, sleep, and the raise that comes between the two. */
#include "fake_host.h"

#define NET_RX SIRQ_BIT(SIRQ_NET_RX)

static struct fake fake;
static struct sirq_cpu *const cpu0 = &fake.cpu[0];

static int set_up(void **state)
{
    (void)state;
    fake_init(&fake, 1000, NULL);
    fake_open(&fake, SIRQ_NET_RX);
    return 0;
}

static void run_with_nothing_pending_returns_false(void **state)
{
    (void)state;
    fake_become(&fake, FAKE_KSOFTIRQD(0));
    assert_false(sirq_ksoftirqd_run(cpu0));
    assert_int_equal(cpu0->stats.runs[SIRQ_ENTRY_KSOFTIRQD], 0);
    assert_int_equal(fake_owner(&fake, 0), 0);
}

static void run_that_ends_with_work_left_returns_true(void **state)
{
    (void)state;
    fake.action[SIRQ_NET_RX].again = 14;
    sirq_raise(cpu0, SIRQ_NET_RX);
    fake_become(&fake, FAKE_KSOFTIRQD(0));
    assert_true(sirq_ksoftirqd_run(cpu0));
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 10);
    assert_int_equal(fake.calls[FAKE_WAKE_KSOFTIRQD], 1); /* it is running: not again */
    assert_false(sirq_ksoftirqd_run(cpu0));
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 15);
    assert_int_equal(cpu0->stats.runs[SIRQ_ENTRY_KSOFTIRQD], 2);
    assert_int_equal(cpu0->stats.punts, 1);
}

static void sleep_with_nothing_pending_returns_true_and_next_raise_wakes(void **state)
{
    (void)state;
    sirq_raise(cpu0, SIRQ_NET_RX);
    assert_int_equal(fake_ksoftirqd(&fake, 0, 5), 1);
    assert_int_equal(cpu0->ksoftirqd, 0);
    sirq_raise(cpu0, SIRQ_NET_RX);
    assert_int_equal(cpu0->ksoftirqd, 1);
    assert_int_equal(fake.calls[FAKE_WAKE_KSOFTIRQD], 2);
}

static void sleep_after_late_raise_returns_false_and_work_runs(void **state)
{
    (void)state;
    sirq_raise(cpu0, SIRQ_NET_RX);
    fake_become(&fake, FAKE_KSOFTIRQD(0));
    assert_false(sirq_ksoftirqd_run(cpu0));
    fake_become(&fake, FAKE_APP(0)); /* preempts it before it sleeps */
    sirq_raise(cpu0, SIRQ_NET_RX);
    assert_int_equal(fake.calls[FAKE_WAKE_KSOFTIRQD], 1); /* seen runnable */
    fake_become(&fake, FAKE_KSOFTIRQD(0));
    assert_false(sirq_ksoftirqd_sleep(cpu0));
    assert_int_equal(cpu0->ksoftirqd, 1);
    assert_false(sirq_ksoftirqd_run(cpu0));
    assert_true(sirq_ksoftirqd_sleep(cpu0));
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 2);
}

static void sleep_after_interrupt_did_the_work_returns_true(void **state)
{
    (void)state;
    sirq_raise(cpu0, SIRQ_NET_RX);
    fake_irq(&fake, 0, 0);
    fake_become(&fake, FAKE_KSOFTIRQD(0));
    assert_false(sirq_ksoftirqd_run(cpu0));
    assert_true(sirq_ksoftirqd_sleep(cpu0));
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 1);
}

static void wake_of_runnable_does_not_call_host_again(void **state)
{
    (void)state;
    sirq_ksoftirqd_wake(cpu0);
    sirq_ksoftirqd_wake(cpu0);
    assert_int_equal(fake.calls[FAKE_WAKE_KSOFTIRQD], 1);
}

static void app_enters(struct fake *f, struct sirq_cpu *cpu, unsigned vec)
{
    unsigned self = f->self;

    f->action[vec].body = NULL;
    fake_become(f, FAKE_APP(0)); /* ksoftirqd is preempted inside its run */
    fake_irq(f, 0, NET_RX);
    assert_int_equal(f->action[vec].runs, 1);
    assert_false(sirq_in_softirq(cpu));
    fake_become(f, self);
}

static void interrupt_on_thread_that_preempted_the_run_leaves_it_to_the_run(void **state)
{
    (void)state;
    fake.action[SIRQ_NET_RX].body = app_enters;
    sirq_raise(cpu0, SIRQ_NET_RX);
    fake_ksoftirqd(&fake, 0, 1);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 2);
    assert_int_equal(cpu0->stats.runs[SIRQ_ENTRY_IRQ_EXIT], 0);
    assert_int_equal(cpu0->stats.runs[SIRQ_ENTRY_KSOFTIRQD], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(run_with_nothing_pending_returns_false, set_up),
        cmocka_unit_test_setup(run_that_ends_with_work_left_returns_true, set_up),
        cmocka_unit_test_setup(sleep_with_nothing_pending_returns_true_and_next_raise_wakes,
                               set_up),
        cmocka_unit_test_setup(sleep_after_late_raise_returns_false_and_work_runs, set_up),
        cmocka_unit_test_setup(sleep_after_interrupt_did_the_work_returns_true, set_up),
        cmocka_unit_test_setup(wake_of_runnable_does_not_call_host_again, set_up),
        cmocka_unit_test_setup(interrupt_on_thread_that_preempted_the_run_leaves_it_to_the_run,
                               set_up),
    };

    return cmocka_run_group_tests_name("ksoftirqd", tests, NULL, NULL);
}
