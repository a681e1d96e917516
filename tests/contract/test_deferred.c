/* SPDX-License-Identifier: MIT */
/* Tasklets, timers, wait queues, watchdog: what holds on every host. */
#include "host.h"

#include <errno.h>
#include <string.h>

#include <sirq/tasklet.h>
#include <sirq/timer.h>

static uint64_t reports_stall, reports_long;

static void on_report(void *arg, unsigned cpu, const char *what, uint64_t value)
{
    (void)arg, (void)cpu, (void)value;
    if (strstr(what, "stood still") != NULL)
        contract_add(&reports_stall, 1);
    if (strstr(what, "does not end") != NULL)
        contract_add(&reports_long, 1);
}

static int set_up_with(uint64_t stall_ns)
{
    const struct contract_config config = {.ncpus = 2,
                                           .hz = 1000,
                                           .policy = sirq_policy_find("time2ms"),
                                           .stall_ns = stall_ns,
                                           .report = on_report};

    reports_stall = reports_long = 0;
    contract_start(&config);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return set_up_with(0);
}

static int set_up_short_stall(void **state)
{
    (void)state;
    return set_up_with(30000000);
}

static int tear_down(void **state)
{
    (void)state;
    if (core != NULL)
        contract_stop();
    return 0;
}

/* ---- tasklets -------------------------------------------------------------------------- */

static struct {
    struct sirq_tasklet tasklet;
    uint32_t inside;
    uint64_t runs, scheduled, seen;
} one;

static void tasklet_fn(struct sirq_tasklet *tasklet, void *data)
{
    uint64_t scheduled = contract_load(&one.scheduled);

    (void)tasklet, (void)data;
    if (__atomic_exchange_n(&one.inside, 1, __ATOMIC_SEQ_CST) != 0)
        abort();
    for (volatile unsigned i = 0; i < 300; i++)
        ;
    contract_add(&one.runs, 1);
    __atomic_store_n(&one.seen, scheduled, __ATOMIC_SEQ_CST);
    __atomic_store_n(&one.inside, 0, __ATOMIC_SEQ_CST);
}

static void schedule_often(struct sirq_cpu *cpu, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 3000; i++) {
        contract_add(&one.scheduled, 1);
        sirq_tasklet_schedule(cpu, &one.tasklet);
        if (i % 16 == 0)
            host->pause();
    }
}

static bool tasklet_seen(void *arg)
{
    (void)arg;
    return contract_load(&one.seen) == contract_load(&one.scheduled);
}

static void kill_it(struct sirq_cpu *cpu, void *arg)
{
    (void)arg;
    sirq_tasklet_kill(cpu, &one.tasklet);
    if (one.inside != 0 || one.seen != one.scheduled)
        abort();
    memset(&one.tasklet, 0x5a, sizeof(one.tasklet)); /* nobody looks at it any more */
}

static void tasklet_on_two_cpus_never_runs_twice_at_once(void **state)
{
    (void)state;
    memset(&one, 0, sizeof(one));
    sirq_tasklet_init(&one.tasklet, tasklet_fn, NULL);
    for (unsigned i = 0; i < 4; i++)
        host->spawn(i % core->ncpus, schedule_often, NULL);
    host->join();
    contract_expect(tasklet_seen, NULL);
    assert_true(one.runs > 0);
}

static void schedule_and_leave(struct sirq_cpu *cpu, void *arg)
{
    (void)arg;
    contract_add(&one.scheduled, 1);
    sirq_tasklet_schedule(cpu, &one.tasklet);
}

static void tasklet_kill_waits_for_its_run(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        memset(&one, 0, sizeof(one));
        sirq_tasklet_init(&one.tasklet, tasklet_fn, NULL);
        contract_run(core->ncpus - 1, schedule_and_leave, NULL);
        contract_run(0, kill_it, NULL);
        assert_int_equal(one.runs, 1);
    }
}

/* ---- timers ---------------------------------------------------------------------------- */

#define TIMERS 64u

static struct {
    struct sirq_timer timer[TIMERS];
    uint64_t fired, early, late, latest;
} wheel;

