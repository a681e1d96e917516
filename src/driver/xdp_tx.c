/* SPDX-License-Identifier: MIT */
/*
 * Sending on a queue of the `xdp` driver.
 *
 * A chunk goes round: free -> transmit ring -> kernel -> completion ring -> free.  Frames are
 * shown to the kernel, and the kernel called, once per flush.  In copy mode the call itself
 * sends, 32 frames of it; with zero-copy it is needed only when the hardware queue sleeps.
 */
#define SIRQ_DRIVER_PRIVATE
#include "driver.h"
#include "xdp.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* What one call sends at most in copy mode. */
#define XDP_TX_BATCH 32u

void sirq_xdp_tx_clean(struct sirq_cpu *cpu, struct sirq_netdev *dev)
{
    struct sirq_xdp_nic *nic = dev->priv;
    struct sirq_xdp_tx *tx = &nic->tx;
    uint32_t at = 0, n = xsk_ring_cons__peek(&tx->comp, nic->ring_size - tx->nfree, &at);

    (void)cpu;
    for (uint32_t i = 0; i < n; i++)
        tx->free[tx->nfree++] = *xsk_ring_cons__comp_addr(&tx->comp, at + i);
    if (n > 0)
        xsk_ring_cons__release(&tx->comp, n);
    __atomic_store_n(&tx->gone, tx->gone + n, __ATOMIC_RELAXED);
}

int sirq_xdp_tx(struct sirq_cpu *cpu, struct sirq_netdev *dev, const uint8_t *frame, uint32_t len)
{
    struct sirq_xdp_nic *nic = dev->priv;
    struct sirq_xdp_tx *tx = &nic->tx;
    struct xdp_desc *desc;
    uint32_t at = 0;

    if (len > nic->chunk)
        return -EMSGSIZE;
    if (tx->nfree == 0)
        sirq_xdp_tx_clean(cpu, dev);
    if (tx->nfree == 0 || xsk_ring_prod__reserve(&tx->ring, 1, &at) != 1)
        return tx->down ? -ENETDOWN : -ENOBUFS;
    desc = xsk_ring_prod__tx_desc(&tx->ring, at);
    *desc = (struct xdp_desc){.addr = tx->free[--tx->nfree], .len = len};
    memcpy(xsk_umem__get_data(nic->area, desc->addr), frame, len);
    tx->unflushed++;
    __atomic_store_n(&tx->taken, tx->taken + 1, __ATOMIC_RELAXED);
    return 0;
}

/*
 * Bounded by what can be on the ring: each call but the last sends a whole batch.  What does not
 * leave (EAGAIN, EBUSY, ENOBUFS: a queue further down is full; ENETDOWN) stays on the ring until
 * the next flush.
 */
void sirq_xdp_tx_flush(struct sirq_cpu *cpu, struct sirq_netdev *dev)
{
    struct sirq_xdp_nic *nic = dev->priv;
    struct sirq_xdp_tx *tx = &nic->tx;
    unsigned calls = (nic->ring_size + XDP_TX_BATCH - 1) / XDP_TX_BATCH;
    int saved = errno;

    xsk_ring_prod__submit(&tx->ring, tx->unflushed);
    tx->unflushed = 0;
    for (unsigned i = 0; i < calls && xsk_ring_prod__needs_wakeup(&tx->ring); i++) {
        int rc = (int)sendto(nic->fd, NULL, 0, MSG_DONTWAIT, NULL, 0);

        tx->down = rc < 0 && (errno == ENETDOWN || errno == ENXIO);
        if (rc == 0 || errno != EAGAIN)
            break;
        sirq_xdp_tx_clean(cpu, dev);
    }
    errno = saved;
}
