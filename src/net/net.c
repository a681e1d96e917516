/* SPDX-License-Identifier: MIT */
/*
 * net.c - building and taking down the stack, memory and sums.
 *
 * All memory of the path is taken here and in sirq_socket_open(); whatever is counted by
 * sirq_net_memory() is counted where it is taken.
 */
#define SIRQ_NET_INTERNAL
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "inet.h"
#include "private.h"

const char *sirq_drop_name(enum sirq_drop drop)
{
    static const char *const names[SIRQ_NR_DROPS] = {[SIRQ_DELIVERED] = "delivered",
#define DROP_NAME(sym, name, meaning) [SIRQ_DROP_##sym] = name,
                                                     SIRQ_DROPS(DROP_NAME)
#undef DROP_NAME
    };

    return (unsigned)drop < SIRQ_NR_DROPS ? names[drop] : "unknown";
}

/* Fill in defaults; 0 or -EINVAL. */
static int config_check(struct sirq_net_config *config)
{
    if (config->pool_packets == 0)
        config->pool_packets = 4096;
    if (config->max_sockets == 0)
        config->max_sockets = 64;
    if (config->netdev_budget == 0)
        config->netdev_budget = 300;
    if (config->netdev_budget_jiffies == 0)
        config->netdev_budget_jiffies = 2;
    if (config->netdev_max_backlog == 0)
        config->netdev_max_backlog = 1000;
    if (config->netdev_max_backlog > SIRQ_BACKLOG_MAX || config->flow_limit > SIRQ_FLOW_LIMIT_MAX ||
        (config->flow_limit & (config->flow_limit - 1)) != 0)
        return -EINVAL;
    if (config->pool_packets > SIRQ_POOL_MAX || config->max_sockets > 4096 ||
        config->netdev_budget > INT_MAX / 2)
        return -EINVAL;
    return 0;
}

/* Everything but the hooks into the core.  0 or -ENOMEM; then the caller destroys. */
static int net_alloc(struct sirq_net *net)
{
    unsigned ncpus = net->core->ncpus;
    int err;

    net->cpus = aligned_alloc(64, ncpus * sizeof(*net->cpus));
    if (net->cpus == NULL)
        return -ENOMEM;
    memset(net->cpus, 0, ncpus * sizeof(*net->cpus));
    for (unsigned i = 0; i < ncpus; i++)
        net->cpus[i].net = net;
    err = sirq_table_init(&net->table, net->config.max_sockets);
    if (err == 0)
        err = sirq_table_init(&net->table6, net->config.max_sockets);
    if (err == 0)
        err = sirq_pool_init(&net->pool, net->config.pool_packets, ncpus);
    if (err == 0)
        err = sirq_backlogs_init(net);
    sirq_flow_table_init(&net->flow_table);
    net->bytes = sizeof(*net) + ncpus * sizeof(*net->cpus) + 2 * sirq_table_memory(&net->table) +
                 sirq_backlogs_memory(net);
    return err;
}

static void net_free(struct sirq_net *net)
{
    sirq_pool_fini(&net->pool);
    sirq_table_fini(&net->table);
    sirq_table_fini(&net->table6);
    sirq_backlogs_fini(net);
    free(net->rfs_table);
    free(net->cpus);
    free(net);
}

/* All CPUs hooked before NET_RX has an action, so before anything can be scheduled. */
static int net_hook(struct sirq_net *net)
{
    struct sirq_core *core = net->core;
    int err = sirq_open(core, SIRQ_NET_RX, "NET_RX", sirq_net_rx_action, net);

    if (err == 0)
        err = sirq_open(core, SIRQ_NET_TX, "NET_TX", sirq_net_tx_action, net);
    for (unsigned i = 0; err == 0 && i < core->ncpus; i++) {
        core->cpus[i].net = &net->cpus[i];
        core->cpus[i].run_end = sirq_feeds_run_end;
    }
    return err;
}

int sirq_net_create(struct sirq_net **out, struct sirq_core *core,
                    const struct sirq_net_config *config)
{
    struct sirq_net_config wanted = {0};
    struct sirq_net *net;
    int err;

    if (out == NULL || core == NULL)
        return -EINVAL;
    if (config != NULL)
        wanted = *config;
    err = config_check(&wanted);
    if (err != 0)
        return err;
    net = aligned_alloc(64, sizeof(*net));
    if (net == NULL)
        return -ENOMEM;
    memset(net, 0, sizeof(*net));
    net->core = core;
    net->config = wanted;
    err = net_alloc(net);
    if (err == 0)
        err = net_hook(net);
    if (err != 0) {
        net_free(net);
        return err;
    }
    *out = net;
    return 0;
}

