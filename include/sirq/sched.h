/* SPDX-License-Identifier: MIT */
/* sirq/sched.h - how a thread is scheduled, on every host. */
#ifndef SIRQ_SCHED_H
#define SIRQ_SCHED_H

#include <sched.h>

/* Scheduling of a thread; zeroed: SCHED_OTHER, nice 0. */
struct sirq_sched {
    int policy;   /* SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO, SCHED_RR */
    int priority; /* 1..99 for FIFO and RR, else 0 */
    int nice;     /* -20..19, for the others; 0 without the right to it: as the program has */
};

#endif
