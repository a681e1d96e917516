/* SPDX-License-Identifier: MIT */
/*
 * The end of a world.  Traffic has stopped by itself; threads that make load are told to.
 * What is under way arrives, whatever the policy was, and then every frame is accounted for:
 * at its NIC, by verdict, in the count of the thread that took it.
 */
#include "rig.h"

#include <errno.h>
#include <string.h>

#define DRAIN_NS UINT64_C(100000000)
#define DRAINS 400u /* 40 s: a throttled receiver behind a long queue */

struct sums {
    struct sirq_sim_nic_stats nic;
    struct sirq_net_stats net;
    struct sirq_sim_crossing_stats crossing;
    uint64_t verdicts, taken, queued; /* acks too; by threads; on sockets */
    uint64_t tx_verdicts;
};

static void sums_take(struct sirq_sim_rig *rig, struct sums *sums)
{
    memset(sums, 0, sizeof(*sums));
    for (uint32_t i = 0; i < rig->n_nics; i++) {
        struct sirq_sim_nic_stats nic;

        sirq_sim_nic_stats(rig->nics[i].sim, &nic);
        sums->nic.arrived += nic.arrived;
        sums->nic.dropped += nic.dropped;
        sums->nic.taken += nic.taken;
        sums->nic.waiting += nic.waiting;
    }
    sirq_net_stats_sum(rig->net, &sums->net);
    sirq_sim_crossing_stats(rig->sim, &sums->crossing);
    sums->verdicts = sums->net.handled + sums->net.forwarded;
    for (unsigned i = 0; i < SIRQ_NR_TX_DROPS; i++)
        sums->tx_verdicts += sums->net.tx_verdict[i];
    for (unsigned i = 0; i < SIRQ_NR_DROPS; i++)
        sums->verdicts += sums->net.verdict[i];
    for (uint32_t g = 0; g < rig->n_groups; g++) {
        for (uint32_t i = 0; i < rig->groups[g].n; i++) {
            const struct sirq_sim_thread *thread = &rig->groups[g].threads[i];
            struct sirq_socket_stats sock;

            if (thread->sends && thread->tcp != NULL) {
                struct sirq_sim_tcp_stats tcp;

                sirq_sim_tcp_stats(thread->tcp, &tcp);
                sums->verdicts += tcp.acks;
            }
            if (thread->sock == NULL)
                continue;
            sirq_socket_stats(thread->sock, &sock);
            sums->taken += thread->packets;
            sums->queued += sock.len;
        }
    }
}

/* What left the stack arrived somewhere, and no flow was reordered. */
static int check_sent(const struct sums *s, struct sirq_error *err)
{
    uint64_t sent = s->net.tx_verdict[SIRQ_TX_SENT];

    if (s->net.steered == s->net.received_rps && s->net.tx_held == s->net.tx_released &&
        s->net.tx_frames == s->tx_verdicts && sent == s->crossing.arrived + s->crossing.strange &&
        s->crossing.disordered == 0)
        return 0;
    return sirq_fail(err, EPROTO,
                     "sums are not exact: %llu steered, %llu of them taken, %llu to send, %llu "
                     "sent, %llu arrived, %llu others, %llu out of order",
                     (unsigned long long)s->net.steered, (unsigned long long)s->net.received_rps,
                     (unsigned long long)s->net.tx_frames, (unsigned long long)sent,
                     (unsigned long long)s->crossing.arrived,
                     (unsigned long long)s->crossing.strange,
                     (unsigned long long)s->crossing.disordered);
}

static int check_sums(struct sirq_sim_rig *rig, struct sirq_error *err)
{
    struct sums s;

    sums_take(rig, &s);
    if (s.nic.arrived == s.nic.dropped + s.nic.taken + s.nic.waiting && s.nic.taken == s.verdicts &&
        s.net.verdict[SIRQ_DELIVERED] == s.taken + s.queued)
        return check_sent(&s, err);
    return sirq_fail(err, EPROTO,
                     "sums are not exact: %llu arrived, %llu dropped by NICs, %llu taken, "
                     "%llu waiting, %llu delivered, %llu received, %llu queued",
                     (unsigned long long)s.nic.arrived, (unsigned long long)s.nic.dropped,
                     (unsigned long long)s.nic.taken, (unsigned long long)s.nic.waiting,
                     (unsigned long long)s.net.verdict[SIRQ_DELIVERED], (unsigned long long)s.taken,
                     (unsigned long long)s.queued);
}

/* Nothing waits on a ring, a backlog, a socket or for its turn to leave, and nothing came since
 * the last look: hosts have no more to say either. */
static bool at_rest(struct sirq_sim_rig *rig, uint64_t *arrived)
{
    uint64_t before = *arrived;
    struct sums s;

    sums_take(rig, &s);
    *arrived = s.nic.arrived;
    return s.nic.waiting == 0 && s.queued == 0 && s.net.verdict[SIRQ_DELIVERED] == s.taken &&
           s.net.steered == s.net.received_rps && s.net.tx_held == s.net.tx_released &&
           (rig->n_flows == 0 || s.nic.arrived == before);
}

static bool all_done(const struct sirq_sim_rig *rig)
{
    for (uint32_t g = 0; g < rig->n_groups; g++) {
        for (uint32_t i = 0; i < rig->groups[g].n; i++) {
            if (rig->groups[g].threads[i].task != NULL && !rig->groups[g].threads[i].done)
                return false;
        }
    }
    return true;
}

static void pass(struct sirq_sim_rig *rig)
{
    sirq_sim_run(rig->sim, sirq_sim_now_ns(rig->sim) + DRAIN_NS);
}

int sirq_sim_rig_settle(struct sirq_sim_rig *rig, struct sirq_error *err)
{
    uint64_t arrived = 0;

    rig->closing = true;
    sirq_set_policy(sirq_sim_core(rig->sim), sirq_policy_default());
    for (unsigned i = 0; i < DRAINS; i++) {
        pass(rig);
        if (at_rest(rig, &arrived))
            break;
    }
    return check_sums(rig, err);
}

void sirq_sim_rig_end(struct sirq_sim_rig *rig)
{
    rig->closing = true;
    rig->quit = true;
    if (rig->sim == NULL)
        return;
    sirq_set_policy(sirq_sim_core(rig->sim), sirq_policy_default());
    for (uint32_t n = 0; n < rig->n_nics; n++) {
        for (uint32_t i = 0; i < rig->nics[n].n_attached; i++)
            sirq_sim_detach(rig->sim, &rig->nics[n].rings[i]);
    }
    for (unsigned i = 0; i < DRAINS && !all_done(rig); i++)
        pass(rig);
    if (rig->threaded)
        sirq_sim_backlog_unthread(rig->sim, rig->net, NULL);
}
