/* SPDX-License-Identifier: MIT */
/*
 * The veth pair of the part `wire`, in a network namespace of the process's own.
 *
 * The receiving end is polled by a kernel thread (threaded NAPI), so that the kernel's work of
 * receiving can be put on one CPU and be counted; GRO is on because veth without XDP has NAPI
 * only then.
 */
#include "wire.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#define THREADS_MAX 8u

static pid_t threads[THREADS_MAX];
static unsigned nthreads;

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return ok;
}

static bool gro_on(void)
{
    struct ethtool_value value = {.cmd = ETHTOOL_SGRO, .data = 1};
    struct ifreq req = {.ifr_name = WIRE_RX, .ifr_data = (void *)&value};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && ioctl(fd, SIOCETHTOOL, &req) == 0;

    if (fd >= 0)
        close(fd);
    return ok;
}

const char *wire_net_enter(void)
{
    if (geteuid() != 0)
        return "it needs root";
    if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0)
        return "no network namespace may be made here";
    /* sysfs shows the interfaces of the namespace it is mounted in. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("sysfs", "/sys", "sysfs", 0, NULL) != 0)
        return "sysfs cannot be mounted here";
    write_file("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    if (system("ip link add " WIRE_RX " address 02:00:00:00:00:02 type veth peer name " WIRE_TX
               " address 02:00:00:00:00:01 && ip link set " WIRE_RX " arp off up && "
               "ip link set " WIRE_TX " arp off up && "
               "ip address add " WIRE_ADDR "/24 dev " WIRE_RX) != 0)
        return "no veth pair can be made here";
    if (!gro_on() || !write_file("/sys/class/net/" WIRE_RX "/threaded", "1"))
        return "the kernel has no threaded NAPI";
    return NULL;
}

static bool is_napi_thread(const char *pid)
{
    char path[64], comm[32] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    if (fgets(comm, sizeof(comm), file) == NULL)
        comm[0] = '\0';
    fclose(file);
    return strncmp(comm, "napi/" WIRE_RX "-", sizeof("napi/" WIRE_RX)) == 0;
}

unsigned wire_net_pin(const struct bench_options *options)
{
    const struct sched_param param = {.sched_priority = options->priority};
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(options->cpu, &set);
    nthreads = 0;
    while (proc != NULL && (entry = readdir(proc)) != NULL && nthreads < THREADS_MAX)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && is_napi_thread(entry->d_name)) {
            threads[nthreads] = (pid_t)strtol(entry->d_name, NULL, 10);
            sched_setscheduler(threads[nthreads],
                               param.sched_priority != 0 ? SCHED_FIFO : SCHED_OTHER, &param);
            if (sched_setaffinity(threads[nthreads], sizeof(set), &set) == 0)
                nthreads++;
        }
    if (proc != NULL)
        closedir(proc);
    return nthreads;
}

uint64_t wire_net_cpu_ns(void)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < nthreads; i++) {
        unsigned long long ns = 0;
        char path[64];
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)threads[i]);
        file = fopen(path, "re");
        if (file == NULL || fscanf(file, "%llu", &ns) != 1)
            bench_die("wire: the NAPI thread's schedstat", errno);
        fclose(file);
        sum += ns;
    }
    return sum;
}
