/* SPDX-License-Identifier: MIT */
/* One byte there, one byte back, as netperf's TCP_RR does; each process is one epoll loop. */
#include "rr_peers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT 9100
#define BACKLOG 512
#define EVENTS 256

static void watch(struct sirq_peer_page *page, int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    if (fd < 0)
        sirq_peer_give_up(page, "tcp-rr: socket", -fd);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
        sirq_peer_give_up(page, "tcp-rr: epoll", errno);
}

static int listen_there(void)
{
    const struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) || listen(fd, BACKLOG))
        return -errno;
    return fd;
}

static void no_delay(int fd)
{
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static void answer(struct sirq_peer_page *page, int epoll, int fd, int listener)
{
    char byte;

    if (fd == listener) {
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        no_delay(fd);
        watch(page, epoll, fd < 0 ? -errno : fd);
    } else if (read(fd, &byte, 1) != 1 || write(fd, &byte, 1) != 1) {
        close(fd);
    }
}

void sirq_rr_server(struct sirq_peer_page *page, const void *unused)
{
    struct epoll_event events[EVENTS];
    int epoll = epoll_create1(EPOLL_CLOEXEC), listener;

    (void)unused;
    sirq_peer_enter(page);
    listener = listen_there();
    watch(page, epoll, listener);
    sirq_peer_say(page, SIRQ_PEER_READY);
    for (;;) {
        int n = epoll_wait(epoll, events, EVENTS, -1);

        for (int i = 0; i < n; i++)
            answer(page, epoll, events[i].data.fd, listener);
    }
}

void sirq_rr_clients(struct sirq_peer_page *page, const void *how_many)
{
    const unsigned *n_clients = how_many;
    struct epoll_event events[EVENTS];
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    uint64_t done = 0;

    for (unsigned i = 0; i < *n_clients; i++) {
        int fd = sirq_rr_connect();

        watch(page, epoll, fd);
        if (write(fd, "r", 1) != 1)
            sirq_peer_give_up(page, "tcp-rr: a client's first request", errno);
    }
    sirq_peer_say(page, SIRQ_PEER_READY);
    for (;;) {
        int n = epoll_wait(epoll, events, EVENTS, -1);

        for (int i = 0; i < n; i++) {
            char byte;

            if (read(events[i].data.fd, &byte, 1) != 1 || write(events[i].data.fd, &byte, 1) != 1)
                sirq_peer_give_up(page, "tcp-rr: a client's connection", ECONNRESET);
            done++;
        }
        __atomic_store_n(&page->count, done, __ATOMIC_RELAXED);
    }
}

int sirq_rr_connect(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    const struct timeval bound = {.tv_sec = 3};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), code;

    if (fd < 0)
        return -errno;
    inet_pton(AF_INET, SIRQ_PEER_ADDRESS, &addr.sin_addr);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof(bound)); /* of connecting too */
    if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr))) {
        code = errno;
        close(fd);
        return -code;
    }
    no_delay(fd);
    return fd;
}
