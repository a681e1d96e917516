/* SPDX-License-Identifier: MIT */
/*
 * inet.c - setting addresses and routes.
 *
 * All of them are hops of one table: an address is a prefix of its whole length that ends here,
 * its neighbours are a prefix, its broadcast another one.  A change builds the next table and
 * publishes it; the old one is freed when no softirq can be reading it any more.
 */
#define SIRQ_NET_INTERNAL
#include "inet.h"

#include <errno.h>
#include <stdlib.h>

/* ---- the device ----------------------------------------------------------------------- */

int sirq_netdev_set_mac(struct sirq_netdev *dev, const uint8_t mac[6], struct sirq_error *err)
{
    if (mac[0] & 1)
        return sirq_fail(err, EINVAL, "mac: multicast: give one with an even first byte");
    memcpy(dev->mac, mac, sizeof(dev->mac));
    return 0;
}

int sirq_netdev_set_mtu(struct sirq_netdev *dev, unsigned mtu, struct sirq_error *err)
{
    if (mtu < SIRQ_MTU_MIN || mtu > SIRQ_MTU_MAX)
        return sirq_fail(err, EINVAL, "mtu: %u: give %u to %u bytes", mtu, SIRQ_MTU_MIN,
                         SIRQ_MTU_MAX);
    __atomic_store_n(&dev->mtu, (uint16_t)mtu, __ATOMIC_RELAXED);
    return 0;
}

int sirq_netdev_set_vlan(struct sirq_netdev *dev, unsigned vid, unsigned prio,
                         struct sirq_error *err)
{
    if (vid > 4094 || prio > 7)
        return sirq_fail(err, EINVAL, "vlan: %u, priority %u: give 0 to 4094, and 0 to 7", vid,
                         prio);
    __atomic_store_n(&dev->vlan_prio, (uint16_t)prio, __ATOMIC_RELAXED);
    __atomic_store_n(&dev->vlan, (uint16_t)vid, __ATOMIC_RELAXED);
    return 0;
}

void sirq_net_set_forwarding(struct sirq_net *net, bool on)
{
    __atomic_store_n(&net->forwarding, on, __ATOMIC_RELAXED);
}

/* ---- the table ------------------------------------------------------------------------ */

/* A copy of the hops, with room for `more`.  Null: out of memory. */
static struct sirq_hop *copy_hops(const struct sirq_net *net, uint32_t *n, uint32_t more)
{
    const struct sirq_hop *hops = sirq_fib_hops(net->fib, n);
    struct sirq_hop *copy = calloc(*n + more, sizeof(*copy));

    if (copy != NULL && *n > 0)
        memcpy(copy, hops, *n * sizeof(*copy));
    return copy;
}

/* Put a table of these hops in the place of the present one.  Under the lock.  0 or -ENOMEM. */
static int publish_locked(struct sirq_net *net, const struct sirq_hop *hops, uint32_t n)
{
    const struct sirq_fib *old = net->fib;
    struct sirq_fib *fib = NULL;
    uint32_t nold;

    if (n > 0) {
        fib = sirq_fib_build(hops, n);
        if (fib == NULL)
            return -ENOMEM;
        __atomic_fetch_add(&net->bytes, sirq_fib_bytes(n), __ATOMIC_RELAXED);
    }
    /* RELEASE: the table before the pointer. */
    __atomic_store_n(&net->fib, fib, __ATOMIC_RELEASE);
    if (old == NULL)
        return 0;
    sirq_synchronize(net->core);
    sirq_fib_hops(old, &nold);
    __atomic_fetch_sub(&net->bytes, sirq_fib_bytes(nold), __ATOMIC_RELAXED);
    free((void *)(uintptr_t)old);
    return 0;
}

