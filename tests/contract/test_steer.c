/* SPDX-License-Identifier: MIT */
/*
 * Steering and NAPI threads, on every host: while numbered frames flow, the map changes and
 * threads are switched on and off.  None is lost, none twice, each flow stays in order, and
 * nothing is left on a queue in the end.
 */
#include "host.h"

#include <errno.h>
#include <string.h>

#include <sirq/driver.h>

#define FLOWS 16u
#define PORT 5000u
#define RING 256u
#define FRAMES UINT64_C(20000)
#define FRAME_LEN 60u
#define NR_CPUS 2u

/* A device whose ring is a pair of counters: frame n is of flow n % FLOWS. */
static struct {
    struct sirq_net *net;
    struct sirq_netdev dev;
    struct sirq_socket *sock;
    uint8_t frame[FLOWS][FRAME_LEN];
    uint64_t head, tail;  /* __atomic */
    uint32_t masked;      /* __atomic */
    uint64_t got, broken; /* __atomic */
    uint64_t last[FLOWS]; /* the receiver's */
    uint32_t over;        /* __atomic: the changers end */
} t;

static int nic_open(struct sirq_netdev *dev, const struct sirq_netdev_config *config,
                    struct sirq_error *err)
{
    (void)config, (void)err;
    dev->irq.self_masking = true;
    return 0;
}

static void nic_close(struct sirq_netdev *dev)
{
    (void)dev;
}

static int nic_poll(struct sirq_cpu *cpu, struct sirq_netdev *dev, int budget)
{
    int work = 0;

    for (; work < budget && contract_load(&t.tail) != contract_load(&t.head); work++) {
        uint64_t n = contract_load(&t.tail);

        sirq_net_rx(cpu, dev, t.frame[n % FLOWS], FRAME_LEN, n + 1);
        sirq_charge(cpu, SIRQ_COST_RX_STEERED, 1);
        contract_add(&t.tail, 1);
    }
    return work;
}

static void nic_mask(struct sirq_netdev *dev)
{
    (void)dev;
    __atomic_store_n(&t.masked, 1, __ATOMIC_SEQ_CST);
}

static void nic_unmask(struct sirq_netdev *dev)
{
    (void)dev;
    __atomic_store_n(&t.masked, 0, __ATOMIC_SEQ_CST);
}

static bool nic_pending(const struct sirq_netdev *dev)
{
    (void)dev;
    return contract_load(&t.tail) != contract_load(&t.head);
}

static void nic_stats(const struct sirq_netdev *dev, struct sirq_netdev_stats *out)
{
    (void)dev, (void)out;
}

static const struct sirq_driver nic = {
    .name = "contract",
    .open = nic_open,
    .close = nic_close,
    .rx_poll = nic_poll,
    .irq_mask = nic_mask,
    .irq_unmask = nic_unmask,
    .rx_pending = nic_pending,
    .stats = nic_stats,
};

static void interrupt(struct sirq_cpu *cpu, void *arg)
{
    (void)arg;
    if (__atomic_load_n(&t.masked, __ATOMIC_SEQ_CST) == 0)
        t.dev.irq.handler(cpu, t.dev.irq.data);
}

static void make_frame(uint8_t *frame, unsigned flow)
{
    static const uint8_t head[] = {0x08, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17};
    uint32_t sum = 0;

    memset(frame, 0, FRAME_LEN);
    memcpy(frame + 12, head, sizeof(head));
    frame[26] = frame[30] = 10;
    frame[29] = 1;
    frame[33] = 2;
    for (unsigned i = 14; i < 34; i += 2)
        sum += (uint32_t)frame[i] << 8 | frame[i + 1];
    sum = ~((sum & 0xffff) + (sum >> 16));
    frame[24] = (uint8_t)(sum >> 8);
    frame[25] = (uint8_t)sum;
    frame[34] = 4; /* source port 1024 + flow */
    frame[35] = (uint8_t)flow;
    frame[36] = PORT >> 8;
    frame[37] = PORT & 0xff;
    frame[39] = 26; /* no checksum */
}

