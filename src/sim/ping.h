/* SPDX-License-Identifier: MIT */
/*
 * Pings across the machine: a request from one host, the answer of another, and how long it was
 * until that came back.
 *
 * With `interval_ns` a request leaves each interval, whatever became of those before.  Without,
 * the next one leaves when the answer has come, or when it has not within `timeout_ns`.
 */
#ifndef SIRQ_SIM_PRIVATE
#error "ping.h belongs to the simulator"
#endif
#ifndef SIRQ_SIM_PING_H
#define SIRQ_SIM_PING_H

#include "far.h"

#define SIM_PINGS 64u /* under way at once; an older one counts as lost */

struct sirq_sim_ping {
    struct sirq_source ask; /* connected first; the NIC of the asking host owns it */
    struct sirq_source *answer;
    struct sirq_sim *sim;
    uint64_t interval_ns, timeout_ns, stop_ns;
    uint64_t there_ns, back_ns; /* from the machine to the other host, and back to ours */
    struct sirq_event timer;
    uint64_t asked_ns[SIM_PINGS];   /* by number */
    uint64_t due_ns[SIM_PINGS];     /* of answers, by their number */
    uint32_t due_number[SIM_PINGS]; /* what each of them answers */
    uint64_t asked, heard, answers, told,
        seen; /* requests sent, come out; answers made, sent, out */
    uint64_t reached, answered;
    void (*fn)(void *arg, uint64_t latency_ns);
    void *arg;
};

struct sirq_sim_ping *sirq_ping_new(struct sirq_sim *sim);
/* Parameters are filled in.  0, -ENOSPC or -ENOMEM; when `ask` is connected the NIC owns it. */
int sirq_ping_connect(struct sirq_sim_ping *ping, const struct sirq_far_way *way,
                      const struct sirq_far_way *back, uint32_t len, uint64_t start_ns);

#endif
