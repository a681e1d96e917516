/* SPDX-License-Identifier: MIT */
/* TCP-like flows in both directions: what they carry, how they share, what they survive. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "flood_world.h"

#define SECOND UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define PORT 7000u
#define FLOWS 2u
#define MSS 1448u

struct rig;
struct end {
    struct rig *rig;
    unsigned i;
    struct sirq_socket *sock;
    struct sirq_sim_tcp *tcp;
    uint64_t received, pause_ns, bytes;
    bool done;
};

struct rig {
    struct sirq_sim *sim;
    struct sirq_net *net;
    struct sirq_sim_nic *nic;
    struct sirq_netdev dev;
    struct end end[FLOWS];
    unsigned flows;
    bool stop;
};

static void open_with(struct rig *rig, const struct sirq_sim_nic_config *nic, uint64_t seed)
{
    struct sirq_sim_config sim = {.ncpus = 2, .hz = 1000, .seed = seed};
    struct sirq_netdev_config dev = {0};
    struct sirq_error err;

    *rig = (struct rig){0};
    for (unsigned i = 0; i < SIRQ_NR_COSTS; i++)
        sim.cost_ns[i] = flood_costs[i];
    assert_int_equal(sirq_sim_create(&rig->sim, &sim, &err), 0);
    assert_int_equal(sirq_net_create(&rig->net, sirq_sim_core(rig->sim), NULL), 0);
    assert_int_equal(sirq_sim_nic_create(rig->sim, nic, &rig->nic, &err), 0);
    dev.device = rig->nic;
    assert_int_equal(sirq_netdev_open(&rig->dev, rig->net, &sirq_sim_driver, &dev, &err), 0);
    assert_int_equal(sirq_sim_attach(rig->sim, 0, &rig->dev, &err), 0);
}

static void open_rig(struct rig *rig, unsigned line_mbit)
{
    const struct sirq_sim_nic_config nic = {.ring_size = 512, .line_mbit = line_mbit};

    open_with(rig, &nic, 5);
}

static void receiver_main(struct sirq_sim_task *task, void *arg)
{
    struct end *end = arg;
    uint8_t buf[8];

    while (!end->rig->stop) {
        struct sirq_msg msg = {.buf = buf, .size = sizeof(buf)};

        if (sirq_recv(end->sock, &msg, 1, 100000000) != 1)
            continue;
        assert_int_equal(msg.len, MSS);
        end->received++;
        if (end->pause_ns > 0)
            sirq_sim_sleep_until(task, sirq_sim_now_ns(end->rig->sim) + end->pause_ns);
    }
    end->done = true;
}

static void sender_main(struct sirq_sim_task *task, void *arg)
{
    struct end *end = arg;

    while (!end->rig->stop) {
        assert_int_equal(sirq_sim_tcp_send(task, end->tcp, end->bytes != 0 ? end->bytes : 64 * MSS),
                         0);
        if (end->bytes != 0) {
            assert_int_equal(sirq_sim_tcp_flush(task, end->tcp), 0);
            break;
        }
    }
    end->done = true;
}

static struct end *add(struct rig *rig, struct sirq_sim_tcp_config *config, size_t rcvbuf)
{
    struct end *end = &rig->end[rig->flows];
    struct sirq_sim_task_config task = {
        .name = "end",
        .fn = config->send ? sender_main : receiver_main,
        .arg = end,
        .cpu = 1,
    };
    struct sirq_error err = {""};

    end->rig = rig;
    end->i = rig->flows++;
    config->dport = (uint16_t)(PORT + end->i);
    if (!config->send) {
        const struct sirq_socket_config sock = {.port = config->dport, .rcvbuf = rcvbuf};

        assert_int_equal(sirq_socket_open(rig->net, &sock, &end->sock), 0);
        config->socket = end->sock;
    }
    assert_int_equal(sirq_sim_tcp_create(rig->nic, config, &end->tcp, &err), 0);
    assert_int_equal(sirq_sim_spawn(rig->sim, &task, NULL, &err), 0);
    return end;
}

static struct sirq_sim_tcp_stats stats_of(const struct end *end)
{
    struct sirq_sim_tcp_stats stats;

    sirq_sim_tcp_stats(end->tcp, &stats);
    assert_int_equal(stats.sent, stats.delivered + stats.lost + stats.underway);
    assert_true(stats.goodput_bytes <= stats.delivered * MSS);
    assert_true(stats.retransmitted <= stats.sent);
    return stats;
}

static void close_rig(struct rig *rig)
{
    rig->stop = true;
    if (rig->dev.irq.cpu == NULL) {
        struct sirq_error err;

        assert_int_equal(sirq_sim_attach(rig->sim, 0, &rig->dev, &err), 0);
    }
    sirq_sim_run(rig->sim, sirq_sim_now_ns(rig->sim) + 10 * SECOND);
    for (unsigned i = 0; i < rig->flows; i++) {
        assert_true(rig->end[i].done);
        stats_of(&rig->end[i]);
        if (rig->end[i].sock != NULL)
            sirq_socket_close(rig->end[i].sock);
    }
    sirq_sim_detach(rig->sim, &rig->dev);
    sirq_netdev_close(&rig->dev);
    sirq_net_destroy(rig->net);
    sirq_sim_destroy(rig->sim);
}

/* Goodput over a second, after one to get going, Mbit/s. */
static uint64_t mbit(struct rig *rig, struct end *end)
{
    uint64_t before, now = sirq_sim_now_ns(rig->sim);

    sirq_sim_run(rig->sim, now + SECOND);
    before = stats_of(end).goodput_bytes;
    sirq_sim_run(rig->sim, now + 2 * SECOND);
    return (stats_of(end).goodput_bytes - before) * 8 / 1000000;
}

