/* SPDX-License-Identifier: MIT */
/* Whatever a file describes: each kind of thread does what it says, and figures are right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define NIC "nics: [{name: eth0, ring: 512, cpus: [0]}]\n"

static void assert_between(double value, double least, double most)
{
    if (!(value >= least && value <= most))
        fail_msg("%g is not in %g..%g", value, least, most);
}

static void hogs_share_their_cpu_and_leave_the_other_idle(void **state)
{
    struct engine e;

    (void)state;
    engine_run(&e,
               "threads: [{name: hog, count: 4, cpus: [1], hog: {slice_ns: 100000}}]\n"
               "measure:\n"
               "  - {name: cpu, of: hog, what: cpu}\n"
               "  - {name: own, of: hog, what: own_cpu}\n"
               "  - {name: hog%, of: hog, what: cpu, each: true}\n"
               "  - {name: fair, of: hog, what: cpu_fairness}\n"
               "  - {name: idle0, of: cpu0, what: idle}\n"
               "  - {name: idle1, of: cpu1, what: idle}\n"
               "  - {name: idle, of: cpus, what: idle}\n",
               "time2ms", 1);
    assert_between(engine_value(&e, "cpu"), 99.9, 100);
    assert_between(engine_value(&e, "own"), 99, 99.99); /* ticks are not its own */
    assert_between(engine_value(&e, "hog1") + engine_value(&e, "hog2") + engine_value(&e, "hog3") +
                       engine_value(&e, "hog4"),
                   99.9, 100.01);
    assert_between(engine_value(&e, "fair"), 99, 100);
    assert_between(engine_value(&e, "idle0"), 99, 100);
    assert_between(engine_value(&e, "idle1"), 0, 0.01);
    assert_between(engine_value(&e, "idle"), 49, 50.1); /* the mean of both */
    engine_free(&e);
}

static void cyclictest_wakes_each_interval_and_measures_how_late(void **state)
{
    struct engine e;

    (void)state;
    engine_run(&e,
               "threads: [{name: rt, cpus: [0], pin: true, sched: {class: fifo, priority: 50},\n"
               "  cyclictest: {interval_ns: 1000000, work_ns: 5000}}]\n"
               "measure:\n"
               "  - {name: rate, of: rt, what: rate}\n"
               "  - {name: period, of: rt, what: rate, unit: us}\n"
               "  - {name: least, of: rt, what: wakeup, stat: min, unit: ns}\n"
               "  - {name: most, of: rt, what: wakeup, stat: max}\n"
               "  - {name: own, of: rt, what: own_cpu}\n",
               "time2ms", 1);
    assert_between(engine_value(&e, "rate"), 995, 1005);
    assert_between(engine_value(&e, "period"), 995, 1005);
    assert_between(engine_value(&e, "least"), 1000, 3000); /* a switch, and a tick's costs */
    assert_between(engine_value(&e, "most"), 1, 5);
    assert_between(engine_value(&e, "own"), 0.5, 0.65); /* with the switch to it */
    engine_free(&e);
}

static void watchdog_counts_a_stall_once_however_long(void **state)
{
    static const char text[] =
        "threads:\n"
        "  - {name: dog, cpus: [0], watchdog: {interval_ns: 1000000, limit_ns: 20000000}}\n"
        "  - {name: hog, cpus: [%u], sched: {class: fifo, priority: 1}, hog: {slice_ns: 1000000}}\n"
        "measure:\n"
        "  - {name: stalls, of: dog, what: stalls}\n"
        "  - {name: rate, of: dog, what: rate}\n";
    char file[1024];

    (void)state;
    for (unsigned hog = 0; hog < 2; hog++) {
        struct engine e;

        snprintf(file, sizeof(file), text, hog);
        engine_run(&e, file, "time2ms", 1);
        assert_true(engine_value(&e, "stalls") == (hog == 0 ? 1 : 0));
        assert_between(engine_value(&e, "rate"), hog == 0 ? 0 : 990, hog == 0 ? 0 : 1000);
        engine_free(&e);
    }
}

