/* SPDX-License-Identifier: MIT */
/* sirq_wake: consumers are woken when the run lets go or goes round, once each. */
#include "fake_host.h"

#define NET_RX SIRQ_BIT(SIRQ_NET_RX)

static struct fake fake;
static struct sirq_cpu *const cpu0 = &fake.cpu[0];
static struct sirq_wq wq[2];

static int set_up(void **state)
{
    (void)state;
    fake_init(&fake, 1000, NULL);
    fake_open(&fake, SIRQ_NET_RX);
    wq[0] = wq[1] = (struct sirq_wq){.eventfd = -1};
    return 0;
}

static void wake_both_twice(struct fake *f, struct sirq_cpu *cpu, unsigned vec)
{
    (void)vec;
    for (unsigned i = 0; i < 4; i++)
        sirq_wake(cpu, &wq[i % 2]);
    assert_int_equal(f->calls[FAKE_WAKE], f->argn); /* not while the action runs */
}

static void wake_in_action_is_issued_merged_in_order_after_letting_go(void **state)
{
    (void)state;
    fake.action[SIRQ_NET_RX].body = wake_both_twice;
    for (unsigned entry = 0; entry < SIRQ_NR_ENTRIES; entry++) {
        fake.nwoken = 0;
        fake.argn = fake.calls[FAKE_WAKE];
        fake_enter(&fake, 0, entry, NET_RX);
        assert_int_equal(fake.nwoken, 2);
        for (unsigned i = 0; i < 2; i++) {
            assert_ptr_equal(fake.woken[i], &wq[i]);
            assert_int_equal(fake.woken_owner[i], 0);
            assert_int_equal(wq[i].queued, 0);
        }
    }
    assert_int_equal(cpu0->stats.wakes, 6);
}

static void wake_in_action_sets_need_resched_at_once(struct fake *f, struct sirq_cpu *cpu,
                                                     unsigned vec)
{
    (void)vec;
    sirq_wake(cpu, &wq[0]);
    assert_int_equal(cpu->need_resched, f->wake_preempts);
}

static void wake_that_preempts_sets_need_resched(void **state)
{
    (void)state;
    fake.action[SIRQ_NET_RX].body = wake_in_action_sets_need_resched_at_once;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(fake.calls[FAKE_RESCHED], 1);
    fake.wake_preempts = false;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(fake.calls[FAKE_RESCHED], 1);
    assert_int_equal(fake.calls[FAKE_WAKE], 2);
}

static void wake_without_host_opinion_sets_need_resched(void **state)
{
    (void)state;
    fake.host.wake_preempts = NULL;
    fake.action[SIRQ_NET_RX].body = wake_in_action_sets_need_resched_at_once;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(fake.calls[FAKE_RESCHED], 1);
}

static void wake_once(struct fake *f, struct sirq_cpu *cpu, unsigned vec)
{
    /* What earlier passes asked for has been issued before this one began. */
    assert_int_equal(f->calls[FAKE_WAKE], f->action[vec].runs - 1);
    sirq_wake(cpu, &wq[0]);
}

static void wake_is_issued_when_the_loop_goes_round(void **state)
{
    (void)state;
    fake.wake_preempts = false;
    fake.action[SIRQ_NET_RX].again = 2;
    fake.action[SIRQ_NET_RX].body = wake_once;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 3);
    assert_int_equal(fake.calls[FAKE_WAKE], 3);
    assert_int_equal(cpu0->stats.runs[SIRQ_ENTRY_IRQ_EXIT], 1);
}

static void wake_of_a_punted_run_is_issued_too(void **state)
{
    (void)state;
    fake.action[SIRQ_NET_RX].again = 100;
    fake.action[SIRQ_NET_RX].body = wake_once; /* need_resched ends the run at pass 1 */
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 1);
    assert_int_equal(fake.nwoken, 1);
    assert_int_equal(fake.woken_owner[0], 0);
    assert_int_equal(cpu0->ksoftirqd, 1);
}

static void wake_in_bh_section_is_issued_at_enable(void **state)
{
    (void)state;
    sirq_bh_disable(cpu0);
    sirq_wake(cpu0, &wq[0]);
    assert_int_equal(fake.nwoken, 0);
    sirq_bh_enable(cpu0);
    assert_int_equal(fake.nwoken, 1);
    assert_int_equal(fake.woken_owner[0], 0);
}

static void wake_again(struct fake *f, enum fake_call call, struct sirq_cpu *cpu)
{
    if (call != FAKE_WAKE || f->argn++ != 0)
        return;
    sirq_bh_disable(cpu); /* more data arrives while the first wake-up is under way */
    sirq_wake(cpu, &wq[0]);
    sirq_bh_enable(cpu);
}

static void wake_asked_for_during_a_wake_up_is_a_new_one(void **state)
{
    (void)state;
    fake.hook = wake_again;
    sirq_bh_disable(cpu0);
    sirq_wake(cpu0, &wq[0]);
    sirq_wake(cpu0, &wq[1]);
    sirq_bh_enable(cpu0);
    assert_int_equal(wq[0].seq, 2);
    assert_int_equal(wq[1].seq, 1);
    assert_true(sirq_llist_empty(&cpu0->wakes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(wake_in_action_is_issued_merged_in_order_after_letting_go, set_up),
        cmocka_unit_test_setup(wake_that_preempts_sets_need_resched, set_up),
        cmocka_unit_test_setup(wake_without_host_opinion_sets_need_resched, set_up),
        cmocka_unit_test_setup(wake_is_issued_when_the_loop_goes_round, set_up),
        cmocka_unit_test_setup(wake_of_a_punted_run_is_issued_too, set_up),
        cmocka_unit_test_setup(wake_in_bh_section_is_issued_at_enable, set_up),
        cmocka_unit_test_setup(wake_asked_for_during_a_wake_up_is_a_new_one, set_up),
    };

    return cmocka_run_group_tests_name("wake", tests, NULL, NULL);
}
