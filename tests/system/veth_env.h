/* SPDX-License-Identifier: MIT */
/*
 * What tests of drivers over a real veth pair share: a network namespace of the test's own with
 * sq0 (the test sends here) and sq1 (the driver's), a stand-in for the stack, and a host.
 * Included once, by the test.
 */
#ifndef SIRQ_TESTS_VETH_ENV_H
#define SIRQ_TESTS_VETH_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <sirq/driver.h>

#include "netns_env.h"

#define ETHERTYPE 0x88b5 /* local experimental: nobody else's frames are counted */
#define HEADER 14u

/* What the stack was given; frames of other types are the machine's own (`others`). */
static struct {
    uint64_t frames, others, disorder, partial;
    uint32_t last_seq, len;
    uint64_t rx_ns;
} sink;

static int sender = -1;
static struct sirq_netdev dev;
static unsigned masks, unmasks;

enum sirq_drop sirq_net_rx(struct sirq_cpu *cpu, struct sirq_netdev *netdev, const uint8_t *frame,
                           uint32_t len, uint64_t rx_ns)
{
    uint32_t seq;

    (void)cpu;
    sink.partial += netdev->rx_csum_partial;
    if (len < HEADER + sizeof(seq) || frame[12] != ETHERTYPE >> 8 ||
        frame[13] != (ETHERTYPE & 0xff)) {
        sink.others++;
        return SIRQ_DROP_ETH_TYPE;
    }
    memcpy(&seq, frame + HEADER, sizeof(seq));
    sink.frames++;
    sink.disorder += seq <= sink.last_seq;
    sink.last_seq = seq;
    sink.len = len;
    sink.rx_ns = rx_ns;
    return SIRQ_DELIVERED;
}

static uint64_t host_now_ns(const struct sirq_cpu *cpu)
{
    struct timespec ts;

    (void)cpu;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void host_irq_mask(struct sirq_irq *irq)
{
    assert_ptr_equal(irq, &dev.irq);
    masks++;
}

static void host_irq_unmask(struct sirq_irq *irq)
{
    assert_ptr_equal(irq, &dev.irq);
    unmasks++;
}

static const struct sirq_host host = {
    .now_ns = host_now_ns, .irq_mask = host_irq_mask, .irq_unmask = host_irq_unmask};

/* A frame to everybody from `fd`, with its number. */
static void send_seq_to(int fd, uint32_t seq, size_t len)
{
    uint8_t frame[4096] = {0};

    memset(frame, 0xff, 12);
    frame[12] = ETHERTYPE >> 8;
    frame[13] = ETHERTYPE & 0xff;
    memcpy(frame + HEADER, &seq, sizeof(seq));
    assert_int_equal(send(fd, frame, len, 0), len);
}

static int open_sender_on(const char *ifname)
{
    struct sockaddr_ll addr = {.sll_family = AF_PACKET, .sll_protocol = htons(ETHERTYPE)};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

    addr.sll_ifindex = (int)if_nametoindex(ifname);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    return fd;
}

static int rx_poll(int budget)
{
    return dev.driver->rx_poll(NULL, &dev, budget);
}

static struct sirq_netdev_stats stats(void)
{
    struct sirq_netdev_stats out = {0};

    dev.driver->stats(&dev, &out);
    return out;
}

static bool wait_irq(int timeout_ms)
{
    struct pollfd pfd = {.fd = dev.irq.fd, .events = POLLIN};

    return poll(&pfd, 1, timeout_ms) == 1;
}

/* Take what comes until `n` frames are there or nothing has come for a second. */
static void receive(uint64_t n, int budget)
{
    while (sink.frames + sink.others < n && wait_irq(1000))
        rx_poll(budget);
}

/* Of all sizes, 5,000 of them, taken `budget` at most in a poll. */
static inline void many_frames_keep_order_and_sums(int budget)
{
    uint32_t seq = 0;

    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 25; i++, seq++)
            send_seq_to(sender, seq + 1, 60 + seq % 1455);
        receive(seq, budget);
    }
    assert_int_equal(sink.frames, seq);
    assert_int_equal(sink.disorder, 0);
    assert_int_equal(stats().rx_packets, seq);
    assert_int_equal(stats().rx_dropped, 0);
    assert_int_equal(stats().rx_waiting, 0);
    assert_int_equal(stats().rx_errors, 0);
}

static int dev_open(const char *driver, const struct sirq_netdev_config *config)
{
    struct sirq_error err = {""};
    int rc;

    memset(&sink, 0, sizeof(sink));
    dev = (struct sirq_netdev){.driver = sirq_driver_find(driver), .host = &host};
    rc = dev.driver->open(&dev, config, &err);
    if (rc < 0)
        print_message("%s\n", err.text);
    return rc;
}

/* Opening it gives `rc` and a text with `word` in it, and leaves no descriptor open. */
static void open_refused(const char *driver, const struct sirq_netdev_config *config, int rc,
                         const char *word)
{
    struct sirq_netdev other = {.driver = sirq_driver_find(driver), .host = &host};
    struct sirq_error err = {""};
    int fd = dup(0);

    close(fd);
    assert_int_equal(other.driver->open(&other, config, &err), rc);
    if (!strstr(err.text, word))
        fail_msg("\"%s\" does not say \"%s\"", err.text, word);
    assert_null(other.priv);
    assert_int_equal(dup(0), fd);
    close(fd);
}

#endif
