/* SPDX-License-Identifier: MIT */
/* The regimes of a UDP flood on one simulated CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "flood_world.h"

#define SECOND UINT64_C(1000000000)
#define FLOOD_RATE UINT64_C(4000000)

static struct flood_config flood(const char *policy)
{
    return (struct flood_config){
        .policy = policy,
        .rate = FLOOD_RATE,
        .receivers = 1,
        .hz = 1000,
        .seed = 1,
        .ns = SECOND,
    };
}

static void run(const struct flood_config *config, struct flood_result *result)
{
    flood_run(config, result);
    print_message(
        "%-10s %u x %s: %9llu received, %9llu socket drops, %9llu nic drops, "
        "receiver %.1f %%, ksoftirqd %.1f %%, %llu events, %llu charges\n",
        config->policy, config->receivers, config->sched.policy == SCHED_RR ? "RR" : "OTHER",
        (unsigned long long)result->received, (unsigned long long)result->socket_drops,
        (unsigned long long)result->nic_drops, result->receiver_cpu[0], result->ksoftirqd_cpu,
        (unsigned long long)result->events, (unsigned long long)result->charges);
}

/* One packet in and out and nothing else: what the CPU could receive. */
static double limit(void)
{
    return 1e9 / (flood_costs[SIRQ_COST_RX_QUEUED] + flood_costs[SIRQ_COST_RECV_CALL] +
                  flood_costs[SIRQ_COST_RECV_PACKET] + flood_costs[SIRQ_COST_NAPI_POLL] / 64.0);
}

static void flood_every_policy_keeps_its_regime(void **state)
{
    (void)state;
    for (unsigned i = 0; sirq_policies[i] != NULL; i++) {
        const struct flood_config config = flood(sirq_policies[i]->name);
        bool guard = sirq_policies[i] == sirq_policy_find("ksoftirqd") ||
                     sirq_policies[i] == sirq_policy_find("threaded");
        struct flood_result result;

        run(&config, &result);
        assert_true(result.arrived >= FLOOD_RATE - 1);
        if (guard)
            assert_true((double)result.received > 0.4 * limit());
        else
            assert_true((double)result.received < 0.01 * limit());
    }
}

static void flood_under_guard_splits_the_cpu(void **state)
{
    const struct flood_config config = flood("ksoftirqd");
    struct flood_result result;

    (void)state;
    run(&config, &result);
    assert_true(result.receiver_cpu[0] > 47.0 && result.receiver_cpu[0] < 53.0);
    assert_true(result.ksoftirqd_cpu > 47.0 && result.ksoftirqd_cpu < 53.0);
}

static void flood_rr_receiver_loses_nothing_at_the_socket(void **state)
{
    struct flood_config config = flood("ksoftirqd");
    struct flood_result result, other;

    (void)state;
    run(&config, &other);
    config.sched = (struct sirq_sched){.policy = SCHED_RR, .priority = 20};
    run(&config, &result);
    assert_int_equal(result.socket_drops, 0);
    assert_true(result.received > other.received);
}

static void flood_rr_receiver_under_time2ms_gains_nothing(void **state)
{
    struct flood_config config = flood("time2ms");
    struct flood_result result;

    (void)state;
    config.sched = (struct sirq_sched){.policy = SCHED_RR, .priority = 20};
    run(&config, &result);
    assert_true((double)result.received < 0.02 * limit());
}

static void flood_four_receivers_share_evenly(void **state)
{
    struct flood_config config = flood("ksoftirqd");
    struct flood_result one, four;

    (void)state;
    run(&config, &one);
    config.receivers = 4;
    run(&config, &four);
    for (unsigned i = 0; i < 4; i++)
        assert_true(four.each[i] > four.received / 5 && four.each[i] < four.received * 3 / 10);
    assert_true(four.received < one.received * 5 / 4); /* no four times as many packets */
}

static void flood_guard_moves_drops_to_the_nic(void **state)
{
    const struct flood_config before = flood("time2ms"), after = flood("ksoftirqd");
    struct flood_result results[2];

    (void)state;
    run(&before, &results[0]);
    run(&after, &results[1]);
    assert_true(results[1].nic_drops > results[0].nic_drops);
}

/* need_resched alone: where nobody waits for the CPU a run never ends (source 003). */
static void flood_resched_on_dedicated_cpu_stalls(void **state)
{
    struct flood_config config = flood("resched");
    struct flood_result result, limited;

    (void)state;
    config.ncpus = 2;
    config.elsewhere = true;
    config.ns = 3 * SECOND;
    run(&config, &result);
    config.policy = "time2ms";
    run(&config, &limited);
    assert_true(result.long_runs > 0); /* the watchdog says so after a second */
    assert_int_equal(limited.long_runs, 0);
    assert_true(limited.longest_run_ns < 3000000);
}

static void flood_time2ms_run_is_bounded(void **state)
{
    struct flood_config config = flood("time2ms");
    struct flood_result fast, slow;

    (void)state;
    config.ncpus = 2;
    config.elsewhere = true;
    run(&config, &fast);
    config.hz = 100;
    run(&config, &slow);
    /* at most ten passes; the limit is 2 ms or a jiffy, whichever is more */
    assert_true(fast.longest_run_ns < 3000000 && slow.longest_run_ns < 11000000);
}

static void flood_same_seed_gives_same_run(void **state)
{
    struct flood_config config = flood("ksoftirqd");
    struct flood_result a, b, c;

    (void)state;
    config.poisson = true;
    config.receivers = 3;
    config.ns = SECOND / 5;
    flood_run(&config, &a);
    flood_run(&config, &b);
    config.seed = 2;
    flood_run(&config, &c);
    print_message("digest %016llx\n", (unsigned long long)a.digest);
    assert_memory_equal(&a, &b, sizeof(a));
    assert_true(a.digest != c.digest);
}

static void flood_light_load_receives_all(void **state)
{
    (void)state;
    for (unsigned i = 0; sirq_policies[i] != NULL; i++) {
        struct flood_config config = flood(sirq_policies[i]->name);
        struct flood_result result;

        config.rate = 10000;
        config.poisson = true;
        flood_run(&config, &result);
        assert_true(result.received + 2 >= result.arrived);
        assert_int_equal(result.socket_drops, 0);
        assert_int_equal(result.nic_drops, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flood_every_policy_keeps_its_regime),
        cmocka_unit_test(flood_under_guard_splits_the_cpu),
        cmocka_unit_test(flood_rr_receiver_loses_nothing_at_the_socket),
        cmocka_unit_test(flood_rr_receiver_under_time2ms_gains_nothing),
        cmocka_unit_test(flood_four_receivers_share_evenly),
        cmocka_unit_test(flood_guard_moves_drops_to_the_nic),
        cmocka_unit_test(flood_resched_on_dedicated_cpu_stalls),
        cmocka_unit_test(flood_time2ms_run_is_bounded),
        cmocka_unit_test(flood_same_seed_gives_same_run),
        cmocka_unit_test(flood_light_load_receives_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
