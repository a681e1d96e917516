/* SPDX-License-Identifier: MIT */
/* Where every frame went. */
#ifndef SIRQ_LAB_LIVE_ACCOUNT_H
#define SIRQ_LAB_LIVE_ACCOUNT_H

#include "receiver.h"

/* Counters at one moment.  While traffic runs they are close to each other, not exact. */
struct sirq_account {
    uint64_t offered; /* by the sender */
    uint64_t lost;    /* between the sender and the device (veth) */
    struct sirq_netdev_stats dev;
    struct sirq_net_stats net;
    uint64_t queued, received; /* by sockets; by receivers */
};

void sirq_account_read(struct sirq_account *account, const struct sirq_receivers *group);

/*
 * The sender is idle: wait until every frame has arrived somewhere, then check that
 *   offered = lost + NIC drops + frames, frames = delivered + drops by reason,
 *   delivered = queued = received, in order and each once.
 * 0, or -EPROTO with err filled: which sum is wrong.
 */
int sirq_account_settle(struct sirq_account *account, const struct sirq_receivers *group,
                        struct sirq_error *err);

/* Which sum is wrong, or 0.  Testable: looks at the figures alone. */
int sirq_account_check(const struct sirq_account *account, struct sirq_error *err);

#endif
