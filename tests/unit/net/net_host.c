/* SPDX-License-Identifier: MIT */
/* See net_host.h. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "net_host.h"

static uint32_t next_token;
static _Thread_local struct sirq_ctx self;
static _Thread_local int self_cpu;

static void check(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "net_host: %s\n", what);
        abort();
    }
}

static struct net_host *host_of(const struct sirq_cpu *cpu)
{
    return cpu->core->host_data;
}

static uint64_t host_now_ns(const struct sirq_cpu *cpu)
{
    struct net_host *h = host_of(cpu);

    if (h->now_hook != NULL)
        h->now_hook(h);
    return __atomic_load_n(&h->now_ns, __ATOMIC_RELAXED);
}

static struct sirq_ctx *host_ctx(void)
{
    if (self.token == 0)
        self.token = __atomic_add_fetch(&next_token, 1, __ATOMIC_RELAXED);
    return &self;
}

static struct sirq_cpu *host_this_cpu(struct sirq_core *core)
{
    return self_cpu >= 0 ? &core->cpus[self_cpu] : NULL;
}

static void host_bh_lock(struct sirq_cpu *cpu, struct sirq_ctx *ctx)
{
    for (;;) {
        uint64_t word = __atomic_load_n(&cpu->word, __ATOMIC_SEQ_CST);

        if (word >> 32 == 0 &&
            __atomic_compare_exchange_n(&cpu->word, &word, word | (uint64_t)ctx->token << 32, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return;
        sched_yield();
    }
}

static void host_bh_unlock(struct sirq_cpu *cpu, struct sirq_ctx *ctx)
{
    (void)cpu, (void)ctx;
    check(false, "nobody waits on the owner word here");
}

static void host_wake_ksoftirqd(struct sirq_cpu *cpu)
{
    (void)cpu; /* a test plays it */
}

static void host_kick(struct sirq_cpu *cpu)
{
    __atomic_fetch_add(&host_of(cpu)->nkicks[cpu->id], 1, __ATOMIC_RELAXED);
}

static int host_wait(struct sirq_cpu *cpu, struct sirq_wq *wq, uint32_t seq, int64_t timeout_ns)
{
    struct net_host *h = host_of(cpu);
    const struct timespec nap = {.tv_nsec = 20000};
    int64_t waited = 0;

    check(!sirq_in_softirq(cpu), "sleeps with bottom halves off");
    __atomic_fetch_add(&h->nwaits, 1, __ATOMIC_RELAXED);
    if (h->wait != NULL)
        return h->wait(h, wq, timeout_ns);
    while (__atomic_load_n(&wq->seq, __ATOMIC_SEQ_CST) == seq) {
        if (timeout_ns >= 0 && waited >= timeout_ns)
            return -ETIMEDOUT;
        nanosleep(&nap, NULL);
        waited += nap.tv_nsec;
    }
    return 0;
}

static void host_wake(struct sirq_cpu *cpu, struct sirq_wq *wq)
{
    const uint64_t one = 1;

    __atomic_fetch_add(&host_of(cpu)->nwakes, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&wq->seq, 1, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&wq->armed, 0, __ATOMIC_SEQ_CST) != 0)
        check(write(wq->eventfd, &one, sizeof(one)) == sizeof(one), "eventfd");
}

static void host_safe_point(struct sirq_cpu *cpu)
{
    check(!sirq_in_softirq(cpu), "safe point with bottom halves off");
    __atomic_fetch_add(&host_of(cpu)->nsafe, 1, __ATOMIC_RELAXED);
}

static void host_irq_line(struct sirq_irq *irq)
{
    (void)irq;
    check(false, "the test device masks itself");
}

static void host_relax(struct sirq_cpu *cpu)
{
    __atomic_fetch_add(&host_of(cpu)->nrelax, 1, __ATOMIC_RELAXED);
    net_host_ksoftirqd(host_of(cpu), cpu->id, 1);
    sched_yield();
}

static void host_bug(const char *expr, const char *file, int line)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, expr);
    abort();
}

