/* SPDX-License-Identifier: MIT */
/* Setting a core up: init, open, names; and what it says to nonsense. */
#include <errno.h>

#include "fake_host.h"

static struct fake fake;

static int set_up(void **state)
{
    (void)state;
    fake_init(&fake, 1000, NULL);
    return 0;
}

static void action(struct sirq_cpu *cpu, void *data)
{
    (void)cpu;
    ++*(unsigned *)data;
}

static void init_bad_argument_returns_einval(void **state)
{
    static struct sirq_core core;
    static struct sirq_cpu cpu;

    (void)state;
    assert_int_equal(sirq_core_init(NULL, &cpu, 1, 250, &fake.host, NULL), -EINVAL);
    assert_int_equal(sirq_core_init(&core, NULL, 1, 250, &fake.host, NULL), -EINVAL);
    assert_int_equal(sirq_core_init(&core, &cpu, 0, 250, &fake.host, NULL), -EINVAL);
    assert_int_equal(sirq_core_init(&core, &cpu, 1, 0, &fake.host, NULL), -EINVAL);
    assert_int_equal(sirq_core_init(&core, &cpu, 1, 100001, &fake.host, NULL), -EINVAL);
    assert_int_equal(sirq_core_init(&core, &cpu, 1, 250, NULL, NULL), -EINVAL);
    assert_int_equal(sirq_core_init(&core, &cpu, 1, 1, &fake.host, NULL), 0);
    assert_int_equal(sirq_core_init(&core, &cpu, 1, 100000, &fake.host, NULL), 0);
}

static void init_sets_every_cpu_online_and_idle(void **state)
{
    (void)state;
    assert_int_equal(fake.core.tick_ns, 1000000);
    assert_int_equal(fake.core.stall_ns, 1000000000);
    assert_ptr_equal(sirq_get_policy(&fake.core), sirq_policy_default());
    assert_ptr_equal(fake.core.host_data, &fake);
    for (unsigned i = 0; i < FAKE_CPUS; i++) {
        assert_ptr_equal(fake.cpu[i].core, &fake.core);
        assert_int_equal(fake.cpu[i].id, i);
        assert_true(fake.cpu[i].online);
        assert_int_equal(fake.cpu[i].word, 0);
        assert_int_equal(fake.cpu[i].ksoftirqd, 0);
    }
}

static void open_bad_argument_returns_einval(void **state)
{
    unsigned n = 0;

    (void)state;
    assert_int_equal(sirq_open(&fake.core, SIRQ_NR_VECTORS, "x", action, &n), -EINVAL);
    assert_int_equal(sirq_open(&fake.core, UINT32_MAX, "x", action, &n), -EINVAL);
    assert_int_equal(sirq_open(&fake.core, SIRQ_HI, "x", NULL, &n), -EINVAL);
    assert_int_equal(sirq_open_user(&fake.core, "x", NULL, &n), -EINVAL);
}

static void open_twice_returns_ebusy_and_keeps_first(void **state)
{
    unsigned first = 0, second = 0;

    (void)state;
    assert_int_equal(sirq_open(&fake.core, SIRQ_BLOCK, "one", action, &first), 0);
    assert_int_equal(sirq_open(&fake.core, SIRQ_BLOCK, "two", action, &second), -EBUSY);
    fake_irq(&fake, 0, SIRQ_BIT(SIRQ_BLOCK));
    assert_int_equal(first, 1);
    assert_int_equal(second, 0);
    assert_string_equal(sirq_vector_name(&fake.core, SIRQ_BLOCK), "one");
}

static void open_user_takes_free_vectors_in_order_then_enospc(void **state)
{
    unsigned n = 0;

    (void)state;
    assert_int_equal(sirq_open(&fake.core, SIRQ_USER + 1, "mine", action, &n), 0);
    assert_int_equal(sirq_open_user(&fake.core, "x", action, &n), SIRQ_USER);
    for (int vec = SIRQ_USER + 2; vec < SIRQ_NR_VECTORS; vec++)
        assert_int_equal(sirq_open_user(&fake.core, "x", action, &n), vec);
    assert_int_equal(sirq_open_user(&fake.core, "x", action, &n), -ENOSPC);
    fake_irq(&fake, 0, SIRQ_BIT(31));
    assert_int_equal(n, 1);
}

static void vector_name_unopened_is_the_standard_one(void **state)
{
    static const char *const names[] = {"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
                                        "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};

    (void)state;
    for (unsigned vec = 0; vec < SIRQ_USER; vec++)
        assert_string_equal(sirq_vector_name(&fake.core, vec), names[vec]);
    assert_non_null(sirq_vector_name(&fake.core, SIRQ_USER));
    assert_null(sirq_vector_name(&fake.core, SIRQ_NR_VECTORS));
}

static void jiffies_follow_host_clock(void **state)
{
    (void)state;
    fake.now_ns = 1999999;
    assert_int_equal(sirq_now_ns(&fake.cpu[0]), 1999999);
    assert_int_equal(sirq_jiffies(&fake.cpu[0]), 1);
    fake.now_ns = 2000000;
    assert_int_equal(sirq_jiffies(&fake.cpu[0]), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(init_bad_argument_returns_einval, set_up),
        cmocka_unit_test_setup(init_sets_every_cpu_online_and_idle, set_up),
        cmocka_unit_test_setup(open_bad_argument_returns_einval, set_up),
        cmocka_unit_test_setup(open_twice_returns_ebusy_and_keeps_first, set_up),
        cmocka_unit_test_setup(open_user_takes_free_vectors_in_order_then_enospc, set_up),
        cmocka_unit_test_setup(vector_name_unopened_is_the_standard_one, set_up),
        cmocka_unit_test_setup(jiffies_follow_host_clock, set_up),
    };

    return cmocka_run_group_tests_name("open", tests, NULL, NULL);
}
