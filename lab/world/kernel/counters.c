/* SPDX-License-Identifier: MIT */
#include "counters.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "world/common/netns.h"

static FILE *open_proc(const char *proc, const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", proc, name);
    return fopen(path, "re");
}

/* A line of names, then one of their values. */
static void take_udp(struct sirq_kernel_counters *out, char *names, char *values)
{
    char *n_rest, *v_rest;
    const char *name = strtok_r(names, " \n", &n_rest), *value = strtok_r(values, " \n", &v_rest);

    for (; name && value;
         name = strtok_r(NULL, " \n", &n_rest), value = strtok_r(NULL, " \n", &v_rest)) {
        unsigned long long number = 0;

        if (sscanf(value, "%llu", &number) != 1)
            continue;
        if (strcmp(name, "InDatagrams") == 0)
            out->udp_received = number;
        else if (strcmp(name, "InErrors") == 0)
            out->udp_errors = number;
        else if (strcmp(name, "RcvbufErrors") == 0)
            out->udp_socket_full = number;
    }
}

static int read_udp(struct sirq_kernel_counters *out, const char *proc)
{
    char names[512] = "", values[512];
    FILE *file = open_proc(proc, "thread-self/net/snmp");
    int rc = -ENODATA;

    if (!file)
        return -errno;
    while (rc && fgets(values, sizeof(values), file)) {
        if (strncmp(values, "Udp:", 4) == 0 && strncmp(names, "Udp:", 4) == 0) {
            take_udp(out, names, values);
            rc = 0;
        }
        memcpy(names, values, sizeof(names));
    }
    fclose(file);
    return rc;
}

static int read_softnet(struct sirq_kernel_counters *out, const char *proc)
{
    unsigned dropped, squeezed;
    char line[512];
    FILE *file = open_proc(proc, "net/softnet_stat");
    int rc = -ENODATA;

    if (!file)
        return -errno;
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%*x %x %x", &dropped, &squeezed) != 2)
            continue;
        out->backlog_dropped += dropped;
        out->squeezed += squeezed;
        rc = 0;
    }
    fclose(file);
    return rc;
}

static int read_irq(struct sirq_kernel_counters *out, const char *proc, unsigned cpu)
{
    unsigned long long irq, softirq;
    char line[512], name[16];
    FILE *file = open_proc(proc, "stat");
    long hz = sysconf(_SC_CLK_TCK);
    int rc = -ENODATA;

    if (!file)
        return -errno;
    snprintf(name, sizeof(name), "cpu%u ", cpu);
    while (rc && fgets(line, sizeof(line), file)) {
        if (strncmp(line, name, strlen(name)) == 0 &&
            sscanf(line + strlen(name), "%*u %*u %*u %*u %*u %llu %llu", &irq, &softirq) == 2) {
            out->irq_ns = hz > 0 ? (irq + softirq) * (1000000000u / (unsigned long)hz) : 0;
            rc = 0;
        }
    }
    fclose(file);
    return rc;
}

int sirq_kernel_counters_read(struct sirq_kernel_counters *out, const char *proc, unsigned cpu)
{
    int rc;

    memset(out, 0, sizeof(*out));
    rc = read_udp(out, proc);
    if (!rc)
        rc = read_softnet(out, proc);
    if (!rc)
        rc = read_irq(out, proc, cpu);
    if (!rc)
        rc = sirq_netns_lost(proc, &out->device_lost);
    return rc == -ENODEV ? 0 : rc; /* the sending end is in another namespace: nothing of it */
}

uint64_t sirq_kernel_thread_ns(pid_t tid)
{
    unsigned long long ns = 0;
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)tid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%llu", &ns) != 1)
        ns = 0;
    fclose(file);
    return ns;
}
