/* SPDX-License-Identifier: MIT */
/*
 * Sending through the `packet` driver: frames are copied to a batch, which one sendmmsg() gives
 * to the kernel (packet(7)).  The call does not wait; what the kernel has no room for now is lost
 * and counted, like frames on a NIC's full ring.
 */
#define SIRQ_DRIVER_PRIVATE
#include "driver.h"
#include "packet_open.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static void count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* A refused frame is skipped, so that one bad frame does not cost those behind it. */
void sirq_packet_tx_flush(struct sirq_cpu *cpu, struct sirq_netdev *dev)
{
    struct sirq_packet_nic *nic = dev->priv;
    struct mmsghdr msg[SIRQ_PACKET_BATCH];
    struct iovec iov[SIRQ_PACKET_BATCH];
    unsigned done = 0, n = nic->tx.n;
    int rc, saved = errno; /* a signal handler may call us */

    (void)cpu;
    memset(msg, 0, n * sizeof(msg[0]));
    for (unsigned i = 0; i < n; i++) {
        iov[i] = (struct iovec){nic->tx.frames + (size_t)i * nic->tx.frame_size, nic->tx.len[i]};
        msg[i].msg_hdr.msg_iov = &iov[i];
        msg[i].msg_hdr.msg_iovlen = 1;
    }
    while (done < n) {
        rc = sendmmsg(nic->fd, msg + done, n - done, MSG_DONTWAIT);
        if (rc > 0) {
            done += (unsigned)rc;
        } else {
            count(&nic->tx.errors, 1);
            done++;
        }
    }
    nic->tx.n = 0;
    errno = saved;
}

int sirq_packet_tx(struct sirq_cpu *cpu, struct sirq_netdev *dev, const uint8_t *frame,
                   uint32_t len)
{
    struct sirq_packet_nic *nic = dev->priv;

    if (len > nic->tx.frame_size)
        return -EMSGSIZE;
    if (nic->tx.n == SIRQ_PACKET_BATCH)
        sirq_packet_tx_flush(cpu, dev);
    memcpy(nic->tx.frames + (size_t)nic->tx.n * nic->tx.frame_size, frame, len);
    nic->tx.len[nic->tx.n++] = len;
    count(&nic->tx.packets, 1);
    return 0;
}
