/* SPDX-License-Identifier: MIT */
/*
 * softirq run as a router between two kernels: this test's namespace, and one whose process
 * answers UDP on port 7.  It runs in a third: a kernel that sees both networks and has an address
 * on one would take what comes for it from either.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plane_env.h"

#define FAR4 "198.51.100.2"
#define FAR6 "2001:db8:2::2"

static pid_t far = -1;
static int plane_ns = -1;

/* Both families on one socket; until the test ends. */
static void answer(int said)
{
    const struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(7)};
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    char data[2048];

    if (fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(any)) != 0 ||
        write(said, "r", 1) != 1)
        _exit(1);
    for (;;) {
        struct sockaddr_in6 from;
        socklen_t len = sizeof(from);
        ssize_t n = recvfrom(fd, data, sizeof(data), 0, (struct sockaddr *)&from, &len);

        if (n >= 0)
            sendto(fd, data, (size_t)n, 0, (const struct sockaddr *)&from, len);
    }
}

static void far_main(int told, int said)
{
    char go;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(CLONE_NEWNET) != 0 || write(said, "u", 1) != 1 || read(told, &go, 1) != 1)
        _exit(1);
    if (system("ip addr add 198.51.100.2/24 dev cl1 && ip link set cl1 up && "
               "ip addr add 2001:db8:2::2/64 dev cl1 nodad && "
               "ip route add default via 198.51.100.1 && "
               "ip -6 route add default via 2001:db8:2::1") != 0)
        _exit(1);
    answer(said);
}

static bool heard(int fd)
{
    char byte;

    return read(fd, &byte, 1) == 1;
}

static void enter_plane_ns(void)
{
    if (setns(plane_ns, CLONE_NEWNET) != 0)
        _exit(126);
}

/* A namespace for the plane, with the ends of both veth pairs. */
static bool make_plane_ns(void)
{
    int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    char command[300];

    assert_true(own >= 0);
    if (unshare(CLONE_NEWNET) != 0)
        return false;
    plane_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    assert_int_equal(setns(own, CLONE_NEWNET), 0);
    snprintf(command, sizeof(command),
             "ip link add cl1 type veth peer name sv1 && ip link set sv0 netns /proc/%d/fd/%d && "
             "ip link set sv1 netns /proc/%d/fd/%d && ip link set cl1 netns %d",
             (int)getpid(), plane_ns, (int)getpid(), plane_ns, (int)far);
    if (system(command) != 0)
        return false;
    enter_plane_ns();
    if (system("echo 0 > /proc/sys/net/ipv4/ip_forward && ip link set sv0 up && "
               "ip link set sv1 up") != 0)
        return false;
    assert_int_equal(setns(own, CLONE_NEWNET), 0);
    close(own);
    cli_prepare = enter_plane_ns;
    return true;
}

static const char *make_far(void)
{
    int tell[2], say[2];
    bool ready;

    assert_int_equal(pipe(tell) | pipe(say), 0);
    far = fork();
    assert_true(far >= 0);
    if (far == 0)
        far_main(tell[0], say[1]);
    close(say[1]);
    ready = heard(say[0]) && make_plane_ns() && write(tell[1], "g", 1) == 1 && heard(say[0]) &&
            system("ip route add 198.51.100.0/24 via 192.0.2.1 && "
                   "ip -6 route add 2001:db8:2::/64 via 2001:db8::1") == 0;
    close(say[0]);
    close(tell[0]);
    close(tell[1]);
    return ready ? NULL : "cannot make more namespaces";
}

static void write_router(const char *more, const char *steer)
{
    const char *cpus = plane_cpus[0] == plane_cpus[1] ? "cpus: [@0]" : "cpus: [@0, @1]";
    char text[1024];

    snprintf(text, sizeof(text),
             "%s\n%s\ninterfaces:\n"
             "  - {name: near, ifname: sv0, driver: packet,\n"
             "     addresses: [192.0.2.1/24, \"2001:db8::1/64\"]%s}\n"
             "  - {name: far, ifname: sv1, driver: packet, cpu: @1,\n"
             "     addresses: [198.51.100.1/24, \"2001:db8:2::1/64\"]%s}\n"
             "services: [forward: {}]\n",
             cpus, more, steer, steer);
    plane_write(text);
}

static void run_forward_carries_both_families_and_both_ways(void **state)
{
    const char *const addresses[] = {FAR4, FAR6};
    struct cli_run run;

    (void)state;
    NEEDS_PLANE();
    write_router("policy: ksoftirqd", "");
    plane_start(&run, "");
    for (unsigned i = 0; i < 4; i++) {
        int fd = plane_connect(addresses[i % 2], 7);

        for (unsigned n = 0; n < 100; n++)
            assert_true(plane_echo(fd, n));
        close(fd);
        write_router("policy: time2ms\nbacklog_threads: [{}]", ", rps: [@0, @1]");
        if (i == 1)
            assert_int_equal(kill(run.pid, SIGHUP), 0);
        plane_says(&run, "read again and taken up", i > 0);
    }
    plane_end(&run, SIGTERM);
    assert_int_equal(plane_figure(&run, "  forwarded", 0), 800);
}

static void run_without_forward_carries_nothing(void **state)
{
    struct cli_run run;
    unsigned n = 0;
    int fd;

    (void)state;
    NEEDS_PLANE();
    plane_write("cpus: [@0]\n"
                "interfaces:\n"
                "  - {name: sv0, driver: packet, addresses: [192.0.2.1/24]}\n"
                "  - {name: sv1, driver: packet, addresses: [198.51.100.1/24]}\n");
    plane_start(&run, "");
    fd = plane_connect(FAR4, 7);
    for (; n < 5; n++)
        assert_int_equal(send(fd, &n, sizeof(n), 0), sizeof(n));
    close(fd);
    plane_end(&run, SIGTERM);
    assert_int_equal(plane_figure(&run, "  forwarded", 0), 0);
    assert_int_equal(plane_figure(&run, "  ip_dst", 0), 5);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(run_forward_carries_both_families_and_both_ways, plane_teardown),
        cmocka_unit_test_teardown(run_without_forward_carries_nothing, plane_teardown),
    };
    int rc;

    if (argc != 2)
        return 1;
    cli_program = argv[1];
    plane_env_open();
    if (plane_skip == NULL)
        plane_skip = make_far();
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    plane_env_close();
    if (far > 0) {
        kill(far, SIGKILL);
        waitpid(far, NULL, 0);
    }
    return rc;
}
