/* SPDX-License-Identifier: MIT */
/* Raise in every context, sections and their nesting, dispatch order, misuse. */
#include "fake_host.h"

#define HI SIRQ_BIT(SIRQ_HI)
#define NET_RX SIRQ_BIT(SIRQ_NET_RX)
#define TASKLET SIRQ_BIT(SIRQ_TASKLET)

static struct fake fake;
static struct sirq_cpu *const cpu0 = &fake.cpu[0], *const cpu1 = &fake.cpu[1];

static int set_up(void **state)
{
    (void)state;
    fake_init(&fake, 1000, NULL);
    fake_open(&fake, SIRQ_HI);
    fake_open(&fake, SIRQ_NET_RX);
    fake_open(&fake, SIRQ_TASKLET);
    return 0;
}

static unsigned runs(unsigned vec)
{
    return fake.action[vec].runs;
}

static void assert_idle(const struct sirq_cpu *cpu)
{
    assert_int_equal(cpu->word, 0);
    assert_int_equal(cpu->bh_depth, 0);
    assert_false(cpu->running);
    assert_int_equal(cpu->run_start_ns, 0);
}

static void raise_in_task_wakes_ksoftirqd_and_runs_nothing(void **state)
{
    (void)state;
    sirq_raise(cpu0, SIRQ_NET_RX);
    assert_int_equal(sirq_pending(cpu0), NET_RX);
    assert_int_equal(runs(SIRQ_NET_RX), 0);
    assert_int_equal(cpu0->ksoftirqd, 1);
    assert_int_equal(fake.calls_cpu[FAKE_WAKE_KSOFTIRQD][0], 1);
    assert_int_equal(fake.calls_cpu[FAKE_WAKE_KSOFTIRQD][1], 0);
    fake_ksoftirqd(&fake, 0, 5);
    assert_int_equal(runs(SIRQ_NET_RX), 1);
    assert_int_equal(cpu0->ksoftirqd, 0);
    assert_idle(cpu0);
}

static void raise_in_task_twice_wakes_and_runs_once(void **state)
{
    (void)state;
    sirq_raise(cpu0, SIRQ_NET_RX);
    sirq_raise(cpu0, SIRQ_NET_RX);
    assert_int_equal(fake.calls[FAKE_WAKE_KSOFTIRQD], 1);
    fake_ksoftirqd(&fake, 0, 5);
    assert_int_equal(runs(SIRQ_NET_RX), 1);
}

static void raised_counts_merged_run_and_pending_raises(void **state)
{
    (void)state;
    assert_int_equal(sirq_raised(cpu0, SIRQ_NET_RX), 0);
    sirq_raise(cpu0, SIRQ_NET_RX);
    assert_int_equal(sirq_raised(cpu0, SIRQ_NET_RX), 1);
    sirq_raise(cpu0, SIRQ_NET_RX);
    sirq_raise_remote(cpu0, SIRQ_NET_RX);
    assert_int_equal(sirq_raised(cpu0, SIRQ_NET_RX), 3);
    fake_ksoftirqd(&fake, 0, 5);
    assert_int_equal(sirq_raised(cpu0, SIRQ_NET_RX), 3);
    assert_int_equal(cpu0->stats.vec[SIRQ_NET_RX].run, 1);
    fake.action[SIRQ_NET_RX].again = 4;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(sirq_raised(cpu0, SIRQ_NET_RX), 8);
    assert_int_equal(sirq_raised(cpu0, SIRQ_TASKLET), 0);
    assert_int_equal(sirq_raised(&fake.cpu[1], SIRQ_NET_RX), 0);
    assert_int_equal(sirq_raised(cpu0, SIRQ_NR_VECTORS), 0);
}

static void raise_in_hardirq_runs_at_exit_without_ksoftirqd(void **state)
{
    (void)state;
    sirq_hardirq_enter(cpu0);
    sirq_raise(cpu0, SIRQ_NET_RX);
    sirq_raise(cpu0, SIRQ_NET_RX);
    assert_int_equal(runs(SIRQ_NET_RX), 0);
    sirq_hardirq_exit(cpu0);
    assert_int_equal(runs(SIRQ_NET_RX), 1);
    assert_int_equal(fake.calls[FAKE_WAKE_KSOFTIRQD], 0);
    assert_idle(cpu0);
}

