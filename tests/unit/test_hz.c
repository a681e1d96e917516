/* SPDX-License-Identifier: MIT */
/* A core built for one HZ (-DSIRQ_HZ=1000): the limit is a constant, and no other HZ is taken. */
#include "fake_host.h"

static struct fake fake;

static void core_of_another_hz_is_refused(void **state)
{
    static struct sirq_cpu cpus[1];
    struct sirq_core core;

    (void)state;
    fake_init(&fake, SIRQ_HZ, NULL);
    assert_int_equal(sirq_core_init(&core, cpus, 1, 250, &fake.host, NULL), -22);
    assert_int_equal(sirq_core_init(&core, cpus, 1, SIRQ_HZ, &fake.host, NULL), 0);
}

static void time2ms_ends_after_the_constant(void **state)
{
    (void)state;
    fake_init(&fake, SIRQ_HZ, sirq_policy_find("time2ms"));
    fake_open(&fake, SIRQ_NET_RX);
    fake_jiffy(&fake, 5000);
    fake.action[SIRQ_NET_RX].again = 9;
    fake.action[SIRQ_NET_RX].cost_ns = fake.core.tick_ns;
    fake_irq(&fake, 0, SIRQ_BIT(SIRQ_NET_RX));
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, SIRQ_MAX_SOFTIRQ_TIME(SIRQ_HZ));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(core_of_another_hz_is_refused),
        cmocka_unit_test(time2ms_ends_after_the_constant),
    };

    return cmocka_run_group_tests_name("hz", tests, NULL, NULL);
}
