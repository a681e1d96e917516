/* SPDX-License-Identifier: MIT */
/* nat.h - what the table of connections (nat.c, nat_set.c) and the packets (nat_pkt.c) share. */
#ifndef SIRQ_NET_NAT_H
#define SIRQ_NET_NAT_H

#ifndef SIRQ_NET_INTERNAL
#error "src/net/nat.h is private to src/net"
#endif

#include <sirq/nat.h>

#include "inet.h"

#define SIRQ_PROTO_TCP 6u
#define SIRQ_TCP_HLEN 20u

/* Addresses in network order, ports (ICMP echo: the identifier, and 0) in host order. */
struct sirq_nat_tuple {
    uint32_t local, remote; /* local: the inside host's address; from outside: not looked at */
    uint16_t lport, rport;  /* lport: the host's; from outside: the one that it was given */
    uint8_t proto;
};

/* Links and heads of chains: an index, or none. */
#define SIRQ_NAT_NIL UINT32_MAX

/* Of what is read without the lock. */
#define GET(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define SET(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

struct sirq_nat_conn {
    struct sirq_nat_tuple in; /* as seen inside; proto 0: free */
    uint16_t port;            /* that it was given */
    uint8_t state;            /* __atomic */
    uint32_t next[2];         /* of its two chains, by enum sirq_nat_dir; free ones by [0] */
    uint64_t expires;         /* jiffies; __atomic */
};

/* Of one CPU, its alone to write. */
struct sirq_nat_count {
    uint64_t translated[2], errors;
} __attribute__((aligned(64)));

struct sirq_nat {
    struct sirq_netdev *outside;
    struct sirq_net *net;
    struct sirq_nat_config config;
    uint64_t key;
    uint32_t addr;
    uint32_t mask;      /* buckets - 1 */
    uint32_t lock, seq; /* __atomic */
    uint32_t changing;  /* connection, while seq is odd; __atomic */
    uint32_t free, hand;
    bool armed;
    uint32_t *bucket[2]; /* __atomic */
    struct sirq_nat_conn *conn;
    struct sirq_timer timer;
    size_t bytes;
    struct sirq_nat_stats stats;   /* __atomic: of connections, under the lock */
    struct sirq_nat_count count[]; /* one per CPU */
};

static inline uint64_t sirq_nat_mix(uint64_t a, uint64_t b)
{
    a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
    return a ^ a >> 32;
}

enum sirq_nat_dir { SIRQ_NAT_OUT, SIRQ_NAT_IN };

#define SIRQ_NAT_FIN 1u /* TCP flags that the table asks for */
#define SIRQ_NAT_SYN 2u
#define SIRQ_NAT_RST 4u

/*
 * Whose packet is it?  Fills `found`: OUT: the port it is given (lport), IN: the host and its
 * port.  flags: of TCP; UINT32_MAX: an ICMP error about such a packet, which neither makes a
 * connection nor keeps one.  SIRQ_DELIVERED: found; SIRQ_DROP_NAT_NONE: there is none; else why
 * none could be made.  Softirq context.
 */
enum sirq_drop sirq_nat_find(struct sirq_cpu *cpu, struct sirq_nat *nat, enum sirq_nat_dir dir,
                             const struct sirq_nat_tuple *tuple, uint32_t flags,
                             struct sirq_nat_tuple *found);
#define SIRQ_NAT_QUOTED UINT32_MAX

/* Takes away what has had its time, while there are connections: the whole table in a second. */
void sirq_nat_timer(struct sirq_cpu *cpu, struct sirq_timer *timer, void *data);

/* The device is about to be closed. */
void sirq_nat_forget(struct sirq_netdev *dev);

/* nat_pkt.c: what is to be changed in a packet. */
struct sirq_nat_change {
    struct sirq_nat *nat; /* null: nothing */
    enum sirq_nat_dir dir;
    bool quoted;   /* an ICMP error: its own address, and the packet that it quotes */
    uint32_t addr; /* the new source (OUT) or destination, network order */
    uint16_t port;
    uint16_t mss; /* TCP: most that a SYN may offer */
};

/* Out of the outside device: SIRQ_DELIVERED, or why it cannot go there. */
enum sirq_drop sirq_nat_out(struct sirq_cpu *cpu, struct sirq_nat *nat, const struct sirq_rx *rx,
                            struct sirq_nat_change *change);
/* For our address on the outside device: SIRQ_DELIVERED: of no connection, else its verdict. */
enum sirq_drop sirq_nat_in(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_nat *nat,
                           const struct sirq_rx *rx);
/* In the outgoing packet, whose checksums are right before and after. */
void sirq_nat_apply(const struct sirq_cpu *cpu, const struct sirq_nat_change *change, uint8_t *ip,
                    uint32_t len);

/* forward.c */
enum sirq_drop sirq_ip4_forward_to(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                                   const struct sirq_rx *rx, const struct sirq_hop *hop,
                                   const struct sirq_ip *dst, struct sirq_nat_change *change);

#endif
