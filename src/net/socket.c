/* SPDX-License-Identifier: MIT */
/*
 * socket.c - opening and closing sockets.
 *
 * A socket is one piece of memory: itself, a feed per CPU, the slots of its queue.  Closed
 * in this order: unlinked, so that no new lookup finds it; sirq_synchronize(), so that no
 * lookup, no feed list and no pending wake-up holds it; then emptied and freed.
 */
#define SIRQ_NET_INTERNAL
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "private.h"

#define RCVBUF_DEFAULT ((size_t)1 << 20)
#define RCVBUF_MIN ((size_t)4 << 10)
#define RCVBUF_MAX ((size_t)256 << 20)

void sirq_net_lock(struct sirq_net *net)
{
    while (__atomic_exchange_n(&net->lock, 1, __ATOMIC_ACQUIRE) != 0)
        net->core->host->relax(&net->core->cpus[0]);
}

void sirq_net_unlock(struct sirq_net *net)
{
    __atomic_store_n(&net->lock, 0, __ATOMIC_RELEASE);
}

static struct sirq_socket *socket_alloc(struct sirq_net *net,
                                        const struct sirq_socket_config *config)
{
    size_t rcvbuf = config->rcvbuf != 0 ? config->rcvbuf : RCVBUF_DEFAULT;
    unsigned ncpus = net->core->ncpus;
    uint32_t cap = (uint32_t)(rcvbuf / SIRQ_PKT_TRUESIZE), size = 2;
    struct sirq_socket *sock;
    size_t bytes;

    while (size < cap)
        size *= 2;
    bytes = sizeof(*sock) + ncpus * sizeof(sock->feed[0]) + size * sizeof(uint64_t);
    bytes = (bytes + 63) & ~(size_t)63;
    sock = aligned_alloc(64, bytes);
    if (sock == NULL)
        return NULL;
    memset(sock, 0, bytes);
    sock->net = net;
    sock->bytes = bytes;
    sock->addr = config->v6 ? sirq_table_hash6(&config->addr6) : config->addr;
    sock->v6 = config->v6;
    if (config->v6)
        sock->addr6 = config->addr6;
    sock->port = config->port;
    sock->wq.eventfd = -1;
    for (unsigned i = 0; i < ncpus; i++)
        sock->feed[i].sock = sock;
    sirq_ring_init(&sock->queue, (uint64_t *)(void *)&sock->feed[ncpus], size, cap);
    return sock;
}

static struct sirq_table *table_of(const struct sirq_socket *sock)
{
    return sock->v6 ? &sock->net->table6 : &sock->net->table;
}

int sirq_socket_open(struct sirq_net *net, const struct sirq_socket_config *config,
                     struct sirq_socket **out)
{
    struct sirq_socket *sock;
    int err;

    if (net == NULL || config == NULL || out == NULL || config->port == 0)
        return -EINVAL;
    if (config->rcvbuf != 0 && (config->rcvbuf < RCVBUF_MIN || config->rcvbuf > RCVBUF_MAX))
        return -EINVAL;
    sock = socket_alloc(net, config);
    if (sock == NULL)
        return -ENOMEM;
    sirq_net_lock(net);
    err = sirq_table_insert_locked(table_of(sock), sock);
    sirq_net_unlock(net);
    if (err != 0) {
        free(sock);
        return err;
    }
    __atomic_fetch_add(&net->bytes, sock->bytes, __ATOMIC_RELAXED);
    *out = sock;
    return 0;
}

/* Nobody feeds it any more. */
static void queue_drain(struct sirq_socket *sock)
{
    uint32_t idx[64], n;

    while ((n = sirq_ring_take(&sock->queue, idx, 64)) > 0)
        sirq_pool_push(&sock->net->pool, idx, n);
}

void sirq_socket_close(struct sirq_socket *sock)
{
    struct sirq_addr *addr;
    struct sirq_net *net;

    if (sock == NULL)
        return;
    net = sock->net;
    sirq_net_lock(net);
    addr = sirq_table_remove_locked(table_of(sock), sock);
    sirq_net_unlock(net);
    sirq_synchronize_call(net->core, sirq_feeds_forget, sock);
    assert(__atomic_load_n(&sock->wq.nwaiters, __ATOMIC_RELAXED) == 0);
    queue_drain(sock);
    if (sock->wq.eventfd >= 0)
        close(sock->wq.eventfd);
    __atomic_fetch_sub(&net->bytes, sock->bytes, __ATOMIC_RELAXED);
    free(addr);
    free(sock);
}

int sirq_socket_fd(struct sirq_socket *sock)
{
    int fd = __atomic_load_n(&sock->wq.eventfd, __ATOMIC_ACQUIRE), none = -1;

    if (fd >= 0)
        return fd;
    /* Readable at once: what is queued already was announced to nobody. */
    fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (__atomic_compare_exchange_n(&sock->wq.eventfd, &none, fd, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return fd;
    close(fd); /* another thread was first */
    return none;
}

void sirq_socket_stats(const struct sirq_socket *sock, struct sirq_socket_stats *out)
{
    *out = (struct sirq_socket_stats){
        .received = __atomic_load_n(&sock->queue.tail, __ATOMIC_RELAXED),
        .len = sirq_ring_len(&sock->queue),
        .cap = sock->queue.cap,
    };
    for (unsigned i = 0; i < sock->net->core->ncpus; i++) {
        out->queued += READ_COUNT(sock->feed[i].queued);
        out->dropped += READ_COUNT(sock->feed[i].dropped);
    }
}
