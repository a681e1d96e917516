/* SPDX-License-Identifier: MIT */
/* The live host in its three deliveries, as hosts for the contract tests. */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sirq/live.h>
#include <sirq/tasklet.h>

#define MAX_TASKS 32u

struct line {
    struct sirq_irq irq;
    int pipe[2];
    uint32_t pulled; /* __atomic */
};

struct task {
    pthread_t thread;
    contract_fn fn;
    void *arg;
    unsigned c;
};

static struct sirq_live *live;
static struct contract_config config;
static struct line lines[CONTRACT_MAX_CPUS];
static struct task tasks[MAX_TASKS];
static unsigned ntasks, numbers[CONTRACT_MAX_CPUS];

static unsigned find_cpus(void)
{
    cpu_set_t set;
    unsigned n = 0;

    if (sched_getaffinity(getpid(), sizeof(set), &set) != 0)
        return 0;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE && n < CONTRACT_MAX_CPUS; cpu++)
        if (CPU_ISSET(cpu, &set))
            numbers[n++] = cpu;
    return n;
}

static struct sirq_cpu *live_cpu(unsigned c)
{
    return sirq_live_cpu(live, numbers[c]);
}

static void line_handler(struct sirq_cpu *cpu, void *data)
{
    struct line *line = data;
    char bytes[64];

    while (read(line->pipe[0], bytes, sizeof(bytes)) > 0)
        ;
    __atomic_store_n(&line->pulled, 0, __ATOMIC_SEQ_CST);
    config.interrupt(cpu, config.arg);
}

static bool line_pending(void *data)
{
    const struct line *line = data;

    return __atomic_load_n(&line->pulled, __ATOMIC_SEQ_CST) != 0;
}

static void line_open(unsigned c)
{
    struct line *line = &lines[c];
    struct sirq_error err;

    assert_int_equal(pipe2(line->pipe, O_NONBLOCK | O_CLOEXEC), 0);
    line->pulled = 0;
    line->irq = (struct sirq_irq){.fd = line->pipe[0],
                                  .self_masking = true,
                                  .handler = line_handler,
                                  .pending = line_pending,
                                  .data = line};
    assert_int_equal(sirq_live_irq_request(live, numbers[c], &line->irq, &err), 0);
}

static struct sirq_core *live_start(enum sirq_delivery delivery,
                                    const struct contract_config *wanted)
{
    struct sirq_live_config lc = {.hz = wanted->hz,
                                  .delivery = delivery,
                                  .policy = wanted->policy,
                                  .stall_ns = wanted->stall_ns,
                                  .report = wanted->report,
                                  .report_arg = wanted->arg};
    struct sirq_error err;
    cpu_set_t set;

    config = *wanted;
    CPU_ZERO(&set);
    find_cpus();
    for (unsigned c = 0; c < config.ncpus; c++)
        CPU_SET(numbers[c], &set);
    lc.cpus = &set;
    if (sirq_live_start(&live, &lc, &err) != 0) {
        print_message("%s\n", err.text);
        return NULL;
    }
    for (unsigned c = 0; config.interrupt != NULL && c < config.ncpus; c++)
        line_open(c);
    assert_int_equal(sirq_tasklet_open(sirq_live_core(live)), 0);
    return sirq_live_core(live);
}

static struct sirq_core *start_signal(const struct contract_config *wanted)
{
    return live_start(SIRQ_DELIVER_SIGNAL, wanted);
}

static struct sirq_core *start_thread(const struct contract_config *wanted)
{
    return live_start(SIRQ_DELIVER_THREAD, wanted);
}

static struct sirq_core *start_poll(const struct contract_config *wanted)
{
    return live_start(SIRQ_DELIVER_POLL, wanted);
}

static void live_stop(void)
{
    for (unsigned c = 0; config.interrupt != NULL && c < config.ncpus; c++) {
        sirq_live_irq_free(live, &lines[c].irq);
        close(lines[c].pipe[0]);
        close(lines[c].pipe[1]);
    }
    sirq_live_stop(live);
    live = NULL;
}

static bool live_on_cpu(const struct sirq_cpu *cpu)
{
    return (unsigned)sched_getcpu() == sirq_live_cpu_number(cpu);
}

static void *task_main(void *arg)
{
    const struct task *task = arg;
    struct sirq_error err;

    if (sirq_live_thread_register(live, (int)numbers[task->c], NULL, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    task->fn(live_cpu(task->c), task->arg);
    sirq_live_thread_unregister(live);
    return NULL;
}

static void live_spawn(unsigned c, contract_fn fn, void *arg)
{
    struct task *task = &tasks[ntasks];

    assert_true(ntasks < MAX_TASKS);
    *task = (struct task){.fn = fn, .arg = arg, .c = c};
    assert_int_equal(pthread_create(&task->thread, NULL, task_main, task), 0);
    ntasks++;
}

static void live_join(void)
{
    while (ntasks > 0)
        pthread_join(tasks[--ntasks].thread, NULL);
}

static void live_pause(void)
{
    struct timespec ts = {.tv_nsec = 20000};

    sirq_live_poll(live);
    nanosleep(&ts, NULL);
}

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static bool live_until(bool (*cond)(void *arg), void *arg, uint64_t ns)
{
    uint64_t end = now_ns() + ns;
    struct timespec ts = {.tv_nsec = 100000};

    while (!cond(arg)) {
        if (now_ns() > end)
            return cond(arg);
        nanosleep(&ts, NULL);
    }
    return true;
}

static void live_interrupt(unsigned c)
{
    struct line *line = &lines[c];

    __atomic_store_n(&line->pulled, 1, __ATOMIC_SEQ_CST);
    if (write(line->pipe[1], "i", 1) < 0 && errno != EAGAIN)
        abort();
}

static void live_backlog_threads(struct sirq_net *net, unsigned mask)
{
    struct sirq_error err;
    cpu_set_t on, off;

    CPU_ZERO(&on);
    CPU_ZERO(&off);
    for (unsigned c = 0; c < config.ncpus; c++)
        CPU_SET(numbers[c], mask >> c & 1 ? &on : &off);
    sirq_live_backlog_unthread(live, net, &off);
    assert_int_equal(sirq_live_backlog_threads(live, net, &on, NULL, &err), 0);
}

static void live_napi_thread(struct sirq_netdev *dev, bool on)
{
    struct sirq_error err;

    if (on)
        assert_int_equal(sirq_live_napi_thread(live, dev, NULL, &err), 0);
    else
        sirq_live_napi_unthread(live, dev);
}

#define LIVE_HOST(delivery)                                                                       \
    {                                                                                             \
        .name = "live-" #delivery, .max_cpus = find_cpus, .start = start_##delivery,              \
        .stop = live_stop, .cpu = live_cpu, .on_cpu = live_on_cpu, .spawn = live_spawn,           \
        .join = live_join, .pause = live_pause, .until = live_until, .interrupt = live_interrupt, \
        .backlog_threads = live_backlog_threads, .napi_thread = live_napi_thread                  \
    }

static const struct contract_host live_signal = LIVE_HOST(signal);
static const struct contract_host live_thread = LIVE_HOST(thread);
static const struct contract_host live_poll = LIVE_HOST(poll);

const struct contract_host *const contract_hosts[] = {&live_signal, &live_thread, &live_poll, NULL};
