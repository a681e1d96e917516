/* SPDX-License-Identifier: MIT */
#include "traffic.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "../net/frames.h"

#define BURST 48u
#define SETTLE_NS UINT64_C(5000000000)

static void *produce(void *arg)
{
    struct traffic *t = arg;
    uint8_t frame[FRAME_MAX];
    uint32_t len = frame_build(frame, &(struct frame_spec){.payload = 64});

    while (!__atomic_load_n(&t->stop_producer, __ATOMIC_SEQ_CST)) {
        for (unsigned i = 0; i < BURST; i++)
            if (sirq_shm_send(t->shm, frame, len, 0))
                t->sent++;
            else
                t->refused++;
        env_sleep_us(50);
    }
    return NULL;
}

void traffic_start(struct traffic *t, enum sirq_delivery delivery, const char *policy)
{
    const struct sirq_socket_config sock = {.port = FRAME_DPORT};
    struct sirq_error err;

    memset(t, 0, sizeof(*t));
    t->live = env_start(delivery, env_ncpus);
    sirq_set_policy(sirq_live_core(t->live), sirq_policy_find(policy));
    assert_int_equal(sirq_net_create(&t->net, sirq_live_core(t->live), NULL), 0);
    assert_int_equal(sirq_socket_open(t->net, &sock, &t->sock), 0);
    assert_int_equal(sirq_netdev_open(&t->dev, t->net, sirq_driver_find("shm"), NULL, &err), 0);
    assert_int_equal(sirq_shm_attach(&t->shm, &t->dev), 0);
    assert_int_equal(sirq_live_attach(t->live, env_numbers[0], &t->dev, &err), 0);
    assert_int_equal(sirq_live_attach(t->live, env_numbers[0], &t->dev, &err), -EBUSY);
    assert_int_equal(pthread_create(&t->producer, NULL, produce, t), 0);
}

struct receiver {
    struct traffic *t;
    unsigned cpu;
};

static void *receive(void *arg)
{
    struct receiver *self = arg;
    struct traffic *t = self->t;
    unsigned cpu = self->cpu;
    char bytes[8][128];
    struct sirq_msg msgs[8] = {{0}};

    free(self);
    for (unsigned i = 0; i < 8; i++)
        msgs[i] = (struct sirq_msg){.buf = bytes[i], .size = sizeof(bytes[i])};
    if (sirq_live_thread_register(t->live, (int)cpu, NULL, NULL) != 0)
        abort();
    __atomic_fetch_add(&t->registered, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&t->stop_receivers, __ATOMIC_SEQ_CST)) {
        int n = sirq_recv(t->sock, msgs, 8, 5000000);

        if (n > 0)
            __atomic_fetch_add(&t->received, (uint64_t)n, __ATOMIC_SEQ_CST);
        else if (n != -ETIMEDOUT)
            __atomic_fetch_add(&t->errors, 1, __ATOMIC_SEQ_CST);
    }
    sirq_live_thread_unregister(t->live);
    return NULL;
}

void traffic_receiver(struct traffic *t, unsigned cpu)
{
    struct receiver *self = malloc(sizeof(*self));

    assert_non_null(self);
    assert_true(t->nreceivers < TRAFFIC_MAX_RECEIVERS);
    *self = (struct receiver){.t = t, .cpu = cpu};
    assert_int_equal(pthread_create(&t->receivers[t->nreceivers++], NULL, receive, self), 0);
    while (__atomic_load_n(&t->registered, __ATOMIC_SEQ_CST) < t->nreceivers)
        env_sleep_us(100);
}

uint64_t traffic_received(const struct traffic *t)
{
    return __atomic_load_n(&t->received, __ATOMIC_SEQ_CST);
}

static bool drained(const struct traffic *t)
{
    struct sirq_netdev_stats dev;
    struct sirq_socket_stats sock;

    sirq_netdev_stats(&t->dev, &dev);
    sirq_socket_stats(t->sock, &sock);
    return dev.rx_waiting == 0 && dev.rx_packets == t->sent && sock.len == 0;
}

static void check_sums(const struct traffic *t)
{
    struct sirq_netdev_stats dev;
    struct sirq_socket_stats sock;
    struct sirq_net_stats net;
    uint64_t verdicts = 0;

    sirq_netdev_stats(&t->dev, &dev);
    sirq_socket_stats(t->sock, &sock);
    sirq_net_stats_sum(t->net, &net);
    for (unsigned i = 0; i < SIRQ_NR_DROPS; i++)
        verdicts += net.verdict[i];
    assert_int_equal(dev.rx_packets, t->sent);
    assert_int_equal(dev.rx_dropped, t->refused);
    assert_int_equal(dev.rx_errors, 0);
    assert_int_equal(net.frames, t->sent);
    assert_int_equal(verdicts, net.frames);
    assert_int_equal(net.verdict[SIRQ_DELIVERED], sock.queued);
    assert_int_equal(net.verdict[SIRQ_DELIVERED] + net.verdict[SIRQ_DROP_SOCKET_FULL] +
                         net.verdict[SIRQ_DROP_NO_BUFFER],
                     net.frames);
    assert_int_equal(sock.received, sock.queued);
    assert_int_equal(sock.received, traffic_received(t));
}

void traffic_settle(struct traffic *t)
{
    uint64_t end = env_now_ns() + SETTLE_NS;

    __atomic_store_n(&t->stop_producer, 1, __ATOMIC_SEQ_CST);
    pthread_join(t->producer, NULL);
    while (!drained(t) && env_now_ns() < end)
        env_sleep_us(1000);
    assert_true(drained(t));
    __atomic_store_n(&t->stop_receivers, 1, __ATOMIC_SEQ_CST);
    while (t->nreceivers > 0)
        pthread_join(t->receivers[--t->nreceivers], NULL);
    check_sums(t);
    assert_int_equal(t->errors, 0);
}

void traffic_stop(struct traffic *t)
{
    if (!__atomic_exchange_n(&t->stop_producer, 1, __ATOMIC_SEQ_CST))
        pthread_join(t->producer, NULL);
    sirq_live_detach(t->live, &t->dev);
    sirq_live_detach(t->live, &t->dev); /* harmless */
    sirq_socket_close(t->sock);
    sirq_netdev_close(&t->dev);
    sirq_shm_close(t->shm);
    sirq_net_destroy(t->net);
    sirq_live_stop(t->live);
}
