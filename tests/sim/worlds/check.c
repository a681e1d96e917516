/* SPDX-License-Identifier: MIT */
/*
 * What has to hold after every event.
 *
 * Between events each CPU waits within a charge or idle, so this looks at whole states, at
 * any point at which time can pass.
 */
#include "worlds.h"

/* Pending work has somebody who will look at it: nothing is lost. */
static void check_pending(struct world *world, const struct sirq_vcpu *vcpu)
{
    const struct sirq_cpu *cpu = vcpu->cpu;
    bool owned = cpu->word >> 32 != 0;
    bool hardirq = vcpu->curr->ctx.hardirq_depth > 0;
    bool kicked = sirq_event_queued(&vcpu->kick_event) || vcpu->kick_line.posted;

    if (sirq_pending(cpu) != 0)
        MUST(world, owned || hardirq || kicked || vcpu->posted_first != NULL || cpu->ksoftirqd);
    /* Woken: it can run, or somebody is on the way of waking it. */
    if (cpu->ksoftirqd)
        MUST(world, vcpu->ksoftirqd->state == SIM_RUNNABLE || vcpu->preempt_off > 0);
    else
        MUST(world, vcpu->ksoftirqd->state == SIM_SLEEPING);
}

/* Pending work goes on, or the watchdog has said that it does not. */
static void check_progress(struct world *world, const struct sirq_vcpu *vcpu)
{
    const struct sirq_cpu *cpu = vcpu->cpu;
    uint64_t bound = 2 * world->core->stall_ns;

    if (sirq_pending(cpu) == 0 || cpu->stats.passes != world->seen[vcpu->id].passes) {
        world->seen[vcpu->id].passes = cpu->stats.passes;
        world->seen[vcpu->id].since = world->sim->now;
    }
    if (world->sim->now - world->seen[vcpu->id].since > bound)
        MUST(world, world->stall_reports + world->long_reports > 0);
}

static void check_ownership(struct world *world, const struct sirq_vcpu *vcpu)
{
    const struct sirq_cpu *cpu = vcpu->cpu;
    uint32_t owner = (uint32_t)(cpu->word >> 32);

    MUST(world, vcpu->waiting);
    if (cpu->running)
        MUST(world, owner == vcpu->curr->ctx.token); /* a run is not preempted */
    if (world->bh_off[vcpu->id])
        MUST(world, owner == vcpu->curr->ctx.token && !cpu->running);
    MUST(world, vcpu->curr->ctx.hardirq_depth <= 2);
}

static void check_queues(struct world *world, struct sirq_vcpu *vcpu)
{
    struct sirq_sim_task *curr = vcpu->curr, *first = sirq_rt_first(&vcpu->rt);
    unsigned fair = vcpu->fair.len + (curr->class == SIM_CLASS_FAIR);

    MUST(world, vcpu->fair.nr == fair);
    MUST(world, vcpu->cpu->rt_tasks == vcpu->rt.nr);
    MUST(world, curr == vcpu->idle || curr->state == SIM_RUNNABLE);
    MUST(world, (int64_t)(vcpu->fair.min_vruntime - world->seen[vcpu->id].min_vruntime) >= 0);
    world->seen[vcpu->id].min_vruntime = vcpu->fair.min_vruntime;
    /* Who ought to have the CPU has it, or it was told. */
    if (first != NULL && !vcpu->rt.throttled &&
        (curr->class != SIM_CLASS_RT || curr->priority < first->priority))
        MUST(world, vcpu->cpu->need_resched);
    if (curr == vcpu->idle && vcpu->fair.len > 0)
        MUST(world, vcpu->cpu->need_resched);
    /* An idle CPU does not look by itself. */
    if ((vcpu->fair.nr > 0 || (first != NULL && !vcpu->rt.throttled)) &&
        vcpu->wait_level == SIM_IDLE && !sirq_event_queued(&vcpu->run_event))
        MUST(world, sirq_event_queued(&vcpu->resched_event) || vcpu->resched_line.posted);
}

