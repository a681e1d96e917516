/* SPDX-License-Identifier: MIT */
/* NAT44: the table of connections: time, little room, turning it on and off. */
#include <pthread.h>
#include <sched.h>

#define SIRQ_NET_INTERNAL
#include "nat.h"

#include "nat_env.h"

static int setup(void **state)
{
    int ret = router_setup(state);

    nat_start(*state, &(struct sirq_nat_config){.max_conns = 8,
                                                .port_lo = 2000,
                                                .port_hi = 2003,
                                                .udp_s = 3,
                                                .udp_stream_s = 10,
                                                .tcp_transitory_s = 5,
                                                .tcp_established_s = 20,
                                                .icmp_s = 2});
    return ret;
}

static void clear(struct router *r)
{
    test_dev_sent_clear(&r->dev[INSIDE]);
    test_dev_sent_clear(&r->dev[OUTSIDE]);
}

/* The neighbours stay known. */
static void sleep_s(struct router *r, unsigned seconds)
{
    net_host_sleep(&r->h, seconds * SECOND);
    router_resolve(r, INSIDE, HOST(1));
    router_resolve(r, INSIDE, HOST(2));
    router_resolve(r, OUTSIDE, GATEWAY);
    clear(r);
}

static void datagram_without_an_answer_is_forgotten_sooner(void **state)
{
    struct router *r = *state;

    assert_int_equal(nat_out(r, HOST(1), 2000, REMOTE, 53), SIRQ_FORWARDED);
    sleep_s(r, 2);
    assert_int_equal(nat_out(r, HOST(1), 2000, REMOTE, 53), SIRQ_FORWARDED); /* from now on */
    sleep_s(r, 2);
    assert_int_equal(nat_stats(r).conns, 1);
    sleep_s(r, 2);
    assert_int_equal(nat_stats(r).conns, 0);
    assert_int_equal(nat_stats(r).expired, 1);
    assert_int_equal(nat_back(r, 53, 2000), SIRQ_DROP_UDP_PORT);
    clear(r);
    assert_int_equal(nat_out(r, HOST(1), 2000, REMOTE, 53), SIRQ_FORWARDED);
    assert_int_equal(nat_back(r, 53, 2000), SIRQ_FORWARDED);
    sleep_s(r, 9);
    assert_int_equal(nat_stats(r).conns, 1);
    sleep_s(r, 2);
    assert_int_equal(nat_stats(r).conns, 0);
    assert_int_equal(nat_stats(r).created, 2);
}

static void segment(struct router *r, unsigned dev, uint8_t flags)
{
    assert_int_equal(router_rx(r, dev, nat_tcp(r, dev, 2000, flags, NULL)), SIRQ_FORWARDED);
    clear(r);
}

static void open_tcp(struct router *r)
{
    segment(r, INSIDE, TCP_SYN);
    segment(r, OUTSIDE, TCP_SYN | TCP_ACK);
    segment(r, INSIDE, TCP_ACK);
}

static void tcp_is_kept_as_long_as_its_state_asks_for(void **state)
{
    struct router *r = *state;

    segment(r, INSIDE, TCP_SYN); /* never answered */
    sleep_s(r, 4);
    assert_int_equal(nat_stats(r).conns, 1);
    sleep_s(r, 2);
    assert_int_equal(nat_stats(r).conns, 0);
    segment(r, INSIDE, TCP_SYN); /* answered, which nobody takes up */
    segment(r, OUTSIDE, TCP_SYN | TCP_ACK);
    segment(r, OUTSIDE, TCP_SYN | TCP_ACK);
    segment(r, INSIDE, TCP_SYN);
    sleep_s(r, 4);
    assert_int_equal(nat_stats(r).conns, 1);
    sleep_s(r, 2);
    assert_int_equal(nat_stats(r).conns, 0);
    open_tcp(r);
    sleep_s(r, 19);
    assert_int_equal(nat_stats(r).conns, 1);
    sleep_s(r, 2);
    assert_int_equal(nat_stats(r).conns, 0);
}

