/* SPDX-License-Identifier: MIT */
/*
 * Traffic for tests of the live host: a shared-memory NIC with its producer thread, one
 * socket, receivers, and the sums that have to be exact in the end.
 */
#ifndef SIRQ_TEST_LIVE_TRAFFIC_H
#define SIRQ_TEST_LIVE_TRAFFIC_H

#include "live_env.h"

#include <pthread.h>

#include <sirq/net.h>
#include <sirq/shm.h>

#define TRAFFIC_MAX_RECEIVERS 4u

struct traffic {
    struct sirq_live *live;
    struct sirq_net *net;
    struct sirq_socket *sock;
    struct sirq_netdev dev;
    struct sirq_shm *shm;
    pthread_t producer, receivers[TRAFFIC_MAX_RECEIVERS];
    unsigned nreceivers;
    uint32_t stop_producer, stop_receivers; /* __atomic */
    uint64_t sent, refused;                 /* producer */
    uint64_t received;                      /* __atomic, by receivers */
    uint32_t errors;                        /* __atomic, by receivers */
    uint32_t registered;                    /* __atomic, by receivers */
};

/* Engine, stack, socket, device attached to the first CPU, producer under way. */
void traffic_start(struct traffic *t, enum sirq_delivery delivery, const char *policy);

/* A receiver on the machine's CPU `cpu`, registered when this returns. */
void traffic_receiver(struct traffic *t, unsigned cpu);

/* Received so far, by whomever. */
uint64_t traffic_received(const struct traffic *t);

/* Producer stopped, everything drained, receivers joined; then the sums are checked. */
void traffic_settle(struct traffic *t);

/* All of it taken down, in the order of sirq/live.h. */
void traffic_stop(struct traffic *t);

#endif
