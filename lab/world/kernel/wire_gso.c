/* SPDX-License-Identifier: MIT */
/*
 * A wire that is faster than what it feeds.  To send a frame through an AF_PACKET socket costs a
 * CPU more than to receive it, so plain frames never flood another CPU.  Here a call's frame holds
 * several datagrams of a flow, one behind the other, and asks for UDP segmentation offload: the
 * receiving side's softirq cuts it into packets, each with a socket buffer of its own, as a NIC's
 * driver does when it polls.
 */
#include "wire_gso.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

#define IP_AT 14u
#define UDP_AT 34u
#define CALL 32u           /* frames */
#define SNDBUF (256 << 20) /* never full: a sender that waits for its receiver is no flood */
#define ROOM (SIRQ_FRAME_HEADERS + SIRQ_GSO_DATAGRAMS * (SIRQ_FRAME_MAX - SIRQ_FRAME_HEADERS))

struct super {
    struct virtio_net_hdr vnet;
    uint8_t bytes[ROOM];
};

struct gso_wire {
    int fd;
    uint32_t len, payload; /* of a frame, of a datagram */
    struct mmsghdr msg[CALL];
    struct iovec iov[CALL];
    struct super frame[CALL];
    uint8_t headers[SIRQ_WIRE_FLOWS][SIRQ_FRAME_HEADERS];
};

static uint16_t sum(const void *data, uint32_t len, uint32_t start)
{
    const uint8_t *p = data;
    uint32_t total = start;

    for (uint32_t i = 0; i + 1 < len; i += 2)
        total += (uint32_t)p[i] << 8 | p[i + 1];
    while (total >> 16)
        total = (total & 0xffff) + (total >> 16);
    return (uint16_t)total;
}

/* The flow's own headers, with the lengths of all datagrams together.  The UDP checksum is what
 * the kernel goes on from: the pseudo header's (RFC 768), not inverted. */
static void build_headers(struct gso_wire *gso, uint8_t *to, const struct sirq_frame *frame)
{
    uint16_t udp_len = (uint16_t)(gso->len - UDP_AT);
    struct iphdr ip;
    struct udphdr udp;

    memcpy(to, frame->bytes, SIRQ_FRAME_HEADERS);
    memcpy(&ip, to + IP_AT, sizeof(ip));
    memcpy(&udp, to + UDP_AT, sizeof(udp));
    ip.tot_len = htons((uint16_t)(gso->len - IP_AT));
    ip.check = 0;
    ip.check = htons((uint16_t)~sum(&ip, sizeof(ip), 0));
    udp.len = htons(udp_len);
    udp.check = htons(sum(&ip.saddr, 8, 17u + udp_len));
    memcpy(to + IP_AT, &ip, sizeof(ip));
    memcpy(to + UDP_AT, &udp, sizeof(udp));
}

static int gso_socket(const struct sirq_netns_use *use, struct sirq_error *err)
{
    struct sockaddr_ll to = {.sll_family = AF_PACKET,
                             .sll_ifindex = (int)if_nametoindex(SIRQ_VETH_TX)};
    int one = 1, room = SNDBUF, code, fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

    if (fd >= 0 && !bind(fd, (struct sockaddr *)&to, sizeof(to)) &&
        !setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) &&
        !setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)) &&
        !setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)))
        return fd;
    code = errno;
    if (fd >= 0)
        close(fd);
    return sirq_fail(err, code, "%s: the sender cannot use %s: %s", use->option, SIRQ_VETH_TX,
                     strerror(code));
}

static void gso_prepare(struct sirq_wire *wire, struct gso_wire *gso)
{
    gso->payload = wire->frame[0].len - SIRQ_FRAME_HEADERS;
    gso->len = SIRQ_FRAME_HEADERS + SIRQ_GSO_DATAGRAMS * gso->payload;
    for (unsigned i = 0; i < wire->flows; i++)
        build_headers(gso, gso->headers[i], &wire->frame[i]);
    for (unsigned i = 0; i < CALL; i++) {
        gso->frame[i].vnet = (struct virtio_net_hdr){.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
                                                     .gso_type = VIRTIO_NET_HDR_GSO_UDP_L4,
                                                     .hdr_len = SIRQ_FRAME_HEADERS,
                                                     .gso_size = (uint16_t)gso->payload,
                                                     .csum_start = UDP_AT,
                                                     .csum_offset = 6};
        gso->iov[i] = (struct iovec){&gso->frame[i], sizeof(gso->frame[i].vnet) + gso->len};
        gso->msg[i].msg_hdr.msg_iov = &gso->iov[i];
        gso->msg[i].msg_hdr.msg_iovlen = 1;
    }
}

static int gso_open(struct sirq_wire *wire, const struct sirq_wire_config *config,
                    struct sirq_error *err)
{
    struct gso_wire *gso = calloc(1, sizeof(*gso));

    if (!gso)
        return sirq_fail(err, ENOMEM, "out of memory");
    gso->fd = gso_socket(config->use, err);
    if (gso->fd < 0) {
        int rc = gso->fd;

        free(gso);
        return rc;
    }
    gso_prepare(wire, gso);
    wire->priv = gso;
    return 0;
}

static void gso_fill(struct sirq_wire *wire, struct super *frame, uint64_t now)
{
    const struct gso_wire *gso = wire->priv;
    unsigned flow = wire->next;

    wire->next = flow + 1 == wire->flows ? 0 : flow + 1;
    memcpy(frame->bytes, gso->headers[flow], SIRQ_FRAME_HEADERS);
    for (unsigned i = 0; i < SIRQ_GSO_DATAGRAMS; i++) {
        struct sirq_stamp stamp = {++wire->seq[flow], now};

        memcpy(frame->bytes + SIRQ_FRAME_HEADERS + i * gso->payload, &stamp, sizeof(stamp));
    }
}

static uint64_t gso_burst(struct sirq_wire *wire, uint64_t due)
{
    struct gso_wire *gso = wire->priv;
    unsigned n = (unsigned)((due + SIRQ_GSO_DATAGRAMS - 1) / SIRQ_GSO_DATAGRAMS), done = 0;
    struct timespec ts;
    uint64_t now;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
    if (due >= CALL * SIRQ_GSO_DATAGRAMS)
        n = CALL;
    for (unsigned i = 0; i < n; i++)
        gso_fill(wire, &gso->frame[i], now);
    while (done < n) {
        int sent = sendmmsg(gso->fd, gso->msg + done, n - done, 0);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno != ENOBUFS)
            break; /* it does not take such frames at all */
        /* The call ends at a frame that the device lost, and counted. */
        done += (unsigned)(sent > 0 ? sent : 0);
        done += done < n;
    }
    return (uint64_t)done * SIRQ_GSO_DATAGRAMS;
}

const struct sirq_wire_ops sirq_wire_gso = {
    .name = "gso",
    .open = gso_open,
    .burst = gso_burst,
    .blocks = true,
};
