/* SPDX-License-Identifier: MIT */
/*
 * sirq/shm.h - the shared-memory NIC, seen from its wire side.
 *
 * One producer (a thread or another process) puts frames on a ring in a memfd; the `shm`
 * driver takes them off.  The ring's header holds the interrupt mask, so a masked device
 * costs the producer one load.  When a frame finds interrupts unmasked the producer
 * marks them fired and writes one byte to the doorbell (a pipe): one doorbell per unmask.
 * The driver masks in its handler.  A producer survives the engine: it is neither killed
 * by SIGPIPE nor blocked when the other side has gone.  A full ring drops the new frame and counts it, as a NIC does.
 *
 * The consumer does not trust the producer: indexes and lengths are checked against the
 * ring on every poll, a broken ring is reported and treated as empty.
 */
#ifndef SIRQ_SHM_H
#define SIRQ_SHM_H

#include <stdbool.h>
#include <stdint.h>

#include <sirq/driver.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sirq_shm; /* a producer's mapping */

/*
 * The wire side of an open `shm` device, in this process or (after fork) in a child.  The
 * mapping and the doorbell are duplicated, so either side may go first.
 * 0, -EINVAL (not a `shm` device), -EPROTO (an earlier producer left the ring broken), -ENOMEM or
 * -EMFILE.  Free with sirq_shm_close().
 */
int sirq_shm_attach(struct sirq_shm **out, const struct sirq_netdev *dev);
void sirq_shm_close(struct sirq_shm *shm);

/*
 * Offer one frame.  True when it went on the ring, false when the ring was full or the frame
 * longer than the device's frame_size (counted as dropped in the shared header).  One producer at a time.  Rings the doorbell when unmasked.
 */
bool sirq_shm_send(struct sirq_shm *shm, const void *frame, uint32_t len, uint64_t now_ns);

/*
 * The same in steps, without the copy: a place for a frame of up to the device's frame_size
 * bytes, or null when full (not counted: the caller may try again).  It holds what was put
 * there ring_size frames ago.  A commit follows its reserve; the device sees what was
 * committed at the next publish, which rings the doorbell when unmasked.
 */
void *sirq_shm_reserve(struct sirq_shm *shm);
void sirq_shm_commit(struct sirq_shm *shm, uint32_t len, uint64_t now_ns);
void sirq_shm_publish(struct sirq_shm *shm);

/*
 * What the device sent: the oldest frame not yet taken, its length in *len and when it was sent
 * (host clock) in *tx_ns (may be null); null: none.  It stays until sirq_shm_received(), which
 * frees its place.  One thread at a time; there is no doorbell this way, so poll.
 */
const void *sirq_shm_receive(struct sirq_shm *shm, uint32_t *len, uint64_t *tx_ns);
void sirq_shm_received(struct sirq_shm *shm);

/* Count `n` frames that the producer did not even try to place because the ring is full. */
void sirq_shm_count_drops(struct sirq_shm *shm, uint64_t n);

/* Frames that fit now without a drop. */
unsigned sirq_shm_space(const struct sirq_shm *shm);

#ifdef __cplusplus
}
#endif
#endif
