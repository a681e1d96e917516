/* SPDX-License-Identifier: MIT */
/*
 * sirq/nat.h - NAT44: many hosts behind one address (RFC 3022; RFC 4787, 5382 and 5508).
 *
 * What is forwarded out of the outside device gets its first IPv4 address and a port (of ICMP
 * echo: an identifier) of its own; what comes back is for a connection, or goes on as ever: to
 * sockets of ours, or to be dropped.  IPv4 from outside that is addressed to hosts inside, past the
 * translation, is dropped (nat_filter); IPv6 is forwarded both ways.  A connection is a protocol, two addresses and two ports:
 * mapping and filtering are address and port dependent, as Linux's masquerade has them.  A port
 * is kept when it is free.  UDP, TCP, ICMP echo, and ICMP errors about these are translated;
 * everything else, and fragments, is dropped.  TCP's maximum segment size is clamped to the MTUs
 * on the way.  No hairpinning: hosts inside do not reach each other by the outside address.
 */
#ifndef SIRQ_NAT_H
#define SIRQ_NAT_H

#include <sirq/driver.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIRQ_NAT_CONNS_MAX (1u << 20)

struct sirq_nat_config {
    unsigned max_conns;        /* 0: 16384; memory for them (56 bytes each) is taken at once */
    uint16_t port_lo, port_hi; /* ports to give, both included; 0, 0: 1024 to 65535 */
    /* A connection without packets ends after so many seconds, and up to one more; 0: default. */
    unsigned udp_s;             /* nothing came back yet: 120 */
    unsigned udp_stream_s;      /* 300 */
    unsigned tcp_transitory_s;  /* opening (until the host inside
                                  answers what came in), closing, reset: 240 */
    unsigned tcp_established_s; /* 7440 */
    unsigned icmp_s;            /* echo: 60 */
};

/*
 * Translate what is forwarded out of `outside`, which has an IPv4 address; forwarding has to be
 * on (sirq/inet.h).  When the device's address changes, turn it off and on.  config null: no more,
 * and all connections are forgotten; closing the device does so too.  Another call while it is on
 * is refused.  Task context, bottom halves enabled.
 * 0, -EINVAL (a range), -EADDRNOTAVAIL (no address), -EBUSY (on already) or -ENOMEM.
 */
int sirq_nat_set(struct sirq_net *net, struct sirq_netdev *outside,
                 const struct sirq_nat_config *config, struct sirq_error *err);

struct sirq_nat_stats {
    uint64_t conns; /* now */
    uint64_t created, expired;
    uint64_t translated[2]; /* packets out, and in; ICMP errors among them */
    uint64_t errors;        /* ICMP errors translated */
};
/* All zero when it is off.  Task context. */
void sirq_nat_stats(struct sirq_net *net, struct sirq_nat_stats *out);

#ifdef __cplusplus
}
#endif
#endif
