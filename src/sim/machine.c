/* SPDX-License-Identifier: MIT */
/* The machine: putting it together, its event loop, taking it apart. */
#define SIRQ_SIM_PRIVATE
#include "sim.h"
#include "disk.h"
#include "nic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_PER_CPU 5u
#define EVENTS_PER_WORLD 2u

static void idle_main(struct sirq_sim_task *task, void *arg)
{
    (void)arg;
    for (;;) {
        if (!task->vcpu->active && task->vcpu->cpu->online)
            sirq_hotplug_leave(task->vcpu);
        sirq_vcpu_idle_wait(task->vcpu);
    }
}

/* idle tasks do not come in by a switch, nor do they end */
static void idle_entry(void *arg)
{
    struct sirq_sim_task *task = arg;

    task->fn(task, NULL);
}

static int idle_init(struct sirq_vcpu *vcpu)
{
    struct sirq_sim *sim = vcpu->sim;
    struct sirq_task_params params = {.name = "idle", .fn = idle_main};
    uint64_t allowed[SIM_CPUS / 64] = {0};

    allowed[vcpu->id / 64] = UINT64_C(1) << (vcpu->id % 64);
    params.allowed = allowed;
    vcpu->idle = sirq_task_new(sim, vcpu, &params);
    if (vcpu->idle == NULL)
        return -ENOMEM;
    sirq_coro_fini(&vcpu->idle->coro, &sim->stacks);
    if (sirq_coro_init(&vcpu->idle->coro, &sim->stacks, idle_entry, vcpu->idle) != 0)
        return -ENOMEM;
    vcpu->idle->class = SIM_CLASS_IDLE;
    vcpu->idle->state = SIM_RUNNABLE;
    vcpu->curr = vcpu->idle;
    sirq_sched_masks(vcpu);
    sim->running = vcpu; /* until it waits */
    sirq_coro_switch(&sim->loop, &vcpu->idle->coro);
    return 0;
}

static void sched_action(struct sirq_cpu *cpu, void *data)
{
    (void)data;
    sirq_balance_pull(sirq_vcpu_of(cpu), false);
}

static void stop_event(struct sirq_event *event, uint64_t now)
{
    (void)now;
    SIRQ_CONTAINER(event, struct sirq_sim, stop_event)->stop = true;
}

static void watch_event(struct sirq_event *event, uint64_t now)
{
    struct sirq_sim *sim = SIRQ_CONTAINER(event, struct sirq_sim, watch_event);

    for (unsigned i = 0; i < sim->ncpus; i++)
        if (sim->cpus[i].online)
            sirq_watchdog(&sim->cpus[i], now);
    sirq_rcu_check(sim);
    sirq_evq_add(&sim->evq, event, now + sim->core.stall_ns / 4);
}

static int machine_alloc(struct sirq_sim *sim)
{
    unsigned n = sim->ncpus;

    sim->cpus = aligned_alloc(64, n * sizeof(*sim->cpus));
    sim->vcpus = calloc(n, sizeof(*sim->vcpus));
    sim->timers = calloc(n, sizeof(*sim->timers));
    if (sim->cpus == NULL || sim->vcpus == NULL || sim->timers == NULL)
        return -ENOMEM;
    memset(sim->cpus, 0, n * sizeof(*sim->cpus));
    return sirq_evq_init(&sim->evq, n * EVENTS_PER_CPU + EVENTS_PER_WORLD);
}

static int cpus_init(struct sirq_sim *sim)
{
    int err = 0;

    for (unsigned i = 0; i < sim->ncpus; i++) {
        struct sirq_vcpu *vcpu = &sim->vcpus[i];

        vcpu->sim = sim;
        vcpu->id = i;
        vcpu->cpu = &sim->cpus[i];
        vcpu->cpu->host = vcpu;
        vcpu->active = true;
        sirq_vcpu_init(vcpu);
    }
    for (unsigned i = 0; err == 0 && i < sim->ncpus; i++)
        err = idle_init(&sim->vcpus[i]);
    return err;
}

int sirq_machine_init(struct sirq_sim *sim, unsigned hz, const struct sirq_host *host)
{
    int err = machine_alloc(sim);

    if (err != 0)
        return err;
    sim->outside.token = 1;
    sim->stop_event.fn = stop_event;
    sim->watch_event.fn = watch_event;
    err = sirq_core_init(&sim->core, sim->cpus, sim->ncpus, hz, host, sim);
    for (unsigned i = 0; i < sim->ncpus; i++)
        sim->cpus[i].host = &sim->vcpus[i];
    if (err == 0 && sim->stall_ns != 0)
        sim->core.stall_ns = sim->stall_ns;
    if (err == 0)
        err = cpus_init(sim);
    if (err == 0)
        err = sirq_timer_open(&sim->core, sim->timers);
    if (err == 0)
        err = sirq_open(&sim->core, SIRQ_SCHED, "SCHED", sched_action, NULL);
    if (err == 0)
        sirq_evq_add(&sim->evq, &sim->watch_event, sim->core.stall_ns / 4);
    return err;
}

void sirq_machine_fini(struct sirq_sim *sim)
{
    struct sirq_sim_task *task;

    while ((task = sim->tasks) != NULL) {
        sim->tasks = task->next;
        if (task->coro.stack != NULL)
            sirq_coro_fini(&task->coro, &sim->stacks);
        free(task);
    }
    while (sim->lines != NULL) {
        struct sirq_sim_line *line = sim->lines;

        sim->lines = line->next;
        free(line);
    }
    sirq_nics_free(sim);
    sirq_disks_free(sim);
    sirq_stacks_fini(&sim->stacks);
    for (unsigned i = 0; sim->vcpus != NULL && i < sim->ncpus; i++)
        if (sim->fair->fini != NULL)
            sim->fair->fini(&sim->vcpus[i].fair);
    sirq_evq_fini(&sim->evq);
    free(sim->timers);
    free(sim->vcpus);
    free(sim->cpus);
}

/* What is due at `until` happens; the stop comes after it, being the youngest. */
void sirq_machine_run(struct sirq_sim *sim, uint64_t until)
{
    sim->stop = false;
    if (until < sim->now)
        return;
    sirq_evq_add(&sim->evq, &sim->stop_event, until);
    while (!sim->stop) {
        uint64_t time;
        struct sirq_event *event = sirq_evq_pop(&sim->evq, &time);

        assert(time >= sim->now);
        sim->now = time;
        sim->nevents++;
        event->fn(event, time);
        if (sim->check != NULL)
            sim->check(sim, sim->check_arg);
    }
    sirq_evq_cancel(&sim->evq, &sim->stop_event);
}
