/* SPDX-License-Identifier: MIT */
/*
 * nat_set.c - turning NAT44 on and off.
 *
 * The table is made, then published; and taken out of sight, waited for, and freed.  Under the
 * stack's lock, which no softirq takes.
 */
#define SIRQ_NET_INTERNAL
#include "nat.h"

#include <errno.h>
#include <stdlib.h>

#define CONNS 16384u

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
    return value != 0 ? value : otherwise;
}

static int take_config(struct sirq_nat *nat, const struct sirq_nat_config *config,
                       struct sirq_error *err)
{
    struct sirq_nat_config *c = &nat->config;

    *c = *config;
    c->max_conns = (unsigned)or_default(c->max_conns, CONNS);
    c->udp_s = (unsigned)or_default(c->udp_s, 120);
    c->udp_stream_s = (unsigned)or_default(c->udp_stream_s, 300);
    c->tcp_transitory_s = (unsigned)or_default(c->tcp_transitory_s, 240);
    c->tcp_established_s = (unsigned)or_default(c->tcp_established_s, 7440);
    c->icmp_s = (unsigned)or_default(c->icmp_s, 60);
    if (c->port_lo == 0 && c->port_hi == 0) {
        c->port_lo = 1024;
        c->port_hi = 65535;
    }
    if (c->port_lo == 0 || c->port_hi < c->port_lo)
        return sirq_fail(err, EINVAL, "nat: ports %u to %u: give 1 to 65535, the lower first",
                         c->port_lo, c->port_hi);
    if (c->max_conns > SIRQ_NAT_CONNS_MAX)
        return sirq_fail(err, EINVAL, "nat: max_conns %u: give at most %u", c->max_conns,
                         SIRQ_NAT_CONNS_MAX);
    return 0;
}

static void nat_free(struct sirq_nat *nat)
{
    free(nat->bucket[0]);
    free(nat->bucket[1]);
    free(nat->conn);
    free(nat);
}

static int nat_alloc(struct sirq_nat *nat)
{
    uint32_t n = nat->config.max_conns, buckets = 64;

    while (buckets < n)
        buckets *= 2;
    nat->mask = buckets - 1;
    nat->conn = calloc(n, sizeof(*nat->conn));
    for (unsigned dir = 0; dir < 2; dir++) {
        nat->bucket[dir] = malloc(buckets * sizeof(uint32_t));
        if (nat->bucket[dir] == NULL || nat->conn == NULL)
            return -ENOMEM;
        memset(nat->bucket[dir], 0xff, buckets * sizeof(uint32_t)); /* SIRQ_NAT_NIL */
    }
    for (uint32_t i = 0; i < n; i++)
        nat->conn[i].next[0] = i + 1 < n ? i + 1 : SIRQ_NAT_NIL;
    nat->bytes += n * sizeof(*nat->conn) + 2 * buckets * sizeof(uint32_t);
    return 0;
}

static int nat_create(struct sirq_nat **out, struct sirq_netdev *outside,
                      const struct sirq_nat_config *config, struct sirq_error *err)
{
    size_t bytes =
        sizeof(struct sirq_nat) + outside->net->core->ncpus * sizeof(struct sirq_nat_count);
    struct sirq_nat *nat = aligned_alloc(64, bytes);
    int rc;

    if (nat == NULL)
        return sirq_fail(err, ENOMEM, "nat: out of memory");
    memset(nat, 0, bytes);
    nat->bytes = bytes;
    nat->outside = outside;
    nat->net = outside->net;
    nat->addr = __atomic_load_n(&outside->addr4, __ATOMIC_RELAXED);
    rc = nat->addr != 0
             ? take_config(nat, config, err)
             : sirq_fail(err, EADDRNOTAVAIL,
                         "nat: device %s has no IPv4 address: give it one first", outside->name);
    if (rc == 0 && nat_alloc(nat) != 0)
        rc = sirq_fail(err, ENOMEM, "nat: out of memory for %u connections", nat->config.max_conns);
    if (rc != 0) {
        nat_free(nat);
        return rc;
    }
    nat->key = sirq_nat_mix(sirq_now_ns(&nat->net->core->cpus[0]), nat->addr);
    sirq_timer_init(&nat->timer, sirq_nat_timer, nat);
    *out = nat;
    return 0;
}

/* Under the stack's lock. */
static void nat_off_locked(struct sirq_net *net)
{
    struct sirq_nat *nat = net->nat;

    if (nat == NULL)
        return;
    __atomic_store_n(&net->nat, NULL, __ATOMIC_RELEASE);
    sirq_synchronize(net->core); /* nobody finds anything in it any more, or arms its timer */
    sirq_net_timer_stop(net->core, &nat->timer);
    __atomic_fetch_sub(&net->bytes, nat->bytes, __ATOMIC_RELAXED);
    nat_free(nat);
}

int sirq_nat_set(struct sirq_net *net, struct sirq_netdev *outside,
                 const struct sirq_nat_config *config, struct sirq_error *err)
{
    struct sirq_nat *nat = NULL;
    int rc = 0;

    sirq_net_lock(net);
    if (config == NULL)
        nat_off_locked(net);
    else if (net->nat != NULL)
        rc = sirq_fail(err, EBUSY, "nat: is on, for device %s: turn it off first",
                       net->nat->outside->name);
    else
        rc = nat_create(&nat, outside, config, err);
    if (nat != NULL) {
        __atomic_fetch_add(&net->bytes, nat->bytes, __ATOMIC_RELAXED);
        /* RELEASE: the table before the pointer. */
        __atomic_store_n(&net->nat, nat, __ATOMIC_RELEASE);
    }
    sirq_net_unlock(net);
    return rc;
}

void sirq_nat_forget(struct sirq_netdev *dev)
{
    sirq_net_lock(dev->net);
    if (dev->net->nat != NULL && dev->net->nat->outside == dev)
        nat_off_locked(dev->net);
    sirq_net_unlock(dev->net);
}

void sirq_nat_stats(struct sirq_net *net, struct sirq_nat_stats *out)
{
    *out = (struct sirq_nat_stats){0};
    sirq_net_lock(net); /* it stays */
    if (net->nat != NULL) {
        const struct sirq_nat_stats *s = &net->nat->stats;

        out->conns = GET(s->conns);
        out->created = GET(s->created);
        out->expired = GET(s->expired);
        for (unsigned i = 0; i < net->core->ncpus; i++) {
            out->translated[0] += READ_COUNT(net->nat->count[i].translated[0]);
            out->translated[1] += READ_COUNT(net->nat->count[i].translated[1]);
            out->errors += READ_COUNT(net->nat->count[i].errors);
        }
    }
    sirq_net_unlock(net);
}
