/* SPDX-License-Identifier: MIT */
/* The NAPI contract: budget, repoll, completion, leftovers, squeeze, disable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net_host.h"

#define INSTANCES 8u

/* An instance with `left` packets to do; each visit is logged. */
struct script {
    struct sirq_napi napi; /* first */
    struct world *w;
    unsigned left;
    bool again; /* schedule itself once more right after it completed */
    uint64_t cost_ns;
};

struct world {
    struct net_host h;
    struct script s[INSTANCES];
    unsigned log[64], nlog;
    bool polling;
};

static int poll(struct sirq_cpu *cpu, struct sirq_napi *napi, int budget)
{
    struct script *s = (struct script *)(void *)napi;
    int work = s->left < (unsigned)budget ? (int)s->left : budget;

    assert_false(s->w->polling);
    s->w->polling = true;
    assert_int_equal(budget, napi->weight);
    assert_true(sirq_in_softirq(cpu));
    assert_true(s->w->nlog < 64);
    s->w->log[s->w->nlog++] = (unsigned)(s - s->w->s);
    s->left -= (unsigned)work;
    s->w->h.now_ns += s->cost_ns;
    s->w->polling = false;
    if (work == budget)
        return work;
    sirq_napi_complete_done(cpu, napi, work);
    if (s->again) {
        s->again = false;
        assert_true(sirq_napi_schedule(cpu, napi));
    }
    return work;
}

static struct world *start(const struct sirq_net_config *config)
{
    struct world *w = aligned_alloc(64, (sizeof(*w) + 63) & ~(size_t)63);

    memset(w, 0, sizeof(*w));
    net_host_init(&w->h, config);
    for (unsigned i = 0; i < INSTANCES; i++) {
        w->s[i].w = w;
        sirq_napi_init(&w->s[i].napi, poll, SIRQ_NAPI_WEIGHT);
        sirq_napi_enable(&w->s[i].napi);
    }
    return w;
}

static void stop(struct world *w)
{
    net_host_fini(&w->h);
    free(w);
}

static struct sirq_net_stats stats(struct world *w)
{
    struct sirq_net_stats s;

    sirq_net_stats_sum(w->h.net, &s);
    return s;
}

/* Schedule the first n in an interrupt; what it raises runs at its exit. */
static void interrupt(struct world *w, unsigned n)
{
    sirq_hardirq_enter(&w->h.cpu[0]);
    for (unsigned i = 0; i < n; i++)
        assert_true(sirq_napi_schedule(&w->h.cpu[0], &w->s[i].napi));
    sirq_hardirq_exit(&w->h.cpu[0]);
}

/* Exactly one call of net_rx_action: one pass, the rest left to ksoftirqd. */
static bool one_pass(const struct sirq_view *view)
{
    (void)view;
    return false;
}

static const struct sirq_policy one_pass_policy = {.name = "one", .restart = one_pass};

static void schedule_twice_is_one_poll(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    sirq_hardirq_enter(&w->h.cpu[0]);
    assert_true(sirq_napi_schedule(&w->h.cpu[0], &w->s[0].napi));
    assert_false(sirq_napi_schedule(&w->h.cpu[0], &w->s[0].napi));
    sirq_hardirq_exit(&w->h.cpu[0]);
    assert_int_equal(w->nlog, 1);
    assert_int_equal(w->s[0].napi.state, 0);
    stop(w);
}

static void schedule_after_completion_in_poll_polls_again(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    w->s[0].again = true;
    interrupt(w, 1);
    assert_int_equal(w->nlog, 2);
    stop(w);
}

static void schedule_outside_of_interrupts_wakes_ksoftirqd(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    assert_true(sirq_napi_schedule(&w->h.cpu[0], &w->s[0].napi));
    assert_int_equal(w->nlog, 0);
    assert_int_equal(w->h.cpu[0].ksoftirqd, 1);
    net_host_ksoftirqd(&w->h, 0, 1);
    assert_int_equal(w->nlog, 1);
    stop(w);
}

static void poll_of_whole_weight_is_repolled_until_less(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    w->s[0].left = 3 * SIRQ_NAPI_WEIGHT; /* three full polls and an empty one */
    interrupt(w, 1);
    assert_int_equal(w->nlog, 4);
    assert_int_equal(stats(w).polls, 4);
    assert_int_equal(stats(w).polls_full, 3);
    assert_int_equal(stats(w).time_squeeze, 0);
    assert_int_equal(w->s[0].napi.polls, 4);
    assert_int_equal(w->s[0].napi.work, 3 * SIRQ_NAPI_WEIGHT);
    stop(w);
}

