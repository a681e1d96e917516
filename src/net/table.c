/* SPDX-License-Identifier: MIT */
/*
 * table.c - which socket takes a datagram.
 *
 * Chained hash tables of fixed size.  Softirqs on any CPU look up while a task inserts or
 * removes: an entry is complete before it is linked (RELEASE), and keeps its own link
 * after it is unlinked, so that a lookup that stands on it finds its way; the remover
 * calls sirq_synchronize() before it frees it.
 *
 * A socket is keyed by address and port.  One bound to the very address wins over one on
 * any address; both may share a port.  When every socket is bound to some address, packets
 * for other addresses end at the IP layer (ip_dst); otherwise any address is accepted.
 */
#define SIRQ_NET_INTERNAL
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

static uint32_t hash(const struct sirq_table *table, uint32_t addr, uint32_t port)
{
    uint64_t key = (uint64_t)addr << 16 | port;

    return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) & table->mask;
}

int sirq_table_init(struct sirq_table *table, uint32_t max_sockets)
{
    uint32_t buckets = 64;

    while (buckets < 2 * max_sockets)
        buckets *= 2;
    *table = (struct sirq_table){.mask = buckets - 1, .max_sockets = max_sockets};
    table->bucket = calloc(buckets, sizeof(*table->bucket));
    table->addrs = calloc(buckets, sizeof(*table->addrs));
    if (table->bucket != NULL && table->addrs != NULL)
        return 0;
    sirq_table_fini(table);
    return -ENOMEM;
}

void sirq_table_fini(struct sirq_table *table)
{
    free(table->bucket);
    free(table->addrs);
    table->bucket = NULL;
    table->addrs = NULL;
}

size_t sirq_table_memory(const struct sirq_table *table)
{
    return ((size_t)table->mask + 1) * (sizeof(*table->bucket) + sizeof(*table->addrs));
}

static struct sirq_socket *find_socket(const struct sirq_table *table, uint32_t addr, uint16_t port)
{
    struct sirq_socket *sock;

    sock = __atomic_load_n(&table->bucket[hash(table, addr, port)], __ATOMIC_ACQUIRE);
    while (sock != NULL && (sock->addr != addr || sock->port != port))
        sock = __atomic_load_n(&sock->next, __ATOMIC_ACQUIRE);
    return sock;
}

uint32_t sirq_table_hash6(const struct sirq_ip *addr)
{
    static const struct sirq_ip none;
    uint64_t w[2];

    memcpy(w, addr, sizeof(w));
    if (memcmp(addr, &none, sizeof(none)) == 0)
        return 0;
    return (uint32_t)((w[0] * 3 ^ w[1]) * UINT64_C(0x9e3779b97f4a7c15) >> 32) | 1;
}

/* IPv4 sockets have no addr6: all zero. */
static struct sirq_socket *find_socket6(const struct sirq_table *table, uint32_t addr,
                                        const struct sirq_ip *addr6, uint16_t port)
{
    struct sirq_socket *sock = find_socket(table, addr, port);

    while (sock != NULL && (sock->addr != addr || sock->port != port ||
                            memcmp(&sock->addr6, addr6, sizeof(*addr6)) != 0))
        sock = __atomic_load_n(&sock->next, __ATOMIC_ACQUIRE);
    return sock;
}

struct sirq_socket *sirq_table_lookup6(const struct sirq_table *table, const struct sirq_ip *daddr,
                                       uint16_t dport)
{
    static const struct sirq_ip any;
    struct sirq_socket *sock = NULL;

    if (__atomic_load_n(&table->nbound, __ATOMIC_RELAXED) != 0)
        sock = find_socket6(table, sirq_table_hash6(daddr), daddr, dport);
    return sock != NULL ? sock : find_socket6(table, 0, &any, dport);
}

static struct sirq_addr *find_addr(const struct sirq_table *table, uint32_t addr)
{
    struct sirq_addr *entry;

    entry = __atomic_load_n(&table->addrs[hash(table, addr, 0)], __ATOMIC_ACQUIRE);
    while (entry != NULL && entry->addr != addr)
        entry = __atomic_load_n(&entry->next, __ATOMIC_ACQUIRE);
    return entry;
}

bool sirq_table_bound_addr(const struct sirq_table *table, uint32_t daddr)
{
    return find_addr(table, daddr) != NULL;
}

struct sirq_socket *sirq_table_find(const struct sirq_table *table, uint32_t addr, uint16_t port)
{
    return find_socket(table, addr, port);
}

static int bind_addr_locked(struct sirq_table *table, struct sirq_socket *sock)
{
    struct sirq_addr **head = &table->addrs[hash(table, sock->addr, 0)], *entry;

    entry = find_addr(table, sock->addr);
    if (entry == NULL) {
        entry = malloc(sizeof(*entry));
        if (entry == NULL)
            return -ENOMEM;
        *entry = (struct sirq_addr){.next = *head, .addr = sock->addr};
        __atomic_store_n(head, entry, __ATOMIC_RELEASE);
    }
    entry->refs++;
    sock->bound = entry;
    return 0;
}

int sirq_table_insert_locked(struct sirq_table *table, struct sirq_socket *sock)
{
    struct sirq_socket **head = &table->bucket[hash(table, sock->addr, sock->port)];
    int err;

    if (find_socket6(table, sock->addr, &sock->addr6, sock->port) != NULL)
        return -EADDRINUSE;
    if (table->nsockets == table->max_sockets)
        return -ENOSPC;
    if (sock->addr != 0) {
        err = bind_addr_locked(table, sock);
        if (err != 0)
            return err;
    }
    table->nsockets++;
    sock->next = *head;
    __atomic_store_n(head, sock, __ATOMIC_RELEASE);
    /* Linked before counted: the count sends lookups to the chains. */
    __atomic_fetch_add(sock->addr != 0 ? &table->nbound : &table->nany, 1, __ATOMIC_RELEASE);
    return 0;
}

static struct sirq_addr *unbind_addr_locked(struct sirq_table *table, struct sirq_addr *entry)
{
    struct sirq_addr **link = &table->addrs[hash(table, entry->addr, 0)];

    if (--entry->refs > 0)
        return NULL;
    while (*link != entry)
        link = &(*link)->next;
    __atomic_store_n(link, entry->next, __ATOMIC_RELEASE);
    return entry;
}

struct sirq_addr *sirq_table_remove_locked(struct sirq_table *table, struct sirq_socket *sock)
{
    struct sirq_socket **link = &table->bucket[hash(table, sock->addr, sock->port)];

    while (*link != sock)
        link = &(*link)->next;
    __atomic_fetch_sub(sock->addr != 0 ? &table->nbound : &table->nany, 1, __ATOMIC_RELEASE);
    __atomic_store_n(link, sock->next, __ATOMIC_RELEASE);
    table->nsockets--;
    return sock->bound != NULL ? unbind_addr_locked(table, sock->bound) : NULL;
}
