/* SPDX-License-Identifier: MIT */
/*
 * Inside the guardian.  What was there before is kept before it is changed, once, so that a
 * second change of a setting does not hide the first value; it is restored in the opposite order.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "guardian_wire.h"

#define LOCK "/run/softirq-lab.lock"
#define LOCK_TRIES 40u /* of 50 ms: a guardian whose run was just killed is still at work */

struct saved {
    enum sirq_guardian_op op;
    pid_t tid;
    int policy, priority;
    cpu_set_t cpus;
    char path[SIRQ_GUARDIAN_PATH], text[SIRQ_GUARDIAN_TEXT];
};

struct guardian {
    const char *root;
    struct saved saved[SIRQ_GUARDIAN_SAVED];
    unsigned n;
};

/* ---- files ------------------------------------------------------------------------------------- */

static int open_file(const struct guardian *g, const char *path, int flags)
{
    char full[512];
    int n = snprintf(full, sizeof(full), "%s%s", g->root, path), fd;

    if (n < 0 || (size_t)n >= sizeof(full))
        return -ENAMETOOLONG;
    fd = open(full, flags | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int read_text(const struct guardian *g, const char *path, char *text, size_t size)
{
    int fd = open_file(g, path, O_RDONLY);
    ssize_t n;

    if (fd < 0)
        return fd;
    n = read(fd, text, size);
    if (n < 0)
        n = -errno;
    else if ((size_t)n == size)
        n = -EFBIG; /* a part of it could not be restored */
    else
        text[n] = '\0';
    close(fd);
    if (n >= 0)
        text[strcspn(text, "\n")] = '\0';
    return n < 0 ? (int)n : 0;
}

static int write_text(const struct guardian *g, const char *path, const char *text)
{
    int fd = open_file(g, path, O_WRONLY | O_TRUNC), rc = 0;

    if (fd < 0)
        return fd;
    if (write(fd, text, strlen(text)) < 0)
        rc = -errno;
    close(fd);
    return rc;
}

/* ---- keeping ----------------------------------------------------------------------------------- */

static bool is_saved(const struct guardian *g, const struct sirq_guardian_request *request)
{
    for (unsigned i = 0; i < g->n; i++) {
        const struct saved *s = &g->saved[i];

        if (s->op == request->op && s->tid == request->tid && strcmp(s->path, request->path) == 0)
            return true;
    }
    return false;
}

static int read_class(struct saved *s)
{
    struct sched_param param;

    s->policy = sched_getscheduler(s->tid);
    if (s->policy < 0 || sched_getparam(s->tid, &param))
        return -errno;
    s->priority = param.sched_priority;
    return 0;
}

static int keep(struct guardian *g, const struct sirq_guardian_request *request)
{
    struct saved *s = &g->saved[g->n];
    int rc;

    if (is_saved(g, request))
        return 0;
    if (g->n == SIRQ_GUARDIAN_SAVED)
        return -ENOSPC;
    memset(s, 0, sizeof(*s));
    s->op = request->op;
    s->tid = request->tid;
    memcpy(s->path, request->path, sizeof(s->path));
    if (s->op == SIRQ_GUARDIAN_WRITE)
        rc = read_text(g, s->path, s->text, sizeof(s->text));
    else if (s->op == SIRQ_GUARDIAN_CLASS)
        rc = read_class(s);
    else
        rc = sched_getaffinity(s->tid, sizeof(s->cpus), &s->cpus) ? -errno : 0;
    g->n += !rc;
    return rc;
}

static int set_class(pid_t tid, int policy, int priority)
{
    const struct sched_param param = {.sched_priority = priority};

    return sched_setscheduler(tid, policy, &param) ? -errno : 0;
}

static int change(struct guardian *g, const struct sirq_guardian_request *request)
{
    cpu_set_t set;
    int rc = keep(g, request);

    if (rc)
        return rc;
    if (request->op == SIRQ_GUARDIAN_WRITE)
        return write_text(g, request->path, request->text);
    if (request->op == SIRQ_GUARDIAN_CLASS)
        return set_class(request->tid, request->policy, request->priority);
    CPU_ZERO(&set);
    CPU_SET(request->cpu, &set);
    return sched_setaffinity(request->tid, sizeof(set), &set) ? -errno : 0;
}

/* ---- restoring --------------------------------------------------------------------------------- */

static int restore_one(const struct guardian *g, const struct saved *s, struct sirq_error *err)
{
    int rc;

    if (s->op == SIRQ_GUARDIAN_WRITE) {
        rc = write_text(g, s->path, s->text);
        return rc ? sirq_fail(err, -rc, "cannot write '%s' back to %s: %s", s->text, s->path,
                              strerror(-rc))
                  : 0;
    }
    if (s->op == SIRQ_GUARDIAN_CLASS)
        rc = set_class(s->tid, s->policy, s->priority);
    else
        rc = sched_setaffinity(s->tid, sizeof(s->cpus), &s->cpus) ? -errno : 0;
    if (!rc || rc == -ESRCH) /* a thread that is gone */
        return 0;
    return sirq_fail(err, -rc, "cannot give thread %d its %s back: %s", (int)s->tid,
                     s->op == SIRQ_GUARDIAN_CLASS ? "scheduling class" : "CPUs", strerror(-rc));
}

/* All of it, whatever fails; what failed is said on stderr too, for the run may be gone. */
static int restore(struct guardian *g, struct sirq_error *err)
{
    int rc = 0;

    while (g->n) {
        int one = restore_one(g, &g->saved[--g->n], err);

        if (one)
            fprintf(stderr, "softirq lab: %s\n", err->text);
        rc = rc ? rc : one;
    }
    return rc;
}

/* ---- life -------------------------------------------------------------------------------------- */

/* Held until this process ends. */
static int take_lock(const struct guardian *g, struct sirq_error *err)
{
    const struct timespec pause = {0, 50000000};
    char path[512];
    int fd;

    snprintf(path, sizeof(path), "%s%s", g->root, LOCK);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return sirq_fail(err, errno, "%s: %s", path, strerror(errno));
    for (unsigned i = 0; flock(fd, LOCK_EX | LOCK_NB); i++) {
        if (errno != EWOULDBLOCK)
            return sirq_fail(err, errno, "%s: %s", path, strerror(errno));
        if (i == LOCK_TRIES)
            return sirq_fail(
                err, EBUSY, "another run changes this kernel's settings now; wait for its end (%s)",
                path);
        nanosleep(&pause, NULL);
    }
    return 0;
}

static void serve(struct guardian *g, int fd)
{
    struct sirq_guardian_request request;
    struct sirq_guardian_answer answer;

    for (;;) {
        ssize_t n = recv(fd, &request, sizeof(request), 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n != (ssize_t)sizeof(request))
            return; /* 0: the run has ended */
        memset(&answer, 0, sizeof(answer));
        answer.rc =
            request.op == SIRQ_GUARDIAN_RESTORE ? restore(g, &answer.err) : change(g, &request);
        send(fd, &answer, sizeof(answer), MSG_NOSIGNAL); /* gone: the next recv() says so */
    }
}

void sirq_guardian_main(int fd, const char *root)
{
    static struct guardian guardian;
    struct sirq_guardian_answer answer = {0};
    struct sirq_error ignored;

    prctl(PR_SET_NAME, "softirq-guard");
    guardian.root = root;
    answer.rc = take_lock(&guardian, &answer.err);
    send(fd, &answer, sizeof(answer), MSG_NOSIGNAL);
    if (answer.rc)
        _exit(1);
    serve(&guardian, fd);
    _exit(restore(&guardian, &ignored) ? 1 : 0);
}
