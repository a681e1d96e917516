/* SPDX-License-Identifier: MIT */
#include "live_env.h"

#include <dirent.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

unsigned env_numbers[2], env_ncpus;

void env_init(void)
{
    cpu_set_t set;

    env_ncpus = 0;
    assert_int_equal(sched_getaffinity(getpid(), sizeof(set), &set), 0);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE && env_ncpus < 2; cpu++)
        if (CPU_ISSET(cpu, &set))
            env_numbers[env_ncpus++] = cpu;
}

struct sirq_live *env_start(enum sirq_delivery delivery, unsigned ncpus)
{
    struct sirq_live_config config = {.delivery = delivery};
    struct sirq_live *live;
    struct sirq_error err;
    cpu_set_t set;

    CPU_ZERO(&set);
    for (unsigned i = 0; i < ncpus && i < env_ncpus; i++)
        CPU_SET(env_numbers[i], &set);
    config.cpus = &set;
    if (sirq_live_start(&live, &config, &err) != 0)
        fail_msg("%s", err.text);
    return live;
}

static unsigned count_entries(const char *path)
{
    DIR *dir = opendir(path);
    unsigned n = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

void env_count(struct env_counts *out)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    int c;

    assert_non_null(maps);
    out->maps = 0;
    while ((c = getc(maps)) != EOF)
        out->maps += c == '\n';
    fclose(maps);
    out->tasks = count_entries("/proc/self/task");
    out->fds = count_entries("/proc/self/fd");
}

void env_sleep_us(unsigned us)
{
    const struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};

    nanosleep(&ts, NULL);
}

uint64_t env_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
