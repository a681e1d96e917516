/* SPDX-License-Identifier: MIT */
/*
 * Sums.  They are exact when the path is empty, so the check is also how we know that it
 * is: it is repeated until it holds, within a bound.
 */
#include "account.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "world/common/netns.h"

#define SETTLE_POLL_NS 2000000u
#define SETTLE_POLLS 5000u /* 10 s */

void sirq_account_read(struct sirq_account *account, const struct sirq_receivers *group)
{
    const struct sirq_rig *rig = group->rig;

    *account = (struct sirq_account){0};
    for (unsigned i = 0; i < group->n; i++)
        account->received += sirq_receiver_count(&group->receiver[i]);
    for (unsigned i = 0; i < rig->nsocks; i++) {
        struct sirq_socket_stats stats;

        sirq_socket_stats(rig->sock[i], &stats);
        account->queued += stats.queued;
    }
    sirq_net_stats_sum(rig->net, &account->net);
    sirq_netdev_stats(&rig->dev, &account->dev);
    if (rig->session->options->nic == SIRQ_LAB_PACKET && !sirq_netns_lost("/proc", &account->lost))
        account->lost -= rig->lost_before;
    account->offered = sirq_sender_offered(&rig->sender);
}

int sirq_account_check(const struct sirq_account *a, struct sirq_error *err)
{
    uint64_t verdicts = 0, taken = a->dev.rx_packets;

    for (unsigned i = 0; i < SIRQ_NR_DROPS; i++)
        verdicts += a->net.verdict[i];
    if (a->offered != a->lost + a->dev.rx_dropped + taken)
        return sirq_fail(err, EPROTO,
                         "sums: offered %" PRIu64 " is not taken by the device %" PRIu64
                         " + dropped there %" PRIu64 " + lost before it %" PRIu64,
                         a->offered, taken, a->dev.rx_dropped, a->lost);
    if (taken != a->net.frames + a->dev.rx_errors)
        return sirq_fail(err, EPROTO,
                         "sums: taken by the device %" PRIu64 " is not in the stack %" PRIu64
                         " + refused %" PRIu64,
                         taken, a->net.frames, a->dev.rx_errors);
    if (a->net.frames != verdicts)
        return sirq_fail(err, EPROTO,
                         "sums: in the stack %" PRIu64 " is not the sum of its verdicts "
                         "%" PRIu64,
                         a->net.frames, verdicts);
    if (a->net.verdict[SIRQ_DELIVERED] != a->queued || a->queued != a->received)
        return sirq_fail(err, EPROTO,
                         "sums: delivered %" PRIu64 ", queued %" PRIu64 ", received %" PRIu64
                         " are not the same",
                         a->net.verdict[SIRQ_DELIVERED], a->queued, a->received);
    return 0;
}

static int check_order(const struct sirq_receivers *group, struct sirq_error *err)
{
    for (unsigned i = 0; i < group->n; i++) {
        const struct sirq_receiver *r = &group->receiver[i];
        uint64_t disorder = __atomic_load_n(&r->disorder, __ATOMIC_RELAXED);
        uint64_t cut = __atomic_load_n(&r->cut, __ATOMIC_RELAXED);

        if (disorder || cut)
            return sirq_fail(err, EPROTO,
                             "receiver %u got %" PRIu64 " datagrams twice or out of "
                             "order and %" PRIu64 " cut short",
                             i + 1, disorder, cut);
    }
    return 0;
}

int sirq_account_settle(struct sirq_account *account, const struct sirq_receivers *group,
                        struct sirq_error *err)
{
    struct timespec ts = {0, SETTLE_POLL_NS};
    int rc = -EPROTO;

    for (unsigned i = 0; i < SETTLE_POLLS && rc; i++) {
        nanosleep(&ts, NULL);
        sirq_account_read(account, group);
        rc = sirq_account_check(account, err);
    }
    return rc ? rc : check_order(group, err);
}
