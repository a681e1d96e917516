/* SPDX-License-Identifier: MIT */
/*
 * What goes wrong in a random world.  Each kind has its switch, and what the machine's faults
 * draw comes from a stream of its own, so that one can be left out without moving the others
 * more than its absence does.
 */
#include "worlds.h"

#define SIRQ_NET_INTERNAL
#include "../../../src/net/private.h"

static uint64_t chaos(struct world *world, uint64_t least, uint64_t most)
{
    return draw(&world->chaos, least, most);
}

/* ---- of the machine ------------------------------------------------------------------- */

static uint64_t late_ns(void *arg)
{
    struct world *world = arg;

    if (!has(world, FAULT_LATE) || world->stopping || chaos(world, 0, 9) > 0)
        return 0;
    return chaos(world, 1000, 3 * MS);
}

static bool lose_irq(void *arg)
{
    struct world *world = arg;

    return has(world, FAULT_LOST) && !world->stopping && chaos(world, 0, 3) == 0;
}

/* Between two rounds, or its last look and its sleep. */
static uint64_t linger_ns(void *arg)
{
    struct world *world = arg;

    return has(world, FAULT_LINGER) && chaos(world, 0, 1) == 0 ? chaos(world, 1, 20000) : 0;
}

/* The line fires though the device has nothing to say, masked or not. */
static void spurious_event(struct sirq_event *event, uint64_t now)
{
    struct world *world = SIRQ_CONTAINER(event, struct world, spurious);
    struct sirq_sim_nic *nic = world->nic[chaos(world, 0, world->nnics - 1)];
    struct sirq_nic_ring *ring = &nic->ring[chaos(world, 0, nic->nrings - 1)];

    (void)now;
    if (ring->vcpu != NULL)
        sirq_vcpu_post(ring->vcpu, &ring->line);
}

static void stall_handler(struct sirq_cpu *cpu, void *data)
{
    struct world *world = data;

    (void)cpu;
    sirq_sim_spend(world->sim, chaos(world, 1, chaos(world, 0, 3) > 0 ? 3 * MS : 100 * MS));
}

/* One leaves or one returns; what is refused (the last, busy) just does not happen. */
static void move_cpu(struct world *world)
{
    unsigned cpu = (unsigned)chaos(world, 0, world->ncpus - 1), left = 0;
    int err;

    if (world->sim->vcpus[cpu].active)
        err = sirq_sim_cpu_offline(world->sim, cpu, NULL);
    else
        err = sirq_sim_cpu_online(world->sim, cpu, NULL);
    MUST(world, err == 0 || err == -16);
    for (unsigned i = 0; i < world->ncpus; i++)
        left += world->sim->vcpus[i].active;
    MUST(world, left > 0);
}

void world_fault(struct world *world)
{
    if (has(world, FAULT_CPUS) && chaos(world, 0, 2) == 0)
        move_cpu(world);
    if (has(world, FAULT_SPURIOUS) && world->nnics > 0 && !sirq_event_queued(&world->spurious))
        sirq_evq_add(&world->sim->evq, &world->spurious, world->sim->now + chaos(world, 0, MS));
    if (has(world, FAULT_STALL) && chaos(world, 0, 9) == 0)
        sirq_sim_irq_raise(world->sim, &world->stall[chaos(world, 0, world->ncpus - 1)].irq, 0);
    if (has(world, FAULT_POLICY) && chaos(world, 0, 3) == 0)
        sirq_set_policy(world->core, world_any_policy(&world->chaos));
    if (has(world, FAULT_THREADED) && chaos(world, 0, 3) == 0)
        sirq_force_threaded(world->core, (uint32_t)sirq_rng_next(&world->chaos));
}

/*
 * A tasklet that is scheduled and disabled keeps its vector pending, and a run of inline or
 * resched, which have no limit, then does not end for the task that would enable it: part of
 * the fault, and over with it.
 */
void world_faults_end(struct world *world)
{
    sirq_evq_cancel(&world->sim->evq, &world->spurious);
    if (has(world, FAULT_KILL))
        sirq_set_policy(world->core, sirq_policy_default());
}

/* ---- of the load, in tasks ------------------------------------------------------------ */

/* Cancel it when it is here; or arm it here when it was cancelled before. */
static void cancel_timer(struct world *world, struct sirq_cpu *cpu)
{
    struct world_timer *timer;

    if (world->ntimers == 0)
        return;
    timer = &world->timer[pick(world, 0, world->ntimers - 1)];
    sirq_bh_disable(cpu);
    if (timer->cancelled) {
        timer->cancelled = false;
        timer->cpu = cpu->id;
        timer->expires = sirq_jiffies(cpu) + pick(world, 1, 10);
        sirq_timer_mod_local(cpu, &timer->timer, timer->expires);
    } else if (sirq_timer_pending(&timer->timer) && sirq_timer_cpu(&timer->timer) == cpu) {
        MUST(world, sirq_timer_del_local(cpu, &timer->timer));
        timer->cancelled = true;
    }
    sirq_bh_enable(cpu);
}

