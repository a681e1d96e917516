/* SPDX-License-Identifier: MIT */
/* Frames that cross a simulated router: what they take, where they are lost, in which order. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "router_world.h"

#define SAMPLES 4096u

struct samples {
    unsigned n;
    uint64_t ns[SAMPLES];
};

static void sample(void *arg, uint64_t rtt_ns)
{
    struct samples *samples = arg;

    if (samples->n < SAMPLES)
        samples->ns[samples->n] = rtt_ns;
    samples->n++;
}

static struct sirq_sim_ping *ping(struct router *r, struct samples *samples,
                                  struct sirq_sim_ping_config config)
{
    struct sirq_sim_ping *out;
    struct sirq_error err = {""};

    config.from = r->lan;
    config.to = r->wan;
    config.sport = 4000;
    config.dport = config.icmp ? 0 : 5000;
    config.answered = sample;
    config.arg = samples;
    assert_int_equal(sirq_sim_ping_create(r->sim, &config, &out, &err), 0);
    return out;
}

/* ---- pings -------------------------------------------------------------------------------- */

/* A frame alone: interrupt, pass, poll, forwarding; sending it is charged when it has left. */
static void ping_alone_takes_what_the_way_takes(void **state)
{
    static struct samples s;
    struct sirq_sim_ping_stats stats;
    struct router r;
    struct sirq_sim_ping *p;

    (void)state;
    s.n = 0;
    router_open(&r, &(struct router_config){.seed = 1});
    p = ping(&r, &s,
             (struct sirq_sim_ping_config){.interval_ns = 10 * ROUTER_MS,
                                           .rtt_ns = 300000,
                                           .start_ns = 1500000, /* never at a tick */
                                           .stop_ns = 1000 * ROUTER_MS});
    sirq_sim_run(r.sim, ROUTER_REST);
    sirq_sim_ping_stats(p, &stats);
    assert_int_equal(stats.asked, 100);
    assert_int_equal(stats.answered, 100);
    assert_int_equal(s.n, 100);
    for (unsigned i = 1; i < s.n; i++) /* the first one waited for ARP, both ways */
        assert_int_equal(s.ns[i], 300000 + 2 * (500 + 100 + 200 + 1000));
    router_check(&r);
    router_close(&r);
}

static void ping_at_a_line_rate_takes_its_bytes_too(void **state)
{
    static struct samples s;
    struct router r;

    (void)state;
    s.n = 0;
    router_open(&r, &(struct router_config){.line = 10, .line_queue_ns = 5 * ROUTER_MS, .seed = 1});
    ping(&r, &s,
         (struct sirq_sim_ping_config){.interval_ns = 50 * ROUTER_MS,
                                       .size = 1226, /* 1250 on the wire: 1 ms */
                                       .stop_ns = 1000 * ROUTER_MS});
    ping(&r, &s,
         (struct sirq_sim_ping_config){.interval_ns = 50 * ROUTER_MS,
                                       .size = 1226,
                                       .start_ns = 1,
                                       .stop_ns = 1000 * ROUTER_MS});
    sirq_sim_run(r.sim, ROUTER_REST);
    assert_int_equal(s.n, 40);
    /* 1 ms on the way out, twice.  On the way in all share one line, behind each other: request
     * 1, request 2, answer 1, answer 2. */
    for (unsigned i = 2; i < s.n; i += 2) {
        assert_in_range(s.ns[i], 3 * ROUTER_MS, 3 * ROUTER_MS + 4000);
        assert_in_range(s.ns[i + 1], 4 * ROUTER_MS - 1, 4 * ROUTER_MS + 4000);
    }
    router_check(&r);
    router_close(&r);
}