static const struct sirq_host net_host_table = {
    .now_ns = host_now_ns,
    .ctx = host_ctx,
    .this_cpu = host_this_cpu,
    .bh_lock = host_bh_lock,
    .bh_unlock = host_bh_unlock,
    .wake_ksoftirqd = host_wake_ksoftirqd,
    .kick = host_kick,
    .wait = host_wait,
    .wake = host_wake,
    .safe_point = host_safe_point,
    .irq_mask = host_irq_line,
    .irq_unmask = host_irq_line,
    .relax = host_relax,
    .bug = host_bug,
};

void net_host_init(struct net_host *h, const struct sirq_net_config *config)
{
    memset(h, 0, sizeof(*h));
    net_host_run_on(0);
    check(sirq_core_init(&h->core, h->cpu, NET_HOST_CPUS, 250, &net_host_table, h) == 0, "core");
    h->now_ns = 1000 * h->core.tick_ns;
    check(sirq_timer_open(&h->core, h->timers) == 0, "timers");
    sirq_set_policy(&h->core, sirq_policy_find("inline"));
    check(sirq_net_create(&h->net, &h->core, config) == 0, "net");
}

void net_host_fini(struct net_host *h)
{
    net_host_check_sums(h);
    sirq_net_destroy(h->net);
}

void net_host_sleep(struct net_host *h, uint64_t ns)
{
    for (uint64_t end = h->now_ns + ns; h->now_ns < end;) {
        h->now_ns += h->core.tick_ns;
        for (unsigned i = 0; i < NET_HOST_CPUS; i++) {
            sirq_hardirq_enter(&h->cpu[i]);
            sirq_tick(&h->cpu[i]);
            sirq_hardirq_exit(&h->cpu[i]);
        }
    }
}

void net_host_run_on(int cpu)
{
    self_cpu = cpu;
}

void net_host_ksoftirqd(struct net_host *h, unsigned cpu, unsigned runs)
{
    while (runs-- > 0 && sirq_pending(&h->cpu[cpu]) != 0)
        if (!sirq_ksoftirqd_run(&h->cpu[cpu]))
            sirq_ksoftirqd_sleep(&h->cpu[cpu]);
}

void net_host_check_sums(const struct net_host *h)
{
    struct sirq_net_stats stats;
    uint64_t sum = 0;

    sirq_net_stats_sum(h->net, &stats);
    for (unsigned v = 0; v < SIRQ_NR_DROPS; v++)
        sum += stats.verdict[v];
    sum += stats.steered - stats.received_rps + stats.handled + stats.forwarded;
    check(stats.frames == sum, "frames != sum of verdicts and of frames on backlogs");
    sum = stats.tx_held - stats.tx_released;
    for (unsigned v = 0; v < SIRQ_NR_TX_DROPS; v++)
        sum += stats.tx_verdict[v];
    check(stats.tx_frames == sum, "tx_frames != sum of verdicts and of frames that wait");
}

/* ---- the device --------------------------------------------------------------------- */

static struct test_dev *dev_of(const struct sirq_netdev *dev)
{
    return (struct test_dev *)(uintptr_t)dev;
}

static int dev_open(struct sirq_netdev *netdev, const struct sirq_netdev_config *config,
                    struct sirq_error *err)
{
    struct test_dev *dev = dev_of(netdev);

    (void)config;
    if (dev->fail_open)
        return sirq_fail(err, ENODEV, "no device %s", "t0");
    dev->masked = 1;
    netdev->irq.self_masking = true;
    return 0;
}

static void dev_close(struct sirq_netdev *netdev)
{
    dev_of(netdev)->masked = 1;
}

/* Frames on the ring; any thread. */
static unsigned waiting(const struct test_dev *dev)
{
    unsigned tail = __atomic_load_n(&dev->tail, __ATOMIC_ACQUIRE);

    return __atomic_load_n(&dev->head, __ATOMIC_ACQUIRE) - tail;
}

static int dev_rx_poll(struct sirq_cpu *cpu, struct sirq_netdev *netdev, int budget)
{
    struct test_dev *dev = dev_of(netdev);
    int work = 0;

    dev->polls++;
    while (work < budget && waiting(dev) != 0) {
        const struct test_frame *f =
            &dev->ring[__atomic_fetch_add(&dev->tail, 1, __ATOMIC_ACQ_REL) % TEST_RING];

        if (dev->alike > 0)
            dev->last = sirq_net_rx_alike(cpu, netdev, f->data, f->len, f->rx_ns, dev->alike);
        else
            dev->last = sirq_net_rx(cpu, netdev, f->data, f->len, f->rx_ns);
        work++;
    }
    return work;
}

