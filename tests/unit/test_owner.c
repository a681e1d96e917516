/* SPDX-License-Identifier: MIT */
/*
 * Ownership of a CPU's bottom halves: contention, hand-over, letting go; and that a raise
 * which falls anywhere into a run is not lost (test_step.c does the same at every
 * instruction).
 */
#include "fake_host.h"

#define NET_RX SIRQ_BIT(SIRQ_NET_RX)
#define TIMER SIRQ_BIT(SIRQ_TIMER)

static struct fake fake;
static struct sirq_cpu *const cpu0 = &fake.cpu[0], *const cpu1 = &fake.cpu[1];

static int set_up(void **state)
{
    (void)state;
    fake_init(&fake, 1000, NULL);
    fake_open(&fake, SIRQ_TIMER);
    fake_open(&fake, SIRQ_NET_RX);
    return 0;
}

/* The thread that was preempted in its section goes on and ends it. */
static void owner_ends_section(struct fake *f, enum fake_call call, struct sirq_cpu *cpu)
{
    unsigned self = f->self;

    if (call != FAKE_BH_LOCK)
        return;
    assert_int_equal(cpu->need_resched, 1); /* the owner is asked to hurry */
    __atomic_fetch_or(&cpu->word, (uint64_t)SIRQ_OWNER_WAITERS << 32, __ATOMIC_SEQ_CST);
    fake_become(f, FAKE_APP(cpu->id));
    sirq_bh_enable(cpu);
    fake_become(f, self);
}

static void bh_disable_of_owned_cpu_waits_for_owner(void **state)
{
    (void)state;
    fake.hook = owner_ends_section;
    sirq_bh_disable(cpu0);
    fake_become(&fake, FAKE_APP2(0));
    assert_false(sirq_in_softirq(cpu0));
    sirq_bh_disable(cpu0);
    assert_int_equal(fake.calls[FAKE_BH_LOCK], 1);
    assert_int_equal(fake.calls[FAKE_BH_UNLOCK], 1);
    assert_true(sirq_in_softirq(cpu0));
    assert_int_equal(cpu0->bh_depth, 1);
    sirq_bh_enable(cpu0);
    assert_int_equal(fake.calls[FAKE_BH_UNLOCK], 1); /* nobody waits any more */
    assert_int_equal(cpu0->word, 0);
}

static void unlock_with_waiter_leaves_pending_to_next_owner(void **state)
{
    (void)state;
    fake.hook = owner_ends_section;
    sirq_bh_disable(cpu0);
    sirq_raise(cpu0, SIRQ_NET_RX);
    fake_become(&fake, FAKE_APP2(0));
    sirq_bh_disable(cpu0);
    sirq_bh_enable(cpu0);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 1);
    assert_int_equal(cpu0->word, 0);
    assert_int_equal(cpu0->bh_depth, 0);
}

/* A waiter that was handed the CPU keeps the bit, and nobody waits behind it. */
static void unlock_with_stale_waiters_bit_runs_pending(void **state)
{
    (void)state;
    sirq_bh_disable(cpu0);
    __atomic_fetch_or(&cpu0->word, (uint64_t)SIRQ_OWNER_WAITERS << 32, __ATOMIC_SEQ_CST);
    sirq_raise(cpu0, SIRQ_NET_RX);
    sirq_bh_enable(cpu0);
    assert_int_equal(fake.calls[FAKE_BH_UNLOCK], 1);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 1);
    assert_int_equal(cpu0->word, 0);
}

static void uncontended_section_calls_no_host_lock(void **state)
{
    (void)state;
    fake_bh(&fake, 0, NET_RX);
    fake_irq(&fake, 0, NET_RX);
    assert_int_equal(fake.calls[FAKE_BH_LOCK], 0);
    assert_int_equal(fake.calls[FAKE_BH_UNLOCK], 0);
}

static void add_waiter(struct fake *f, struct sirq_cpu *cpu, unsigned vec)
{
    (void)f, (void)vec;
    __atomic_fetch_or(&cpu->word, (uint64_t)SIRQ_OWNER_WAITERS << 32, __ATOMIC_SEQ_CST);
    assert_true(sirq_in_softirq(cpu));
}

static void run_with_waiter_ends_in_host_unlock(void **state)
{
    (void)state;
    fake.action[SIRQ_NET_RX].body = add_waiter;
    for (unsigned entry = 0; entry < SIRQ_NR_ENTRIES; entry++) {
        fake_enter(&fake, 0, entry, NET_RX);
        assert_int_equal(fake.calls[FAKE_BH_UNLOCK], entry + 1);
        assert_int_equal(cpu0->word, 0);
    }
}