/* 10 us of work, 100 us away: a transaction is these and the costs of receiving. */
static void rr_client_alone_takes_its_work_and_the_round_trip(void **state)
{
    struct engine e;

    (void)state;
    engine_run(
        &e,
        NIC "threads: [{name: client, cpus: [0], pin: true, rr_client: {nic: eth0, rcvbuf: 65536,\n"
            "  rtt_ns: 100000, work_ns: 10000, sections_least: 1, sections_most: 3}}]\n"
            "measure:\n"
            "  - {name: rate, of: client, what: rate}\n"
            "  - {name: least, of: client, what: latency, stat: min}\n"
            "  - {name: mean, of: client, what: latency, stat: mean}\n"
            "  - {name: frames, of: eth0, what: rate}\n",
        "time2ms", 1);
    assert_between(engine_value(&e, "least"), 110, 116);
    assert_between(engine_value(&e, "rate") * engine_value(&e, "mean"), 0.99e6, 1.01e6);
    assert_between(engine_value(&e, "frames") - engine_value(&e, "rate"), -6, 6);
    engine_free(&e);
}

static void rr_clients_ask_again_for_what_a_full_ring_lost(void **state)
{
    struct engine e;

    (void)state;
    engine_run(&e,
               "nics: [{name: eth0, ring: 2, irq_interval_ns: 1000000, cpus: [0]}]\n"
               "threads: [{name: client, count: 8, rr_client: {nic: eth0, rcvbuf: 65536,\n"
               "  rtt_ns: 100000, work_ns: 1000}}]\n"
               "measure:\n"
               "  - {name: rate, of: client, what: rate}\n"
               "  - {name: lost, of: eth0, what: drops}\n",
               "time2ms", 1);
    assert_true(engine_value(&e, "lost") >= 3); /* those lost in the warm-up, once more */
    assert_true(engine_value(&e, "rate") > 100);
    engine_free(&e);
}

static void rr_server_answers_its_clients_round_after_round(void **state)
{
    struct engine e;

    (void)state;
    engine_run(&e,
               NIC "threads: [{name: server, count: 2, rr_server: {nic: eth0, clients: 5,\n"
                   "  rcvbuf: 65536, rtt_ns: 1000000, work_ns: 10000}}]\n"
                   "measure:\n"
                   "  - {name: rate, of: server, what: rate}\n"
                   "  - {name: server%, of: server, what: rate, each: true}\n",
               "time2ms", 1);
    /* 10 requests under way, each back after 1 ms and some 10 to 40 us */
    assert_between(engine_value(&e, "rate"), 10 / 1.045e-3, 10 / 1.010e-3);
    assert_between(engine_value(&e, "server1") / engine_value(&e, "server2"), 0.97, 1.03);
    engine_free(&e);
}

static void udp_receivers_share_light_traffic_and_lose_nothing(void **state)
{
    struct engine e;

    (void)state;
    engine_run(
        &e,
        NIC "threads: [{name: rx, count: 3, cpus: [0], pin: true, udp_receiver: {rcvbuf: 65536}}]\n"
            "traffic: [{name: t, nic: eth0, to: rx, arrivals: constant, rate: 1000, size: 142}]\n"
            "measure:\n"
            "  - {name: rate, of: rx, what: rate}\n"
            "  - {name: rx%, of: rx, what: rate, each: true}\n"
            "  - {name: mbit, of: rx, what: mbit}\n"
            "  - {name: fair, of: rx, what: fairness}\n"
            "  - {name: lost, of: rx, what: drops}\n"
            "  - {name: min, of: rx, what: latency, stat: min, unit: ns}\n"
            "  - {name: p50, of: rx, what: latency, stat: p50}\n"
            "  - {name: max, of: rx, what: latency, stat: max}\n",
        "time2ms", 1);
    assert_between(engine_value(&e, "rate"), 985, 1015);
    assert_between(engine_value(&e, "rx1"), 325, 345);
    assert_between(engine_value(&e, "rx3"), 325, 345);
    /* 142 bytes without 42 of headers */
    assert_between(engine_value(&e, "mbit") * 1e6 / (engine_value(&e, "rate") * 800), 0.999, 1.001);
    assert_between(engine_value(&e, "fair"), 99.9, 100);
    assert_true(engine_value(&e, "lost") == 0);
    /* irq 500, pass 100, poll 200, frame 400, wake 300, switch 1000, and its receive call */
    assert_between(engine_value(&e, "min"), 2500, 3200);
    assert_between(engine_value(&e, "p50"), engine_value(&e, "min") / 1000,
                   engine_value(&e, "max"));
    engine_free(&e);
}

