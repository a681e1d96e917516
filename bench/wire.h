/* SPDX-License-Identifier: MIT */
/* The part `wire`: its receivers (wire_sirq.c, wire_kernel.c), senders (wire_send.c) and who drives them (wire.c). */
#ifndef SIRQ_BENCH_WIRE_H
#define SIRQ_BENCH_WIRE_H

#include "bench.h"

#define WIRE_PORT 9000u
#define WIRE_RX "wr0" /* the receivers' end of the veth pair */
#define WIRE_TX "wt0"
#define WIRE_ADDR "10.77.0.1"
#define WIRE_BATCH 64u

/*
 * A receiver takes datagrams on WIRE_RX until wire_stopping, on `cpu` alone, and counts them
 * in wire_received.  run() returns 0, or a reason not to take part.
 */
struct wire_receiver {
    const char *name, *note;
    bool kernel; /* the kernel's stack has to take the frames */
    const char *(*run)(const struct wire_receiver *self, const struct bench_options *options);
};

extern const struct wire_receiver wire_xdp, wire_packet, wire_recvmmsg, wire_uring;

extern uint64_t wire_received; /* writer: the receiver */
extern bool wire_ready;        /* writer: the receiver, when frames may come */
extern bool wire_stopping;

/* A kernel socket on WIRE_PORT. */
int wire_socket(void);

static inline bool wire_stop(void)
{
    return __atomic_load_n(&wire_stopping, __ATOMIC_ACQUIRE);
}

static inline void wire_count(unsigned n)
{
    __atomic_store_n(&wire_received, wire_received + n, __ATOMIC_RELAXED);
}

static inline void wire_begin(void)
{
    __atomic_store_n(&wire_ready, true, __ATOMIC_RELEASE);
}

/* To whom frames go that are not for the kernel. */
extern const uint8_t wire_mac[6];

/* wire_net.c: the namespace.  Null or why there is none. */
const char *wire_net_enter(void);
/* The threads that poll WIRE_RX to options->cpu and priority; how many there are. */
unsigned wire_net_pin(const struct bench_options *options);
/* CPU time of these threads so far. */
uint64_t wire_net_cpu_ns(void);
/* Sends to WIRE_RX on options->other until killed, `pps` (0: as fast as it goes). */
struct wire_sender {
    const char *name;
    /* Null: built without libbpf. */
    void (*send)(const struct bench_options *options, uint64_t pps, bool kernel);
};
extern const struct wire_sender wire_skbs, wire_pages;

#endif
