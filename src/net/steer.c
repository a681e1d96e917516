/* SPDX-License-Identifier: MIT */
/*
 * steer.c - on which CPU a frame goes up: RPS and RFS.
 *
 * RPS spreads flows over a map of CPUs by their hash.  RFS sends a flow to the CPU on which its
 * consumer last received; sirq_recv() notes that in a table of the stack.  A frame for the CPU
 * we are on goes up at once, uncopied (DIRECT), unless that CPU's backlog is a thread's.
 *
 * The order within a flow is never broken, whatever changes: map, consumer's CPU, threads, the
 * device's own CPU.  A device has a table of flows (buckets of the hash); each holds where its
 * frames go and the position behind its last frame on that backlog.  Only when the backlog is
 * done with that position does the flow go where it should now.  (The idea is RFS's, Tom
 * Herbert, 2010; here RPS follows it too.)  DIRECT frames are done with when the next comes.
 *
 * Under overload a flow always has frames on a full backlog and would never leave it.  So when
 * a new map has stood for DRAIN_NS and the old backlog is still half full, frames of flows that
 * have to follow the map are dropped until it is done with them (flow_moving): at most what one
 * backlog holds.  Time alone is no sign: a CPU whose thread was not run for a while has not
 * lost anything yet.
 *
 * The table belongs to the device's poll; the map is replaced as a whole by tasks, and the old
 * one freed after sirq_synchronize().
 */
#define SIRQ_NET_INTERNAL
#include "private.h"

#include <errno.h>
#include <stdlib.h>

#define FLOWS 4096u
#define DIRECT UINT16_MAX
#define DRAIN_NS UINT64_C(10000000)
#define SWEEP 8u /* buckets looked at per frame when RPS is off */

struct map {
    uint64_t since_ns;
    uint32_t n;
    uint16_t generation;
    uint16_t cpu[];
};

struct flow {
    uint32_t end; /* behind its last frame on the backlog of `cpu` */
    uint16_t cpu; /* or DIRECT */
    uint16_t generation;
};

struct sirq_steer {
    const struct map *map; /* __atomic */
    uint32_t away;         /* flows that are not DIRECT; from here on the poll's */
    uint32_t sweep;
    struct flow flow[FLOWS];
};

/* ---- where to ------------------------------------------------------------------------- */

static bool done_with(const struct sirq_net *net, const struct flow *flow)
{
    /* Signed: positions wrap.  A flow that was away for 2^31 frames is taken for unfinished
     * once, which sends one frame where the others went. */
    return flow->cpu == DIRECT ||
           (int32_t)(__atomic_load_n(&net->backlogs[flow->cpu].done, __ATOMIC_ACQUIRE) -
                     flow->end) >= 0;
}

/* The CPU on which the flow's consumer is, or -1. */
static int consumer_cpu(const struct sirq_net *net, uint32_t hash)
{
    const uint32_t *rfs = __atomic_load_n(&net->rfs, __ATOMIC_ACQUIRE);
    uint32_t entry;

    if (rfs == NULL)
        return -1;
    entry = __atomic_load_n(&rfs[hash % SIRQ_RFS_ENTRIES], __ATOMIC_RELAXED);
    return (entry ^ hash) >> 16 == 0 ? (int)(entry & 0xffff) - 1 : -1;
}

static uint16_t wanted(const struct sirq_cpu *cpu, const struct sirq_net *net,
                       const struct map *map, uint32_t hash)
{
    int to;

    if (map->n == 0)
        return DIRECT;
    to = consumer_cpu(net, hash);
    if (to < 0)
        to = map->cpu[(uint64_t)hash * map->n >> 32];
    if (!__atomic_load_n(&net->core->cpus[to].online, __ATOMIC_RELAXED))
        return DIRECT;
    if ((unsigned)to == cpu->id &&
        !(__atomic_load_n(&net->backlogs[to].napi.state, __ATOMIC_RELAXED) & SIRQ_NAPI_THREADED))
        return DIRECT;
    return (uint16_t)to;
}

static void move(struct sirq_steer *steer, struct flow *flow, uint16_t to)
{
    steer->away += (to != DIRECT) - (flow->cpu != DIRECT);
    flow->cpu = to;
}

/* RPS is off: let flows that nobody sends any more be forgotten, so that no hash is needed. */
static void sweep(const struct sirq_net *net, struct sirq_steer *steer)
{
    for (unsigned i = 0; i < SWEEP; i++) {
        struct flow *flow = &steer->flow[steer->sweep++ % FLOWS];

        if (done_with(net, flow))
            move(steer, flow, DIRECT);
    }
}

/* Is it to leave, has it been given time to do so by itself, and is there no end of it? */
static bool overdue(const struct sirq_cpu *cpu, const struct sirq_net *net, const struct map *map,
                    const struct flow *flow)
{
    return flow->generation != map->generation && sirq_now_ns(cpu) - map->since_ns > DRAIN_NS &&
           sirq_net_backlog_len(net, flow->cpu) >= net->config.netdev_max_backlog / 2;
}

