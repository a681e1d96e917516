/* SPDX-License-Identifier: MIT */
/*
 * The `packet` driver: frames of a network interface through an AF_PACKET socket with a
 * TPACKET_V3 receive ring (packet(7); Linux Documentation/networking/packet_mmap.rst).
 *
 * The ring is a circle of blocks.  A block belongs to the kernel until it retires it: when
 * the next frame does not fit, or when the retire timer finds frames in it.  Then it is
 * ours until we hand it back.  Blocks are walked in order and in place; `frame` and `left`
 * keep the position inside a block when the budget ends there.
 *
 * Latency.  The kernel signals a retired block, not a frame, so a lone frame waits for the
 * timer: up to 1 ms, the least that can be asked for, where the timer is an hrtimer (Linux
 * 6.18); before, the timeout was rounded up to jiffies: up to 4 ms at HZ=250, 10 ms at
 * HZ=100.  A stream fills blocks sooner, hence small ones.  (TPACKET_V2 signals each frame;
 * what it gains in latency it loses in wake-ups per frame and in fixed slots.)
 *
 * Frames are handed on as they are.  A VLAN tag that the kernel took out of the frame
 * (TP_STATUS_VLAN_VALID) is not put back.
 */
#define SIRQ_DRIVER_PRIVATE
#include "driver.h"
#include "packet_open.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The kernel's clock of arrival is the real-time clock; ours is the host's. */
struct packet_clock {
    uint64_t now_ns;  /* host clock */
    uint64_t real_ns; /* the same moment on CLOCK_REALTIME */
};

/* Read both for each block: an offset kept for longer would break when the clock is set. */
static struct packet_clock packet_clock_read(const struct sirq_cpu *cpu,
                                             const struct sirq_netdev *dev)
{
    struct packet_clock clock;
    struct timespec real;

    clock_gettime(CLOCK_REALTIME, &real);
    clock.now_ns = dev->host->now_ns(cpu);
    clock.real_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
    return clock;
}

/* A frame cannot come from the future, nor from before the host's clock began. */
static uint64_t packet_rx_ns(const struct packet_clock *clock, const struct tpacket3_hdr *frame)
{
    uint64_t stamp_ns = (uint64_t)frame->tp_sec * 1000000000u + frame->tp_nsec;
    uint64_t age_ns = clock->real_ns > stamp_ns ? clock->real_ns - stamp_ns : 0;

    return age_ns < clock->now_ns ? clock->now_ns - age_ns : clock->now_ns;
}

static struct tpacket_block_desc *packet_block(const struct sirq_packet_nic *nic)
{
    unsigned block = __atomic_load_n(&nic->block, __ATOMIC_RELAXED);

    return (void *)(nic->map + (size_t)block * nic->block_size);
}

/* Acquire: the status word before the frames it hands to us. */
static bool packet_block_ours(const struct tpacket_block_desc *block)
{
    return __atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER;
}

/* Go on in the current block, or begin it when the kernel has retired it. */
static bool packet_block_begin(struct sirq_packet_nic *nic)
{
    const struct tpacket_block_desc *block;

    if (nic->left > 0)
        return true;
    block = packet_block(nic);
    if (!packet_block_ours(block))
        return false;
    nic->left = block->hdr.bh1.num_pkts;
    nic->frame = (const uint8_t *)block + block->hdr.bh1.offset_to_first_pkt;
    return true;
}

