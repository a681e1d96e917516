/* SPDX-License-Identifier: MIT */
/* The timer wheel, case by case; test_timer_model.c compares it with a sorted list. */
#include <errno.h>

#include <sirq/timer.h>

#include "fake_host.h"

#define START 1000u /* the jiffy a test begins in */

static struct fake fake;
static struct sirq_cpu *const cpu0 = &fake.cpu[0], *const cpu1 = &fake.cpu[1];
static struct sirq_timer_base base[FAKE_CPUS];
static struct sirq_timer t[4];
static uint64_t fired_at[4];
static unsigned fired[4];

static void note(struct sirq_cpu *cpu, struct sirq_timer *timer, void *data)
{
    assert_ptr_equal(data, &t[timer - t]);
    assert_false(sirq_timer_pending(timer));
    fired[timer - t]++;
    fired_at[timer - t] = sirq_jiffies(cpu);
}

static int set_up(void **state)
{
    (void)state;
    fake_init(&fake, 1000, NULL);
    fake_jiffy(&fake, START);
    assert_int_equal(sirq_timer_open(&fake.core, base), 0);
    for (unsigned i = 0; i < 4; i++) {
        sirq_timer_init(&t[i], note, &t[i]);
        fired[i] = 0;
        fired_at[i] = 0;
    }
    return 0;
}

static void tick(unsigned cpu)
{
    sirq_hardirq_enter(&fake.cpu[cpu]);
    sirq_tick(&fake.cpu[cpu]);
    sirq_hardirq_exit(&fake.cpu[cpu]);
}

static void tick_at(uint64_t jiffies)
{
    fake_jiffy(&fake, jiffies);
    tick(0);
}

static void arm(unsigned i, uint64_t expires)
{
    sirq_bh_disable(cpu0);
    sirq_timer_mod_local(cpu0, &t[i], expires);
    sirq_bh_enable(cpu0);
}

static bool del(unsigned i)
{
    bool was;

    sirq_bh_disable(cpu0);
    was = sirq_timer_del_local(cpu0, &t[i]);
    sirq_bh_enable(cpu0);
    return was;
}

static void assert_empty(unsigned cpu)
{
    assert_int_equal(base[cpu].pending, 0);
    assert_true(sirq_timer_next(&fake.cpu[cpu]) == UINT64_MAX);
    for (unsigned level = 0; level < SIRQ_WHEEL_LEVELS; level++)
        assert_true(base[cpu].occupied[level] == 0);
}

static void open_twice_returns_ebusy(void **state)
{
    (void)state;
    assert_int_equal(sirq_timer_open(&fake.core, base), -EBUSY);
}

static void next_without_timers_or_base_is_never(void **state)
{
    (void)state;
    assert_true(sirq_timer_next(cpu0) == UINT64_MAX);
    cpu0->timers = NULL;
    assert_true(sirq_timer_next(cpu0) == UINT64_MAX);
    tick(0); /* a core without timers has ticks too */
    assert_int_equal(sirq_pending(cpu0), 0);
}

static void tick_raises_only_when_a_timer_may_be_due(void **state)
{
    (void)state;
    tick_at(START + 1);
    arm(0, START + 10);
    assert_int_equal(sirq_timer_next(cpu0), START + 10);
    tick_at(START + 9);
    assert_int_equal(cpu0->stats.vec[SIRQ_TIMER].run, 0);
    tick_at(START + 10);
    assert_int_equal(cpu0->stats.vec[SIRQ_TIMER].run, 1);
    assert_int_equal(fired[0], 1);
    assert_empty(0);
}

static void timer_at_every_cascade_boundary_fires_to_the_jiffy(void **state)
{
    static const uint64_t from[] = {0, 1, 63, 64, 4095, 4096, 262143, 16777216 - 1, START};

    (void)state;
    for (unsigned f = 0; f < sizeof(from) / sizeof(from[0]); f++) {
        for (unsigned bits = 0; bits <= 29; bits++) {
            for (int off = -1; off <= 1; off++) {
                uint64_t delta = (UINT64_C(1) << bits) + (uint64_t)(int64_t)off, step = 0;

                if (delta == 0 || delta > SIRQ_TIMER_MAX_JIFFIES)
                    continue;
                set_up(NULL);
                fake_jiffy(&fake, START + from[f]);
                arm(0, START + from[f] + delta);
                while (fired[0] == 0) {
                    /* as an idle CPU would: sleep until the wheel says so */
                    uint64_t next = sirq_timer_next(cpu0);

                    assert_true(next <= START + from[f] + delta);
                    tick_at(next);
                    assert_true(++step <= SIRQ_WHEEL_LEVELS);
                }
                assert_int_equal(fired_at[0], START + from[f] + delta);
                assert_empty(0);
            }
        }
    }
}

