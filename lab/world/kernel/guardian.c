/* SPDX-License-Identifier: MIT */
/* The run's side of the guardian. */
#include "guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guardian_wire.h"

static int answer(const struct sirq_guardian *guardian, struct sirq_error *err)
{
    struct sirq_guardian_answer answer;
    ssize_t n;

    do
        n = recv(guardian->fd, &answer, sizeof(answer), 0);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(answer))
        return sirq_fail(err, EPIPE, "the process that restores the kernel's settings has ended");
    *err = answer.err;
    return answer.rc;
}

static int ask(const struct sirq_guardian *guardian, const struct sirq_guardian_request *request,
               struct sirq_error *err)
{
    ssize_t n;

    do
        n = send(guardian->fd, request, sizeof(*request), MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(*request))
        return sirq_fail(err, EPIPE, "the process that restores the kernel's settings has ended");
    return answer(guardian, err);
}

/* Alone: of no terminal's job, with no descriptor of the run but the socket. */
static void child(int fd, const char *root)
{
    sigset_t set;
    int null;

    setsid();
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    null = open("/dev/null", O_RDWR);
    if (null >= 0) {
        dup2(null, 0);
        dup2(null, 1); /* a reader of the run's output does not wait for us */
    }
    if (fd != 3)
        dup2(fd, 3);
    close_range(4, ~0u, 0);
    sirq_guardian_main(3, root);
}

int sirq_guardian_start(struct sirq_guardian *guardian, const char *root, struct sirq_error *err)
{
    int pair[2], rc;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return sirq_fail(err, errno, "no socket for the guardian: %s", strerror(errno));
    fflush(NULL);
    guardian->fd = pair[0];
    guardian->pid = fork();
    if (!guardian->pid) {
        close(pair[0]);
        child(pair[1], root);
    }
    close(pair[1]);
    if (guardian->pid < 0) {
        rc = sirq_fail(err, errno, "cannot start the guardian: %s", strerror(errno));
        close(guardian->fd);
        return rc;
    }
    rc = answer(guardian, err);
    if (rc)
        sirq_guardian_end(guardian);
    return rc;
}

int sirq_guardian_write(const struct sirq_guardian *guardian, const char *path, const char *text)
{
    struct sirq_guardian_request request = {.op = SIRQ_GUARDIAN_WRITE};
    struct sirq_error ignored;

    if (strlen(path) >= sizeof(request.path) || strlen(text) >= sizeof(request.text))
        return -ENAMETOOLONG;
    snprintf(request.path, sizeof(request.path), "%s", path);
    snprintf(request.text, sizeof(request.text), "%s", text);
    return ask(guardian, &request, &ignored);
}

int sirq_guardian_class(const struct sirq_guardian *guardian, pid_t tid, int policy, int priority)
{
    const struct sirq_guardian_request request = {
        .op = SIRQ_GUARDIAN_CLASS, .tid = tid, .policy = policy, .priority = priority};
    struct sirq_error ignored;

    return ask(guardian, &request, &ignored);
}

int sirq_guardian_pin(const struct sirq_guardian *guardian, pid_t tid, unsigned cpu)
{
    const struct sirq_guardian_request request = {.op = SIRQ_GUARDIAN_PIN, .tid = tid, .cpu = cpu};
    struct sirq_error ignored;

    return ask(guardian, &request, &ignored);
}

int sirq_guardian_restore(const struct sirq_guardian *guardian, struct sirq_error *err)
{
    const struct sirq_guardian_request request = {.op = SIRQ_GUARDIAN_RESTORE};

    return ask(guardian, &request, err);
}

void sirq_guardian_end(struct sirq_guardian *guardian)
{
    close(guardian->fd);
    while (waitpid(guardian->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    guardian->fd = -1;
}
