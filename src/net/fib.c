/* SPDX-License-Identifier: MIT */
/*
 * fib.c - the longest prefix of an address: a binary trie without one-way branches.
 *
 * One table for both kinds of addresses, since IPv4 ones are a prefix of IPv6's.  A node stands
 * for a prefix; below it are those that go on with a 0 and with a 1.  A node that has no hop has
 * two children, so n prefixes make less than 2n nodes, and a lookup visits at most one node for
 * each length that occurs on its way.
 *
 * A table is never changed: tasks build another one and publish it (inet.c).  Softirqs read
 * without a lock or a store.
 */
#define SIRQ_NET_INTERNAL
#include "inet.h"

#include <stdlib.h>

#define NIL UINT32_MAX

struct key {
    uint64_t w[2]; /* host order, most significant first */
};

struct node {
    struct key key, mask;
    uint32_t child[2]; /* or NIL */
    uint32_t hop;      /* or NIL */
    uint32_t plen;
};

struct sirq_fib {
    struct sirq_hop *hops;
    struct node *nodes;
    uint32_t nhops, nnodes, root;
};

static struct key key_of(const struct sirq_ip *ip)
{
    uint64_t w[2];

    memcpy(w, ip, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (struct key){{__builtin_bswap64(w[0]), __builtin_bswap64(w[1])}};
#else
    return (struct key){{w[0], w[1]}};
#endif
}

static uint64_t mask_word(unsigned bits)
{
    return bits == 0 ? 0 : UINT64_MAX << (64 - (bits < 64 ? bits : 64));
}

static struct key mask_of(unsigned plen)
{
    return (struct key){{mask_word(plen), mask_word(plen > 64 ? plen - 64 : 0)}};
}

static struct key masked(struct key key, unsigned plen)
{
    struct key mask = mask_of(plen);

    return (struct key){{key.w[0] & mask.w[0], key.w[1] & mask.w[1]}};
}

static unsigned bit(const struct key *key, unsigned at)
{
    return key->w[at / 64] >> (63 - at % 64) & 1;
}

/* How many bits are equal, at most `limit`. */
static unsigned common(const struct key *a, const struct key *b, unsigned limit)
{
    uint64_t high = a->w[0] ^ b->w[0], low = a->w[1] ^ b->w[1];
    unsigned n = high != 0  ? (unsigned)__builtin_clzll(high)
                 : low != 0 ? 64 + (unsigned)__builtin_clzll(low)
                            : 128;

    return n < limit ? n : limit;
}

const struct sirq_hop *sirq_fib_lookup(const struct sirq_fib *fib, const struct sirq_ip *addr)
{
    struct key key = key_of(addr);
    const struct node *node;
    uint32_t at, best = NIL;

    if (fib == NULL)
        return NULL;
    for (at = fib->root; at != NIL; at = node->child[bit(&key, node->plen)]) {
        node = &fib->nodes[at];
        if (((key.w[0] ^ node->key.w[0]) & node->mask.w[0]) != 0 ||
            ((key.w[1] ^ node->key.w[1]) & node->mask.w[1]) != 0)
            break;
        if (node->hop != NIL)
            best = node->hop;
        if (node->plen == 128)
            break;
    }
    return best != NIL ? &fib->hops[best] : NULL;
}

static uint32_t new_node(struct sirq_fib *fib, const struct key *key, unsigned plen, uint32_t hop)
{
    struct node *node = &fib->nodes[fib->nnodes];

    assert(fib->nnodes < 2 * fib->nhops);
    *node = (struct node){.key = masked(*key, plen),
                          .mask = mask_of(plen),
                          .child = {NIL, NIL},
                          .hop = hop,
                          .plen = plen};
    return fib->nnodes++;
}

/* In the place of the node at *link, which does not begin with all of ours: a node for what
 * they have in common, unless that is ours, and ours beside or above it. */
static void split(struct sirq_fib *fib, uint32_t *link, const struct key *key, unsigned plen,
                  uint32_t hop, unsigned same)
{
    uint32_t old = *link, ours = new_node(fib, key, plen, hop), top = ours;

    if (same < plen) {
        top = new_node(fib, key, same, NIL);
        fib->nodes[top].child[bit(key, same)] = ours;
    }
    fib->nodes[top].child[bit(&fib->nodes[old].key, same)] = old;
    *link = top;
}

static void insert(struct sirq_fib *fib, uint32_t hop)
{
    struct key key = key_of(&fib->hops[hop].dst);
    unsigned plen = fib->hops[hop].plen, same;
    uint32_t *link = &fib->root;

    while (*link != NIL) {
        struct node *node = &fib->nodes[*link];

        same = common(&key, &node->key, node->plen < plen ? node->plen : plen);
        if (same < node->plen) {
            split(fib, link, &key, plen, hop, same);
            return;
        }
        if (node->plen == plen) {
            if (node->hop == NIL)
                node->hop = hop;
            return;
        }
        link = &node->child[bit(&key, node->plen)];
    }
    *link = new_node(fib, &key, plen, hop);
}

size_t sirq_fib_bytes(uint32_t n)
{
    return sizeof(struct sirq_fib) + n * (sizeof(struct sirq_hop) + 2 * sizeof(struct node));
}

struct sirq_fib *sirq_fib_build(const struct sirq_hop *hops, uint32_t n)
{
    struct sirq_fib *fib = calloc(1, sirq_fib_bytes(n));

    if (fib == NULL)
        return NULL;
    fib->nodes = (struct node *)(void *)(fib + 1);
    fib->hops = (struct sirq_hop *)(void *)(fib->nodes + 2 * (size_t)n);
    fib->nhops = n;
    fib->root = NIL;
    memcpy(fib->hops, hops, n * sizeof(*hops));
    for (uint32_t i = 0; i < n; i++)
        insert(fib, i);
    return fib;
}

const struct sirq_hop *sirq_fib_hops(const struct sirq_fib *fib, uint32_t *n)
{
    *n = fib != NULL ? fib->nhops : 0;
    return fib != NULL ? fib->hops : NULL;
}

struct sirq_ip sirq_ip_masked(const struct sirq_ip *ip, unsigned plen)
{
    struct sirq_ip out = *ip;

    for (unsigned i = 0; i < 128; i += 8) {
        unsigned keep = plen > i ? plen - i : 0;

        if (keep < 8)
            out.b[i / 8] &= (uint8_t)(0xff00 >> keep);
    }
    return out;
}

/* Link-local for link-local, as far as there is one; rare, so all are looked at. */
struct sirq_ip sirq_fib_source(const struct sirq_fib *fib, const struct sirq_netdev *dev,
                               const struct sirq_ip *addr)
{
    struct sirq_ip any = {{0}};

    for (uint32_t i = 0; fib != NULL && i < fib->nhops; i++) {
        const struct sirq_hop *hop = &fib->hops[i];

        if (hop->type != SIRQ_HOP_LOCAL || hop->dev != dev ||
            sirq_ip_is_v4(&hop->dst) != sirq_ip_is_v4(addr))
            continue;
        if (sirq_ip_link_local(&hop->dst) == sirq_ip_link_local(addr))
            return hop->dst;
        any = hop->dst;
    }
    return any;
}
