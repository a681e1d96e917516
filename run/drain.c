/* SPDX-License-Identifier: MIT */
/*
 * The end of a plane, in the order in which a frame meets its parts: rings, backlogs, sockets,
 * transmit.  Each wait ends at the same deadline; what is left then is lost, and said.
 */
#include "plane.h"

#include <stdio.h>
#include <time.h>

#define DRAIN_MS 3000u
#define SETTLE_NS 20000000u /* AF_PACKET shows a block that is not full after a few jiffies */
#define LOOK_NS 1000000
#define SEND_NS 100000000u /* for completions, where nothing says that there are none to come */

struct drain {
    struct sirq_run_plane *plane;
    uint64_t deadline_ns;
    bool (*hurry)(void);
    uint64_t rings[SIRQ_RUN_INTERFACES]; /* frames a device has had when we began */
};

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static bool wait_until(struct drain *drain, bool (*done)(const struct drain *), uint64_t most_ns)
{
    uint64_t end = now_ns() + most_ns;

    if (end > drain->deadline_ns)
        end = drain->deadline_ns;
    while (!done(drain)) {
        if (now_ns() >= end || drain->hurry())
            return false;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    return true;
}

static bool never(const struct drain *drain)
{
    (void)drain;
    return false;
}

static void note_rings(struct drain *drain)
{
    for (unsigned i = 0; i < SIRQ_RUN_INTERFACES; i++) {
        struct sirq_netdev_stats stats;

        if (!drain->plane->devices[i].open)
            continue;
        sirq_netdev_stats(&drain->plane->devices[i].dev, &stats);
        drain->rings[i] = stats.rx_packets + stats.rx_waiting;
    }
}

static bool rings_done(const struct drain *drain)
{
    for (unsigned i = 0; i < SIRQ_RUN_INTERFACES; i++) {
        struct sirq_netdev_stats stats;

        if (!drain->plane->devices[i].open)
            continue;
        sirq_netdev_stats(&drain->plane->devices[i].dev, &stats);
        if (stats.rx_packets < drain->rings[i] && stats.rx_waiting > 0)
            return false;
    }
    return true;
}

static bool backlogs_done(const struct drain *drain)
{
    const struct sirq_core *core = sirq_live_core(drain->plane->live);

    for (unsigned cpu = 0; cpu < core->ncpus; cpu++) {
        if (sirq_net_backlog_len(drain->plane->net, cpu) > 0)
            return false;
    }
    return true;
}

static bool sent(const struct drain *drain)
{
    struct sirq_net_stats stats;

    sirq_net_stats_sum(drain->plane->net, &stats);
    return stats.tx_held == stats.tx_released;
}

static bool completed(const struct drain *drain)
{
    for (unsigned i = 0; i < SIRQ_RUN_INTERFACES; i++) {
        struct sirq_netdev_stats stats;

        if (!drain->plane->devices[i].open)
            continue;
        sirq_netdev_stats(&drain->plane->devices[i].dev, &stats);
        if (stats.tx_waiting > 0)
            return false;
    }
    return true;
}

static void detach_all(struct sirq_run_plane *plane)
{
    for (unsigned i = 0; i < SIRQ_RUN_INTERFACES; i++) {
        if (plane->devices[i].attached)
            sirq_live_detach(plane->live, &plane->devices[i].dev);
        plane->devices[i].attached = false;
    }
}

static void say(const char *what, bool done)
{
    if (!done)
        fprintf(stderr, "softirq run: drain: %s\n", what);
}

void sirq_run_drain(struct sirq_run_plane *plane, bool (*hurry)(void))
{
    uint32_t ms = plane->source.file->drain_ms;
    struct drain drain = {.plane = plane, .hurry = hurry};

    drain.deadline_ns = now_ns() + (uint64_t)(ms != 0 ? ms : DRAIN_MS) * 1000000;
    wait_until(&drain, never, SETTLE_NS);
    note_rings(&drain);
    say("frames were left on a device's ring", wait_until(&drain, rings_done, UINT32_MAX));
    detach_all(plane);
    say("frames were left on a backlog", wait_until(&drain, backlogs_done, UINT32_MAX));
    for (unsigned i = 0; i < plane->nservers; i++)
        sirq_run_server_stop(plane->servers[i]);
    say("frames were left that wait for a neighbour", wait_until(&drain, sent, UINT32_MAX));
    wait_until(&drain, completed, SEND_NS);
}