static void tcp_that_ends_is_forgotten_sooner(void **state)
{
    static const struct {
        unsigned dev;
        uint8_t flags;
    } ends[] = {{INSIDE, TCP_FIN | TCP_ACK},
                {OUTSIDE, TCP_FIN | TCP_ACK},
                {INSIDE, TCP_RST},
                {OUTSIDE, TCP_RST}};
    struct router *r = *state;

    for (unsigned i = 0; i < 4; i++) {
        open_tcp(r);
        segment(r, ends[i].dev, ends[i].flags);
        segment(r, !ends[i].dev, TCP_ACK);
        sleep_s(r, 4);
        assert_int_equal(nat_stats(r).conns, 1);
        sleep_s(r, 2);
        assert_int_equal(nat_stats(r).conns, 0);
    }
    open_tcp(r);
    segment(r, INSIDE, TCP_RST);
    open_tcp(r); /* anew */
    sleep_s(r, 15);
    assert_int_equal(nat_stats(r).conns, 1);
}

static void ping_is_forgotten_and_an_error_keeps_nothing(void **state)
{
    struct router *r = *state;
    uint32_t len = put_ping(r, INSIDE, HOST(1), REMOTE, 8);
    const uint8_t *left;
    uint8_t *ip = r->frame + IP;

    assert_int_equal(router_rx(r, INSIDE, len), SIRQ_FORWARDED);
    left = nat_sent(r, OUTSIDE);
    sleep_s(r, 1);
    nat_udp(r, OUTSIDE, REMOTE, 1, US4(OUTSIDE), 1);
    frame_put16(ip + 2, 28 + 36);
    ip[9] = 1;
    memset(ip + 20, 0, 8);
    ip[20] = 3;
    memcpy(ip + 28, left, 36);
    fix_sums(ip, 64, false);
    assert_int_equal(router_rx(r, OUTSIDE, IP + 64), SIRQ_FORWARDED);
    clear(r);
    net_host_sleep(&r->h, SECOND + SECOND / 4); /* not two from the error on */
    assert_int_equal(nat_stats(r).conns, 0);
}

static void full_table_refuses_and_those_in_it_go_on(void **state)
{
    struct router *r = *state;

    for (uint16_t i = 0; i < 8; i++)
        assert_int_equal(nat_out(r, HOST(1), 2000, REMOTE, (uint16_t)(53 + i)), SIRQ_FORWARDED);
    for (uint16_t i = 0; i < 100; i++)
        assert_int_equal(nat_out(r, HOST(2), 2000, REMOTE, (uint16_t)(100 + i)),
                         SIRQ_DROP_NAT_FULL);
    for (uint16_t i = 0; i < 8; i++) {
        assert_int_equal(nat_out(r, HOST(1), 2000, REMOTE, (uint16_t)(53 + i)), SIRQ_FORWARDED);
        assert_int_equal(nat_back(r, (uint16_t)(53 + i), 2000), SIRQ_FORWARDED);
    }
    clear(r);
    assert_int_equal(nat_stats(r).conns, 8);
    sleep_s(r, 12);
    assert_int_equal(nat_stats(r).conns, 0);
    assert_int_equal(nat_out(r, HOST(2), 2000, REMOTE, 100), SIRQ_FORWARDED);
    assert_int_equal(router_stats(r).verdict[SIRQ_DROP_NAT_FULL], 100);
}

