/* SPDX-License-Identifier: MIT */
/*
 * Waiting, and being interrupted.  The signals are blocked everywhere but inside ppoll():
 * nothing of the library ever sees EINTR because of them, and none is lost between looking
 * at the flag and going to sleep.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include "experiment.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
#define NSIGNALS (sizeof(signals) / sizeof(signals[0]))

static volatile sig_atomic_t interrupted;
static struct sigaction saved[NSIGNALS];
static sigset_t saved_mask;

static void on_signal(int signo)
{
    interrupted = signo;
}

void sirq_lab_signals_take(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t set;

    interrupted = 0;
    sigemptyset(&action.sa_mask);
    sigemptyset(&set);
    for (size_t i = 0; i < NSIGNALS; i++)
        sigaddset(&set, signals[i]);
    pthread_sigmask(SIG_BLOCK, &set, &saved_mask);
    for (size_t i = 0; i < NSIGNALS; i++) {
        sigaction(signals[i], &action, &saved[i]);
        if (saved[i].sa_handler == SIG_IGN) /* nohup, or a job in the background of a script */
            sigaction(signals[i], &saved[i], NULL);
    }
}

void sirq_lab_signals_restore(void)
{
    for (size_t i = 0; i < NSIGNALS; i++)
        sigaction(signals[i], &saved[i], NULL);
    pthread_sigmask(SIG_SETMASK, &saved_mask, NULL);
}

int sirq_lab_interrupted(void)
{
    return interrupted;
}

int sirq_lab_wait(int fd, int64_t timeout_ns)
{
    uint64_t end = sirq_lab_now_ns() + (uint64_t)timeout_ns;

    for (;;) {
        struct pollfd poll = {.fd = fd, .events = POLLIN};
        uint64_t now = sirq_lab_now_ns(), left = end > now ? end - now : 0;
        struct timespec ts = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
        int n = ppoll(&poll, 1, &ts, &saved_mask);

        if (interrupted)
            return -EINTR;
        if (n > 0)
            return 1;
        if (!n || !left)
            return 0;
        /* EINTR by another signal: sleep on for what is left */
    }
}

uint64_t sirq_lab_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
