/* SPDX-License-Identifier: MIT */
/*
 * The run's own namespaces, and the veth pair of a cell.  A pair is made for each run of a cell:
 * its masks, its threaded NAPI and its threads go away with it.
 */
#ifndef SIRQ_LAB_KERNEL_NET_H
#define SIRQ_LAB_KERNEL_NET_H

#include <stdbool.h>
#include <sys/types.h>

#include "world/common/netns.h"

extern const struct sirq_netns_use sirq_kernel_use;

/* Move the process, which has one thread, into a network namespace, and a mount namespace whose
 * /sys shows its interfaces.  0 or -errno with err filled. */
int sirq_kernel_net_enter(struct sirq_error *err);

/*
 * A pair of which the receiving end has the address that the frames go to.  napi: that end is
 * polled by NAPI, as a NIC is; without, its frames go straight to a CPU's backlog.
 */
int sirq_kernel_net_make(bool napi, struct sirq_error *err);
void sirq_kernel_net_delete(void);

/* Write to a file of the receiving end in /sys/class/net.  0 or -errno. */
int sirq_kernel_net_write(const char *file, const char *text);

/* Kernel threads whose names begin so, up to `most`; how many there are. */
unsigned sirq_kernel_threads(const char *prefix, pid_t *tids, unsigned most);

#endif
