/* SPDX-License-Identifier: MIT */
/*
 * sirq/driver.h - the contract between the packet path and a network device.
 *
 * A driver is one table of functions in one file of src/driver; real and simulated
 * devices are peers.  A sirq_netdev is one receive queue, with one NAPI instance and one
 * interrupt; hardware with several is opened once per queue (sirq_netdev_config.queue).
 *
 * Life: sirq_netdev_open -> (host requests dev->irq) -> traffic -> (host frees it) ->
 * sirq_netdev_close.  A device is opened with its interrupt masked; attaching it unmasks.
 */
#ifndef SIRQ_DRIVER_H
#define SIRQ_DRIVER_H

#include <sirq/net.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sirq_sim_nic;

/* What went wrong, for a person: names the argument and the remedy. */
struct sirq_error {
    char text[256];
};

/* Fill err->text (err may be null) and return -code. */
int sirq_fail(struct sirq_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

struct sirq_netdev_config {
    const char *ifname;  /* packet, xdp, tap: the interface; tap makes it if need be */
    unsigned ring_size;  /* frames of frame_size the device holds at least; 0: 1024; power of two */
    unsigned frame_size; /* bytes a frame may have; 0: 2048; xdp: 1792, or 3840 if the MTU asks */
    unsigned queue;      /* which one.  sim: of the NIC's rings, xdp: of the interface's receive
                            queues; tap: any, each device opened has one; the others: 0 */
    struct sirq_sim_nic *device; /* sim: the NIC, see sirq/sim.h, which has the ring's size */
    unsigned port;               /* sim: which one of the NIC's; 0 before the others */
    const char *file;            /* pcap: the capture to replay, pcap or pcapng of Ethernet */
    uint64_t replay_pps;         /* pcap: frames/s; 0: as recorded; SIRQ_REPLAY_POLLED: as polled */
    unsigned flows; /* pcap: send each frame so many times in turn, with other source ports (then
                       addresses), checksums corrected; 0: 1; at most 1 << 20 */
    bool loop;      /* pcap: begin again at the end */
};

#define SIRQ_REPLAY_POLLED UINT64_MAX

struct sirq_netdev_stats {
    uint64_t rx_packets; /* frames the device put on its ring and the driver took */
    uint64_t rx_dropped; /* frames the device lost because its ring was full */
    uint64_t rx_waiting; /* frames on the ring now (0 where the device cannot tell) */
    uint64_t rx_errors;  /* frames taken but refused (length beyond their place), and polls that
                            found the ring itself broken; 0 with an honest device */
    uint64_t irqs;       /* interrupts handled */
    uint64_t irqs_empty; /* of these, with nothing on the ring */
    uint64_t tx_packets; /* frames the device took to send (its tx returned 0) */
    uint64_t tx_waiting; /* of these, not yet known to have left its ring (0: it cannot tell) */
    uint64_t tx_errors;  /* of these, lost by the device after it had taken them */
};

struct sirq_driver {
    const char *name;

    /*
     * Open the device: fills dev->priv, dev->irq.fd, dev->irq.self_masking.  Masked.
     * Task context, may allocate.  0 or -errno with err filled; then nothing is left.
     */
    int (*open)(struct sirq_netdev *dev, const struct sirq_netdev_config *config,
                struct sirq_error *err);

    /* Task context; the interrupt is freed and NAPI disabled. */
    void (*close)(struct sirq_netdev *dev);

    /*
     * Hand up to `budget` frames to sirq_net_rx(), oldest first, and free their places.
     * Returns how many.  Softirq context.
     */
    int (*rx_poll)(struct sirq_cpu *cpu, struct sirq_netdev *dev, int budget);

    /* Clear the cause of the interrupt (drain a doorbell).  Hardirq.  May be null. */
    void (*irq_ack)(struct sirq_netdev *dev);

    /* No more interrupts / interrupts again.  Any context.  */
    void (*irq_mask)(struct sirq_netdev *dev);
    void (*irq_unmask)(struct sirq_netdev *dev);

    /* Is a frame waiting?  Any thread.  No system call, if there is a ring to look at. */
    bool (*rx_pending)(const struct sirq_netdev *dev);

    /*
     * Put one frame on the device's transmit ring: a whole Ethernet frame without FCS, checksums
     * filled in.  Its bytes are copied, `frame` stays the caller's.  It need not leave before
     * tx_flush().  Never waits.  0, or why it was not taken, which the stack counts:
     *   -ENOBUFS   the ring is full (after taking back what has been sent, if need be)
     *   -EMSGSIZE  longer than the device can send
     *   -ENETDOWN  the device is not there any more
     * Context: softirq, or a task with bottom halves off, on any CPU, also while rx_poll runs on
     * another; of tx, tx_flush and tx_clean one is called at a time.  Null: it cannot send.
     */
    int (*tx)(struct sirq_cpu *cpu, struct sirq_netdev *dev, const uint8_t *frame, uint32_t len);

    /*
     * Frames put on the ring since the last flush may leave: one doorbell or system call for
     * all of them.  Follows every tx() that returned 0 before long, in the same context; a frame
     * that cannot leave now is the device's to send later or to count in tx_errors.  May be null.
     */
    void (*tx_flush)(struct sirq_cpu *cpu, struct sirq_netdev *dev);

    /*
     * Take back the places of frames that have been sent, all that are known to be.  The NET_TX
     * vector, after a flush.  Null: a place is free when the frame is gone, nothing to do.
     */
    void (*tx_clean)(struct sirq_cpu *cpu, struct sirq_netdev *dev);

    /* Read the device's counters.  Task context. */
    void (*stats)(const struct sirq_netdev *dev, struct sirq_netdev_stats *out);
};

struct sirq_netdev {
    const struct sirq_driver *driver;
    struct sirq_net *net;
    const struct sirq_host *host;
    struct sirq_napi napi;
    struct sirq_irq irq;
    /*
     * The frame now handed to sirq_net_rx() has a transport checksum that nobody filled in
     * (it never left this machine): it is not to be verified, and filled in when it is
     * forwarded; the field holds the sum of the pseudo-header.  Writer: rx_poll, per frame.
     */
    bool rx_csum_partial;
    /*
     * Ethernet address and MTU.  open() fills in what it knows (MAC zero: none; mtu 0: 1500 is
     * taken); sirq_netdev_set_mac() before traffic may change it.
     */
    uint8_t mac[6];
    uint16_t mtu;              /* bytes of an IP packet, with its header */
    uint16_t vlan, vlan_prio;  /* see sirq_netdev_set_vlan() */
    uint32_t addr4;            /* its first IPv4 address, network order, or 0; __atomic */
    struct sirq_link *link;    /* the stack's: what waits to be sent */
    char name[16];             /* of the interface, or the driver's */
    char mode[24];             /* what the driver got, for a person ("native copy"), or empty */
    struct sirq_steer *steer;  /* RPS, see sirq_netdev_set_rps(); null: never set */
    void *priv;                /* the driver's own */
    uint64_t irqs, irqs_empty; /* writer: the interrupt handler */
};

/*
 * Open a device of `driver` on `net`, in memory of the caller.  0 or -errno with err
 * filled.  The interrupt handler and NAPI poll are the generic ones of src/net/netdev.c.
 */
int sirq_netdev_open(struct sirq_netdev *dev, struct sirq_net *net,
                     const struct sirq_driver *driver, const struct sirq_netdev_config *config,
                     struct sirq_error *err);

/* Its interrupt is freed and its NAPI instance disabled and no thread's; any RPS ends here. */
void sirq_netdev_close(struct sirq_netdev *dev);

#define SIRQ_RPS_MAX 4096u

/*
 * RPS: spread the frames of this receive queue over CPUs of the core (by index), by the Toeplitz
 * hash of addresses and ports: in equal parts over cpus[0..n-1], where one may be named more than
 * once for a larger part.  n = 0: off, frames go up where they are polled.  Frames for the CPU
 * that polls go up there at once; others are copied to that CPU's backlog, bounded by
 * netdev_max_backlog.  What is not IP, and what is for a CPU that was given back, stays.
 *
 * May be changed while traffic flows.  The order within a flow is kept: it follows the new map
 * when its old backlog has dealt with its frames; when that has not come about within 10 ms
 * and the backlog is half full (an overload), its frames are dropped (flow_moving) until it has.
 * Task context, one caller at a time.  0, -EINVAL or -ENOMEM with err filled and nothing changed.
 * (Source: Documentation/networking/scaling.rst of Linux; Tom Herbert, 2010.)
 */
int sirq_netdev_set_rps(struct sirq_netdev *dev, const unsigned *cpus, unsigned n,
                        struct sirq_error *err);

/*
 * RFS, for devices that have an RPS map: a flow goes to the CPU on which its consumer last
 * called sirq_recv(), when all of its frames elsewhere have been dealt with; flows that nobody
 * received from yet go by the map.  Task context, one caller at a time.  0 or -ENOMEM.
 */
int sirq_net_set_rfs(struct sirq_net *net, bool on, struct sirq_error *err);

void sirq_netdev_stats(const struct sirq_netdev *dev, struct sirq_netdev_stats *out);

/* The drivers built in, null-terminated, and the one called `name` or null. */
extern const struct sirq_driver *const sirq_drivers[];
const struct sirq_driver *sirq_driver_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
