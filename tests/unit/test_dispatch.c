/* SPDX-License-Identifier: MIT */
/* The dispatch loop: restart, punt, what a policy may do to it, counters, host calls. */
#include "fake_host.h"

#define NET_RX SIRQ_BIT(SIRQ_NET_RX)
#define TIMER SIRQ_BIT(SIRQ_TIMER)

static struct fake fake;
static struct sirq_cpu *const cpu0 = &fake.cpu[0];
static const struct sirq_policy bare = {.name = "bare"};

static int set_up(void **state)
{
    (void)state;
    fake_init(&fake, 1000, &bare);
    fake_open(&fake, SIRQ_TIMER);
    fake_open(&fake, SIRQ_NET_RX);
    return 0;
}

static void policy_without_hooks_gives_ten_passes_then_punts(void **state)
{
    (void)state;
    fake.action[SIRQ_NET_RX].again = 100;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, SIRQ_MAX_RESTART);
    assert_int_equal(cpu0->stats.passes, SIRQ_MAX_RESTART);
    assert_int_equal(cpu0->stats.runs[SIRQ_ENTRY_IRQ_EXIT], 1);
    assert_int_equal(cpu0->stats.punts, 1);
    assert_int_equal(sirq_pending(cpu0), NET_RX);
    assert_int_equal(cpu0->ksoftirqd, 1);
    assert_int_equal(fake.calls[FAKE_WAKE_KSOFTIRQD], 1);
    assert_int_equal(fake_owner(&fake, 0), 0);
}

static void punted_work_runs_at_next_entry_too(void **state)
{
    (void)state;
    fake.action[SIRQ_NET_RX].again = 10;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(sirq_pending(cpu0), NET_RX);
    fake_irq(&fake, 0, 0); /* any interrupt, nothing raised */
    assert_int_equal(sirq_pending(cpu0), 0);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 11);
    assert_int_equal(fake_ksoftirqd(&fake, 0, 5), 1); /* finds nothing, sleeps */
    assert_int_equal(cpu0->stats.runs[SIRQ_ENTRY_KSOFTIRQD], 0);
    assert_int_equal(cpu0->ksoftirqd, 0);
}

static uint32_t select_wild(const struct sirq_view *view)
{
    return view->pass == 0 ? UINT32_MAX : 0;
}

static void select_of_vectors_not_pending_runs_none_of_them(void **state)
{
    static const struct sirq_policy wild = {.name = "wild", .select = select_wild};

    (void)state;
    sirq_set_policy(&fake.core, &wild);
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(fake.nlog, 1);
    assert_int_equal(fake.log[0], SIRQ_NET_RX);
}

static uint32_t select_timer(const struct sirq_view *view)
{
    return view->pending & TIMER;
}

static const struct sirq_policy timer_only = {.name = "timer_only", .select = select_timer};

static void select_of_some_runs_them_and_leaves_rest_to_ksoftirqd(void **state)
{
    (void)state;
    sirq_set_policy(&fake.core, &timer_only);
    fake_irq(&fake, 0, NET_RX | TIMER);
    assert_int_equal(fake.action[SIRQ_TIMER].runs, 1);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 0);
    assert_int_equal(sirq_pending(cpu0), NET_RX);
    assert_int_equal(cpu0->ksoftirqd, 1);
    assert_int_equal(cpu0->stats.passes, 1); /* what is held back asks for no second pass */
    assert_int_equal(cpu0->stats.deferred, 1);
    assert_int_equal(cpu0->stats.held, 0);
}

static void select_of_none_counts_held_and_makes_no_run(void **state)
{
    (void)state;
    sirq_set_policy(&fake.core, &timer_only);
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(cpu0->stats.held, 1);
    assert_int_equal(cpu0->stats.punts, 0);
    assert_int_equal(cpu0->stats.runs[SIRQ_ENTRY_IRQ_EXIT], 0);
    assert_int_equal(fake.calls[FAKE_RUN_END], 0);
    assert_int_equal(fake.calls[FAKE_IRQ_ENABLE], 0);
    assert_int_equal(cpu0->ksoftirqd, 1);
    assert_int_equal(fake_owner(&fake, 0), 0);
}

static void switch_to_timer_only(struct fake *f, struct sirq_cpu *cpu, unsigned vec)
{
    (void)vec;
    if (f->action[SIRQ_NET_RX].runs == 3)
        sirq_set_policy(cpu->core, &timer_only);
}

static void policy_switched_in_a_run_answers_the_next_question(void **state)
{
    (void)state;
    fake.action[SIRQ_NET_RX].again = 100;
    fake.action[SIRQ_NET_RX].body = switch_to_timer_only;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 3);
    assert_int_equal(cpu0->stats.punts, 1);
    assert_int_equal(sirq_pending(cpu0), NET_RX);
    assert_int_equal(cpu0->ksoftirqd, 1);
}

