/* SPDX-License-Identifier: MIT */
/*
 * sirq/net.h - the packet path: NAPI, protocols, sockets.
 *
 *   driver irq -> sirq_napi_schedule -> NET_RX -> net_rx_action -> poll -> sirq_net_rx
 *   -> Ethernet -> IPv4, IPv6 -> UDP -> socket queue -> sirq_recv
 *                             -> route -> neighbour -> driver tx      (forwarding; of IPv4
 *                                with addresses changed, where NAT is on: sirq/nat.h)
 *   sirq_send -> UDP -> IPv4, IPv6 -> route -> neighbour -> driver tx
 *
 * With RPS (sirq_netdev_set_rps) a frame may go from there to another CPU's backlog, which is
 * polled like a device, in NET_RX or in a thread, and go up on that CPU.
 *
 * Every frame that enters sirq_net_rx() is delivered, handled by the stack itself (ARP, ICMP),
 * forwarded, or counted under one drop reason, once:
 * frames = sum(delivered, drops) + handled + forwarded + steered - received_rps is exact at any
 * time no CPU is inside a poll; steered - received_rps are the frames on backlogs.
 * Likewise every frame that the stack wants to send, its own or a forwarded one:
 * tx_frames = sum(sent, drops) + tx_held - tx_released; the difference are those that wait for
 * a neighbour's address or their turn at a device.
 *
 * All memory (packet pool, socket table, socket queues) is taken when the stack or a
 * socket is opened; nothing is allocated on the path.
 */
#ifndef SIRQ_NET_H
#define SIRQ_NET_H

#include <sirq/host.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * An IP address of either kind in network order; IPv4 as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2).
 * All zero: none.
 */
struct sirq_ip {
    uint8_t b[16];
};

/* From an IPv4 address as inet_addr() has it; 0 makes 0.0.0.0, which is not "none". */
static inline struct sirq_ip sirq_ip_v4(uint32_t addr)
{
    const uint8_t *p = (const uint8_t *)&addr;

    return (struct sirq_ip){{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, p[0], p[1], p[2], p[3]}};
}

/* ---- drop reasons ------------------------------------------------------------------ */

/*
 * What is looked at, and what not.  As long as no address is configured (sirq/inet.h) the stack
 * is a receiver only: the IP destination is compared with the sockets' addresses alone, and a
 * socket bound to any address takes any destination, multicast and broadcast among them.  With
 * addresses a packet is for us, to be forwarded, or dropped.  A frame's destination MAC address
 * is checked when the device has one of its own.  IPv4 options are skipped, not interpreted (no
 * source routing); of IPv6's extension headers at most 8, options that say so refuse the packet.
 */

