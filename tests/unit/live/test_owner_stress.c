/* SPDX-License-Identifier: MIT */
/*
 * The owner word as a priority-inheritance futex, under every kind of contender at once:
 * threads of one CPU with sections and raises, ksoftirqd, signals from outside, a real-time
 * thread where that is permitted.  Sections and runs exclude each other, and no raise is
 * lost, without help of the tick: that is counted.
 */
#include "live_env.h"

#include <pthread.h>
#include <time.h>

#define SECONDS_NS UINT64_C(1500000000)

static struct sirq_live *live;
static struct sirq_cpu *cpu;
static uint32_t inside, stop;
static uint64_t raised, seen, sections, plain; /* plain: written under ownership only */

static void enter(void)
{
    if (__atomic_exchange_n(&inside, 1, __ATOMIC_SEQ_CST) != 0)
        abort();
    plain++;
}

static void leave(void)
{
    __atomic_store_n(&inside, 0, __ATOMIC_SEQ_CST);
}

static void action(struct sirq_cpu *on, void *data)
{
    uint64_t now = __atomic_load_n(&raised, __ATOMIC_SEQ_CST);

    (void)on, (void)data;
    enter();
    for (volatile unsigned i = 0; i < 300; i++)
        ;
    leave();
    __atomic_store_n(&seen, now, __ATOMIC_SEQ_CST);
}

static void raise_one(bool remote)
{
    __atomic_fetch_add(&raised, 1, __ATOMIC_SEQ_CST);
    if (remote)
        sirq_raise_remote(cpu, SIRQ_BLOCK);
    else
        sirq_raise(cpu, SIRQ_BLOCK);
}

static void *contend(void *arg)
{
    const struct sirq_sched *sched = arg;

    if (sirq_live_thread_register(live, (int)env_numbers[0], sched, NULL) != 0)
        return NULL;
    for (unsigned i = 0; !__atomic_load_n(&stop, __ATOMIC_SEQ_CST); i++) {
        sirq_bh_disable(cpu);
        enter();
        for (volatile unsigned k = 0; k < 200; k++)
            ;
        if (i % 64 == 0)
            sched_yield(); /* preempted inside */
        if (i % 2)
            raise_one(false);
        leave();
        __atomic_fetch_add(&sections, 1, __ATOMIC_RELAXED);
        sirq_bh_enable(cpu);
        if (i % 4 == 0)
            raise_one(false);
        if (sched != NULL || i % 256 == 0)
            env_sleep_us(100);
    }
    sirq_live_thread_unregister(live);
    return NULL;
}

static void *kick(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
        raise_one(true);
        env_sleep_us(20);
    }
    return NULL;
}

static void run_contenders(enum sirq_delivery delivery)
{
    static const struct sirq_sched rr = {.policy = SCHED_RR, .priority = 5};
    uint64_t end, made;
    pthread_t threads[6];

    live = env_start(delivery, env_ncpus);
    cpu = sirq_live_cpu(live, env_numbers[0]);
    inside = stop = 0;
    raised = seen = sections = plain = 0;
    assert_int_equal(sirq_open(sirq_live_core(live), SIRQ_BLOCK, "stress", action, NULL), 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, contend, NULL), 0);
    assert_int_equal(pthread_create(&threads[4], NULL, contend, (void *)(uintptr_t)&rr), 0);
    assert_int_equal(pthread_create(&threads[5], NULL, kick, NULL), 0);
    env_sleep_us((unsigned)(SECONDS_NS / 3000));
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    end = env_now_ns() + 3000000000;
    made = __atomic_load_n(&raised, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&seen, __ATOMIC_SEQ_CST) != made && env_now_ns() < end)
        env_sleep_us(500);
    assert_int_equal(seen, made);
    assert_true(sections > 100);
    sirq_live_stop(live);
}

static void contenders_of_one_cpu_exclude_each_other_and_lose_nothing(void **state)
{
    (void)state;
    run_contenders(SIRQ_DELIVER_SIGNAL);
    run_contenders(SIRQ_DELIVER_THREAD);
    run_contenders(SIRQ_DELIVER_POLL);
}

/* ---- handed over with nobody behind ------------------------------------------------------ */

static void *hold_shortly(void *arg)
{
    (void)arg;
    sirq_bh_disable(cpu);
    env_sleep_us(3000);
    sirq_bh_enable(cpu);
    return NULL;
}

/* The waiter is handed the CPU, keeps the kernel's waiters bit, and work comes in. */
static void *take_over(void *arg)
{
    uint32_t *lost = arg;

    env_sleep_us(1000);
    sirq_bh_disable(cpu);
    __atomic_fetch_add(&raised, 1, __ATOMIC_SEQ_CST);
    sirq_raise(cpu, SIRQ_BLOCK);
    sirq_bh_enable(cpu);
    if (__atomic_load_n(&seen, __ATOMIC_SEQ_CST) != __atomic_load_n(&raised, __ATOMIC_SEQ_CST))
        ++*lost;
    return NULL;
}

static void enable_after_hand_over_runs_pending_at_once(void **state)
{
    uint32_t lost = 0;

    (void)state;
    live = env_start(SIRQ_DELIVER_THREAD, 1);
    cpu = sirq_live_cpu(live, env_numbers[0]);
    inside = 0;
    raised = seen = 0;
    sirq_set_policy(sirq_live_core(live), sirq_policy_find("inline"));
    assert_int_equal(sirq_open(sirq_live_core(live), SIRQ_BLOCK, "stress", action, NULL), 0);
    for (unsigned i = 0; i < 30; i++) {
        pthread_t holder, taker;

        assert_int_equal(pthread_create(&holder, NULL, hold_shortly, NULL), 0);
        assert_int_equal(pthread_create(&taker, NULL, take_over, &lost), 0);
        pthread_join(holder, NULL);
        pthread_join(taker, NULL);
    }
    assert_int_equal(lost, 0);
    sirq_live_stop(live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contenders_of_one_cpu_exclude_each_other_and_lose_nothing),
        cmocka_unit_test(enable_after_hand_over_runs_pending_at_once),
    };

    env_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
