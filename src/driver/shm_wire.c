/* SPDX-License-Identifier: MIT */
/*
 * The wire side of the shared-memory NIC: what a traffic source does to put frames on it
 * (layout, interrupt protocol and its ordering: shm_ring.h).
 *
 * A frame costs a copy and two stores to its descriptor.  The publishing store is a full
 * barrier: it waits for the lines of all frames before it to come over from the consumer's
 * CPU, so a fast source publishes a burst at a time.  The consumer's index is cached and fetched again only when the ring
 * looks full, so that the two sides do not pull at one line for every frame.
 *
 * The doorbell outlives the engine.  This side keeps a duplicate of the pipe's read end, so
 * a write after the engine has gone never meets a pipe without readers (no SIGPIPE, no
 * EPIPE); the pipe does not block, and EAGAIN means that a doorbell is waiting already.  An
 * engine that closes its device leaves it masked, one that is killed is rung at most once.
 */
#define SIRQ_DRIVER_PRIVATE
#include "driver.h"
#include "shm_ring.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sirq/shm.h>

struct sirq_shm {
    struct sirq_shm_map map;
    uint64_t prod;        /* what ring->prod is: we are its only writer */
    uint64_t placed;      /* prod and the frames committed since */
    uint64_t cons_cached; /* ring->cons as last seen, behind or equal to it */
    uint64_t tx_cons;     /* what ring->tx_cons is: we are its only writer */
    int doorbell[2];      /* duplicates; [0] is never read, see above */
};

/* One byte in the pipe.  Every failure means one is waiting there or nobody will look. */
static void shm_write_doorbell(const struct sirq_shm *shm)
{
    int saved = errno;

    while (write(shm->doorbell[1], "", 1) < 0 && errno == EINTR)
        ;
    errno = saved;
}

/* Exactly one doorbell per unmask: who takes UNMASKED to FIRED writes it.  The exchange
 * fails when the driver has masked since; it is going to look at the ring by itself. */
