/* SPDX-License-Identifier: MIT */
/*
 * The `pcap` driver: a capture replayed as a NIC would have received it.
 *
 * Frames arrive at times that are known beforehand, so no event is made for each: rx_poll moves
 * those whose time has come onto the ring (of their numbers), and drops those that find it full.
 * Number s is frame s / flows of the capture, in flow s % flows, in lap after lap with `loop`.
 * The first arrives when the device is first unmasked.
 *
 * Interrupts come from a thread that sleeps until the next frame's time while the device is
 * unmasked (a word as in shm_ring.h: masked, unmasked, fired) and then rings: descriptors of
 * timers send no signal.  At the rate of polling a frame is always there; no thread is needed.
 */
#define SIRQ_DRIVER_PRIVATE
#include "driver.h"
#include "pcap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PCAP_MASKED, PCAP_UNMASKED, PCAP_FIRED };

#define PCAP_NEVER UINT64_MAX
/* A look moves at most so many times the ring's size: the rest was lost and is counted next time. */
#define PCAP_LOOK 4u

struct pcap_nic {
    struct sirq_pcap_file file;
    uint64_t pps, lap, total; /* lap: numbers in one; total: PCAP_NEVER with loop */
    uint64_t lap_ns;
    unsigned flows, ring_size;
    uint64_t *ring;      /* numbers; rx_poll only */
    uint8_t *frame;      /* the one being varied; rx_poll only */
    uint64_t arrive;     /* the number to arrive next; rx_poll only */
    uint64_t prod, cons; /* of the ring.  Writer: rx_poll */
    uint64_t dropped;    /* writer: rx_poll */
    uint64_t next_ns;    /* when `arrive` does, after start_ns.  Writer: rx_poll */
    uint64_t start_ns;   /* 0: not yet.  Writer: the first unmask */
    uint32_t irq, stop;  /* __atomic; irq is a futex */
    int doorbell[2];
    bool polled, have_thread;
    pthread_t thread;
};

static uint64_t pcap_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* When number s arrives, after the start. */
static uint64_t pcap_time_ns(const struct pcap_nic *nic, uint64_t s)
{
    if (s >= nic->total)
        return PCAP_NEVER;
    if (nic->pps != 0)
        return s / nic->pps * 1000000000u + s % nic->pps * 1000000000u / nic->pps;
    return s / nic->lap * nic->lap_ns + nic->file.frames[s % nic->lap / nic->flows].ns;
}

/* Has what arrives at `ns` after the start arrived? */
static bool pcap_due(const struct pcap_nic *nic, uint64_t ns)
{
    uint64_t start = __atomic_load_n(&nic->start_ns, __ATOMIC_RELAXED);

    return ns != PCAP_NEVER && start != 0 && pcap_now_ns() >= start + ns;
}

static void pcap_arrive(struct pcap_nic *nic)
{
    uint64_t next = nic->next_ns, prod = nic->prod, dropped = 0;
    uint64_t start = __atomic_load_n(&nic->start_ns, __ATOMIC_RELAXED);
    uint64_t now = start != 0 ? pcap_now_ns() - start : 0;

    for (uint64_t i = 0; i < (uint64_t)PCAP_LOOK * nic->ring_size && start != 0; i++) {
        if (next == PCAP_NEVER || (next > now && !nic->polled))
            break;
        if (prod - nic->cons < nic->ring_size)
            nic->ring[prod++ & (nic->ring_size - 1)] = nic->arrive;
        else if (nic->polled)
            break;
        else
            dropped++;
        next = pcap_time_ns(nic, ++nic->arrive);
    }
    __atomic_store_n(&nic->prod, prod, __ATOMIC_RELAXED);
    __atomic_store_n(&nic->dropped, nic->dropped + dropped, __ATOMIC_RELAXED);
    __atomic_store_n(&nic->next_ns, next, __ATOMIC_RELEASE);
}

static void pcap_rx_frame(struct sirq_cpu *cpu, struct sirq_netdev *dev, uint64_t s)
{
    struct pcap_nic *nic = dev->priv;
    const struct sirq_pcap_frame *frame = &nic->file.frames[s % nic->lap / nic->flows];
    const uint8_t *data = nic->file.bytes + frame->at;
    uint32_t flow = (uint32_t)(s % nic->flows);
    uint64_t rx_ns = nic->polled ? 0 : nic->start_ns + pcap_time_ns(nic, s);

    if (flow != 0) {
        memcpy(nic->frame, data, frame->len);
        sirq_pcap_vary(frame, nic->frame, flow);
        data = nic->frame;
    }
    sirq_net_rx(cpu, dev, data, frame->len, rx_ns);
}