static void throughput_is_window_by_rtt(void **state)
{
    bool send = *state != NULL;
    struct sirq_sim_tcp_config config = {.send = send, .rtt_ns = 2 * MS, .window = 20};
    struct rig rig;
    struct end *end;

    /* 20 segments each 2 ms: 115 Mbit/s */
    open_rig(&rig, 1000);
    end = add(&rig, &config, 1 << 20);
    assert_in_range(mbit(&rig, end), 100, 116);
    assert_int_equal(stats_of(end).lost, 0);
    assert_in_range(stats_of(end).srtt_ns, 2 * MS, send ? 3 * MS : 23 * MS / 10);
    close_rig(&rig);

    /* A window of more than the line carries in 2 ms, and no more than its queue holds: 941 is
     * what 1448 of 1448 + 42 + 24 bytes leave of 1 Gbit/s */
    config = (struct sirq_sim_tcp_config){.send = send, .rtt_ns = 2 * MS, .window = 200};
    open_rig(&rig, 1000);
    end = add(&rig, &config, 1 << 20);
    assert_in_range(mbit(&rig, end), 900, 957);
    close_rig(&rig);
}

/* Windows without a bound overflow the queue in front of the line. */
static void two_flows_share_evenly(void **state)
{
    bool send = *state != NULL;
    struct sirq_sim_tcp_config config = {.send = send, .rtt_ns = 2 * MS, .rtt_jitter_ns = 100000};
    struct sirq_sim_tcp_stats stats[FLOWS];
    struct rig rig;
    uint64_t sum = 0;

    open_rig(&rig, 200);
    for (unsigned i = 0; i < FLOWS; i++)
        add(&rig, &config, 4 << 20);
    sirq_sim_run(rig.sim, 20 * SECOND);
    for (unsigned i = 0; i < FLOWS; i++) {
        stats[i] = stats_of(&rig.end[i]);
        sum += stats[i].goodput_bytes;
        assert_true(stats[i].cuts > 10);
        assert_true(stats[i].lost > 10);
        assert_in_range(stats[i].retransmitted, stats[i].lost * 9 / 10, stats[i].lost);
        assert_true(stats[i].lost < stats[i].sent / 20);
    }
    assert_in_range(sum * 8 / 20000000, 140, 192);
    for (unsigned i = 0; i < FLOWS; i++)
        assert_in_range(stats[i].goodput_bytes, sum * 35 / 100, sum * 65 / 100);
    close_rig(&rig);
}