enum sirq_drop sirq_steer(struct sirq_cpu *cpu, const struct sirq_net *net,
                          struct sirq_steer *steer, struct sirq_steered *in)
{
    const struct map *map = __atomic_load_n(&steer->map, __ATOMIC_ACQUIRE);
    struct flow *flow;
    uint16_t to;

    if (map->n == 0 && steer->away == 0)
        return SIRQ_DELIVERED;
    in->hash = sirq_flow_hash(&net->flow_table, in->frame, in->len);
    if (in->hash == 0)
        return SIRQ_DELIVERED;
    flow = &steer->flow[in->hash % FLOWS];
    to = wanted(cpu, net, map, in->hash);
    if (to != flow->cpu && done_with(net, flow))
        move(steer, flow, to);
    if (to == flow->cpu)
        flow->generation = map->generation;
    else if (overdue(cpu, net, map, flow))
        return SIRQ_DROP_FLOW_MOVING;
    if (map->n == 0)
        sweep(net, steer);
    if (flow->cpu == DIRECT)
        return SIRQ_DELIVERED;
    return sirq_backlog_put(cpu, flow->cpu, in, &flow->end);
}

/* ---- setting RPS ---------------------------------------------------------------------- */

static struct map *make_map(const struct sirq_net *net, const struct map *old, const unsigned *cpus,
                            unsigned n)
{
    struct map *map = calloc(1, sizeof(*map) + n * sizeof(map->cpu[0]));

    if (map == NULL)
        return NULL;
    map->n = n;
    map->since_ns = sirq_now_ns(&net->core->cpus[0]);
    map->generation = (uint16_t)(old->generation + 1);
    for (unsigned i = 0; i < n; i++)
        map->cpu[i] = (uint16_t)cpus[i];
    return map;
}

static const struct map off; /* the map of a device before its first */

static int make_steer(struct sirq_netdev *dev)
{
    struct sirq_steer *steer = calloc(1, sizeof(*steer));

    if (steer == NULL)
        return -ENOMEM;
    for (unsigned i = 0; i < FLOWS; i++)
        steer->flow[i].cpu = DIRECT;
    steer->map = &off;
    __atomic_fetch_add(&dev->net->bytes, sizeof(*steer), __ATOMIC_RELAXED);
    __atomic_store_n(&dev->steer, steer, __ATOMIC_RELEASE);
    return 0;
}

static void free_map(const struct map *map)
{
    if (map != &off)
        free((void *)(uintptr_t)map);
}

int sirq_netdev_set_rps(struct sirq_netdev *dev, const unsigned *cpus, unsigned n,
                        struct sirq_error *err)
{
    const struct map *old;
    struct map *map;

    if (n > SIRQ_RPS_MAX)
        return sirq_fail(err, EINVAL, "rps: %u CPUs: give at most %u", n, SIRQ_RPS_MAX);
    for (unsigned i = 0; i < n; i++)
        if (cpus[i] >= dev->net->core->ncpus)
            return sirq_fail(err, EINVAL, "rps: cpu %u: the core has 0 to %u", cpus[i],
                             dev->net->core->ncpus - 1);
    if (n == 0 && dev->steer == NULL)
        return 0;
    if (dev->steer == NULL && make_steer(dev) != 0)
        return sirq_fail(err, ENOMEM, "rps: out of memory");
    old = dev->steer->map;
    map = make_map(dev->net, old, cpus, n);
    if (map == NULL)
        return sirq_fail(err, ENOMEM, "rps: out of memory");
    __atomic_store_n(&dev->steer->map, map, __ATOMIC_RELEASE);
    sirq_synchronize(dev->net->core); /* no poll uses the old one any more */
    free_map(old);
    return 0;
}

/* No poll is in progress nor will be. */
void sirq_steer_free(struct sirq_netdev *dev)
{
    if (dev->steer == NULL)
        return;
    __atomic_fetch_sub(&dev->net->bytes, sizeof(*dev->steer), __ATOMIC_RELAXED);
    free_map(dev->steer->map);
    free(dev->steer);
    dev->steer = NULL;
}

/* ---- RFS ------------------------------------------------------------------------------ */

int sirq_net_set_rfs(struct sirq_net *net, bool on, struct sirq_error *err)
{
    /* Receivers may be at the table at any time: once made it stays as long as the stack. */
    if (on && net->rfs_table == NULL) {
        net->rfs_table = calloc(SIRQ_RFS_ENTRIES, sizeof(*net->rfs_table));
        if (net->rfs_table == NULL)
            return sirq_fail(err, ENOMEM, "rfs: out of memory");
        __atomic_fetch_add(&net->bytes, SIRQ_RFS_ENTRIES * sizeof(*net->rfs_table),
                           __ATOMIC_RELAXED);
    }
    __atomic_store_n(&net->rfs, on ? net->rfs_table : NULL, __ATOMIC_RELEASE);
    return 0;
}