static void expires_in_the_past_or_now_fires_at_next_tick(void **state)
{
    (void)state;
    arm(0, 0);
    arm(1, START);
    arm(2, START + 1);
    tick_at(START);
    assert_int_equal(fired[0] + fired[1] + fired[2], 0);
    tick_at(START + 1);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(fired[i], 1);
}

static void expires_beyond_the_wheel_is_clamped(void **state)
{
    (void)state;
    arm(0, UINT64_MAX);
    assert_int_equal(t[0].expires, START + SIRQ_TIMER_MAX_JIFFIES);
    tick_at(START + SIRQ_TIMER_MAX_JIFFIES - 1);
    assert_int_equal(fired[0], 0);
    tick_at(START + SIRQ_TIMER_MAX_JIFFIES);
    assert_int_equal(fired[0], 1);
}

static void clamped_on_a_lagging_wheel_fires_in_time(void **state)
{
    const uint64_t half = SIRQ_TIMER_MAX_JIFFIES / 2, late = START + half;

    (void)state;
    arm(0, START + SIRQ_TIMER_MAX_JIFFIES); /* keeps the wheel from jumping ahead */
    fake_jiffy(&fake, late);
    arm(1, UINT64_MAX);
    arm(2, late + 5);
    assert_int_equal(t[1].expires, late + SIRQ_TIMER_MAX_JIFFIES);
    tick_at(late + 5);
    assert_int_equal(fired[2], 1);
    tick_at(late + SIRQ_TIMER_MAX_JIFFIES - 1);
    assert_int_equal(fired[0], 1);
    assert_int_equal(fired[1], 0);
    tick_at(late + SIRQ_TIMER_MAX_JIFFIES);
    assert_int_equal(fired[1], 1);
}

static void long_idle_gap_costs_no_step_a_jiffy(void **state)
{
    const uint64_t far = START + (UINT64_C(1) << 40); /* minutes, one jiffy at a time */

    (void)state;
    arm(0, START + 1000000);
    arm(1, START + 500);
    tick_at(far);
    assert_int_equal(fired[0] + fired[1], 2);
    arm(0, far + 3); /* on an empty wheel, after a gap */
    tick_at(far + 3);
    assert_int_equal(fired[0], 2);
    assert_empty(0);
}

static void mod_of_pending_moves_it_both_ways(void **state)
{
    (void)state;
    arm(0, START + 5000);
    arm(0, START + 3);
    assert_int_equal(base[0].pending, 1);
    assert_int_equal(sirq_timer_next(cpu0), START + 3);
    arm(0, START + 100);
    tick_at(START + 99);
    assert_int_equal(fired[0], 0);
    tick_at(START + 100);
    assert_int_equal(fired[0], 1);
}

static void del_tells_whether_it_was_pending(void **state)
{
    (void)state;
    assert_false(del(0));
    arm(0, START + 5);
    arm(1, START + 5); /* the same slot */
    assert_true(sirq_timer_pending(&t[0]));
    assert_true(del(0));
    assert_false(sirq_timer_pending(&t[0]));
    assert_false(del(0));
    assert_int_equal(sirq_timer_next(cpu0), START + 5);
    assert_true(del(1));
    assert_empty(0);
    tick_at(START + 50);
    assert_int_equal(fired[0] + fired[1], 0);
}

/* ---- handlers that touch timers --------------------------------------------------------- */

static void rearm_now(struct sirq_cpu *cpu, struct sirq_timer *timer, void *data)
{
    note(cpu, timer, data);
    sirq_timer_mod_local(cpu, timer, 0);
}