static const struct sirq_hop *find(const struct sirq_net *net, const struct sirq_ip *dst,
                                   unsigned plen, const struct sirq_netdev *dev, bool local)
{
    uint32_t n;
    const struct sirq_hop *hops = sirq_fib_hops(net->fib, &n);

    for (uint32_t i = 0; i < n; i++)
        if (hops[i].plen == plen && sirq_ip_equal(&hops[i].dst, dst) &&
            (dev == NULL || hops[i].dev == dev) && (hops[i].type == SIRQ_HOP_LOCAL) == local)
            return &hops[i];
    return NULL;
}

static int add_hops(struct sirq_net *net, const struct sirq_hop *more, uint32_t nmore,
                    struct sirq_error *err)
{
    struct sirq_hop *hops;
    uint32_t n;
    int rc;

    hops = copy_hops(net, &n, nmore);
    if (hops == NULL)
        return sirq_fail(err, ENOMEM, "route: out of memory");
    memcpy(hops + n, more, nmore * sizeof(*more));
    rc = n + nmore > SIRQ_ROUTES_MAX
             ? sirq_fail(err, ENOSPC, "route: at most %u prefixes: remove some", SIRQ_ROUTES_MAX)
             : publish_locked(net, hops, n + nmore);
    free(hops);
    return rc == -ENOMEM ? sirq_fail(err, ENOMEM, "route: out of memory") : rc;
}

/* Take out what `gone` says; how many that were, or -ENOMEM. */
static int remove_hops(struct sirq_net *net, bool (*gone)(const struct sirq_hop *, const void *),
                       const void *arg)
{
    uint32_t n, left = 0;
    struct sirq_hop *hops = copy_hops(net, &n, 1);
    int rc = -ENOMEM;

    if (hops == NULL)
        return rc;
    for (uint32_t i = 0; i < n; i++)
        if (!gone(&hops[i], arg))
            hops[left++] = hops[i];
    if (left < n)
        rc = publish_locked(net, hops, left);
    else
        rc = 0;
    free(hops);
    return rc < 0 ? rc : (int)(n - left);
}

/* The first IPv4 address of the device, for a quick look in the way up. */
static void note_addr4(struct sirq_netdev *dev)
{
    uint32_t n, addr = 0;
    const struct sirq_hop *hops = sirq_fib_hops(dev->net->fib, &n);

    for (uint32_t i = 0; i < n && addr == 0; i++)
        if (hops[i].type == SIRQ_HOP_LOCAL && hops[i].dev == dev && sirq_ip_is_v4(&hops[i].dst))
            addr = sirq_load32_net(hops[i].dst.b + 12);
    __atomic_store_n(&dev->addr4, addr, __ATOMIC_RELAXED);
}

/* ---- addresses ------------------------------------------------------------------------ */

/* Prefix length in 128 bits, or -1. */
static int plen_of(const struct sirq_ip *ip, unsigned prefix)
{
    unsigned most = sirq_ip_is_v4(ip) ? 32 : 128;

    return prefix <= most ? (int)(prefix + 128 - most) : -1;
}

static bool addr_bad(const struct sirq_ip *addr)
{
    return sirq_ip_none(addr) || sirq_ip_multicast(addr) ||
           (sirq_ip_is_v4(addr) && sirq_load32(addr->b + 12) == 0);
}

/* The hops that an address stands for: itself, its prefix, its broadcast. */
static uint32_t addr_hops(struct sirq_hop hops[3], struct sirq_netdev *dev,
                          const struct sirq_ip *addr, unsigned plen)
{
    struct sirq_hop hop = {.src = *addr, .dev = dev};
    uint32_t n = 0, mask;

    hops[n] = hop;
    hops[n].dst = *addr;
    hops[n].plen = 128;
    hops[n++].type = SIRQ_HOP_LOCAL;
    if (plen == 128)
        return n;
    hops[n] = hop;
    hops[n].dst = sirq_ip_masked(addr, plen);
    hops[n].plen = (uint8_t)plen;
    hops[n++].type = SIRQ_HOP_LINK;
    if (!sirq_ip_is_v4(addr) || plen == 127) /* RFC 3021: a link of two has no broadcast */
        return n;
    mask = plen == 96 ? UINT32_MAX : (UINT32_C(1) << (128 - plen)) - 1;
    hops[n] = hop;
    hops[n].dst = *addr;
    sirq_store32(hops[n].dst.b + 12, sirq_load32(addr->b + 12) | mask);
    hops[n].plen = 128;
    hops[n++].type = SIRQ_HOP_BROADCAST;
    return n;
}