static void raise_in_bh_section_runs_at_enable_without_ksoftirqd(void **state)
{
    (void)state;
    sirq_bh_disable(cpu0);
    sirq_raise(cpu0, SIRQ_NET_RX);
    assert_int_equal(runs(SIRQ_NET_RX), 0);
    sirq_bh_enable(cpu0);
    assert_int_equal(runs(SIRQ_NET_RX), 1);
    assert_int_equal(fake.calls[FAKE_WAKE_KSOFTIRQD], 0);
    assert_idle(cpu0);
}

static void raise_hi(struct fake *f, struct sirq_cpu *cpu, unsigned vec)
{
    (void)vec;
    f->action[vec].body = NULL;
    sirq_raise(cpu, SIRQ_HI);
    assert_int_equal(f->action[SIRQ_HI].runs, 0);
}

static void raise_in_softirq_runs_in_next_pass(void **state)
{
    (void)state;
    fake.action[SIRQ_NET_RX].body = raise_hi;
    fake_irq(&fake, 0, NET_RX | TASKLET);
    assert_int_equal(fake.nlog, 3);
    assert_int_equal(fake.log[0], SIRQ_NET_RX);
    assert_int_equal(fake.log[1], SIRQ_TASKLET); /* the pass is finished first */
    assert_int_equal(fake.log[2], SIRQ_HI);
    assert_int_equal(fake.calls[FAKE_WAKE_KSOFTIRQD], 0);
    assert_int_equal(cpu0->stats.passes, 2);
}

static void raise_of_running_vector_runs_once_more(void **state)
{
    (void)state;
    fake.action[SIRQ_NET_RX].again = 1;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(runs(SIRQ_NET_RX), 2);
}

static void raise_on_other_cpu_stays_there(void **state)
{
    (void)state;
    fake_become(&fake, FAKE_APP(1));
    sirq_hardirq_enter(cpu1);
    sirq_raise(cpu1, SIRQ_NET_RX);
    assert_int_equal(sirq_pending(cpu0), 0);
    assert_int_equal(sirq_pending(cpu1), NET_RX);
    sirq_hardirq_exit(cpu1);
    assert_int_equal(cpu1->stats.vec[SIRQ_NET_RX].run, 1);
    assert_int_equal(cpu0->stats.vec[SIRQ_NET_RX].run, 0);
}

static void raise_remote_kicks_once_until_taken(void **state)
{
    (void)state;
    sirq_raise_remote(cpu1, SIRQ_NET_RX);
    sirq_raise_remote(cpu1, SIRQ_NET_RX);
    assert_int_equal(fake.calls_cpu[FAKE_KICK][1], 1);
    assert_int_equal(fake.calls_cpu[FAKE_KICK][0], 0);
    assert_int_equal(fake.calls[FAKE_WAKE_KSOFTIRQD], 0);
    assert_int_equal(sirq_pending(cpu1), NET_RX);

    fake_become(&fake, FAKE_APP(1));
    fake_irq(&fake, 1, 0); /* the kick arrives */
    assert_int_equal(runs(SIRQ_NET_RX), 1);

    fake_become(&fake, FAKE_APP(0));
    sirq_raise_remote(cpu1, SIRQ_NET_RX);
    assert_int_equal(fake.calls_cpu[FAKE_KICK][1], 2);
}

static void raise_remote_to_busy_cpu_is_answered_by_owner(void **state)
{
    (void)state;
    fake_become(&fake, FAKE_APP(1));
    sirq_bh_disable(cpu1);
    fake_become(&fake, FAKE_APP(0));
    sirq_raise_remote(cpu1, SIRQ_NET_RX);
    assert_int_equal(runs(SIRQ_NET_RX), 0);
    fake_become(&fake, FAKE_APP(1));
    fake_irq(&fake, 1, 0);
    assert_int_equal(runs(SIRQ_NET_RX), 0);
    sirq_bh_enable(cpu1);
    assert_int_equal(runs(SIRQ_NET_RX), 1);
    assert_idle(cpu1);
}

static void raise_remote_to_offline_cpu_goes_to_one_online(void **state)
{
    (void)state;
    cpu1->online = false;
    sirq_raise_remote(cpu1, SIRQ_NET_RX);
    assert_int_equal(sirq_pending(cpu1), 0);
    assert_int_equal(sirq_pending(cpu0), NET_RX);
    assert_int_equal(fake.calls_cpu[FAKE_KICK][0], 1);
    assert_int_equal(fake.calls_cpu[FAKE_KICK][1], 0);
    assert_ptr_equal(sirq_any_online(&fake.core), cpu0);
    cpu0->online = false;
    cpu1->online = true;
    assert_ptr_equal(sirq_any_online(&fake.core), cpu1);
}