/* 5 us on each packet: 200k/s at most on a CPU of its own, and what is beyond is dropped. */
static void udp_receiver_works_on_each_packet(void **state)
{
    struct engine e;

    (void)state;
    engine_run(
        &e,
        NIC "threads: [{name: rx, cpus: [1], pin: true, udp_receiver: {rcvbuf: 65536, batch: 8,\n"
            "  work_ns: 5000}}]\n"
            "traffic: [{name: t, nic: eth0, to: rx, arrivals: poisson, rate: 400000}]\n"
            "measure:\n"
            "  - {name: rate, of: rx, what: rate}\n"
            "  - {name: lost, of: rx, what: drops}\n"
            "  - {name: cpu, of: rx, what: cpu}\n",
        "time2ms", 1);
    assert_between(engine_value(&e, "rate"), 180000, 200000);
    assert_between(engine_value(&e, "lost"), 0.2 * 195000, 0.2 * 225000); /* of 0.2 s */
    assert_between(engine_value(&e, "cpu"), 99, 100.1);
    engine_free(&e);
}

/* 4 ms a block and two at once; a reader copies for 0.5 ms. */
static void disk_readers_share_what_the_disk_serves(void **state)
{
    struct engine e;

    (void)state;
    engine_run(&e,
               "disks: [{name: sda, read_ns: 4000000, depth: 2, cpu: 0}]\n"
               "threads: [{name: dd, count: 3, cpus: [1], disk_reader: {disk: sda,\n"
               "  work_ns: 500000}}]\n"
               "measure:\n"
               "  - {name: blocks, of: sda, what: rate}\n"
               "  - {name: rate, of: dd, what: rate}\n"
               "  - {name: fair, of: dd, what: fairness}\n"
               "  - {name: least, of: dd, what: latency, stat: min, unit: ms}\n"
               "  - {name: mean, of: sda, what: latency, stat: mean, unit: ms}\n",
               "time2ms", 1);
    assert_between(engine_value(&e, "blocks"), 480, 501);
    assert_between(engine_value(&e, "rate"), 480, 501);
    assert_between(engine_value(&e, "fair"), 99, 100);
    assert_between(engine_value(&e, "least"), 4, 6);
    assert_between(engine_value(&e, "mean"), 5, 6); /* 3 readers in rounds of 6 ms, less work */
    engine_free(&e);
}

static void tcp_flows_fill_the_line_or_their_own_limit(void **state)
{
    static const char text[] = "nics: [{name: eth0, rings: 2, ring: 512, line_mbit: 100}]\n"
                               "threads: [{name: flow, cpus: [1], %s: {nic: eth0, %s: 1000000,\n"
                               "  rtt_ns: 1000000, work_ns: 1000, limit_mbit: %u}}]\n"
                               "measure: [{name: mbit, of: flow, what: mbit}]\n";
    static const char *const kinds[] = {"tcp_receiver", "tcp_sender"};
    static const char *const buffers[] = {"rcvbuf", "sndbuf"};
    char file[1024];

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        bool limited = i & 1;
        struct engine e;

        snprintf(file, sizeof(file), text, kinds[i / 2], buffers[i / 2], limited ? 20u : 0u);
        engine_run(&e, file, "time2ms", 1);
        if (limited)
            assert_between(engine_value(&e, "mbit"), 15, 23);
        else if (i == 0) /* 1448 of 1490 + 24 bytes */
            assert_between(engine_value(&e, "mbit"), 90, 95.7);
        else
            assert_true(engine_value(&e, "mbit") > 80);
        engine_free(&e);
    }
}

