/* SPDX-License-Identifier: MIT */
/*
 * Steering in a random world: RPS maps, RFS and threads that change while frames flow.
 *
 * It draws on a stream of its own of the seed's, so that seeds that were kept for something else
 * go on making it.  A flow is a source: its frames carry the number of the NIC and of the source
 * as source address and port, and the time of arrival, which only grows.
 */
#include "worlds.h"

#include <arpa/inet.h>
#include <errno.h>

static bool happens(struct world *world, unsigned percent)
{
    return sirq_rng_below(&world->steer.rng, 100) < percent;
}

uint32_t world_steer_cost(struct world *world)
{
    sirq_rng_seed(&world->steer.rng, world->seed, 2);
    return (uint32_t)draw(&world->steer.rng, 1, 1500);
}

void world_steer_config(struct world *world, struct sirq_net_config *config)
{
    config->netdev_max_backlog =
        (unsigned)draw(&world->steer.rng, 1, happens(world, 50) ? 20 : 1000);
    config->flow_limit = happens(world, 30) ? 1u << draw(&world->steer.rng, 0, 8) : 0;
}

void world_steer_source(const struct world *world, unsigned nic, unsigned i,
                        struct sirq_sim_source_config *source)
{
    (void)world;
    source->saddr = htonl(nic + 1);
    source->sport = (uint16_t)(i + 1);
}

/* ---- what changes ------------------------------------------------------------------------ */

static void change_map(struct world *world)
{
    unsigned cpus[16], n = happens(world, 20) ? 0 : (unsigned)draw(&world->steer.rng, 1, 16);
    struct sirq_error err;

    for (unsigned i = 0; i < n; i++)
        cpus[i] = (unsigned)draw(&world->steer.rng, 0, world->ncpus - 1);
    MUST(world, sirq_netdev_set_rps(&world->dev[draw(&world->steer.rng, 0, world->ndevs - 1)], cpus,
                                    n, &err) == 0);
}

static void change_rfs(struct world *world)
{
    struct sirq_error err;

    MUST(world, sirq_net_set_rfs(world->net, happens(world, 60), &err) == 0);
}

static struct sirq_sim_napi_attr any_attr(struct world *world, uint64_t *allowed)
{
    struct sirq_sim_napi_attr attr = {.sched.nice = (int)draw(&world->steer.rng, 0, 20) - 10};

    *allowed = sirq_rng_next(&world->steer.rng) | 1;
    if (happens(world, 50))
        attr.allowed = allowed;
    if (happens(world, 25))
        attr.sched = (struct sirq_sched){.policy = happens(world, 50) ? SCHED_RR : SCHED_FIFO,
                                         .priority = (int)draw(&world->steer.rng, 1, 99)};
    return attr;
}

/* It is refused when every CPU that the task may use has been given back, or is leaving. */
static void check_begun(struct world *world, const struct sirq_sim_napi_attr *attr, int rc)
{
    bool some = attr != NULL && attr->allowed != NULL;

    MUST(world, rc == 0 || (rc == -EINVAL && some && has(world, FAULT_CPUS)));
}

static void change_backlogs(struct world *world)
{
    uint64_t set = sirq_rng_next(&world->steer.rng), allowed;
    struct sirq_sim_napi_attr any = any_attr(world, &allowed), *attr;
    struct sirq_error err;

    attr = happens(world, 50) ? &any : NULL;
    if (happens(world, 50))
        check_begun(world, attr,
                    sirq_sim_backlog_threads(world->sim, world->net, &set, attr, &err));
    else
        sirq_sim_backlog_unthread(world->sim, world->net, &set);
}

static void change_napi(struct world *world)
{
    struct sirq_netdev *dev = &world->dev[draw(&world->steer.rng, 0, world->ndevs - 1)];
    uint64_t allowed;
    struct sirq_sim_napi_attr attr = any_attr(world, &allowed);
    struct sirq_error err;

    if (happens(world, 50))
        check_begun(world, &attr, sirq_sim_napi_thread(world->sim, dev, &attr, &err));
    else
        sirq_sim_napi_unthread(world->sim, dev);
}

