/* SPDX-License-Identifier: MIT */
/*
 * The run's side of the sender.
 *
 * The sender is told to die with the thread that forked it, which is the one that lives as
 * long as the run; should that have died before it asked, it sees another parent and goes.
 */
#include "sender.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "experiment.h"
#include "sender_page.h"

#define POLL_NS 200000u
#define TICK_NS 200000000u /* of the progress line */
#define BOUND_POLLS 25000u /* 5 s */

static bool dead(const struct sirq_sender *sender)
{
    siginfo_t info = {0};

    /* WNOWAIT: its end is looked at again when it is reported. */
    return !waitid(P_PID, (id_t)sender->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

/* Wait until the sender is in `state`.  0, -EPIPE (dead or broken), -ETIMEDOUT. */
static int wait_state(const struct sirq_sender *sender, uint32_t state)
{
    struct timespec ts = {0, POLL_NS};

    for (unsigned i = 0; i < BOUND_POLLS; i++) {
        uint32_t is = __atomic_load_n(&sender->page->state, __ATOMIC_ACQUIRE);

        if (is == state)
            return 0;
        if (is == SIRQ_SENDER_BROKEN || dead(sender))
            return -EPIPE;
        nanosleep(&ts, NULL);
    }
    return -ETIMEDOUT;
}

int sirq_sender_died(struct sirq_sender *sender, struct sirq_error *err)
{
    siginfo_t info = {0};

    if (__atomic_load_n(&sender->page->state, __ATOMIC_ACQUIRE) == SIRQ_SENDER_BROKEN)
        return sirq_fail(err, EPIPE, "%s", sender->page->error.text);
    if (waitid(P_PID, (id_t)sender->pid, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
        return sirq_fail(err, EPIPE, "the sender (process %d) does not answer", (int)sender->pid);
    if (info.si_code == CLD_EXITED)
        return sirq_fail(err, EPIPE,
                         "the sender (process %d) ended in the middle of the run, "
                         "with exit code %d",
                         (int)sender->pid, info.si_status);
    return sirq_fail(err, EPIPE, "the sender (process %d) was killed in the middle of the run: %s",
                     (int)sender->pid, strsignal(info.si_status));
}

static void child(struct sirq_sender_page *page, const struct sirq_wire_config *config,
                  unsigned cpu, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    sirq_sender_main(page, config, cpu);
}

int sirq_sender_start(struct sirq_sender *sender, const struct sirq_wire_config *config,
                      unsigned cpu, struct sirq_error *err)
{
    pid_t parent = getpid();
    int rc;

    sender->page = mmap(NULL, sizeof(*sender->page), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (sender->page == MAP_FAILED)
        return sirq_fail(err, errno, "no memory for the sender: %s", strerror(errno));
    sender->page->command = SIRQ_SENDER_IDLE;
    sender->pidfd = -1;
    sender->pid = fork();
    if (!sender->pid)
        child(sender->page, config, cpu, parent);
    if (sender->pid < 0) {
        rc = sirq_fail(err, errno, "cannot start the sender: %s", strerror(errno));
        munmap(sender->page, sizeof(*sender->page));
        return rc;
    }
    sender->pidfd = (int)syscall(SYS_pidfd_open, sender->pid, 0);
    if (!wait_state(sender, SIRQ_SENDER_IDLE))
        return 0;
    rc = sirq_sender_died(sender, err);
    sirq_sender_end(sender);
    return rc;
}

void sirq_sender_flood(struct sirq_sender *sender, double rate)
{
    sender->page->rate = rate;
    /* Orders the rate before the command that makes the sender read it. */
    __atomic_store_n(&sender->page->command, SIRQ_SENDER_FLOODING, __ATOMIC_RELEASE);
}

int sirq_sender_idle(struct sirq_sender *sender, struct sirq_error *err)
{
    __atomic_store_n(&sender->page->command, SIRQ_SENDER_IDLE, __ATOMIC_RELEASE);
    return wait_state(sender, SIRQ_SENDER_IDLE) ? sirq_sender_died(sender, err) : 0;
}

int sirq_sender_pass(struct sirq_sender *sender, const struct sirq_progress *progress, uint64_t ns,
                     struct sirq_error *err)
{
    uint64_t start = sirq_lab_now_ns(), gone = 0;

    for (; gone < ns; gone = sirq_lab_now_ns() - start) {
        uint64_t left = ns - gone;
        int rc = sirq_lab_wait(sender->pidfd, (int64_t)(left < TICK_NS ? left : TICK_NS));

        if (rc < 0)
            return rc;
        if (rc)
            return sirq_sender_died(sender, err);
        sirq_progress_tick(progress, sirq_lab_now_ns() - start);
    }
    return 0;
}

uint64_t sirq_sender_offered(const struct sirq_sender *sender)
{
    return __atomic_load_n(&sender->page->offered, __ATOMIC_RELAXED);
}

void sirq_sender_end(struct sirq_sender *sender)
{
    kill(sender->pid, SIGKILL);
    while (waitpid(sender->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (sender->pidfd >= 0)
        close(sender->pidfd);
    munmap(sender->page, sizeof(*sender->page));
}