static void ping_without_interval_follows_its_answer(void **state)
{
    static struct samples s;
    struct sirq_sim_ping_stats stats;
    struct router r;
    struct sirq_sim_ping *p;

    (void)state;
    s.n = 0;
    router_open(&r, &(struct router_config){.seed = 1});
    p = ping(&r, &s,
             (struct sirq_sim_ping_config){
                 .icmp = true, .rtt_ns = 1000000, .stop_ns = 1000 * ROUTER_MS});
    sirq_sim_run(r.sim, ROUTER_REST);
    sirq_sim_ping_stats(p, &stats);
    /* 1 ms and at most 4 us each; the first also two round trips of ARP, which take no time. */
    assert_in_range(stats.asked, 995, 1000);
    assert_int_equal(stats.answered, stats.asked);
    router_check(&r);
    router_close(&r);
}

static void ping_without_an_answer_is_asked_again_after_its_timeout(void **state)
{
    static struct samples s;
    struct sirq_sim_ping_stats stats;
    struct router r;
    struct sirq_sim_ping *p;

    (void)state;
    s.n = 0;
    router_open(&r, &(struct router_config){.seed = 1});
    sirq_net_set_forwarding(r.net, false);
    p = ping(
        &r, &s,
        (struct sirq_sim_ping_config){.timeout_ns = 100 * ROUTER_MS, .stop_ns = 1000 * ROUTER_MS});
    sirq_sim_run(r.sim, 950 * ROUTER_MS);
    sirq_sim_ping_stats(p, &stats);
    assert_int_equal(stats.asked, 10);
    assert_int_equal(stats.reached, 0);
    sirq_net_set_forwarding(r.net, true);
    sirq_sim_run(r.sim, ROUTER_REST);
    sirq_sim_ping_stats(p, &stats);
    assert_int_equal(stats.asked, 10);
    router_check(&r);
    router_close(&r);
}

/* ---- TCP-like flows ------------------------------------------------------------------------ */

static struct sirq_sim_tcp *flow(struct router *r, bool down, uint16_t port,
                                 struct sirq_sim_across_config config)
{
    struct sirq_sim_tcp *out;
    struct sirq_error err = {""};

    config.from = down ? r->wan : r->lan;
    config.to = down ? r->lan : r->wan;
    config.sport = down ? 5001 : port;
    config.dport = down ? port : 5001;
    config.pulls = down;
    assert_int_equal(sirq_sim_tcp_across(r->sim, &config, &out, &err), 0);
    return out;
}

static void tcp_small_window_carries_one_window_per_round_trip(void **state)
{
    static struct samples s;
    struct sirq_sim_tcp_stats stats;
    struct sirq_sim_tcp *tcp;
    struct router r;

    (void)state;
    router_open(&r, &(struct router_config){.seed = 1});
    ping(&r, &s, (struct sirq_sim_ping_config){.interval_ns = ROUTER_MS, .stop_ns = ROUTER_MS});
    tcp = flow(&r, false, 6000,
               (struct sirq_sim_across_config){.window = 8,
                                               .rtt_ns = 10 * ROUTER_MS,
                                               .start_ns = 1000 * ROUTER_MS,
                                               .stop_ns = 2000 * ROUTER_MS});
    sirq_sim_run(r.sim, 2000 * ROUTER_MS);
    sirq_sim_tcp_stats(tcp, &stats);
    assert_int_equal(stats.sent, 8 * 100); /* 99.7 trips: two crossings take some 30 us */
    sirq_sim_run(r.sim, ROUTER_REST);
    sirq_sim_tcp_stats(tcp, &stats);
    assert_int_equal(stats.delivered, stats.sent);
    assert_int_equal(stats.goodput_bytes, stats.sent * 1448);
    assert_in_range(stats.acks, stats.sent / 2, stats.sent / 2 + 2); /* one for two */
    assert_int_equal(stats.cuts + stats.timeouts, 0);
    router_check(&r);
    router_close(&r);
}

