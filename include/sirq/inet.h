/* SPDX-License-Identifier: MIT */
/*
 * sirq/inet.h - addresses, routes and neighbours: what makes of a receiver a host or a router.
 *
 * With the first address the stack answers ARP (RFC 826), neighbour solicitations (RFC 4861) and
 * echo requests (RFC 792, RFC 4443), delivers only what is addressed to it, and can send.  With
 * forwarding on it is a router (RFC 1812, RFC 8200).
 *
 * All of this is set by tasks, while traffic flows or not; each call takes hold for frames that
 * come after it.  Calls wait for the end of softirqs that are in progress (task context, bottom
 * halves enabled).  Addresses are struct sirq_ip; prefix lengths are 0 to 32 for IPv4 ones and 0
 * to 128 for IPv6.  Errors are 0 or -errno with err (may be null) filled.
 */
#ifndef SIRQ_INET_H
#define SIRQ_INET_H

#include <sirq/driver.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIRQ_MTU_MIN 1280u /* RFC 8200, section 5 */
#define SIRQ_MTU_DEFAULT 1500u
#define SIRQ_MTU_MAX 2016u    /* what a packet buffer holds behind its headers */
#define SIRQ_ROUTES_MAX 4096u /* prefixes, own addresses among them */
#define SIRQ_NEIGHBOURS_MAX 1024u

/*
 * The device's Ethernet address: not multicast; all zero: any frame is taken, none can be sent.
 * Before the device has addresses.  0 or -EINVAL.
 */
int sirq_netdev_set_mac(struct sirq_netdev *dev, const uint8_t mac[6], struct sirq_error *err);

/* Longest IP packet to be sent, SIRQ_MTU_MIN to SIRQ_MTU_MAX bytes.  0 or -EINVAL. */
int sirq_netdev_set_mtu(struct sirq_netdev *dev, unsigned mtu, struct sirq_error *err);

/*
 * 802.1Q: the device is a port of VLAN `vid` (1 to 4094): frames of others and untagged ones are
 * dropped (vlan), the tag is taken off, and put on with priority `prio` (0 to 7) when sending.
 * vid 0: untagged; frames with a priority tag (VID 0) are taken too.  A tag that the device's
 * driver takes out is not seen here.  0 or -EINVAL.
 */
int sirq_netdev_set_vlan(struct sirq_netdev *dev, unsigned vid, unsigned prio,
                         struct sirq_error *err);

/*
 * An address of ours on `dev`, whose neighbours are those of the first `prefix` bits.  The last
 * IPv4 address of the prefix is its broadcast.  0, -EINVAL (multicast, unspecified, prefix),
 * -ENODEV (the device has no MAC), -EEXIST, -ENOSPC (SIRQ_ROUTES_MAX), -ENOMEM.
 * Packets for it are taken from any device (the weak model of RFC 1122, 3.3.4.2).
 */
int sirq_netdev_addr_add(struct sirq_netdev *dev, const struct sirq_ip *addr, unsigned prefix,
                         struct sirq_error *err);
/* 0 or -ENOENT. */
int sirq_netdev_addr_del(struct sirq_netdev *dev, const struct sirq_ip *addr, unsigned prefix,
                         struct sirq_error *err);

/*
 * The way to a prefix: by `gateway`, which is a neighbour on one of our prefixes, or with a
 * gateway of all zero to neighbours on `dev`.  The longest prefix wins; one route a prefix.
 */
struct sirq_route {
    struct sirq_ip dst; /* bits behind the prefix are zero */
    unsigned prefix;
    struct sirq_ip gateway;
    struct sirq_netdev *dev; /* null: the gateway's */
};

/* 0, -EINVAL, -ENETUNREACH (gateway), -EEXIST, -ENOSPC, -ENOMEM.  A change of the table costs
 * its whole length. */
int sirq_route_add(struct sirq_net *net, const struct sirq_route *route, struct sirq_error *err);
/* dst and prefix alone count.  0 or -ENOENT. */
int sirq_route_del(struct sirq_net *net, const struct sirq_route *route, struct sirq_error *err);

/*
 * Forward what is not for us: TTL or hop limit less one, ICMP errors to the source (RFC 1812,
 * section 5; RFC 4443).  Off at first.  Link-local, multicast and broadcast stay where they are.
 */
void sirq_net_set_forwarding(struct sirq_net *net, bool on);

/* Neighbours known, and those being asked for. */
unsigned sirq_net_neighbours(const struct sirq_net *net, unsigned *incomplete);

#ifdef __cplusplus
}
#endif
#endif