static void ksoftirqd_of_owned_cpu_waits_for_owner(void **state)
{
    (void)state;
    fake.hook = owner_ends_section;
    sirq_bh_disable(cpu0);
    fake_become(&fake, FAKE_APP2(0));
    sirq_raise(cpu0, SIRQ_NET_RX);
    assert_int_equal(cpu0->ksoftirqd, 1);
    fake_ksoftirqd(&fake, 0, 5);
    assert_int_equal(fake.calls[FAKE_BH_LOCK], 1);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 1);
}

static void contention_on_host_without_bh_lock_is_a_bug(void **state)
{
    (void)state;
    fake.host.bh_lock = NULL;
    sirq_bh_disable(cpu0);
    fake_become(&fake, FAKE_APP2(0));
    FAKE_EXPECT_BUG(&fake, sirq_bh_disable(cpu0));
}

static void bh_enable_by_other_thread_is_a_bug(void **state)
{
    (void)state;
    sirq_bh_disable(cpu0);
    fake_become(&fake, FAKE_APP2(0));
    FAKE_EXPECT_BUG(&fake, sirq_bh_enable(cpu0));
}

/* ---- synchronize -------------------------------------------------------------------- */

static void synchronize_of_idle_core_leaves_it_idle(void **state)
{
    (void)state;
    sirq_synchronize(&fake.core);
    assert_int_equal(fake.calls[FAKE_BH_LOCK], 0);
    assert_int_equal(cpu0->word | cpu1->word, 0);
    assert_int_equal(fake.calls[FAKE_WAKE_KSOFTIRQD], 0);
}

static void synchronize_waits_for_section_of_another_cpu(void **state)
{
    (void)state;
    fake.hook = owner_ends_section;
    fake_become(&fake, FAKE_APP(1));
    sirq_bh_disable(cpu1);
    fake_become(&fake, FAKE_APP(0));
    sirq_synchronize(&fake.core);
    assert_int_equal(fake.calls_cpu[FAKE_BH_LOCK][1], 1);
    assert_int_equal(fake.calls_cpu[FAKE_BH_LOCK][0], 0);
    assert_int_equal(cpu0->word | cpu1->word, 0);
}

static void synchronize_leaves_callers_own_section_alone(void **state)
{
    (void)state;
    sirq_bh_disable(cpu0);
    sirq_synchronize(&fake.core);
    assert_true(sirq_in_softirq(cpu0));
    assert_int_equal(cpu0->bh_depth, 1);
    sirq_bh_enable(cpu0);
}

static void raise_under_lock(struct fake *f, enum fake_call call, struct sirq_cpu *cpu)
{
    unsigned self = f->self;

    if (call != FAKE_BH_LOCK)
        return;
    fake_become(f, FAKE_APP(1));
    sirq_raise(cpu, SIRQ_NET_RX);
    __atomic_fetch_or(&cpu->word, (uint64_t)SIRQ_OWNER_WAITERS << 32, __ATOMIC_SEQ_CST);
    sirq_bh_enable(cpu);
    fake_become(f, self);
}

static void synchronize_hands_what_came_in_to_ksoftirqd(void **state)
{
    (void)state;
    fake.hook = raise_under_lock;
    fake_become(&fake, FAKE_APP(1));
    sirq_bh_disable(cpu1);
    fake_become(&fake, FAKE_APP(0));
    sirq_synchronize(&fake.core);
    assert_int_equal(sirq_pending(cpu1), NET_RX);
    assert_int_equal(cpu1->ksoftirqd, 1);
    fake_ksoftirqd(&fake, 1, 5);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 1);
}

static struct sirq_wq wq;
static unsigned relaxed;

/* Whoever issues the wake-ups is preempted there; another thread synchronizes. */
static void synchronize_in_wake(struct fake *f, enum fake_call call, struct sirq_cpu *cpu)
{
    if (call == FAKE_RELAX) {
        relaxed++;
        assert_int_equal(cpu->waking, 1);
        cpu->waking = 0; /* it goes on and is done: the test plays it */
    } else if (call == FAKE_WAKE) {
        fake_become(f, FAKE_APP(1));
        f->in_hook = false;
        sirq_synchronize(&f->core);
        assert_int_equal(relaxed, 1);
        cpu->waking = 1;
        fake_become(f, FAKE_APP(0));
    }
}

static void synchronize_waits_for_wakes_issued_after_letting_go(void **state)
{
    (void)state;
    relaxed = 0;
    wq = (struct sirq_wq){.eventfd = -1};
    fake.hook = synchronize_in_wake;
    sirq_bh_disable(cpu0);
    sirq_wake(cpu0, &wq);
    sirq_bh_enable(cpu0);
    assert_int_equal(fake.calls[FAKE_WAKE], 1);
    assert_int_equal(relaxed, 1);
    assert_int_equal(cpu0->waking, 0);
}

