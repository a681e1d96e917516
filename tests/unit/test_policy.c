/* SPDX-License-Identifier: MIT */
/* The eight policies, each at every entry: how many passes a run makes that never ends by
 * itself, in every situation that some policy looks at. */
#include "fake_host.h"

#define NET_RX SIRQ_BIT(SIRQ_NET_RX)
#define TIMER SIRQ_BIT(SIRQ_TIMER)
#define ALL 40u /* passes of a run that nothing but the end of the work ends */
#define IRQ SIRQ_ENTRY_IRQ_EXIT
#define BH SIRQ_ENTRY_BH_ENABLE
#define KSD SIRQ_ENTRY_KSOFTIRQD

static struct fake fake;
static struct sirq_cpu *const cpu0 = &fake.cpu[0];

static const struct sirq_policy *policy_of(const char *name)
{
    const struct sirq_policy *policy = sirq_policy_find(name);

    assert_non_null(policy);
    assert_string_equal(policy->name, name);
    return policy;
}

static void start(const char *policy, unsigned hz)
{
    fake_init(&fake, hz, policy_of(policy));
    for (unsigned vec = 0; vec < SIRQ_NR_VECTORS; vec++)
        fake_open(&fake, vec);
    fake.action[SIRQ_NET_RX].again = ALL - 1;
}

/* Passes of one run of NET_RX, entered by `entry`. */
static unsigned passes(enum sirq_entry entry)
{
    unsigned before = fake.action[SIRQ_NET_RX].runs;

    fake_enter(&fake, 0, entry, NET_RX);
    return fake.action[SIRQ_NET_RX].runs - before;
}

struct row {
    const char *policy;
    unsigned want[SIRQ_NR_ENTRIES]; /* passes at IRQ_EXIT, BH_ENABLE, KSOFTIRQD */
};

static const struct row still[] = {
    {"inline", {ALL, ALL, ALL}},  {"restart10", {10, 10, 10}}, {"time2ms", {10, 10, 10}},
    {"resched", {ALL, ALL, ALL}}, {"looped", {10, 10, 10}},    {"ksoftirqd", {10, 10, 10}},
    {"rtdefer", {10, 10, 10}},    {"threaded", {0, 0, 10}},
};

#define NR_POLICIES (sizeof(still) / sizeof(still[0]))

static void table_lists_eight_policies_and_finds_them_by_name(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NR_POLICIES; i++) {
        assert_ptr_equal(sirq_policies[i], policy_of(still[i].policy));
        assert_true(sirq_policies[i]->origin[0] != '\0');
    }
    assert_null(sirq_policies[NR_POLICIES]);
    assert_null(sirq_policy_find("time"));
    assert_null(sirq_policy_find("time2msx"));
    assert_null(sirq_policy_find(""));
    assert_null(sirq_policy_find(NULL));
    assert_ptr_equal(sirq_policy_default(), policy_of("time2ms"));
}

static void run_with_jiffies_standing_still_ends_by_passes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NR_POLICIES; i++) {
        for (unsigned entry = 0; entry < SIRQ_NR_ENTRIES; entry++) {
            start(still[i].policy, 1000);
            assert_int_equal(passes(entry), still[i].want[entry]);
            assert_int_equal(sirq_pending(cpu0), still[i].want[entry] == ALL ? 0 : NET_RX);
            assert_int_equal(cpu0->ksoftirqd, still[i].want[entry] != ALL);
        }
    }
}

static void end_early(struct fake *f, struct sirq_cpu *cpu, unsigned vec)
{
    if (f->action[vec].runs == 3)
        __atomic_store_n(&cpu->need_resched, 1, __ATOMIC_RELAXED);
}

static void run_with_need_resched_in_third_pass_ends_there(void **state)
{
    static const struct row want[] = {
        {"inline", {ALL, ALL, ALL}}, {"restart10", {10, 10, 10}}, {"time2ms", {3, 3, 3}},
        {"resched", {3, 3, 3}},      {"looped", {3, 3, 3}},       {"ksoftirqd", {3, 3, 3}},
        {"rtdefer", {3, 3, 3}},      {"threaded", {0, 0, 3}},
    };

    (void)state;
    for (unsigned i = 0; i < NR_POLICIES; i++) {
        for (unsigned entry = 0; entry < SIRQ_NR_ENTRIES; entry++) {
            start(want[i].policy, 1000);
            fake.action[SIRQ_NET_RX].body = end_early;
            assert_int_equal(passes(entry), want[i].want[entry]);
        }
    }
}

/* Passes of a run that begins `into_ns` into a jiffy and takes `cost_ns` a pass. */
static unsigned timed(const char *policy, unsigned hz, uint64_t into_ns, uint64_t cost_ns)
{
    start(policy, hz);
    fake_jiffy(&fake, 100);
    fake.now_ns += into_ns;
    fake.action[SIRQ_NET_RX].cost_ns = cost_ns;
    return passes(BH);
}

