/* SPDX-License-Identifier: MIT */
/*
 * Memory of an idle engine with a packet path on up to two CPUs: what the process's resident
 * size grew by, and what the library says it holds, without the packet pool.  The peer is
 * the target of 8 MB.
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define TARGET_BYTES (8.0 * 1024 * 1024)

static double resident(void)
{
    unsigned long total, pages;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file == NULL || fscanf(file, "%lu %lu", &total, &pages) != 2)
        bench_die("/proc/self/statm", errno);
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

struct sample {
    double resident, counted;
};

/* In a process of its own: in ours, memory of earlier parts would be used again. */
static struct sample in_child(const struct bench_options *options, const cpu_set_t *set)
{
    const struct sirq_net_config small = {.pool_packets = 64}; /* hardly any pool */
    double before = resident();
    struct sirq_live *live = bench_engine(options, set);
    struct sirq_net *net;
    struct sample sample;
    size_t bytes[2];

    if (sirq_net_create(&net, sirq_live_core(live), &small) != 0)
        bench_die("memory", ENOMEM);
    sirq_net_memory(net, bytes);
    sample.resident = resident() - before - (double)bytes[0];
    sample.counted = (double)(sirq_live_memory(live) + bytes[1]);
    sirq_net_destroy(net);
    sirq_live_stop(live);
    return sample;
}

static struct sample take_sample(const struct bench_options *options, const cpu_set_t *set)
{
    struct sample sample;
    int ends[2], status;
    pid_t child;

    if (pipe(ends) != 0 || (child = fork()) < 0)
        bench_die("memory: a process", errno);
    if (child == 0) {
        sample = in_child(options, set);
        _exit(write(ends[1], &sample, sizeof(sample)) == sizeof(sample) ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &sample, sizeof(sample)) != sizeof(sample) ||
        waitpid(child, &status, 0) != child)
        bench_die("memory: the process failed", EPROTO);
    close(ends[0]);
    return sample;
}

void bench_memory(const struct bench_options *options)
{
    struct bench_series rss = {0}, counted = {0}, target = {0};
    uint64_t start = bench_now_ns();
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(options->cpu, &set);
    if (options->have_other)
        CPU_SET(options->other, &set);
    for (unsigned run = 0; run < options->runs && !bench_late(options, start, 1); run++) {
        struct sample sample = take_sample(options, &set);

        bench_add(&rss, sample.resident);
        bench_add(&counted, sample.counted);
        bench_add(&target, TARGET_BYTES);
    }
    bench_row("memory", "idle engine", "target", "counted, without the pool", "bytes", BENCH_LESS,
              &counted, &target);
    bench_row("memory", "idle engine", "target", "resident, without the pool", "bytes", BENCH_LESS,
              &rss, &target);
}
