/* SPDX-License-Identifier: MIT */
/* Experiments with a machine that is a router. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static void assert_between(double value, double least, double most)
{
    if (!(value >= least && value <= most))
        fail_msg("%g is not in %g..%g", value, least, most);
}

#define ROUTER                                                           \
    "hosts: [{name: lan, nic: eth0}, {name: wan, nic: eth0, port: 1}]\n" \
    "nics: [{name: eth0, ring: 256, line_mbit: 1000, cpus: [0]"

static void router_is_crossed_in_what_its_costs_add_up_to(void **state)
{
    struct engine e;

    (void)state;
    engine_run(&e,
               ROUTER "}]\n"
                      "flows:\n"
                      "  - {name: ping, from: lan, to: wan,\n"
                      "     ping: {rtt_ns: 250000, interval_ns: 1000000, size: 1226}}\n"
                      "setups: [{name: later, set: [run.warmup_ms=1100]}]\n"
                      "measure:\n"
                      "  - {name: rate, of: ping, what: rate}\n"
                      "  - {name: least, of: ping, what: latency, stat: min, unit: ns}\n"
                      "  - {name: idle, of: cpu0, what: idle}\n"
                      "  - {name: task, of: cpu0, what: idle_task}\n",
               "time2ms", 1);
    assert_between(engine_value(&e, "rate"), 995, 1005);
    /* Twice: interrupt, pass, poll, forwarding, and 1250 bytes of line on the way out. */
    assert_between(engine_value(&e, "least"), 250000 + 2 * (500 + 100 + 200 + 600 + 10000),
                   250000 + 2 * (500 + 100 + 200 + 600 + 10000));
    assert_between(engine_value(&e, "idle"), 99, 99.7);
    assert_between(engine_value(&e, "task"), 99.99, 100); /* all of it is on top of that */
    engine_free(&e);
}

static void router_counts_what_hosts_have_got(void **state)
{
    struct engine e;

    (void)state;
    engine_run(&e,
               ROUTER
               ", rps: [0, 1]}]\n"
               "net: {threaded_backlogs: true}\n"
               "flows:\n"
               "  - {name: tcp_up, from: lan, to: wan, count: 2,\n"
               "     tcp: {rtt_ns: 1000000, window: 10}}\n"
               "  - {name: tcp_down, from: wan, to: lan, tcp: {rtt_ns: 1000000, window: 10}}\n"
               "setups: [{name: later, set: [run.warmup_ms=2000]}]\n"
               "measure:\n"
               "  - {name: up, of: tcp_up, what: mbit}\n"
               "  - {name: down, of: tcp_down, what: mbit}\n"
               "  - {name: sum, of: tcp_*, what: mbit}\n",
               "ksoftirqd", 1);
    /* 10 segments of 1448 bytes in each millisecond and what the way takes. */
    assert_between(engine_value(&e, "down"), 90, 115.84);
    assert_between(engine_value(&e, "up"), 180, 231.68);
    assert_between(engine_value(&e, "sum") - engine_value(&e, "up") - engine_value(&e, "down"),
                   -0.01, 0.01);
    engine_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(router_is_crossed_in_what_its_costs_add_up_to),
        cmocka_unit_test(router_counts_what_hosts_have_got),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
