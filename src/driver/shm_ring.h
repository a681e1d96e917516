/* SPDX-License-Identifier: MIT */
/*
 * The shared-memory NIC's ring: its layout in the memfd, and what the two sides agree on.
 *
 * One producer (the wire), one consumer (the driver).  Indexes count frames since the ring
 * was made and never wrap (64 bits), so `prod` is also the number of frames ever placed,
 * prod - cons what waits, and prod + dropped what was offered.
 *
 *   page 0                struct sirq_shm_ring, each writer's words on lines of their own
 *   then, line-aligned    ring_size descriptors of 16 bytes, four to a line
 *   then                  ring_size frames, slot_size bytes apart
 *   then                  the same once more, for frames that the device sends: the driver
 *                         produces (tx_prod), the wire side consumes (tx_cons) and polls
 *
 * Length and timestamp live beside each other in the descriptors, not before the frame: a
 * 64-byte frame then touches one line and a quarter instead of two.  slot_size is an odd
 * number of lines: at a stride of 2048 bytes the heads of all frames would fall into two
 * sets of a first-level cache and evict each other within one poll.
 *
 * Interrupts.  `irq` is MASKED, UNMASKED or FIRED.  The driver masks and unmasks; the
 * producer only ever takes UNMASKED to FIRED, by compare-and-swap, and whoever did so
 * writes the one byte of this unmask to the doorbell.  No wake-up is lost because each
 * side writes its own word before it reads the other's (Dekker):
 *
 *   producer  prod = n        | seq_cst store, then seq_cst load |  irq == UNMASKED?  ring
 *   driver    irq = UNMASKED  | seq_cst store, then seq_cst load |  prod != cons?     poll
 *
 * All four are seq_cst, so in their single order one of the stores comes first of all, and
 * the load of the other side sees it.
 */
#ifndef SIRQ_SRC_SHM_RING_H
#define SIRQ_SRC_SHM_RING_H

#ifndef SIRQ_DRIVER_PRIVATE
#error "private to src/driver: the wire side is sirq/shm.h"
#endif

#include <stddef.h>
#include <stdint.h>

#define SIRQ_SHM_MAGIC UINT64_C(0x31676e6972717273) /* "srqring1" */
#define SIRQ_SHM_VERSION 2u
#define SIRQ_SHM_LINE 64u
#define SIRQ_SHM_HEADER 4096u

enum { SIRQ_SHM_MASKED, SIRQ_SHM_UNMASKED, SIRQ_SHM_FIRED };

/* Lines apart by two: the adjacent-line prefetcher pulls them in pairs. */
#define SIRQ_SHM_APART __attribute__((aligned(128)))

struct sirq_shm_ring {
    uint64_t magic; /* these: written once, before anybody else sees the memory */
    uint32_t version;
    uint32_t ring_size;
    uint32_t frame_size;
    uint32_t slot_size;
    uint64_t prod SIRQ_SHM_APART;    /* frames placed; writer: producer */
    uint64_t cons SIRQ_SHM_APART;    /* frames taken; writer: driver, once a poll */
    uint32_t irq SIRQ_SHM_APART;     /* see above; rarely written under load */
    uint64_t dropped SIRQ_SHM_APART; /* frames that found no place; writer: producer */
    uint64_t tx_prod SIRQ_SHM_APART; /* frames sent; writer: driver, once a flush */
    uint64_t tx_cons SIRQ_SHM_APART; /* frames taken; writer: the wire side */
};

_Static_assert(sizeof(struct sirq_shm_ring) <= SIRQ_SHM_HEADER, "header fits its page");

struct sirq_shm_desc {
    uint32_t len;
    uint32_t reserved;
    uint64_t rx_ns;
};

/* One side's mapping of the ring, with its own copy of the sizes: the header's can be
 * overwritten by the other side at any time. */
struct sirq_shm_map {
    struct sirq_shm_ring *ring;
    struct sirq_shm_desc *descs;
    uint8_t *frames;
    struct sirq_shm_desc *tx_descs;
    uint8_t *tx_frames;
    uint32_t ring_size; /* power of two */
    uint32_t frame_size;
    uint32_t slot_size;
    size_t size; /* bytes mapped */
};

/* The driver's own data, dev->priv of an open `shm` device. */
struct sirq_shm_nic {
    struct sirq_shm_map map;
    int memfd;
    int doorbell[2];     /* pipe; [0] is dev->irq.fd */
    uint64_t cons;       /* what ring->cons shall be; the shared word is never read back */
    uint64_t rx_packets; /* writer: rx_poll, as the next */
    uint64_t rx_errors;
    uint32_t reported;  /* a broken ring was reported once */
    uint64_t tx_placed; /* frames to be sent that have a place; ring->tx_prod after a flush */
};

/* Fill the sizes of `map` for a ring of `ring_size` frames of `frame_size` bytes. */
void sirq_shm_map_sizes(struct sirq_shm_map *map, uint32_t ring_size, uint32_t frame_size);

/* Map `memfd`, all pages present.  Sizes are filled.  0 or -errno. */
int sirq_shm_map_open(struct sirq_shm_map *map, int memfd);
void sirq_shm_map_close(struct sirq_shm_map *map);

static inline struct sirq_shm_desc *sirq_shm_desc_at(const struct sirq_shm_map *map, uint64_t index)
{
    return &map->descs[index & (map->ring_size - 1)];
}

static inline uint8_t *sirq_shm_frame_at(const struct sirq_shm_map *map, uint64_t index)
{
    return map->frames + (size_t)(index & (map->ring_size - 1)) * map->slot_size;
}

static inline struct sirq_shm_desc *sirq_shm_tx_desc_at(const struct sirq_shm_map *map,
                                                        uint64_t index)
{
    return &map->tx_descs[index & (map->ring_size - 1)];
}

static inline uint8_t *sirq_shm_tx_frame_at(const struct sirq_shm_map *map, uint64_t index)
{
    return map->tx_frames + (size_t)(index & (map->ring_size - 1)) * map->slot_size;
}

/* Add to a counter of one writer and any readers: no locked instruction needed. */
static inline void sirq_shm_count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

#endif
