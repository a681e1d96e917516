/* SPDX-License-Identifier: MIT */
/*
 * Request and response, as netperf TCP_RR: a client sends, sleeps until the answer is there,
 * takes it, and so on.  The transport is UDP; what matters here is what TCP does to the
 * client's CPU: several bottom-half sections a transaction, at whose ends softirqs run.
 *
 * An answer that was lost at a full ring or socket is asked for again, as TCP does.  Then
 * two may arrive; the one that came before the present request is not its answer.
 */
#include "kind.h"

#include <errno.h>
#include <stdlib.h>

#define FRAME 60u
#define RTO_NS UINT64_C(200000000) /* beyond the round trip: Linux's least */

struct client {
    struct sirq_sim_flow *flow;
    uint64_t arrival_ns; /* of the last answer that was asked for */
};

static const void *settings(const struct sirq_spec_threads *spec)
{
    return spec->rr_client;
}

static uint64_t socket_of(const struct sirq_spec_threads *spec, uint32_t *packets)
{
    *packets = 2;
    return spec->rr_client->rcvbuf;
}

static int open_client(struct sirq_sim_thread *thread, struct sirq_error *err)
{
    const struct sirq_spec_threads *spec = thread->group->spec;
    const struct sirq_sim_source_config answer = {
        .sport = thread->port, .dport = thread->port, .size = FRAME};
    struct sirq_sim_rig_nic *nic =
        sirq_sim_rig_nic(thread->rig, spec->rr_client->nic, spec->name, err);
    struct client *client;

    if (nic == NULL)
        return -EINVAL;
    client = thread->own = calloc(1, sizeof(*client));
    if (client == NULL)
        return sirq_fail(err, ENOMEM, "out of memory");
    return sirq_sim_flow_create(nic->sim, &answer, &client->flow, err);
}

static void close_client(struct sirq_sim_thread *thread)
{
    free(thread->own);
}

/* Part of the client's work, with the bottom-half sections that it passes on the way. */
static void work(struct sirq_sim *sim, unsigned sections, uint64_t ns)
{
    for (unsigned i = 0; i <= sections; i++) {
        if (ns > sections)
            sirq_sim_spend(sim, ns / (sections + 1));
        if (i < sections) {
            struct sirq_cpu *cpu = sirq_sim_this_cpu(sim);

            sirq_bh_disable(cpu);
            sirq_bh_enable(cpu);
        }
    }
}

/* Few sections more often than many. */
static unsigned draw_sections(struct sirq_sim *sim, const struct sirq_spec_rr_client *rr)
{
    uint64_t n = rr->sections_most > rr->sections_least
                     ? (uint64_t)rr->sections_most - rr->sections_least + 1
                     : 1;
    uint64_t a = sirq_sim_random(sim, n), b = sirq_sim_random(sim, n);

    return rr->sections_least + (unsigned)(a < b ? a : b);
}

/* One answer at a time is under way: after one too many was asked for, wait for that. */
static uint64_t ask(struct sirq_sim_thread *thread, const struct sirq_spec_rr_client *rr)
{
    struct client *client = thread->own;
    struct sirq_sim *sim = thread->rig->sim;
    uint64_t delay = rr->rtt_ns + sirq_sim_random(sim, rr->rtt_jitter_ns + 1);

    if (sirq_sim_now_ns(sim) < client->arrival_ns)
        sirq_sim_sleep_until(thread->task, client->arrival_ns);
    client->arrival_ns = sirq_sim_now_ns(sim) + delay;
    sirq_sim_flow_request(client->flow, delay);
    return delay;
}

/* False: all is over. */
static bool transact(struct sirq_sim_thread *thread, const struct sirq_spec_rr_client *rr)
{
    uint64_t delay = ask(thread, rr), asked = sirq_sim_now_ns(thread->rig->sim);
    uint8_t buf[8];

    while (!thread->rig->quit) {
        struct sirq_msg msg = {.buf = buf, .size = sizeof(buf)};
        int n = sirq_recv(thread->sock, &msg, 1, (int64_t)(delay + RTO_NS));

        if (n == 1) {
            thread->packets++;
            thread->bytes += msg.len;
            if (msg.rx_ns > asked)
                return true;
        } else if (n == -ETIMEDOUT && !thread->rig->closing) {
            delay = ask(thread, rr);
        } else if (thread->rig->closing) {
            return false;
        }
    }
    return false;
}

static void client_main(struct sirq_sim_thread *thread)
{
    const struct sirq_spec_rr_client *rr = thread->group->spec->rr_client;
    struct sirq_sim *sim = thread->rig->sim;

    while (!thread->rig->closing) {
        uint64_t start = sirq_sim_now_ns(sim);
        unsigned sections = draw_sections(sim, rr);

        work(sim, sections / 2, rr->work_ns / 2);
        if (!transact(thread, rr))
            break;
        work(sim, sections - sections / 2, rr->work_ns / 2);
        thread->count++;
        sirq_sim_record(thread, &thread->latency, sirq_sim_now_ns(sim) - start);
    }
}

const struct sirq_sim_kind sirq_kind_rr_client = {
    .name = "rr_client",
    .settings = settings,
    .socket = socket_of,
    .open = open_client,
    .main = client_main,
    .close = close_client,
};
