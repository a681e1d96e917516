/* SPDX-License-Identifier: MIT */
/*
 * What one run needs: an engine, a stack, a device, a socket per receiver, a sender.  Each
 * run has its own, so that no run sees anything of the one before it.
 */
#ifndef SIRQ_LAB_LIVE_RIG_H
#define SIRQ_LAB_LIVE_RIG_H

#include "world/common/cpu.h"
#include "experiment.h"
#include "world/common/sender.h"

extern const struct sirq_netns_use sirq_live_veth;

/* A world's session: what all runs share. */
struct sirq_session {
    const struct sirq_lab_options *options;
    struct sirq_lab_cpus cpus;
};

/* What the engine's watchdog said, first words and how often.  Writer: its clock thread. */
struct sirq_rig_report {
    const char *what; /* static; null: nothing.  __atomic */
    uint64_t times;   /* __atomic */
};

struct sirq_rig {
    const struct sirq_session *session;
    struct sirq_live *live;
    struct sirq_net *net;
    struct sirq_netdev dev;
    struct sirq_socket *sock[SIRQ_LAB_RECEIVERS];
    unsigned nsocks;
    struct sirq_sender sender;
    struct sirq_rig_report report;
    uint64_t lost_before; /* on the veth pair by earlier runs */
    unsigned irq_cpu;     /* where the device's interrupt goes */
    bool attached;
};

/*
 * Build it under `flood`'s policy; the sender is idle, the device not attached.
 * 0 or -errno with err filled and nothing left behind.
 */
int sirq_rig_open(struct sirq_rig *rig, const struct sirq_session *session,
                  const struct sirq_flood *flood, struct sirq_error *err);
int sirq_rig_attach(struct sirq_rig *rig, struct sirq_error *err);

/* Take it down; no thread receives or is registered any more. */
void sirq_rig_close(struct sirq_rig *rig);

#endif