/* 31 places, 10 ms: 35.9 Mbit/s each way. */
static void tcp_flows_are_bounded_by_their_buffer(void **state)
{
    struct engine e;

    (void)state;
    engine_run(&e,
               "nics: [{name: eth0, ring: 512, line_mbit: 1000}]\n"
               "threads:\n"
               "  - {name: down, tcp_receiver: {nic: eth0, rcvbuf: 65536, rtt_ns: 10000000,\n"
               "     work_ns: 1000}}\n"
               "  - {name: up, tcp_sender: {nic: eth0, sndbuf: 65536, rtt_ns: 10000000,\n"
               "     work_ns: 1000}}\n"
               "measure:\n"
               "  - {name: down, of: down, what: mbit}\n"
               "  - {name: up, of: up, what: mbit}\n",
               "time2ms", 1);
    assert_between(engine_value(&e, "down"), 30, 36.5);
    assert_between(engine_value(&e, "up"), 30, 36.5);
    engine_free(&e);
}

static void bursts_and_rings_bring_what_the_rate_says(void **state)
{
    struct engine e;

    (void)state;
    engine_run(&e,
               "nics: [{name: eth0, rings: 2, ring: 64}]\n"
               "threads: [{name: rx, count: 4, udp_receiver: {rcvbuf: 65536}}]\n"
               "traffic: [{name: t, nic: eth0, to: rx, arrivals: bursts, burst: 16,\n"
               "  rate: 40000}]\n"
               "measure:\n"
               "  - {name: rate, of: rx, what: rate}\n"
               "  - {name: irq0, of: cpu0, what: hardirq}\n"
               "  - {name: irq1, of: cpu1, what: hardirq}\n"
               "  - {name: packets, of: cpus, what: run_packets, stat: max}\n",
               "time2ms", 1);
    assert_between(engine_value(&e, "rate"), 39000, 41000);
    assert_true(engine_value(&e, "irq0") > 0.01 && engine_value(&e, "irq1") > 0.01);
    assert_true(engine_value(&e, "packets") >= 16);
    engine_free(&e);
}

static void traffic_starts_and_stops_when_it_says(void **state)
{
    struct engine e;

    (void)state;
    engine_run(&e,
               NIC "threads: [{name: rx, cpus: [0], udp_receiver: {rcvbuf: 65536}}]\n"
                   "traffic: [{name: t, nic: eth0, to: rx, arrivals: constant, rate: 10000,\n"
                   "  start_ms: 60, stop_ms: 110}]\n"
                   "measure: [{name: rate, of: rx, what: rate}]\n",
               "time2ms", 1);
    assert_between(engine_value(&e, "rate"), 2490, 2510); /* 50 of 200 ms */
    engine_free(&e);
}

static void world_with_too_many_sources_is_refused_in_one_line(void **state)
{
    struct engine e;

    (void)state;
    engine_run(&e,
               NIC "threads: [{name: rx, count: 65, udp_receiver: {rcvbuf: 65536}}]\n"
                   "traffic: [{name: t, nic: eth0, to: rx, arrivals: constant, rate: 100000}]\n"
                   "measure: [{name: rate, of: rx, what: rate}]\n",
               "time2ms", 1);
    assert_int_not_equal(e.rc, 0);
    assert_non_null(strstr(e.err.text, "too many"));
    engine_free(&e);
}

static void same_seed_gives_same_values_another_does_not(void **state)
{
    static const char text[] =
        NIC "threads:\n"
            "  - {name: rx, count: 2, cpus: [0], udp_receiver: {rcvbuf: 65536}}\n"
            "  - {name: client, count: 5, rr_client: {nic: eth0, rcvbuf: 65536, rtt_ns: 50000,\n"
            "      rtt_jitter_ns: 20000, work_ns: 3000}}\n"
            "traffic: [{name: t, nic: eth0, to: rx, arrivals: poisson, rate: 300000}]\n"
            "measure:\n"
            "  - {name: rate, of: rx, what: rate}\n"
            "  - {name: p99, of: client, what: latency, stat: p99}\n"
            "  - {name: stddev, of: client, what: latency, stat: stddev}\n"
            "  - {name: softirq, of: cpu0, what: softirq}\n";
    struct engine a, b, c;

    (void)state;
    engine_run(&a, text, "ksoftirqd", 7);
    engine_run(&b, text, "ksoftirqd", 7);
    engine_run(&c, text, "ksoftirqd", 8);
    assert_int_equal(a.rc | b.rc | c.rc, 0);
    assert_memory_equal(a.outcome.values, b.outcome.values, 4 * sizeof(double));
    assert_memory_not_equal(a.outcome.values, c.outcome.values, 4 * sizeof(double));
    engine_free(&a);
    engine_free(&b);
    engine_free(&c);
}

