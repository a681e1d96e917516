/* SPDX-License-Identifier: MIT */
/* A network namespace of a test's own.  Included once, by the test. */
#ifndef SIRQ_TESTS_NETNS_ENV_H
#define SIRQ_TESTS_NETNS_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *skip_reason; /* null: the namespace, and what is needed in it, is there */

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return ok;
}

/*
 * A network namespace of our own, or why not.  `as_user`: without root in a user namespace of our
 * own; not for programs of XDP.
 */
static const char *enter_namespace(bool as_user)
{
    unsigned uid = geteuid();
    char map[32];

    if (uid == 0 && unshare(CLONE_NEWNET) == 0)
        as_user = false;
    else if (!as_user)
        return uid != 0 ? "needs root" : "network namespaces are not permitted here";
    else if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
        return "network namespaces are not permitted (run as root, or allow user namespaces)";
    snprintf(map, sizeof(map), "0 %u 1", uid);
    if (as_user &&
        (!write_file("/proc/self/setgroups", "deny") || !write_file("/proc/self/uid_map", map)))
        return "cannot map the user into a namespace";
    /* No IPv6: its neighbour discovery would send frames of its own. */
    write_file("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    write_file("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    return NULL;
}

#define NEEDS_NAMESPACE()                                \
    do {                                                 \
        if (skip_reason) {                               \
            print_message("skipped: %s\n", skip_reason); \
            skip();                                      \
        }                                                \
    } while (0)

#endif
