/* SPDX-License-Identifier: MIT */
/*
 * The flood's source: a process of its own on a CPU of its own.  The run tells it what to
 * do through one shared page, and sees there what it did.  It dies with the run; the run
 * notices when it dies.
 */
#ifndef SIRQ_LAB_COMMON_SENDER_H
#define SIRQ_LAB_COMMON_SENDER_H

#include <sys/types.h>

#include <sirq/driver.h>

#include "progress.h"
#include "wire.h"

struct sirq_sender_page;

struct sirq_sender {
    pid_t pid;
    int pidfd; /* readable when it has died */
    struct sirq_sender_page *page;
};

/*
 * Start it: pinned to `cpu`, its end of the wire open, idle.  Waits until it is ready.
 * 0 or -errno with err filled and nothing left behind.
 */
int sirq_sender_start(struct sirq_sender *sender, const struct sirq_wire_config *config,
                      unsigned cpu, struct sirq_error *err);

/* Flood at `rate` packets/s, 0: as fast as it can. */
void sirq_sender_flood(struct sirq_sender *sender, double rate);

/* Let `ns` pass, with the progress shown.  0, -EINTR, or -EPIPE: it has died, err filled. */
int sirq_sender_pass(struct sirq_sender *sender, const struct sirq_progress *progress, uint64_t ns,
                     struct sirq_error *err);

/* No frame is offered any more when this returns.  0, or -EPIPE: it has died, err filled. */
int sirq_sender_idle(struct sirq_sender *sender, struct sirq_error *err);

/* Frames offered so far. */
uint64_t sirq_sender_offered(const struct sirq_sender *sender);

/* Say how it died. */
int sirq_sender_died(struct sirq_sender *sender, struct sirq_error *err);

/* End the process and free what belongs to it. */
void sirq_sender_end(struct sirq_sender *sender);

#endif