static void dev_ack(struct sirq_netdev *netdev)
{
    dev_of(netdev)->acks++;
}

static void dev_mask(struct sirq_netdev *netdev)
{
    dev_of(netdev)->masks++;
    dev_of(netdev)->masked = 1;
}

static void dev_unmask(struct sirq_netdev *netdev)
{
    struct test_dev *dev = dev_of(netdev);

    dev->unmasks++;
    dev->masked = 0;
    if (dev->on_unmask != NULL)
        dev->on_unmask(dev);
}

static bool dev_pending(const struct sirq_netdev *netdev)
{
    return waiting(dev_of(netdev)) != 0;
}

static int dev_tx(struct sirq_cpu *cpu, struct sirq_netdev *netdev, const uint8_t *frame,
                  uint32_t len)
{
    struct test_dev *dev = dev_of(netdev);

    check(sirq_in_softirq(cpu), "tx without bottom halves off");
    if (dev->on_tx != NULL)
        dev->on_tx(dev, cpu);
    if (len > TEST_TX_FRAME)
        return -EMSGSIZE;
    if (dev->nsent == TEST_TX_RING)
        return -ENOBUFS;
    memcpy(dev->sent[dev->nsent], frame, len);
    dev->sent_len[dev->nsent++] = len;
    return 0;
}

static void dev_tx_flush(struct sirq_cpu *cpu, struct sirq_netdev *netdev)
{
    (void)cpu;
    dev_of(netdev)->flushes++;
}

static void dev_tx_clean(struct sirq_cpu *cpu, struct sirq_netdev *netdev)
{
    (void)cpu;
    dev_of(netdev)->cleans++;
}

static void dev_stats(const struct sirq_netdev *netdev, struct sirq_netdev_stats *out)
{
    out->rx_packets = __atomic_load_n(&dev_of(netdev)->tail, __ATOMIC_ACQUIRE);
    out->rx_waiting = waiting(dev_of(netdev));
}

const struct sirq_driver test_driver = {
    .name = "test",
    .open = dev_open,
    .close = dev_close,
    .rx_poll = dev_rx_poll,
    .irq_ack = dev_ack,
    .irq_mask = dev_mask,
    .irq_unmask = dev_unmask,
    .rx_pending = dev_pending,
    .tx = dev_tx,
    .tx_flush = dev_tx_flush,
    .tx_clean = dev_tx_clean,
    .stats = dev_stats,
};

void test_dev_open(struct test_dev *dev, struct net_host *h)
{
    memset(dev, 0, sizeof(*dev));
    check(sirq_netdev_open(&dev->dev, h->net, &test_driver, NULL, NULL) == 0, "netdev");
    sirq_napi_enable(&dev->dev.napi);
    dev->masked = 0;
}

void test_dev_close(struct test_dev *dev, struct sirq_cpu *cpu)
{
    dev->masked = 1;
    sirq_napi_disable(cpu, &dev->dev.napi);
    sirq_netdev_close(&dev->dev);
}

void test_dev_sent_clear(struct test_dev *dev)
{
    dev->nsent = 0;
}

void test_dev_put(struct test_dev *dev, const void *frame, uint32_t len, uint64_t rx_ns)
{
    check(waiting(dev) < TEST_RING, "ring of the test device overrun");
    dev->ring[dev->head % TEST_RING] = (struct test_frame){frame, len, rx_ns};
    __atomic_fetch_add(&dev->head, 1, __ATOMIC_RELEASE);
}

void test_dev_interrupt(struct test_dev *dev, struct sirq_cpu *cpu)
{
    if (dev->masked)
        return;
    sirq_hardirq_enter(cpu);
    dev->dev.irq.handler(cpu, dev->dev.irq.data);
    sirq_hardirq_exit(cpu);
}

enum sirq_drop test_dev_rx(struct test_dev *dev, struct sirq_cpu *cpu, const void *frame,
                           uint32_t len)
{
    check(dev->head == dev->tail && !dev->masked, "device is busy");
    test_dev_put(dev, frame, len, 0);
    test_dev_interrupt(dev, cpu);
    check(dev->head == dev->tail, "frame was not polled");
    return dev->last;
}