static void time_limit_is_two_ms_and_at_least_one_jiffy(void **state)
{
    static const char *const limited[] = {"time2ms", "looped", "ksoftirqd", "rtdefer"};

    (void)state;
    assert_int_equal(SIRQ_MAX_SOFTIRQ_TIME(100), 1);
    assert_int_equal(SIRQ_MAX_SOFTIRQ_TIME(250), 1);
    assert_int_equal(SIRQ_MAX_SOFTIRQ_TIME(300), 1);
    assert_int_equal(SIRQ_MAX_SOFTIRQ_TIME(1000), 2);
    assert_int_equal(SIRQ_MAX_SOFTIRQ_TIME(10000), 20);
    for (unsigned i = 0; i < 4; i++) {
        /* from the beginning of a jiffy: 10, 4 and 2 ms */
        assert_int_equal(timed(limited[i], 100, 0, 2500000), 4);
        assert_int_equal(timed(limited[i], 250, 0, 1000000), 4);
        assert_int_equal(timed(limited[i], 1000, 0, 500000), 4);
        assert_int_equal(timed(limited[i], 1000, 0, 499999), 5);
        assert_int_equal(timed(limited[i], 10000, 0, 500000), 4);
        /* a nanosecond before its end: over at once where the limit is one jiffy */
        assert_int_equal(timed(limited[i], 100, 9999999, 1), 1);
        assert_int_equal(timed(limited[i], 250, 3999999, 1), 1);
        assert_int_equal(timed(limited[i], 1000, 999999, 500000), 3);
        /* one long action */
        assert_int_equal(timed(limited[i], 250, 0, 50000000), 1);
    }
}

static void policies_without_time_limit_go_on_whatever_the_clock_says(void **state)
{
    (void)state;
    assert_int_equal(timed("inline", 1000, 0, 50000000), ALL);
    assert_int_equal(timed("resched", 1000, 0, 50000000), ALL);
    assert_int_equal(timed("restart10", 1000, 0, 50000000), 10);
}

static void ksoftirqd_runnable_holds_under_the_guard_only(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NR_POLICIES; i++) {
        for (unsigned entry = IRQ; entry <= BH; entry++) {
            bool guard = still[i].want[entry] == 0 || i == 5;

            start(still[i].policy, 1000);
            sirq_ksoftirqd_wake(cpu0);
            assert_int_equal(passes(entry), guard ? 0 : still[i].want[entry]);
            assert_int_equal(cpu0->stats.held, guard);
        }
        start(still[i].policy, 1000);
        assert_int_equal(passes(KSD), still[i].want[KSD]);
    }
}

static void wake_ksoftirqd(struct fake *f, struct sirq_cpu *cpu, unsigned vec)
{
    (void)f, (void)vec;
    sirq_ksoftirqd_wake(cpu);
}

static void guard_does_not_end_a_run_that_has_begun(void **state)
{
    (void)state;
    start("ksoftirqd", 1000);
    fake.action[SIRQ_NET_RX].body = wake_ksoftirqd;
    assert_int_equal(passes(BH), 10);
    assert_int_equal(passes(BH), 0); /* the next one it holds */
    assert_int_equal(passes(IRQ), 0);
}

static void looped_in_this_jiffy_holds_at_interrupt_exit_only(void **state)
{
    (void)state;
    start("looped", 1000);
    fake_jiffy(&fake, 500);
    assert_int_equal(passes(IRQ), 10);
    fake.now_ns += 999999;
    assert_int_equal(passes(IRQ), 0); /* still jiffy 500 */
    assert_int_equal(passes(BH), 10); /* which does not ask */
    assert_int_equal(cpu0->stats.held, 1);
    fake.now_ns += 1;
    assert_int_equal(passes(IRQ), 10); /* jiffy 501 */
    assert_int_equal(passes(KSD), 10);
}

static void looped_never_went_round_runs_even_in_jiffy_zero(void **state)
{
    (void)state;
    start("looped", 1000);
    fake_jiffy(&fake, 0);
    fake.action[SIRQ_NET_RX].again = 0;
    assert_int_equal(passes(IRQ), 1);
    assert_int_equal(passes(IRQ), 1); /* a run of one pass did not go round */
    fake.action[SIRQ_NET_RX].again = 1;
    assert_int_equal(passes(IRQ), 2);
    assert_int_equal(passes(IRQ), 0);
}

