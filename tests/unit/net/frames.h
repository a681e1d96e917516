/* SPDX-License-Identifier: MIT */
/* Frames for tests: a good UDP datagram, to be spoilt by the test. */
#ifndef SIRQ_TESTS_FRAMES_H
#define SIRQ_TESTS_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#define FRAME_MAX 4096u
#define FRAME_SADDR 0x0a000001u /* 10.0.0.1, host order */
#define FRAME_DADDR 0x0a000002u
#define FRAME_SPORT 4000u
#define FRAME_DPORT 5000u
#define FRAME_IP 14u /* offset of the IP header; of the UDP header without options: */
#define FRAME_UDP 34u
#define FRAME_DATA 42u

struct frame_spec {
    uint32_t saddr, daddr; /* host order; 0: as above */
    uint16_t sport, dport; /* 0: as above */
    uint32_t payload;      /* bytes */
    uint32_t options;      /* bytes of IP options, a multiple of 4 up to 40 */
    uint32_t padding;      /* bytes after the packet */
    bool no_csum;          /* UDP checksum 0 */
};

/* Build into buf (FRAME_MAX bytes); returns the length. */
uint32_t frame_build(uint8_t *buf, const struct frame_spec *spec);

/* Put right the header checksum of the IPv4 packet in `frame` / its UDP checksum. */
void frame_fix_ip(uint8_t *frame);
void frame_fix_udp(uint8_t *frame);

void frame_put16(uint8_t *p, uint32_t v);
void frame_put32(uint8_t *p, uint32_t v);
uint32_t frame_get16(const uint8_t *p);
uint32_t frame_net32(uint32_t host_order);

#endif
