/* SPDX-License-Identifier: MIT */
/* Hosts at the far end, and what crosses the machine between them, as users see it. */
#define SIRQ_SIM_HOST_PRIVATE
#include "host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../sim/ping.h"
#include "frame.h"
#include "tcp.h"

#define NS_PER_S UINT64_C(1000000000)
#define PING_SIZE 98u
#define FRAME_MIN 60u
#define WINDOW_DEFAULT 1024u

_Static_assert(SIRQ_SIM_PORTS == SIM_PORTS, "one bound, said twice");

/* ---- hosts -------------------------------------------------------------------------------- */

int sirq_sim_host_create(struct sirq_sim_nic *nic, const struct sirq_sim_host_config *config,
                         struct sirq_sim_host **out, struct sirq_error *err)
{
    struct sirq_sim_host like = {.port = config->port, .addr = config->addr};

    if (config->port >= SIM_PORTS)
        return sirq_fail(err, EINVAL, "host: port %u: give 0 to %u", config->port, SIM_PORTS - 1);
    if (config->addr == 0 || (config->mac[0] & 1) != 0 || (config->router_mac[0] & 1) != 0)
        return sirq_fail(err, EINVAL,
                         "host: addr, mac, router_mac: give an address, and the MACs "
                         "of single stations");
    memcpy(like.mac, config->mac, sizeof(like.mac));
    memcpy(like.router, config->router_mac, sizeof(like.router));
    *out = sirq_far_host(nic, &like);
    return *out != NULL ? 0 : sirq_fail(err, ENOMEM, "host: out of memory");
}

/* ---- ways ------------------------------------------------------------------------------- */

static int check_way(const char *what, const struct sirq_sim *sim, const struct sirq_sim_host *from,
                     const struct sirq_sim_host *to, struct sirq_error *err)
{
    if (from == NULL || to == NULL || from->nic->sim != sim || to->nic->sim != sim)
        return sirq_fail(err, EINVAL, "%s: from, to: give two hosts of this world", what);
    if (from == to)
        return sirq_fail(err, EINVAL, "%s: from and to are one host: give two", what);
    return 0;
}

/* ICMP has no ports, and stands where its addresses alone lead. */
static struct sirq_far_way way_of(struct sirq_sim_host *from, struct sirq_sim_host *to,
                                  uint16_t sport, uint16_t dport, bool icmp)
{
    const struct sirq_sim_source_config like = {.saddr = from->addr,
                                                .daddr = to->addr,
                                                .sport = icmp ? 0 : sport,
                                                .dport = icmp ? 0 : dport};

    return (struct sirq_far_way){.from = from,
                                 .to = to,
                                 .sport = sport,
                                 .dport = dport,
                                 .icmp = icmp,
                                 .ring = sirq_frame_ring(from->nic, &like)};
}

static int connected(const char *what, int rc, struct sirq_error *err)
{
    if (rc == -ENOSPC)
        return sirq_fail(err, ENOSPC, "%s: too many cross this world: give at most %u", what,
                         SIM_CROSSING / 2);
    return rc != 0 ? sirq_fail(err, -rc, "%s: out of memory", what) : 0;
}

/* ---- TCP-like flows ------------------------------------------------------------------------ */

int sirq_sim_tcp_across(struct sirq_sim *sim, const struct sirq_sim_across_config *config,
                        struct sirq_sim_tcp **out, struct sirq_error *err)
{
    const struct sirq_sim_tcp_config like = {
        .mss = config->mss,
        .window = config->window != 0 ? config->window : WINDOW_DEFAULT,
        .rtt_ns = config->rtt_ns,
        .rtt_jitter_ns = config->rtt_jitter_ns,
        .rate = config->rate,
        .bytes = config->bytes,
        .stop_ns = config->stop_ns,
    };
    struct sirq_far_way way, back;
    struct sirq_sim_tcp *tcp;
    int rc = check_way("tcp", sim, config->from, config->to, err);

