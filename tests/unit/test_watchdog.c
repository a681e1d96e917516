/* SPDX-License-Identifier: MIT */
/* The stall watchdog: what it calls a stall, what it does, and what is none. */
#include "fake_host.h"

#define NET_RX SIRQ_BIT(SIRQ_NET_RX)
#define SECOND UINT64_C(1000000000)

static struct fake fake;
static struct sirq_cpu *const cpu0 = &fake.cpu[0];

static uint32_t select_none(const struct sirq_view *view)
{
    (void)view;
    return 0;
}

static const struct sirq_policy hold = {.name = "hold", .select = select_none};

static int set_up(void **state)
{
    (void)state;
    fake_init(&fake, 1000, &hold);
    fake_open(&fake, SIRQ_NET_RX);
    fake.now_ns = 100 * SECOND;
    return 0;
}

static void look_once(uint64_t after_ns)
{
    fake.now_ns += after_ns;
    sirq_watchdog(cpu0, fake.now_ns);
}

/* For so long, now and then, as a host does. */
static void look(uint64_t after_ns)
{
    uint64_t tick = fake.core.stall_ns / 10;

    for (; after_ns > tick; after_ns -= tick)
        look_once(tick);
    look_once(after_ns);
}

static void pending_held_for_the_bound_falls_back_to_default(void **state)
{
    (void)state;
    look(0);
    fake_irq(&fake, 0, NET_RX);
    look(0); /* seen */
    look(SECOND - 1);
    assert_int_equal(cpu0->stats.stalls, 0);
    assert_ptr_equal(sirq_get_policy(&fake.core), &hold);
    look(1);
    assert_int_equal(cpu0->stats.stalls, 1);
    assert_ptr_equal(sirq_get_policy(&fake.core), sirq_policy_default());
    assert_int_equal(fake.calls[FAKE_REPORT], 1);
    assert_non_null(fake.reported);
    assert_int_equal(fake.reported_value, SECOND);
    assert_int_equal(cpu0->ksoftirqd, 1);
    fake_ksoftirqd(&fake, 0, 3);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 1);
    look(2 * SECOND);
    assert_int_equal(cpu0->stats.stalls, 1);
}

static void first_look_at_fresh_work_is_no_stall(void **state)
{
    (void)state;
    fake_irq(&fake, 0, NET_RX); /* the watchdog never saw this CPU before */
    look(1000);
    assert_int_equal(cpu0->stats.stalls, 0);
    look(SECOND);
    assert_int_equal(cpu0->stats.stalls, 1);
}

static void nothing_pending_for_long_is_no_stall(void **state)
{
    (void)state;
    look(0);
    look(100 * SECOND);
    look(100 * SECOND);
    fake_irq(&fake, 0, NET_RX);
    look(1000);
    assert_int_equal(cpu0->stats.stalls, 0);
    assert_int_equal(fake.calls[FAKE_REPORT], 0);
}

static void pending_that_makes_progress_is_no_stall(void **state)
{
    (void)state;
    sirq_set_policy(&fake.core, sirq_policy_find("restart10"));
    fake.action[SIRQ_NET_RX].again = UINT32_MAX;
    look(0);
    for (unsigned i = 0; i < 10; i++) {
        fake_irq(&fake, 0, NET_RX);
        assert_int_equal(sirq_pending(cpu0), NET_RX);
        look(SECOND / 2);
    }
    assert_int_equal(cpu0->stats.stalls, 0);
}

static uint32_t select_short(const struct sirq_view *view)
{
    return view->pending & ~NET_RX;
}

static const struct sirq_policy hold_net_rx = {.name = "hold-net-rx", .select = select_short};

static void vector_held_while_others_run_falls_back(void **state)
{
    (void)state;
    fake_open(&fake, SIRQ_HI);
    sirq_set_policy(&fake.core, &hold_net_rx);
    look(0);
    fake_irq(&fake, 0, NET_RX);
    for (unsigned i = 0; i < 5; i++) { /* the first look only finds it pending */
        assert_int_equal(cpu0->stats.stalls, 0);
        fake_irq(&fake, 0, SIRQ_BIT(SIRQ_HI)); /* as a tick does */
        look(SECOND / 4);
    }
    assert_int_equal(fake.action[SIRQ_HI].runs, 5);
    assert_int_equal(cpu0->stats.stalls, 1);
    assert_ptr_equal(sirq_get_policy(&fake.core), sirq_policy_default());
}

