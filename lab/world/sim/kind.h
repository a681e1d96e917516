/* SPDX-License-Identifier: MIT */
/*
 * What threads do.  A kind is one file and one line in the table; the key of the experiment
 * file that gives its settings is its name.
 */
#ifndef SIRQ_LAB_SIM_KIND_H
#define SIRQ_LAB_SIM_KIND_H

#include "rig.h"

struct sirq_sim_kind {
    const char *name;

    /* Its settings in `spec`, or null when the threads are of another kind. */
    const void *(*settings)(const struct sirq_spec_threads *spec);

    /*
     * A socket of each thread: the byte cap of its queue, 0 for the default, and in *packets
     * how many may be on it.  Null: none.
     */
    uint64_t (*socket)(const struct sirq_spec_threads *spec, uint32_t *packets);

    /* Before the thread is spawned, its socket is open: 0 or -errno with err filled.  May be
     * null. */
    int (*open)(struct sirq_sim_thread *thread, struct sirq_error *err);

    /* The thread, until it is told to end: rig->closing of what makes load, rig->quit. */
    void (*main)(struct sirq_sim_thread *thread);

    /* What open made.  May be null; also called when open failed or was not called. */
    void (*close)(struct sirq_sim_thread *thread);
};

/* The kind of these threads; null: none of the table's. */
const struct sirq_sim_kind *sirq_sim_kind_of(const struct sirq_spec_threads *spec);

extern const struct sirq_sim_kind sirq_kind_udp_receiver, sirq_kind_rr_client, sirq_kind_rr_server,
    sirq_kind_hog, sirq_kind_cyclictest, sirq_kind_watchdog, sirq_kind_disk_reader,
    sirq_kind_tcp_receiver, sirq_kind_tcp_sender;

#endif
