/* SPDX-License-Identifier: MIT */
/*
 * The other side of tcp-rr: a server in a network namespace of its own, and the many clients whose
 * answers make the softirqs busy.  A process each, on the CPU that is not measured; they die with
 * the run.
 */
#ifndef SIRQ_LAB_KERNEL_RR_PEERS_H
#define SIRQ_LAB_KERNEL_RR_PEERS_H

#include <stdint.h>
#include <sys/types.h>

#include <sirq/driver.h>

struct sirq_rr_page; /* shared with the process */

struct sirq_rr_peer {
    pid_t pid;
    struct sirq_rr_page *page;
};

/* The server's process, in its namespace, waiting for its interface.  0 or -errno, err filled. */
int sirq_rr_server_start(struct sirq_rr_peer *peer, unsigned cpu, struct sirq_error *err);

/* Give it the far end of the veth pair: it listens when this returns 0. */
int sirq_rr_server_listen(const struct sirq_rr_peer *peer, struct sirq_error *err);

/* `n` clients with a request each under way. */
int sirq_rr_clients_start(struct sirq_rr_peer *peer, unsigned cpu, unsigned n,
                          struct sirq_error *err);

/* Answers that the clients had so far. */
uint64_t sirq_rr_transactions(const struct sirq_rr_peer *peer);

/* -EPIPE with err filled when it has ended, else 0. */
int sirq_rr_check(const struct sirq_rr_peer *peer, struct sirq_error *err);
void sirq_rr_end(struct sirq_rr_peer *peer);

/* A connection to the server, of messages that are not gathered.  A descriptor or -errno. */
int sirq_rr_connect(void);

#endif