static void hardirq_nested_runs_at_outermost_exit(void **state)
{
    (void)state;
    sirq_hardirq_enter(cpu0);
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(runs(SIRQ_NET_RX), 0);
    assert_true(sirq_in_hardirq(cpu0));
    sirq_hardirq_exit(cpu0);
    assert_int_equal(runs(SIRQ_NET_RX), 1);
    assert_false(sirq_in_hardirq(cpu0));
    assert_int_equal(cpu0->stats.hardirqs, 2);
}

static void hardirq_in_bh_section_runs_at_enable(void **state)
{
    (void)state;
    sirq_bh_disable(cpu0);
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(runs(SIRQ_NET_RX), 0);
    sirq_bh_enable(cpu0);
    assert_int_equal(runs(SIRQ_NET_RX), 1);
    assert_int_equal(cpu0->stats.runs[SIRQ_ENTRY_IRQ_EXIT], 0);
    assert_int_equal(cpu0->stats.runs[SIRQ_ENTRY_BH_ENABLE], 1);
}

static void irq_raising_hi(struct fake *f, struct sirq_cpu *cpu, unsigned vec)
{
    f->action[vec].body = NULL;
    fake_irq(f, cpu->id, HI);
    assert_int_equal(f->action[SIRQ_HI].runs, 0);
    assert_true(sirq_in_softirq(cpu));
}

static void hardirq_in_softirq_is_left_to_the_run(void **state)
{
    (void)state;
    fake.action[SIRQ_NET_RX].body = irq_raising_hi;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(runs(SIRQ_HI), 1);
    assert_int_equal(cpu0->stats.runs[SIRQ_ENTRY_IRQ_EXIT], 1);
    assert_int_equal(cpu0->stats.passes, 2);
    assert_idle(cpu0);
}

static void bh_nested_runs_at_outermost_enable(void **state)
{
    (void)state;
    sirq_bh_disable(cpu0);
    sirq_bh_disable(cpu0);
    sirq_raise(cpu0, SIRQ_NET_RX);
    sirq_bh_enable(cpu0);
    assert_int_equal(runs(SIRQ_NET_RX), 0);
    assert_true(sirq_in_softirq(cpu0));
    sirq_bh_enable(cpu0);
    assert_int_equal(runs(SIRQ_NET_RX), 1);
    assert_false(sirq_in_softirq(cpu0));
}

static void bh_section(struct fake *f, struct sirq_cpu *cpu, unsigned vec)
{
    f->action[vec].body = NULL;
    fake_bh(f, cpu->id, HI);
    assert_int_equal(f->action[SIRQ_HI].runs, 0);
}

static void bh_section_in_softirq_is_left_to_the_run(void **state)
{
    (void)state;
    fake.action[SIRQ_NET_RX].body = bh_section;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(runs(SIRQ_HI), 1);
    assert_int_equal(cpu0->stats.runs[SIRQ_ENTRY_BH_ENABLE], 0);
    assert_idle(cpu0);
}

static void bh_sections_of_two_cpus_do_not_meet(void **state)
{
    (void)state;
    sirq_bh_disable(cpu0);
    assert_false(sirq_in_softirq(cpu1));
    sirq_bh_disable(cpu1);
    assert_true(sirq_in_softirq(cpu1));
    sirq_raise(cpu1, SIRQ_NET_RX);
    sirq_bh_enable(cpu0);
    assert_int_equal(runs(SIRQ_NET_RX), 0);
    sirq_bh_enable(cpu1);
    assert_int_equal(runs(SIRQ_NET_RX), 1);
}

static void entry_with_nothing_pending_makes_no_run(void **state)
{
    (void)state;
    fake_irq(&fake, 0, 0);
    fake_bh(&fake, 0, 0);
    for (unsigned entry = 0; entry < SIRQ_NR_ENTRIES; entry++)
        assert_int_equal(cpu0->stats.runs[entry], 0);
    assert_int_equal(fake.calls[FAKE_RUN_END], 0);
    assert_idle(cpu0);
}

