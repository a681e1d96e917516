/* SPDX-License-Identifier: MIT */
/*
 * The `shm` driver: the engine's side of the shared-memory NIC (layout, interrupt protocol
 * and its ordering: shm_ring.h; the wire side: shm_wire.c).
 *
 * The producer may be another process and is not trusted.  Of the shared memory only `prod`,
 * the descriptors and the frames are read, each word once; sizes and the consumer index are
 * the driver's own copies, and the memory is sealed against shrinking.  So whatever the other
 * side writes, no place beyond the ring is read.  The bytes of a frame may still change while
 * the stack looks at them.
 *
 * Memory is taken at open and all its pages are present from then on.
 */
#define SIRQ_DRIVER_PRIVATE
#include "driver.h"
#include "shm_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Frames ahead of which a poll fetches: one cache miss is about this many frames' work. */
#define SHM_PREFETCH 4u

/* Frames on the ring; 0 with *broken set when the producer index cannot be. */
static uint32_t shm_waiting(const struct sirq_shm_nic *nic, bool *broken)
{
    /*
     * Acquire: the index before the descriptors and frames it publishes.  Seq_cst: after
     * irq_unmask's store, see shm_ring.h.
     */
    uint64_t prod = __atomic_load_n(&nic->map.ring->prod, __ATOMIC_SEQ_CST);
    uint64_t waiting = prod - __atomic_load_n(&nic->cons, __ATOMIC_RELAXED);

    *broken = waiting > nic->map.ring_size;
    return *broken ? 0 : (uint32_t)waiting;
}

static void shm_broken(struct sirq_cpu *cpu, struct sirq_netdev *dev)
{
    struct sirq_shm_nic *nic = dev->priv;

    sirq_shm_count(&nic->rx_errors, 1);
    if (nic->reported)
        return;
    nic->reported = 1;
    if (dev->host && dev->host->report)
        dev->host->report(cpu, "shm: producer index is beyond the ring",
                          __atomic_load_n(&nic->map.ring->prod, __ATOMIC_RELAXED));
}

static void shm_prefetch(const struct sirq_shm_nic *nic, uint64_t index)
{
    __builtin_prefetch(sirq_shm_desc_at(&nic->map, index));
    __builtin_prefetch(sirq_shm_frame_at(&nic->map, index));
}

static void shm_rx_frame(struct sirq_cpu *cpu, struct sirq_netdev *dev, uint64_t index)
{
    struct sirq_shm_nic *nic = dev->priv;
    const struct sirq_shm_desc *desc = sirq_shm_desc_at(&nic->map, index);
    uint32_t len = __atomic_load_n(&desc->len, __ATOMIC_RELAXED); /* once: checked = used */
    uint64_t rx_ns = __atomic_load_n(&desc->rx_ns, __ATOMIC_RELAXED);

    if (len > nic->map.frame_size) {
        sirq_shm_count(&nic->rx_errors, 1);
        return;
    }
    sirq_shm_count(&nic->rx_packets, 1);
    sirq_net_rx(cpu, dev, sirq_shm_frame_at(&nic->map, index), len, rx_ns);
}

static int shm_rx_poll(struct sirq_cpu *cpu, struct sirq_netdev *dev, int budget)
{
    struct sirq_shm_nic *nic = dev->priv;
    uint64_t cons = nic->cons;
    bool broken;
    uint32_t n = shm_waiting(nic, &broken);

    if (broken)
        shm_broken(cpu, dev);
    if (n > (uint32_t)budget)
        n = (uint32_t)budget;
    for (uint32_t i = 0; i < n && i < SHM_PREFETCH; i++)
        shm_prefetch(nic, cons + i);
    for (uint32_t i = 0; i < n; i++) {
        if (i + SHM_PREFETCH < n)
            shm_prefetch(nic, cons + i + SHM_PREFETCH);
        shm_rx_frame(cpu, dev, cons + i);
    }
    if (n > 0) {
        __atomic_store_n(&nic->cons, cons + n, __ATOMIC_RELAXED);
        /* Release: we are done with the frames before the producer reuses their places. */
        __atomic_store_n(&nic->map.ring->cons, cons + n, __ATOMIC_RELEASE);
    }
    return (int)n;
}

