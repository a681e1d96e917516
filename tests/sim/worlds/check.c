/* SPDX-License-Identifier: MIT */
/*
 * What has to hold after every event.
 *
 * Between events each CPU waits within a charge or idle, so this looks at whole states, at
 * any point at which time can pass.
 *
 * The bound on pending work.  With L = stall_ns / 4, the watchdog's period:
 *   - a pending vector always has somebody on the way to it: an owner, an interrupt, a kick,
 *     or ksoftirqd, which is then runnable (check_pending: at every event, without slack)
 *   - under a policy that holds nothing back, an interrupt or a bottom-half enable leaves
 *     something pending only when its run met a limit (check_left: likewise)
 *   - a vector that does not run, with nobody owning the bottom halves, for 2 stall_ns + 4 L
 *     was reported (twice, since a vector that came while another stood is looked at when
 *     that one has run or was reported), and a run of stall_ns + 2 L too (check_progress)
 *   - a CPU that has left is not watched: what comes in for it has its ksoftirqd alone
 */
#include "worlds.h"

#define SIRQ_NET_INTERNAL
#include "../../../src/net/private.h"

static bool owned(const struct sirq_cpu *cpu)
{
    return cpu->word >> 32 != 0;
}

static bool interrupted(const struct sirq_vcpu *vcpu)
{
    return vcpu->curr->ctx.hardirq_depth > 0 || vcpu->posted_first != NULL ||
           sirq_event_queued(&vcpu->kick_event) || vcpu->kick_line.posted;
}

/* Pending work has somebody who will look at it: nothing is lost. */
static void check_pending(struct world *world, const struct sirq_vcpu *vcpu)
{
    const struct sirq_cpu *cpu = vcpu->cpu;

    if (sirq_pending(cpu) != 0)
        MUST(world, owned(cpu) || (cpu->online && interrupted(vcpu)) || cpu->ksoftirqd);
    /* Woken: it can run, or somebody is on the way of waking it. */
    if (!cpu->ksoftirqd)
        MUST(world, vcpu->ksoftirqd->state == SIM_SLEEPING);
    else if (vcpu->ksoftirqd->state != SIM_RUNNABLE) {
        bool waker = false;

        for (unsigned i = 0; i < world->ncpus; i++)
            waker = waker || world->sim->vcpus[i].preempt_off > 0;
        MUST(world, waker);
    }
}

/* Does the policy, whichever it is, let everything run at once? */
static bool holds_nothing(const struct world *world)
{
    return !has(world, FAULT_POLICY) && !has(world, FAULT_THREADED) &&
           world->core->threaded_mask == 0 && sirq_get_policy(world->core)->select == NULL;
}

/* Something is left to ksoftirqd: a run met a limit, or it was raised outside of any section. */
static void check_left(struct world *world, const struct sirq_vcpu *vcpu)
{
    const struct sirq_cpu *cpu = vcpu->cpu;
    struct world_seen *seen = &world->seen[vcpu->id];
    uint64_t excuses = cpu->stats.punts + seen->task_raises;
    bool left = sirq_pending(cpu) != 0 && !owned(cpu) && !interrupted(vcpu);

    if (cpu->online && left && !seen->was_left && holds_nothing(world))
        MUST(world, excuses != seen->excuses);
    if (!left)
        seen->excuses = excuses;
    seen->was_left = left;
}

/* Pending work goes on, or the watchdog has said that it does not. */
static void check_progress(struct world *world, const struct sirq_vcpu *vcpu)
{
    const struct sirq_cpu *cpu = vcpu->cpu;
    struct world_seen *seen = &world->seen[vcpu->id];
    uint64_t now = world->sim->now, stall = world->core->stall_ns;
    uint32_t pending = cpu->online && !owned(cpu) ? sirq_pending(cpu) : 0;

    if (pending == 0 || cpu->stats.stalls != seen->stalls)
        seen->standing = 0;
    seen->stalls = cpu->stats.stalls;
    for (uint32_t left = pending; left != 0; left &= left - 1) {
        unsigned vec = (unsigned)__builtin_ctz(left);

        /* A whole run may fit between two events. */
        if (!(seen->standing >> vec & 1) || cpu->stats.vec[vec].run != seen->ran[vec])
            seen->since[vec] = now;
        seen->ran[vec] = cpu->stats.vec[vec].run;
        MUST(world, now - seen->since[vec] <= 2 * stall + 4 * (stall / 4));
    }
    seen->standing = pending;
    if (cpu->run_start_ns != seen->run_start_ns || !cpu->online) {
        seen->run_start_ns = cpu->run_start_ns;
        seen->long_runs = cpu->stats.long_runs;
    }
    if (cpu->online && cpu->run_start_ns != 0 && now - cpu->run_start_ns > stall + 2 * (stall / 4))
        MUST(world, cpu->stats.long_runs != seen->long_runs);
}

