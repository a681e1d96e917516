/* SPDX-License-Identifier: MIT */
#include "peer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "net.h"

#define LOOK_NS 1000000
#define LOOKS 5000u /* 5 s */

static void look_again(void)
{
    const struct timespec pause = {0, LOOK_NS};

    nanosleep(&pause, NULL);
}

/* ---- inside ------------------------------------------------------------------------------ */

void sirq_peer_say(struct sirq_peer_page *page, enum sirq_peer_state state)
{
    /* Orders what was written before for the run that sees the state. */
    __atomic_store_n(&page->state, (uint32_t)state, __ATOMIC_RELEASE);
}

void sirq_peer_give_up(struct sirq_peer_page *page, const char *what, int code)
{
    sirq_fail(&page->err, code, "%s: %s", what, strerror(code));
    sirq_peer_say(page, SIRQ_PEER_BROKEN);
    _exit(1);
}

void sirq_peer_enter(struct sirq_peer_page *page)
{
    static const char *const steps[][12] = {
        {"ip", "address", "add", SIRQ_PEER_ADDRESS, "peer", "198.18.0.2", "dev", SIRQ_VETH_TX},
        {"ip", "link", "set", "dev", SIRQ_VETH_TX, "arp", "on", "up"},
    };

    if (unshare(CLONE_NEWNET))
        sirq_peer_give_up(page, "a network namespace for the far end", errno);
    sirq_peer_say(page, SIRQ_PEER_IN_NAMESPACE);
    while (!__atomic_load_n(&page->go, __ATOMIC_ACQUIRE))
        look_again();
    for (unsigned i = 0; i < 2; i++) {
        if (sirq_run_ip(steps[i]))
            sirq_peer_give_up(page, "the far end of the veth pair", ENODEV);
    }
}

/* ---- the run's side ---------------------------------------------------------------------- */

int sirq_peer_check(const struct sirq_peer *peer, struct sirq_error *err)
{
    siginfo_t info = {0};

    if (__atomic_load_n(&peer->page->state, __ATOMIC_ACQUIRE) == SIRQ_PEER_BROKEN)
        return sirq_fail(err, EPIPE, "%s", peer->page->err.text);
    if (!waitid(P_PID, (id_t)peer->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid)
        return sirq_fail(err, EPIPE, "a process of the load (%d) has ended", (int)peer->pid);
    return 0;
}

static int wait_for(const struct sirq_peer *peer, enum sirq_peer_state state,
                    struct sirq_error *err)
{
    for (unsigned i = 0; i < LOOKS; i++) {
        int rc = sirq_peer_check(peer, err);

        if (rc)
            return rc;
        if (__atomic_load_n(&peer->page->state, __ATOMIC_ACQUIRE) == (uint32_t)state)
            return 0;
        look_again();
    }
    return sirq_fail(err, ETIMEDOUT, "a process of the load (%d) is not ready", (int)peer->pid);
}

int sirq_peer_start(struct sirq_peer *peer, sirq_peer_body body, const void *arg,
                    const cpu_set_t *cpus, enum sirq_peer_state state, struct sirq_error *err)
{
    pid_t parent = getpid();
    int rc;

    peer->page =
        mmap(NULL, sizeof(*peer->page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (peer->page == MAP_FAILED) {
        peer->page = NULL;
        return sirq_fail(err, errno, "no memory for a process: %s", strerror(errno));
    }
    peer->pid = fork();
    if (!peer->pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "softirq-load");
        if (getppid() == parent && !sched_setaffinity(0, sizeof(*cpus), cpus))
            body(peer->page, arg);
        _exit(1);
    }
    if (peer->pid < 0) {
        rc = sirq_fail(err, errno, "cannot start a process: %s", strerror(errno));
        munmap(peer->page, sizeof(*peer->page));
        peer->page = NULL;
        return rc;
    }
    rc = wait_for(peer, state, err);
    if (rc)
        sirq_peer_end(peer);
    return rc;
}

int sirq_peer_connect(const struct sirq_peer *peer, struct sirq_error *err)
{
    char pid[16];
    const char *const move[] = {"ip", "link", "set", "dev", SIRQ_VETH_TX, "netns", pid, NULL};
    static const char *const arp[] = {"ip", "link", "set", "dev", SIRQ_VETH_RX, "arp", "on", NULL};

    snprintf(pid, sizeof(pid), "%d", (int)peer->pid);
    if (sirq_run_ip(move) || sirq_run_ip(arp))
        return sirq_fail(err, EIO, "the veth pair cannot be shared by two namespaces");
    /* Orders the interface's arrival before the process's look at it. */
    __atomic_store_n(&peer->page->go, 1, __ATOMIC_RELEASE);
    return wait_for(peer, SIRQ_PEER_READY, err);
}

void sirq_peer_end(struct sirq_peer *peer)
{
    if (!peer->page)
        return;
    kill(peer->pid, SIGKILL);
    while (waitpid(peer->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    munmap(peer->page, sizeof(*peer->page));
    peer->page = NULL;
}
