/* SPDX-License-Identifier: MIT */
/*
 * The receive path against any bytes: a real core, a stack, a device, a socket bound to
 * any address and one bound to one.  An input is one frame, or several: its first byte
 * says how many (1 to 4), the rest is split evenly.
 *
 * With -DFUZZ_ROUTER the stack has addresses of both kinds and forwards.
 *
 * Checked for each input: the verdict is one of the list and was counted once, frames ==
 * sum(verdict[]), and what was delivered is received, once, with a payload that lies in
 * its frame.  With clang this is a libFuzzer target; with -DFUZZ_REPLAY it runs the files
 * and folders given to it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sirq/inet.h>

#include "../unit/net/frames.h"
#include "../unit/net/net_host.h"
#include "target.h"

static struct net_host host;
static struct test_dev dev;
static struct sirq_socket *sock[2];

#ifdef FUZZ_ROUTER
static void make_router(void)
{
    static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
    const struct sirq_ip us4 = sirq_ip_v4(frame_net32(FRAME_DADDR)),
                         us6 = {{0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
    const struct sirq_route any = {.dst = sirq_ip_v4(0),
                                   .gateway = sirq_ip_v4(frame_net32(FRAME_SADDR))};

    CHECK(sirq_netdev_set_mac(&dev.dev, mac, NULL) == 0);
    CHECK(sirq_netdev_addr_add(&dev.dev, &us4, 24, NULL) == 0);
    CHECK(sirq_netdev_addr_add(&dev.dev, &us6, 64, NULL) == 0);
    CHECK(sirq_route_add(host.net, &any, NULL) == 0);
    sirq_net_set_forwarding(host.net, true);
}
#endif

static void start(void)
{
#ifdef FUZZ_ROUTER
    const struct sirq_net_config config = {0}; /* more than all neighbours' queues hold */
#else
    const struct sirq_net_config config = {.pool_packets = 16};
#endif
    const struct sirq_socket_config any = {.port = FRAME_DPORT, .rcvbuf = 4096};
    const struct sirq_socket_config one = {
        .addr = frame_net32(FRAME_DADDR), .port = 53, .rcvbuf = 4096};

    net_host_init(&host, &config);
    test_dev_open(&dev, &host);
#ifdef FUZZ_ROUTER
    make_router();
#endif
    CHECK(sirq_socket_open(host.net, &any, &sock[0]) == 0);
    CHECK(sirq_socket_open(host.net, &one, &sock[1]) == 0);
}

static void stop(void)
{
    for (unsigned i = 0; i < 2; i++)
        sirq_socket_close(sock[i]);
    test_dev_close(&dev, &host.cpu[0]);
    net_host_fini(&host);
}

/* Everything queued comes out, and is a piece of `data`. */
static unsigned drain(const uint8_t *data, size_t size)
{
    static uint8_t buf[SIRQ_PKT_PAYLOAD_MAX];
    unsigned total = 0;

    for (unsigned i = 0; i < 2; i++) {
        struct sirq_msg msg = {.buf = buf, .size = sizeof(buf)};

        while (sirq_recv(sock[i], &msg, 1, 0) == 1) {
            CHECK(msg.len <= sizeof(buf) && msg.len + FRAME_DATA <= size);
            CHECK(msg.dport == (i == 0 ? FRAME_DPORT : 53));
            CHECK(msg.len == 0 || memmem(data, size, buf, msg.len) != NULL);
            total++;
        }
    }
    return total;
}

/* The frames in memory of their own, so that ASan sees a read beyond their ends. */
static void put_frames(uint8_t **frame, const uint8_t *data, size_t size, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        size_t from = size * i / n, len = size * (i + 1) / n - from;

        frame[i] = malloc(len != 0 ? len : 1);
        CHECK(frame[i] != NULL);
        memcpy(frame[i], data + from, len);
        test_dev_put(&dev, frame[i], (uint32_t)len, i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sirq_net_stats before, after;
    uint8_t *frame[4];
    unsigned n, taken;

    if (host.net == NULL) {
        start();
        atexit(stop);
    }
    if (size == 0)
        return 0;
    n = data[0] % 4 + 1;
    sirq_net_stats_sum(host.net, &before);
    put_frames(frame, data + 1, size - 1, n);
    test_dev_interrupt(&dev, &host.cpu[0]);
    CHECK(dev.head == dev.tail && dev.masked == 0);
    for (unsigned i = 0; i < n; i++)
        free(frame[i]);
    test_dev_sent_clear(&dev);
    taken = drain(data + 1, size - 1);
    sirq_net_stats_sum(host.net, &after);
    CHECK(after.frames - before.frames == n);
    CHECK(after.verdict[SIRQ_DELIVERED] - before.verdict[SIRQ_DELIVERED] == taken);
    CHECK(after.verdict[SIRQ_DROP_NO_BUFFER] == 0); /* nothing leaks */
    net_host_check_sums(&host);
    return 0;
}

#ifdef FUZZ_REPLAY
int main(int argc, char **argv)
{
    struct sirq_net_stats stats;
    unsigned files = replay(argc, argv);

    sirq_net_stats_sum(host.net, &stats);
    printf("%u inputs, %llu frames\n", files, (unsigned long long)stats.frames);
    for (unsigned v = 0; v < SIRQ_NR_DROPS; v++)
        printf("  %-12s %llu\n", sirq_drop_name((enum sirq_drop)v),
               (unsigned long long)stats.verdict[v]);
    return 0;
}
#endif
