/* SPDX-License-Identifier: MIT */
/* One byte there, one byte back, as netperf's TCP_RR does; each process is one epoll loop. */
#include "rr_peers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "net.h"

#define PORT 9100
#define SERVER "198.18.0.1"
#define SERVER_NET "198.18.0.1/24"
#define BACKLOG 512
#define EVENTS 256
#define LOOK_NS 1000000
#define LOOKS 5000u /* 5 s */

enum state { RR_NEW, RR_IN_NAMESPACE, RR_READY, RR_BROKEN };

/* Writer of `go` is the run, of the rest the process. */
struct sirq_rr_page {
    uint32_t go;                                 /* __atomic */
    uint32_t state __attribute__((aligned(64))); /* __atomic */
    uint64_t transactions;                       /* __atomic */
    struct sirq_error err; /* written before state (release), read after it (acquire) */
};

static void look_again(void)
{
    const struct timespec pause = {0, LOOK_NS};

    nanosleep(&pause, NULL);
}

/* ---- inside ---------------------------------------------------------------------------- */

static void say(struct sirq_rr_page *page, enum state state)
{
    /* Orders what was written before for the run that sees the state. */
    __atomic_store_n(&page->state, (uint32_t)state, __ATOMIC_RELEASE);
}

static void give_up(struct sirq_rr_page *page, const char *what, int code)
{
    sirq_fail(&page->err, code, "tcp-rr: %s: %s", what, strerror(code));
    say(page, RR_BROKEN);
    _exit(1);
}

static void watch(struct sirq_rr_page *page, int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    if (fd < 0)
        give_up(page, "socket", -fd);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
        give_up(page, "epoll", errno);
}

static int listen_there(void)
{
    static const char *const steps[][12] = {
        {"ip", "address", "add", SERVER_NET, "dev", SIRQ_VETH_TX},
        {"ip", "link", "set", "dev", SIRQ_VETH_TX, "arp", "on", "up"},
    };
    const struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    for (unsigned i = 0; i < 2; i++) {
        if (sirq_run_ip(steps[i]))
            return -ENODEV;
    }
    if (fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) || listen(fd, BACKLOG))
        return -errno;
    return fd;
}