static void forced_threading_leaves_mask_to_ksoftirqd_at_other_entries(void **state)
{
    (void)state;
    sirq_force_threaded(&fake.core, NET_RX);
    fake_irq(&fake, 0, NET_RX | TIMER);
    assert_int_equal(fake.action[SIRQ_TIMER].runs, 1);
    fake_bh(&fake, 0, NET_RX | TIMER);
    assert_int_equal(fake.action[SIRQ_TIMER].runs, 2);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 0);
    assert_int_equal(cpu0->ksoftirqd, 1);
    assert_int_equal(fake_ksoftirqd(&fake, 0, 5), 1);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 1);

    sirq_force_threaded(&fake.core, 0);
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 2);
}

static void interrupts_are_let_in_for_runs_of_interrupt_exit_only(void **state)
{
    (void)state;
    fake.action[SIRQ_NET_RX].again = 2;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(fake.calls[FAKE_IRQ_ENABLE], 3);
    assert_int_equal(fake.calls[FAKE_IRQ_DISABLE], 1); /* once a run */
    assert_int_equal(fake.irq_pass[0], 2);
    assert_true(fake.irqs_off[0]); /* as the interrupt found it */
    fake_enter(&fake, 0, SIRQ_ENTRY_BH_ENABLE, NET_RX);
    fake_enter(&fake, 0, SIRQ_ENTRY_KSOFTIRQD, NET_RX);
    assert_int_equal(fake.calls[FAKE_IRQ_ENABLE], 3);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 5);
}

static void host_without_optional_entries_runs(void **state)
{
    (void)state;
    fake.host.irq_enable = fake.host.irq_disable = NULL;
    fake.host.resched = NULL;
    fake.host.report = NULL;
    cpu0->run_end = NULL;
    cpu0->need_resched = 1;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 1);
    assert_int_equal(cpu0->need_resched, 1);
}

static void resched_is_called_after_letting_go_when_needed(void **state)
{
    (void)state;
    for (unsigned entry = 0; entry < SIRQ_NR_ENTRIES; entry++) {
        fake_enter(&fake, 0, entry, NET_RX);
        assert_int_equal(fake.calls[FAKE_RESCHED], entry);
        cpu0->need_resched = 1;
        fake_enter(&fake, 0, entry, NET_RX);
        assert_int_equal(fake.calls[FAKE_RESCHED], entry + 1);
        assert_int_equal(fake.resched_entry, entry);
    }
}

static void at_run_end(struct fake *f, enum fake_call call, struct sirq_cpu *cpu)
{
    if (call != FAKE_RUN_END)
        return;
    assert_true(sirq_in_softirq(cpu));
    if (f->calls[FAKE_RUN_END] == 1)
        sirq_raise(cpu, SIRQ_TIMER);
}

static void run_end_is_called_by_owner_once_a_run_and_may_raise(void **state)
{
    (void)state;
    fake.hook = at_run_end;
    fake.action[SIRQ_NET_RX].again = 3;
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(fake.action[SIRQ_TIMER].runs, 1);
    assert_int_equal(fake.calls[FAKE_RUN_END], 2); /* the raise made a run of its own */
    assert_int_equal(fake.calls[FAKE_WAKE_KSOFTIRQD], 0);
    assert_int_equal(cpu0->word, 0);
}

static void counters_tell_time_by_entry_and_vector(void **state)
{
    const struct sirq_cpu_stats *stats = &cpu0->stats;

    (void)state;
    fake.action[SIRQ_NET_RX].cost_ns = 300;
    fake.action[SIRQ_TIMER].cost_ns = 20;
    fake_enter(&fake, 0, SIRQ_ENTRY_IRQ_EXIT, NET_RX | TIMER);
    fake.action[SIRQ_NET_RX].cost_ns = 100;
    fake_enter(&fake, 0, SIRQ_ENTRY_BH_ENABLE, NET_RX);
    fake_enter(&fake, 0, SIRQ_ENTRY_KSOFTIRQD, NET_RX);

    assert_int_equal(stats->entry_ns[SIRQ_ENTRY_IRQ_EXIT], 320);
    assert_int_equal(stats->entry_ns[SIRQ_ENTRY_BH_ENABLE], 100);
    assert_int_equal(stats->entry_ns[SIRQ_ENTRY_KSOFTIRQD], 100);
    assert_int_equal(stats->time_ns, 520);
    assert_int_equal(stats->longest_run_ns, 320);
    assert_int_equal(stats->vec[SIRQ_NET_RX].run, 3);
    assert_int_equal(stats->vec[SIRQ_NET_RX].time_ns, 500);
    assert_int_equal(stats->vec[SIRQ_NET_RX].longest_ns, 300);
    assert_int_equal(stats->vec[SIRQ_TIMER].run, 1);
    assert_int_equal(stats->vec[SIRQ_TIMER].time_ns, 20);
    assert_int_equal(stats->passes, 3);
    assert_int_equal(stats->punts + stats->held + stats->deferred, 0);
    for (unsigned entry = 0; entry < SIRQ_NR_ENTRIES; entry++)
        assert_int_equal(stats->runs[entry], 1);
    assert_int_equal(fake.thread[FAKE_APP(0)].softirq_ns, 420);
    assert_int_equal(fake.thread[FAKE_KSOFTIRQD(0)].softirq_ns, 0);
}

