/* SPDX-License-Identifier: MIT */
/*
 * A UDP echo server in an event loop: the socket's descriptor in epoll, beside a timerfd that
 * prints what was received in each second.
 */
#include "common.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return fd < 0 ? fd : epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Until nothing is queued, which arms the descriptor again. */
static int take(struct example *ex)
{
    struct sirq_msg *msgs = example_batch();
    int n;

    while (!example_ended() && (n = sirq_recv(ex->sock, msgs, BATCH, 0)) != -EAGAIN) {
        if (n < 0)
            return n == -EINTR ? 0 : n;
        example_echo(ex, msgs, (unsigned)n);
    }
    return 0;
}

static int each_second(struct example *ex, int timer)
{
    static uint64_t before;
    uint64_t ticks;

    if (read(timer, &ticks, sizeof(ticks)) < 0)
        return errno == EAGAIN ? 0 : -errno;
    printf("%lu received\n", (unsigned long)(ex->received - before));
    fflush(stdout);
    before = ex->received;
    return 0;
}

static int loop(struct example *ex, int epoll, int timer)
{
    const struct itimerspec second = {{1, 0}, {1, 0}};
    int sock = sirq_socket_fd(ex->sock);
    int rc = watch(epoll, sock);

    if (rc == 0)
        rc = watch(epoll, timer);
    if (rc == 0 && timerfd_settime(timer, 0, &second, NULL) < 0)
        rc = -errno;
    while (rc == 0 && !example_ended()) {
        struct epoll_event events[2];
        int n = epoll_wait(epoll, events, 2, -1);

        if (n < 0 && errno != EINTR)
            rc = -errno;
        for (int i = 0; i < n && rc == 0; i++)
            rc = events[i].data.fd == sock ? take(ex) : each_second(ex, timer);
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct example ex;
    int rc;

    example_options(&ex, argc, argv, "A UDP echo server in an epoll loop, with a timer.", 7, "", 0);
    rc = example_start(&ex);
    if (rc == 0) {
        int epoll = epoll_create1(EPOLL_CLOEXEC);
        int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

        rc = loop(&ex, epoll, timer);
        if (rc != 0)
            fprintf(stderr, "%s: %s\n", argv[0], strerror(-rc));
        close(timer);
        close(epoll);
    }
    example_stop(&ex);
    return rc != 0;
}