static void check_packets(struct world *world)
{
    struct sirq_net_stats stats;
    uint64_t frames = 0, verdicts = 0, queued = 0, taken = 0;

    sirq_net_stats_sum(world->net, &stats);
    for (unsigned i = 0; i < world->nnics; i++) {
        const struct sirq_sim_nic *nic = world->nic[i];

        MUST(world, nic->prod - nic->cons <= nic->size);
        MUST(world, nic->arrived == nic->dropped + nic->prod);
        frames += nic->cons;
    }
    for (unsigned i = 0; i < SIRQ_NR_DROPS; i++)
        verdicts += stats.verdict[i];
    for (unsigned i = 0; i < world->nsocks; i++) {
        struct sirq_socket_stats sock;

        sirq_socket_stats(world->sock[i], &sock);
        queued += sock.queued;
        taken += sock.received + sock.len;
        MUST(world, sock.len <= sock.cap);
    }
    MUST(world, stats.frames == frames && verdicts == frames);
    MUST(world, queued == stats.verdict[SIRQ_DELIVERED]);
    /* packets in the hands of a receiver that was interrupted are in neither number */
    MUST(world, taken <= queued && queued - taken <= 4 * WORLD_SOCKS);
}

/*
 * A receiver does not sleep on a full hand, but while a run is on the way of waking it; or
 * ksoftirqd, which keeps sockets listed from one of its runs to the next (src/net/feed.c).
 */
static void check_sleepers(struct world *world)
{
    bool busy = false;

    for (unsigned i = 0; i < world->ncpus; i++) {
        const struct sirq_cpu *cpu = &world->core->cpus[i];

        busy = busy || cpu->running || cpu->ksoftirqd || cpu->waking > 0 ||
               cpu->wakes.head != NULL || world->sim->vcpus[i].preempt_off > 0;
    }
    for (unsigned i = 0; !busy && i < world->nsocks; i++) {
        struct sirq_socket_stats sock;

        sirq_socket_stats(world->sock[i], &sock);
        if (sock.len > 0)
            MUST(world, world->receiver[i].task->wq == NULL);
    }
}

void world_check(struct sirq_sim *sim, void *arg)
{
    struct world *world = arg;

    world->checks++;
    for (unsigned i = 0; i < world->ncpus; i++) {
        struct sirq_vcpu *vcpu = &sim->vcpus[i];

        check_pending(world, vcpu);
        check_progress(world, vcpu);
        check_ownership(world, vcpu);
        check_queues(world, vcpu);
    }
    check_packets(world);
    check_sleepers(world);
}

static void check_all_seen(struct world *world)
{
    for (unsigned i = 0; i < world->nvecs; i++)
        for (unsigned cpu = 0; cpu < world->ncpus; cpu++)
            MUST(world, world->vec[i].seen[cpu] == world->vec[i].raised[cpu]);
    for (unsigned i = 0; i < WORLD_TASKLETS; i++)
        MUST(world, world->tasklet[i].ran == world->tasklet[i].scheduled);
    for (unsigned i = 0; i < world->ntimers; i++)
        MUST(world, world->timer[i].fired > 0 && !sirq_timer_pending(&world->timer[i].timer));
    for (unsigned i = 0; i < world->ntasks; i++)
        MUST(world, world->task[i].done);
}

void world_check_drained(struct world *world)
{
    uint64_t received = 0;
    struct sirq_net_stats stats;

    for (unsigned i = 0; i < world->ncpus; i++)
        MUST(world, sirq_pending(&world->core->cpus[i]) == 0);
    for (unsigned i = 0; i < world->nnics; i++)
        MUST(world, sirq_nic_advance(world->nic[i]) == 0);
    check_all_seen(world);
    sirq_net_stats_sum(world->net, &stats);
    for (unsigned i = 0; i < world->nsocks; i++) {
        MUST(world, world->receiver[i].done || !world->quit);
        received += world->received[i];
    }
    MUST(world, received == stats.verdict[SIRQ_DELIVERED]);
}
