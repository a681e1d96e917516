/* SPDX-License-Identifier: MIT */
/*
 * A network namespace of the run's own, with a veth pair: what is sent into one end comes
 * out of the other.  It goes when the process goes, whatever happens.
 */
#ifndef SIRQ_LAB_LIVE_NETNS_H
#define SIRQ_LAB_LIVE_NETNS_H

#include <stdbool.h>
#include <stdint.h>

#include <sirq/driver.h>

#define SIRQ_VETH_RX "sirq0" /* the receiving end */
#define SIRQ_VETH_TX "sirq1" /* the sender's */

/*
 * Move the calling process there.  It has one thread.  Root needs a network namespace
 * alone, others a user namespace as well.
 * 0 or -errno with err filled: what is missing, and that --nic shm does without.
 */
int sirq_netns_enter(struct sirq_error *err);

/* Why unshare() failed with `code`, for a person. */
const char *sirq_netns_why(int code, bool root);

/* Frames that the sending end lost on their way to the other.  0 or -errno. */
int sirq_netns_lost(uint64_t *lost);

#endif