static void no_delay(int fd)
{
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static void answer(struct sirq_rr_page *page, int epoll, int fd, int listener)
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

static void server(struct sirq_rr_page *page, unsigned unused)
{
    struct epoll_event events[EVENTS];
    int epoll = epoll_create1(EPOLL_CLOEXEC), listener;

    (void)unused;
    if (unshare(CLONE_NEWNET))
        give_up(page, "a network namespace for the server", errno);
    say(page, RR_IN_NAMESPACE);
    while (!__atomic_load_n(&page->go, __ATOMIC_ACQUIRE))
        look_again();
    listener = listen_there();
    watch(page, epoll, listener);
    say(page, RR_READY);
    for (;;) {
        int n = epoll_wait(epoll, events, EVENTS, -1);

        for (int i = 0; i < n; i++)
            answer(page, epoll, events[i].data.fd, listener);
    }
}

static void clients(struct sirq_rr_page *page, unsigned n_clients)
{
    struct epoll_event events[EVENTS];
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    uint64_t done = 0;

    for (unsigned i = 0; i < n_clients; i++) {
        int fd = sirq_rr_connect();

        watch(page, epoll, fd);
        if (write(fd, "r", 1) != 1)
            give_up(page, "a client's first request", errno);
    }
    say(page, RR_READY);
    for (;;) {
        int n = epoll_wait(epoll, events, EVENTS, -1);

        for (int i = 0; i < n; i++) {
            char byte;

            if (read(events[i].data.fd, &byte, 1) != 1 || write(events[i].data.fd, &byte, 1) != 1)
                give_up(page, "a client's connection", ECONNRESET);
            done++;
        }
        __atomic_store_n(&page->transactions, done, __ATOMIC_RELAXED);
    }
}

/* ---- the run's side -------------------------------------------------------------------- */

static int start(struct sirq_rr_peer *peer, void (*body)(struct sirq_rr_page *, unsigned),
                 unsigned n, unsigned cpu, struct sirq_error *err)
{
    pid_t parent = getpid();
    cpu_set_t set;

    peer->page =
        mmap(NULL, sizeof(*peer->page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (peer->page == MAP_FAILED)
        return sirq_fail(err, errno, "tcp-rr: no memory: %s", strerror(errno));
    peer->pid = fork();
    if (peer->pid < 0) {
        munmap(peer->page, sizeof(*peer->page));
        return sirq_fail(err, errno, "tcp-rr: cannot start a process: %s", strerror(errno));
    }
    if (peer->pid)
        return 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, body == server ? "rr-server" : "rr-clients");
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (getppid() != parent || sched_setaffinity(0, sizeof(set), &set))
        _exit(1);
    body(peer->page, n);
    _exit(1);
}

int sirq_rr_check(const struct sirq_rr_peer *peer, struct sirq_error *err)
{
    siginfo_t info = {0};

    if (__atomic_load_n(&peer->page->state, __ATOMIC_ACQUIRE) == RR_BROKEN)
        return sirq_fail(err, EPIPE, "%s", peer->page->err.text);
    if (!waitid(P_PID, (id_t)peer->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid)
        return sirq_fail(err, EPIPE, "tcp-rr: process %d has ended", (int)peer->pid);
    return 0;
}

static int wait_for(const struct sirq_rr_peer *peer, enum state state, struct sirq_error *err)
{
    for (unsigned i = 0; i < LOOKS; i++) {
        int rc = sirq_rr_check(peer, err);

        if (rc)
            return rc;
        if (__atomic_load_n(&peer->page->state, __ATOMIC_ACQUIRE) == (uint32_t)state)
            return 0;
        look_again();
    }
    return sirq_fail(err, ETIMEDOUT, "tcp-rr: process %d is not ready", (int)peer->pid);
}

static int started(struct sirq_rr_peer *peer, enum state state, int rc, struct sirq_error *err)
{
    if (rc)
        return rc;
    rc = wait_for(peer, state, err);
    if (rc)
        sirq_rr_end(peer);
    return rc;
}

int sirq_rr_server_start(struct sirq_rr_peer *peer, unsigned cpu, struct sirq_error *err)
{
    return started(peer, RR_IN_NAMESPACE, start(peer, server, 0, cpu, err), err);
}

int sirq_rr_server_listen(const struct sirq_rr_peer *peer, struct sirq_error *err)
{
    char pid[16];
    const char *const move[] = {"ip", "link", "set", "dev", SIRQ_VETH_TX, "netns", pid, NULL};
    static const char *const arp[] = {"ip", "link", "set", "dev", SIRQ_VETH_RX, "arp", "on", NULL};

    snprintf(pid, sizeof(pid), "%d", (int)peer->pid);
    if (sirq_run_ip(move) || sirq_run_ip(arp))
        return sirq_fail(err, EIO, "tcp-rr: the veth pair cannot be shared by two namespaces");
    /* Orders the interface's arrival before the server's look at it. */
    __atomic_store_n(&peer->page->go, 1, __ATOMIC_RELEASE);
    return wait_for(peer, RR_READY, err);
}

int sirq_rr_clients_start(struct sirq_rr_peer *peer, unsigned cpu, unsigned n,
                          struct sirq_error *err)
{
    return started(peer, RR_READY, start(peer, clients, n, cpu, err), err);
}

uint64_t sirq_rr_transactions(const struct sirq_rr_peer *peer)
{
    return __atomic_load_n(&peer->page->transactions, __ATOMIC_RELAXED);
}

void sirq_rr_end(struct sirq_rr_peer *peer)
{
    kill(peer->pid, SIGKILL);
    while (waitpid(peer->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    munmap(peer->page, sizeof(*peer->page));
}

int sirq_rr_connect(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    const struct timeval bound = {.tv_sec = 3};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), code;

    if (fd < 0)
        return -errno;
    inet_pton(AF_INET, SERVER, &addr.sin_addr);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof(bound)); /* of connecting too */
    if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr))) {
        code = errno;
        close(fd);
        return -code;
    }
    no_delay(fd);
    return fd;
}