static void ports_used_up_for_one_remote_are_there_for_another(void **state)
{
    struct router *r = *state;
    unsigned seen = 0;

    for (uint16_t i = 0; i < 4; i++) {
        assert_int_equal(nat_out(r, HOST(1), (uint16_t)(4000 + i), REMOTE, 53), SIRQ_FORWARDED);
        seen |= 1u << (frame_get16(nat_sent(r, OUTSIDE) + 20) - 2000);
    }
    assert_int_equal(seen, 0xf); /* each once */
    assert_int_equal(nat_out(r, HOST(2), 2000, REMOTE, 53), SIRQ_DROP_NAT_PORTS);
    assert_int_equal(nat_out(r, HOST(2), 2000, REMOTE, 54), SIRQ_FORWARDED);
    assert_int_equal(nat_out(r, HOST(1), 4000, REMOTE, 53), SIRQ_FORWARDED);
    clear(r);
    assert_int_equal(nat_stats(r).conns, 5);
    sleep_s(r, 4);
    assert_int_equal(nat_out(r, HOST(2), 2000, REMOTE, 53), SIRQ_FORWARDED);
    assert_int_equal(router_stats(r).verdict[SIRQ_DROP_NAT_PORTS], 1);
}

/* More than the timer looks at in one of its turns. */
static void large_table_is_emptied_in_time(void **state)
{
    const struct sirq_nat_config config = {.max_conns = 20000, .udp_s = 2};
    struct router *r = *state;

    assert_int_equal(sirq_nat_set(r->h.net, NULL, NULL, NULL), 0);
    assert_int_equal(sirq_nat_set(r->h.net, &r->dev[OUTSIDE].dev, &config, NULL), 0);
    for (uint32_t i = 0; i < 20000; i++) {
        assert_int_equal(nat_out(r, HOST(1), 2000, REMOTE + i, 53), SIRQ_FORWARDED);
        test_dev_sent_clear(&r->dev[OUTSIDE]);
    }
    assert_int_equal(nat_out(r, HOST(1), 2000, REMOTE + 20000, 53), SIRQ_DROP_NAT_FULL);
    sleep_s(r, 4);
    assert_int_equal(nat_stats(r).conns, 0);
}

static void turned_off_all_is_forgotten_and_memory_given_back(void **state)
{
    struct router *r = *state;
    const struct sirq_nat_config config = {.max_conns = 1000};
    size_t with[2], without[2];

    assert_int_equal(nat_out(r, HOST(1), 2000, REMOTE, 53), SIRQ_FORWARDED);
    clear(r);
    assert_int_equal(sirq_nat_set(r->h.net, &r->dev[OUTSIDE].dev, &config, NULL), -EBUSY);
    assert_int_equal(sirq_nat_set(r->h.net, NULL, NULL, NULL), 0);
    assert_int_equal(sirq_nat_set(r->h.net, NULL, NULL, NULL), 0);
    sirq_net_memory(r->h.net, without);
    assert_int_equal(nat_stats(r).conns, 0);
    assert_int_equal(nat_out(r, HOST(1), 2000, REMOTE, 53), SIRQ_FORWARDED);
    assert_addrs(nat_sent(r, OUTSIDE), HOST(1), REMOTE);
    assert_int_equal(sirq_nat_set(r->h.net, &r->dev[OUTSIDE].dev, &config, NULL), 0);
    sirq_net_memory(r->h.net, with);
    assert_in_range(with[0] + with[1] - without[0] - without[1], 40000, 60000);
    assert_int_equal(nat_back(r, 53, 2000), SIRQ_DROP_UDP_PORT);
    clear(r);
}

static void bad_setting_is_refused(void **state)
{
    static const struct {
        struct sirq_nat_config config;
        const char *names;
    } bad[] = {{{.max_conns = SIRQ_NAT_CONNS_MAX + 1}, "max_conns"},
               {{.port_lo = 2000, .port_hi = 1999}, "ports"},
               {{.port_lo = 0, .port_hi = 1}, "ports"}};
    struct router *r = *state;
    struct sirq_ip addr = ip4(US4(OUTSIDE));
    struct sirq_error err;

    assert_int_equal(sirq_nat_set(r->h.net, NULL, NULL, NULL), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(sirq_nat_set(r->h.net, &r->dev[OUTSIDE].dev, &bad[i].config, &err),
                         -EINVAL);
        assert_non_null(strstr(err.text, bad[i].names));
    }
    assert_int_equal(sirq_netdev_addr_del(&r->dev[OUTSIDE].dev, &addr, 24, NULL), 0);
    assert_int_equal(sirq_nat_set(r->h.net, &r->dev[OUTSIDE].dev, &bad[0].config, &err),
                     -EADDRNOTAVAIL);
}