static int pcap_rx_poll(struct sirq_cpu *cpu, struct sirq_netdev *dev, int budget)
{
    struct pcap_nic *nic = dev->priv;
    int done = 0;

    pcap_arrive(nic);
    for (; done < budget && nic->cons != nic->prod; done++) {
        pcap_rx_frame(cpu, dev, nic->ring[nic->cons & (nic->ring_size - 1)]);
        __atomic_store_n(&nic->cons, nic->cons + 1, __ATOMIC_RELAXED);
    }
    return done;
}

static bool pcap_rx_pending(const struct sirq_netdev *dev)
{
    const struct pcap_nic *nic = dev->priv;
    uint64_t next = __atomic_load_n(&nic->next_ns, __ATOMIC_ACQUIRE);

    return __atomic_load_n(&nic->prod, __ATOMIC_RELAXED) !=
               __atomic_load_n(&nic->cons, __ATOMIC_RELAXED) ||
           (nic->polled ? next != PCAP_NEVER : pcap_due(nic, next));
}

/* ---- interrupts ------------------------------------------------------------------------- */

static void pcap_futex(struct pcap_nic *nic, int op, uint32_t value, const struct timespec *timeout)
{
    int saved = errno;

    syscall(SYS_futex, &nic->irq, op | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
    errno = saved;
}

/* Exactly one doorbell per unmask.  The exchange fails when it was masked since. */
static void pcap_fire(struct pcap_nic *nic)
{
    uint32_t unmasked = PCAP_UNMASKED;

    if (__atomic_compare_exchange_n(&nic->irq, &unmasked, PCAP_FIRED, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_RELAXED) &&
        write(nic->doorbell[1], "", 1) < 0) {
        /* full: one is waiting there already */
    }
}

static void *pcap_timer(void *arg)
{
    struct pcap_nic *nic = arg;

    while (!__atomic_load_n(&nic->stop, __ATOMIC_ACQUIRE)) {
        /* Acquire: the word before next_ns, which was stored before the unmask. */
        uint32_t irq = __atomic_load_n(&nic->irq, __ATOMIC_ACQUIRE);
        uint64_t next = __atomic_load_n(&nic->next_ns, __ATOMIC_ACQUIRE);
        uint64_t now = pcap_now_ns(),
                 due = __atomic_load_n(&nic->start_ns, __ATOMIC_RELAXED) + next;
        struct timespec wait;

        if (irq != PCAP_UNMASKED || next == PCAP_NEVER) {
            pcap_futex(nic, FUTEX_WAIT, irq, NULL);
            continue;
        }
        if (due <= now) {
            pcap_fire(nic);
            continue;
        }
        wait = (struct timespec){.tv_sec = (time_t)((due - now) / 1000000000u),
                                 .tv_nsec = (long)((due - now) % 1000000000u)};
        pcap_futex(nic, FUTEX_WAIT, irq, &wait);
    }
    return NULL;
}

static void pcap_irq_ack(struct sirq_netdev *dev)
{
    const struct pcap_nic *nic = dev->priv;
    char bytes[16];
    int saved = errno;

    if (read(nic->doorbell[0], bytes, sizeof(bytes)) < 0)
        errno = saved; /* an interrupt in vain */
}

static void pcap_irq_mask(struct sirq_netdev *dev)
{
    struct pcap_nic *nic = dev->priv;

    __atomic_store_n(&nic->irq, PCAP_MASKED, __ATOMIC_RELAXED);
}

/* Release: the start, and the poll's next_ns, before the word that lets the thread look. */
static void pcap_irq_unmask(struct sirq_netdev *dev)
{
    struct pcap_nic *nic = dev->priv;

    if (__atomic_load_n(&nic->start_ns, __ATOMIC_RELAXED) == 0)
        __atomic_store_n(&nic->start_ns, pcap_now_ns(), __ATOMIC_RELAXED);
    __atomic_store_n(&nic->irq, PCAP_UNMASKED, __ATOMIC_SEQ_CST);
    if (nic->have_thread)
        pcap_futex(nic, FUTEX_WAKE, 1, NULL);
}

/* ---- life ------------------------------------------------------------------------------- */

static void pcap_stats(const struct sirq_netdev *dev, struct sirq_netdev_stats *out)
{
    const struct pcap_nic *nic = dev->priv;

    out->rx_packets = __atomic_load_n(&nic->cons, __ATOMIC_RELAXED);
    out->rx_waiting = __atomic_load_n(&nic->prod, __ATOMIC_RELAXED) - out->rx_packets;
    out->rx_dropped = __atomic_load_n(&nic->dropped, __ATOMIC_RELAXED);
}

static void pcap_free(struct pcap_nic *nic)
{
    if (nic->doorbell[0] >= 0) {
        close(nic->doorbell[0]);
        close(nic->doorbell[1]);
    }
    sirq_pcap_free(&nic->file);
    free(nic->ring);
    free(nic->frame);
    free(nic);
}

/* It takes no signal of the program's. */
static int pcap_thread(struct pcap_nic *nic)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&nic->thread, NULL, pcap_timer, nic);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    nic->have_thread = rc == 0;
    return -rc;
}

