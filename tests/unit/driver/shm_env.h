/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the shared-memory NIC share: the device with its wire side, and a stack
 * (sirq_net_rx) that remembers.  Included once a program: it defines.
 */
#ifndef SIRQ_TEST_SHM_ENV_H
#define SIRQ_TEST_SHM_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sirq/shm.h>

#define SIRQ_DRIVER_PRIVATE
#include "shm_ring.h"

#define RING 8u
#define FRAME 128u

/* What the stack was given. */
static struct {
    uint64_t frames;
    uint64_t last_seq; /* of numbered frames; each must be greater than the one before */
    uint64_t disorder;
    uint32_t len;
    uint64_t rx_ns;
    uint8_t data[FRAME];
} sink;

static unsigned reports;

enum sirq_drop sirq_net_rx(struct sirq_cpu *cpu, struct sirq_netdev *dev, const uint8_t *frame,
                           uint32_t len, uint64_t rx_ns)
{
    uint64_t seq = 0;

    (void)cpu, (void)dev;
    sink.frames++;
    sink.len = len;
    sink.rx_ns = rx_ns;
    memcpy(sink.data, frame, len < FRAME ? len : FRAME);
    if (len >= sizeof(seq)) {
        memcpy(&seq, frame, sizeof(seq));
        sink.disorder += seq <= sink.last_seq;
        sink.last_seq = seq;
    }
    return SIRQ_DELIVERED;
}

static inline void count_report(struct sirq_cpu *cpu, const char *what, uint64_t value)
{
    (void)cpu, (void)what, (void)value;
    reports++;
}

static inline uint64_t host_now_ns(const struct sirq_cpu *cpu)
{
    (void)cpu;
    return 77;
}

static const struct sirq_host host = {.report = count_report, .now_ns = host_now_ns};
static struct sirq_netdev dev;
static struct sirq_shm *wire;

static inline struct sirq_shm_nic *nic(void)
{
    return dev.priv;
}

static inline void open_sized(unsigned ring_size, unsigned frame_size)
{
    struct sirq_netdev_config config = {.ring_size = ring_size, .frame_size = frame_size};
    struct sirq_error err;

    memset(&sink, 0, sizeof(sink));
    reports = 0;
    dev = (struct sirq_netdev){.driver = sirq_driver_find("shm"), .host = &host};
    assert_int_equal(dev.driver->open(&dev, &config, &err), 0);
    assert_int_equal(sirq_shm_attach(&wire, &dev), 0);
}

static inline int setup(void **state)
{
    (void)state;
    open_sized(RING, FRAME);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    sirq_shm_close(wire);
    dev.driver->close(&dev);
    assert_null(dev.priv);
    assert_int_equal(dev.irq.fd, -1);
    return 0;
}

static inline bool send_seq(uint64_t seq)
{
    uint8_t frame[60] = {0};

    memcpy(frame, &seq, sizeof(seq));
    return sirq_shm_send(wire, frame, sizeof(frame), 1000 + seq);
}

static inline int rx_poll(int budget)
{
    return dev.driver->rx_poll(NULL, &dev, budget);
}

static inline struct sirq_netdev_stats stats(void)
{
    struct sirq_netdev_stats out = {0};

    dev.driver->stats(&dev, &out);
    return out;
}

static inline void assert_sum(uint64_t offered)
{
    struct sirq_netdev_stats s = stats();

    assert_int_equal(s.rx_packets + s.rx_dropped + s.rx_waiting + s.rx_errors, offered);
}

static inline int doorbells(void)
{
    int bytes = -1;

    assert_int_equal(ioctl(dev.irq.fd, FIONREAD, &bytes), 0);
    return bytes;
}

#define SHM_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
