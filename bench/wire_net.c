/* SPDX-License-Identifier: MIT */
/*
 * The veth pair of the part `wire`, in a network namespace of the process's own.
 *
 * The receiving end is polled by a kernel thread (threaded NAPI), so that the kernel's work of
 * receiving can be put on one CPU and be counted.  veth without XDP has NAPI only with GRO on, and
 * leaves it aside for socket buffers of a sender that could have sent larger ones (TSO): those
 * are received on the sender's CPU, in its softirq, where nobody would count them.
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

bool wire_net_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return ok;
}

static bool ethtool(const char *ifname, uint32_t cmd, uint32_t data)
{
    struct ethtool_value value = {.cmd = cmd, .data = data};
    struct ifreq req = {.ifr_data = (void *)&value};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool ok;

    snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", ifname);
    ok = fd >= 0 && ioctl(fd, SIOCETHTOOL, &req) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

/*
 * As a NIC is set up that must not interrupt for every frame: after a poll its interrupt stays
 * off for another 100 us, and what has come then is polled at once.
 */
static bool wire_net_moderate(const char *ifname)
{
    char path[64];
    bool ok;

    snprintf(path, sizeof(path), "/sys/class/net/%s/gro_flush_timeout", ifname);
    ok = wire_net_write(path, "100000");
    snprintf(path, sizeof(path), "/sys/class/net/%s/napi_defer_hard_irqs", ifname);
    return ok && wire_net_write(path, "1");
}

bool wire_net_no_tso(const char *ifname)
{
    return ethtool(ifname, ETHTOOL_STSO, 0);
}

bool wire_net_threaded(const char *ifname)
{
    char path[64];

    snprintf(path, sizeof(path), "/sys/class/net/%s/threaded", ifname);
    return ethtool(ifname, ETHTOOL_SGRO, 1) && wire_net_write(path, "1") &&
           wire_net_moderate(ifname);
}

const char *wire_net_unshare(void)
{
    if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0)
        return "no network namespace may be made here";
    /* sysfs shows the interfaces of the namespace it is mounted in. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("sysfs", "/sys", "sysfs", 0, NULL) != 0)
        return "sysfs cannot be mounted here";
    return NULL;
}

const char *wire_net_enter(void)
{
    const char *why = geteuid() == 0 ? wire_net_unshare() : "it needs root";

    if (why != NULL)
        return why;
    wire_net_write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    if (system("ip link add " WIRE_RX " address 02:00:00:00:00:02 type veth peer name " WIRE_TX
               " address 02:00:00:00:00:01 && ip link set " WIRE_RX " arp off up && "
               "ip link set " WIRE_TX " arp off up && "
               "ip address add " WIRE_ADDR "/24 dev " WIRE_RX) != 0)
        return "no veth pair can be made here";
    if (!wire_net_no_tso(WIRE_TX) || !wire_net_threaded(WIRE_RX))
        return "the kernel has no threaded NAPI";
    return NULL;
}

/* Does a thread with this name poll `ifname`? */
static bool polls(const char *comm, const char *ifname)
{
    size_t len = strlen(ifname);

    return strncmp(comm, "napi/", 5) == 0 && strncmp(comm + 5, ifname, len) == 0 &&
           comm[5 + len] == '-';
}

static void read_comm(const char *pid, char comm[32])
{
    char path[64];
    FILE *file;

    comm[0] = '\0';
    snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
    file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fgets(comm, 32, file) == NULL)
        comm[0] = '\0';
    fclose(file);
}

static bool pin(pid_t pid, unsigned cpu, int priority)
{
    const struct sched_param param = {.sched_priority = priority};
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setscheduler(pid, priority != 0 ? SCHED_FIFO : SCHED_OTHER, &param);
    return sched_setaffinity(pid, sizeof(set), &set) == 0;
}

unsigned wire_net_pin(const struct bench_options *options)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    char comm[32] = "";

    nthreads = 0;
    while (proc != NULL && (entry = readdir(proc)) != NULL && nthreads < THREADS_MAX) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        read_comm(entry->d_name, comm);
        threads[nthreads] = (pid_t)strtol(entry->d_name, NULL, 10);
        if (polls(comm, WIRE_RX))
            nthreads += pin(threads[nthreads], options->cpu, options->priority);
        else if (polls(comm, WIRE_SINK))
            pin(threads[nthreads], options->other,
                options->priority + (options->priority != 0)); /* above the sender */
    }
    if (proc != NULL)
        closedir(proc);
    return nthreads;
}

/* One of a namespace that is being taken down may be among them, and end: it keeps its time. */
uint64_t wire_net_cpu_ns(void)
{
    static unsigned long long last[THREADS_MAX];
    uint64_t sum = 0;

    for (unsigned i = 0; i < nthreads; i++) {
        char path[64];
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)threads[i]);
        file = fopen(path, "re");
        if (file != NULL && fscanf(file, "%llu", &last[i]) != 1 && errno != ESRCH)
            bench_die("wire: the NAPI thread's schedstat", errno);
        if (file != NULL)
            fclose(file);
        sum += last[i];
    }
    return sum;
}
