/* SPDX-License-Identifier: MIT */
/*
 * The threads that should receive: one socket each, on the flooded CPU, one datagram a call
 * unless told otherwise.  They check that the order of their flow is never broken and
 * nothing comes twice.
 */
#ifndef SIRQ_LAB_LIVE_RECEIVER_H
#define SIRQ_LAB_LIVE_RECEIVER_H

#include <pthread.h>

#include "hist.h"
#include "rig.h"

enum sirq_phase { SIRQ_PHASE_WARMUP, SIRQ_PHASE_MEASURE, SIRQ_PHASE_AFTER };

/* What a receiver had used when it noticed that a phase began. */
struct sirq_edge {
    uint64_t wall_ns;
    struct sirq_thread_usage usage;
};

struct sirq_receivers;

struct sirq_receiver {
    pthread_t thread;
    struct sirq_receivers *group;
    struct sirq_socket *sock;
    struct sirq_error err;
    int rc;                 /* of registering; written before ready */
    struct sirq_hist *hist; /* null: latency is not asked for */
    uint8_t *buf;
    uint64_t received __attribute__((aligned(64))); /* datagrams; __atomic, writer: it */
    uint64_t last_seq;
    uint64_t disorder; /* datagrams not newer than the one before; __atomic */
    uint64_t cut;      /* too short to hold a stamp; __atomic */
    struct sirq_edge edge[2];
    uint32_t phase; /* edges written so far; __atomic */
};

struct sirq_receivers {
    struct sirq_rig *rig;
    unsigned n, started;
    bool rt;
    uint32_t phase;                 /* __atomic */
    uint32_t stop;                  /* __atomic */
    uint32_t ready;                 /* receivers registered, or failed; __atomic */
    struct sirq_receiver *receiver; /* owned */
};

/*
 * Start them and wait until all are registered.  0, -EPERM (the class is not permitted),
 * or -errno, err filled, and none is left.
 */
int sirq_receivers_start(struct sirq_receivers *group, struct sirq_rig *rig,
                         const struct sirq_flood *flood, struct sirq_error *err);
void sirq_receivers_phase(struct sirq_receivers *group, enum sirq_phase phase);

/* End and join the threads; what they counted stays readable until freed. */
void sirq_receivers_stop(struct sirq_receivers *group);
void sirq_receivers_free(struct sirq_receivers *group);

/* What a receiver does with each datagram: check it, count it.  Nothing for n <= 0. */
void sirq_receiver_took(struct sirq_receiver *r, const struct sirq_msg *msgs, int n);

uint64_t sirq_receiver_count(const struct sirq_receiver *receiver);

#endif