/* The saw: what a cut leaves is half of what was there. */
static void tcp_loss_halves_the_window(void **state)
{
    struct sirq_sim_tcp_config config = {.rtt_ns = 5 * MS};
    uint32_t before = 10;
    unsigned halved = 0;
    uint64_t cuts = 0;
    struct rig rig;
    struct end *end;

    (void)state;
    open_rig(&rig, 100);
    end = add(&rig, &config, 4 << 20);
    for (uint64_t time = 0; time < 10 * SECOND; time += MS / 10) {
        struct sirq_sim_tcp_stats stats;

        sirq_sim_run(rig.sim, time);
        stats = stats_of(end);
        if (stats.cuts == cuts + 1) {
            assert_in_range(stats.cwnd, before / 2, before / 2 + 2);
            halved++;
        }
        cuts = stats.cuts;
        before = stats.cwnd;
    }
    assert_true(halved > 5);
    assert_int_equal(stats_of(end).timeouts, 0);
    close_rig(&rig);
}

static void outage_is_survived(void **state)
{
    bool send = *state != NULL;
    struct sirq_sim_tcp_config config = {.send = send, .rtt_ns = 2 * MS, .window = 100};
    struct sirq_error err;
    struct rig rig;
    struct end *end;
    uint64_t before, after;

    open_rig(&rig, 1000);
    end = add(&rig, &config, 1 << 20);
    sirq_sim_run(rig.sim, SECOND);
    sirq_sim_detach(rig.sim, &rig.dev);
    before = stats_of(end).goodput_bytes;
    sirq_sim_run(rig.sim, 6 * SECOND);
    /* 200 ms doubled each time: after 0.2, 0.6, 1.4 and 3.0 s */
    assert_in_range(stats_of(end).timeouts, 4, 5);
    after = stats_of(end).goodput_bytes;
    assert_in_range(after - before, 0, 100 * MSS);
    assert_int_equal(sirq_sim_attach(rig.sim, 0, &rig.dev, &err), 0);
    sirq_sim_run(rig.sim, 15 * SECOND);
    assert_true(mbit(&rig, end) > 400);
    close_rig(&rig);
}

static void tcp_received_ends_with_its_bytes(void **state)
{
    struct sirq_sim_tcp_config config = {.rtt_ns = MS, .bytes = 5000 * MSS - 7};
    struct rig rig;
    struct end *end;

    (void)state;
    open_rig(&rig, 50); /* slow start overflows the queue: some are sent again */
    end = add(&rig, &config, 4 << 20);
    sirq_sim_run(rig.sim, 20 * SECOND);
    assert_int_equal(stats_of(end).goodput_bytes, 5000 * MSS);
    assert_true(stats_of(end).lost > 0);
    assert_int_equal(stats_of(end).underway, 0);
    assert_int_equal(end->received, stats_of(end).delivered);
    close_rig(&rig);
}

static void tcp_sent_is_all_there_after_a_flush(void **state)
{
    struct sirq_sim_tcp_config config = {.send = true, .rtt_ns = MS};
    struct rig rig;
    struct end *end;

    (void)state;
    open_rig(&rig, 50);
    rig.end[0].bytes = 5000 * MSS - 7;
    end = add(&rig, &config, 0);
    sirq_sim_run(rig.sim, 20 * SECOND);
    assert_true(end->done);
    assert_int_equal(stats_of(end).goodput_bytes, 5000 * MSS);
    assert_true(stats_of(end).lost > 0);
    assert_int_equal(stats_of(end).sent - stats_of(end).retransmitted, 5000);
    close_rig(&rig);
}

