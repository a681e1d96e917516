/* SPDX-License-Identifier: MIT */
/*
 * Answers requests of peers far away, as netserver: each peer has one request under way and
 * sends the next when it has the answer.  Each thread has its own.
 *
 * A request that was lost is sent again, as TCP does; the server plays the peers' clocks.  A
 * request that arrives where none is waited for is a late twin and not answered.
 */
#include "kind.h"

#include <errno.h>
#include <stdlib.h>

#define FRAME 60u
#define FIRST_PORT 1024u
#define RTO_NS UINT64_C(200000000) /* beyond the round trip: Linux's least */

struct peer {
    struct sirq_sim_flow *flow;
    uint64_t arrival_ns; /* of the request under way */
    bool waiting;        /* for its answer */
};

struct server {
    struct peer *peer;
    uint32_t n;
};

static const void *settings(const struct sirq_spec_threads *spec)
{
    return spec->rr_server;
}

static uint64_t socket_of(const struct sirq_spec_threads *spec, uint32_t *packets)
{
    *packets = 2 * spec->rr_server->clients;
    return spec->rr_server->rcvbuf;
}

static int open_server(struct sirq_sim_thread *thread, struct sirq_error *err)
{
    const struct sirq_spec_threads *spec = thread->group->spec;
    struct sirq_sim_rig_nic *nic =
        sirq_sim_rig_nic(thread->rig, spec->rr_server->nic, spec->name, err);
    struct server *server;
    int rc = 0;

    if (nic == NULL)
        return -EINVAL;
    server = thread->own = calloc(1, sizeof(*server));
    if (server == NULL)
        return sirq_fail(err, ENOMEM, "out of memory");
    server->n = spec->rr_server->clients;
    if (server->n > UINT16_MAX - FIRST_PORT)
        return sirq_fail(err, EINVAL, "%s: %u clients for one thread: at most %u", spec->name,
                         server->n, UINT16_MAX - FIRST_PORT);
    server->peer = calloc(server->n + 1, sizeof(*server->peer));
    if (server->peer == NULL)
        return sirq_fail(err, ENOMEM, "out of memory");
    for (uint32_t i = 0; i < server->n && rc == 0; i++) {
        const struct sirq_sim_source_config request = {
            .sport = (uint16_t)(FIRST_PORT + i), .dport = thread->port, .size = FRAME};

        rc = sirq_sim_flow_create(nic->sim, &request, &server->peer[i].flow, err);
    }
    return rc;
}

static void close_server(struct sirq_sim_thread *thread)
{
    struct server *server = thread->own;

    if (server != NULL)
        free(server->peer);
    free(server);
}

/* The peer has what it waited for and asks again; what is under way already counts as that. */
static void peer_asks(struct sirq_sim_thread *thread, struct peer *peer)
{
    const struct sirq_spec_rr_server *rr = thread->group->spec->rr_server;
    struct sirq_sim *sim = thread->rig->sim;
    uint64_t delay = rr->rtt_ns + sirq_sim_random(sim, rr->rtt_jitter_ns + 1);

    if (thread->rig->closing)
        return;
    peer->waiting = true;
    if (peer->arrival_ns > sirq_sim_now_ns(sim))
        return;
    peer->arrival_ns = sirq_sim_now_ns(sim) + delay;
    sirq_sim_flow_request(peer->flow, delay);
}

static void repeat_lost(struct sirq_sim_thread *thread, struct server *server)
{
    uint64_t now = sirq_sim_now_ns(thread->rig->sim);

    for (uint32_t i = 0; i < server->n; i++) {
        if (server->peer[i].waiting && now > server->peer[i].arrival_ns + RTO_NS)
            peer_asks(thread, &server->peer[i]);
    }
}

static void answer(struct sirq_sim_thread *thread, struct server *server,
                   const struct sirq_msg *msg)
{
    struct sirq_sim *sim = thread->rig->sim;
    uint64_t work_ns = thread->group->spec->rr_server->work_ns;
    uint32_t i = (uint32_t)msg->sport - FIRST_PORT;

    thread->packets++;
    thread->bytes += msg->len;
    if (i >= server->n || !server->peer[i].waiting)
        return;
    server->peer[i].waiting = false;
    if (work_ns != 0)
        sirq_sim_spend(sim, work_ns);
    thread->count++;
    sirq_sim_record(thread, &thread->latency, sirq_sim_now_ns(sim) - msg->rx_ns);
    peer_asks(thread, &server->peer[i]);
}

static void serve(struct sirq_sim_thread *thread)
{
    struct server *server = thread->own;
    uint64_t look_ns = RTO_NS;
    uint8_t buf[8];

    for (uint32_t i = 0; i < server->n; i++)
        peer_asks(thread, &server->peer[i]);
    while (!thread->rig->quit) {
        struct sirq_msg msg = {.buf = buf, .size = sizeof(buf)};

        if (sirq_recv(thread->sock, &msg, 1, (int64_t)RTO_NS) == 1)
            answer(thread, server, &msg);
        if (sirq_sim_now_ns(thread->rig->sim) < look_ns)
            continue;
        repeat_lost(thread, server);
        look_ns = sirq_sim_now_ns(thread->rig->sim) + RTO_NS;
    }
}

const struct sirq_sim_kind sirq_kind_rr_server = {
    .name = "rr_server",
    .settings = settings,
    .socket = socket_of,
    .open = open_server,
    .main = serve,
    .close = close_server,
};