static void vectors_pending_in_turn_are_no_stall(void **state)
{
    (void)state;
    fake_open(&fake, SIRQ_HI);
    look(0);
    for (unsigned i = 0; i < 8; i++) { /* something always is, but nothing for long */
        sirq_set_policy(&fake.core, &hold);
        fake_irq(&fake, 0, i % 2 ? NET_RX : SIRQ_BIT(SIRQ_HI));
        look(SECOND / 4);
        sirq_set_policy(&fake.core, sirq_policy_find("inline"));
        fake_irq(&fake, 0, 0);
    }
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 4);
    assert_int_equal(cpu0->stats.stalls, 0);
}

static void pending_behind_a_long_bh_section_is_not_the_policys_fault(void **state)
{
    (void)state;
    sirq_set_policy(&fake.core, sirq_policy_find("inline"));
    look(0);
    sirq_bh_disable(cpu0);
    sirq_raise(cpu0, SIRQ_NET_RX);
    look(SECOND);
    look(SECOND);
    assert_int_equal(cpu0->stats.stalls, 0);
    assert_ptr_equal(sirq_get_policy(&fake.core), sirq_policy_find("inline"));
    sirq_bh_enable(cpu0);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 1);
}

static void stalled_again_is_counted_again(void **state)
{
    (void)state;
    look(0);
    fake_irq(&fake, 0, NET_RX);
    look(0);
    look(SECOND);
    sirq_set_policy(&fake.core, &hold); /* somebody insists */
    look(0);
    look(SECOND - 1);
    assert_int_equal(cpu0->stats.stalls, 1);
    look(1);
    assert_int_equal(cpu0->stats.stalls, 2);
    assert_ptr_equal(sirq_get_policy(&fake.core), sirq_policy_default());
}

static void bound_is_the_cores(void **state)
{
    (void)state;
    fake.core.stall_ns = 5000;
    look(0);
    fake_irq(&fake, 0, NET_RX);
    look(0); /* seen */
    look(4999);
    assert_int_equal(cpu0->stats.stalls, 0);
    look(1);
    assert_int_equal(cpu0->stats.stalls, 1);
}

static void look_while_running(struct fake *f, struct sirq_cpu *cpu, unsigned vec)
{
    if (f->action[vec].runs > 3)
        return;
    sirq_watchdog(cpu, f->now_ns); /* another thread does, at this moment */
}

static void run_longer_than_the_bound_is_reported_once_and_goes_on(void **state)
{
    const struct sirq_policy *resched = sirq_policy_find("resched");

    (void)state;
    sirq_set_policy(&fake.core, resched);
    look(0);
    fake.action[SIRQ_NET_RX].again = 9;
    fake.action[SIRQ_NET_RX].cost_ns = SECOND / 2;
    fake.action[SIRQ_NET_RX].body = look_while_running;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(cpu0->stats.long_runs, 1);
    assert_int_equal(cpu0->stats.stalls, 0);
    assert_int_equal(fake.calls[FAKE_REPORT], 1);
    assert_int_equal(fake.reported_value, SECOND);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 10);
    assert_ptr_equal(sirq_get_policy(&fake.core), resched);

    fake.action[SIRQ_NET_RX].runs = 0;
    fake.action[SIRQ_NET_RX].again = 5;
    fake_irq(&fake, 0, NET_RX); /* another run is another one */
    assert_int_equal(cpu0->stats.long_runs, 2);
}

static void run_shorter_than_the_bound_is_not_reported(void **state)
{
    (void)state;
    sirq_set_policy(&fake.core, sirq_policy_find("resched"));
    look(0);
    fake.action[SIRQ_NET_RX].cost_ns = SECOND - 1;
    fake.action[SIRQ_NET_RX].body = look_while_running;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(cpu0->stats.long_runs, 0);
}

static void host_without_report_still_falls_back(void **state)
{
    (void)state;
    fake.host.report = NULL;
    look(0);
    fake_irq(&fake, 0, NET_RX);
    look(0); /* seen */
    look(SECOND);
    assert_int_equal(cpu0->stats.stalls, 1);
}

/* Lets TIMER run, and nothing else, ever. */
static uint32_t select_timer(const struct sirq_view *view)
{
    return view->pending & SIRQ_BIT(SIRQ_TIMER);
}

