/* SPDX-License-Identifier: MIT */
/*
 * The veth pair of the part `wire`, in a network namespace of the process's own, and its sender.
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
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#define WIRE_TX "wt0"
#define THREADS_MAX 8u
#define BURST 32u
#define FRAME_LEN 64u

const uint8_t wire_mac[6] = {2, 0, 0, 0, 0, 3};

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

/* UDP without checksum.  A frame for another station goes no further into the kernel's stack
 * than a tap on the interface. */
static void build_frame(uint8_t *at, bool kernel)
{
    static const uint8_t header[] = {0x08, 0, 0x45, 0,  0,  50, 0, 0,  0,  0, 64,
                                     17,   0, 0,    10, 77, 0,  2, 10, 77, 0, 1};
    uint32_t sum = 0;

    memset(at, 0, FRAME_LEN);
    memcpy(at, wire_mac, sizeof(wire_mac));
    if (kernel)
        at[5] = 2;
    at[6] = 2;
    at[11] = 1;
    memcpy(at + 12, header, sizeof(header));
    for (unsigned i = 14; i < 34; i += 2)
        sum += (uint32_t)at[i] << 8 | at[i + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~(sum + (sum >> 16));
    at[24] = (uint8_t)(sum >> 8);
    at[25] = (uint8_t)sum;
    at[34] = 0x30; /* source port 12288 */
    at[36] = WIRE_PORT >> 8;
    at[37] = WIRE_PORT & 0xff;
    at[39] = 30; /* 8 + 22 bytes */
}

void wire_net_send(const struct bench_options *options, uint64_t pps, bool kernel)
{
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(WIRE_TX)};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), on = 1;
    struct iovec iov[BURST];
    struct mmsghdr msgs[BURST] = {0};
    static uint8_t frame[FRAME_LEN];
    uint64_t start = bench_now_ns();

    if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        bench_die("wire: sender", errno);
    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on));
    bench_pin(options->other);
    build_frame(frame, kernel);
    for (unsigned i = 0; i < BURST; i++) {
        iov[i] = (struct iovec){frame, FRAME_LEN};
        msgs[i].msg_hdr.msg_iov = &iov[i];
        msgs[i].msg_hdr.msg_iovlen = 1;
    }
    for (uint64_t sent = 0;; sent += BURST) {
        while (pps != 0 && (bench_now_ns() - start) / 1000 * pps < sent * 1000000)
            ;
        sendmmsg(fd, msgs, BURST, 0);
    }
}