/* X(symbol, name, meaning) */
#define SIRQ_DROPS(X)                                                            \
    X(ETH_SHORT, "eth_short", "frame shorter than an Ethernet header")           \
    X(ETH_TYPE, "eth_type", "no protocol handles this EtherType")                \
    X(ETH_DST, "eth_dst", "frame for another Ethernet address")                  \
    X(VLAN, "vlan", "VLAN tag cut off, or not the device's VLAN")                \
    X(ARP, "arp", "ARP packet cut off, not IPv4 over Ethernet, or not for us")   \
    X(IP_SHORT, "ip_short", "frame ends inside the IPv4 header")                 \
    X(IP_VERSION, "ip_version", "version is not 4")                              \
    X(IP_IHL, "ip_ihl", "header length below 20 or beyond the frame")            \
    X(IP_LEN, "ip_len", "total length below the header's or beyond the frame")   \
    X(IP_CSUM, "ip_csum", "header checksum wrong")                               \
    X(IP_FRAG, "ip_frag", "fragment (not reassembled)")                          \
    X(IP_SRC, "ip_src", "source address is multicast, broadcast, loopback")      \
    X(IP_DST, "ip_dst", "not for a bound address")                               \
    X(IP_PROTO, "ip_proto", "no handler for this protocol")                      \
    X(IP_TTL, "ip_ttl", "to be forwarded, and its TTL or hop limit used up")     \
    X(IP_MTU, "ip_mtu", "to be forwarded, and too long for the next link")       \
    X(IP_ROUTE, "ip_route", "to be forwarded, and no route to its address")      \
    X(IP6_SHORT, "ip6_short", "frame ends inside an IPv6 header")                \
    X(IP6_VERSION, "ip6_version", "version is not 6")                            \
    X(IP6_LEN, "ip6_len", "payload length beyond the frame")                     \
    X(IP6_SRC, "ip6_src", "source address that no host sends from")              \
    X(IP6_EXT, "ip6_ext", "extension headers too many, bad, or not to accept")   \
    X(IP6_FRAG, "ip6_frag", "fragment (not reassembled)")                        \
    X(ICMP_SHORT, "icmp_short", "packet ends inside the ICMP message")           \
    X(ICMP_CSUM, "icmp_csum", "ICMP checksum wrong")                             \
    X(ICMP_TYPE, "icmp_type", "ICMP message that nobody waits for")              \
    X(ND, "nd", "neighbour discovery that is not valid, or not for us")          \
    X(UDP_SHORT, "udp_short", "packet ends inside the UDP header")               \
    X(UDP_LEN, "udp_len", "UDP length below 8 or beyond the packet")             \
    X(UDP_CSUM, "udp_csum", "UDP checksum wrong")                                \
    X(UDP_PORT, "udp_port", "no socket on this port")                            \
    X(SOCKET_FULL, "socket_full", "socket queue at its byte cap")                \
    X(NO_BUFFER, "no_buffer", "packet pool empty")                               \
    X(OVERSIZE, "oversize", "payload larger than a pool buffer")                 \
    X(BACKLOG_FULL, "backlog_full", "another CPU's backlog at its cap")          \
    X(FLOW_LIMIT, "flow_limit", "more than its share of a backlog that fills")   \
    X(FLOW_MOVING, "flow_moving", "its flow has to leave an overloaded backlog") \
    X(NAT_FILTER, "nat_filter", "from outside to a host behind NAT")             \
    X(NAT_NONE, "nat_none", "an ICMP error about no connection")                 \
    X(NAT_PROTO, "nat_proto", "not to be translated: protocol, or cut off")      \
    X(NAT_FULL, "nat_full", "to be translated, and the table is full")           \
    X(NAT_PORTS, "nat_ports", "to be translated, and no port is free for it")    \
    X(NAT_BUSY, "nat_busy", "the table was held by a CPU that does not go on")

enum sirq_drop {
    SIRQ_DELIVERED = 0,
#define SIRQ_DROP_ENUM(sym, name, meaning) SIRQ_DROP_##sym,
    SIRQ_DROPS(SIRQ_DROP_ENUM)
#undef SIRQ_DROP_ENUM
        SIRQ_NR_DROPS,            /* array length; entry 0 counts deliveries */
    SIRQ_STEERED = SIRQ_NR_DROPS, /* no verdict yet: it is on another CPU's backlog */
    SIRQ_HANDLED,                 /* the stack's own: ARP, ICMP echo, neighbour discovery */
    SIRQ_FORWARDED                /* on its way out: from here on it is a frame to send */
};

const char *sirq_drop_name(enum sirq_drop drop);

/* What becomes of a frame that is to be sent.  X(symbol, name, meaning) */
#define SIRQ_TX_DROPS(X)                                                           \
    X(ROUTE, "tx_route", "no route to its destination")                            \
    X(NEIGH, "tx_neigh", "its neighbour did not answer")                           \
    X(NEIGH_FULL, "tx_neigh_full", "too many wait for that neighbour, or for all") \
    X(QUEUE, "tx_queue", "too many wait for their turn at the device")             \
    X(RING, "tx_ring", "the device's ring is full")                                \
    X(SIZE, "tx_size", "longer than the device sends")                             \
    X(DOWN, "tx_down", "the device cannot send, or is gone")

enum sirq_tx_drop {
    SIRQ_TX_SENT = 0, /* the device took it */
#define SIRQ_TX_ENUM(sym, name, meaning) SIRQ_TX_DROP_##sym,
    SIRQ_TX_DROPS(SIRQ_TX_ENUM)
#undef SIRQ_TX_ENUM
        SIRQ_NR_TX_DROPS
};

const char *sirq_tx_drop_name(enum sirq_tx_drop drop);

/* ---- the stack --------------------------------------------------------------------- */

