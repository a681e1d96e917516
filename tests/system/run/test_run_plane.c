/* SPDX-License-Identifier: MIT */
/*
 * softirq run on a veth pair, with a kernel's sockets as clients: that it answers, what it takes
 * up while traffic flows, how it ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plane_env.h"

static uint64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Rows of stdout: every frame that came has its end, and every one to be sent. */
static void sums_are_exact(const struct cli_run *run)
{
    static const char *const heads[] = {"received", "to send"};

    for (unsigned i = 0; i < 2; i++) {
        char mark[32];
        const char *at;
        long long total, sum = 0;

        snprintf(mark, sizeof(mark), "\n%s   ", heads[i]);
        at = strstr(run->text[0], mark);
        assert_non_null(at);
        total = strtoll(at + strlen(mark), NULL, 10);
        for (at = strchr(at + 1, '\n'); at != NULL && strncmp(at, "\n  ", 3) == 0;
             at = strchr(at + 1, '\n'))
            sum += strtoll(at + 3 + strcspn(at + 3, " "), NULL, 10);
        if (total != sum)
            fail_msg("%s: %lld, and its rows %lld\n%s", heads[i], total, sum, run->text[0]);
    }
}

/* ---- answers -------------------------------------------------------------------------------- */

static void run_echo_answers_over_both_families(void **state)
{
    const char *const addresses[] = {PLANE4, PLANE6};
    struct cli_run run;

    (void)state;
    NEEDS_PLANE();
    plane_write_echo("policy: ksoftirqd", "");
    plane_start(&run, "");
    for (unsigned i = 0; i < 2; i++) {
        int fd = plane_connect(addresses[i], 7);

        for (unsigned n = 0; n < 200; n++)
            assert_true(plane_echo(fd, n));
        close(fd);
    }
    plane_end(&run, SIGTERM);
    assert_int_equal(plane_figure(&run, "udp-echo 7", 0), 400);
    assert_int_equal(plane_figure(&run, "udp-echo 7", 1), 400);
    sums_are_exact(&run);
}

static void run_echo_to_its_own_port_is_not_answered(void **state)
{
    struct cli_run run;
    int fd, from;
    unsigned n = 1;

    (void)state;
    NEEDS_PLANE();
    if (geteuid() != 0)
        skip();
    plane_write_echo("", "");
    plane_start(&run, "");
    from = plane_connect_from(PLANE4, 7, 7);
    fd = plane_connect(PLANE4, 7);
    assert_int_equal(send(from, &n, sizeof(n), 0), sizeof(n));
    assert_true(plane_echo(fd, 2));
    assert_int_equal(recv(from, &n, sizeof(n), MSG_DONTWAIT), -1);
    close(fd);
    close(from);
    plane_end(&run, SIGINT);
    assert_int_equal(plane_figure(&run, "udp-echo 7", 0), 2);
    assert_int_equal(plane_figure(&run, "udp-echo 7", 2), 1);
}

/* Tagged frames alone are taken, and answers have the tag. */
static void run_vlan_answers_in_its_vlan(void **state)
{
    struct cli_run run;
    int fd;

    (void)state;
    NEEDS_PLANE();
    if (system("ip link add link cl0 name cl0.7 type vlan id 7 && ip link set cl0.7 up && "
               "ip addr add 203.0.113.2/24 dev cl0.7") != 0) {
        print_message("skipped: no 802.1Q here (modprobe 8021q)\n");
        skip();
    }
    plane_write("cpus: [@0]\n"
                "interfaces:\n"
                "  - {name: plain, ifname: sv0, driver: packet, addresses: [192.0.2.1/24]}\n"
                "  - {name: tagged, ifname: sv0, driver: packet, vlan: 7,\n"
                "     addresses: [203.0.113.1/24]}\n"
                "services: [udp-echo: {port: 7}]\n");
    plane_start(&run, "");
    fd = plane_connect("203.0.113.1", 7);
    for (unsigned n = 0; n < 50; n++)
        assert_true(plane_echo(fd, n));
    close(fd);
    fd = plane_connect(PLANE4, 7);
    for (unsigned n = 0; n < 50; n++)
        assert_true(plane_echo(fd, n));
    close(fd);
    plane_end(&run, SIGTERM);
    assert_int_equal(plane_figure(&run, "udp-echo 7", 1), 100);
    sums_are_exact(&run);
    assert_int_equal(system("ip link del cl0.7"), 0);
}