static void timer_fn(struct sirq_cpu *cpu, struct sirq_timer *timer, void *data)
{
    uint64_t now = sirq_jiffies(cpu), late = now - timer->expires;

    (void)data;
    if (now < timer->expires) {
        contract_add(&wheel.early, 1);
        late = 0;
    }
    if (late > wheel.latest)
        wheel.latest = late;
    contract_add(&wheel.fired, 1);
}

static void arm_timers(struct sirq_cpu *cpu, void *arg)
{
    (void)arg;
    sirq_bh_disable(cpu);
    for (unsigned i = 0; i < TIMERS; i++) {
        sirq_timer_init(&wheel.timer[i], timer_fn, NULL);
        sirq_timer_mod_local(cpu, &wheel.timer[i], sirq_jiffies(cpu) + 1 + i * 3);
    }
    sirq_bh_enable(cpu);
}

static void delete_half(struct sirq_cpu *cpu, void *arg)
{
    (void)arg;
    sirq_bh_disable(cpu);
    for (unsigned i = 1; i < TIMERS; i += 2)
        if (sirq_timer_del_local(cpu, &wheel.timer[i]))
            contract_add(&wheel.fired, 1);
    sirq_bh_enable(cpu);
}

static bool all_fired(void *arg)
{
    (void)arg;
    return contract_load(&wheel.fired) == TIMERS;
}

static void timers_fire_not_early_and_soon(void **state)
{
    (void)state;
    memset(&wheel, 0, sizeof(wheel));
    contract_run(0, arm_timers, NULL);
    contract_expect(all_fired, NULL);
    assert_int_equal(wheel.early, 0);
    /* "Within a few ticks" is up to the machine's scheduler; half a second is a lost one. */
    assert_true(wheel.latest < 500);
}

static void timers_deleted_never_fire(void **state)
{
    (void)state;
    memset(&wheel, 0, sizeof(wheel));
    contract_run(core->ncpus - 1, arm_timers, NULL);
    contract_run(core->ncpus - 1, delete_half, NULL);
    contract_expect(all_fired, NULL);
    assert_int_equal(wheel.early, 0);
}

/* ---- wait queues ----------------------------------------------------------------------- */

#define ITEMS 2000u

static struct {
    struct sirq_wq wq;
    uint64_t made, taken, timeouts;
} store;

static struct contract_action maker;

static void make_one(struct sirq_cpu *cpu, struct contract_action *self)
{
    (void)self;
    if (contract_load(&store.made) >= ITEMS)
        return;
    contract_add(&store.made, 1); /* seq_cst, before nwaiters is read */
    if (__atomic_load_n(&store.wq.nwaiters, __ATOMIC_SEQ_CST) != 0)
        sirq_wake(cpu, &store.wq);
}

