/* SPDX-License-Identifier: MIT */
/* TCP-like flows as users see them. */
#define SIRQ_SIM_HOST_PRIVATE
#include "host.h"

#include <errno.h>
#include <stdlib.h>

#include "frame.h"
#include "tcp.h"

#define NS_PER_S UINT64_C(1000000000)
#define MSS_DEFAULT 1448u
#define MSS_MIN 18u /* a frame of 60 bytes */
#define MSS_MAX 1472u
#define HEADERS 42u
#define ACK_SIZE 66u
#define WINDOW_DEFAULT 1024u
#define RATE_MIN UINT64_C(1000)

static int check(const struct sirq_sim_tcp_config *config, uint32_t mss, struct sirq_error *err)
{
    if (mss < MSS_MIN || mss > MSS_MAX)
        return sirq_fail(err, EINVAL, "tcp: mss %u: give %u to %u bytes", mss, MSS_MIN, MSS_MAX);
    if (config->window > SIM_TCP_WINDOW)
        return sirq_fail(err, EINVAL, "tcp: window %u: give at most %u segments", config->window,
                         SIM_TCP_WINDOW);
    if (config->rtt_ns > 10 * NS_PER_S || config->rtt_jitter_ns > 10 * NS_PER_S)
        return sirq_fail(err, EINVAL, "tcp: rtt_ns or rtt_jitter_ns above ten seconds");
    if (config->send &&
        (config->rate != 0 || config->bytes != 0 || config->start_ns != 0 || config->stop_ns != 0))
        return sirq_fail(err, EINVAL,
                         "tcp: rate, bytes, start_ns, stop_ns: the task's business "
                         "when it sends: give 0");
    if (config->rate != 0 && config->rate < RATE_MIN)
        return sirq_fail(err, EINVAL, "tcp: rate %llu: give bit/s, at least %llu, or 0 for no cap",
                         (unsigned long long)config->rate, (unsigned long long)RATE_MIN);
    return 0;
}

static uint32_t socket_room(void *arg)
{
    struct sirq_socket_stats stats;

    sirq_socket_stats(arg, &stats);
    return stats.cap - stats.len;
}

static uint32_t socket_cap(const struct sirq_socket *socket)
{
    struct sirq_socket_stats stats;

    sirq_socket_stats(socket, &stats);
    return stats.cap;
}

/* A receiver's default is what its socket holds. */
static uint32_t window_of(const struct sirq_sim_tcp_config *config)
{
    uint32_t cap;

    if (config->window != 0 || config->socket == NULL)
        return config->window != 0 ? config->window : WINDOW_DEFAULT;
    cap = socket_cap(config->socket);
    return cap < SIM_TCP_WINDOW ? cap : SIM_TCP_WINDOW;
}

static void take_config(struct sirq_sim_tcp *tcp, const struct sirq_sim_tcp_config *config,
                        uint32_t mss)
{
    tcp->mss = mss;
    tcp->rtt_ns = config->rtt_ns;
    tcp->jitter_ns = config->rtt_jitter_ns;
    tcp->limit = config->bytes != 0 ? (config->bytes + mss - 1) / mss : UINT64_MAX;
    tcp->stop_ns = config->stop_ns != 0 ? config->stop_ns : UINT64_MAX;
    if (config->rate != 0)
        tcp->gap_ps = (uint64_t)mss * 8 * 1000 * NS_PER_S / config->rate;
    if (config->socket != NULL) {
        tcp->room = socket_room;
        tcp->room_arg = config->socket;
        tcp->places = socket_cap(config->socket);
    }
    sirq_rng_seed(&tcp->rng, sirq_rng_next(&tcp->sim->rng), 0);
}

int sirq_tcp_make(struct sirq_sim *sim, const struct sirq_sim_tcp_config *config,
                  struct sirq_sim_tcp **out, struct sirq_error *err)
{
    uint32_t mss = config->mss != 0 ? config->mss : MSS_DEFAULT;
    int rc = check(config, mss, err);

    if (rc != 0)
        return rc;
    *out = sirq_tcp_new(sim, window_of(config), config->send);
    if (*out == NULL)
        return sirq_fail(err, ENOMEM, "tcp: out of memory");
    take_config(*out, config, mss);
    return 0;
}

int sirq_sim_tcp_create(struct sirq_sim_nic *nic, const struct sirq_sim_tcp_config *config,
                        struct sirq_sim_tcp **out, struct sirq_error *err)
{
    uint32_t mss = config->mss != 0 ? config->mss : MSS_DEFAULT;
    struct sirq_sim_source_config frame = {
        .saddr = config->saddr,
        .daddr = config->daddr,
        .sport = config->sport,
        .dport = config->dport,
        .size = config->send ? ACK_SIZE : mss + HEADERS,
        .ring_fixed = config->ring_fixed,
        .ring = config->ring,
    };
    struct sirq_sim_tcp *tcp;
    int rc = 0;

    if (config->send == (config->socket != NULL))
        rc = sirq_fail(err, EINVAL,
                       config->send ? "tcp: a socket, but the flow sends: give none"
                                    : "tcp: no socket: give the one that receives");
    if (rc == 0)
        rc = sirq_frame_check(nic, &frame, err);
    if (rc == 0)
        rc = sirq_tcp_make(nic->sim, config, &tcp, err);
    if (rc != 0)
        return rc;
    sirq_frame_make(&tcp->source.frame, &frame);
    if (sirq_nic_connect(sirq_frame_ring(nic, &frame), &tcp->source) != 0) {
        tcp->source.fini(&tcp->source);
        free(tcp);
        return sirq_fail(err, ENOMEM, "tcp: out of memory");
    }
    sirq_tcp_start(tcp, config->start_ns);
    *out = tcp;
    return 0;
}

int sirq_sim_tcp_send(struct sirq_sim_task *task, struct sirq_sim_tcp *tcp, uint64_t bytes)
{
    if (!tcp->send || tcp->sending)
        return tcp->send ? -EBUSY : -EINVAL;
    sirq_tcp_send(task, tcp, bytes / tcp->mss + (bytes % tcp->mss != 0));
    return 0;
}

int sirq_sim_tcp_flush(struct sirq_sim_task *task, struct sirq_sim_tcp *tcp)
{
    if (!tcp->send || tcp->sending)
        return tcp->send ? -EBUSY : -EINVAL;
    sirq_tcp_flush(task, tcp);
    return 0;
}

void sirq_sim_tcp_stats(struct sirq_sim_tcp *tcp, struct sirq_sim_tcp_stats *out)
{
    sirq_nic_advance(tcp->source.ring->nic);
    *out = (struct sirq_sim_tcp_stats){
        .sent = tcp->sent,
        .delivered = tcp->delivered,
        .lost = tcp->lost,
        .underway = tcp->sent - tcp->gone,
        .retransmitted = tcp->retransmitted,
        .spurious = tcp->spurious,
        .acks = tcp->acks,
        .timeouts = tcp->timeouts,
        .cuts = tcp->cuts,
        .goodput_bytes = (tcp->acked - tcp->spurious) * tcp->mss,
        .cwnd = tcp->cwnd,
        .srtt_ns = tcp->srtt_ns,
    };
}
