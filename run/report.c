/* SPDX-License-Identifier: MIT */
/* Counters as tables, and rates as lines. */
#include "plane.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

/* ---- tables ------------------------------------------------------------------------------- */

static void print_interfaces(const struct sirq_run_plane *plane)
{
    const struct sirq_run_file *file = plane->source.file;

    printf("\n%-16s %12s %12s %12s %12s %12s %12s\n", "interface", "rx_packets", "rx_dropped",
           "rx_errors", "tx_packets", "tx_errors", "irqs");
    for (uint32_t i = 0; i < file->n_interfaces; i++) {
        struct sirq_netdev_stats s;

        sirq_netdev_stats(&plane->devices[i].dev, &s);
        printf("%-16s %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64
               " %12" PRIu64 "\n",
               file->interfaces[i].name, s.rx_packets, s.rx_dropped, s.rx_errors, s.tx_packets,
               s.tx_errors, s.irqs);
    }
}

static void print_servers(const struct sirq_run_plane *plane)
{
    if (plane->nservers > 0)
        printf("\n%-16s %12s %12s %12s %12s %12s\n", "service", "received", "answered",
               "unanswered", "dropped", "queued");
    for (unsigned i = 0; i < plane->nservers; i++) {
        struct sirq_run_server_stats s;

        sirq_run_server_stats(plane->servers[i], &s);
        printf("%-16s %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12u\n",
               sirq_run_server_name(plane->servers[i]), s.received, s.answered, s.unanswered,
               s.dropped, s.queued);
    }
}

static void print_cpus(const struct sirq_run_plane *plane)
{
    const struct sirq_core *core = sirq_live_core(plane->live);

    printf("\n%-16s %12s %12s %12s %12s %12s %12s %12s\n", "cpu", "frames", "polls", "threaded",
           "squeezed", "steered", "received_rps", "ksoftirqd_ms");
    for (unsigned i = 0; i < core->ncpus; i++) {
        unsigned number = sirq_live_cpu_number(&core->cpus[i]);
        struct sirq_live_usage usage = {0};
        struct sirq_net_stats s;

        if (sirq_live_cpu(plane->live, number) == NULL)
            continue; /* the core has room for it */
        sirq_net_stats_cpu(plane->net, i, &s);
        sirq_live_usage(plane->live, number, &usage);
        printf("%-16u %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64
               " %12" PRIu64 " %12" PRIu64 "\n",
               number, s.frames, s.polls, s.polls_threaded, s.time_squeeze, s.steered,
               s.received_rps, usage.ksoftirqd_ns / 1000000);
    }
}

static void line(const char *name, uint64_t n)
{
    printf("  %-14s %12" PRIu64 "\n", name, n);
}

/* What there was not is not shown, but for the ends that are no loss. */
static void print_frames(const struct sirq_net_stats *s)
{
    printf("\n%-16s %12" PRIu64 "\n", "received", s->frames);
    line("delivered", s->verdict[SIRQ_DELIVERED]);
    line("handled", s->handled);
    line("forwarded", s->forwarded);
    for (unsigned drop = 1; drop < SIRQ_NR_DROPS; drop++) {
        if (s->verdict[drop] > 0)
            line(sirq_drop_name((enum sirq_drop)drop), s->verdict[drop]);
    }
    if (s->steered > s->received_rps)
        line("on backlogs", s->steered - s->received_rps);
    printf("%-16s %12" PRIu64 "\n", "to send", s->tx_frames);
    line("sent", s->tx_verdict[SIRQ_TX_SENT]);
    for (unsigned drop = 1; drop < SIRQ_NR_TX_DROPS; drop++) {
        if (s->tx_verdict[drop] > 0)
            line(sirq_tx_drop_name((enum sirq_tx_drop)drop), s->tx_verdict[drop]);
    }
    if (s->tx_held > s->tx_released)
        line("waiting", s->tx_held - s->tx_released);
}

static void print_nat(const struct sirq_run_plane *plane)
{
    struct sirq_nat_stats nat;

    sirq_nat_stats(plane->net, &nat);
    if (nat.created == 0)
        return;
    printf("\n%-16s %12s %12s %12s %12s %12s\n", "nat", "connections", "created", "out", "in",
           "icmp_errors");
    printf("%-16s %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 "\n", "",
           nat.conns, nat.created, nat.translated[0], nat.translated[1], nat.errors);
}

void sirq_run_print_counters(const struct sirq_run_plane *plane)
{
    struct sirq_net_stats stats;

    sirq_net_stats_sum(plane->net, &stats);
    printf("policy %s\n", sirq_get_policy(sirq_live_core(plane->live))->name);
    print_interfaces(plane);
    print_servers(plane);
    print_nat(plane);
    print_cpus(plane);
    print_frames(&stats);
    fflush(stdout);
}

/* ---- rates ---------------------------------------------------------------------------------- */

struct rates {
    uint64_t at_ns, rx, delivered, forwarded, dropped, tx, tx_dropped;
};

static struct rates rates_of(const struct sirq_run_plane *plane)
{
    struct sirq_net_stats stats;
    struct timespec ts;
    struct rates now;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    sirq_net_stats_sum(plane->net, &stats);
    now = (struct rates){
        .at_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec,
        .rx = stats.frames,
        .delivered = stats.verdict[SIRQ_DELIVERED],
        .forwarded = stats.forwarded,
        .tx = stats.tx_verdict[SIRQ_TX_SENT],
    };
    for (unsigned drop = 1; drop < SIRQ_NR_DROPS; drop++)
        now.dropped += stats.verdict[drop];
    for (unsigned drop = 1; drop < SIRQ_NR_TX_DROPS; drop++)
        now.tx_dropped += stats.tx_verdict[drop];
    for (unsigned i = 0; i < plane->source.file->n_interfaces; i++) {
        struct sirq_netdev_stats dev;

        sirq_netdev_stats(&plane->devices[i].dev, &dev);
        now.dropped += dev.rx_dropped;
    }
    return now;
}

void sirq_run_print_rates(const struct sirq_run_plane *plane, bool first)
{
    static struct rates last;
    struct rates now = rates_of(plane);
    double seconds = (double)(now.at_ns - last.at_ns) / 1e9;

#define RATE(what) ((double)(now.what - last.what) / seconds)
    if (!first && seconds > 0)
        printf("packets/s: received %.0f, delivered %.0f, forwarded %.0f, dropped %.0f; "
               "sent %.0f, not sent %.0f\n",
               RATE(rx), RATE(delivered), RATE(forwarded), RATE(dropped), RATE(tx),
               RATE(tx_dropped));
#undef RATE
    fflush(stdout);
    last = now;
}