static void action_visits_each_instance_once(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    sirq_set_policy(&w->h.core, &one_pass_policy);
    for (unsigned i = 0; i < 3; i++)
        w->s[i].left = 1000;
    interrupt(w, 3);
    assert_int_equal(w->nlog, 3);
    assert_int_equal(sirq_pending(&w->h.cpu[0]), SIRQ_BIT(SIRQ_NET_RX));
    net_host_ksoftirqd(&w->h, 0, 1);
    assert_int_equal(w->nlog, 6);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(w->log[i], i % 3);
    for (unsigned i = 0; i < 3; i++)
        w->s[i].left = 0;
    net_host_ksoftirqd(&w->h, 0, 1);
    stop(w);
}

static void budget_spent_leaves_the_rest_in_front(void **state)
{
    static const unsigned order[] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1};
    struct world *w = start(NULL);

    (void)state;
    sirq_set_policy(&w->h.core, &one_pass_policy);
    for (unsigned i = 0; i < 7; i++)
        w->s[i].left = 64;
    interrupt(w, 7); /* 5 * 64 >= 300 */
    assert_int_equal(w->nlog, 5);
    assert_int_equal(stats(w).time_squeeze, 1);
    assert_int_equal(w->h.cpu[0].stats.squeezed, 1);
    /* Not reached (5, 6), newcomer (7), then those that want more (0..4). */
    sirq_bh_disable(&w->h.cpu[0]);
    assert_true(sirq_napi_schedule(&w->h.cpu[0], &w->s[7].napi));
    sirq_bh_enable(&w->h.cpu[0]);
    assert_int_equal(w->log[5], 5);
    assert_int_equal(w->log[6], 6);
    /* The newcomer was scheduled after the first cycle: it follows all left over. */
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(w->log[7 + i], order[i]);
    assert_int_equal(w->log[12], 7);
    net_host_ksoftirqd(&w->h, 0, 4);
    assert_int_equal(sirq_pending(&w->h.cpu[0]), 0);
    stop(w);
}

static void time_spent_ends_the_cycle_at_two_jiffies(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    sirq_set_policy(&w->h.core, &one_pass_policy);
    for (unsigned i = 0; i < 6; i++) {
        w->s[i].left = 1;
        w->s[i].cost_ns = w->h.core.tick_ns; /* the clock stands at a tick's begin */
    }
    interrupt(w, 6);
    assert_int_equal(w->nlog, 2);
    assert_int_equal(stats(w).time_squeeze, 1);
    net_host_ksoftirqd(&w->h, 0, 2);
    assert_int_equal(w->nlog, 6);
    assert_int_equal(stats(w).time_squeeze, 3);
    stop(w);
}

static void clock_that_steps_back_is_no_time_spent(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    sirq_set_policy(&w->h.core, &one_pass_policy);
    for (unsigned i = 0; i < 4; i++)
        w->s[i].left = 1;
    w->s[0].cost_ns = -w->h.core.tick_ns; /* the thread moved to a CPU whose clock is behind */
    interrupt(w, 4);
    assert_int_equal(w->nlog, 4);
    assert_int_equal(stats(w).time_squeeze, 0);
    stop(w);
}

static void config_of_budget_and_jiffies_is_kept(void **state)
{
    const struct sirq_net_config config = {.netdev_budget = 64, .netdev_budget_jiffies = 5};
    struct world *w = start(&config);

    (void)state;
    sirq_set_policy(&w->h.core, &one_pass_policy);
    for (unsigned i = 0; i < 3; i++)
        w->s[i].left = 64;
    interrupt(w, 3);
    assert_int_equal(w->nlog, 1);
    net_host_ksoftirqd(&w->h, 0, 8);
    assert_int_equal(sirq_pending(&w->h.cpu[0]), 0);
    w->nlog = 0;
    for (unsigned i = 0; i < 8; i++)
        w->s[i].cost_ns = w->h.core.tick_ns;
    interrupt(w, 8);
    assert_int_equal(w->nlog, 5);
    net_host_ksoftirqd(&w->h, 0, 8);
    stop(w);
}