/* The kernel's end of the interface is the client here. */
static void run_tap_answers(void **state)
{
    struct cli_run run;
    int fd;

    (void)state;
    NEEDS_PLANE();
    if (access("/dev/net/tun", R_OK | W_OK) != 0) {
        print_message("skipped: no /dev/net/tun (modprobe tun)\n");
        skip();
    }
    plane_write("cpus: [@0]\n"
                "interfaces:\n"
                "  - {name: tq0, driver: tap, addresses: [203.0.113.1/24]}\n"
                "services: [udp-echo: {port: 7, address: 203.0.113.1, batch: 1}]\n");
    plane_start(&run, "");
    assert_int_equal(system("ip addr add 203.0.113.2/24 dev tq0 && ip link set tq0 up"), 0);
    fd = plane_connect("203.0.113.1", 7);
    for (unsigned n = 0; n < 50; n++)
        assert_true(plane_echo(fd, n));
    close(fd);
    plane_end(&run, SIGTERM);
    assert_int_equal(plane_figure(&run, "udp-echo 7", 1), 50);
    sums_are_exact(&run);
}

/* ---- what it takes up ----------------------------------------------------------------------- */

#define FLOWS 3u
#define WINDOW 48u
#define BURST 400u /* that a socket queue of 1 MiB and a ring of 1024 hold */

struct flow {
    int fd;
    unsigned sent, got;
};

/* Each flow has WINDOW datagrams on their way; each answer is the next of its flow. */
static void traffic(struct flow *flows, unsigned ms)
{
    struct pollfd pfds[FLOWS];
    uint64_t end = now_ms() + ms;

    while (now_ms() < end) {
        for (unsigned i = 0; i < FLOWS; i++) {
            for (; flows[i].sent - flows[i].got < WINDOW; flows[i].sent++)
                assert_int_equal(send(flows[i].fd, &flows[i].sent, sizeof(unsigned), 0),
                                 sizeof(unsigned));
            pfds[i] = (struct pollfd){.fd = flows[i].fd, .events = POLLIN};
        }
        if (poll(pfds, FLOWS, 5000) <= 0)
            fail_msg("no answer for 5 s");
        for (unsigned i = 0, n; i < FLOWS; i++) {
            while (recv(flows[i].fd, &n, sizeof(n), MSG_DONTWAIT) == sizeof(n)) {
                if (n != flows[i].got)
                    fail_msg("flow %u: %u came, expected %u", i, n, flows[i].got);
                flows[i].got++;
            }
        }
    }
}

static void collect(struct flow *flow)
{
    for (unsigned n; flow->got < flow->sent; flow->got++) {
        struct pollfd pfd = {.fd = flow->fd, .events = POLLIN};

        if (poll(&pfd, 1, 2000) != 1)
            fail_msg("%u of %u were answered", flow->got, flow->sent);
        assert_int_equal(recv(flow->fd, &n, sizeof(n), 0), sizeof(n));
        assert_int_equal(n, flow->got);
    }
}

