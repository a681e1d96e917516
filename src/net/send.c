/* SPDX-License-Identifier: MIT */
/*
 * send.c - the sender's side of a socket.
 *
 * A call's datagrams are built in packet buffers and leave as one batch, in one bottom-half
 * section of the CPU that the caller runs on (of the first one when it runs on none).  Its end
 * runs what is pending there, as the end of sendmsg(2) does inside the kernel.
 */
#define SIRQ_NET_INTERNAL
#include <errno.h>
#include <limits.h>

#include "checksum.h"
#include "inet.h"

static bool ours(const struct sirq_net *net, const struct sirq_ip *addr)
{
    const struct sirq_hop *hop = sirq_route_lookup(net, addr);

    return hop != NULL && hop->type == SIRQ_HOP_LOCAL;
}

/* The source address: the message's, else the socket's, else the route's.  0 or -errno. */
static int source_of(const struct sirq_socket *sock, const struct sirq_msg *msg,
                     const struct sirq_hop *hop, uint32_t *saddr)
{
    struct sirq_ip ip;

    *saddr = msg->saddr != 0 ? msg->saddr : sock->addr;
    ip = sirq_ip_v4(*saddr);
    if (*saddr != 0)
        return ours(sock->net, &ip) ? 0 : -EADDRNOTAVAIL;
    if (!sirq_ip_is_v4(&hop->src))
        return -EADDRNOTAVAIL;
    *saddr = sirq_load32_net(hop->src.b + 12);
    return 0;
}

/* A checksum that comes out as 0 is sent as all ones: 0 says that there is none. */
static void udp_header(uint8_t *udp, const struct sirq_socket *sock, const struct sirq_msg *msg,
                       uint32_t saddr)
{
    uint32_t len = SIRQ_UDP_HLEN + msg->len;
    uint16_t sum;

    sirq_store16(udp, sock->port);
    sirq_store16(udp + 2, msg->dport);
    sirq_store16(udp + 4, len);
    sirq_store16(udp + 6, 0);
    sum = (uint16_t)~sirq_csum_pseudo(saddr, msg->daddr, SIRQ_PROTO_UDP, udp, len);
    if (sum == 0)
        sum = 0xffff;
    memcpy(udp + 6, &sum, 2);
}

static int send_one(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, const struct sirq_socket *sock,
                    const struct sirq_msg *msg)
{
    const struct sirq_ip dst = sirq_ip_v4(msg->daddr);
    const struct sirq_hop *hop = sirq_route_lookup(nc->net, &dst);
    uint32_t total = SIRQ_IP4_HLEN + SIRQ_UDP_HLEN + msg->len, saddr, idx;
    struct sirq_pkt *pkt;
    uint8_t *udp;
    int rc;

    if (hop == NULL || hop->type == SIRQ_HOP_LOCAL)
        return -ENETUNREACH;
    if (msg->dport == 0 || (msg->len > 0 && msg->buf == NULL))
        return -EINVAL;
    if (msg->len > SIRQ_PKT_PAYLOAD_MAX ||
        total > __atomic_load_n(&hop->dev->mtu, __ATOMIC_RELAXED))
        return -EMSGSIZE;
    rc = source_of(sock, msg, hop, &saddr);
    if (rc != 0)
        return rc;
    pkt = sirq_tx_alloc(nc, &idx);
    if (pkt == NULL)
        return -ENOBUFS;
    udp = pkt->data + SIRQ_TX_L3 + SIRQ_IP4_HLEN;
    if (msg->len > 0)
        memcpy(udp + SIRQ_UDP_HLEN, msg->buf, msg->len);
    udp_header(udp, sock, msg, saddr);
    pkt->len = (uint16_t)total;
    sirq_ip4_header(pkt, saddr, msg->daddr, SIRQ_PROTO_UDP);
    sirq_hop_output(cpu, nc, hop, &dst, idx);
    return 0;
}

int sirq_send(struct sirq_socket *sock, const struct sirq_msg *msgs, unsigned n)
{
    struct sirq_core *core;
    struct sirq_cpu *cpu;
    unsigned sent = 0;
    int rc = 0;

    if (sock == NULL || msgs == NULL || n == 0 || n > INT_MAX)
        return -EINVAL;
    core = sock->net->core;
    cpu = core->host->this_cpu(core);
    if (core->host->ctx()->hardirq_depth != 0 || (cpu != NULL && sirq_in_softirq(cpu)))
        return -EDEADLK;
    if (cpu == NULL)
        cpu = sirq_any_online(core);
    sirq_bh_disable(cpu);
    while (sent < n && rc == 0) {
        rc = send_one(cpu, sirq_net_cpu(cpu), sock, &msgs[sent]);
        sent += rc == 0;
    }
    sirq_tx_flush(cpu, sirq_net_cpu(cpu));
    sirq_bh_enable(cpu);
    return sent > 0 ? (int)sent : rc;
}
