/* SPDX-License-Identifier: MIT */
/*
 * The wire into a veth pair: an AF_PACKET socket past the queueing discipline, many frames
 * a call.  The other end's softirq runs in the sender's context, on the sender's CPU.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

struct packet_wire {
    int fd;
    struct mmsghdr msg[SIRQ_WIRE_BURST];
    struct iovec iov[SIRQ_WIRE_BURST];
    uint8_t bytes[SIRQ_WIRE_BURST][SIRQ_FRAME_MAX];
};

static int packet_socket(const struct sirq_netns_use *use, struct sirq_error *err)
{
    struct sockaddr_ll to = {.sll_family = AF_PACKET,
                             .sll_ifindex = (int)if_nametoindex(SIRQ_VETH_TX)};
    int one = 1, code, fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return sirq_fail(err, errno,
                         "%s: the sender gets no AF_PACKET socket: %s; it needs CAP_NET_RAW, or "
                         "use %s",
                         use->option, strerror(errno), use->instead);
    if (!bind(fd, (struct sockaddr *)&to, sizeof(to)) &&
        !setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
        return fd;
    code = errno;
    close(fd);
    return sirq_fail(err, code, "%s: the sender cannot use %s: %s", use->option, SIRQ_VETH_TX,
                     strerror(code));
}

static int packet_open_wire(struct sirq_wire *wire, const struct sirq_wire_config *config,
                            struct sirq_error *err)
{
    struct packet_wire *packet = calloc(1, sizeof(*packet));

    if (!packet)
        return sirq_fail(err, ENOMEM, "out of memory");
    packet->fd = packet_socket(config->use, err);
    if (packet->fd < 0) {
        int rc = packet->fd;

        free(packet);
        return rc;
    }
    for (unsigned i = 0; i < SIRQ_WIRE_BURST; i++) {
        packet->iov[i].iov_base = packet->bytes[i];
        packet->msg[i].msg_hdr.msg_iov = &packet->iov[i];
        packet->msg[i].msg_hdr.msg_iovlen = 1;
    }
    wire->priv = packet;
    return 0;
}

static uint64_t packet_burst(struct sirq_wire *wire, uint64_t due)
{
    struct packet_wire *packet = wire->priv;
    unsigned n = due < SIRQ_WIRE_BURST ? (unsigned)due : SIRQ_WIRE_BURST, done = 0;
    struct timespec ts;
    uint64_t now;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
    for (unsigned i = 0; i < n; i++)
        packet->iov[i].iov_len = sirq_wire_next(wire, packet->bytes[i], now);
    while (done < n) {
        int sent = sendmmsg(packet->fd, packet->msg + done, n - done, 0);

        if (sent > 0) /* it ends at a frame that the device lost, and counted */
            done += (unsigned)sent + (done + (unsigned)sent < n);
        else if (errno == ENOBUFS)
            done++; /* the device lost this one, and counts it */
        else if (errno != EINTR)
            break;
    }
    return done;
}

const struct sirq_wire_ops sirq_wire_packet = {
    .name = "packet",
    .open = packet_open_wire,
    .burst = packet_burst,
    .blocks = true,
};