/* ---- two CPUs ------------------------------------------------------------------------- */

#define ROUNDS 20000u

struct side {
    struct router *r;
    unsigned dev;
    uint64_t passed;
    uint64_t busy;
};

/* One CPU takes what comes from inside, the other what comes from outside.  What leaves soon finds
 * the devices full, which is not looked at here. */
static void *play(void *arg)
{
    struct side *side = arg;
    struct router *r = side->r;
    uint8_t frame[FRAME_MAX];

    net_host_run_on((int)side->dev);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const uint16_t port = (uint16_t)(53 + i % 6);
        const struct frame_spec spec = {.saddr = side->dev == INSIDE ? HOST(1) : REMOTE,
                                        .daddr = side->dev == INSIDE ? REMOTE : US4(OUTSIDE),
                                        .sport = side->dev == INSIDE ? 2000 : port,
                                        .dport = side->dev == INSIDE ? port : 2000,
                                        .payload = 16};
        uint32_t len = frame_build(frame, &spec);
        enum sirq_drop verdict;

        memcpy(frame, us_mac[side->dev], 6);
        verdict = test_dev_rx(&r->dev[side->dev], &r->h.cpu[side->dev], frame, len);
        side->passed += verdict == SIRQ_FORWARDED;
        side->busy += verdict == SIRQ_DROP_NAT_BUSY;
    }
    return NULL;
}

static void directions_on_two_cpus_make_each_connection_once(void **state)
{
    struct router *r = *state;
    struct side side[2] = {{.r = r, .dev = INSIDE}, {.r = r, .dev = OUTSIDE}};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, play, &side[1]), 0);
    play(&side[0]);
    pthread_join(thread, NULL);
    net_host_run_on(0);
    net_host_check_sums(&r->h);
    assert_int_equal(side[0].passed + side[0].busy, ROUNDS);
    assert_int_equal(nat_stats(r).created, 6);
    assert_int_equal(nat_stats(r).translated[0], side[0].passed);
    assert_int_equal(nat_stats(r).translated[1], side[1].passed);
}

#define RACES 10000u

struct racer {
    struct router *r;
    struct test_dev *dev;
    unsigned cpu, *at, *other; /* __atomic: rounds begun */
    uint64_t passed, busy;
};

/* The first packet of a connection, on each CPU at about the same time. */
static void *race(void *arg)
{
    struct racer *racer = arg;
    uint8_t frame[FRAME_MAX];

    net_host_run_on((int)racer->cpu);
    for (unsigned i = 1; i <= RACES; i++) {
        const struct frame_spec spec = {.saddr = HOST(1),
                                        .daddr = REMOTE,
                                        .sport = (uint16_t)(2000 + i),
                                        .dport = 53,
                                        .payload = 16};
        uint32_t len = frame_build(frame, &spec);
        enum sirq_drop verdict;

        memcpy(frame, us_mac[INSIDE], 6);
        __atomic_store_n(racer->at, i, __ATOMIC_RELEASE);
        while (__atomic_load_n(racer->other, __ATOMIC_ACQUIRE) < i)
            sched_yield();
        verdict = test_dev_rx(racer->dev, &racer->r->h.cpu[racer->cpu], frame, len);
        racer->passed += verdict == SIRQ_FORWARDED;
        racer->busy += verdict == SIRQ_DROP_NAT_BUSY;
    }
    return NULL;
}

