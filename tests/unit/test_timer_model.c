/* SPDX-License-Identifier: MIT */
/*
 * The timer wheel against the simplest model there is, an array of expiries: random arming,
 * deleting and ticks, in and outside handlers.  After every tick exactly those timers have
 * fired that the model says, in order of expiry, and the wheel's bookkeeping is right.
 *
 * SIRQ_TEST_SEED=n replays or explores; a failure prints it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include <sirq/timer.h>

#include "fake_host.h"

#define NR_TIMERS 150u
#define IDLE UINT64_MAX

static struct fake fake;
static struct sirq_cpu *const cpu0 = &fake.cpu[0];
static struct sirq_timer_base base[FAKE_CPUS];
static struct sirq_timer timer[NR_TIMERS];
static uint64_t model[NR_TIMERS]; /* expiry, or IDLE */
static uint64_t random_state, now;
static unsigned nfired;

/* xorshift64*: any generator does, this one is short and has no global of its own */
static uint64_t rnd(uint64_t below)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (random_state * UINT64_C(0x2545f4914f6cdd1d) >> 20) % below;
}

/* A distance of any order of magnitude, often just beside a block boundary. */
static uint64_t rnd_delta(unsigned max_bits)
{
    uint64_t delta = rnd(UINT64_C(1) << (1 + rnd(max_bits)));

    if (rnd(4) == 0)
        delta = (((now + delta) | (SIRQ_WHEEL_SLOTS - 1)) + rnd(3)) - now;
    return delta;
}

static uint64_t model_min(void)
{
    uint64_t min = IDLE;

    for (unsigned i = 0; i < NR_TIMERS; i++)
        if (model[i] < min)
            min = model[i];
    return min;
}

static void arm(unsigned i)
{
    uint64_t expires = rnd(8) == 0 ? now - rnd(100) : now + rnd_delta(32);

    sirq_timer_mod_local(cpu0, &timer[i], expires);
    if (expires <= now)
        expires = now + 1;
    if (expires > now + SIRQ_TIMER_MAX_JIFFIES)
        expires = now + SIRQ_TIMER_MAX_JIFFIES;
    assert_int_equal(timer[i].expires, expires);
    model[i] = expires;
}

static void touch_one(void)
{
    unsigned i = (unsigned)rnd(NR_TIMERS);

    if (rnd(3) == 0) {
        assert_int_equal(sirq_timer_del_local(cpu0, &timer[i]), model[i] != IDLE);
        model[i] = IDLE;
    } else {
        arm(i);
    }
}

static void fired(struct sirq_cpu *cpu, struct sirq_timer *which, void *data)
{
    unsigned i = (unsigned)(which - timer);

    assert_ptr_equal(cpu, cpu0);
    assert_ptr_equal(data, &model[i]);
    assert_true(model[i] <= now);         /* pending, and not early */
    assert_true(model[i] == model_min()); /* in order of expiry */
    model[i] = IDLE;
    nfired++;
    if (rnd(2) == 0)
        arm(i);
    if (rnd(4) == 0)
        touch_one();
}

static unsigned slot_count(unsigned level, unsigned slot)
{
    unsigned n = 0;

    for (struct sirq_timer *at = base[0].slot[level][slot]; at != NULL; at = at->next)
        n++;
    assert_int_equal(base[0].occupied[level] >> slot & 1, n != 0);
    return n;
}

static void check(void)
{
    unsigned in_model = 0, in_wheel = 0;

    for (unsigned i = 0; i < NR_TIMERS; i++) {
        assert_int_equal(sirq_timer_pending(&timer[i]), model[i] != IDLE);
        in_model += model[i] != IDLE;
    }
    for (unsigned level = 0; level < SIRQ_WHEEL_LEVELS; level++)
        for (unsigned slot = 0; slot < SIRQ_WHEEL_SLOTS; slot++)
            in_wheel += slot_count(level, slot);
    assert_int_equal(in_wheel, in_model);
    assert_int_equal(base[0].pending, in_model);
    assert_true(sirq_timer_next(cpu0) <= model_min());
    assert_true(in_model != 0 || sirq_timer_next(cpu0) == UINT64_MAX);
}

static void step(void)
{
    sirq_bh_disable(cpu0);
    for (unsigned n = (unsigned)rnd(8); n > 0; n--)
        touch_one();
    check();
    sirq_bh_enable(cpu0);

    now += 1 + (rnd(3) == 0 ? rnd_delta(31) : rnd(70));
    fake_jiffy(&fake, now);
    sirq_hardirq_enter(cpu0);
    sirq_tick(cpu0);
    sirq_hardirq_exit(cpu0);
    assert_true(model_min() > now); /* none late */
    assert_true(sirq_timer_next(cpu0) > now);
    check();
}

static void random_operations_behave_as_the_model(void **state)
{
    const char *given = getenv("SIRQ_TEST_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : 20130103;

    (void)state;
    print_message("SIRQ_TEST_SEED=%" PRIu64 "\n", seed);
    random_state = seed * 2 + 1;
    for (unsigned i = 0; i < 200 * 3; i++)
        rnd(2);
    fake_init(&fake, 1000, sirq_policy_find("inline"));
    now = 100 + rnd(5000);
    fake_jiffy(&fake, now);
    assert_int_equal(sirq_timer_open(&fake.core, base), 0);
    for (unsigned i = 0; i < NR_TIMERS; i++) {
        sirq_timer_init(&timer[i], fired, &model[i]);
        model[i] = IDLE;
    }
    for (unsigned i = 0; i < 20000; i++)
        step();
    assert_true(nfired > 10000);
    print_message("%u timers fired\n", nfired);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations_behave_as_the_model),
    };

    return cmocka_run_group_tests_name("timer_model", tests, NULL, NULL);
}
