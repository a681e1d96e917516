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

/* Where a datagram goes from and to. */
struct path {
    struct sirq_ip src, dst;
    const struct sirq_hop *hop;
    bool v6;
};

/* The source address: the message's, else the socket's, else the route's.  0 or -errno. */
static int find_path(const struct sirq_socket *sock, const struct sirq_msg *msg, struct path *path)
{
    path->v6 = sock->v6;
    path->dst = sock->v6 ? msg->daddr6 : sirq_ip_v4(msg->daddr);
    if (sock->v6 && (sirq_ip_is_v4(&path->dst) || sirq_ip_none(&path->dst)))
        return -EINVAL;
    path->hop = sirq_route_lookup(sock->net, &path->dst);
    if (path->hop == NULL || path->hop->type == SIRQ_HOP_LOCAL)
        return -ENETUNREACH;
    if (sock->v6)
        path->src = sirq_ip_none(&msg->saddr6) ? sock->addr6 : msg->saddr6;
    else if (msg->saddr != 0 || sock->addr != 0)
        path->src = sirq_ip_v4(msg->saddr != 0 ? msg->saddr : sock->addr);
    else
        path->src = (struct sirq_ip){{0}};
    if (!sirq_ip_none(&path->src))
        return ours(sock->net, &path->src) ? 0 : -EADDRNOTAVAIL;
    path->src = path->hop->src;
    return sirq_ip_none(&path->src) ? -EADDRNOTAVAIL : 0;
}

/* A checksum that comes out as 0 is sent as all ones: 0 says that there is none. */
static void udp_header(struct sirq_pkt *pkt, uint8_t *udp, const struct sirq_socket *sock,
                       const struct sirq_msg *msg, const struct path *path)
{
    uint32_t len = SIRQ_UDP_HLEN + msg->len, saddr, daddr;
    uint16_t sum;

    sirq_store16(udp, sock->port);
    sirq_store16(udp + 2, msg->dport);
    sirq_store16(udp + 4, len);
    sirq_store16(udp + 6, 0);
    if (path->v6) {
        sirq_ip6_header(pkt, &path->src, &path->dst, SIRQ_PROTO_UDP, SIRQ_TTL);
        sum = sirq_ip6_csum(pkt->data + SIRQ_TX_L3, SIRQ_PROTO_UDP, udp, len);
    } else {
        saddr = sirq_load32_net(path->src.b + 12);
        daddr = sirq_load32_net(path->dst.b + 12);
        sirq_ip4_header(pkt, saddr, daddr, SIRQ_PROTO_UDP);
        sum = sirq_csum_pseudo(saddr, daddr, SIRQ_PROTO_UDP, udp, len);
    }
    sum = (uint16_t)~sum;
    if (sum == 0)
        sum = 0xffff;
    memcpy(udp + 6, &sum, 2);
}

static int send_one(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, const struct sirq_socket *sock,
                    const struct sirq_msg *msg)
{
    uint32_t hlen = sock->v6 ? SIRQ_IP6_HLEN : SIRQ_IP4_HLEN, idx;
    struct sirq_pkt *pkt;
    struct path path;
    uint8_t *udp;
    int rc;

    if (msg->dport == 0 || (msg->len > 0 && msg->buf == NULL))
        return -EINVAL;
    rc = find_path(sock, msg, &path);
    if (rc != 0)
        return rc;
    if (msg->len > SIRQ_PKT_PAYLOAD_MAX ||
        hlen + SIRQ_UDP_HLEN + msg->len > __atomic_load_n(&path.hop->dev->mtu, __ATOMIC_RELAXED))
        return -EMSGSIZE;
    pkt = sirq_tx_alloc(nc, &idx);
    if (pkt == NULL)
        return -ENOBUFS;
    udp = pkt->data + SIRQ_TX_L3 + hlen;
    if (msg->len > 0)
        memcpy(udp + SIRQ_UDP_HLEN, msg->buf, msg->len);
    pkt->len = (uint16_t)(hlen + SIRQ_UDP_HLEN + msg->len);
    udp_header(pkt, udp, sock, msg, &path);
    sirq_hop_output(cpu, nc, path.hop, &path.dst, idx);
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