static bool has_mac(const struct sirq_netdev *dev)
{
    static const uint8_t none[6];

    return memcmp(dev->mac, none, sizeof(none)) != 0;
}

static int addr_add_locked(struct sirq_netdev *dev, const struct sirq_ip *addr, unsigned plen,
                           struct sirq_error *err)
{
    struct sirq_hop hops[3];
    int rc;

    if (find(dev->net, addr, 128, NULL, true) != NULL)
        return sirq_fail(err, EEXIST, "address: it is one of ours already");
    if (sirq_neigh_init(dev->net) != 0)
        return sirq_fail(err, ENOMEM, "address: out of memory");
    rc = add_hops(dev->net, hops, addr_hops(hops, dev, addr, plen), err);
    note_addr4(dev);
    return rc;
}

int sirq_netdev_addr_add(struct sirq_netdev *dev, const struct sirq_ip *addr, unsigned prefix,
                         struct sirq_error *err)
{
    int plen = plen_of(addr, prefix), rc;

    if (plen < 0)
        return sirq_fail(err, EINVAL, "address: prefix %u: give 0 to %u", prefix,
                         sirq_ip_is_v4(addr) ? 32u : 128u);
    if (addr_bad(addr))
        return sirq_fail(err, EINVAL, "address: give one of a host, not multicast or none");
    if (!has_mac(dev))
        return sirq_fail(err, ENODEV, "address: %s has no MAC: give it one", dev->name);
    sirq_net_lock(dev->net);
    rc = addr_add_locked(dev, addr, (unsigned)plen, err);
    sirq_net_unlock(dev->net);
    return rc;
}

/* Of this address of the device, and of no other. */
static bool of_address(const struct sirq_hop *hop, const void *arg)
{
    const struct sirq_hop *addr = arg;

    return hop->dev == addr->dev && hop->type != SIRQ_HOP_GATEWAY &&
           sirq_ip_equal(&hop->src, &addr->src) &&
           (hop->type != SIRQ_HOP_LINK || hop->plen == addr->plen);
}

int sirq_netdev_addr_del(struct sirq_netdev *dev, const struct sirq_ip *addr, unsigned prefix,
                         struct sirq_error *err)
{
    int plen = plen_of(addr, prefix), rc = 0;
    const struct sirq_hop like = {.src = *addr, .dev = dev, .plen = (uint8_t)plen};

    sirq_net_lock(dev->net);
    if (plen >= 0 && find(dev->net, addr, 128, dev, true) != NULL)
        rc = remove_hops(dev->net, of_address, &like);
    note_addr4(dev);
    sirq_net_unlock(dev->net);
    if (rc == 0)
        return sirq_fail(err, ENOENT, "address: not one of %s", dev->name);
    return rc < 0 ? sirq_fail(err, -rc, "address: out of memory") : 0;
}

/* ---- routes --------------------------------------------------------------------------- */

/* Any address of the device, of the same kind as `dst`. */
static struct sirq_ip any_source(const struct sirq_net *net, const struct sirq_netdev *dev,
                                 const struct sirq_ip *dst)
{
    uint32_t n;
    const struct sirq_hop *hops = sirq_fib_hops(net->fib, &n);

    for (uint32_t i = 0; i < n; i++)
        if (hops[i].type == SIRQ_HOP_LOCAL && hops[i].dev == dev &&
            sirq_ip_is_v4(&hops[i].dst) == sirq_ip_is_v4(dst))
            return hops[i].dst;
    return (struct sirq_ip){{0}};
}

