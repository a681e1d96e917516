/* SPDX-License-Identifier: MIT */
/* See frames.h.  The checksum here is the plain 16-bit one, a check on the fast one. */
#include <string.h>

#include "frames.h"

void frame_put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

void frame_put32(uint8_t *p, uint32_t v)
{
    frame_put16(p, v >> 16);
    frame_put16(p + 2, v & 0xffff);
}

uint32_t frame_get16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

uint32_t frame_net32(uint32_t host_order)
{
    uint8_t bytes[4];
    uint32_t v;

    frame_put32(bytes, host_order);
    memcpy(&v, bytes, 4);
    return v;
}

static uint32_t sum16(uint32_t sum, const uint8_t *p, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
    return sum;
}

static uint32_t finish(uint32_t sum)
{
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

void frame_fix_ip(uint8_t *frame)
{
    uint8_t *ip = frame + FRAME_IP;

    frame_put16(ip + 10, 0);
    frame_put16(ip + 10, finish(sum16(0, ip, (ip[0] & 15u) * 4)));
}

void frame_fix_udp(uint8_t *frame)
{
    uint8_t *ip = frame + FRAME_IP, *udp = ip + (ip[0] & 15u) * 4;
    uint32_t len = frame_get16(udp + 4), sum;

    frame_put16(udp + 6, 0);
    sum = finish(sum16(17 + len + sum16(0, ip + 12, 8), udp, len));
    frame_put16(udp + 6, sum != 0 ? sum : 0xffff);
}

uint32_t frame_build(uint8_t *buf, const struct frame_spec *spec)
{
    uint8_t *ip = buf + FRAME_IP, *udp = ip + 20 + spec->options;
    uint32_t udp_len = 8 + spec->payload, total = 20 + spec->options + udp_len;

    memset(buf, 0xee, FRAME_MAX);
    frame_put16(buf + 12, 0x0800);
    memset(ip, 0, 20);
    ip[0] = (uint8_t)(0x40 | (5 + spec->options / 4));
    frame_put16(ip + 2, total);
    ip[8] = 64;
    ip[9] = 17;
    frame_put32(ip + 12, spec->saddr != 0 ? spec->saddr : FRAME_SADDR);
    frame_put32(ip + 16, spec->daddr != 0 ? spec->daddr : FRAME_DADDR);
    memset(ip + 20, 1, spec->options); /* no operation */
    frame_put16(udp, spec->sport != 0 ? spec->sport : FRAME_SPORT);
    frame_put16(udp + 2, spec->dport != 0 ? spec->dport : FRAME_DPORT);
    frame_put16(udp + 4, udp_len);
    frame_put16(udp + 6, 0);
    for (uint32_t i = 0; i < spec->payload; i++)
        udp[8 + i] = (uint8_t)(i * 7 + 3);
    frame_fix_ip(buf);
    if (!spec->no_csum)
        frame_fix_udp(buf);
    return FRAME_IP + total + spec->padding;
}
