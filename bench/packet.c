/* SPDX-License-Identifier: MIT */
/*
 * What a packet costs, for the record: a 64-byte frame from Ethernet header to socket queue
 * (a poll of 64), and a datagram's share of a
 * receive call that takes 64.  The device is there for its identity alone; its ring is not
 * timed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "bench.h"

#define FRAMES 64u
#define FRAME_LEN 64u
#define PORT 9000u
#define ROUNDS 400u /* per scale */

static struct {
    struct sirq_net *net;
    struct sirq_netdev dev;
    struct sirq_socket *sock;
    struct sirq_cpu *cpu;
    struct sirq_napi napi;
    uint8_t frame[FRAME_LEN];
    uint64_t feed_ns, recv_ns;
} path;

static uint16_t ip_checksum(const uint8_t *header)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < 20; i += 2)
        sum += (uint32_t)header[i] << 8 | header[i + 1];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

/* UDP checksum 0: none, as a sender may choose (RFC 768). */
static void build_frame(void)
{
    static const uint8_t ip[20] = {0x45, 0, 0,  46, 0, 0, 0,  0, 64, 17,
                                   0,    0, 10, 0,  0, 2, 10, 0, 0,  1};
    uint8_t *at = path.frame;
    uint16_t sum;

    memset(at, 0, FRAME_LEN);
    at[12] = 0x08;
    memcpy(at + 14, ip, sizeof(ip));
    sum = htons(ip_checksum(at + 14));
    memcpy(at + 24, &sum, sizeof(sum));
    at[34] = 0x30; /* source port 12288 */
    at[36] = PORT >> 8;
    at[37] = PORT & 0xff;
    at[39] = 26; /* 8 + 18 bytes of payload */
}

static int poll(struct sirq_cpu *cpu, struct sirq_napi *napi, int budget)
{
    uint64_t start = bench_now_ns();

    if (budget < (int)FRAMES)
        bench_die("packet: budget", EPROTO);
    for (unsigned i = 0; i < FRAMES; i++)
        if (sirq_net_rx(cpu, &path.dev, path.frame, FRAME_LEN, start) != SIRQ_DELIVERED)
            bench_die("packet: a frame was dropped", EPROTO);
    path.feed_ns += bench_now_ns() - start;
    sirq_napi_complete_done(cpu, napi, FRAMES);
    return FRAMES;
}

static void turn(void)
{
    static char room[FRAMES][128];
    struct sirq_msg msgs[FRAMES];
    uint64_t start;
    int got;

    sirq_bh_disable(path.cpu);
    sirq_napi_schedule(path.cpu, &path.napi);
    sirq_bh_enable(path.cpu);
    for (unsigned i = 0; i < FRAMES; i++)
        msgs[i] = (struct sirq_msg){.buf = room[i], .size = sizeof(room[i])};
    start = bench_now_ns();
    got = sirq_recv(path.sock, msgs, FRAMES, 0);
    path.recv_ns += bench_now_ns() - start;
    if (got != (int)FRAMES)
        bench_die("packet: not all were received", EPROTO);
}

static void open_path(struct sirq_live *live, const struct bench_options *options)
{
    const struct sirq_socket_config port = {.port = PORT};
    const struct sirq_netdev_config device = {0};
    struct sirq_core *core = sirq_live_core(live);
    struct sirq_error err;
    int ret = sirq_net_create(&path.net, core, NULL);

    path.cpu = sirq_live_cpu(live, options->cpu);
    if (ret == 0)
        ret = sirq_netdev_open(&path.dev, path.net, sirq_driver_find("shm"), &device, &err);
    if (ret == 0)
        ret = sirq_socket_open(path.net, &port, &path.sock);
    if (ret == 0)
        ret = sirq_live_thread_register(live, (int)options->cpu, NULL, &err);
    if (ret != 0)
        bench_die("packet", -ret);
    build_frame();
    sirq_napi_init(&path.napi, poll, FRAMES + 1);
    sirq_napi_enable(&path.napi);
}

static void measure(const struct bench_options *options, struct sirq_live *live)
{
    struct bench_series fed = {0}, received = {0};
    unsigned rounds = ROUNDS * options->scale;
    uint64_t start = bench_now_ns();

    open_path(live, options);
    for (unsigned run = 0; run < options->runs && !bench_late(options, start, 1); run++) {
        path.feed_ns = path.recv_ns = 0;
        for (unsigned i = 0; i < rounds; i++)
            turn();
        bench_add(&fed, (double)path.feed_ns / rounds / FRAMES);
        bench_add(&received, (double)path.recv_ns / rounds / FRAMES);
    }
    sirq_napi_disable(path.cpu, &path.napi);
    sirq_live_thread_unregister(live);
    sirq_socket_close(path.sock);
    sirq_netdev_close(&path.dev);
    sirq_net_destroy(path.net);
    bench_row("packet", "64-byte frame", "-", "parsed and queued, of 64", "ns", BENCH_LESS, &fed,
              NULL);
    bench_row("packet", "datagram", "-", "share of sirq_recv of 64", "ns", BENCH_LESS, &received,
              NULL);
}

void bench_packet(const struct bench_options *options)
{
    bench_with_engine(options, measure);
}
