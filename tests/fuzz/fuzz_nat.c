/* SPDX-License-Identifier: MIT */
/*
 * A NAT router between two devices against any packets.  An input is a list of records: a byte
 * that says what, one more, and for some a length and so many bytes:
 *
 *   RAW    an IPv4 packet with these bytes; what the second byte asks for is put right first, or
 *          the transport checksum is left to us (its pseudo-header's sum)
 *   REPLY  the last frame that left by a device comes back, ends exchanged, bytes changed
 *   ERROR  an ICMP error that quotes it comes in, bytes changed
 *   TIME   one to three seconds go by
 *
 * Checked: sums; connections, made, ended and there now, of at most CONNS; no buffer is lost;
 * and of every packet that was passed on: length, TTL, header checksum, that its transport
 * checksum is right if it was, and that no inside address goes outside.  NAT is turned off and on
 * for each input, so that each stands for itself.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/net/nat_env.h"
#include "target.h"

#define CONNS 8u
#define RECORDS 24u
#define PACKET_MAX 300u

enum { RAW, REPLY, ERROR, TIME };
enum { FIX_IP = 1, FIX_L4 = 2, PARTIAL = 4 }; /* bits of RAW's second byte; 8: the device */

struct input {
    const uint8_t *at, *end;
};

static struct router *router;
static uint8_t last[2][TEST_TX_FRAME]; /* IPv4 frame that left by a device */
static uint32_t last_len[2];

/* ---- packets ---------------------------------------------------------------------------- */

/* As the stack sees it: with another length field a datagram's sum is another one. */
static bool l4_right(const uint8_t *ip, uint32_t len)
{
    const uint32_t at = l4_sum_at(ip, len);

    return at != 0 && l4_sum(ip, len, false) == 0xffff &&
           (ip[9] != 17 || frame_get16(ip + at) != 0);
}

static void fix(uint8_t *ip, uint32_t len, unsigned what)
{
    uint32_t at;

    if (len < 20)
        return;
    if (what & FIX_IP) {
        ip[0] = (uint8_t)(0x40 | (hlen_of(ip) < 20 || hlen_of(ip) > len ? 5 : ip[0] & 15));
        frame_put16(ip + 2, len);
    }
    at = hlen_of(ip) <= len ? l4_sum_at(ip, len) : 0;
    if (at != 0 && (what & (FIX_L4 | PARTIAL))) {
        frame_put16(ip + at, 0);
        frame_put16(ip + at, (what & PARTIAL) && ip[9] != 1 ? l4_sum(ip, len, true)
                                                            : 0xffffu & ~l4_sum(ip, len, false));
    }
    if (what & FIX_IP) {
        frame_put16(ip + 10, 0);
        frame_put16(ip + 10, 0xffffu & ~icmp_sum(ip, hlen_of(ip)));
    }
}

/* ---- the router ------------------------------------------------------------------------- */

static void start(void)
{
    const struct sirq_route any = {.dst = sirq_ip_v4(0), .gateway = ip4(US4(1) + 1)};
    void *state;

    CHECK(router_setup(&state) == 0);
    router = state;
    sirq_net_set_forwarding(router->h.net, true);
    CHECK(sirq_route_add(router->h.net, &any, NULL) == 0);
    for (unsigned i = 0; i < 4; i++) { /* who is answered is asked for, and can be resolved */
        const uint32_t host = US4(i / 2) + 1 + i % 2;

        router_rx(router, i / 2, put_ping(router, i / 2, host, US4(i / 2), 8));
    }
}

static void stop(void)
{
    void *state = router;

    router_teardown(&state);
}

static void resolve(void)
{
    for (unsigned dev = 0; dev < 2; dev++) {
        for (uint32_t host = 1; host < 3; host++)
            router_rx(router, dev, put_arp(router, dev, 2, US4(dev) + host, US4(dev)));
        test_dev_sent_clear(&router->dev[dev]);
    }
}

static void check_conns(void)
{
    struct sirq_nat_stats stats;

    sirq_nat_stats(router->h.net, &stats);
    CHECK(stats.conns <= CONNS && stats.conns == stats.created - stats.expired);
}

/* `in` came in at `dev` and was passed on as `out`, by the other device or the same. */
static void check_forwarded(unsigned dev, unsigned by, const uint8_t *in, const uint8_t *out,
                            uint32_t len, bool partial)
{
    const uint8_t *ip = in + IP, *ip_out = out + IP;
    uint32_t hlen = hlen_of(ip);

    CHECK(ip_out[8] + 1 == ip[8] && hlen_of(ip_out) == hlen);
    CHECK(icmp_sum(ip_out, hlen) == 0xffff);
    if (dev == 0 && by == 1)
        CHECK(memcmp(ip_out + 12, &(uint32_t){frame_net32(US4(1))}, 4) == 0);
    if (l4_right(ip, len) || (partial && l4_sum_at(ip, len) != 0 && ip[9] != 1))
        CHECK(l4_right(ip_out, len));
}