static void vector_held_while_others_run_is_a_stall(void **state)
{
    static const struct sirq_policy some = {.name = "some", .select = select_timer};

    (void)state;
    fake_open(&fake, SIRQ_TIMER);
    sirq_set_policy(&fake.core, &some);
    look(0);
    fake_irq(&fake, 0, NET_RX);
    for (unsigned i = 0; i < 25 && cpu0->stats.stalls == 0; i++) {
        fake_irq(&fake, 0, SIRQ_BIT(SIRQ_TIMER));
        look(SECOND / 10);
    }
    assert_true(fake.action[SIRQ_TIMER].runs >= 10);
    assert_int_equal(cpu0->stats.stalls, 1);
    assert_ptr_equal(sirq_get_policy(&fake.core), sirq_policy_default());
    fake_ksoftirqd(&fake, 0, 3);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 1);
}

static void vectors_held_in_turn_are_no_stall(void **state)
{
    (void)state;
    fake_open(&fake, SIRQ_TIMER);
    look(0);
    for (unsigned i = 0; i < 30; i++) {
        unsigned vec = i % 2 != 0 ? SIRQ_TIMER : SIRQ_NET_RX;

        sirq_set_policy(&fake.core, &hold);
        fake_irq(&fake, 0, SIRQ_BIT(vec));
        look(SECOND / 2);
        sirq_set_policy(&fake.core, sirq_policy_find("inline"));
        fake_irq(&fake, 0, SIRQ_BIT(vec));
    }
    assert_int_equal(cpu0->stats.stalls, 0);
}

static void gap_between_looks_is_not_held_against_the_policy(void **state)
{
    (void)state;
    look(0);
    fake_irq(&fake, 0, NET_RX);
    look_once(SECOND / 10);
    look_once(100 * SECOND); /* stopped, and continued */
    assert_int_equal(cpu0->stats.stalls, 0);
    assert_ptr_equal(sirq_get_policy(&fake.core), &hold);
    look(SECOND); /* but this is */
    assert_int_equal(cpu0->stats.stalls, 1);
}

static void stop_inside_a_run(struct fake *f, struct sirq_cpu *cpu, unsigned vec)
{
    (void)vec;
    sirq_watchdog(cpu, f->now_ns);
    f->now_ns += 100 * SECOND;
    sirq_watchdog(cpu, f->now_ns);
}

static void gap_between_looks_makes_no_long_run(void **state)
{
    (void)state;
    sirq_set_policy(&fake.core, sirq_policy_find("inline"));
    look(0);
    fake.action[SIRQ_NET_RX].body = stop_inside_a_run;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 1);
    assert_int_equal(cpu0->stats.long_runs, 0);
}

static void bound_of_one_nanosecond_is_a_bound(void **state)
{
    (void)state;
    fake.core.stall_ns = 1;
    look_once(0);
    fake_irq(&fake, 0, NET_RX);
    look_once(1);
    look_once(1);
    assert_int_equal(cpu0->stats.stalls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(pending_held_for_the_bound_falls_back_to_default, set_up),
        cmocka_unit_test_setup(first_look_at_fresh_work_is_no_stall, set_up),
        cmocka_unit_test_setup(nothing_pending_for_long_is_no_stall, set_up),
        cmocka_unit_test_setup(pending_that_makes_progress_is_no_stall, set_up),
        cmocka_unit_test_setup(vector_held_while_others_run_falls_back, set_up),
        cmocka_unit_test_setup(vectors_pending_in_turn_are_no_stall, set_up),
        cmocka_unit_test_setup(pending_behind_a_long_bh_section_is_not_the_policys_fault, set_up),
        cmocka_unit_test_setup(stalled_again_is_counted_again, set_up),
        cmocka_unit_test_setup(bound_is_the_cores, set_up),
        cmocka_unit_test_setup(run_longer_than_the_bound_is_reported_once_and_goes_on, set_up),
        cmocka_unit_test_setup(run_shorter_than_the_bound_is_not_reported, set_up),
        cmocka_unit_test_setup(host_without_report_still_falls_back, set_up),
        cmocka_unit_test_setup(vector_held_while_others_run_is_a_stall, set_up),
        cmocka_unit_test_setup(vectors_held_in_turn_are_no_stall, set_up),
        cmocka_unit_test_setup(gap_between_looks_is_not_held_against_the_policy, set_up),
        cmocka_unit_test_setup(gap_between_looks_makes_no_long_run, set_up),
        cmocka_unit_test_setup(bound_of_one_nanosecond_is_a_bound, set_up),
    };

    return cmocka_run_group_tests_name("watchdog", tests, NULL, NULL);
}
