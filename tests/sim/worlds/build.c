/* SPDX-License-Identifier: MIT */
/* The machine that a seed makes. */
#include "worlds.h"

#include <string.h>

const struct sirq_policy *world_any_policy(struct sirq_rng *rng)
{
    unsigned n = 0;

    while (sirq_policies[n] != NULL)
        n++;
    return sirq_policies[draw(rng, 0, n - 1)];
}

static void build_machine(struct world *world)
{
    static const unsigned hz[] = {100, 250, 300, 1000, 10000};
    struct sirq_sim_config config = {
        .hz = hz[pick(world, 0, 4)],
        .seed = world->seed,
        .policy = world_any_policy(&world->rng),
        .irq_time_accounting = chance(world, 50),
        .ipi_ns = pick(world, 100, 3000),
        .stall_ns = 200 * MS,
    };
    struct sirq_error err;

    config.ncpus = chance(world, 25) ? 1 : (unsigned)pick(world, 2, WORLD_CPUS);
    if (config.ncpus % 2 == 0 && chance(world, 25))
        config.smt = 2;
    for (unsigned i = 0; i < SIRQ_NR_COSTS; i++)
        /* See steer.c: seeds that were kept stay what they are. */
        if (i != SIRQ_COST_RX_STEERED && i != SIRQ_COST_FORWARD)
            config.cost_ns[i] = (uint32_t)pick(world, 1, chance(world, 10) ? 20000 : 1500);
    config.cost_ns[SIRQ_COST_RX_STEERED] = world_steer_cost(world);
    config.cost_ns[SIRQ_COST_FORWARD] = 1000; /* nothing is forwarded in these worlds */
    world->ncpus = config.ncpus;
    config.scheduler = chance(world, 50) ? SIRQ_SIM_EEVDF : SIRQ_SIM_CFS;
    MUST(world, sirq_sim_create(&world->sim, &config, &err) == 0);
    world->core = sirq_sim_core(world->sim);
    if (chance(world, 20))
        sirq_force_threaded(world->core, (uint32_t)sirq_rng_next(&world->rng));
}

static void build_net(struct world *world)
{
    struct sirq_net_config config = {
        .pool_packets = (unsigned)pick(world, 64, has(world, FAULT_FULL) ? 80 : 2048),
        .netdev_budget = (unsigned)pick(world, 1, 600),
        .poll_until_budget = chance(world, 30),
        .wake_every_poll = chance(world, 50),
    };

    world->netdev_budget = config.netdev_budget;
    world_steer_config(world, &config);
    MUST(world, sirq_net_create(&world->net, world->core, &config) == 0);
    world->nudp = world->nsocks = (unsigned)pick(world, 1, WORLD_UDP);
    for (unsigned i = 0; i < world->nudp; i++) {
        unsigned most = has(world, FAULT_FULL) ? 8 : 512;
        const struct sirq_socket_config sock = {
            .port = (uint16_t)(100 + i),
            .rcvbuf = world->rcvbuf[i] = pick(world, 2, most) * SIRQ_PKT_TRUESIZE,
        };

        MUST(world, sirq_socket_open(world->net, &sock, &world->sock[i]) == 0);
    }
    world_devices(world);
}

/* All are drawn, whatever is left out then: the rest of the world stays what it was. */
static void draw_faults(struct world *world, uint32_t without)
{
    static const unsigned percent[] = {
#define FAULT_PERCENT(sym, name, percent) percent,
        WORLD_FAULTS(FAULT_PERCENT)
#undef FAULT_PERCENT
    };

    for (unsigned i = 0; i < WORLD_NR_FAULTS; i++)
        world->faults |= (uint32_t)chance(world, percent[i]) << i;
    world->faults &= ~without;
}

void world_build(struct world *world, uint64_t seed, uint32_t without)
{
    memset(world, 0, sizeof(*world));
    world->seed = seed;
    sirq_rng_seed(&world->rng, seed, 1);
    sirq_rng_seed(&world->chaos, seed, 2);
    draw_faults(world, without);
    world->load_ns = pick(world, 10, 60) * MS;
    build_machine(world);
    MUST(world, sirq_tasklet_open(world->core) == 0);
    build_net(world);
    world_load(world);
    world_faults_init(world);
    world_wrap(world);
    world_steer_build(world);
    world->sim->check = world_check;
    world->sim->check_arg = world;
}

void world_take_apart(struct world *world)
{
    for (unsigned i = 0; i < world->nlines; i++)
        sirq_sim_irq_free(world->sim, &world->line[i].irq);
    for (unsigned i = 0; i < world->ncpus; i++)
        sirq_sim_irq_free(world->sim, &world->stall[i].irq);
    world_steer_take_apart(world);
    for (unsigned i = 0; i < world->ndevs; i++)
        sirq_sim_detach(world->sim, &world->dev[i]);
    for (unsigned i = 0; i < world->nsocks; i++)
        sirq_socket_close(world->sock[i]);
    for (unsigned i = 0; i < world->ndevs; i++)
        sirq_netdev_close(&world->dev[i]);
    sirq_net_destroy(world->net);
    sirq_sim_destroy(world->sim);
}
