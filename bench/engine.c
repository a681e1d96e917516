/* SPDX-License-Identifier: MIT */
/* Engines for the parts, and the thread that measures. */
#include "bench.h"

#include <pthread.h>

struct sirq_live *bench_engine(const struct bench_options *options, const cpu_set_t *cpus)
{
    struct sirq_live_config config = {.cpus = cpus, .delivery = SIRQ_DELIVER_SIGNAL};
    struct sirq_error err;
    struct sirq_live *live;
    int ret;

    if (options->priority != 0)
        config.ksoftirqd = (struct sirq_sched){.policy = SCHED_FIFO, .priority = options->priority};
    ret = sirq_live_start(&live, &config, &err);
    if (ret != 0)
        bench_die(err.text, -ret);
    return live;
}

struct job {
    const struct bench_options *options;
    struct sirq_live *live;
    void (*fn)(const struct bench_options *options, struct sirq_live *live);
};

static void *work(void *arg)
{
    const struct job *job = arg;
    struct sched_param param = {.sched_priority = job->options->priority};

    if (param.sched_priority != 0)
        pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
    job->fn(job->options, job->live);
    return NULL;
}

void bench_with_engine(const struct bench_options *options,
                       void (*fn)(const struct bench_options *options, struct sirq_live *live))
{
    struct job job = {options, NULL, fn};
    pthread_t thread;
    cpu_set_t set;
    int ret;

    CPU_ZERO(&set);
    CPU_SET(options->cpu, &set);
    job.live = bench_engine(options, &set);
    ret = pthread_create(&thread, NULL, work, &job);
    if (ret != 0)
        bench_die("thread", ret);
    pthread_join(thread, NULL);
    sirq_live_stop(job.live);
}
