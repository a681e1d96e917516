/* SPDX-License-Identifier: MIT */
/* What the tests of steering share: a device on CPU 0, flows, and two CPUs played in turn. */
#ifndef SIRQ_TESTS_STEER_ENV_H
#define SIRQ_TESTS_STEER_ENV_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frames.h"
#include "net_host.h"

#define FLOWS 64u
#define MS UINT64_C(1000000)

struct world {
    struct net_host h;
    struct test_dev dev;
    struct sirq_socket *sock;
    uint8_t frame[FLOWS][FRAME_MAX];
    uint32_t len;
};

static inline struct world *start(const struct sirq_net_config *config)
{
    const struct sirq_socket_config sock = {.port = FRAME_DPORT, .rcvbuf = (size_t)8 << 20};
    struct world *w = aligned_alloc(64, (sizeof(*w) + 63) & ~(size_t)63);

    memset(w, 0, sizeof(*w));
    net_host_init(&w->h, config);
    test_dev_open(&w->dev, &w->h);
    assert_int_equal(sirq_socket_open(w->h.net, &sock, &w->sock), 0);
    for (unsigned i = 0; i < FLOWS; i++) {
        const struct frame_spec spec = {.payload = 30, .sport = (uint16_t)(1000 + i)};

        w->len = frame_build(w->frame[i], &spec);
    }
    return w;
}

/* CPU 1 has its turn: everything that it was told of. */
static inline void other_cpu(struct world *w)
{
    struct sirq_cpu *cpu = &w->h.cpu[1];

    net_host_run_on(1);
    sirq_hardirq_enter(cpu); /* the kick */
    sirq_hardirq_exit(cpu);
    net_host_ksoftirqd(&w->h, 1, 100);
    net_host_run_on(0);
}

static inline void drain(struct world *w)
{
    struct sirq_msg msg = {0};

    other_cpu(w);
    while (sirq_recv(w->sock, &msg, 1, 0) == 1)
        ;
}

static inline void stop(struct world *w)
{
    drain(w);
    test_dev_close(&w->dev, &w->h.cpu[0]);
    sirq_socket_close(w->sock);
    net_host_fini(&w->h);
    free(w);
}

static inline void set_rps(struct world *w, const unsigned *cpus, unsigned n)
{
    struct sirq_error err;

    assert_int_equal(sirq_netdev_set_rps(&w->dev.dev, cpus, n, &err), 0);
}

static inline enum sirq_drop send(struct world *w, unsigned flow, uint64_t seq)
{
    test_dev_put(&w->dev, w->frame[flow], w->len, seq);
    test_dev_interrupt(&w->dev, &w->h.cpu[0]);
    return w->dev.last;
}

static inline struct sirq_net_stats stats(const struct world *w, int cpu)
{
    struct sirq_net_stats s;

    if (cpu >= 0)
        sirq_net_stats_cpu(w->h.net, (unsigned)cpu, &s);
    else
        sirq_net_stats_sum(w->h.net, &s);
    return s;
}

/* The next datagram of the socket: its number, 0 for none.  Its payload is what was sent. */
static inline uint64_t next(struct world *w)
{
    uint8_t buf[64];
    struct sirq_msg msg = {.buf = buf, .size = sizeof(buf)};

    if (sirq_recv(w->sock, &msg, 1, 0) != 1)
        return 0;
    assert_int_equal(msg.len, 30);
    assert_memory_equal(buf, w->frame[0] + FRAME_DATA, 30);
    assert_in_range(msg.sport, 1000, 1000 + FLOWS);
    assert_int_equal(msg.dport, FRAME_DPORT);
    return msg.rx_ns;
}

static const unsigned one[] = {1}, zero[] = {0};

#endif