/* A receiver that takes one segment a millisecond: the window is what its queue has room for. */
static void tcp_received_waits_for_a_slow_receiver(void **state)
{
    struct sirq_sim_tcp_config config = {.rtt_ns = 2 * MS};
    struct rig rig;
    struct end *end;

    (void)state;
    open_rig(&rig, 1000);
    rig.end[0].pause_ns = MS;
    end = add(&rig, &config, 16 * SIRQ_PKT_TRUESIZE);
    sirq_sim_run(rig.sim, 3 * SECOND);
    assert_int_equal(stats_of(end).lost, 0);
    assert_in_range(end->received, 2800, 3000);
    close_rig(&rig);
}

/* 31 places each 10 ms, whatever the receiver has read meanwhile: 35.9 Mbit/s. */
static void tcp_received_is_socket_by_rtt_whatever_the_jitter(void **state)
{
    uint64_t least = 36;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct sirq_sim_tcp_config config = {.rtt_ns = 10 * MS, .rtt_jitter_ns = i * 5 * MS};
        struct rig rig;
        struct end *end;
        uint64_t got;

        open_rig(&rig, 10000);
        end = add(&rig, &config, 31 * SIRQ_PKT_TRUESIZE);
        got = mbit(&rig, end);
        assert_in_range(got, i == 0 ? 32 : 12, least);
        assert_int_equal(stats_of(end).lost, 0);
        least = got;
        close_rig(&rig);
    }
}

/* 1985 places, and a line whose queue holds more: each waits there for the others. */
static void tcp_received_window_is_all_the_socket_holds(void **state)
{
    const struct sirq_sim_nic_config nic = {
        .ring_size = 512, .line_mbit = 1000, .line_queue_ns = 100 * MS};
    struct sirq_sim_tcp_config config = {.rtt_ns = 2 * MS};
    struct rig rig;
    struct end *end;

    (void)state;
    open_with(&rig, &nic, 5);
    end = add(&rig, &config, 4 << 20);
    assert_in_range(mbit(&rig, end), 900, 957);
    assert_in_range(stats_of(end).cwnd, 1900, 1985);
    assert_in_range(stats_of(end).srtt_ns, 22 * MS, 25 * MS); /* 12.1 us each */
    assert_int_equal(stats_of(end).lost, 0);
    close_rig(&rig);
}

/* Moderation leaves segments on the ring that are taken after the flow's stop. */
static void tcp_received_is_acknowledged_after_its_stop(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const struct sirq_sim_nic_config nic = {
            .ring_size = 512, .line_mbit = 1000, .irq_interval_ns = 20000};
        struct rig rig;

        open_with(&rig, &nic, seed);
        for (unsigned i = 0; i < FLOWS; i++) {
            struct sirq_sim_tcp_config config = {
                .rtt_ns = MS, .rtt_jitter_ns = MS / 10, .stop_ns = 30 * MS + seed * 1237};

            add(&rig, &config, 4 << 20);
        }
        sirq_sim_run(rig.sim, 100 * MS);
        for (unsigned i = 0; i < FLOWS; i++) {
            struct sirq_sim_tcp_stats stats = stats_of(&rig.end[i]);

            assert_true(stats.delivered > 100);
            assert_int_equal(stats.underway, 0);
            assert_int_equal(stats.goodput_bytes, stats.delivered * MSS);
        }
        close_rig(&rig);
    }
}

static void tcp_received_keeps_to_its_rate(void **state)
{
    struct sirq_sim_tcp_config config = {.rtt_ns = 2 * MS, .rate = 50000000};
    struct rig rig;
    struct end *end;

    (void)state;
    open_rig(&rig, 1000);
    end = add(&rig, &config, 1 << 20);
    assert_in_range(mbit(&rig, end), 49, 50);
    close_rig(&rig);
}