/* Whoever kills it has to be sure that it is not disabled: one or the other. */
static void kill_tasklet(struct world *world, struct sirq_cpu *cpu)
{
    struct world_tasklet *tasklet = &world->tasklet[pick(world, 0, WORLD_TASKLETS - 1)];

    if (chance(world, 50)) {
        if (tasklet->tasklet.disabled != 0)
            return;
        tasklet->dying++;
        sirq_tasklet_kill(cpu, &tasklet->tasklet);
        MUST(world, !tasklet->inside && tasklet->ran == tasklet->scheduled);
        tasklet->dying--;
        return;
    }
    if (tasklet->dying > 0)
        return;
    sirq_tasklet_disable(cpu, &tasklet->tasklet);
    MUST(world, !tasklet->inside);
    sirq_sim_spend(world->sim, pick(world, 1, MS));
    MUST(world, !tasklet->inside);
    sirq_tasklet_enable(&tasklet->tasklet);
}

void world_fault_task(struct world *world, struct sirq_cpu *cpu)
{
    if (!has(world, FAULT_KILL))
        return;
    if (chance(world, 50))
        cancel_timer(world, cpu);
    else
        kill_tasklet(world, cpu);
}

/* Does a CPU still owe a wake-up to a socket that is gone?  By address: it is gone. */
static bool listed(const struct world *world, const struct sirq_socket *gone)
{
    for (unsigned i = 0; i < world->ncpus; i++) {
        const struct sirq_feed *feed = sirq_net_cpu(&world->core->cpus[i])->feeds;

        while (feed != NULL && feed != &gone->feed[i])
            feed = feed->next;
        if (feed != NULL)
            return true;
    }
    return false;
}

/* By its only receiver.  Nothing is delivered once closing has begun: it unlinks at once. */
void world_socket_reopen(struct world *world, unsigned i)
{
    const struct sirq_socket_config config = {.port = (uint16_t)(100 + i),
                                              .rcvbuf = world->rcvbuf[i]};
    struct sirq_socket *sock = world->sock[i];
    struct sirq_socket_stats stats;

    sirq_socket_stats(sock, &stats);
    sirq_socket_close(sock);
    MUST(world, !listed(world, sock));
    world->closed[i].queued += stats.queued;
    world->closed[i].taken += stats.received + stats.len;
    world->closed[i].discarded += stats.len;
    world->sock[i] = NULL;
    sirq_sim_spend(world->sim, pick(world, 1, MS));
    MUST(world, sirq_socket_open(world->net, &config, &world->sock[i]) == 0);
}

/* Detaches a device, waits, attaches it again. */
static void operator_main(struct sirq_sim_task *task, void *arg)
{
    struct world_task *self = arg;
    struct world *world = self->world;

    while (!world->stopping) {
        struct sirq_netdev *dev = &world->dev[chaos(world, 0, world->ndevs - 1)];

        sirq_sim_sleep_until(task, world->sim->now + chaos(world, 1, 10 * MS));
        sirq_sim_detach(world->sim, dev);
        MUST(world, (dev->napi.state & ~SIRQ_NAPI_THREADED) == SIRQ_NAPI_DISABLED);
        sirq_sim_spend(world->sim, chaos(world, 1, MS));
        MUST(world, (dev->napi.state & ~SIRQ_NAPI_THREADED) == SIRQ_NAPI_DISABLED);
        world_attach(world, &world->chaos, dev);
    }
    self->done = true;
}

/* ---- set-up --------------------------------------------------------------------------- */

void world_faults_init(struct world *world)
{
    world->spurious.fn = spurious_event;
    MUST(world, sirq_evq_reserve(&world->sim->evq, 1) == 0);
    for (unsigned i = 0; i < world->ncpus; i++) {
        world->stall[i].irq = (struct sirq_irq){.handler = stall_handler, .data = world};
        MUST(world, sirq_sim_irq_request(world->sim, i, &world->stall[i].irq, NULL) == 0);
    }
    if (has(world, FAULT_DEVS) && world->nnics > 0)
        world_spawn(world, &world->operator, 0, operator_main);
    else
        world->operator.done = true;
    world->sim->late_ns = late_ns;
    world->sim->lose_irq = lose_irq;
    world->sim->linger_ns = linger_ns;
    world->sim->fault_arg = world;
}
