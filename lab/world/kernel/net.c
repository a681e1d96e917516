/* SPDX-License-Identifier: MIT */
/*
 * veth without XDP has NAPI only with GRO on, and leaves it aside for socket buffers of a sender
 * that could have sent larger ones (TSO).
 */
#include "net.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

const struct sirq_netns_use sirq_kernel_use = {"--world kernel", "--world live"};

static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), rc = 0;

    if (fd < 0)
        return -errno;
    if (write(fd, text, strlen(text)) < 0)
        rc = -errno;
    close(fd);
    return rc;
}

int sirq_kernel_net_enter(struct sirq_error *err)
{
    int rc = sirq_netns_enter(&sirq_kernel_use, err);

    if (rc)
        return rc;
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("sysfs", "/sys", "sysfs", 0, NULL))
        return sirq_fail(err, errno,
                         "--world kernel: cannot mount a sysfs that shows the run's own "
                         "interfaces: %s; run it outside of the container, or use --world live",
                         strerror(errno));
    write_file("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1"); /* no IPv6: as well */
    return 0;
}

static int ethtool(const char *ifname, uint32_t cmd, uint32_t data)
{
    struct ethtool_value value = {.cmd = cmd, .data = data};
    struct ifreq req = {.ifr_data = (void *)&value};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = 0;

    if (fd < 0)
        return -errno;
    snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", ifname);
    if (ioctl(fd, SIOCETHTOOL, &req))
        rc = -errno;
    close(fd);
    return rc;
}

int sirq_kernel_net_make(bool napi, struct sirq_error *err)
{
    static const char *const address[] = {"ip",  "address",    "add", "198.18.0.2/24",
                                          "dev", SIRQ_VETH_RX, NULL};
    int rc = sirq_veth_make(&sirq_kernel_use, err);

    if (rc)
        return rc;
    rc = sirq_run_ip(address);
    if (rc)
        return sirq_fail(err, EIO, "--world kernel: %s gets no address", SIRQ_VETH_RX);
    rc = ethtool(SIRQ_VETH_TX, ETHTOOL_STSO, 0);
    if (!rc)
        rc = ethtool(SIRQ_VETH_RX, ETHTOOL_SGRO, napi);
    return rc ? sirq_fail(err, -rc, "--world kernel: offloads of the veth pair: %s", strerror(-rc))
              : 0;
}

void sirq_kernel_net_delete(void)
{
    sirq_veth_delete();
}

int sirq_kernel_net_write(const char *file, const char *text)
{
    char path[128];

    snprintf(path, sizeof(path), "/sys/class/net/" SIRQ_VETH_RX "/%s", file);
    return write_file(path, text);
}

static bool name_begins(const char *pid, const char *prefix)
{
    char path[64], comm[32] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    if (!fgets(comm, sizeof(comm), file))
        comm[0] = '\0';
    fclose(file);
    comm[strcspn(comm, "\n")] = '\0';
    return strncmp(comm, prefix, strlen(prefix)) == 0;
}

/* The kernel's own: they have no address space, and so no command line. */
static bool is_kernel_thread(const char *pid)
{
    char path[64], byte;
    FILE *file;
    bool none;

    snprintf(path, sizeof(path), "/proc/%.16s/cmdline", pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    none = fread(&byte, 1, 1, file) == 0;
    fclose(file);
    return none;
}

unsigned sirq_kernel_threads(const char *prefix, pid_t *tids, unsigned most)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    unsigned n = 0;

    while (proc && n < most && (entry = readdir(proc))) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            name_begins(entry->d_name, prefix) && is_kernel_thread(entry->d_name))
            tids[n++] = (pid_t)strtol(entry->d_name, NULL, 10);
    }
    if (proc)
        closedir(proc);
    return n;
}