static int set_up(void **state)
{
    const struct contract_config config = {.ncpus = NR_CPUS,
                                           .hz = 1000,
                                           .policy = sirq_policy_find("time2ms"),
                                           .interrupt = interrupt};
    /* Room for all: what is missing in the end was lost. */
    const struct sirq_net_config net = {.pool_packets = 4096, .netdev_max_backlog = 2048};
    const struct sirq_socket_config sock = {.port = PORT, .rcvbuf = 2048 * SIRQ_PKT_TRUESIZE};
    struct sirq_error err;

    (void)state;
    memset(&t, 0, sizeof(t));
    contract_start(&config);
    assert_int_equal(sirq_net_create(&t.net, core, &net), 0);
    assert_int_equal(sirq_netdev_open(&t.dev, t.net, &nic, NULL, &err), 0);
    assert_int_equal(sirq_socket_open(t.net, &sock, &t.sock), 0);
    for (unsigned i = 0; i < FLOWS; i++)
        make_frame(t.frame[i], i);
    sirq_napi_enable(&t.dev.napi);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    host->join();
    host->backlog_threads(t.net, 0);
    host->napi_thread(&t.dev, false);
    sirq_napi_disable(host->cpu(0), &t.dev.napi);
    sirq_socket_close(t.sock);
    sirq_netdev_close(&t.dev);
    sirq_net_destroy(t.net);
    contract_stop();
    return 0;
}

/* ---- tasks ------------------------------------------------------------------------------- */

/* Puts frames on the ring when there is room everywhere: nothing may be dropped. */
static void send(struct sirq_cpu *cpu, void *arg)
{
    (void)cpu, (void)arg;
    while (contract_load(&t.head) < FRAMES) {
        if (contract_load(&t.head) - contract_load(&t.got) < RING) {
            contract_add(&t.head, 1 + contract_load(&t.head) % 7);
            host->interrupt(0);
        }
        host->pause();
    }
}

static void note(const struct sirq_msg *msg)
{
    unsigned flow = msg->sport - 1024u;

    if (flow >= FLOWS || (msg->rx_ns - 1) % FLOWS != flow || msg->rx_ns <= t.last[flow])
        contract_add(&t.broken, 1);
    else
        t.last[flow] = msg->rx_ns;
}

static void receive(struct sirq_cpu *cpu, void *arg)
{
    uint8_t buf[16][32];
    struct sirq_msg msg[16];

    (void)cpu, (void)arg;
    while (contract_load(&t.got) < contract_load(&t.head) || contract_load(&t.head) < FRAMES) {
        int n;

        for (unsigned i = 0; i < 16; i++)
            msg[i] = (struct sirq_msg){.buf = buf[i], .size = sizeof(buf[i])};
        n = sirq_recv(t.sock, msg, 16, 2000000000);
        for (int i = 0; i < n; i++)
            note(&msg[i]);
        if (n > 0)
            contract_add(&t.got, (uint64_t)n);
        else if (n != -EINTR)
            break; /* two seconds without a frame: some are lost */
    }
    __atomic_store_n(&t.over, 1, __ATOMIC_SEQ_CST);
}

static bool over(void)
{
    return __atomic_load_n(&t.over, __ATOMIC_SEQ_CST) != 0;
}

static void change_map(struct sirq_cpu *cpu, void *arg)
{
    static const unsigned cpus[][2] = {{0, 1}, {1, 0}, {1, 1}, {0, 0}};
    unsigned round = 0;
    struct sirq_error err;

    (void)cpu, (void)arg;
    for (; !over(); round++) {
        if (sirq_netdev_set_rps(&t.dev, cpus[round % 4], round % 5 == 4 ? 0 : 2, &err) != 0 ||
            sirq_net_set_rfs(t.net, round % 3 == 0, &err) != 0)
            abort();
        for (unsigned i = 0; i < 20 && !over(); i++)
            host->pause();
    }
}

static void run(void)
{
    host->spawn(1, receive, NULL);
    host->spawn(0, send, NULL);
}