static void send_in(unsigned dev, uint32_t len, bool partial)
{
    struct router *r = router;
    unsigned before[2] = {r->dev[0].nsent, r->dev[1].nsent};
    uint8_t in[FRAME_MAX];
    uint32_t total;

    memcpy(r->frame, us_mac[dev], 6);
    frame_put16(r->frame + 12, 0x0800);
    memcpy(in, r->frame, len);
    r->dev[dev].dev.rx_csum_partial = partial;
    router_rx(r, dev, len);
    r->dev[dev].dev.rx_csum_partial = false;
    for (unsigned by = 0; by < 2; by++) {
        const uint8_t *out = r->dev[by].sent[before[by]];

        if (r->dev[by].nsent == before[by] || frame_get16(out + 12) != 0x0800)
            continue;
        last_len[by] = r->dev[by].sent_len[before[by]];
        memcpy(last[by], out, last_len[by]);
        total = frame_get16(in + IP + 2);
        if (r->dev[dev].last == SIRQ_FORWARDED) {
            CHECK(last_len[by] == IP + total);
            check_forwarded(dev, by, in, out, total, partial);
        }
        test_dev_sent_clear(&r->dev[by]);
    }
    check_conns();
}

/* ---- records ---------------------------------------------------------------------------- */

static uint8_t next(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

/* The sum is over the packet's own length only when that was put right. */
static bool left_to_us(unsigned what)
{
    return (what & (FIX_IP | PARTIAL)) == (FIX_IP | PARTIAL);
}

static void raw(struct input *input, uint8_t what)
{
    uint32_t len = next(input);

    if (len > (size_t)(input->end - input->at))
        len = (uint32_t)(input->end - input->at);
    memcpy(router->frame + IP, input->at, len);
    input->at += len;
    fix(router->frame + IP, len, what);
    send_in(what >> 3 & 1, IP + len, left_to_us(what));
}

/* Pairs of place and value, as many as the next byte says. */
static void change(struct input *input, uint32_t len)
{
    unsigned n = next(input) % 4;

    while (n-- > 0) {
        uint32_t place = next(input);

        router->frame[IP + place % (len - IP)] = next(input);
    }
}

static void swap(uint8_t *a, uint8_t *b, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        uint8_t byte = a[i];

        a[i] = b[i];
        b[i] = byte;
    }
}

static void reply(struct input *input, uint8_t what)
{
    unsigned dev = what >> 3 & 1;
    uint8_t *ip = router->frame + IP;
    uint32_t len = last_len[dev];

    if (len < IP + 28)
        return;
    memcpy(router->frame, last[dev], len);
    swap(ip + 12, ip + 16, 4);
    if (ip[9] == 6 || ip[9] == 17)
        swap(ip + hlen_of(ip), ip + hlen_of(ip) + 2, 2);
    else if (ip[hlen_of(ip)] == 8)
        ip[hlen_of(ip)] = 0;
    change(input, len);
    fix(ip, len - IP, what);
    send_in(dev, len, left_to_us(what));
}

static void error(struct input *input, uint8_t what)
{
    static const uint8_t kinds[4] = {3, 4, 11, 12};
    unsigned dev = what >> 3 & 1;
    uint8_t *ip = router->frame + IP;
    uint32_t quote = last_len[dev] >= IP ? last_len[dev] - IP : 0;

    if (quote < 28)
        return;
    if (quote > PACKET_MAX || (what & 0x10))
        quote = 28;
    memset(ip, 0, 28);
    ip[0] = 0x45;
    ip[8] = 64;
    ip[9] = 1;
    frame_put32(ip + 12, US4(dev) + 1);
    memcpy(ip + 16, last[dev] + IP + 12, 4);
    ip[20] = kinds[what >> 5 & 3];
    memcpy(ip + 28, last[dev] + IP, quote);
    change(input, IP + 28 + quote);
    fix(ip, 28 + quote, what);
    send_in(dev, IP + 28 + quote, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sirq_nat_config config = {.max_conns = CONNS,
                                           .port_lo = 1024,
                                           .port_hi = 1029,
                                           .udp_s = 1,
                                           .udp_stream_s = 3,
                                           .tcp_transitory_s = 2,
                                           .tcp_established_s = 4,
                                           .icmp_s = 1};
    struct input input = {data, data + size};
    struct sirq_net_stats stats;
    bool slept = false;

    if (router == NULL) {
        start();
        atexit(stop);
    }
    memset(last_len, 0, sizeof(last_len));
    resolve();
    CHECK(sirq_nat_set(router->h.net, &router->dev[1].dev, &config, NULL) == 0);
    for (unsigned i = 0; i < RECORDS && input.at < input.end; i++) {
        uint8_t kind = next(&input) & 3, what = next(&input);

        if (kind == RAW)
            raw(&input, what);
        else if (kind == REPLY)
            reply(&input, what);
        else if (kind == ERROR)
            error(&input, what);
        else if (!slept) {
            net_host_sleep(&router->h, (what % 3 + 1) * SECOND);
            resolve();
            slept = true;
        }
    }
    check_conns();
    CHECK(sirq_nat_set(router->h.net, NULL, NULL, NULL) == 0);
    stats = router_stats(router);
    CHECK(stats.verdict[SIRQ_DROP_NO_BUFFER] == 0); /* nothing leaks */
    return 0;
}

#ifdef FUZZ_REPLAY
int main(int argc, char **argv)
{
    struct sirq_net_stats stats;
    unsigned files = replay(argc, argv);

    stats = router_stats(router);
    printf("%u inputs, %llu frames, %llu passed on\n", files, (unsigned long long)stats.frames,
           (unsigned long long)stats.forwarded);
    CHECK(stats.forwarded > 0);
    return 0;
}
#endif