/* A lap ends one mean gap after its last frame, 1 us at least: laps take time. */
static void pcap_plan(struct pcap_nic *nic, const struct sirq_netdev_config *config)
{
    uint64_t last = nic->file.frames[nic->file.n - 1].ns;

    nic->polled = config->replay_pps == SIRQ_REPLAY_POLLED;
    nic->pps = nic->polled ? 0 : config->replay_pps;
    nic->flows = config->flows ? config->flows : 1;
    nic->lap = (uint64_t)nic->file.n * nic->flows;
    nic->lap_ns = last + (nic->file.n > 1 ? last / (nic->file.n - 1) : 0);
    if (nic->lap_ns < 1000)
        nic->lap_ns = 1000;
    nic->total = config->loop ? PCAP_NEVER : nic->lap;
}

static int pcap_prepare(struct pcap_nic *nic, const struct sirq_netdev_config *config,
                        unsigned frame_size, struct sirq_error *err)
{
    int rc = sirq_pcap_load(&nic->file, config->file, frame_size, err);

    if (rc < 0)
        return rc;
    pcap_plan(nic, config);
    nic->ring = calloc(nic->ring_size, sizeof(*nic->ring));
    nic->frame = malloc(frame_size);
    if (!nic->ring || !nic->frame)
        return sirq_fail(err, ENOMEM, "pcap: out of memory");
    if (pipe2(nic->doorbell, O_CLOEXEC | O_NONBLOCK) < 0) {
        rc = -errno;
        nic->doorbell[0] = -1;
    } else if (!nic->polled) {
        rc = pcap_thread(nic);
    }
    return rc < 0 ? sirq_fail(err, -rc, "pcap: no doorbell (%s)", strerror(-rc)) : 0;
}

static int pcap_driver_open(struct sirq_netdev *dev, const struct sirq_netdev_config *config,
                            struct sirq_error *err)
{
    struct pcap_nic *nic;
    unsigned ring_size, frame_size;
    int rc = sirq_ring_config(config, "pcap", 1, &ring_size, &frame_size, err);

    if (rc < 0)
        return rc;
    if (config->flows > SIRQ_PCAP_FLOWS_MAX)
        return sirq_fail(err, EINVAL, "pcap: flows %u: give at most %u", config->flows,
                         SIRQ_PCAP_FLOWS_MAX);
    if (config->replay_pps > SIRQ_PCAP_PPS_MAX && config->replay_pps != SIRQ_REPLAY_POLLED)
        return sirq_fail(err, EINVAL, "pcap: replay_pps: give at most %u, or SIRQ_REPLAY_POLLED",
                         SIRQ_PCAP_PPS_MAX);
    nic = calloc(1, sizeof(*nic));
    if (!nic)
        return sirq_fail(err, ENOMEM, "pcap: out of memory");
    nic->ring_size = ring_size;
    nic->doorbell[0] = -1;
    rc = pcap_prepare(nic, config, frame_size, err);
    if (rc < 0) {
        pcap_free(nic);
        return rc;
    }
    dev->priv = nic;
    dev->irq.fd = nic->doorbell[0];
    dev->irq.self_masking = true;
    return 0;
}

static void pcap_driver_close(struct sirq_netdev *dev)
{
    struct pcap_nic *nic = dev->priv;

    if (nic->have_thread) {
        __atomic_store_n(&nic->stop, 1, __ATOMIC_RELEASE);
        /* A value that it does not wait for, so a wait that begins now returns at once. */
        __atomic_store_n(&nic->irq, PCAP_FIRED + 1, __ATOMIC_SEQ_CST);
        pcap_futex(nic, FUTEX_WAKE, 1, NULL);
        pthread_join(nic->thread, NULL);
    }
    pcap_free(nic);
    dev->priv = NULL;
    dev->irq.fd = -1;
}

const struct sirq_driver sirq_pcap_driver = {
    .name = "pcap",
    .open = pcap_driver_open,
    .close = pcap_driver_close,
    .rx_poll = pcap_rx_poll,
    .irq_ack = pcap_irq_ack,
    .irq_mask = pcap_irq_mask,
    .irq_unmask = pcap_irq_unmask,
    .rx_pending = pcap_rx_pending,
    .stats = pcap_stats,
};
