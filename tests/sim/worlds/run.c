/* SPDX-License-Identifier: MIT */
/*
 * What has to hold around every action and every poll: the checker stands between the core
 * and the real action, and between NET_RX and a device's poll.
 *
 *   - no vector runs twice at once on a CPU, none while its bottom halves are off or inside an
 *     interrupt, and all of them where they belong: on their CPU, or in its ksoftirqd
 *   - passes of a run: at most ten under every policy but inline and resched; no new pass of
 *     the time2ms family after max(1, 2 HZ / 1000) jiffies, nor once somebody is to be
 *     scheduled; what a policy or the threaded mask leaves to ksoftirqd runs there alone
 *   - a poll takes at most its weight; net_rx_action at most budget - 1 + weight packets, and
 *     makes no visit after its budget or its two jiffies are spent
 */
#include "worlds.h"

#include <string.h>

#define BUDGET_JIFFIES 2u

static struct world *the_world; /* whose netdevs they are; one at a time in a process */

static bool named(const struct sirq_policy *policy, const char *name)
{
    return strcmp(policy->name, name) == 0;
}

static bool counts_passes(const struct sirq_policy *policy)
{
    return !named(policy, "inline") && !named(policy, "resched");
}

static bool counts_time(const struct sirq_policy *policy)
{
    return counts_passes(policy) && !named(policy, "restart10");
}

static const struct sirq_policy *policy_of(const struct sirq_cpu *cpu)
{
    return cpu->online ? sirq_get_policy(cpu->core) : sirq_policy_default();
}

/* ---- passes --------------------------------------------------------------------------- */

static void check_pass(struct world *world, const struct sirq_cpu *cpu,
                       const struct world_seen *seen)
{
    uint64_t limit = 2 * cpu->core->hz / 1000, tick = cpu->core->tick_ns;
    const struct sirq_policy *policy = seen->policy; /* that allowed it */

    if (counts_passes(policy))
        MUST(world, seen->pass < SIRQ_MAX_RESTART);
    if (counts_time(policy)) {
        MUST(world, seen->end_ns / tick - cpu->run_start_ns / tick < (limit > 1 ? limit : 1));
        MUST(world, !seen->need_resched);
    }
}

static void note_pass(struct world *world, const struct sirq_cpu *cpu, struct world_seen *seen)
{
    const struct sirq_cpu_stats *stats = &cpu->stats;
    uint64_t runs = stats->runs[0] + stats->runs[1] + stats->runs[2], pass;

    if (runs + 1 != seen->runs) {
        seen->runs = runs + 1; /* 0: none yet */
        seen->passes_begin = stats->passes;
        seen->pass = 0;
    }
    pass = stats->passes - seen->passes_begin;
    if (pass != seen->pass) {
        MUST(world, pass == seen->pass + 1);
        seen->pass = pass;
        check_pass(world, cpu, seen);
    }
}

static void check_place(struct world *world, const struct sirq_cpu *cpu, unsigned vec)
{
    const struct sirq_vcpu *here = world->sim->running, *home = cpu->host;
    bool ksoftirqd = here->curr == home->ksoftirqd, steady = cpu->online;

    MUST(world, here == home || ksoftirqd);
    if (ksoftirqd)
        return;
    if (steady && !has(world, FAULT_THREADED))
        MUST(world, !(world->core->threaded_mask >> vec & 1));
    if (steady && !has(world, FAULT_POLICY))
        MUST(world, !named(policy_of(cpu), "threaded"));
}

static void wrapped(struct sirq_cpu *cpu, void *data)
{
    struct world_wrap *wrap = data;
    struct world *world = wrap->world;
    struct world_seen *seen = &world->seen[cpu->id];

    MUST(world, !wrap->inside[cpu->id] && !world->bh_off[cpu->id]);
    MUST(world, sirq_in_softirq(cpu) && !sirq_in_hardirq(cpu) && cpu->running);
    check_place(world, cpu, wrap->vec);
    note_pass(world, cpu, seen);
    wrap->inside[cpu->id] = true;
    if (wrap->vec == SIRQ_NET_RX) {
        seen->cycle_jiffies = sirq_jiffies(cpu);
        seen->work = seen->spent = seen->visits = 0;
        seen->in_cycle = true;
    }
    wrap->fn(cpu, wrap->data);
    if (wrap->vec == SIRQ_NET_RX) {
        MUST(world, seen->work <= world->netdev_budget - 1 + SIRQ_NAPI_WEIGHT);
        seen->in_cycle = false;
    }
    wrap->inside[cpu->id] = false;
    check_place(world, cpu, wrap->vec);
    seen->end_ns = world->sim->now;
    seen->policy = policy_of(cpu);
    seen->need_resched = cpu->need_resched != 0;
}

/* ---- polls ---------------------------------------------------------------------------- */

static int (*real_poll)(struct sirq_cpu *cpu, struct sirq_napi *napi, int budget);

static int wrapped_poll(struct sirq_cpu *cpu, struct sirq_napi *napi, int budget)
{
    struct world *world = the_world;
    struct world_seen *seen = &world->seen[cpu->id];
    int work;

    MUST(world, napi->state & SIRQ_NAPI_SCHED);
    if (napi->state & SIRQ_NAPI_SCHED_THREADED) {
        MUST(world, !cpu->running && sirq_in_softirq(cpu) && budget == SIRQ_NAPI_WEIGHT);
        return real_poll(cpu, napi, budget);
    }
    MUST(world, seen->in_cycle && budget == SIRQ_NAPI_WEIGHT);
    if (seen->visits++ > 0) {
        MUST(world, seen->spent < world->netdev_budget);
        MUST(world, sirq_jiffies(cpu) - seen->cycle_jiffies < BUDGET_JIFFIES);
    }
    work = real_poll(cpu, napi, budget);
    MUST(world, work >= 0 && work <= budget);
    seen->work += (uint64_t)work;
    seen->spent += work > 0 ? (uint64_t)work : 1;
    return work;
}

void world_wrap(struct world *world)
{
    the_world = world;
    for (unsigned vec = 0; vec < SIRQ_NR_VECTORS; vec++) {
        struct world_wrap *wrap = &world->wrap[vec];

        if (world->core->action[vec].fn == NULL)
            continue;
        *wrap = (struct world_wrap){.world = world,
                                    .vec = vec,
                                    .fn = world->core->action[vec].fn,
                                    .data = world->core->action[vec].data};
        world->core->action[vec].fn = wrapped;
        world->core->action[vec].data = wrap;
    }
    for (unsigned i = 0; i < world->ndevs; i++) {
        real_poll = world->dev[i].napi.poll;
        world->dev[i].napi.poll = wrapped_poll;
    }
}
