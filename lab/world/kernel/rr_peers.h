/* SPDX-License-Identifier: MIT */
/* The other side of tcp-rr: a server on the far end of the pair, and the many clients whose answers
 * make the softirqs busy.  Bodies of processes (peer.h). */
#ifndef SIRQ_LAB_KERNEL_RR_PEERS_H
#define SIRQ_LAB_KERNEL_RR_PEERS_H

#include "peer.h"

void sirq_rr_server(struct sirq_peer_page *page, const void *unused);

/* As many as the unsigned number says, with a request each under way; it counts answers. */
void sirq_rr_clients(struct sirq_peer_page *page, const void *how_many);

/* A connection to the server, of messages that are not gathered.  A descriptor or -errno. */
int sirq_rr_connect(void);

#endif