/* A pace keeps segments apart and not the window small: 500 Mbit/s at 40 ms are 1727 segments. */
static void tcp_paced_flow_reaches_its_rate_at_a_long_round_trip(void **state)
{
    struct sirq_sim_tcp_stats before, after;
    struct sirq_sim_tcp *tcp;
    struct router r;

    (void)state;
    router_open(&r, &(struct router_config){.seed = 1});
    tcp = flow(
        &r, false, 6000,
        (struct sirq_sim_across_config){
            .window = 4096, .rtt_ns = 40 * ROUTER_MS, .rate = 500000000, .stop_ns = 5 * ROUTER_S});
    sirq_sim_run(r.sim, 3 * ROUTER_S);
    sirq_sim_tcp_stats(tcp, &before);
    sirq_sim_run(r.sim, 5 * ROUTER_S);
    sirq_sim_tcp_stats(tcp, &after);
    assert_in_range((after.goodput_bytes - before.goodput_bytes) * 8 / 2, 480000000, 501000000);
    assert_in_range(after.cwnd, 1700, 3600); /* what it cannot fill it does not open */
    sirq_sim_run(r.sim, 5 * ROUTER_S + ROUTER_REST);
    router_check(&r);
    router_close(&r);
}

static void tcp_bytes_arrive_whatever_is_lost(void **state)
{
    struct sirq_sim_tcp_stats stats;
    struct sirq_sim_tcp *tcp[4];
    struct router r;

    (void)state;
    /* 11 us a segment and 16 frames of room: far less than four windows ask for. */
    router_open(&r, &(struct router_config){.seed = 3, .ring = 16, .forward_ns = 10000});
    for (unsigned i = 0; i < 4; i++)
        tcp[i] = flow(&r, i % 2 != 0, (uint16_t)(6000 + i),
                      (struct sirq_sim_across_config){.rtt_ns = ROUTER_MS, .bytes = 1448 * 5000});
    sirq_sim_run(r.sim, 60 * ROUTER_S);
    for (unsigned i = 0; i < 4; i++) {
        sirq_sim_tcp_stats(tcp[i], &stats);
        assert_int_equal(stats.goodput_bytes, 1448 * 5000);
        assert_true(stats.cuts > 0 && stats.retransmitted > 0);
        assert_int_equal(stats.sent, stats.delivered + stats.lost + stats.underway);
    }
    router_check(&r);
    router_close(&r);
}

static void tcp_lost_acknowledgements_are_told_by_later_ones(void **state)
{
    struct sirq_sim_tcp_stats stats, back;
    struct sirq_sim_tcp *tcp, *other;
    struct router r;

    (void)state;
    router_open(&r, &(struct router_config){.seed = 3, .ring = 32, .forward_ns = 8000});
    tcp = flow(
        &r, false, 6000,
        (struct sirq_sim_across_config){.window = 4, .rtt_ns = ROUTER_MS, .bytes = 1448 * 4000});
    /* Greedy the other way: the ring is full again and again. */
    other = flow(&r, true, 6001,
                 (struct sirq_sim_across_config){.rtt_ns = 200000, .bytes = 1448 * 100000});
    sirq_sim_run(r.sim, 100 * ROUTER_S);
    sirq_sim_tcp_stats(tcp, &stats);
    sirq_sim_tcp_stats(other, &back);
    assert_true(back.cuts > 10);
    assert_int_equal(stats.goodput_bytes, 1448 * 4000);
    assert_int_equal(back.goodput_bytes, UINT64_C(1448) * 100000);
    router_check(&r);
    router_close(&r);
}

/* ---- steering ---------------------------------------------------------------------------- */

static void run_mix(bool threads, unsigned backlog, uint64_t seed, struct sirq_net_stats *net)
{
    static struct samples s;
    struct router r;

    s.n = 0;
    router_open(&r, &(struct router_config){.seed = seed,
                                            .ncpus = 4,
                                            .rps = 4,
                                            .threads = threads,
                                            .backlog = backlog,
                                            .line = 1000,
                                            .forward_ns = 15000});
    for (unsigned i = 0; i < 8; i++)
        flow(&r, i % 2 != 0, (uint16_t)(6000 + i),
             (struct sirq_sim_across_config){.rtt_ns = ROUTER_MS, .stop_ns = 2 * ROUTER_S});
    ping(&r, &s, (struct sirq_sim_ping_config){.stop_ns = 2 * ROUTER_S});
    sirq_sim_run(r.sim, ROUTER_REST);
    assert_true(s.n > 0);
    sirq_net_stats_sum(r.net, net);
    router_check(&r);
    router_close(&r);
}

