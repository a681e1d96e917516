/* SPDX-License-Identifier: MIT */
/*
 * A host for tests of the packet path: two CPUs, any thread may play on either, the clock
 * moves only when a test says so.  Contention spins.  A test runs softirqs where they
 * would run: in an interrupt of its device, in a receiver's bottom-half enable, or by
 * playing ksoftirqd.
 */
#ifndef SIRQ_TESTS_NET_HOST_H
#define SIRQ_TESTS_NET_HOST_H

#include <sirq/driver.h>
#include <sirq/policy.h>
#include <sirq/timer.h>

#define NET_HOST_CPUS 2u

struct net_host {
    struct sirq_core core;
    struct sirq_cpu cpu[NET_HOST_CPUS];
    struct sirq_timer_base timers[NET_HOST_CPUS];
    struct sirq_net *net;
    uint64_t now_ns;                /* __atomic */
    unsigned nwakes;                /* __atomic: calls of sirq_host.wake */
    unsigned nrelax;                /* __atomic */
    unsigned nwaits;                /* __atomic */
    unsigned nkicks[NET_HOST_CPUS]; /* __atomic: calls of sirq_host.kick */
    unsigned nsafe;                 /* calls of safe_point */
    /* Plays what happens while a receiver sleeps; null: really waits for the wake-up. */
    int (*wait)(struct net_host *h, struct sirq_wq *wq, int64_t timeout_ns);
    void (*now_hook)(struct net_host *h); /* at each look at the clock */
    void *arg;
};

/* A core under `inline` (everything runs at once) with a stack on it. */
void net_host_init(struct net_host *h, const struct sirq_net_config *config);
void net_host_fini(struct net_host *h);

/* Let time pass, a tick at a time, and the timers of all CPUs run. */
void net_host_sleep(struct net_host *h, uint64_t ns);

/* The calling thread runs on CPU `cpu` from now on; -1: on none. */
void net_host_run_on(int cpu);

/* ksoftirqd of `cpu`: at most `runs` runs. */
void net_host_ksoftirqd(struct net_host *h, unsigned cpu, unsigned runs);

/* ---- a device whose ring is an array ------------------------------------------------- */

#define TEST_RING 1024u
#define TEST_TX_RING 64u
#define TEST_TX_FRAME 2048u

struct test_frame {
    const uint8_t *data;
    uint32_t len;
    uint64_t rx_ns;
};

struct test_dev {
    struct sirq_netdev dev; /* first: the driver finds itself by it */
    struct test_frame ring[TEST_RING];
    unsigned head, tail; /* __atomic */
    unsigned masked;     /* 1: no interrupts */
    unsigned acks, masks, unmasks, polls;
    bool fail_open;
    void (*on_unmask)(struct test_dev *dev);   /* what happens in that very moment */
    enum sirq_drop last;                       /* verdict of the last frame */
    uint32_t alike;                            /* > 0: each frame stands for so many */
    uint8_t sent[TEST_TX_RING][TEST_TX_FRAME]; /* frames it was given to send */
    uint32_t sent_len[TEST_TX_RING];
    unsigned nsent;           /* all of them; those beyond the ring are refused */
    unsigned flushes, cleans; /* calls */
    void (*on_tx)(struct test_dev *dev, struct sirq_cpu *cpu); /* in the driver's tx */
};

extern const struct sirq_driver test_driver;

/* Open on h, enabled, unmasked. */
void test_dev_open(struct test_dev *dev, struct net_host *h);
void test_dev_close(struct test_dev *dev, struct sirq_cpu *cpu);
void test_dev_put(struct test_dev *dev, const void *frame, uint32_t len, uint64_t rx_ns);
/* The device's interrupt on `cpu`, if it is not masked.  Runs what it raises. */
void test_dev_interrupt(struct test_dev *dev, struct sirq_cpu *cpu);
/* One frame in, all the way up: its verdict. */
enum sirq_drop test_dev_rx(struct test_dev *dev, struct sirq_cpu *cpu, const void *frame,
                           uint32_t len);

/* Forget what was sent: there is room again. */
void test_dev_sent_clear(struct test_dev *dev);

/* frames == sum(verdict[]) + handled + forwarded + frames on backlogs, and the same of frames to
 * be sent, or the test fails. */
void net_host_check_sums(const struct net_host *h);

#endif
