/* SPDX-License-Identifier: MIT */
/*
 * The wire into the shared-memory NIC.  When its ring is full frames are counted as lost
 * without being made: the offered load is what was due, not what the sender could copy.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include <sirq/shm.h>

#include "wire.h"

static int shm_open_wire(struct sirq_wire *wire, const struct sirq_wire_config *config,
                         struct sirq_error *err)
{
    struct sirq_shm *shm;
    int rc = sirq_shm_attach(&shm, config->dev);

    if (rc)
        return sirq_fail(err, -rc, "the sender cannot map the ring: %s", strerror(-rc));
    wire->priv = shm;
    return 0;
}

static uint64_t shm_burst(struct sirq_wire *wire, uint64_t due)
{
    struct sirq_shm *shm = wire->priv;
    uint64_t space = sirq_shm_space(shm), lost = due > space ? due - space : 0;
    uint64_t n = due - lost < SIRQ_WIRE_BURST ? due - lost : SIRQ_WIRE_BURST;
    struct timespec ts;
    uint64_t now;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
    for (uint64_t i = 0; i < n; i++) {
        void *place = sirq_shm_reserve(shm);

        if (!place) { /* space was there and only we take it: a broken ring */
            lost += n - i;
            n = i;
            break;
        }
        sirq_shm_commit(shm, sirq_wire_next(wire, place, now), now);
    }
    sirq_shm_publish(shm);
    if (lost)
        sirq_shm_count_drops(shm, lost);
    return n + lost;
}

const struct sirq_wire_ops sirq_wire_shm = {
    .name = "shm",
    .open = shm_open_wire,
    .burst = shm_burst,
};