static void connection_begun_on_two_cpus_at_once_is_one(void **state)
{
    static struct test_dev third;
    struct router *r = *state;
    unsigned at[2] = {0, 0};
    struct racer racer[2] = {
        {.r = r, .dev = &r->dev[INSIDE], .cpu = 0, .at = &at[0], .other = &at[1]},
        {.r = r, .dev = &third, .cpu = 1, .at = &at[1], .other = &at[0]}};
    pthread_t thread;
    uint64_t busy;

    /* Room for a second one of each. */
    assert_int_equal(sirq_nat_set(r->h.net, NULL, NULL, NULL), 0);
    assert_int_equal(sirq_nat_set(r->h.net, &r->dev[OUTSIDE].dev,
                                  &(struct sirq_nat_config){.max_conns = 2 * RACES}, NULL),
                     0);
    test_dev_open(&third, &r->h);
    assert_int_equal(pthread_create(&thread, NULL, race, &racer[1]), 0);
    race(&racer[0]);
    pthread_join(thread, NULL);
    net_host_run_on(0);
    net_host_check_sums(&r->h);
    busy = racer[0].busy + racer[1].busy; /* the other one was preempted in the middle of it */
    assert_int_equal(racer[0].passed + racer[1].passed + busy, 2 * RACES);
    assert_in_range(nat_stats(r).created, RACES - busy, RACES);
    test_dev_close(&third, &r->h.cpu[0]);
}

/*
 * A CPU that was preempted while it took a connection away, at any point of that: those of the
 * others go on both ways, and only new ones have to wait.
 */
static void holder_that_does_not_go_on_stops_no_connection(void **state)
{
    struct router *r = *state;
    struct sirq_nat *nat = r->h.net->nat;

    for (uint16_t i = 0; i < 4; i++)
        assert_int_equal(nat_out(r, HOST(1), 2000, REMOTE, (uint16_t)(53 + i)), SIRQ_FORWARDED);
    clear(r);
    nat->lock = 1;
    nat->changing = 2; /* as it is between change_begin() and change_end() */
    nat->seq++;
    for (uint16_t i = 0; i < 4; i++) {
        enum sirq_drop want = nat->conn[2].in.rport == 53 + i ? SIRQ_DROP_NAT_BUSY : SIRQ_FORWARDED;

        assert_int_equal(nat_out(r, HOST(1), 2000, REMOTE, (uint16_t)(53 + i)), want);
        assert_int_equal(nat_back(r, (uint16_t)(53 + i), 2000), want);
        clear(r);
    }
    assert_int_equal(nat_out(r, HOST(1), 2000, REMOTE, 99), SIRQ_DROP_NAT_BUSY);
    nat->seq++;
    nat->lock = 0;
    assert_int_equal(nat_out(r, HOST(1), 2000, REMOTE, 99), SIRQ_FORWARDED);
    assert_int_equal(nat_back(r, 55, 2000), SIRQ_FORWARDED);
    clear(r);
}

#define NAT_TEST(test) cmocka_unit_test_setup_teardown(test, setup, router_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NAT_TEST(datagram_without_an_answer_is_forgotten_sooner),
        NAT_TEST(tcp_is_kept_as_long_as_its_state_asks_for),
        NAT_TEST(tcp_that_ends_is_forgotten_sooner),
        NAT_TEST(ping_is_forgotten_and_an_error_keeps_nothing),
        NAT_TEST(full_table_refuses_and_those_in_it_go_on),
        NAT_TEST(ports_used_up_for_one_remote_are_there_for_another),
        NAT_TEST(large_table_is_emptied_in_time),
        NAT_TEST(turned_off_all_is_forgotten_and_memory_given_back),
        NAT_TEST(bad_setting_is_refused),
        NAT_TEST(holder_that_does_not_go_on_stops_no_connection),
        NAT_TEST(connection_begun_on_two_cpus_at_once_is_one),
        NAT_TEST(directions_on_two_cpus_make_each_connection_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