static bool take_one(void)
{
    uint64_t taken = contract_load(&store.taken);

    while (taken < contract_load(&store.made))
        if (__atomic_compare_exchange_n(&store.taken, &taken, taken + 1, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return true;
    return false;
}

static void consume(struct sirq_cpu *cpu, void *arg)
{
    (void)arg;
    while (contract_load(&store.taken) < ITEMS) {
        uint32_t seq = __atomic_load_n(&store.wq.seq, __ATOMIC_SEQ_CST);
        int ret = 0;

        if (take_one())
            continue;
        __atomic_fetch_add(&store.wq.nwaiters, 1, __ATOMIC_SEQ_CST);
        if (contract_load(&store.taken) >= contract_load(&store.made) &&
            contract_load(&store.taken) < ITEMS)
            ret = cpu->core->host->wait(cpu, &store.wq, seq, 1000000000);
        __atomic_fetch_sub(&store.wq.nwaiters, 1, __ATOMIC_SEQ_CST);
        if (ret == -ETIMEDOUT && contract_load(&store.taken) < contract_load(&store.made))
            contract_add(&store.timeouts, 1);
    }
}

static void produce(struct sirq_cpu *cpu, void *arg)
{
    (void)arg;
    while (contract_load(&store.made) < ITEMS) {
        contract_raise(cpu, &maker);
        host->pause();
    }
}

static void wait_and_wake_lose_no_wake_up(void **state)
{
    (void)state;
    memset(&store, 0, sizeof(store));
    store.wq.eventfd = -1;
    maker = (struct contract_action){.body = make_one};
    contract_open(&maker);
    for (unsigned i = 0; i < 3; i++)
        host->spawn(i % core->ncpus, consume, NULL);
    host->spawn(0, produce, NULL);
    host->spawn(core->ncpus - 1, produce, NULL);
    host->join();
    assert_int_equal(store.taken, ITEMS);
    assert_int_equal(store.timeouts, 0);
}

static void wait_for(struct sirq_cpu *cpu, void *arg)
{
    uint64_t start = sirq_now_ns(cpu), *out = arg;
    int ret = 0;

    for (unsigned i = 0; i < 1000 && ret != -ETIMEDOUT; i++)
        ret = cpu->core->host->wait(cpu, &store.wq, store.wq.seq, 20000000);
    *out = ret == -ETIMEDOUT ? sirq_now_ns(cpu) - start : 0;
}

static void wait_without_wake_times_out(void **state)
{
    uint64_t took = 0;

    (void)state;
    memset(&store, 0, sizeof(store));
    store.wq.eventfd = -1;
    contract_run(0, wait_for, &took);
    assert_true(took >= 19000000);
}

/* ---- watchdog -------------------------------------------------------------------------- */

static uint32_t hold_all(const struct sirq_view *view)
{
    (void)view;
    return 0;
}

static const struct sirq_policy holder = {
    .name = "holder", .origin = "a policy that is wrong", .select = hold_all};

static void watchdog_replaces_policy_that_holds_everything(void **state)
{
    (void)state;
    maker = (struct contract_action){0};
    contract_open(&maker);
    sirq_set_policy(core, &holder);
    contract_raise_remote(host->cpu(0), &maker);
    contract_expect_all_seen(&maker);
    assert_ptr_equal(sirq_get_policy(core), sirq_policy_default());
    assert_int_equal(contract_load(&host->cpu(0)->stats.stalls), 1);
}

static uint64_t endless;

static void raise_again(struct sirq_cpu *cpu, struct contract_action *self)
{
    if (contract_load(&endless))
        contract_raise(cpu, self);
}

static bool long_run_counted(void *arg)
{
    (void)arg;
    return contract_load(&host->cpu(0)->stats.long_runs) > 0 && contract_load(&reports_long) > 0;
}

static void watchdog_reports_run_that_does_not_end(void **state)
{
    (void)state;
    maker = (struct contract_action){.body = raise_again};
    contract_open(&maker);
    /* need_resched would end it: nobody else is there to ask for it but the tick. */
    sirq_set_policy(core, sirq_policy_find("inline"));
    endless = 1;
    contract_raise_remote(host->cpu(0), &maker);
    contract_expect(long_run_counted, NULL);
    assert_ptr_equal(sirq_get_policy(core), sirq_policy_find("inline"));
    __atomic_store_n(&endless, 0, __ATOMIC_SEQ_CST);
    contract_expect_all_seen(&maker);
}

static void stop_ends_run_that_does_not_end(void **state)
{
    (void)state;
    maker = (struct contract_action){.body = raise_again};
    contract_open(&maker);
    sirq_set_policy(core, sirq_policy_find("inline"));
    endless = 1;
    contract_raise_remote(host->cpu(0), &maker);
    contract_stop(); /* returns: the run and the draining are bounded */
    endless = 0;
}

#define CASE(subject_state_result) \
    cmocka_unit_test_setup_teardown(subject_state_result, set_up, tear_down)
#define CASE_STALL(subject_state_result) \
    cmocka_unit_test_setup_teardown(subject_state_result, set_up_short_stall, tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(tasklet_on_two_cpus_never_runs_twice_at_once),
        CASE(tasklet_kill_waits_for_its_run),
        CASE(timers_fire_not_early_and_soon),
        CASE(timers_deleted_never_fire),
        CASE(wait_and_wake_lose_no_wake_up),
        CASE(wait_without_wake_times_out),
        CASE_STALL(watchdog_replaces_policy_that_holds_everything),
        CASE_STALL(watchdog_reports_run_that_does_not_end),
        CASE(stop_ends_run_that_does_not_end),
    };

    contract_main(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