static void handler_rearming_in_the_past_runs_once_a_tick(void **state)
{
    (void)state;
    sirq_timer_init(&t[0], rearm_now, &t[0]);
    arm(0, START + 1);
    arm(1, START + 100000); /* the wheel is walked and so lags in the late tick below */
    tick_at(START + 1);
    assert_int_equal(fired[0], 1);
    tick_at(START + 1);
    assert_int_equal(fired[0], 1);
    tick_at(START + 500); /* a late tick is one tick */
    assert_int_equal(fired[0], 2);
    tick_at(START + 501);
    assert_int_equal(fired[0], 3);
}

static void rearm_periodic(struct sirq_cpu *cpu, struct sirq_timer *timer, void *data)
{
    note(cpu, timer, data);
    sirq_timer_mod_local(cpu, timer, timer->expires + 100);
}

static void handler_rearming_periodically_keeps_its_period(void **state)
{
    (void)state;
    sirq_timer_init(&t[0], rearm_periodic, &t[0]);
    arm(0, START + 100);
    for (unsigned i = 1; i <= 200; i++) {
        tick_at(START + 100 * i - 1);
        assert_int_equal(fired[0], i - 1);
        tick_at(START + 100 * i);
        assert_int_equal(fired[0], i);
    }
}

static void delete_neighbours(struct sirq_cpu *cpu, struct sirq_timer *timer, void *data)
{
    note(cpu, timer, data);
    for (unsigned i = 0; i < 4; i++)
        sirq_timer_del_local(cpu, &t[i]);
}

static void handler_may_delete_timers_about_to_fire(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        sirq_timer_init(&t[i], delete_neighbours, &t[i]);
        arm(i, START + 7);
    }
    tick_at(START + 7);
    assert_int_equal(fired[0] + fired[1] + fired[2] + fired[3], 1);
    assert_empty(0);
}

static void move_neighbours(struct sirq_cpu *cpu, struct sirq_timer *timer, void *data)
{
    note(cpu, timer, data);
    for (unsigned i = 0; i < 4; i++)
        if (sirq_timer_pending(&t[i]))
            sirq_timer_mod_local(cpu, &t[i], sirq_jiffies(cpu) + 10);
}

static void handler_may_move_timers_about_to_fire(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        sirq_timer_init(&t[i], move_neighbours, &t[i]);
        arm(i, START + 7);
    }
    tick_at(START + 7);
    assert_int_equal(fired[0] + fired[1] + fired[2] + fired[3], 1);
    assert_int_equal(base[0].pending, 3);
    tick_at(START + 17);
    assert_int_equal(fired[0] + fired[1] + fired[2] + fired[3], 2);
}

static void take_long(struct sirq_cpu *cpu, struct sirq_timer *timer, void *data)
{
    note(cpu, timer, data);
    fake_jiffy(&fake, sirq_jiffies(cpu) + 5);
}

static void timers_due_while_handlers_run_wait_for_the_next_tick(void **state)
{
    (void)state;
    sirq_timer_init(&t[0], take_long, &t[0]);
    arm(0, START + 1);
    arm(1, START + 3);
    tick_at(START + 1);
    assert_int_equal(fired[1], 0);
    assert_int_equal(sirq_jiffies(cpu0), START + 6);
    tick(0);
    assert_int_equal(fired[1], 1);
}

/* ---- CPUs ------------------------------------------------------------------------------ */

static void migrate_moves_every_timer(void **state)
{
    (void)state;
    arm(0, START + 5);
    arm(1, START + 700);
    arm(2, START + 300000);
    fake_jiffy(&fake, START + 10); /* one is overdue */
    sirq_bh_disable(cpu0);
    sirq_bh_disable(cpu1);
    sirq_timer_migrate_local(cpu0, cpu1);
    sirq_bh_enable(cpu1);
    sirq_bh_enable(cpu0);
    assert_empty(0);
    assert_int_equal(base[1].pending, 3);
    fake_become(&fake, FAKE_APP(1));
    fake_jiffy(&fake, START + 11);
    tick(1);
    assert_int_equal(fired[0], 1);
    fake_jiffy(&fake, START + 699);
    tick(1);
    assert_int_equal(fired[1], 0);
    fake_jiffy(&fake, START + 700);
    tick(1);
    assert_int_equal(fired[1], 1);
    fake_jiffy(&fake, START + 300000);
    tick(1);
    assert_int_equal(fired_at[2], START + 300000);
    assert_empty(1);
}

