/* SPDX-License-Identifier: MIT */
/* Receives datagrams, and works on each. */
#include "kind.h"

#define BATCH 64u
#define WAIT_NS 1000000000 /* how soon it is seen that all is over */

static const void *settings(const struct sirq_spec_threads *spec)
{
    return spec->udp_receiver;
}

static uint64_t socket_of(const struct sirq_spec_threads *spec, uint32_t *packets)
{
    uint64_t rcvbuf = spec->udp_receiver->rcvbuf;

    *packets = (uint32_t)(rcvbuf / SIRQ_PKT_TRUESIZE) + 1;
    return rcvbuf;
}

static void take(struct sirq_sim_thread *thread, const struct sirq_msg *msg)
{
    struct sirq_sim *sim = thread->rig->sim;

    sirq_sim_record(thread, &thread->latency, sirq_sim_now_ns(sim) - msg->rx_ns);
    thread->bytes += msg->len;
    if (thread->group->spec->udp_receiver->work_ns != 0)
        sirq_sim_spend(sim, thread->group->spec->udp_receiver->work_ns);
    thread->count++;
}

static void receive(struct sirq_sim_thread *thread)
{
    unsigned batch = thread->group->spec->udp_receiver->batch;
    uint8_t buf[8];

    batch = batch == 0 ? 1 : batch > BATCH ? BATCH : batch;
    while (!thread->rig->quit) {
        struct sirq_msg msg[BATCH];
        int n;

        for (unsigned i = 0; i < batch; i++)
            msg[i] = (struct sirq_msg){.buf = buf, .size = sizeof(buf)};
        n = sirq_recv(thread->sock, msg, batch, WAIT_NS);
        thread->packets += n > 0 ? (uint64_t)n : 0;
        for (int i = 0; i < n; i++)
            take(thread, &msg[i]);
    }
}

const struct sirq_sim_kind sirq_kind_udp_receiver = {
    .name = "udp_receiver",
    .settings = settings,
    .socket = socket_of,
    .main = receive,
};
