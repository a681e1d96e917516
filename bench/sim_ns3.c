/* SPDX-License-Identifier: MIT */
/* ns-3 runs as a child, which lies beside this program and times itself: peer_ns3.cc. */
#include "sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef BENCH_NS3

static void become_peer(const char *what, uint64_t n)
{
    char path[4096], count[24];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - sizeof("peer-ns3"));
    char *slash;

    if (len < 0)
        _exit(1);
    path[len] = '\0';
    slash = strrchr(path, '/');
    memcpy(slash + 1, "peer-ns3", sizeof("peer-ns3"));
    snprintf(count, sizeof(count), "%llu", (unsigned long long)n);
    execl(path, path, what, count, (char *)NULL);
    _exit(1);
}

double bench_ns3(const char *what, uint64_t n)
{
    char text[64] = "";
    int ends[2], status;
    pid_t child;
    ssize_t len;

    if (pipe(ends) != 0 || (child = fork()) < 0)
        bench_die("ns-3: a process", errno);
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        become_peer(what, n);
    }
    close(ends[1]);
    len = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    if (waitpid(child, &status, 0) != child || status != 0 || len <= 0 || atof(text) <= 0)
        bench_die("ns-3: the peer failed", EPROTO);
    return atof(text);
}

#else

double bench_ns3(const char *what, uint64_t n)
{
    (void)what;
    (void)n;
    return 0;
}

#endif
