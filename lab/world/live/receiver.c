/* SPDX-License-Identifier: MIT */
/*
 * Receivers.  A receiver reads its own CPU use (only it can) when it notices that a phase
 * has begun, after the receive call it was in; how late that was stands beside it.
 */
#include "receiver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "world/common/frame.h"

#define LOOK_NS 50000000 /* a receiver without packets looks at `stop` this often */
#define READY_POLL_NS 200000u
#define READY_POLLS 25000u /* 5 s */
#define RR_PRIORITY 20     /* as published */

static void note_edge(struct sirq_receiver *r)
{
    /* Acquire: whoever set the phase has taken its own figures before. */
    uint32_t phase = __atomic_load_n(&r->group->phase, __ATOMIC_ACQUIRE);

    for (; r->phase < phase; __atomic_store_n(&r->phase, r->phase + 1, __ATOMIC_RELEASE)) {
        r->edge[r->phase].wall_ns = sirq_lab_now_ns();
        sirq_live_thread_usage(&r->edge[r->phase].usage);
    }
}

static void add(uint64_t *counter, uint64_t n)
{
    /* One writer: a plain addition, published whole. */
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static void check_datagram(struct sirq_receiver *r, const struct sirq_msg *msg, uint64_t now)
{
    struct sirq_stamp stamp;

    if (msg->len < sizeof(stamp)) {
        add(&r->cut, 1);
        return;
    }
    memcpy(&stamp, msg->buf, sizeof(stamp));
    if (stamp.seq == 0) /* sent again: what is new is the device's stamp (wire_shm.c) */
        stamp = (struct sirq_stamp){.seq = msg->rx_ns, .sent_ns = msg->rx_ns};
    if (stamp.seq <= r->last_seq)
        add(&r->disorder, 1);
    r->last_seq = stamp.seq;
    if (r->hist && r->phase == SIRQ_PHASE_MEASURE)
        sirq_hist_add(r->hist, now > stamp.sent_ns ? now - stamp.sent_ns : 0);
}

void sirq_receiver_took(struct sirq_receiver *r, const struct sirq_msg *msgs, int n)
{
    uint64_t now = n > 0 && r->hist ? sirq_lab_now_ns() : 0;

    for (int i = 0; i < n; i++)
        check_datagram(r, &msgs[i], now);
    if (n > 0)
        add(&r->received, (uint64_t)n);
}

static void receive_loop(struct sirq_receiver *r)
{
    unsigned batch = r->group->rig->session->options->batch;
    struct sirq_msg msgs[SIRQ_LAB_BATCH];

    for (unsigned i = 0; i < batch; i++)
        msgs[i] = (struct sirq_msg){.buf = r->buf + i * SIRQ_FRAME_MAX, .size = SIRQ_FRAME_MAX};
    while (!__atomic_load_n(&r->group->stop, __ATOMIC_RELAXED)) {
        sirq_receiver_took(r, msgs, sirq_recv(r->sock, msgs, batch, LOOK_NS));
        note_edge(r);
    }
}

static void *receiver_main(void *arg)
{
    struct sirq_receiver *r = arg;
    struct sirq_rig *rig = r->group->rig;
    struct sirq_sched rr = {.policy = SCHED_RR, .priority = RR_PRIORITY};

    r->rc = sirq_live_thread_register(rig->live, (int)rig->session->cpus.flooded,
                                      r->group->rt ? &rr : NULL, &r->err);
    /* Release: rc and err before the count that makes them read. */
    __atomic_fetch_add(&r->group->ready, 1, __ATOMIC_RELEASE);
    if (r->rc)
        return NULL;
    receive_loop(r);
    sirq_live_thread_unregister(rig->live);
    return NULL;
}

static int start_one(struct sirq_receivers *group, unsigned i, bool latency, struct sirq_error *err)
{
    struct sirq_receiver *r = &group->receiver[i];
    int rc;

    r->group = group;
    r->sock = group->rig->sock[i];
    r->buf = calloc(group->rig->session->options->batch, SIRQ_FRAME_MAX);
    r->hist = latency ? calloc(1, sizeof(*r->hist)) : NULL;
    if (!r->buf || (latency && !r->hist))
        return sirq_fail(err, ENOMEM, "out of memory");
    rc = pthread_create(&r->thread, NULL, receiver_main, r);
    if (rc)
        return sirq_fail(err, rc, "cannot start receiver %u: %s; ask for fewer --receivers", i + 1,
                         strerror(rc));
    group->started++;
    return 0;
}

static int wait_ready(struct sirq_receivers *group, struct sirq_error *err)
{
    struct timespec ts = {0, READY_POLL_NS};
    unsigned polls = 0;

    while (__atomic_load_n(&group->ready, __ATOMIC_ACQUIRE) < group->n) {
        if (++polls > READY_POLLS)
            return sirq_fail(err, ETIMEDOUT, "the receivers do not get to run on CPU %u",
                             group->rig->session->cpus.flooded);
        nanosleep(&ts, NULL);
    }
    for (unsigned i = 0; i < group->n; i++) {
        if (group->receiver[i].rc) {
            if (err)
                *err = group->receiver[i].err;
            return group->receiver[i].rc;
        }
    }
    return 0;
}

int sirq_receivers_start(struct sirq_receivers *group, struct sirq_rig *rig,
                         const struct sirq_flood *flood, struct sirq_error *err)
{
    bool latency = flood->rate > 0 && flood->rate <= SIRQ_LAB_LATENCY_RATE;
    int rc = 0;

    memset(group, 0, sizeof(*group));
    group->rig = rig;
    group->n = flood->receivers;
    group->rt = flood->rt;
    group->receiver = aligned_alloc(64, sizeof(*group->receiver) * group->n);
    if (!group->receiver)
        return sirq_fail(err, ENOMEM, "out of memory");
    memset(group->receiver, 0, sizeof(*group->receiver) * group->n);
    for (unsigned i = 0; i < group->n && !rc; i++)
        rc = start_one(group, i, latency, err);
    if (!rc)
        rc = wait_ready(group, err);
    if (rc) {
        sirq_receivers_stop(group);
        sirq_receivers_free(group);
    }
    return rc;
}

void sirq_receivers_phase(struct sirq_receivers *group, enum sirq_phase phase)
{
    __atomic_store_n(&group->phase, phase, __ATOMIC_RELEASE);
}

void sirq_receivers_stop(struct sirq_receivers *group)
{
    __atomic_store_n(&group->stop, 1, __ATOMIC_RELAXED);
    for (; group->started; group->started--)
        pthread_join(group->receiver[group->started - 1].thread, NULL);
}

void sirq_receivers_free(struct sirq_receivers *group)
{
    for (unsigned i = 0; group->receiver && i < group->n; i++) {
        free(group->receiver[i].buf);
        free(group->receiver[i].hist);
    }
    free(group->receiver);
    group->receiver = NULL;
}

uint64_t sirq_receiver_count(const struct sirq_receiver *receiver)
{
    return __atomic_load_n(&receiver->received, __ATOMIC_RELAXED);
}
