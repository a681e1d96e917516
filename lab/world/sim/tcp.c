/* SPDX-License-Identifier: MIT */
/*
 * One TCP-like flow for each thread, from or to a peer far away, as iperf.  A receiver takes
 * what is there, a sender hands over a buffer at a time; both may hold themselves to a rate.
 */
#include "kind.h"

#include <errno.h>

#define BATCH 16u
#define BUFFER 65536u /* bytes of a send call */
#define WAIT_NS 1000000000
#define SEGMENT 1448u
#define WINDOW_MAX 65536u /* segments, see sirq/sim.h */

static const void *receiver_settings(const struct sirq_spec_threads *spec)
{
    return spec->tcp_receiver;
}

static const void *sender_settings(const struct sirq_spec_threads *spec)
{
    return spec->tcp_sender;
}

static uint64_t socket_of(const struct sirq_spec_threads *spec, uint32_t *packets)
{
    *packets = (uint32_t)(spec->tcp_receiver->rcvbuf / SIRQ_PKT_TRUESIZE) + 1;
    return spec->tcp_receiver->rcvbuf;
}

/* `nic` is that of the file; the rest of the configuration is the kind's. */
static int open_flow(struct sirq_sim_thread *thread, const char *nic,
                     struct sirq_sim_tcp_config *config, struct sirq_error *err)
{
    struct sirq_sim_rig_nic *on =
        sirq_sim_rig_nic(thread->rig, nic, thread->group->spec->name, err);

    config->sport = config->dport = thread->port;
    return on == NULL ? -EINVAL : sirq_sim_tcp_create(on->sim, config, &thread->tcp, err);
}

static int open_receiver(struct sirq_sim_thread *thread, struct sirq_error *err)
{
    const struct sirq_spec_tcp_receiver *spec = thread->group->spec->tcp_receiver;
    struct sirq_sim_tcp_config config = {
        .socket = thread->sock,
        .rtt_ns = spec->rtt_ns,
        .rtt_jitter_ns = spec->rtt_jitter_ns,
        .rate = (uint64_t)spec->limit_mbit * 1000000,
        .stop_ns = thread->rig->end_ns,
    };

    return open_flow(thread, spec->nic, &config, err);
}

static int open_sender(struct sirq_sim_thread *thread, struct sirq_error *err)
{
    const struct sirq_spec_tcp_sender *spec = thread->group->spec->tcp_sender;
    uint64_t places = spec->sndbuf / SIRQ_PKT_TRUESIZE;
    struct sirq_sim_tcp_config config = {
        .send = true,
        .window = places < WINDOW_MAX ? (uint32_t)places : WINDOW_MAX,
        .rtt_ns = spec->rtt_ns,
        .rtt_jitter_ns = spec->rtt_jitter_ns,
    };

    thread->port = thread->rig->next_port++;
    thread->sends = true;
    return open_flow(thread, spec->nic, &config, err);
}

static void receive(struct sirq_sim_thread *thread)
{
    const struct sirq_spec_tcp_receiver *spec = thread->group->spec->tcp_receiver;
    uint8_t buf[8];

    while (!thread->rig->quit) {
        struct sirq_msg msg[BATCH];
        int n;

        for (unsigned i = 0; i < BATCH; i++)
            msg[i] = (struct sirq_msg){.buf = buf, .size = sizeof(buf)};
        n = sirq_recv(thread->sock, msg, BATCH, WAIT_NS);
        for (int i = 0; i < n; i++)
            thread->bytes += msg[i].len;
        if (n > 0) {
            thread->packets += (uint64_t)n;
            thread->count += (uint64_t)n;
            sirq_sim_spend(thread->rig->sim, spec->work_ns);
        }
    }
}

static void send_buffers(struct sirq_sim_thread *thread)
{
    const struct sirq_spec_tcp_sender *spec = thread->group->spec->tcp_sender;
    struct sirq_sim *sim = thread->rig->sim;
    uint64_t next = sirq_sim_now_ns(sim);

    while (!thread->rig->closing) {
        sirq_sim_spend(sim, spec->work_ns);
        if (sirq_sim_tcp_send(thread->task, thread->tcp, BUFFER) != 0)
            return;
        thread->count += (BUFFER + SEGMENT - 1) / SEGMENT;
        thread->bytes += BUFFER;
        if (spec->limit_mbit == 0)
            continue;
        next += (uint64_t)BUFFER * 8000 / spec->limit_mbit;
        if (next < sirq_sim_now_ns(sim))
            next = sirq_sim_now_ns(sim);
        else
            sirq_sim_sleep_until(thread->task, next);
    }
}

const struct sirq_sim_kind sirq_kind_tcp_receiver = {
    .name = "tcp_receiver",
    .settings = receiver_settings,
    .socket = socket_of,
    .open = open_receiver,
    .main = receive,
};

const struct sirq_sim_kind sirq_kind_tcp_sender = {
    .name = "tcp_sender",
    .settings = sender_settings,
    .open = open_sender,
    .main = send_buffers,
};