static void change(struct world *world)
{
    switch (draw(&world->steer.rng, 0, 4)) {
    case 0:
        change_rfs(world);
        break;
    case 1:
        change_backlogs(world);
        break;
    case 2:
        change_napi(world);
        break;
    default:
        change_map(world);
    }
}

static void changer_main(struct sirq_sim_task *task, void *arg)
{
    struct world *world = arg;

    while (!world->stopping) {
        sirq_sim_sleep_until(task,
                             sirq_sim_now_ns(world->sim) + draw(&world->steer.rng, 1, 3 * MS));
        change(world);
        world->steer.changes++;
    }
    world->steer.done = true;
}

void world_steer_build(struct world *world)
{
    const struct sirq_sim_task_config config = {
        .name = "changer", .fn = changer_main, .arg = world, .cpu = -1, .sched.nice = -10};
    struct sirq_error err;

    world->steer.done = world->nnics == 0 || happens(world, 30);
    if (world->steer.done)
        return;
    /* Each but once: to end a thread takes as long as actions that go on for ever let it. */
    if (happens(world, 50))
        change_map(world);
    if (happens(world, 50))
        change_rfs(world);
    if (happens(world, 50))
        change_backlogs(world);
    if (happens(world, 50))
        change_napi(world);
    MUST(world, sirq_sim_spawn(world->sim, &config, NULL, &err) == 0);
}

void world_steer_take_apart(struct world *world)
{
    sirq_sim_backlog_unthread(world->sim, world->net, NULL);
    for (unsigned i = 0; i < world->ndevs; i++)
        sirq_sim_napi_unthread(world->sim, &world->dev[i]);
}

/* ---- what has to hold -------------------------------------------------------------------- */

void world_steer_received(struct world *world, const struct sirq_msg *msg)
{
    uint64_t *last = &world->steer.last_ns[(ntohl(msg->saddr) - 1) % WORLD_NICS]
                                          [(unsigned)(msg->sport - 1) % WORLD_SOURCES];

    MUST(world, msg->rx_ns >= *last);
    *last = msg->rx_ns;
}

/* Somebody is in a poll, or on the way of waking somebody after one. */
static bool polling(const struct world *world)
{
    for (unsigned i = 0; i < world->ncpus; i++)
        if (world->core->cpus[i].word >> 32 != 0 || world->sim->vcpus[i].preempt_off > 0)
            return true;
    return false;
}

/* What a thread has, it is awake for: a wake-up that was lost shows here at once. */
static void check_napi(struct world *world, const struct sirq_napi *napi)
{
    const struct sirq_sim_task *task = sirq_sim_napi_task(world->sim, napi);

    if (napi->state & SIRQ_NAPI_SCHED_THREADED) {
        MUST(world, napi->state & SIRQ_NAPI_SCHED);
        MUST(world, task != NULL && task->state != SIM_DEAD);
        MUST(world, task->wq == NULL || polling(world));
    }
    if (napi->state & SIRQ_NAPI_THREADED)
        MUST(world, task != NULL);
}

void world_steer_check(struct world *world)
{
    uint64_t waiting = 0;
    struct sirq_net_stats stats;

    for (unsigned i = 0; i < world->ncpus; i++) {
        const struct sirq_napi *napi = sirq_net_backlog(world->net, i);

        if (sirq_net_backlog_len(world->net, i) > 0)
            MUST(world, napi->state & SIRQ_NAPI_SCHED);
        waiting += sirq_net_backlog_len(world->net, i);
        check_napi(world, napi);
    }
    for (unsigned i = 0; i < world->ndevs; i++)
        check_napi(world, &world->dev[i].napi);
    sirq_net_stats_sum(world->net, &stats);
    MUST(world, stats.steered - stats.received_rps == waiting);
}

bool world_steer_at_rest(const struct world *world)
{
    bool rest = world->steer.done;

    for (unsigned i = 0; i < world->ncpus; i++)
        rest = rest && sirq_net_backlog_len(world->net, i) == 0;
    return rest;
}