static void dispatch_order_is_vector_order_whatever_was_raised_first(void **state)
{
    (void)state;
    for (unsigned vec = 0; vec < SIRQ_NR_VECTORS; vec++)
        if (fake.core.action[vec].fn == NULL)
            fake_open(&fake, vec);
    sirq_bh_disable(cpu0);
    for (unsigned vec = SIRQ_NR_VECTORS; vec-- > 0;)
        sirq_raise(cpu0, vec);
    sirq_bh_enable(cpu0);
    assert_int_equal(fake.nlog, SIRQ_NR_VECTORS);
    for (unsigned i = 0; i < SIRQ_NR_VECTORS; i++)
        assert_int_equal(fake.log[i], i);
    assert_int_equal(cpu0->stats.passes, 1);
}

static void misuse_is_a_bug(void **state)
{
    (void)state;
    FAKE_EXPECT_BUG(&fake, sirq_raise(cpu0, SIRQ_BLOCK)); /* not opened */
    FAKE_EXPECT_BUG(&fake, sirq_raise(cpu0, SIRQ_NR_VECTORS));
    FAKE_EXPECT_BUG(&fake, sirq_raise_remote(cpu0, SIRQ_BLOCK));
    FAKE_EXPECT_BUG(&fake, sirq_raise_remote(cpu0, SIRQ_NR_VECTORS));
    FAKE_EXPECT_BUG(&fake, sirq_hardirq_exit(cpu0));
    FAKE_EXPECT_BUG(&fake, sirq_bh_enable(cpu0));
    FAKE_EXPECT_BUG(&fake, sirq_tick(cpu0));
    sirq_hardirq_enter(cpu0);
    FAKE_EXPECT_BUG(&fake, sirq_bh_disable(cpu0));
    FAKE_EXPECT_BUG(&fake, sirq_bh_enable(cpu0));
    sirq_hardirq_exit(cpu0);
    assert_idle(cpu0);
}

static void leave_bh_disabled(struct fake *f, struct sirq_cpu *cpu, unsigned vec)
{
    (void)f, (void)vec;
    sirq_bh_disable(cpu);
}

static void action_that_leaves_bh_disabled_is_a_bug(void **state)
{
    (void)state;
    fake.action[SIRQ_NET_RX].body = leave_bh_disabled;
    FAKE_EXPECT_BUG(&fake, fake_irq(&fake, 0, NET_RX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(raise_in_task_wakes_ksoftirqd_and_runs_nothing, set_up),
        cmocka_unit_test_setup(raise_in_task_twice_wakes_and_runs_once, set_up),
        cmocka_unit_test_setup(raised_counts_merged_run_and_pending_raises, set_up),
        cmocka_unit_test_setup(raise_in_hardirq_runs_at_exit_without_ksoftirqd, set_up),
        cmocka_unit_test_setup(raise_in_bh_section_runs_at_enable_without_ksoftirqd, set_up),
        cmocka_unit_test_setup(raise_in_softirq_runs_in_next_pass, set_up),
        cmocka_unit_test_setup(raise_of_running_vector_runs_once_more, set_up),
        cmocka_unit_test_setup(raise_on_other_cpu_stays_there, set_up),
        cmocka_unit_test_setup(raise_remote_kicks_once_until_taken, set_up),
        cmocka_unit_test_setup(raise_remote_to_busy_cpu_is_answered_by_owner, set_up),
        cmocka_unit_test_setup(raise_remote_to_offline_cpu_goes_to_one_online, set_up),
        cmocka_unit_test_setup(hardirq_nested_runs_at_outermost_exit, set_up),
        cmocka_unit_test_setup(hardirq_in_bh_section_runs_at_enable, set_up),
        cmocka_unit_test_setup(hardirq_in_softirq_is_left_to_the_run, set_up),
        cmocka_unit_test_setup(bh_nested_runs_at_outermost_enable, set_up),
        cmocka_unit_test_setup(bh_section_in_softirq_is_left_to_the_run, set_up),
        cmocka_unit_test_setup(bh_sections_of_two_cpus_do_not_meet, set_up),
        cmocka_unit_test_setup(entry_with_nothing_pending_makes_no_run, set_up),
        cmocka_unit_test_setup(dispatch_order_is_vector_order_whatever_was_raised_first, set_up),
        cmocka_unit_test_setup(misuse_is_a_bug, set_up),
        cmocka_unit_test_setup(action_that_leaves_bh_disabled_is_a_bug, set_up),
    };

    return cmocka_run_group_tests_name("raise", tests, NULL, NULL);
}
