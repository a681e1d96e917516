/* SPDX-License-Identifier: MIT */
/*
 * The wire into the shared-memory NIC.
 *
 * It has to be faster than any CPU can poll, as a NIC is, or the device runs dry in a flood.
 * Writing 64 bytes that the other CPU has just read costs that CPU's cache line, some 40 ns.
 * So a frame is written to its place in the first lap of the ring only, and sent again in
 * every further one (pktgen's clone_skb does the same); what is new is the descriptor: a
 * timestamp that rises with every frame and serves as its sequence number.
 *
 * When the ring is full frames are counted as lost without being placed: the offered load is
 * what was due.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include <sirq/shm.h>

#include "world/common/wire.h"

struct shm_wire {
    struct sirq_shm *shm;
    uint64_t placed;    /* frames so far, in the first lap */
    uint64_t last_ns;   /* stamp of the last one */
    unsigned ring_size; /* places, each with a flow of its own */
};

static struct shm_wire shm_wire; /* a sender process has one wire */

static int shm_open_wire(struct sirq_wire *wire, const struct sirq_wire_config *config,
                         struct sirq_error *err)
{
    int rc = sirq_shm_attach(&shm_wire.shm, config->dev);

    if (rc)
        return sirq_fail(err, -rc, "the sender cannot map the ring: %s", strerror(-rc));
    shm_wire.ring_size = sirq_shm_space(shm_wire.shm);
    wire->priv = &shm_wire;
    return 0;
}

/* Put the next frame on the ring; the stamp in its payload stays 0: see the descriptor's. */
static bool place(struct sirq_wire *wire, struct shm_wire *own)
{
    const struct sirq_frame *frame = &wire->frame[0]; /* they are all of one length */
    void *out = sirq_shm_reserve(own->shm);

    if (!out)
        return false;
    if (own->placed < own->ring_size) {
        frame = &wire->frame[own->placed++ % wire->flows];
        sirq_frame_write(frame, out, &(struct sirq_stamp){0});
    }
    sirq_shm_commit(own->shm, frame->len, ++own->last_ns);
    return true;
}

static uint64_t shm_burst(struct sirq_wire *wire, uint64_t due)
{
    struct shm_wire *own = wire->priv;
    uint64_t space = sirq_shm_space(own->shm), lost = due > space ? due - space : 0;
    uint64_t n = due - lost < SIRQ_WIRE_BURST ? due - lost : SIRQ_WIRE_BURST, i;
    struct timespec ts;
    uint64_t now;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
    if (now > own->last_ns)
        own->last_ns = now;
    for (i = 0; i < n && place(wire, own); i++)
        ;
    sirq_shm_publish(own->shm);
    lost += n - i; /* space was there and only we take it: a broken ring */
    if (lost)
        sirq_shm_count_drops(own->shm, lost);
    return i + lost;
}

const struct sirq_wire_ops sirq_wire_shm = {
    .name = "shm",
    .open = shm_open_wire,
    .burst = shm_burst,
};