/* The timer may have moved with the timers of a CPU that was given back: look for it. */
static void stop_timer(struct sirq_cpu *cpu, void *data)
{
    struct sirq_timer *timer = data;

    for (unsigned i = 0; cpu->timers != NULL && i < SIRQ_WHEEL_LEVELS * SIRQ_WHEEL_SLOTS; i++) {
        const struct sirq_timer *at = cpu->timers->slot[i / SIRQ_WHEEL_SLOTS][i % SIRQ_WHEEL_SLOTS];

        while (at != NULL && at != timer)
            at = at->next;
        if (at == timer) {
            sirq_timer_del_local(cpu, timer);
            return;
        }
    }
}

void sirq_net_timer_stop(struct sirq_core *core, struct sirq_timer *timer)
{
    sirq_synchronize_call(core, stop_timer, timer);
}

void sirq_net_destroy(struct sirq_net *net)
{
    struct sirq_core *core;

    if (net == NULL)
        return;
    core = net->core;
    assert(net->table.nsockets == 0 && net->table6.nsockets == 0);
    sirq_backlogs_drain(net);
    /* A NET_RX left pending by a device that is gone must not meet a missing action. */
    for (unsigned i = 0; i < core->ncpus; i++)
        while (sirq_pending(&core->cpus[i]) & (SIRQ_BIT(SIRQ_NET_RX) | SIRQ_BIT(SIRQ_NET_TX)))
            core->host->relax(&core->cpus[i]);
    sirq_synchronize(core);
    sirq_inet_fini(net); /* its timer must not find a CPU without a stack */
    for (unsigned i = 0; i < core->ncpus; i++) {
        core->cpus[i].run_end = NULL;
        core->cpus[i].net = NULL;
    }
    memset(&core->action[SIRQ_NET_RX], 0, sizeof(core->action[SIRQ_NET_RX]));
    memset(&core->action[SIRQ_NET_TX], 0, sizeof(core->action[SIRQ_NET_TX]));
    net_free(net);
}

void sirq_net_memory(const struct sirq_net *net, size_t bytes[2])
{
    bytes[0] = sirq_pool_memory(&net->pool);
    bytes[1] = __atomic_load_n(&net->bytes, __ATOMIC_RELAXED);
}

static void stats_add(struct sirq_net_stats *out, const struct sirq_net_stats *stats)
{
    out->frames += READ_COUNT(stats->frames);
    for (unsigned v = 0; v < SIRQ_NR_DROPS; v++)
        out->verdict[v] += READ_COUNT(stats->verdict[v]);
    out->bytes += READ_COUNT(stats->bytes);
    out->polls += READ_COUNT(stats->polls);
    out->polls_full += READ_COUNT(stats->polls_full);
    out->polls_threaded += READ_COUNT(stats->polls_threaded);
    out->time_squeeze += READ_COUNT(stats->time_squeeze);
    out->steered += READ_COUNT(stats->steered);
    out->received_rps += READ_COUNT(stats->received_rps);
    out->kicks += READ_COUNT(stats->kicks);
    out->handled += READ_COUNT(stats->handled);
    out->forwarded += READ_COUNT(stats->forwarded);
    out->tx_frames += READ_COUNT(stats->tx_frames);
    for (unsigned v = 0; v < SIRQ_NR_TX_DROPS; v++)
        out->tx_verdict[v] += READ_COUNT(stats->tx_verdict[v]);
    out->tx_held += READ_COUNT(stats->tx_held);
    out->tx_released += READ_COUNT(stats->tx_released);
    out->icmp_limited += READ_COUNT(stats->icmp_limited);
}

void sirq_net_stats_cpu(const struct sirq_net *net, unsigned cpu, struct sirq_net_stats *out)
{
    memset(out, 0, sizeof(*out));
    if (cpu < net->core->ncpus)
        stats_add(out, &net->cpus[cpu].stats);
}

void sirq_net_stats_sum(const struct sirq_net *net, struct sirq_net_stats *out)
{
    memset(out, 0, sizeof(*out));
    for (unsigned i = 0; i < net->core->ncpus; i++)
        stats_add(out, &net->cpus[i].stats);
}