static void until_budget_goes_round_in_one_action(void **state)
{
    const struct sirq_net_config config = {.poll_until_budget = true};
    struct world *w = start(&config);

    (void)state;
    sirq_set_policy(&w->h.core, &one_pass_policy);
    w->s[0].left = w->s[1].left = 1000;
    interrupt(w, 2);
    assert_int_equal(w->nlog, 5); /* 320 packets: the weight is not clipped */
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(w->log[i], i % 2);
    assert_int_equal(stats(w).time_squeeze, 1);
    w->s[0].left = w->s[1].left = 0;
    net_host_ksoftirqd(&w->h, 0, 2);
    assert_int_equal(stats(w).time_squeeze, 1);
    stop(w);
}

static void until_budget_ends_though_empty_polls_reschedule(void **state)
{
    const struct sirq_net_config config = {.poll_until_budget = true, .netdev_budget = 3};
    struct world *w = start(&config);

    (void)state;
    sirq_set_policy(&w->h.core, &one_pass_policy);
    w->s[0].again = w->s[1].again = w->s[2].again = true;
    interrupt(w, 3);
    assert_int_equal(w->nlog, 3);
    net_host_ksoftirqd(&w->h, 0, 4);
    assert_int_equal(w->nlog, 6);
    stop(w);
}

static void disabled_instance_is_not_scheduled(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    sirq_napi_disable(&w->h.cpu[0], &w->s[0].napi);
    assert_false(sirq_napi_schedule(&w->h.cpu[0], &w->s[0].napi));
    assert_int_equal(sirq_pending(&w->h.cpu[0]), 0);
    sirq_napi_enable(&w->s[0].napi);
    interrupt(w, 1);
    assert_int_equal(w->nlog, 1);
    stop(w);
}

static void disable_waits_for_a_scheduled_instance_and_drops_it(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    w->s[0].left = 1000;
    assert_true(sirq_napi_schedule(&w->h.cpu[0], &w->s[0].napi));
    sirq_napi_disable(&w->h.cpu[0], &w->s[0].napi); /* relax plays ksoftirqd */
    assert_true(w->h.nrelax > 0);
    assert_int_equal(w->nlog, 0); /* dropped, not polled */
    assert_int_equal(w->s[0].napi.state, SIRQ_NAPI_DISABLED);
    sirq_napi_enable(&w->s[0].napi);
    w->s[0].left = 0;
    interrupt(w, 1);
    assert_int_equal(w->nlog, 1);
    stop(w);
}

static void disable_ends_an_instance_that_always_has_more(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    sirq_set_policy(&w->h.core, &one_pass_policy);
    w->s[0].left = 1000000;
    interrupt(w, 1);
    assert_int_equal(w->s[0].napi.state, SIRQ_NAPI_SCHED);
    sirq_napi_disable(&w->h.cpu[0], &w->s[0].napi);
    assert_int_equal(w->nlog, 1);
    net_host_ksoftirqd(&w->h, 0, 1);
    assert_int_equal(sirq_pending(&w->h.cpu[0]), 0);
    stop(w);
}

static void init_leaves_it_disabled_with_default_weight(void **state)
{
    struct sirq_napi napi;

    (void)state;
    sirq_napi_init(&napi, poll, 0);
    assert_int_equal(napi.weight, SIRQ_NAPI_WEIGHT);
    assert_int_equal(napi.state, SIRQ_NAPI_DISABLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedule_twice_is_one_poll),
        cmocka_unit_test(schedule_after_completion_in_poll_polls_again),
        cmocka_unit_test(schedule_outside_of_interrupts_wakes_ksoftirqd),
        cmocka_unit_test(poll_of_whole_weight_is_repolled_until_less),
        cmocka_unit_test(action_visits_each_instance_once),
        cmocka_unit_test(budget_spent_leaves_the_rest_in_front),
        cmocka_unit_test(clock_that_steps_back_is_no_time_spent),
        cmocka_unit_test(time_spent_ends_the_cycle_at_two_jiffies),
        cmocka_unit_test(config_of_budget_and_jiffies_is_kept),
        cmocka_unit_test(until_budget_goes_round_in_one_action),
        cmocka_unit_test(until_budget_ends_though_empty_polls_reschedule),
        cmocka_unit_test(disabled_instance_is_not_scheduled),
        cmocka_unit_test(disable_waits_for_a_scheduled_instance_and_drops_it),
        cmocka_unit_test(disable_ends_an_instance_that_always_has_more),
        cmocka_unit_test(init_leaves_it_disabled_with_default_weight),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
