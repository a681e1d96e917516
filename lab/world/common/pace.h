/* SPDX-License-Identifier: MIT */
/*
 * When is the next frame due?  The long-term rate is exact: what was missed while the
 * sender was held up is caught up, at no more than twice the rate, so that a hiccup of the
 * sender does not become a burst.  What is owed for longer than `forgive_s` is forgiven.
 */
#ifndef SIRQ_LAB_COMMON_PACE_H
#define SIRQ_LAB_COMMON_PACE_H

#include <stdint.h>

struct sirq_pace {
    double rate;   /* frames/s */
    double most;   /* frames that may be owed */
    double owed;   /* frames due and not sent, fractions included */
    double credit; /* of these, what may be sent now */
    uint64_t last_ns;
};

void sirq_pace_start(struct sirq_pace *pace, double rate, double forgive_s, uint64_t now_ns);

/* Frames to send now. */
uint64_t sirq_pace_due(struct sirq_pace *pace, uint64_t now_ns);

/* `n` of them went out. */
void sirq_pace_sent(struct sirq_pace *pace, uint64_t n);

/* How long until the next one is due, ns. */
uint64_t sirq_pace_next_ns(const struct sirq_pace *pace);

#endif