static __attribute__((noinline)) void shm_fire(const struct sirq_shm *shm)
{
    uint32_t unmasked = SIRQ_SHM_UNMASKED;

    if (__atomic_compare_exchange_n(&shm->map.ring->irq, &unmasked, SIRQ_SHM_FIRED, false,
                                    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        shm_write_doorbell(shm);
}

/*
 * A producer that died may have published a frame and not rung, or have taken the word to
 * FIRED and not written.  Ring again; at worst it is an interrupt in vain.
 */
static void shm_recover_doorbell(const struct sirq_shm *shm)
{
    if (shm->prod == shm->cons_cached)
        return;
    if (__atomic_load_n(&shm->map.ring->irq, __ATOMIC_SEQ_CST) == SIRQ_SHM_FIRED)
        shm_write_doorbell(shm);
    else
        shm_fire(shm);
}

static int shm_attach_doorbell(struct sirq_shm *shm, const struct sirq_shm_nic *nic)
{
    shm->doorbell[0] = fcntl(nic->doorbell[0], F_DUPFD_CLOEXEC, 0);
    if (shm->doorbell[0] < 0)
        return -errno;
    shm->doorbell[1] = fcntl(nic->doorbell[1], F_DUPFD_CLOEXEC, 0);
    if (shm->doorbell[1] < 0) {
        int rc = -errno;

        close(shm->doorbell[0]);
        return rc;
    }
    return 0;
}

int sirq_shm_attach(struct sirq_shm **out, const struct sirq_netdev *dev)
{
    const struct sirq_shm_nic *nic = dev->priv;
    struct sirq_shm *shm;
    int rc;

    if (dev->driver != &sirq_shm_driver)
        return -EINVAL;
    shm = calloc(1, sizeof(*shm));
    if (!shm)
        return -ENOMEM;
    shm->map = nic->map;
    rc = shm_attach_doorbell(shm, nic);
    if (rc < 0)
        goto free;
    rc = sirq_shm_map_open(&shm->map, nic->memfd);
    if (rc < 0)
        goto close;
    shm->prod = shm->placed = __atomic_load_n(&shm->map.ring->prod, __ATOMIC_RELAXED);
    shm->cons_cached = __atomic_load_n(&shm->map.ring->cons, __ATOMIC_ACQUIRE);
    shm->tx_cons = __atomic_load_n(&shm->map.ring->tx_cons, __ATOMIC_RELAXED);
    rc = -EPROTO; /* an earlier producer has left a broken ring behind */
    if (shm->map.ring->magic != SIRQ_SHM_MAGIC || shm->map.ring->version != SIRQ_SHM_VERSION ||
        shm->prod - shm->cons_cached > shm->map.ring_size)
        goto unmap;
    shm_recover_doorbell(shm);
    *out = shm;
    return 0;
unmap:
    sirq_shm_map_close(&shm->map);
close:
    close(shm->doorbell[0]);
    close(shm->doorbell[1]);
free:
    free(shm);
    return rc;
}

void sirq_shm_close(struct sirq_shm *shm)
{
    sirq_shm_map_close(&shm->map);
    close(shm->doorbell[0]);
    close(shm->doorbell[1]);
    free(shm);
}

/* Acquire: the driver is done with the places before we write to them. */
static inline bool shm_full(struct sirq_shm *shm)
{
    if (shm->placed - shm->cons_cached < shm->map.ring_size)
        return false;
    shm->cons_cached = __atomic_load_n(&shm->map.ring->cons, __ATOMIC_ACQUIRE);
    return shm->placed - shm->cons_cached >= shm->map.ring_size;
}

void *sirq_shm_reserve(struct sirq_shm *shm)
{
    return shm_full(shm) ? NULL : sirq_shm_frame_at(&shm->map, shm->placed);
}

void sirq_shm_commit(struct sirq_shm *shm, uint32_t len, uint64_t now_ns)
{
    struct sirq_shm_desc *desc = sirq_shm_desc_at(&shm->map, shm->placed);

    assert(len <= shm->map.frame_size);
    assert(shm->placed - shm->cons_cached < shm->map.ring_size);
    __atomic_store_n(&desc->len, len, __ATOMIC_RELAXED);
    __atomic_store_n(&desc->rx_ns, now_ns, __ATOMIC_RELAXED);
    shm->placed++;
}

void sirq_shm_publish(struct sirq_shm *shm)
{
    struct sirq_shm_ring *ring = shm->map.ring;

    if (shm->prod == shm->placed)
        return;
    shm->prod = shm->placed;
    /*
     * Release: frames and descriptors before the index that publishes them.  Seq_cst: the
     * index before the load of the interrupt word; either the driver's rx_pending() after
     * its unmask sees these frames, or we see UNMASKED here.
     */
    __atomic_store_n(&ring->prod, shm->prod, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&ring->irq, __ATOMIC_SEQ_CST) == SIRQ_SHM_UNMASKED)
        shm_fire(shm);
}

bool sirq_shm_send(struct sirq_shm *shm, const void *frame, uint32_t len, uint64_t now_ns)
{
    void *place = len > shm->map.frame_size ? NULL : sirq_shm_reserve(shm);

    if (place == NULL) {
        sirq_shm_count_drops(shm, 1);
        return false;
    }
    memcpy(place, frame, len);
    sirq_shm_commit(shm, len, now_ns);
    sirq_shm_publish(shm);
    return true;
}

const void *sirq_shm_receive(struct sirq_shm *shm, uint32_t *len, uint64_t *tx_ns)
{
    const struct sirq_shm_desc *desc = sirq_shm_tx_desc_at(&shm->map, shm->tx_cons);

    /* Acquire: the index before the frames it publishes. */
    if (__atomic_load_n(&shm->map.ring->tx_prod, __ATOMIC_ACQUIRE) == shm->tx_cons)
        return NULL;
    *len = __atomic_load_n(&desc->len, __ATOMIC_RELAXED);
    if (*len > shm->map.frame_size)
        *len = shm->map.frame_size;
    if (tx_ns != NULL)
        *tx_ns = __atomic_load_n(&desc->rx_ns, __ATOMIC_RELAXED);
    return sirq_shm_tx_frame_at(&shm->map, shm->tx_cons);
}

void sirq_shm_received(struct sirq_shm *shm)
{
    /* Release: we are done with the frame before the driver reuses its place. */
    __atomic_store_n(&shm->map.ring->tx_cons, ++shm->tx_cons, __ATOMIC_RELEASE);
}

void sirq_shm_count_drops(struct sirq_shm *shm, uint64_t n)
{
    sirq_shm_count(&shm->map.ring->dropped, n);
}

unsigned sirq_shm_space(const struct sirq_shm *shm)
{
    uint64_t cons = __atomic_load_n(&shm->map.ring->cons, __ATOMIC_ACQUIRE);

    return shm->map.ring_size - (unsigned)(shm->placed - cons);
}