/* Release: we are done with the frames before the kernel overwrites them. */
static void packet_block_return(struct sirq_packet_nic *nic)
{
    unsigned next = nic->block + 1 < nic->nr_blocks ? nic->block + 1 : 0;

    __atomic_store_n(&packet_block(nic)->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    __atomic_store_n(&nic->block, next, __ATOMIC_RELAXED);
}

static void packet_rx_frame(struct sirq_cpu *cpu, struct sirq_netdev *dev,
                            const struct packet_clock *clock)
{
    struct sirq_packet_nic *nic = dev->priv;
    const struct tpacket3_hdr *frame = (const void *)nic->frame;

    nic->frame += frame->tp_next_offset;
    __builtin_prefetch(nic->frame);
    dev->rx_csum_partial = frame->tp_status & TP_STATUS_CSUMNOTREADY;
    sirq_net_rx(cpu, dev, (const uint8_t *)frame + frame->tp_mac, frame->tp_snaplen,
                packet_rx_ns(clock, frame));
}

/* Up to `budget` frames of the current block, which goes back when it is used up. */
static int packet_rx_block(struct sirq_cpu *cpu, struct sirq_netdev *dev, int budget)
{
    struct sirq_packet_nic *nic = dev->priv;
    struct packet_clock clock = packet_clock_read(cpu, dev);
    int done = 0;

    for (; done < budget && nic->left > 0; done++) {
        nic->left--;
        packet_rx_frame(cpu, dev, &clock);
    }
    if (nic->left == 0)
        packet_block_return(nic);
    __atomic_store_n(&nic->taken, nic->taken + (uint64_t)done, __ATOMIC_RELAXED);
    return done;
}

/* At most once round the ring: a block may be retired empty, which uses no budget. */
static int packet_rx_poll(struct sirq_cpu *cpu, struct sirq_netdev *dev, int budget)
{
    struct sirq_packet_nic *nic = dev->priv;
    int done = 0;

    for (unsigned i = 0; i < nic->nr_blocks && done < budget && packet_block_begin(nic); i++)
        done += packet_rx_block(cpu, dev, budget - done);
    return done;
}

/*
 * Nothing to clear when frames are waiting: returning the blocks does it.  An interrupt
 * without frames may be the socket's error (the interface went down), which would keep the
 * descriptor readable for ever: reading it clears it.  The interface may come back.
 */
static void packet_irq_ack(struct sirq_netdev *dev)
{
    const struct sirq_packet_nic *nic = dev->priv;
    int error, saved = errno;
    socklen_t len = sizeof(error);

    if (!packet_block_ours(packet_block(nic)))
        getsockopt(nic->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    errno = saved;
}

/* The socket has no mask of its own: the host stops looking at it. */
static void packet_irq_mask(struct sirq_netdev *dev)
{
    dev->host->irq_mask(&dev->irq);
}

static void packet_irq_unmask(struct sirq_netdev *dev)
{
    dev->host->irq_unmask(&dev->irq);
}

static bool packet_rx_pending(const struct sirq_netdev *dev)
{
    return packet_block_ours(packet_block(dev->priv));
}

/*
 * The kernel's counters begin at 0 again with each read, so they are added up here; its
 * tp_packets includes the drops.  `taken` is read first: what comes in meanwhile is then
 * counted as waiting, and nothing is taken that was not yet counted.
 */
static void packet_stats(const struct sirq_netdev *dev, struct sirq_netdev_stats *out)
{
    struct sirq_packet_nic *nic = dev->priv;
    struct tpacket_stats_v3 delta = {0};
    socklen_t len = sizeof(delta);
    uint64_t offered;

    out->rx_packets = __atomic_load_n(&nic->taken, __ATOMIC_RELAXED);
    getsockopt(nic->fd, SOL_PACKET, PACKET_STATISTICS, &delta, &len);
    out->rx_dropped = __atomic_add_fetch(&nic->dropped, delta.tp_drops, __ATOMIC_RELAXED);
    offered = __atomic_add_fetch(&nic->offered, delta.tp_packets, __ATOMIC_RELAXED);
    out->rx_waiting = offered - out->rx_dropped - out->rx_packets;
    out->rx_errors = 0;
    out->tx_packets = __atomic_load_n(&nic->tx.packets, __ATOMIC_RELAXED);
    out->tx_errors = __atomic_load_n(&nic->tx.errors, __ATOMIC_RELAXED);
}

static int packet_open(struct sirq_netdev *dev, const struct sirq_netdev_config *config,
                       struct sirq_error *err)
{
    struct sirq_packet_nic *nic = calloc(1, sizeof(*nic));
    int rc;

    if (!nic)
        return sirq_fail(err, ENOMEM, "packet: out of memory");
    rc = sirq_packet_nic_open(nic, config, err);
    if (rc < 0) {
        free(nic);
        return rc;
    }
    dev->priv = nic;
    dev->irq.fd = nic->fd;
    dev->irq.self_masking = false;
    memcpy(dev->mac, nic->mac, sizeof(dev->mac));
    dev->mtu = (uint16_t)(nic->mtu < UINT16_MAX ? nic->mtu : UINT16_MAX);
    return 0;
}

static void packet_close(struct sirq_netdev *dev)
{
    struct sirq_packet_nic *nic = dev->priv;

    sirq_packet_nic_close(nic);
    free(nic);
    dev->priv = NULL;
    dev->irq.fd = -1;
}

const struct sirq_driver sirq_packet_driver = {
    .name = "packet",
    .open = packet_open,
    .close = packet_close,
    .rx_poll = packet_rx_poll,
    .irq_ack = packet_irq_ack,
    .irq_mask = packet_irq_mask,
    .irq_unmask = packet_irq_unmask,
    .rx_pending = packet_rx_pending,
    .tx = sirq_packet_tx,
    .tx_flush = sirq_packet_tx_flush,
    .stats = packet_stats,
};