static uint64_t watched(uint64_t step_ns, struct sirq_sim_tcp_stats *stats)
{
    struct sirq_sim_tcp_config config = {.rtt_ns = MS, .rtt_jitter_ns = 100000};
    struct rig rig;
    uint64_t digest;

    open_rig(&rig, 100);
    add(&rig, &config, 1 << 20);
    config = (struct sirq_sim_tcp_config){.send = true, .rtt_ns = MS};
    add(&rig, &config, 0);
    for (uint64_t time = step_ns; time <= SECOND; time += step_ns) {
        sirq_sim_run(rig.sim, time);
        if (time == 300 * MS)
            sirq_sim_detach(rig.sim, &rig.dev);
        stats_of(&rig.end[0]);
    }
    stats[0] = stats_of(&rig.end[0]);
    stats[1] = stats_of(&rig.end[1]);
    digest = sirq_sim_digest(rig.sim);
    close_rig(&rig);
    return digest;
}

static void tcp_looks_change_nothing(void **state)
{
    struct sirq_sim_tcp_stats seldom[2], often[2];

    (void)state;
    assert_int_equal(watched(100 * MS, seldom), watched(MS / 10, often));
    assert_memory_equal(seldom, often, sizeof(seldom));
}

static void tcp_create_refuses_by_name(void **state)
{
    static const struct {
        struct sirq_sim_tcp_config config;
        const char *word;
    } bad[] = {
        {{.dport = 1}, "no socket"},
        {{.send = true, .dport = 1, .mss = 1473}, "mss 1473"},
        {{.send = true, .dport = 1, .window = 65537}, "window 65537"},
        {{.send = true, .dport = 1, .rtt_ns = 11 * SECOND}, "rtt_ns"},
        {{.send = true, .dport = 1, .rate = 5000}, "rate"},
        {{.send = true}, "port 0"},
        {{.send = true, .dport = 1, .ring_fixed = true, .ring = 1}, "ring 1"},
    };
    struct sirq_sim_tcp *tcp;
    struct sirq_error err;
    struct rig rig;

    (void)state;
    open_rig(&rig, 0);
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(sirq_sim_tcp_create(rig.nic, &bad[i].config, &tcp, &err), -EINVAL);
        assert_non_null(strstr(err.text, bad[i].word));
    }
    close_rig(&rig);
}

int main(void)
{
    static bool sends; /* a case that gets it sends; the others receive */
    const struct CMUnitTest tests[] = {
        {"tcp_received_is_window_by_rtt_or_the_line", throughput_is_window_by_rtt, NULL, NULL,
         NULL},
        {"tcp_sent_is_window_by_rtt_or_the_line", throughput_is_window_by_rtt, NULL, NULL, &sends},
        {"tcp_received_flows_share_evenly", two_flows_share_evenly, NULL, NULL, NULL},
        {"tcp_sent_flows_share_evenly", two_flows_share_evenly, NULL, NULL, &sends},
        cmocka_unit_test(tcp_loss_halves_the_window),
        {"tcp_received_survives_an_outage", outage_is_survived, NULL, NULL, NULL},
        {"tcp_sent_survives_an_outage", outage_is_survived, NULL, NULL, &sends},
        cmocka_unit_test(tcp_received_ends_with_its_bytes),
        cmocka_unit_test(tcp_sent_is_all_there_after_a_flush),
        cmocka_unit_test(tcp_received_waits_for_a_slow_receiver),
        cmocka_unit_test(tcp_received_is_socket_by_rtt_whatever_the_jitter),
        cmocka_unit_test(tcp_received_window_is_all_the_socket_holds),
        cmocka_unit_test(tcp_received_is_acknowledged_after_its_stop),
        cmocka_unit_test(tcp_received_keeps_to_its_rate),
        cmocka_unit_test(tcp_looks_change_nothing),
        cmocka_unit_test(tcp_create_refuses_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