static void rt_task_defers_long_vectors_under_rtdefer_only(void **state)
{
    const uint32_t longs = SIRQ_BIT(SIRQ_NET_TX) | SIRQ_BIT(SIRQ_NET_RX) | SIRQ_BIT(SIRQ_BLOCK) |
                           SIRQ_BIT(SIRQ_IRQ_POLL);

    (void)state;
    for (unsigned i = 0; i < NR_POLICIES; i++) {
        for (unsigned entry = 0; entry < SIRQ_NR_ENTRIES; entry++) {
            uint32_t left = 0;

            start(still[i].policy, 1000);
            fake.action[SIRQ_NET_RX].again = 0;
            cpu0->rt_tasks = 1;
            fake_enter(&fake, 0, entry, UINT32_MAX);
            if (i == 6 && entry != KSD)
                left = longs;
            if (still[i].want[entry] == 0)
                left = UINT32_MAX;
            assert_int_equal(sirq_pending(cpu0), left);
            assert_int_equal(cpu0->stats.deferred, left == longs);
        }
    }
}

static void rtdefer_without_rt_task_ignores_ksoftirqd(void **state)
{
    (void)state;
    start("rtdefer", 1000);
    sirq_ksoftirqd_wake(cpu0);
    assert_int_equal(passes(IRQ), 10);
    cpu0->rt_tasks = 1;
    assert_int_equal(passes(IRQ), 0);
    fake_irq(&fake, 0, TIMER);
    assert_int_equal(fake.action[SIRQ_TIMER].runs, 1);
    cpu0->rt_tasks = 0;
    assert_int_equal(passes(IRQ), 10);
}

static void rt_task_arriving_in_a_run_stops_long_vectors(struct fake *f, struct sirq_cpu *cpu,
                                                         unsigned vec)
{
    if (f->action[vec].runs == 2) {
        cpu->rt_tasks = 1;
        sirq_raise(cpu, SIRQ_TIMER);
    }
}

static void rtdefer_asks_before_each_pass(void **state)
{
    (void)state;
    start("rtdefer", 1000);
    fake.action[SIRQ_NET_RX].body = rt_task_arriving_in_a_run_stops_long_vectors;
    assert_int_equal(passes(IRQ), 2);
    assert_int_equal(fake.action[SIRQ_TIMER].runs, 1);
    assert_int_equal(sirq_pending(cpu0), NET_RX);
}

static void place_under_rtdefer_avoids_busy_cpus(void **state)
{
    unsigned (*place)(const struct sirq_task_view *) = policy_of("rtdefer")->place;
    uint32_t busy[70] = {0}, rt[70] = {0};
    uint64_t allowed[2] = {UINT64_MAX, 0x3f};
    struct sirq_task_view task = {1, busy, rt, allowed, 70};

    (void)state;
    assert_int_equal(place(&task), 1); /* its own CPU when that is free */
    busy[1] = 1;
    assert_int_equal(place(&task), 0);
    rt[0] = 1;
    assert_int_equal(place(&task), 2);
    allowed[0] = 2;
    assert_int_equal(place(&task), 64);
    allowed[1] = 0;
    assert_int_equal(place(&task), 1); /* nowhere: where it was */
    for (unsigned i = 0; i < NR_POLICIES; i++)
        assert_true((sirq_policies[i]->place != NULL) == (i == 6));
}

static void threaded_runs_everything_in_ksoftirqd_only(void **state)
{
    (void)state;
    start("threaded", 1000);
    fake.action[SIRQ_NET_RX].again = 0;
    fake_irq(&fake, 0, UINT32_MAX);
    fake_bh(&fake, 0, UINT32_MAX);
    assert_int_equal(fake.nlog, 0);
    assert_int_equal(fake_ksoftirqd(&fake, 0, 3), 1);
    assert_int_equal(fake.nlog, SIRQ_NR_VECTORS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_lists_eight_policies_and_finds_them_by_name),
        cmocka_unit_test(run_with_jiffies_standing_still_ends_by_passes),
        cmocka_unit_test(run_with_need_resched_in_third_pass_ends_there),
        cmocka_unit_test(time_limit_is_two_ms_and_at_least_one_jiffy),
        cmocka_unit_test(policies_without_time_limit_go_on_whatever_the_clock_says),
        cmocka_unit_test(ksoftirqd_runnable_holds_under_the_guard_only),
        cmocka_unit_test(guard_does_not_end_a_run_that_has_begun),
        cmocka_unit_test(looped_in_this_jiffy_holds_at_interrupt_exit_only),
        cmocka_unit_test(looped_never_went_round_runs_even_in_jiffy_zero),
        cmocka_unit_test(rt_task_defers_long_vectors_under_rtdefer_only),
        cmocka_unit_test(rtdefer_without_rt_task_ignores_ksoftirqd),
        cmocka_unit_test(rtdefer_asks_before_each_pass),
        cmocka_unit_test(place_under_rtdefer_avoids_busy_cpus),
        cmocka_unit_test(threaded_runs_everything_in_ksoftirqd_only),
    };

    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
