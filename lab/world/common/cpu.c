/* SPDX-License-Identifier: MIT */
/* CPUs of the run. */
#include "cpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void sirq_lab_cpus_parse(const char *text, cpu_set_t *set)
{
    CPU_ZERO(set);
    for (unsigned items = 0; items < CPU_SETSIZE; items++) {
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first;

        if (end == text)
            return;
        if (*end == '-') {
            text = end + 1;
            last = strtoul(text, &end, 10);
        }
        for (unsigned long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            CPU_SET(cpu, set);
        if (*end != ',')
            return;
        text = end + 1;
    }
}

const char *sirq_lab_cpus_format(const cpu_set_t *set, char *buf, size_t size)
{
    size_t len = 0;

    buf[0] = '\0';
    for (int first = 0; first < CPU_SETSIZE && len + 16 < size; first++) {
        int last = first;

        if (!CPU_ISSET(first, set))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
            last++;
        len += (size_t)snprintf(buf + len, size - len, "%s%d", len ? "," : "", first);
        if (last > first)
            len += (size_t)snprintf(buf + len, size - len, "-%d", last);
        first = last;
    }
    return buf;
}

static int read_list(const char *path, cpu_set_t *set)
{
    char line[4096] = "";
    FILE *file = fopen(path, "re");

    if (!file)
        return -errno;
    if (!fgets(line, sizeof(line), file))
        line[0] = '\0';
    fclose(file);
    sirq_lab_cpus_parse(line, set);
    return 0;
}

/* The last CPU of `set` that is not in `not`, or -1. */
static int last_but(const cpu_set_t *set, const cpu_set_t * not )
{
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
        if (CPU_ISSET(cpu, set) && !CPU_ISSET(cpu, not ))
            return cpu;
    }
    return -1;
}

static int check_wanted(int wanted, const cpu_set_t *allowed, const cpu_set_t *online,
                        struct sirq_error *err)
{
    char list[100];

    if (wanted >= CPU_SETSIZE || !CPU_ISSET(wanted, online))
        return sirq_fail(err, EINVAL, "--cpu %d: no such CPU is online; online: %s", wanted,
                         sirq_lab_cpus_format(online, list, sizeof(list)));
    if (!CPU_ISSET(wanted, allowed))
        return sirq_fail(err, EINVAL,
                         "--cpu %d: not in the affinity mask of this process; "
                         "allowed: %s; choose one of them, or start it with taskset",
                         wanted, sirq_lab_cpus_format(allowed, list, sizeof(list)));
    return 0;
}

int sirq_lab_cpus_pick(struct sirq_lab_cpus *cpus, int wanted, const cpu_set_t *allowed,
                       const cpu_set_t *online, const cpu_set_t *siblings, struct sirq_error *err)
{
    cpu_set_t used;
    int sender, rc = wanted < 0 ? 0 : check_wanted(wanted, allowed, online, err);

    if (rc)
        return rc;
    CPU_ZERO(&used);
    cpus->allowed = *allowed;
    cpus->flooded = (unsigned)(wanted < 0 ? last_but(allowed, &used) : wanted);
    CPU_SET(cpus->flooded, &used);
    CPU_OR(&used, &used, siblings);
    sender = last_but(allowed, &used);
    if (sender < 0) { /* only an SMT sibling of the flooded CPU is left */
        CPU_ZERO(&used);
        CPU_SET(cpus->flooded, &used);
        sender = last_but(allowed, &used);
    }
    if (sender < 0)
        return sirq_fail(err, ENODEV,
                         "the flood has to come from another CPU than the one it "
                         "hits, and this process may use CPU %u alone; start it where it may "
                         "use two (taskset, cgroup cpuset)",
                         cpus->flooded);
    cpus->sender = (unsigned)sender;
    CPU_SET(cpus->sender, &used);
    cpus->spare = last_but(allowed, &used);
    return 0;
}

int sirq_lab_cpus_choose(struct sirq_lab_cpus *cpus, int wanted, struct sirq_error *err)
{
    cpu_set_t allowed, online, siblings;
    char path[96];
    int cpu;

    if (sched_getaffinity(0, sizeof(allowed), &allowed))
        return sirq_fail(err, errno, "cannot read the affinity mask: %s", strerror(errno));
    if (read_list("/sys/devices/system/cpu/online", &online))
        online = allowed; /* no sysfs: what we may use is online */
    CPU_ZERO(&siblings);
    cpu = wanted < 0 ? last_but(&allowed, &siblings) : wanted;
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             cpu);
    if (read_list(path, &siblings))
        CPU_ZERO(&siblings);
    return sirq_lab_cpus_pick(cpus, wanted, &allowed, &online, &siblings, err);
}

uint64_t sirq_lab_cpu_busy_ns(unsigned cpu)
{
    unsigned long long user, nice, system, irq, softirq, steal, ticks = 0;
    char line[512], name[16];
    FILE *file = fopen("/proc/stat", "re");
    long hz = sysconf(_SC_CLK_TCK);

    if (!file)
        return 0;
    snprintf(name, sizeof(name), "cpu%u ", cpu);
    while (!ticks && fgets(line, sizeof(line), file)) {
        if (strncmp(line, name, strlen(name)) == 0 &&
            sscanf(line + strlen(name), "%llu %llu %llu %*u %*u %llu %llu %llu", &user, &nice,
                   &system, &irq, &softirq, &steal) == 6)
            ticks = user + nice + system + irq + softirq + steal;
    }
    fclose(file);
    return hz > 0 ? ticks * (1000000000u / (unsigned long)hz) : 0;
}

uint64_t sirq_lab_thread_cpu_ns(pthread_t thread)
{
    struct timespec ts;
    clockid_t clock;

    if (pthread_getcpuclockid(thread, &clock) || clock_gettime(clock, &ts))
        return 0;
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void sirq_lab_cpus_avoid(const struct sirq_lab_cpus *cpus)
{
    cpu_set_t set = cpus->allowed;

    CPU_CLR(cpus->flooded, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

void sirq_lab_cpus_restore(const struct sirq_lab_cpus *cpus)
{
    sched_setaffinity(0, sizeof(cpus->allowed), &cpus->allowed);
}
