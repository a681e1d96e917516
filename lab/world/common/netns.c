/* SPDX-License-Identifier: MIT */
/*
 * The namespace and its veth pair.  Both ends carry frames of the flood alone: no ARP, no
 * IPv6 and no multicast, so that what the device counts is what was sent.
 */
#include "netns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const char *sirq_netns_why(int code, bool root)
{
    if (code == EPERM && root)
        return "root may not make one here (CAP_SYS_ADMIN is missing, as in most containers)";
    if (code == EPERM)
        return "user namespaces are not permitted (sysctl kernel.unprivileged_userns_clone or "
               "kernel.apparmor_restrict_unprivileged_userns)";
    if (code == ENOSPC || code == EUSERS)
        return "the limit of namespaces is reached (sysctl user.max_user_namespaces, "
               "user.max_net_namespaces)";
    if (code == EINVAL || code == ENOSYS)
        return "the kernel has no network or user namespaces";
    return strerror(code);
}

static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), code = 0;

    if (fd < 0)
        return -errno;
    if (write(fd, text, strlen(text)) < 0)
        code = -errno;
    close(fd);
    return code;
}

/* Be root of the new user namespace, or `ip` would lose its rights when it is executed. */
static int map_ids(uid_t uid, gid_t gid)
{
    char map[64];
    int rc = write_file("/proc/self/setgroups", "deny");

    if (rc && rc != -ENOENT)
        return rc;
    snprintf(map, sizeof(map), "0 %u 1", (unsigned)uid);
    rc = write_file("/proc/self/uid_map", map);
    if (rc)
        return rc;
    snprintf(map, sizeof(map), "0 %u 1", (unsigned)gid);
    return write_file("/proc/self/gid_map", map);
}

int sirq_run_ip(const char *const *args)
{
    char *argv[20];
    unsigned n = 0;
    pid_t pid;
    int rc, status;

    for (; args[n] && n < 19; n++)
        memcpy(&argv[n], &args[n], sizeof(argv[n])); /* posix_spawn changes none of them */
    argv[n] = NULL;
    rc = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    if (rc)
        return -rc;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

int sirq_veth_make(const struct sirq_netns_use *use, struct sirq_error *err)
{
    static const char *const steps[][20] = {
        {"ip", "link", "add", SIRQ_VETH_RX, "address", "02:00:00:00:00:02", "type", "veth", "peer",
         "name", SIRQ_VETH_TX, "address", "02:00:00:00:00:01"},
        {"ip", "link", "set", "dev", SIRQ_VETH_RX, "addrgenmode", "none", "arp", "off", "multicast",
         "off"},
        {"ip", "link", "set", "dev", SIRQ_VETH_TX, "addrgenmode", "none", "arp", "off", "multicast",
         "off"},
        {"ip", "link", "set", "dev", SIRQ_VETH_RX, "up"},
        {"ip", "link", "set", "dev", SIRQ_VETH_TX, "up"},
    };

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        int rc = sirq_run_ip(steps[i]);

        if (rc == -ENOENT)
            return sirq_fail(err, ENOENT,
                             "%s: the tool `ip` (package iproute2) is not installed; install it, "
                             "or use %s",
                             use->option, use->instead);
        if (rc)
            return sirq_fail(err, rc < 0 ? -rc : EIO,
                             "%s: cannot make a veth pair (`ip %s %s ...` failed); does the kernel "
                             "have veth? %s does without",
                             use->option, steps[i][1], steps[i][2], use->instead);
    }
    return 0;
}

void sirq_veth_delete(void)
{
    static const char *const args[] = {"ip", "link", "delete", SIRQ_VETH_RX, NULL};

    (void)sirq_run_ip(args); /* where it cannot, the namespace takes it along */
}

int sirq_netns_enter(const struct sirq_netns_use *use, struct sirq_error *err)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    bool root = uid == 0;
    int rc;

    if (unshare(CLONE_NEWNET | (root ? 0 : CLONE_NEWUSER))) {
        int code = errno;

        return sirq_fail(err, code,
                         "%s: cannot make a network namespace: %s; run it where that is allowed, "
                         "or use %s",
                         use->option, sirq_netns_why(code, root), use->instead);
    }
    rc = root ? 0 : map_ids(uid, gid);
    if (rc)
        return sirq_fail(err, -rc,
                         "%s: cannot map the user into its namespace: %s; run it as root, or use "
                         "%s",
                         use->option, strerror(-rc), use->instead);
    return 0;
}

int sirq_netns_lost(const char *proc, uint64_t *lost)
{
    char line[512], path[256];
    unsigned long long dropped;
    FILE *file;
    int rc = -ENODEV;

    snprintf(path, sizeof(path), "%s/thread-self/net/dev", proc);
    file = fopen(path, "re");
    if (!file)
        return -errno;
    while (fgets(line, sizeof(line), file)) {
        char *name = line + strspn(line, " ");

        if (strncmp(name, SIRQ_VETH_TX ":", sizeof(SIRQ_VETH_TX)) == 0 &&
            sscanf(name + sizeof(SIRQ_VETH_TX), "%*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %llu",
                   &dropped) == 1) {
            *lost = dropped;
            rc = 0;
        }
    }
    fclose(file);
    return rc;
}