static void use_without_the_cpus_bottom_halves_is_a_bug(void **state)
{
    (void)state;
    FAKE_EXPECT_BUG(&fake, sirq_timer_mod_local(cpu0, &t[0], 5));
    FAKE_EXPECT_BUG(&fake, sirq_timer_del_local(cpu0, &t[0]));
    sirq_bh_disable(cpu0);
    FAKE_EXPECT_BUG(&fake, sirq_timer_mod_local(cpu1, &t[0], 5)); /* another CPU's */
    FAKE_EXPECT_BUG(&fake, sirq_timer_migrate_local(cpu0, cpu1));
    FAKE_EXPECT_BUG(&fake, sirq_timer_migrate_local(cpu1, cpu0));
    FAKE_EXPECT_BUG(&fake, sirq_timer_migrate_local(cpu0, cpu0));
    sirq_hardirq_enter(cpu0);
    FAKE_EXPECT_BUG(&fake, sirq_timer_mod_local(cpu0, &t[0], 5)); /* on top of a section */
    sirq_hardirq_exit(cpu0);
    cpu0->timers = NULL;
    FAKE_EXPECT_BUG(&fake, sirq_timer_mod_local(cpu0, &t[0], 5));
    sirq_bh_enable(cpu0);
}

static void migrated_timer_says_where_it_is(void **state)
{
    (void)state;
    assert_null(sirq_timer_cpu(&t[0]));
    sirq_bh_disable(cpu0);
    sirq_bh_disable(cpu1);
    sirq_timer_mod_local(cpu0, &t[0], START + 10);
    assert_ptr_equal(sirq_timer_cpu(&t[0]), cpu0);
    FAKE_EXPECT_BUG(&fake, sirq_timer_del_local(cpu1, &t[0]));
    sirq_timer_migrate_local(cpu0, cpu1);
    assert_ptr_equal(sirq_timer_cpu(&t[0]), cpu1);
    FAKE_EXPECT_BUG(&fake, sirq_timer_del_local(cpu0, &t[0]));
    FAKE_EXPECT_BUG(&fake, sirq_timer_mod_local(cpu0, &t[0], START + 20));
    assert_true(sirq_timer_del_local(cpu1, &t[0]));
    assert_int_equal(base[1].pending, 0);
    sirq_timer_mod_local(cpu0, &t[0], START + 20); /* on no wheel: on any */
    assert_ptr_equal(sirq_timer_cpu(&t[0]), cpu0);
    sirq_timer_del_local(cpu0, &t[0]);
    sirq_bh_enable(cpu1);
    sirq_bh_enable(cpu0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(open_twice_returns_ebusy, set_up),
        cmocka_unit_test_setup(next_without_timers_or_base_is_never, set_up),
        cmocka_unit_test_setup(tick_raises_only_when_a_timer_may_be_due, set_up),
        cmocka_unit_test_setup(timer_at_every_cascade_boundary_fires_to_the_jiffy, set_up),
        cmocka_unit_test_setup(expires_in_the_past_or_now_fires_at_next_tick, set_up),
        cmocka_unit_test_setup(expires_beyond_the_wheel_is_clamped, set_up),
        cmocka_unit_test_setup(clamped_on_a_lagging_wheel_fires_in_time, set_up),
        cmocka_unit_test_setup(long_idle_gap_costs_no_step_a_jiffy, set_up),
        cmocka_unit_test_setup(mod_of_pending_moves_it_both_ways, set_up),
        cmocka_unit_test_setup(del_tells_whether_it_was_pending, set_up),
        cmocka_unit_test_setup(handler_rearming_in_the_past_runs_once_a_tick, set_up),
        cmocka_unit_test_setup(handler_rearming_periodically_keeps_its_period, set_up),
        cmocka_unit_test_setup(handler_may_delete_timers_about_to_fire, set_up),
        cmocka_unit_test_setup(handler_may_move_timers_about_to_fire, set_up),
        cmocka_unit_test_setup(timers_due_while_handlers_run_wait_for_the_next_tick, set_up),
        cmocka_unit_test_setup(migrate_moves_every_timer, set_up),
        cmocka_unit_test_setup(migrated_timer_says_where_it_is, set_up),
        cmocka_unit_test_setup(use_without_the_cpus_bottom_halves_is_a_bug, set_up),
    };

    return cmocka_run_group_tests_name("timer", tests, NULL, NULL);
}