static struct sirq_ran ran_seen[4];
static struct sirq_view ran_view;
static unsigned nran;

static void ran(const struct sirq_view *view, const struct sirq_ran *what)
{
    assert_true(nran < 4);
    ran_seen[nran++] = *what;
    ran_view = *view;
}

static void ran_hook_is_told_of_every_action_and_sees_a_current_view(void **state)
{
    static const struct sirq_policy told = {.name = "told", .ran = ran};

    (void)state;
    nran = 0;
    sirq_set_policy(&fake.core, &told);
    fake_jiffy(&fake, 5000);
    cpu0->rt_tasks = 1;
    fake.action[SIRQ_NET_RX].cost_ns = 2000000;
    fake_irq(&fake, 0, NET_RX | TIMER); /* TIMER takes no time that the clock shows */
    assert_int_equal(nran, 2);
    assert_int_equal(ran_seen[0].vec, SIRQ_TIMER);
    assert_int_equal(ran_seen[0].time_ns, 0);
    assert_int_equal(ran_seen[1].vec, SIRQ_NET_RX);
    assert_int_equal(ran_seen[1].time_ns, 2000000);
    assert_int_equal(sirq_view_start_jiffies(&ran_view), 5000);
    assert_int_equal(sirq_view_jiffies(&ran_view), 5002);
    assert_true(sirq_view_rt_task(&ran_view));
}

static struct sirq_view seen;

static bool restart_seeing(const struct sirq_view *view)
{
    seen = *view;
    return view->pass < 2;
}

static void view_of_a_second_pass_holds_what_the_core_knows(void **state)
{
    static const struct sirq_policy see = {.name = "see", .restart = restart_seeing};

    (void)state;
    sirq_set_policy(&fake.core, &see);
    fake.action[SIRQ_NET_RX].again = 2;
    fake.action[SIRQ_NET_RX].cost_ns = 1000000;
    cpu0->queue_fill = 700;
    cpu0->ksoftirqd = 1;
    fake_jiffy(&fake, 77);
    fake_bh(&fake, 0, NET_RX);
    assert_ptr_equal(seen.cpu, cpu0);
    assert_int_equal(seen.entry, SIRQ_ENTRY_BH_ENABLE);
    assert_int_equal(seen.pending, NET_RX);
    assert_int_equal(seen.pass, 2);
    assert_int_equal(sirq_view_hz(&seen), 1000);
    assert_int_equal(seen.start_ns, 77000000);
    assert_int_equal(seen.now_ns, 79000000);
    assert_int_equal(sirq_view_start_jiffies(&seen), 77);
    assert_int_equal(sirq_view_jiffies(&seen), 79);
    assert_int_equal(cpu0->looped_jiffies, 79);
    assert_true(cpu0->looped_valid);
    assert_false(sirq_view_need_resched(&seen));
    assert_true(sirq_view_ksoftirqd_runnable(&seen));
    assert_false(sirq_view_rt_task(&seen));
    assert_int_equal(sirq_view_queue_fill(&seen), 700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(policy_without_hooks_gives_ten_passes_then_punts, set_up),
        cmocka_unit_test_setup(punted_work_runs_at_next_entry_too, set_up),
        cmocka_unit_test_setup(select_of_vectors_not_pending_runs_none_of_them, set_up),
        cmocka_unit_test_setup(select_of_some_runs_them_and_leaves_rest_to_ksoftirqd, set_up),
        cmocka_unit_test_setup(select_of_none_counts_held_and_makes_no_run, set_up),
        cmocka_unit_test_setup(policy_switched_in_a_run_answers_the_next_question, set_up),
        cmocka_unit_test_setup(forced_threading_leaves_mask_to_ksoftirqd_at_other_entries, set_up),
        cmocka_unit_test_setup(interrupts_are_let_in_for_runs_of_interrupt_exit_only, set_up),
        cmocka_unit_test_setup(host_without_optional_entries_runs, set_up),
        cmocka_unit_test_setup(resched_is_called_after_letting_go_when_needed, set_up),
        cmocka_unit_test_setup(run_end_is_called_by_owner_once_a_run_and_may_raise, set_up),
        cmocka_unit_test_setup(counters_tell_time_by_entry_and_vector, set_up),
        cmocka_unit_test_setup(ran_hook_is_told_of_every_action_and_sees_a_current_view, set_up),
        cmocka_unit_test_setup(view_of_a_second_pass_holds_what_the_core_knows, set_up),
    };

    return cmocka_run_group_tests_name("dispatch", tests, NULL, NULL);
}