    if (rc == 0 && (config->sport == 0 || config->dport == 0))
        rc = sirq_fail(err, EINVAL, "tcp: sport, dport: give 1 to 65535");
    if (rc == 0)
        rc = sirq_tcp_make(sim, &like, &tcp, err);
    if (rc != 0)
        return rc;
    way = way_of(config->from, config->to, config->sport, config->dport, false);
    back = way_of(config->to, config->from, config->dport, config->sport, false);
    tcp->half_ns = config->rtt_ns / 2;
    tcp->rtt_ns = config->rtt_ns - tcp->half_ns;
    tcp->pulls = config->pulls;
    tcp->start_ns = config->start_ns;
    rc = sirq_tcp_across(tcp, &way, &back);
    if (rc != 0) {
        tcp->source.fini(&tcp->source);
        free(tcp);
        return connected("tcp", rc, err);
    }
    *out = tcp;
    return 0;
}

/* ---- pings ---------------------------------------------------------------------------------- */

static int check_ping(const struct sirq_sim_ping_config *config, uint32_t size,
                      struct sirq_error *err)
{
    if (size < FRAME_MIN || size > SIM_FRAME_MAX)
        return sirq_fail(err, EINVAL, "ping: size %u: give %u to %u bytes", size, FRAME_MIN,
                         SIM_FRAME_MAX);
    if (config->sport == 0 || (config->dport == 0) != config->icmp)
        return sirq_fail(err, EINVAL, "ping: sport, dport: give 1 to 65535; dport 0 with icmp");
    if (config->rtt_ns > 10 * NS_PER_S || config->interval_ns > 3600 * NS_PER_S ||
        config->timeout_ns > 3600 * NS_PER_S)
        return sirq_fail(err, EINVAL,
                         "ping: rtt_ns above ten seconds, or interval_ns or timeout_ns above an "
                         "hour");
    return 0;
}

int sirq_sim_ping_create(struct sirq_sim *sim, const struct sirq_sim_ping_config *config,
                         struct sirq_sim_ping **out, struct sirq_error *err)
{
    uint32_t size = config->size != 0 ? config->size : PING_SIZE;
    struct sirq_far_way way, back;
    struct sirq_sim_ping *ping;
    int rc = check_way("ping", sim, config->from, config->to, err);

    if (rc == 0)
        rc = check_ping(config, size, err);
    if (rc != 0)
        return rc;
    ping = sirq_ping_new(sim);
    if (ping == NULL)
        return sirq_fail(err, ENOMEM, "ping: out of memory");
    ping->interval_ns = config->interval_ns;
    ping->timeout_ns = config->timeout_ns != 0 ? config->timeout_ns : NS_PER_S;
    ping->stop_ns = config->stop_ns != 0 ? config->stop_ns : UINT64_MAX;
    ping->back_ns = config->rtt_ns / 2;
    ping->there_ns = config->rtt_ns - ping->back_ns;
    ping->fn = config->answered;
    ping->arg = config->arg;
    way = way_of(config->from, config->to, config->sport, config->dport, config->icmp);
    back = way_of(config->to, config->from, config->dport, config->sport, config->icmp);
    rc = sirq_ping_connect(ping, &way, &back, size, config->start_ns);
    if (rc != 0)
        free(ping);
    else
        *out = ping;
    return connected("ping", rc, err);
}

/* Several rings and lines may have frames that nobody has looked at. */
static void look_at_all(struct sirq_sim *sim)
{
    for (struct sirq_sim_nic *nic = sim->nics; nic != NULL; nic = nic->next)
        sirq_nic_advance(nic);
}

void sirq_sim_ping_stats(struct sirq_sim_ping *ping, struct sirq_sim_ping_stats *out)
{
    look_at_all(ping->sim);
    *out = (struct sirq_sim_ping_stats){.asked = ping->asked,
                                        .reached = ping->reached,
                                        .answers = ping->told,
                                        .answered = ping->answered};
}

void sirq_sim_crossing_stats(struct sirq_sim *sim, struct sirq_sim_crossing_stats *out)
{
    look_at_all(sim);
    *out = (struct sirq_sim_crossing_stats){.disordered = sim->disordered};
    for (uint32_t i = 0; i < sim->ncrossing; i++)
        out->sent += sim->crossing[i]->frames;
    for (struct sirq_sim_nic *nic = sim->nics; nic != NULL; nic = nic->next) {
        out->arrived += nic->tx_arrived;
        out->strange += nic->tx_strange;
    }
}