/* All arrived, in order; and nothing is anywhere any more. */
static void expect_all(void)
{
    struct sirq_net_stats stats;

    host->join();
    sirq_net_stats_sum(t.net, &stats);
    assert_int_equal(t.broken, 0);
    assert_int_equal(t.got, contract_load(&t.head));
    assert_int_equal(stats.frames, t.got);
    assert_int_equal(stats.verdict[SIRQ_DELIVERED], t.got);
    assert_int_equal(stats.steered, stats.received_rps);
    for (unsigned i = 0; i < core->ncpus; i++)
        assert_int_equal(sirq_net_backlog_len(t.net, i), 0);
}

static struct sirq_net_stats sum(void)
{
    struct sirq_net_stats stats;

    sirq_net_stats_sum(t.net, &stats);
    return stats;
}

/* From outside of tasks, as long as frames flow: `fn` in rounds. */
static bool some_passed(void *arg)
{
    const uint64_t *until = arg;

    return over() || contract_load(&t.got) >= *until;
}

static unsigned rounds(void (*fn)(unsigned round))
{
    unsigned round = 0;

    for (; !over(); round++) {
        uint64_t until = contract_load(&t.got) + 300;

        fn(round);
        contract_expect(some_passed, &until);
    }
    return round;
}

static void need_two(void)
{
    if (host->max_cpus() < NR_CPUS) {
        print_message("needs %u CPUs\n", NR_CPUS);
        skip();
    }
}

/* ---- tests ------------------------------------------------------------------------------- */

static void map_changes_while_traffic_flows(void **state)
{
    (void)state;
    need_two();
    run();
    host->spawn(1, change_map, NULL);
    expect_all();
    assert_true(sum().steered > 0);
    assert_true(sum().kicks > 0);
}

static void switch_backlogs(unsigned round)
{
    host->backlog_threads(t.net, round % 4);
}

static void backlog_threads_switched_while_traffic_flows(void **state)
{
    static const unsigned both[] = {0, 1};
    struct sirq_error err;

    (void)state;
    need_two();
    assert_int_equal(sirq_netdev_set_rps(&t.dev, both, 2, &err), 0);
    run();
    assert_true(rounds(switch_backlogs) > 4);
    expect_all();
    assert_true(sum().polls_threaded > 0);
    assert_true(sum().polls_threaded < sum().polls);
}

static void switch_napi(unsigned round)
{
    host->napi_thread(&t.dev, round % 2 == 0);
}

static void napi_thread_switched_while_traffic_flows(void **state)
{
    (void)state;
    need_two();
    run();
    assert_true(rounds(switch_napi) > 4);
    expect_all();
    assert_true(sum().polls_threaded > 0);
    assert_true(sum().polls_threaded < sum().polls);
}

static void switch_all(unsigned round)
{
    host->backlog_threads(t.net, round % 4);
    host->napi_thread(&t.dev, round % 3 != 0);
}

static void everything_changes_while_traffic_flows(void **state)
{
    (void)state;
    need_two();
    run();
    host->spawn(1, change_map, NULL);
    rounds(switch_all);
    expect_all();
}

/* A thread that sleeps, as nothing comes in, is woken by the first frame. */
static void backlog_thread_asleep_is_woken(void **state)
{
    static const unsigned one[] = {1};
    struct sirq_error err;
    uint64_t until;

    (void)state;
    need_two();
    assert_int_equal(sirq_netdev_set_rps(&t.dev, one, 1, &err), 0);
    host->backlog_threads(t.net, 2);
    until = FRAMES / 100;
    contract_add(&t.head, FRAMES - FRAMES / 100);
    contract_add(&t.tail, FRAMES - FRAMES / 100);
    contract_add(&t.got, FRAMES - FRAMES / 100);
    run();
    host->join();
    assert_int_equal(t.broken, 0);
    assert_true(sum().verdict[SIRQ_DELIVERED] >= until);
    assert_int_equal(sum().received_rps, sum().verdict[SIRQ_DELIVERED]);
    assert_true(sum().polls_threaded > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(map_changes_while_traffic_flows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(backlog_threads_switched_while_traffic_flows, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(napi_thread_switched_while_traffic_flows, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(everything_changes_while_traffic_flows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(backlog_thread_asleep_is_woken, set_up, tear_down),
    };

    contract_main(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
