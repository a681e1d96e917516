/* SPDX-License-Identifier: MIT */
/*
 * The threads that should receive: a UDP socket of the kernel each, on the flooded CPU, one
 * datagram a call unless told otherwise.
 */
#ifndef SIRQ_LAB_KERNEL_RECEIVER_H
#define SIRQ_LAB_KERNEL_RECEIVER_H

#include <pthread.h>

#include "experiment.h"
#include "hist.h"

struct sirq_kernel_receivers;

struct sirq_kernel_receiver {
    pthread_t thread;
    struct sirq_kernel_receivers *group;
    int fd;
    int rc;                 /* of setting itself up; before ready */
    struct sirq_hist *hist; /* null: latency is not asked for; its own after measuring begins */
    uint64_t received __attribute__((aligned(64))); /* datagrams; __atomic, writer: it */
};

struct sirq_kernel_receivers {
    unsigned n, started, batch, cpu;
    bool rr;
    uint32_t ready, measuring, stop;       /* __atomic */
    struct sirq_kernel_receiver *receiver; /* owned */
};

/* What a group is to be. */
struct sirq_kernel_receiving {
    unsigned n, batch, cpu;
    bool rr, latency;
};

/* 0, -EPERM (the class is not permitted) or -errno, err filled and none left. */
int sirq_kernel_receivers_start(struct sirq_kernel_receivers *group,
                                const struct sirq_kernel_receiving *how, struct sirq_error *err);
/* Latency counts from here on / no more. */
void sirq_kernel_receivers_measure(struct sirq_kernel_receivers *group, bool on);

/* End and join; what they counted stays until freed. */
void sirq_kernel_receivers_stop(struct sirq_kernel_receivers *group);
void sirq_kernel_receivers_free(struct sirq_kernel_receivers *group);

uint64_t sirq_kernel_receiver_count(const struct sirq_kernel_receiver *receiver);

#endif