static void steered_flows_keep_their_order_and_sums(void **state)
{
    struct sirq_net_stats net;

    (void)state;
    run_mix(false, 1000, 7, &net);
    assert_true(net.steered > 1000 && net.polls_threaded == 0);
    run_mix(false, 8, 7, &net);
    assert_true(net.verdict[SIRQ_DROP_BACKLOG_FULL] > 0);
    run_mix(true, 100, 7, &net);
    assert_true(net.polls_threaded > 1000);
}

/* All begin at once: while one CPU sends what waited for ARP, others have the next frames. */
static void frames_that_waited_for_arp_are_not_overtaken(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 40; seed++) {
        struct router r;

        router_open(&r, &(struct router_config){
                            .seed = seed, .ncpus = 4, .rps = 4, .line = 1000, .forward_ns = 15000});
        for (unsigned i = 0; i < 8; i++)
            flow(&r, i % 2 != 0, (uint16_t)(6000 + 8 * seed + i),
                 (struct sirq_sim_across_config){.rtt_ns = ROUTER_MS, .stop_ns = 20 * ROUTER_MS});
        sirq_sim_run(r.sim, ROUTER_REST);
        router_check(&r);
        router_close(&r);
    }
}

/* ---- misuse --------------------------------------------------------------------------------- */

static void ports_are_opened_once_each(void **state)
{
    struct sirq_netdev_config config = {.port = 1};
    struct sirq_error err = {""};
    struct sirq_netdev dev;
    struct router r;

    (void)state;
    router_open(&r, &(struct router_config){.seed = 1});
    config.device = r.nic;
    assert_int_equal(sirq_netdev_open(&dev, r.net, &sirq_sim_driver, &config, &err), -EBUSY);
    config.port = SIRQ_SIM_PORTS;
    assert_int_equal(sirq_netdev_open(&dev, r.net, &sirq_sim_driver, &config, &err), -EINVAL);
    assert_non_null(strstr(err.text, "port"));
    router_check(&r);
    router_close(&r);
}

static void crossing_without_two_hosts_is_refused(void **state)
{
    struct sirq_sim_across_config tcp = {.sport = 1, .dport = 1};
    struct sirq_sim_ping_config p = {.sport = 1, .dport = 1};
    struct sirq_error err = {""};
    struct sirq_sim_tcp *flow_out;
    struct sirq_sim_ping *ping_out;
    struct router r;

    (void)state;
    router_open(&r, &(struct router_config){.seed = 1});
    tcp.from = p.from = r.lan;
    assert_int_equal(sirq_sim_tcp_across(r.sim, &tcp, &flow_out, &err), -EINVAL);
    tcp.to = r.lan;
    assert_int_equal(sirq_sim_tcp_across(r.sim, &tcp, &flow_out, &err), -EINVAL);
    p.to = r.wan;
    p.icmp = true;
    assert_int_equal(sirq_sim_ping_create(r.sim, &p, &ping_out, &err), -EINVAL);
    router_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ping_alone_takes_what_the_way_takes),
        cmocka_unit_test(ping_at_a_line_rate_takes_its_bytes_too),
        cmocka_unit_test(ping_without_interval_follows_its_answer),
        cmocka_unit_test(ping_without_an_answer_is_asked_again_after_its_timeout),
        cmocka_unit_test(tcp_small_window_carries_one_window_per_round_trip),
        cmocka_unit_test(tcp_paced_flow_reaches_its_rate_at_a_long_round_trip),
        cmocka_unit_test(tcp_bytes_arrive_whatever_is_lost),
        cmocka_unit_test(tcp_lost_acknowledgements_are_told_by_later_ones),
        cmocka_unit_test(steered_flows_keep_their_order_and_sums),
        cmocka_unit_test(frames_that_waited_for_arp_are_not_overtaken),
        cmocka_unit_test(ports_are_opened_once_each),
        cmocka_unit_test(crossing_without_two_hosts_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