static void run_reload_loses_and_reorders_nothing(void **state)
{
    static const char *const versions[][2] = {
        {"policy: inline", ", rps: [@0, @1]"},
        {"policy: time2ms\nbacklog_threads: [{}]", ", rps: [@1]"},
        {"policy: threaded\nbacklog_threads: [{of: [@0], sched: {nice: 3}}]",
         ", rps: [@0, @1, @1]"},
        {"policy: ksoftirqd\nrfs: true", ", rps: [@0, @1], threaded: {}"},
        {"policy: looped\nksoftirqd: {nice: 1}", ", threaded: {cpus: [@1]}"},
        {"", ""},
    };
    struct flow flows[FLOWS] = {{.fd = -1}};
    struct cli_run run;
    long long sent = 0;

    (void)state;
    NEEDS_PLANE();
    plane_write_echo("policy: ksoftirqd", "");
    plane_start(&run, "");
    for (unsigned i = 0; i < FLOWS; i++)
        flows[i] = (struct flow){.fd = plane_connect(i == 0 ? PLANE6 : PLANE4, 7)};
    for (unsigned i = 0; i < FLOWS; i++) /* neighbours know each other first */
        assert_true(plane_echo(flows[i].fd, 0));
    traffic(flows, 50);
    for (unsigned v = 0; v < 2 * sizeof(versions) / sizeof(versions[0]); v++) {
        const char *const *version = versions[v % (sizeof(versions) / sizeof(versions[0]))];

        plane_write_echo(version[0], version[1]);
        assert_int_equal(kill(run.pid, SIGHUP), 0);
        traffic(flows, 60);
        plane_says(&run, "read again and taken up", v + 1);
        traffic(flows, 20);
    }
    for (unsigned i = 0; i < FLOWS; i++) {
        collect(&flows[i]);
        sent += flows[i].sent;
        close(flows[i].fd);
    }
    plane_end(&run, SIGTERM);
    assert_int_equal(plane_figure(&run, "udp-echo 7", 0), sent + FLOWS);
    assert_int_equal(plane_figure(&run, "udp-echo 7", 1), sent + FLOWS);
    assert_int_equal(plane_figure(&run, "udp-echo 7", 3), 0);
    sums_are_exact(&run);
}

static void run_reload_of_anything_else_is_refused_and_it_goes_on(void **state)
{
    struct cli_run run;
    char line[200];
    int fd;

    (void)state;
    NEEDS_PLANE();
    plane_write_echo("policy: inline", "");
    plane_start(&run, "");
    fd = plane_connect(PLANE4, 7);
    plane_write_echo("policy: time2ms", ", ring_size: 512");
    assert_int_equal(kill(run.pid, SIGHUP), 0);
    snprintf(line, sizeof(line),
             "softirq run: not taken up: %s:4: interfaces[0].ring_size: has changed, and cannot "
             "while the plane runs; restart it, or put it back\n",
             plane_file);
    plane_says(&run, line, 1);
    assert_true(plane_echo(fd, 1));
    plane_write_echo("policy: nonsense", "");
    assert_int_equal(kill(run.pid, SIGHUP), 0);
    snprintf(line, sizeof(line),
             "softirq run: not taken up: %s:2: policy: 'nonsense': ", plane_file);
    plane_says(&run, line, 1);
    assert_true(plane_echo(fd, 2));
    close(fd);
    plane_end(&run, SIGTERM);
    assert_non_null(strstr(run.text[0], "policy inline\n"));
}

static void drop_sys_nice(void)
{
    const struct rlimit none = {0, 0};

    prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0);
    setrlimit(RLIMIT_RTPRIO, &none);
}

/* The policy had been set when the thread was refused its class. */
static void run_reload_that_fails_half_way_leaves_all_as_it_was(void **state)
{
    struct cli_run run;
    int fd;

    (void)state;
    NEEDS_PLANE();
    cli_prepare = drop_sys_nice;
    plane_write_echo("policy: inline", "");
    plane_start(&run, "");
    cli_prepare = NULL;
    fd = plane_connect(PLANE4, 7);
    assert_true(plane_echo(fd, 0));
    plane_write_echo("policy: time2ms", ", threaded: {sched: {class: fifo, priority: 5}}");
    assert_int_equal(kill(run.pid, SIGHUP), 0);
    plane_says(&run, ":4: interfaces[0]: napi/sv0-0: SCHED_FIFO priority 5 not permitted", 1);
    for (unsigned n = 0; n < 50; n++)
        assert_true(plane_echo(fd, n));
    close(fd);
    plane_end(&run, SIGTERM);
    assert_non_null(strstr(run.text[0], "policy inline\n"));
    assert_null(strstr(run.text[1], "going back"));
    sums_are_exact(&run);
}

/* ---- its end -------------------------------------------------------------------------------- */