/* Bytes of a doorbell are merged: one read takes more than the protocol lets pile up. */
static void shm_irq_ack(struct sirq_netdev *dev)
{
    const struct sirq_shm_nic *nic = dev->priv;
    char bytes[64];
    int saved = errno; /* a signal handler may call us */

    /* Bounded: a producer that breaks the protocol cannot keep a handler here. */
    for (int i = 0; i < 16 && read(nic->doorbell[0], bytes, sizeof(bytes)) == sizeof(bytes); i++)
        ;
    errno = saved;
}

/* Relaxed: a producer that has seen UNMASKED just before rings once in vain. */
static void shm_irq_mask(struct sirq_netdev *dev)
{
    const struct sirq_shm_nic *nic = dev->priv;

    __atomic_store_n(&nic->map.ring->irq, SIRQ_SHM_MASKED, __ATOMIC_RELAXED);
}

/*
 * Seq_cst: UNMASKED is visible before the caller's rx_pending() loads `prod`.  A frame
 * published before that load is seen there, one after it finds UNMASKED and rings.
 */
static void shm_irq_unmask(struct sirq_netdev *dev)
{
    const struct sirq_shm_nic *nic = dev->priv;

    __atomic_store_n(&nic->map.ring->irq, SIRQ_SHM_UNMASKED, __ATOMIC_SEQ_CST);
}

static bool shm_rx_pending(const struct sirq_netdev *dev)
{
    bool broken;

    return shm_waiting(dev->priv, &broken) > 0;
}

/* Places not free; the wire side's index is not trusted: a broken one makes the ring full. */
static uint64_t shm_tx_taken(const struct sirq_shm_nic *nic)
{
    /* Acquire: the wire side is done with the places before we write to them. */
    return nic->tx_placed - __atomic_load_n(&nic->map.ring->tx_cons, __ATOMIC_ACQUIRE);
}

static int shm_tx(struct sirq_cpu *cpu, struct sirq_netdev *dev, const uint8_t *frame, uint32_t len)
{
    struct sirq_shm_nic *nic = dev->priv;
    struct sirq_shm_desc *desc = sirq_shm_tx_desc_at(&nic->map, nic->tx_placed);

    if (len > nic->map.frame_size)
        return -EMSGSIZE;
    if (shm_tx_taken(nic) >= nic->map.ring_size)
        return -ENOBUFS;
    memcpy(sirq_shm_tx_frame_at(&nic->map, nic->tx_placed), frame, len);
    __atomic_store_n(&desc->len, len, __ATOMIC_RELAXED);
    __atomic_store_n(&desc->rx_ns, dev->host->now_ns(cpu), __ATOMIC_RELAXED);
    __atomic_store_n(&nic->tx_placed, nic->tx_placed + 1, __ATOMIC_RELAXED);
    return 0;
}

static void shm_tx_flush(struct sirq_cpu *cpu, struct sirq_netdev *dev)
{
    struct sirq_shm_nic *nic = dev->priv;

    (void)cpu;
    /* Release: frames and descriptors before the index that publishes them. */
    __atomic_store_n(&nic->map.ring->tx_prod, nic->tx_placed, __ATOMIC_RELEASE);
}

