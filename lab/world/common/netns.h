/* SPDX-License-Identifier: MIT */
/*
 * A network namespace of the run's own, and veth pairs in it: what is sent into one end comes
 * out of the other.  It goes when the process goes, whatever happens.
 */
#ifndef SIRQ_LAB_COMMON_NETNS_H
#define SIRQ_LAB_COMMON_NETNS_H

#include <stdbool.h>
#include <stdint.h>

#include <sirq/driver.h>

#define SIRQ_VETH_RX "sirq0" /* the receiving end */
#define SIRQ_VETH_TX "sirq1" /* the sender's */

/* What the person asked for that needs it, and what does without: for messages. */
struct sirq_netns_use {
    const char *option, *instead; /* "--nic packet", "--nic shm" */
};

/*
 * Move the calling process there.  It has one thread.  Root needs a network namespace
 * alone, others a user namespace as well.
 * 0 or -errno with err filled: what is missing, and what does without.
 */
int sirq_netns_enter(const struct sirq_netns_use *use, struct sirq_error *err);

/* Make the pair, both ends up / take it away.  0 or -errno with err filled. */
int sirq_veth_make(const struct sirq_netns_use *use, struct sirq_error *err);
void sirq_veth_delete(void);

/* Run `ip` with a null-terminated list of its name and arguments, at most 19.  0, -errno, or its
 * exit code. */
int sirq_run_ip(const char *const *args);

/* Why unshare() failed with `code`, for a person. */
const char *sirq_netns_why(int code, bool root);

/* Frames that the sending end lost on their way to the other.  proc: "/proc", or what stands in for
 * it.  0 or -errno. */
int sirq_netns_lost(const char *proc, uint64_t *lost);

#endif