/* Fill in device and source.  0 or -errno. */
static int route_hop(const struct sirq_net *net, const struct sirq_route *route,
                     struct sirq_hop *hop, struct sirq_error *err)
{
    const struct sirq_hop *to;

    hop->dev = route->dev;
    if (sirq_ip_none(&route->gateway)) {
        if (route->dev == NULL)
            return sirq_fail(err, EINVAL, "route: neither gateway nor device: give one");
        if (!has_mac(route->dev))
            return sirq_fail(err, ENODEV, "route: %s has no MAC: give it one", route->dev->name);
        hop->type = SIRQ_HOP_LINK;
        hop->src = any_source(net, route->dev, &route->dst);
        return 0;
    }
    to = sirq_fib_lookup(net->fib, &route->gateway);
    if (to == NULL || to->type != SIRQ_HOP_LINK || (hop->dev != NULL && hop->dev != to->dev))
        return sirq_fail(err, ENETUNREACH, "route: the gateway is no neighbour: give one that is");
    hop->type = SIRQ_HOP_GATEWAY;
    hop->gateway = route->gateway;
    hop->dev = to->dev;
    hop->src = to->src;
    return 0;
}

int sirq_route_add(struct sirq_net *net, const struct sirq_route *route, struct sirq_error *err)
{
    int plen = plen_of(&route->dst, route->prefix), rc;
    struct sirq_hop hop = {.dst = route->dst, .plen = (uint8_t)plen};
    struct sirq_ip bits;

    if (plen < 0)
        return sirq_fail(err, EINVAL, "route: prefix %u: too long", route->prefix);
    bits = sirq_ip_masked(&route->dst, (unsigned)plen);
    if (!sirq_ip_equal(&bits, &route->dst))
        return sirq_fail(err, EINVAL, "route: bits behind its prefix %u: make them zero",
                         route->prefix);
    sirq_net_lock(net);
    if (find(net, &route->dst, (unsigned)plen, NULL, false) != NULL)
        rc = sirq_fail(err, EEXIST, "route: there is one of this prefix: remove it first");
    else
        rc = route_hop(net, route, &hop, err);
    if (rc == 0 && sirq_neigh_init(net) != 0)
        rc = sirq_fail(err, ENOMEM, "route: out of memory");
    if (rc == 0)
        rc = add_hops(net, &hop, 1, err);
    sirq_net_unlock(net);
    return rc;
}

static bool of_route(const struct sirq_hop *hop, const void *arg)
{
    const struct sirq_hop *route = arg;

    return hop->type != SIRQ_HOP_LOCAL && hop->type != SIRQ_HOP_BROADCAST &&
           hop->plen == route->plen && sirq_ip_equal(&hop->dst, &route->dst);
}

int sirq_route_del(struct sirq_net *net, const struct sirq_route *route, struct sirq_error *err)
{
    int plen = plen_of(&route->dst, route->prefix), rc = 0;
    const struct sirq_hop like = {.dst = route->dst, .plen = (uint8_t)plen};

    sirq_net_lock(net);
    if (plen >= 0)
        rc = remove_hops(net, of_route, &like);
    sirq_net_unlock(net);
    if (rc == 0)
        return sirq_fail(err, ENOENT, "route: none of this prefix");
    return rc < 0 ? sirq_fail(err, -rc, "route: out of memory") : 0;
}

/* ---- the end -------------------------------------------------------------------------- */

static bool of_device(const struct sirq_hop *hop, const void *arg)
{
    return hop->dev == arg;
}

/* The device is about to be closed. */
void sirq_inet_forget(struct sirq_netdev *dev)
{
    int rc;

    sirq_net_lock(dev->net);
    rc = remove_hops(dev->net, of_device, dev);
    if (rc == -ENOMEM) /* better no routes than one to what is gone */
        publish_locked(dev->net, NULL, 0);
    sirq_net_unlock(dev->net);
}

void sirq_inet_fini(struct sirq_net *net)
{
    free((void *)(uintptr_t)net->fib);
    net->fib = NULL;
    sirq_neigh_fini(net);
}
