/* SPDX-License-Identifier: MIT */
/*
 * Frames are copied from a template per flow.  Only the stamp changes, and the UDP checksum
 * with it: the template keeps the sum of all else (RFC 1071 sums in any order and byte
 * order), so a frame costs one copy and a few additions.
 */
#include "frame.h"

#include <arpa/inet.h>
#include <assert.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <string.h>

#define UDP_AT 34u
#define UDP_SUM_AT 40u
#define SOURCE_ADDR 0xc6120001u /* 198.18.0.1 and .2: the range for benchmarks, RFC 2544 */
#define DEST_ADDR 0xc6120002u
#define FIRST_SOURCE_PORT 20000u
#define SOURCE_PORTS 40000u

static uint32_t sum_bytes(const void *data, uint32_t len, uint32_t sum)
{
    const uint8_t *p = data;
    uint16_t word;

    for (; len > 1; len -= 2, p += 2) {
        memcpy(&word, p, 2);
        sum += word;
    }
    if (len) {
        word = 0;
        memcpy(&word, p, 1);
        sum += word;
    }
    return sum;
}

static uint16_t fold(uint32_t sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

/* splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static void build_ip(uint8_t *at, uint32_t len)
{
    struct iphdr ip = {.version = 4,
                       .ihl = 5,
                       .tot_len = htons((uint16_t)len),
                       .frag_off = htons(0x4000), /* don't fragment */
                       .ttl = 64,
                       .protocol = 17,
                       .saddr = htonl(SOURCE_ADDR),
                       .daddr = htonl(DEST_ADDR)};

    ip.check = (uint16_t)~fold(sum_bytes(&ip, sizeof(ip), 0));
    memcpy(at, &ip, sizeof(ip));
}

void sirq_frame_build(struct sirq_frame *frame, unsigned flow, uint32_t len, uint64_t seed)
{
    static const uint8_t macs[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
    struct {
        uint32_t saddr, daddr;
        uint16_t protocol, len;
    } pseudo = {htonl(SOURCE_ADDR), htonl(DEST_ADDR), htons(17), htons((uint16_t)(len - UDP_AT))};
    struct udphdr udp = {
        .source = htons((uint16_t)(FIRST_SOURCE_PORT + mix(seed + flow) % SOURCE_PORTS)),
        .dest = htons((uint16_t)(SIRQ_FLOOD_PORT + flow)),
        .len = pseudo.len,
    };
    uint16_t type = htons(ETH_P_IP);

    assert(len >= SIRQ_FRAME_HEADERS + sizeof(struct sirq_stamp) && len <= SIRQ_FRAME_MAX);
    memset(frame, 0, sizeof(*frame));
    frame->len = len;
    memcpy(frame->bytes, macs, sizeof(macs));
    memcpy(frame->bytes + 12, &type, sizeof(type));
    build_ip(frame->bytes + ETH_HLEN, len - ETH_HLEN);
    memcpy(frame->bytes + UDP_AT, &udp, sizeof(udp));
    frame->sum = sum_bytes(&pseudo, sizeof(pseudo), 0);
    frame->sum = fold(sum_bytes(frame->bytes + UDP_AT, len - UDP_AT, frame->sum));
}

void sirq_frame_write(const struct sirq_frame *frame, void *out, const struct sirq_stamp *stamp)
{
    uint8_t *bytes = out;
    uint16_t check = (uint16_t)~fold(sum_bytes(stamp, sizeof(*stamp), frame->sum));

    memcpy(bytes, frame->bytes, frame->len);
    memcpy(bytes + SIRQ_FRAME_HEADERS, stamp, sizeof(*stamp));
    if (!check)
        check = 0xffff; /* 0 would mean that there is none (RFC 768) */
    memcpy(bytes + UDP_SUM_AT, &check, sizeof(check));
}