struct sirq_net;
struct sirq_netdev;

struct sirq_net_config {
    unsigned pool_packets;          /* buffers in the packet pool; 0: 4096, at most 1 << 20 */
    unsigned max_sockets;           /* 0: 64, at most 4096 */
    unsigned netdev_budget;         /* packets per net_rx_action; 0: 300 */
    unsigned netdev_budget_jiffies; /* its time limit; 0: 2 */
    bool poll_until_budget;         /* Linux before 3.19: go round the poll list until the budget is
                                spent, instead of one visit to each instance */
    unsigned netdev_max_backlog;    /* frames on a CPU's backlog; 0: 1000, at most 65536 */
    unsigned flow_limit;  /* buckets of flows, a power of two up to 32768; 0: no limit.  From half
                            full on a backlog refuses flows (by hash) that are more than half of
                            the last 128 frames which this CPU sent there */
    bool wake_every_poll; /* consumers are woken after each poll, also when more packets wait:
                             as in Linux, where it has to be compared with that */
};

/*
 * Truesize of a queued packet: what it is charged against a socket's byte cap.  An odd number
 * of cache lines: at a stride of 2048 bytes all buffers share a few sets of the caches.
 */
#define SIRQ_PKT_TRUESIZE 2112u
/* Largest UDP payload that fits a pool buffer. */
#define SIRQ_PKT_PAYLOAD_MAX 1984u

/*
 * Build the stack on `core`: opens NET_RX and hooks every CPU.  Task context, before
 * traffic.  Returns 0, -EINVAL, -EBUSY or -ENOMEM; *out is owned by the caller.
 */
int sirq_net_create(struct sirq_net **out, struct sirq_core *core,
                    const struct sirq_net_config *config);

/*
 * No device is attached or open and no socket open any more (detach, close sockets, close
 * devices, then this, then sirq_live_stop()).  Frees everything.
 */
void sirq_net_destroy(struct sirq_net *net);

/* Bytes held by the stack: [0] the packet pool, [1] everything else. */
void sirq_net_memory(const struct sirq_net *net, size_t bytes[2]);

#define SIRQ_BACKLOG_MAX 65536u
#define SIRQ_FLOW_LIMIT_MAX 32768u

/* Per-CPU counters of the path.  Writer: the owner of that CPU's bottom halves. */
struct sirq_net_stats {
    uint64_t frames;                       /* entered sirq_net_rx() */
    uint64_t verdict[SIRQ_NR_DROPS];       /* [0] delivered, then by enum sirq_drop */
    uint64_t bytes;                        /* payload bytes delivered */
    uint64_t polls;                        /* NAPI polls */
    uint64_t polls_full;                   /* polls that used their whole budget */
    uint64_t polls_threaded;               /* of them, by a thread of the instance's own */
    uint64_t time_squeeze;                 /* net_rx_action ended by budget or time */
    uint64_t steered;                      /* frames put on another CPU's backlog */
    uint64_t received_rps;                 /* frames taken off a backlog */
    uint64_t kicks;                        /* CPUs told of their backlog: one per CPU and cycle */
    uint64_t handled, forwarded;           /* frames that ended so, see enum sirq_drop */
    uint64_t tx_frames;                    /* to be sent */
    uint64_t tx_verdict[SIRQ_NR_TX_DROPS]; /* [0] sent, then by enum sirq_tx_drop */
    uint64_t tx_held, tx_released;         /* put on, and taken off, a queue before the device */
    uint64_t icmp_limited;                 /* ICMP errors not sent: over their rate */
};
void sirq_net_stats_cpu(const struct sirq_net *net, unsigned cpu, struct sirq_net_stats *out);
void sirq_net_stats_sum(const struct sirq_net *net, struct sirq_net_stats *out);

/*
 * A frame from a driver's poll.  Softirq context.  `frame` stays the driver's: what is
 * kept is copied.  rx_ns: when the device got it (host clock), 0 when unknown.
 * Returns the verdict, or SIRQ_STEERED: it will be given on another CPU.
 */
enum sirq_drop sirq_net_rx(struct sirq_cpu *cpu, struct sirq_netdev *dev, const uint8_t *frame,
                           uint32_t len, uint64_t rx_ns);

