/* SPDX-License-Identifier: MIT */
/* The `xdp` driver between its files: rings (xdp.c), opening (xdp_open.c), program. */
#ifndef SIRQ_SRC_XDP_H
#define SIRQ_SRC_XDP_H

#ifndef SIRQ_DRIVER_PRIVATE
#error "private to src/driver"
#endif

#include <sirq/driver.h>
#include <xdp/xsk.h>

/* The kernel keeps this much in front of each frame for programs that add headers. */
#define SIRQ_XDP_HEADROOM 256u
#define SIRQ_XDP_CHUNK_MIN 2048u
#define SIRQ_XDP_CHUNK_MAX 4096u /* a page: the most that an aligned chunk may have */
#define SIRQ_XDP_QUEUES_MAX 1024u

/* ---- the program of an interface, shared by the queues that this process has open ------- */

struct sirq_xdp_prog;

/*
 * Attach, or use, the program of interface `index` of this network namespace.  Task context.
 * 0, or -errno with err filled.  `ifname` and `mtu` for the text.
 */
int sirq_xdp_prog_get(struct sirq_xdp_prog **out, int index, const char *ifname, unsigned mtu,
                      struct sirq_error *err);
/* The last one detaches it. */
void sirq_xdp_prog_put(struct sirq_xdp_prog *prog);
/* Let frames of `queue` go to socket `fd`, or with -1 to the kernel.  0 or -errno. */
int sirq_xdp_prog_redirect(struct sirq_xdp_prog *prog, unsigned queue, int fd);
/* In the interface's driver, and not on the kernel's socket buffers? */
bool sirq_xdp_prog_native(const struct sirq_xdp_prog *prog);

/* ---- one queue ------------------------------------------------------------------------- */

/*
 * The transmit side.  Its chunks are always in one of: free, the transmit ring, the kernel, the
 * completion ring; each ring has a place for each.  Used by one caller of tx... at a time.
 */
struct sirq_xdp_tx {
    struct xsk_ring_prod ring;
    struct xsk_ring_cons comp;
    uint64_t *free; /* addresses of the chunks that are, a stack */
    unsigned nfree;
    unsigned unflushed;   /* frames on the ring that the kernel does not see yet */
    bool down;            /* the last doorbell found no interface */
    uint64_t taken, gone; /* frames put on the ring; of them, come back.  Read by stats */
};

/*
 * Chunks 0..ring_size-1 of the memory are the receive side's, and always in one of: the fill
 * ring, the kernel, the receive ring.  The fill ring has a place for each.  As many again are
 * the transmit side's.
 */
struct sirq_xdp_nic {
    struct xsk_ring_cons rx;
    struct xsk_ring_prod fill; /* writer: rx_poll */
    uint8_t *area;
    unsigned chunk; /* bytes */
    unsigned ring_size;
    int fd;
    uint64_t taken; /* frames handed on; writer: rx_poll */
    bool zero_copy;
    struct sirq_xdp_tx tx;
    struct xsk_umem *umem;
    struct xsk_socket *xsk;
    struct sirq_xdp_prog *prog;
    size_t area_size;
    unsigned queue;
};

/* 0, or -errno with err filled and nothing left open. */
int sirq_xdp_nic_open(struct sirq_xdp_nic *nic, struct sirq_netdev *dev,
                      const struct sirq_netdev_config *config, struct sirq_error *err);
void sirq_xdp_nic_close(struct sirq_xdp_nic *nic);

/* As in struct sirq_driver. */
int sirq_xdp_tx(struct sirq_cpu *cpu, struct sirq_netdev *dev, const uint8_t *frame, uint32_t len);
void sirq_xdp_tx_flush(struct sirq_cpu *cpu, struct sirq_netdev *dev);
void sirq_xdp_tx_clean(struct sirq_cpu *cpu, struct sirq_netdev *dev);

#endif