/* ---- the shipped experiments ------------------------------------------------------------------ */

static void shipped_flood_keeps_its_regimes(void **state)
{
    static const char *const set[] = {"run.duration_ms=200", NULL};
    struct engine before, after, rr, one, four;

    (void)state;
    engine_run_shipped(&before, "udp-flood", 0, set, "time2ms");
    engine_run_shipped(&after, "udp-flood", 0, set, "ksoftirqd");
    engine_run_shipped(&rr, "udp-flood", 1, set, "ksoftirqd");
    engine_run_shipped(&one, "udp-flood", 2, set, "ksoftirqd");
    engine_run_shipped(&four, "udp-flood", 3, set, "ksoftirqd");
    assert_between(engine_value(&before, "receiver_rate"), 1500, 2500); /* calibrated on 2,000 */
    assert_true(engine_value(&after, "receiver_rate") >
                300 * engine_value(&before, "receiver_rate"));
    assert_between(engine_value(&after, "receiver_cpu"), 47, 53);
    assert_between(engine_value(&after, "ksoftirqd_cpu"), 47, 53);
    assert_true(engine_value(&after, "nic_drops") > engine_value(&before, "nic_drops"));
    assert_true(engine_value(&rr, "socket_drops") == 0);
    assert_true(engine_value(&rr, "receiver_rate") > engine_value(&after, "receiver_rate"));
    assert_between(engine_value(&four, "fairness"), 99, 100);
    assert_true(engine_value(&four, "receiver_rate") < 1.05 * engine_value(&one, "receiver_rate"));
    engine_free(&before);
    engine_free(&after);
    engine_free(&rr);
    engine_free(&one);
    engine_free(&four);
}

static void shipped_rr_gains_by_the_limit(void **state)
{
    static const char *const set[] = {"run.duration_ms=3000", NULL};
    struct engine before, after;

    (void)state;
    engine_run_shipped(&before, "tcp-rr", 0, set, "restart10");
    engine_run_shipped(&after, "tcp-rr", 0, set, "time2ms");
    assert_true(engine_value(&before, "mean_latency") > 5 * engine_value(&after, "mean_latency"));
    assert_between(engine_value(&after, "throughput") / engine_value(&before, "throughput"), 0.97,
                   1.03);
    engine_free(&before);
    engine_free(&after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hogs_share_their_cpu_and_leave_the_other_idle),
        cmocka_unit_test(cyclictest_wakes_each_interval_and_measures_how_late),
        cmocka_unit_test(watchdog_counts_a_stall_once_however_long),
        cmocka_unit_test(rr_client_alone_takes_its_work_and_the_round_trip),
        cmocka_unit_test(rr_clients_ask_again_for_what_a_full_ring_lost),
        cmocka_unit_test(rr_server_answers_its_clients_round_after_round),
        cmocka_unit_test(udp_receivers_share_light_traffic_and_lose_nothing),
        cmocka_unit_test(udp_receiver_works_on_each_packet),
        cmocka_unit_test(disk_readers_share_what_the_disk_serves),
        cmocka_unit_test(tcp_flows_fill_the_line_or_their_own_limit),
        cmocka_unit_test(tcp_flows_are_bounded_by_their_buffer),
        cmocka_unit_test(bursts_and_rings_bring_what_the_rate_says),
        cmocka_unit_test(traffic_starts_and_stops_when_it_says),
        cmocka_unit_test(world_with_too_many_sources_is_refused_in_one_line),
        cmocka_unit_test(same_seed_gives_same_values_another_does_not),
        cmocka_unit_test(shipped_flood_keeps_its_regimes),
        cmocka_unit_test(shipped_rr_gains_by_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