/* It is stopped while they come, so that all of them wait on the ring when it is told to end. */
static void run_sigterm_answers_what_was_sent_before(void **state)
{
    struct flow flow = {.fd = -1};
    struct cli_run run;

    (void)state;
    NEEDS_PLANE();
    plane_write_echo("backlog_threads: [{}]", ", rps: [@1]");
    plane_start(&run, "");
    flow.fd = plane_connect(PLANE4, 7);
    assert_true(plane_echo(flow.fd, 0));
    assert_int_equal(kill(run.pid, SIGSTOP), 0);
    for (; flow.sent < BURST; flow.sent++)
        assert_int_equal(send(flow.fd, &flow.sent, sizeof(unsigned), 0), sizeof(unsigned));
    assert_int_equal(kill(run.pid, SIGTERM), 0);
    assert_int_equal(kill(run.pid, SIGCONT), 0);
    cli_finish(&run);
    cli_expect_exit(&run, 0);
    collect(&flow);
    close(flow.fd);
    assert_int_equal(plane_figure(&run, "udp-echo 7", 1), BURST + 1);
    sums_are_exact(&run);
}

static void run_sigterm_under_a_flood_ends_soon(void **state)
{
    struct cli_run run;
    uint64_t began;
    pid_t flood;
    int fd;

    (void)state;
    NEEDS_PLANE();
    plane_write_echo("drain_ms: 1000", "");
    plane_start(&run, "");
    fd = plane_connect(PLANE4, 7);
    flood = fork();
    assert_true(flood >= 0);
    if (flood == 0) {
        alarm(30);
        for (;;)
            send(fd, "x", 1, 0);
    }
    cli_sleep_ms(200);
    began = now_ms();
    plane_end(&run, SIGTERM);
    assert_true(now_ms() - began < 10000);
    kill(flood, SIGKILL);
    waitpid(flood, NULL, 0);
    close(fd);
    assert_true(plane_figure(&run, "udp-echo 7", 1) > 0);
    sums_are_exact(&run);
}

/* ---- what it prints ------------------------------------------------------------------------- */

static void run_sigusr1_prints_counters_and_stats_rates(void **state)
{
    struct cli_run run;
    int fd;

    (void)state;
    NEEDS_PLANE();
    plane_write_echo("policy: rtdefer", "");
    plane_start(&run, "--stats 1");
    fd = plane_connect(PLANE4, 7);
    for (unsigned n = 0; n < 10; n++)
        assert_true(plane_echo(fd, n));
    cli_sleep_ms(100); /* an answer is counted after it has been sent */
    assert_int_equal(kill(run.pid, SIGUSR1), 0);
    cli_sleep_ms(1500);
    assert_true(plane_echo(fd, 10));
    close(fd);
    plane_end(&run, SIGTERM);
    assert_int_equal(strncmp(run.text[0], "policy rtdefer\n", 15), 0);
    assert_int_equal(plane_figure(&run, "udp-echo 7", 1), 10); /* of the first table */
    assert_non_null(strstr(run.text[0] + 1, "\npolicy rtdefer\n"));
    assert_non_null(strstr(run.text[0], "packets/s: received "));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(run_echo_answers_over_both_families, plane_teardown),
        cmocka_unit_test_teardown(run_echo_to_its_own_port_is_not_answered, plane_teardown),
        cmocka_unit_test_teardown(run_vlan_answers_in_its_vlan, plane_teardown),
        cmocka_unit_test_teardown(run_tap_answers, plane_teardown),
        cmocka_unit_test_teardown(run_reload_loses_and_reorders_nothing, plane_teardown),
        cmocka_unit_test_teardown(run_reload_of_anything_else_is_refused_and_it_goes_on,
                                  plane_teardown),
        cmocka_unit_test_teardown(run_reload_that_fails_half_way_leaves_all_as_it_was,
                                  plane_teardown),
        cmocka_unit_test_teardown(run_sigterm_answers_what_was_sent_before, plane_teardown),
        cmocka_unit_test_teardown(run_sigterm_under_a_flood_ends_soon, plane_teardown),
        cmocka_unit_test_teardown(run_sigusr1_prints_counters_and_stats_rates, plane_teardown),
    };
    int rc;

    if (argc != 2)
        return 1;
    cli_program = argv[1];
    plane_env_open();
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    plane_env_close();
    return rc;
}