static void shm_stats(const struct sirq_netdev *dev, struct sirq_netdev_stats *out)
{
    const struct sirq_shm_nic *nic = dev->priv;
    bool broken;

    out->rx_packets = __atomic_load_n(&nic->rx_packets, __ATOMIC_RELAXED);
    out->rx_errors = __atomic_load_n(&nic->rx_errors, __ATOMIC_RELAXED);
    out->rx_dropped = __atomic_load_n(&nic->map.ring->dropped, __ATOMIC_RELAXED);
    out->rx_waiting = shm_waiting(nic, &broken);
    out->tx_packets = __atomic_load_n(&nic->tx_placed, __ATOMIC_RELAXED);
    out->tx_waiting = out->tx_packets - __atomic_load_n(&nic->map.ring->tx_cons, __ATOMIC_RELAXED);
    if (out->tx_waiting > nic->map.ring_size)
        out->tx_waiting = nic->map.ring_size;
}

/* Memory of the ring, sealed: a producer that shrinks it would kill us by SIGBUS. */
static int shm_memory_open(struct sirq_shm_nic *nic)
{
    struct sirq_shm_map *map = &nic->map;
    int rc;

    nic->memfd = memfd_create("sirq-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (nic->memfd < 0)
        return -errno;
    if (ftruncate(nic->memfd, (off_t)map->size) < 0 ||
        fcntl(nic->memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        rc = -errno;
    else
        rc = sirq_shm_map_open(map, nic->memfd);
    if (rc < 0) {
        close(nic->memfd);
        return rc;
    }
    map->ring->magic = SIRQ_SHM_MAGIC;
    map->ring->version = SIRQ_SHM_VERSION;
    map->ring->ring_size = map->ring_size;
    map->ring->frame_size = map->frame_size;
    map->ring->slot_size = map->slot_size;
    return 0;
}

static int shm_nic_open(struct sirq_shm_nic *nic, struct sirq_error *err)
{
    int rc = shm_memory_open(nic);

    if (rc < 0)
        return sirq_fail(
            err, -rc, "shm: no %zu KiB for ring_size %u x frame_size %u (%s): give less",
            nic->map.size >> 10, nic->map.ring_size, nic->map.frame_size, strerror(-rc));
    if (pipe2(nic->doorbell, O_NONBLOCK | O_CLOEXEC) < 0) {
        rc = sirq_fail(err, errno, "shm: no doorbell pipe (%s): raise ulimit -n", strerror(errno));
        sirq_shm_map_close(&nic->map);
        close(nic->memfd);
        return rc;
    }
    return 0;
}

static int shm_open_dev(struct sirq_netdev *dev, const struct sirq_netdev_config *config,
                        struct sirq_error *err)
{
    unsigned ring_size, frame_size;
    struct sirq_shm_nic *nic;
    int rc = sirq_ring_config(config, "shm", 1, &ring_size, &frame_size, err);

    if (rc < 0)
        return rc;
    nic = calloc(1, sizeof(*nic));
    if (!nic)
        return sirq_fail(err, ENOMEM, "shm: out of memory");
    sirq_shm_map_sizes(&nic->map, ring_size, frame_size);
    rc = shm_nic_open(nic, err);
    if (rc < 0) {
        free(nic);
        return rc;
    }
    dev->priv = nic;
    dev->irq.fd = nic->doorbell[0];
    dev->irq.self_masking = true;
    return 0;
}

/* Masked first: a producer that stays behind finds nobody to ring for. */
static void shm_close_dev(struct sirq_netdev *dev)
{
    struct sirq_shm_nic *nic = dev->priv;

    shm_irq_mask(dev);
    sirq_shm_map_close(&nic->map);
    close(nic->memfd);
    close(nic->doorbell[0]);
    close(nic->doorbell[1]);
    free(nic);
    dev->priv = NULL;
    dev->irq.fd = -1;
}

const struct sirq_driver sirq_shm_driver = {
    .name = "shm",
    .open = shm_open_dev,
    .close = shm_close_dev,
    .rx_poll = shm_rx_poll,
    .irq_ack = shm_irq_ack,
    .irq_mask = shm_irq_mask,
    .irq_unmask = shm_irq_unmask,
    .rx_pending = shm_rx_pending,
    .tx = shm_tx,
    .tx_flush = shm_tx_flush,
    .stats = shm_stats,
};
