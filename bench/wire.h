/* SPDX-License-Identifier: MIT */
/* The parts `wire` and `forward`: receivers (wire_sirq.c, wire_kernel.c), senders (wire_send.c) routers (forward.c), and who drives them (wire.c). */
#ifndef SIRQ_BENCH_WIRE_H
#define SIRQ_BENCH_WIRE_H

#include "bench.h"

#define WIRE_PORT 9000u
#define WIRE_RX "wr0" /* the receivers' end of the veth pair */
#define WIRE_TX "wt0"
#define WIRE_SINK "wo1" /* the far end of a router's second pair */
#define WIRE_ADDR "10.77.0.1"
#define WIRE_DEST 0x0a4d0001u
#define WIRE_BATCH 64u

/*
 * Who takes datagrams on WIRE_RX until wire_stopping, on `cpu` alone: a receiver, which counts
 * them in wire_received, or a router, which sends them on (forward.c).
 */
struct wire_subject {
    const char *name, *driver;
    bool kernel;   /* the kernel's stack has to take the frames */
    bool nat;      /* a router: it is to translate */
    uint32_t dest; /* their destination, host order */
    /* Once, in a process of its own, before anything else: null, or why it cannot take part. */
    const char *(*enter)(void);
    /* The same, at its end. */
    const char *(*run)(const struct wire_subject *self, const struct bench_options *options);
    uint64_t (*count)(void); /* what it has done so far; null: wire_received */
};

extern const struct wire_subject wire_xdp, wire_packet, wire_recvmmsg, wire_uring;

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

/* wire_net.c: a namespace; one with the pair of WIRE_RX and WIRE_TX.  Null or why there is none. */
const char *wire_net_unshare(void);
const char *wire_net_enter(void);
bool wire_net_write(const char *path, const char *text);
/* A thread polls what comes to `ifname`, moderated, if its peer has no TSO.  False: no such thing. */
bool wire_net_no_tso(const char *ifname);
bool wire_net_threaded(const char *ifname);
/* The threads that poll WIRE_RX to options->cpu and priority, those of WIRE_SINK to the other
 * CPU; how many the first are. */
unsigned wire_net_pin(const struct bench_options *options);
/* CPU time of those of WIRE_RX so far. */
uint64_t wire_net_cpu_ns(void);
/* Sends to WIRE_RX on options->other until killed, `pps` or as many as it can. */
struct wire_sender {
    const char *metric;
    /* Null: built without libbpf. */
    void (*send)(const struct bench_options *options, uint64_t pps, const struct wire_subject *to);
};
extern const struct wire_sender wire_skbs, wire_pages;

#define WIRE_SUBJECTS_MAX 8u

/*
 * The best of each subject, for a second of CPU and for a second, of `options->runs` runs; the
 * first `ours` are compared with each of the others.
 */
void wire_compare(const struct bench_options *options, const char *part,
                  const struct wire_subject *const *subjects, unsigned n, unsigned ours);

#endif