/* ---- a raise at every call of the host in a run --------------------------------------- */

enum { BY_INTERRUPT, BY_OTHER_CPU, BY_OTHER_THREAD, NR_WAYS };

static unsigned inject_at, inject_calls, inject_runs, inject_way;
static bool injected;

static void inject(struct fake *f, enum fake_call call, struct sirq_cpu *cpu)
{
    unsigned self = f->self;

    (void)call;
    if (inject_calls++ != inject_at || cpu->id != 0)
        return;
    injected = true;
    inject_runs = f->action[SIRQ_TIMER].runs;
    if (inject_way == BY_INTERRUPT) {
        fake_irq(f, 0, TIMER);
    } else if (inject_way == BY_OTHER_CPU) {
        fake_become(f, FAKE_APP(1));
        sirq_raise_remote(cpu, SIRQ_TIMER);
        fake_become(f, self);
        if (f->calls_cpu[FAKE_KICK][0] != 0)
            fake_irq(f, 0, 0);
    } else {
        fake_become(f, FAKE_APP2(0));
        sirq_raise(cpu, SIRQ_TIMER);
        fake_become(f, self);
    }
}

/* One run of `entry` with a TIMER raise at host call number inject_at; then only what the
 * core asked for happens: ksoftirqd runs if it is runnable.  False: no such call. */
static bool run_injected(const struct sirq_policy *policy, unsigned entry, unsigned again)
{
    set_up(NULL);
    sirq_set_policy(&fake.core, policy);
    fake.action[SIRQ_NET_RX].again = again;
    fake.action[SIRQ_NET_RX].cost_ns = 1000;
    inject_calls = 0;
    injected = false;
    fake.hook = inject;
    fake_enter(&fake, 0, entry, NET_RX);
    fake.hook = NULL;
    fake_ksoftirqd(&fake, 0, 100);
    return injected;
}

static void raise_at_every_host_call_of_a_run_is_not_lost(void **state)
{
    unsigned total = 0;

    (void)state;
    for (inject_way = 0; inject_way < NR_WAYS; inject_way++) {
        for (unsigned p = 0; sirq_policies[p] != NULL; p++) {
            for (unsigned i = 0; i < SIRQ_NR_ENTRIES * 3; i++) {
                static const unsigned again[] = {0, 1, 12};

                for (inject_at = 0; run_injected(sirq_policies[p], i % 3, again[i / 3]);
                     inject_at++, total++) {
                    assert_true(fake.action[SIRQ_TIMER].runs > inject_runs);
                    assert_int_equal(fake.action[SIRQ_NET_RX].runs, again[i / 3] + 1);
                    assert_int_equal(cpu0->word, 0);
                    assert_int_equal(cpu0->ksoftirqd, 0);
                    assert_true(inject_at < 200);
                }
                assert_true(inject_at > 1);
            }
        }
    }
    print_message("%u interleavings\n", total);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(bh_disable_of_owned_cpu_waits_for_owner, set_up),
        cmocka_unit_test_setup(unlock_with_waiter_leaves_pending_to_next_owner, set_up),
        cmocka_unit_test_setup(unlock_with_stale_waiters_bit_runs_pending, set_up),
        cmocka_unit_test_setup(uncontended_section_calls_no_host_lock, set_up),
        cmocka_unit_test_setup(run_with_waiter_ends_in_host_unlock, set_up),
        cmocka_unit_test_setup(ksoftirqd_of_owned_cpu_waits_for_owner, set_up),
        cmocka_unit_test_setup(contention_on_host_without_bh_lock_is_a_bug, set_up),
        cmocka_unit_test_setup(bh_enable_by_other_thread_is_a_bug, set_up),
        cmocka_unit_test_setup(synchronize_of_idle_core_leaves_it_idle, set_up),
        cmocka_unit_test_setup(synchronize_waits_for_section_of_another_cpu, set_up),
        cmocka_unit_test_setup(synchronize_leaves_callers_own_section_alone, set_up),
        cmocka_unit_test_setup(synchronize_hands_what_came_in_to_ksoftirqd, set_up),
        cmocka_unit_test_setup(synchronize_waits_for_wakes_issued_after_letting_go, set_up),
        cmocka_unit_test_setup(raise_at_every_host_call_of_a_run_is_not_lost, set_up),
    };

    return cmocka_run_group_tests_name("owner", tests, NULL, NULL);
}