/*
 * The first of `n` >= 1 frames of equal bytes, for a device that knows that they are.  When it
 * is delivered or steered, it alone is; a drop is the verdict of them all, and counted n times:
 * nothing that was taken from a queue meanwhile makes room for the others.
 */
enum sirq_drop sirq_net_rx_alike(struct sirq_cpu *cpu, struct sirq_netdev *dev,
                                 const uint8_t *frame, uint32_t len, uint64_t rx_ns, uint32_t n);

/* ---- NAPI --------------------------------------------------------------------------- */

#define SIRQ_NAPI_WEIGHT 64

/* Bits of sirq_napi.state. */
#define SIRQ_NAPI_SCHED 1u          /* on a poll list or being polled */
#define SIRQ_NAPI_DISABLED 2u       /* not to be scheduled */
#define SIRQ_NAPI_THREADED 4u       /* to be polled by a thread of its own */
#define SIRQ_NAPI_SCHED_THREADED 8u /* scheduled, and its thread's */

/*
 * A NAPI instance.  Embedded in its device and owned by it.  Once scheduled it belongs to
 * NET_RX of the CPU that scheduled it, or to its thread, until sirq_napi_complete_done().
 */
struct sirq_napi {
    struct sirq_lnode node;
    uint32_t state; /* __atomic: SIRQ_NAPI_... */
    int weight;
    /*
     * Take up to `budget` packets (may be 0: then none, only other work).  Returns the
     * number taken.  Less than budget: the instance must have been completed.  Exactly
     * budget: it must not have been, and will be polled again.
     */
    int (*poll)(struct sirq_cpu *cpu, struct sirq_napi *napi, int budget);
    uint64_t polls, work; /* writer: who has it scheduled */
    struct sirq_wq wq;    /* its thread sleeps here */
};

/* weight 0: SIRQ_NAPI_WEIGHT.  Disabled until sirq_napi_enable(). */
void sirq_napi_init(struct sirq_napi *napi,
                    int (*poll)(struct sirq_cpu *cpu, struct sirq_napi *napi, int budget),
                    int weight);

/* Any context on `cpu`.  True when it was not scheduled before and is now. */
bool sirq_napi_schedule(struct sirq_cpu *cpu, struct sirq_napi *napi);

/* From poll only, with work_done < budget. */
void sirq_napi_complete_done(struct sirq_cpu *cpu, struct sirq_napi *napi, int work_done);

/* Keep it from being scheduled; returns when no poll is in progress, nor the end of one
 * that has completed.  Task context. */
void sirq_napi_disable(struct sirq_cpu *cpu, struct sirq_napi *napi);
void sirq_napi_enable(struct sirq_napi *napi);

/* ---- NAPI in threads ------------------------------------------------------------------ */

/*
 * The hosts' functions make threads and tasks for these (sirq_live_backlog_threads,
 * sirq_sim_backlog_threads, ...); a host of one's own does: init; a thread that calls main;
 * on; ...; off; wait for the thread's end.  On and off at any time while traffic flows: what is
 * scheduled changes hands at its next poll, no frame is lost and no flow reordered.
 *
 * The thread polls with bottom halves disabled, on whichever CPU it runs, one weight at a time,
 * lets others run between two polls where they are due, and sleeps when there is nothing.
 */
struct sirq_napi_thread {
    struct sirq_napi *napi;
    struct sirq_cpu *home; /* NET_RX of this CPU gets the instance back */
    uint32_t stop, ended;  /* __atomic */
};

/* Task context.  The instance, and thread, stay until the thread has ended. */
void sirq_napi_thread_init(struct sirq_napi_thread *thread, struct sirq_napi *napi,
                           struct sirq_cpu *home);
/* The thread's life, from task context; returns after off, with thread->ended set. */
void sirq_napi_thread_main(struct sirq_napi_thread *thread);
/* Task context; one at a time for one instance, and each once. */
void sirq_napi_thread_on(struct sirq_napi_thread *thread);
void sirq_napi_thread_off(struct sirq_napi_thread *thread);

/* The NAPI instance that polls the backlog of a core's CPU (by index), or null.  It lives as
 * long as the stack and is always enabled; threads of it have ended before sirq_net_destroy(). */
