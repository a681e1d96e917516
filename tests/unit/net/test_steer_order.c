/* SPDX-License-Identifier: MIT */
/* Steering that changes: no new map, and no consumer that moves, reorders a flow. */
#include "steer_env.h"

/* CPU 1 still has frames of the flow: the next follow them, whatever the map says now. */
static void map_change_flow_follows_when_its_backlog_is_done(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    set_rps(w, one, 1);
    assert_int_equal(send(w, 5, 1), SIRQ_STEERED);
    set_rps(w, zero, 1); /* waits for polls, and no longer */
    assert_int_equal(send(w, 5, 2), SIRQ_STEERED);
    assert_int_equal(send(w, 6, 3), SIRQ_DELIVERED); /* another has nothing there */
    assert_int_equal(next(w), 3);
    other_cpu(w);
    assert_int_equal(send(w, 5, 4), SIRQ_DELIVERED);
    assert_int_equal(next(w), 1);
    assert_int_equal(next(w), 2);
    assert_int_equal(next(w), 4);
    stop(w);
}

static void map_off_keeps_order_and_forgets_flows(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    set_rps(w, one, 1);
    for (unsigned i = 0; i < FLOWS; i++)
        assert_int_equal(send(w, i, 1), SIRQ_STEERED);
    set_rps(w, NULL, 0);
    assert_int_equal(send(w, 5, 2), SIRQ_STEERED);
    other_cpu(w);
    assert_int_equal(send(w, 5, 3), SIRQ_DELIVERED);
    for (unsigned i = 1; i <= FLOWS; i++)
        assert_int_equal(next(w), 1);
    assert_int_equal(next(w), 2);
    assert_int_equal(next(w), 3);
    for (unsigned i = 0; i < 1000; i++) { /* enough for the table to be gone through */
        assert_int_equal(send(w, 5, i + 1), SIRQ_DELIVERED);
        assert_int_equal(next(w), i + 1);
    }
    for (unsigned i = 0; i < FLOWS; i++)
        assert_int_equal(send(w, i, 1), SIRQ_DELIVERED);
    set_rps(w, one, 1); /* and on again */
    assert_int_equal(send(w, 5, 2), SIRQ_STEERED);
    stop(w);
}

/* A CPU that does not run for a while is no overload: nothing is dropped, however long it takes. */
static void map_change_with_a_slow_cpu_loses_nothing(void **state)
{
    struct world *w = start(NULL);

    (void)state;
    set_rps(w, one, 1);
    assert_int_equal(send(w, 5, 1), SIRQ_STEERED);
    set_rps(w, zero, 1);
    w->h.now_ns += 5000 * MS;
    assert_int_equal(send(w, 5, 2), SIRQ_STEERED);
    other_cpu(w);
    assert_int_equal(send(w, 5, 3), SIRQ_DELIVERED);
    for (unsigned i = 1; i <= 3; i++)
        assert_int_equal(next(w), i);
    stop(w);
}

/* An overload in which the old backlog is never done, and half full: after 10 ms they are made to
 * leave. */
static void map_change_under_overload_takes_hold(void **state)
{
    const struct sirq_net_config small = {.netdev_max_backlog = 4};
    struct world *w = start(&small);

    (void)state;
    set_rps(w, one, 1);
    assert_int_equal(send(w, 5, 1), SIRQ_STEERED);
    set_rps(w, zero, 1);
    w->h.now_ns += 9 * MS;
    assert_int_equal(send(w, 5, 2), SIRQ_STEERED);
    w->h.now_ns += 2 * MS;
    assert_int_equal(send(w, 5, 3), SIRQ_DROP_FLOW_MOVING);
    assert_int_equal(send(w, 7, 4), SIRQ_DELIVERED);
    other_cpu(w);
    assert_int_equal(send(w, 5, 5), SIRQ_DELIVERED);
    assert_int_equal(next(w), 4);
    assert_int_equal(next(w), 1);
    assert_int_equal(next(w), 2);
    assert_int_equal(next(w), 5);
    stop(w);
}

/* ---- RFS ------------------------------------------------------------------------------- */

static uint64_t receive_on(struct world *w, int cpu)
{
    uint64_t seq;

    net_host_run_on(cpu);
    seq = next(w);
    net_host_run_on(0);
    return seq;
}

static void rfs_follows_the_consumer_without_reordering(void **state)
{
    struct world *w = start(NULL);
    struct sirq_error err;

    (void)state;
    set_rps(w, zero, 1);
    assert_int_equal(sirq_net_set_rfs(w->h.net, true, &err), 0);
    assert_int_equal(send(w, 9, 1), SIRQ_DELIVERED); /* by the map: nobody has received yet */
    assert_int_equal(receive_on(w, 1), 1);
    assert_int_equal(send(w, 9, 2), SIRQ_STEERED);
    assert_int_equal(send(w, 10, 3), SIRQ_DELIVERED); /* another flow */
    assert_int_equal(receive_on(w, 0), 3);
    other_cpu(w);
    assert_int_equal(send(w, 9, 4), SIRQ_STEERED);
    assert_int_equal(receive_on(w, 0), 2); /* the consumer moved, number 4 waits on CPU 1 */
    assert_int_equal(send(w, 9, 5), SIRQ_STEERED);
    other_cpu(w);
    assert_int_equal(send(w, 9, 6), SIRQ_DELIVERED);
    assert_int_equal(receive_on(w, 0), 4);
    assert_int_equal(receive_on(w, 0), 5);
    assert_int_equal(receive_on(w, 0), 6);
    stop(w);
}

static void rfs_off_goes_by_the_map(void **state)
{
    struct world *w = start(NULL);
    struct sirq_error err;

    (void)state;
    set_rps(w, zero, 1);
    assert_int_equal(sirq_net_set_rfs(w->h.net, true, &err), 0);
    assert_int_equal(send(w, 9, 1), SIRQ_DELIVERED);
    assert_int_equal(receive_on(w, 1), 1);
    assert_int_equal(send(w, 9, 2), SIRQ_STEERED);
    other_cpu(w);
    assert_int_equal(sirq_net_set_rfs(w->h.net, false, &err), 0);
    assert_int_equal(send(w, 9, 3), SIRQ_DELIVERED);
    assert_int_equal(sirq_net_set_rfs(w->h.net, true, &err), 0);
    stop(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_change_flow_follows_when_its_backlog_is_done),
        cmocka_unit_test(map_off_keeps_order_and_forgets_flows),
        cmocka_unit_test(map_change_with_a_slow_cpu_loses_nothing),
        cmocka_unit_test(map_change_under_overload_takes_hold),
        cmocka_unit_test(rfs_follows_the_consumer_without_reordering),
        cmocka_unit_test(rfs_off_goes_by_the_map),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
