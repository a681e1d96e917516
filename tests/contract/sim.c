/* SPDX-License-Identifier: MIT */
/* The simulated host, as a host for the contract tests. */
#include "host.h"

#include <string.h>

#include <sirq/sim.h>
#include <sirq/tasklet.h>

#define MAX_TASKS 32u
#define PAUSE_NS UINT64_C(20000)
#define STEP_NS UINT64_C(100000)
#define JOIN_STEPS 100000u /* 10 s of virtual time */

struct task {
    contract_fn fn;
    void *arg;
    unsigned c;
    bool done;
};

static struct sirq_sim *sim;
static struct contract_config config;
static struct sirq_irq lines[CONTRACT_MAX_CPUS];
static struct task tasks[MAX_TASKS];
static unsigned ntasks;

static unsigned sim_max_cpus(void)
{
    return CONTRACT_MAX_CPUS;
}

static struct sirq_cpu *sim_cpu(unsigned c)
{
    return &sirq_sim_core(sim)->cpus[c];
}

static void line_handler(struct sirq_cpu *cpu, void *data)
{
    (void)data;
    config.interrupt(cpu, config.arg);
}

static struct sirq_core *sim_start(const struct contract_config *wanted)
{
    struct sirq_sim_config sc = {.ncpus = wanted->ncpus,
                                 .hz = wanted->hz,
                                 .seed = 1,
                                 .policy = wanted->policy,
                                 .stall_ns = wanted->stall_ns,
                                 .report = wanted->report,
                                 .report_arg = wanted->arg};
    struct sirq_error err;

    config = *wanted;
    for (unsigned i = 0; i < SIRQ_NR_COSTS; i++)
        sc.cost_ns[i] = 300;
    if (sirq_sim_create(&sim, &sc, &err) != 0) {
        print_message("%s\n", err.text);
        return NULL;
    }
    for (unsigned c = 0; config.interrupt != NULL && c < config.ncpus; c++) {
        lines[c] = (struct sirq_irq){.handler = line_handler};
        assert_int_equal(sirq_sim_irq_request(sim, c, &lines[c], &err), 0);
    }
    assert_int_equal(sirq_tasklet_open(sirq_sim_core(sim)), 0);
    return sirq_sim_core(sim);
}

static void sim_stop(void)
{
    for (unsigned c = 0; config.interrupt != NULL && c < config.ncpus; c++)
        sirq_sim_irq_free(sim, &lines[c]);
    sirq_sim_destroy(sim);
    sim = NULL;
}

static bool sim_on_cpu(const struct sirq_cpu *cpu)
{
    return sirq_sim_this_cpu(sim) == cpu;
}

static void task_main(struct sirq_sim_task *self, void *arg)
{
    struct task *task = arg;

    (void)self;
    task->fn(sim_cpu(task->c), task->arg);
    task->done = true;
}

static void sim_spawn(unsigned c, contract_fn fn, void *arg)
{
    struct task *task = &tasks[ntasks];
    const struct sirq_sim_task_config tc = {
        .name = "test", .fn = task_main, .arg = task, .cpu = (int)c};
    struct sirq_error err;

    assert_true(ntasks < MAX_TASKS);
    *task = (struct task){.fn = fn, .arg = arg, .c = c};
    assert_int_equal(sirq_sim_spawn(sim, &tc, NULL, &err), 0);
    ntasks++;
}

static void step(void)
{
    sirq_sim_run(sim, sirq_sim_now_ns(sim) + STEP_NS);
}

static void sim_join(void)
{
    unsigned steps = 0;

    while (ntasks > 0) {
        while (!tasks[ntasks - 1].done) {
            assert_true(steps++ < JOIN_STEPS);
            step();
        }
        ntasks--;
    }
}

static void sim_pause(void)
{
    sirq_sim_spend(sim, PAUSE_NS);
}

static bool sim_until(bool (*cond)(void *arg), void *arg, uint64_t ns)
{
    uint64_t end = sirq_sim_now_ns(sim) + ns;

    while (!cond(arg)) {
        if (sirq_sim_now_ns(sim) > end)
            return false;
        step();
    }
    return true;
}

static void sim_interrupt(unsigned c)
{
    sirq_sim_irq_raise(sim, &lines[c], 0);
}

static void sim_backlog_threads(struct sirq_net *net, unsigned mask)
{
    const uint64_t on = mask, off = ~on;
    struct sirq_error err;

    sirq_sim_backlog_unthread(sim, net, &off);
    assert_int_equal(sirq_sim_backlog_threads(sim, net, &on, NULL, &err), 0);
}

static void sim_napi_thread(struct sirq_netdev *dev, bool on)
{
    struct sirq_error err;

    if (on)
        assert_int_equal(sirq_sim_napi_thread(sim, dev, NULL, &err), 0);
    else
        sirq_sim_napi_unthread(sim, dev);
}

static const struct contract_host sim_host = {
    .name = "sim",
    .max_cpus = sim_max_cpus,
    .start = sim_start,
    .stop = sim_stop,
    .cpu = sim_cpu,
    .on_cpu = sim_on_cpu,
    .spawn = sim_spawn,
    .join = sim_join,
    .pause = sim_pause,
    .until = sim_until,
    .interrupt = sim_interrupt,
    .backlog_threads = sim_backlog_threads,
    .napi_thread = sim_napi_thread,
};

const struct contract_host *const contract_hosts[] = {&sim_host, NULL};
