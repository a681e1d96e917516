/* SPDX-License-Identifier: MIT */
/* What a host that traces is told, in which order. */
#include "fake_host.h"

static struct fake fake;
static struct sirq_cpu *const cpu0 = &fake.cpu[0];

static struct {
    enum sirq_trace what;
    uint32_t arg;
} seen[64];
static unsigned nseen;

static void trace(struct sirq_cpu *cpu, enum sirq_trace what, uint32_t arg)
{
    assert_ptr_equal(cpu, cpu0);
    assert_true(nseen < 64);
    seen[nseen].what = what;
    seen[nseen++].arg = arg;
}

static int set_up(void **state)
{
    (void)state;
    fake_init(&fake, 1000, NULL);
    fake_open(&fake, SIRQ_HI);
    fake_open(&fake, SIRQ_NET_RX);
    fake.host.trace = trace;
    cpu0->traced = true;
    nseen = 0;
    return 0;
}

static void expect(unsigned i, enum sirq_trace what, uint32_t arg)
{
    assert_true(i < nseen);
    assert_int_equal(seen[i].what, what);
    assert_int_equal(seen[i].arg, arg);
}

static void trace_of_a_run_names_each_step_in_order(void **state)
{
    (void)state;
    fake.action[SIRQ_NET_RX].again = 1;
    sirq_hardirq_enter(cpu0);
    sirq_raise(cpu0, SIRQ_NET_RX);
    sirq_raise(cpu0, SIRQ_NET_RX); /* merged: nothing new */
    sirq_hardirq_exit(cpu0);
    expect(0, SIRQ_TRACE_RAISE, SIRQ_NET_RX);
    expect(1, SIRQ_TRACE_RUN_BEGIN, SIRQ_ENTRY_IRQ_EXIT);
    expect(2, SIRQ_TRACE_ENTRY, SIRQ_NET_RX);
    expect(3, SIRQ_TRACE_RAISE, SIRQ_NET_RX);
    expect(4, SIRQ_TRACE_EXIT, SIRQ_NET_RX);
    expect(5, SIRQ_TRACE_RESTART, 1);
    expect(6, SIRQ_TRACE_ENTRY, SIRQ_NET_RX);
    expect(7, SIRQ_TRACE_EXIT, SIRQ_NET_RX);
    expect(8, SIRQ_TRACE_RUN_END, 2);
    assert_int_equal(nseen, 9);
}

static void trace_of_a_punt_names_what_is_left(void **state)
{
    (void)state;
    fake.action[SIRQ_HI].again = 100;
    sirq_bh_disable(cpu0);
    sirq_raise(cpu0, SIRQ_HI);
    fake.now_ns += 1;
    sirq_bh_enable(cpu0);
    expect(nseen - 2, SIRQ_TRACE_RUN_END, SIRQ_MAX_RESTART);
    expect(nseen - 1, SIRQ_TRACE_PUNT, SIRQ_BIT(SIRQ_HI));
}

static void raise_remote_is_traced_for_the_cpu_it_goes_to(void **state)
{
    (void)state;
    fake_become(&fake, 1);
    sirq_raise_remote(cpu0, SIRQ_HI);
    sirq_raise_remote(cpu0, SIRQ_HI);
    expect(0, SIRQ_TRACE_RAISE, SIRQ_HI);
    assert_int_equal(nseen, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(trace_of_a_run_names_each_step_in_order, set_up),
        cmocka_unit_test_setup(trace_of_a_punt_names_what_is_left, set_up),
        cmocka_unit_test_setup(raise_remote_is_traced_for_the_cpu_it_goes_to, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
