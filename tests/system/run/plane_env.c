/* SPDX-License-Identifier: MIT */
#include "../netns_env.h"

#include "plane_env.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define WAIT_MS 20000u /* under a sanitizer and a busy machine too */

const char *plane_skip;
unsigned plane_cpus[2];
char plane_file[64];
static pid_t running;

static void find_cpus(void)
{
    unsigned n = 0;
    cpu_set_t set;

    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++) {
        if (CPU_ISSET(cpu, &set))
            plane_cpus[n++] = cpu;
    }
    if (n == 1)
        plane_cpus[1] = plane_cpus[0];
}

void plane_env_open(void)
{
    int fd;

    snprintf(plane_file, sizeof(plane_file), "/tmp/sirq-plane-XXXXXX");
    fd = mkstemp(plane_file);
    assert_true(fd >= 0);
    close(fd);
    find_cpus();
    skip_reason = enter_namespace(true);
    plane_skip = skip_reason;
    if (plane_skip == NULL &&
        system("ip link set lo up && ip link add cl0 type veth peer name sv0 && "
               "ip link set sv0 up && ip addr add 192.0.2.2/24 dev cl0 && "
               "echo 0 > /proc/sys/net/ipv6/conf/cl0/disable_ipv6 && ip link set cl0 up && "
               "ip addr add 2001:db8::2/64 dev cl0 nodad") != 0)
        plane_skip = "cannot make a veth pair (is iproute2 installed, the veth module there?)";
}

void plane_env_close(void)
{
    unlink(plane_file);
}

/* ---- the file ----------------------------------------------------------------------------- */

void plane_write(const char *text)
{
    FILE *file = fopen(plane_file, "w");

    assert_non_null(file);
    for (; *text != '\0'; text++) {
        if (text[0] == '@' && (text[1] == '0' || text[1] == '1'))
            fprintf(file, "%u", plane_cpus[*++text - '0']);
        else
            fputc(*text, file);
    }
    assert_int_equal(fclose(file), 0);
}

void plane_write_echo(const char *more, const char *steer)
{
    const char *cpus = plane_cpus[0] == plane_cpus[1] ? "cpus: [@0]" : "cpus: [@0, @1]";
    char text[2048];

    snprintf(text, sizeof(text),
             "%s\n%s\ninterfaces:\n"
             "  - {name: sv0, driver: packet, addresses: [192.0.2.1/24, \"2001:db8::1/64\"]%s}\n"
             "services:\n"
             "  - udp-echo: {port: 7}\n",
             cpus, more, steer);
    plane_write(text);
}

/* ---- the program -------------------------------------------------------------------------- */

static unsigned times_in(int fd, const char *line)
{
    static char text[65536];
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    unsigned times = 0;

    text[n > 0 ? n : 0] = '\0';
    for (const char *at = strstr(text, line); at != NULL; at = strstr(at + 1, line))
        times++;
    return times;
}

void plane_says(const struct cli_run *run, const char *line, unsigned times)
{
    for (unsigned ms = 0; ms < WAIT_MS; ms += 5) {
        if (times_in(run->err, line) >= times)
            return;
        cli_sleep_ms(5);
    }
    fail_msg("'%s' was not said %u times", line, times);
}

void plane_start(struct cli_run *run, const char *options)
{
    char args[200];

    snprintf(args, sizeof(args), "run %s %s", plane_file, options);
    cli_start(run, args);
    running = run->pid;
    plane_says(run, ": running\n", 1);
}

int plane_teardown(void **state)
{
    (void)state;
    /* Of a child that was waited for, there is nothing to wait for. */
    if (running > 0 && waitpid(running, NULL, WNOHANG) == 0) {
        kill(running, SIGKILL);
        waitpid(running, NULL, 0);
    }
    running = 0;
    return 0;
}

void plane_end(struct cli_run *run, int signo)
{
    assert_int_equal(kill(run->pid, signo), 0);
    cli_finish(run);
    cli_expect_exit(run, 0);
}

/* ---- sockets ------------------------------------------------------------------------------ */

int plane_connect_from(const char *address, unsigned port, unsigned from)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    bool is_v4 = inet_pton(AF_INET, address, &v4.sin_addr) == 1;
    int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), room = 4 << 20;

    assert_true(fd >= 0);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    if (is_v4) {
        const struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons((uint16_t)from)};

        assert_int_equal(bind(fd, (const struct sockaddr *)&own, sizeof(own)), 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&v4, sizeof(v4)), 0);
    } else {
        assert_int_equal(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
        assert_int_equal(connect(fd, (struct sockaddr *)&v6, sizeof(v6)), 0);
    }
    return fd;
}

int plane_connect(const char *address, unsigned port)
{
    return plane_connect_from(address, port, 0);
}

bool plane_echo(int fd, unsigned n)
{
    struct pollfd pfd = {.fd = fd, .events = POLLIN};
    unsigned back = ~n;

    assert_int_equal(send(fd, &n, sizeof(n), 0), sizeof(n));
    return poll(&pfd, 1, 2000) == 1 && recv(fd, &back, sizeof(back), 0) == sizeof(back) &&
           back == n;
}

long long plane_figure(const struct cli_run *run, const char *name, unsigned column)
{
    size_t len = strlen(name);
    const char *row = run->text[0];

    while (row != NULL && (strncmp(row, name, len) != 0 || row[len] != ' ')) {
        row = strchr(row, '\n');
        row = row != NULL ? row + 1 : NULL;
    }
    for (row = row != NULL ? row + len : NULL; row != NULL && column > 0; column--)
        row += strspn(row, " ") + strcspn(row + strspn(row, " "), " \n");
    return row != NULL ? strtoll(row, NULL, 10) : -1;
}
