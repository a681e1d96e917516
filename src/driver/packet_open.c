/* SPDX-License-Identifier: MIT */
/*
 * Opening the `packet` driver's socket and ring.
 *
 * The order matters: the socket is made for no protocol, gets its ring, and only then is
 * bound to the interface for all of them.  So no frame of another interface, and none from
 * before the ring, is ever in it or in its counters.
 */
#define SIRQ_DRIVER_PRIVATE
#include "driver.h"
#include "ifquery.h"
#include "packet_open.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * A block holds about a hundred small frames: little waits for the block to fill at medium
 * rates, and a wake-up is still shared by more than one poll's weight at high ones.
 */
#define PACKET_BLOCK_SIZE 16384u
/* Ring header, address and alignment before a frame, at most; see tpacket_rcv(). */
#define PACKET_FRAME_OVERHEAD 112u
/* The kernel's accounting unit; V3 packs frames by their true length. */
#define PACKET_FRAME_UNIT 2048u
#define PACKET_RETIRE_MS 1u

static int packet_ring_fail(const struct sirq_packet_nic *nic, unsigned ring_size,
                            unsigned frame_size, struct sirq_error *err)
{
    size_t size = (size_t)nic->block_size * nic->nr_blocks;

    return sirq_fail(err, errno,
                     "packet: no ring of %zu KiB for ring_size %u x frame_size %u (%s): give less",
                     size >> 10, ring_size, frame_size, strerror(errno));
}

/* Room for ring_size frames of frame_size bytes; of shorter ones it holds more. */
static int packet_ring_open(struct sirq_packet_nic *nic, unsigned ring_size, unsigned frame_size,
                            struct sirq_error *err)
{
    unsigned each = (frame_size + PACKET_FRAME_OVERHEAD + TPACKET_ALIGNMENT - 1) /
                    TPACKET_ALIGNMENT * TPACKET_ALIGNMENT;
    unsigned per_block;
    struct tpacket_req3 req = {.tp_frame_size = PACKET_FRAME_UNIT,
                               .tp_retire_blk_tov = PACKET_RETIRE_MS};

    nic->block_size = PACKET_BLOCK_SIZE;
    while (nic->block_size < each + sizeof(struct tpacket_block_desc))
        nic->block_size *= 2;
    per_block = (nic->block_size - (unsigned)sizeof(struct tpacket_block_desc)) / each;
    /* One more: the kernel always keeps a block open, and a retired one may be part full. */
    nic->nr_blocks = (ring_size + per_block - 1) / per_block + 1;
    req.tp_block_size = nic->block_size;
    req.tp_block_nr = nic->nr_blocks;
    req.tp_frame_nr = nic->block_size / PACKET_FRAME_UNIT * nic->nr_blocks;
    if (setsockopt(nic->fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)) < 0)
        return packet_ring_fail(nic, ring_size, frame_size, err);
    nic->map = mmap(NULL, (size_t)nic->block_size * nic->nr_blocks, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_POPULATE, nic->fd, 0);
    if (nic->map == MAP_FAILED)
        return packet_ring_fail(nic, ring_size, frame_size, err);
    return 0;
}

static int packet_socket_open(struct sirq_packet_nic *nic, struct sirq_error *err)
{
    int version = TPACKET_V3, on = 1, rc;

    nic->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (nic->fd < 0 && errno == EPERM)
        return sirq_fail(err, EPERM,
                         "packet: AF_PACKET needs CAP_NET_RAW: run as root, or inside a user and "
                         "network namespace of your own (unshare -Urn)");
    if (nic->fd < 0)
        return sirq_fail(err, errno,
                         "packet: no AF_PACKET socket (%s): a kernel with CONFIG_PACKET "
                         "is needed",
                         strerror(errno));
    if (setsockopt(nic->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) < 0) {
        rc = sirq_fail(err, errno, "packet: no TPACKET_V3 (%s): Linux 3.2 or later is needed",
                       strerror(errno));
        close(nic->fd);
        return rc;
    }
    /* What this machine sends is no reception.  Linux 4.20; before it we see those frames. */
    setsockopt(nic->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
    return 0;
}

static int packet_bind(struct sirq_packet_nic *nic, const char *ifname, struct sirq_error *err)
{
    struct sockaddr_ll addr = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    struct sirq_ifquery link;
    int rc = sirq_ifquery(nic->fd, "packet", ifname, &link, err);

    if (rc < 0)
        return rc;
    addr.sll_ifindex = link.index;
    if (bind(nic->fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
        return sirq_fail(err, errno, "packet: cannot bind to interface %s (%s)", ifname,
                         strerror(errno));
    nic->mtu = link.mtu;
    memcpy(nic->mac, link.mac, sizeof(nic->mac));
    return 0;
}

int sirq_packet_nic_open(struct sirq_packet_nic *nic, const struct sirq_netdev_config *config,
                         struct sirq_error *err)
{
    unsigned ring_size, frame_size;
    int rc = sirq_ring_config(config, "packet", 1, &ring_size, &frame_size, err);

    if (rc < 0)
        return rc;
    rc = packet_socket_open(nic, err);
    if (rc < 0)
        return rc;
    nic->map = MAP_FAILED;
    rc = packet_ring_open(nic, ring_size, frame_size, err);
    if (rc == 0)
        rc = packet_bind(nic, config->ifname, err);
    if (rc == 0) {
        nic->tx.frame_size = frame_size;
        nic->tx.frames = malloc((size_t)SIRQ_PACKET_BATCH * frame_size);
        if (nic->tx.frames == NULL)
            rc = sirq_fail(err, ENOMEM, "packet: out of memory");
    }
    if (rc < 0)
        sirq_packet_nic_close(nic);
    return rc;
}

void sirq_packet_nic_close(struct sirq_packet_nic *nic)
{
    if (nic->map != MAP_FAILED)
        munmap(nic->map, (size_t)nic->block_size * nic->nr_blocks);
    free(nic->tx.frames);
    close(nic->fd);
}
