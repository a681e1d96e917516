/* SPDX-License-Identifier: MIT */
/* The path under real threads: two CPUs feed, several receive, sockets come and go. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frames.h"
#include "net_host.h"

#define FEEDERS NET_HOST_CPUS
#define RECEIVERS 3u
#define FRAMES 3000u
#define BURST 100u

struct world {
    struct net_host h;
    struct test_dev dev[FEEDERS];
    struct sirq_socket *sock;
    uint8_t frame[FRAME_MAX];
    uint32_t len;
    uint32_t left;     /* __atomic: feeders at work */
    uint32_t endless;  /* __atomic: feeders go on beyond FRAMES while it is set */
    uint64_t received; /* __atomic */
};

struct feeder {
    struct world *w;
    unsigned cpu;
};

static struct world *start(size_t rcvbuf)
{
    const struct sirq_socket_config config = {.port = FRAME_DPORT, .rcvbuf = rcvbuf};
    const struct frame_spec spec = {.payload = 30};
    struct world *w = aligned_alloc(64, (sizeof(*w) + 63) & ~(size_t)63);

    memset(w, 0, sizeof(*w));
    net_host_init(&w->h, NULL);
    for (unsigned i = 0; i < FEEDERS; i++)
        test_dev_open(&w->dev[i], &w->h);
    assert_int_equal(sirq_socket_open(w->h.net, &config, &w->sock), 0);
    w->len = frame_build(w->frame, &spec);
    w->left = FEEDERS;
    return w;
}

static void stop(struct world *w)
{
    for (unsigned i = 0; i < FEEDERS; i++)
        test_dev_close(&w->dev[i], &w->h.cpu[i]);
    net_host_fini(&w->h);
    free(w);
}

/* A CPU with a device: an interrupt and its softirqs, again and again. */
static void *feed(void *arg)
{
    const struct feeder *f = arg;
    struct world *w = f->w;

    net_host_run_on((int)f->cpu);
    for (unsigned n = 0; n < FRAMES || __atomic_load_n(&w->endless, __ATOMIC_RELAXED); n += BURST) {
        struct test_dev *dev = &w->dev[f->cpu];

        for (unsigned i = 0; i < BURST; i++)
            test_dev_put(dev, w->frame, w->len, n + i + 1);
        /* The bottom halves may be taken by a receiver on this CPU: ksoftirqd's turn. */
        test_dev_interrupt(dev, &w->h.cpu[f->cpu]);
        while (__atomic_load_n(&dev->dev.napi.state, __ATOMIC_ACQUIRE) != 0) {
            net_host_ksoftirqd(&w->h, f->cpu, 1);
            sched_yield();
        }
    }
    __atomic_fetch_sub(&w->left, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void *receive(void *arg)
{
    struct world *w = arg;
    struct sirq_msg msg[8];
    uint8_t buf[8][32];
    int n;

    net_host_run_on((int)(__atomic_load_n(&w->received, __ATOMIC_RELAXED) % 2));
    for (unsigned i = 0; i < 8; i++)
        msg[i] = (struct sirq_msg){.buf = buf[i], .size = sizeof(buf[i])};
    for (;;) {
        bool last = __atomic_load_n(&w->left, __ATOMIC_SEQ_CST) == 0;

        n = sirq_recv(w->sock, msg, 8, last ? 0 : 20000000);
        if (n == -EAGAIN && last)
            return NULL;
        if (n < 0 && n != -ETIMEDOUT && n != -EAGAIN)
            return w;
        for (int i = 0; i < n; i++)
            if (msg[i].len != 30 || memcmp(buf[i], w->frame + FRAME_DATA, 30) != 0)
                return w;
        if (n > 0)
            __atomic_fetch_add(&w->received, (uint64_t)n, __ATOMIC_RELAXED);
    }
}

static void receivers_several_get_all_that_was_delivered(void **state)
{
    struct world *w = start((size_t)64 * SIRQ_PKT_TRUESIZE);
    pthread_t feeders[FEEDERS], receivers[RECEIVERS];
    struct feeder f[FEEDERS];
    struct sirq_net_stats stats;
    void *broken;

    (void)state;
    for (unsigned i = 0; i < RECEIVERS; i++)
        assert_int_equal(pthread_create(&receivers[i], NULL, receive, w), 0);
    for (unsigned i = 0; i < FEEDERS; i++) {
        f[i] = (struct feeder){w, i};
        assert_int_equal(pthread_create(&feeders[i], NULL, feed, &f[i]), 0);
    }
    for (unsigned i = 0; i < FEEDERS; i++)
        pthread_join(feeders[i], NULL);
    for (unsigned i = 0; i < RECEIVERS; i++) {
        pthread_join(receivers[i], &broken);
        assert_null(broken);
    }
    sirq_net_stats_sum(w->h.net, &stats);
    assert_int_equal(stats.frames, FEEDERS * FRAMES);
    assert_int_equal(stats.verdict[SIRQ_DELIVERED], w->received);
    assert_int_equal(stats.verdict[SIRQ_DELIVERED] + stats.verdict[SIRQ_DROP_SOCKET_FULL],
                     stats.frames);
    assert_true(w->received > 0);
    sirq_socket_close(w->sock);
    stop(w);
}

static void socket_opened_and_closed_under_lookups_leaks_nothing(void **state)
{
    struct world *w = start(0);
    struct sirq_socket_config config = {.port = FRAME_DPORT, .rcvbuf = 4096};
    pthread_t feeders[FEEDERS];
    struct feeder f[FEEDERS];
    struct sirq_net_stats stats;

    (void)state;
    w->endless = 1;
    net_host_run_on(0);
    for (unsigned i = 0; i < FEEDERS; i++) {
        f[i] = (struct feeder){w, i};
        assert_int_equal(pthread_create(&feeders[i], NULL, feed, &f[i]), 0);
    }
    for (unsigned opened = 0; opened < 25; opened++) {
        sirq_socket_close(w->sock);
        config.addr = opened % 2 != 0 ? frame_net32(FRAME_DADDR) : 0;
        assert_int_equal(sirq_socket_open(w->h.net, &config, &w->sock), 0);
        if (opened % 3 == 0) { /* armed, so that closing meets wake-ups */
            struct sirq_msg msg = {0};

            assert_true(sirq_socket_fd(w->sock) >= 0);
            while (sirq_recv(w->sock, &msg, 1, 0) > 0)
                ;
        }
        sched_yield();
    }
    __atomic_store_n(&w->endless, 0, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < FEEDERS; i++)
        pthread_join(feeders[i], NULL);
    sirq_net_stats_sum(w->h.net, &stats);
    assert_true(stats.frames >= FEEDERS * FRAMES);
    assert_int_equal(stats.verdict[SIRQ_DROP_NO_BUFFER], 0);
    assert_true(stats.verdict[SIRQ_DELIVERED] > 0);
    sirq_socket_close(w->sock);
    stop(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(receivers_several_get_all_that_was_delivered),
        cmocka_unit_test(socket_opened_and_closed_under_lookups_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