static void check_ownership(struct world *world, const struct sirq_vcpu *vcpu)
{
    const struct sirq_cpu *cpu = vcpu->cpu;
    const struct sirq_sim_task *ksoftirqd = vcpu->ksoftirqd;
    uint32_t owner = (uint32_t)(cpu->word >> 32);

    MUST(world, vcpu->waiting);
    /* A run is not preempted, nor is it made by anybody else. */
    if (cpu->running)
        MUST(world, owner == vcpu->curr->ctx.token ||
                        (owner == ksoftirqd->ctx.token && ksoftirqd->vcpu->curr == ksoftirqd &&
                         !vcpu->active));
    if (world->bh_off[vcpu->id])
        MUST(world, owner == vcpu->curr->ctx.token && !cpu->running);
    MUST(world, vcpu->curr->ctx.hardirq_depth <= 2);
}

/* A CPU that has left has nothing and nobody, and no interrupt comes to it. */
static void check_gone(struct world *world, const struct sirq_vcpu *vcpu)
{
    if (vcpu->cpu->online)
        return;
    MUST(world, vcpu->curr == vcpu->idle && sirq_vcpu_nr(vcpu) == 0 && !vcpu->active);
    MUST(world, vcpu->posted_first == NULL && !sirq_event_queued(&vcpu->tick_event));
    if (sirq_timer_next(vcpu->cpu) != UINT64_MAX && !owned(vcpu->cpu))
        MUST(world, vcpu->cpu->ksoftirqd); /* which takes them along */
    for (unsigned i = 0; i < world->nnics; i++)
        for (unsigned r = 0; r < world->nic[i]->nrings; r++)
            MUST(world, world->nic[i]->ring[r].vcpu != vcpu);
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
    if (!vcpu->active) /* it gives them away when it has switched to idle */
        return;
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

/*
 * An instance on a list has NET_RX; a device that is masked has its instance scheduled, and one
 * that is detached is masked; a socket is not left listed by a run after which ksoftirqd gives way.
 */
static void check_polls(struct world *world)
{
    for (unsigned i = 0; i < world->ncpus; i++) {
        const struct sirq_cpu *cpu = &world->core->cpus[i];
        const struct sirq_net_cpu *nc = sirq_net_cpu(cpu);

        if (nc->polls.first != NULL || nc->incoming.head != NULL)
            MUST(world, owned(cpu) || (sirq_pending(cpu) & SIRQ_BIT(SIRQ_NET_RX)));
        if (nc->feeds != NULL)
            MUST(world, owned(cpu) || !world->seen[i].need_resched);
    }
    for (unsigned i = 0; i < world->ndevs; i++) {
        const struct sirq_nic_ring *ring = world->dev[i].priv;

        MUST(world, !ring->masked || ring->irq == NULL || world->unmasking[i] ||
                        (world->dev[i].napi.state & (SIRQ_NAPI_SCHED | SIRQ_NAPI_DISABLED)) != 0);
        if (ring->vcpu == NULL) /* detached */
            MUST(world, ring->masked && !sirq_event_queued(&ring->event));
    }
}

static void check_packets(struct world *world)
{
    struct sirq_net_stats stats;
    uint64_t frames = 0, verdicts = 0, queued = 0, taken = 0;

    sirq_net_stats_sum(world->net, &stats);
    for (unsigned i = 0; i < world->nnics; i++) {
        const struct sirq_sim_nic *nic = world->nic[i];

        for (unsigned r = 0; r < nic->nrings; r++) {
            const struct sirq_nic_ring *ring = &nic->ring[r];

            MUST(world, ring->prod - ring->cons <= nic->size);
            MUST(world, ring->arrived == ring->dropped + ring->prod);
            frames += ring->cons;
        }
    }
    for (unsigned i = 0; i < SIRQ_NR_DROPS; i++)
        verdicts += stats.verdict[i];
    for (unsigned i = 0; i < world->nsocks; i++) {
        struct sirq_socket_stats sock;

        queued += world->closed[i].queued;
        taken += world->closed[i].taken;
        if (world->sock[i] == NULL)
            continue;
        sirq_socket_stats(world->sock[i], &sock);
        queued += sock.queued;
        taken += sock.received + sock.len;
        MUST(world, sock.len <= sock.cap);
    }
    MUST(world, stats.frames + world_control_frames(world) == frames);
    MUST(world, verdicts + stats.steered - stats.received_rps == stats.frames);
    MUST(world, queued == stats.verdict[SIRQ_DELIVERED]);
    /* packets in the hands of a receiver that was interrupted are in neither number */
    MUST(world, taken <= queued && queued - taken <= 4 * WORLD_SOCKS);
}

/*
 * A receiver does not sleep on a full hand, but while a wake-up is on its way, or while a CPU
 * has its socket listed (src/net/feed.c) and is in a run, or its ksoftirqd is to go on.
 */
static bool will_be_woken(const struct world *world, const struct sirq_socket *sock)
{
    bool woken = false;

    for (unsigned i = 0; i < world->ncpus; i++) {
        const struct sirq_cpu *cpu = &world->core->cpus[i];

        woken = woken || cpu->waking > 0 || cpu->wakes.head != NULL ||
                world->sim->vcpus[i].preempt_off > 0 ||
                (sock->feed[i].listed && (cpu->running || cpu->ksoftirqd || owned(cpu)));
    }
    return woken;
}

static void check_sleepers(struct world *world)
{
    for (unsigned i = 0; i < world->nsocks; i++) {
        const struct sirq_socket *sock = world->sock[i];

        if (sock != NULL && world->receiver[i].task->wq != NULL && sirq_ring_len(&sock->queue) > 0)
            MUST(world, will_be_woken(world, sock));
    }
}

void world_check(struct sirq_sim *sim, void *arg)
{
    struct world *world = arg;

    world->checks++;
    for (unsigned i = 0; i < world->ncpus; i++) {
        struct sirq_vcpu *vcpu = &sim->vcpus[i];

        check_pending(world, vcpu);
        check_left(world, vcpu);
        check_progress(world, vcpu);
        check_gone(world, vcpu);
        check_ownership(world, vcpu);
        check_queues(world, vcpu);
    }
    check_polls(world);
    check_packets(world);
    check_sleepers(world);
    world_steer_check(world);
    world_devices_check(world);
}

static void check_all_seen(struct world *world)
{
    for (unsigned i = 0; i < world->nvecs; i++)
        for (unsigned cpu = 0; cpu < world->ncpus; cpu++)
            MUST(world, world->vec[i].seen[cpu] == world->vec[i].raised[cpu]);
    for (unsigned i = 0; i < WORLD_TASKLETS; i++)
        MUST(world, world->tasklet[i].ran == world->tasklet[i].scheduled);
    for (unsigned i = 0; i < world->ntimers; i++)
        MUST(world, (world->timer[i].fired > 0 || has(world, FAULT_KILL)) &&
                        !sirq_timer_pending(&world->timer[i].timer));
    for (unsigned i = 0; i < world->ntasks; i++)
        MUST(world, world->task[i].done);
}

void world_check_drained(struct world *world)
{
    uint64_t received = 0;
    struct sirq_net_stats stats;

    for (unsigned i = 0; i < world->ncpus; i++)
        MUST(world, sirq_pending(&world->core->cpus[i]) == 0);
    for (unsigned i = 0; i < world->nnics; i++) {
        struct sirq_sim_nic_stats nic;

        sirq_sim_nic_stats(world->nic[i], &nic);
        MUST(world, nic.waiting == 0);
    }
    check_all_seen(world);
    sirq_net_stats_sum(world->net, &stats);
    for (unsigned i = 0; i < world->nsocks; i++) {
        MUST(world, world->receiver[i].done || !world->quit);
        received += world->received[i] + world->closed[i].discarded;
    }
    MUST(world, received == stats.verdict[SIRQ_DELIVERED]);
}