struct sirq_napi *sirq_net_backlog(struct sirq_net *net, unsigned cpu);
/* Frames on it now. */
unsigned sirq_net_backlog_len(const struct sirq_net *net, unsigned cpu);

/* ---- sockets ------------------------------------------------------------------------ */

struct sirq_socket;

struct sirq_socket_config {
    uint32_t addr;        /* IPv4 in network order, 0: any, multicast and broadcast too */
    uint16_t port;        /* host order, 1..65535 */
    size_t rcvbuf;        /* byte cap of the queue in truesize; 0: 1 MiB, 4 KiB to 256 MiB */
    bool v6;              /* an IPv6 socket: it takes no IPv4, and addr6 stands for addr */
    struct sirq_ip addr6; /* none: any */
};

/* One datagram.  The caller owns buf; the call fills len and everything below it. */
struct sirq_msg {
    void *buf;
    uint32_t size;                 /* bytes at buf */
    uint32_t len;                  /* payload length; > size means it was cut */
    uint32_t saddr, daddr;         /* network order */
    uint16_t sport, dport;         /* host order */
    uint64_t rx_ns;                /* as given to sirq_net_rx() */
    struct sirq_ip saddr6, daddr6; /* on IPv6 sockets, where saddr and daddr say nothing */
};

/* Task context.  0, -EINVAL, -EADDRINUSE, -ENOSPC (table full), -ENOMEM, -EMFILE. */
int sirq_socket_open(struct sirq_net *net, const struct sirq_socket_config *config,
                     struct sirq_socket **out);

/* Task context; no thread is in sirq_recv() on it any more. */
void sirq_socket_close(struct sirq_socket *sock);

/*
 * Receive up to `n` datagrams: as many as are queued, at least one.  timeout_ns < 0 waits
 * for ever, 0 does not wait.  Several threads may receive on one socket.  Task context.
 * Each call passes one bottom-half enable, as recvmsg(2) does inside the kernel, so that
 * pending softirqs of this CPU run there if the policy says so.
 * Returns the number received, -EAGAIN (nothing queued, timeout 0), -ETIMEDOUT, -EINTR,
 * -EINVAL, or -EDEADLK when called from a softirq or hardirq.
 */
int sirq_recv(struct sirq_socket *sock, struct sirq_msg *msgs, unsigned n, int64_t timeout_ns);

/*
 * Send up to `n` datagrams from the socket's port to daddr and dport of each; `len` bytes at
 * buf.  saddr: 0, or the address of ours to send from (of a received message: its daddr, when it
 * was not sent to many); else the socket's own, else the one that belongs to the route.  size,
 * sport and rx_ns are not looked at.  On an IPv6 socket daddr6 and saddr6 stand for them; a
 * link-local destination is taken to be on the first device that has link-local addresses.  Checksums are filled in; never fragmented.  Needs
 * addresses and routes (sirq/inet.h).  Task context; several threads may send on one socket.
 * Returns how many are on their way, in order; what becomes of them is counted
 * (sirq_net_stats.tx_verdict), as losses further on would not be known either.  When it is none:
 * -EINVAL, -ENETUNREACH (no route), -EADDRNOTAVAIL (saddr is not ours, or none to send from),
 * -EMSGSIZE (longer than SIRQ_PKT_PAYLOAD_MAX, or the device's MTU allows), -ENOBUFS (packet pool
 * empty), or -EDEADLK when called from a softirq or hardirq.
 */
int sirq_send(struct sirq_socket *sock, const struct sirq_msg *msgs, unsigned n);

/*
 * A descriptor that polls readable while datagrams may be queued: for epoll, libuv, poll.
 * Receive with timeout 0 until -EAGAIN, which re-arms it.  Made at the first call, owned
 * by the socket.  Task context.  Or -errno.
 */
int sirq_socket_fd(struct sirq_socket *sock);

struct sirq_socket_stats {
    uint64_t queued;   /* packets put on the queue */
    uint64_t received; /* taken by sirq_recv() */
    uint64_t dropped;  /* socket_full and no_buffer */
    unsigned len, cap; /* packets on the queue now, and at most */
};
void sirq_socket_stats(const struct sirq_socket *sock, struct sirq_socket_stats *out);

#ifdef __cplusplus
}
#endif
#endif
