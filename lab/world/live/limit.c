/* SPDX-License-Identifier: MIT */
/*
 * The one-CPU limit: what one CPU receives when it does, per packet, its share of softirq
 * and one receive call, and nothing else.
 *
 * One thread alternates one NAPI poll of 64 and 64 receives, with what a receiver does with
 * each datagram, all through the ordinary path:
 * it schedules a NAPI instance of ours inside a bottom-half section, whose end runs NET_RX,
 * which polls the instance, which takes 64 frames from the device.  Its weight is one more
 * than it ever takes, so it always completes: nothing stays pending, ksoftirqd is never
 * woken, and the policy has nothing to decide.  The device's interrupt is never requested.
 *
 * Rounds that found less than a full ring do not count: a slow sender makes the measurement
 * coarser, not lower.  Nor do rounds in which the thread was off the CPU: those that took
 * several times the median.
 */
#include "limit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "account.h"

#define RUNS 9u
#define RUNS_LEAST 3u
#define RUN_NS 60000000u
#define RUN_MOST_NS 600000000u /* on a machine that is busy otherwise */
#define ROUNDS 16384u          /* of one run, at most */
#define ROUNDS_LEAST 100u      /* fewer say nothing */
#define OUTLIER 4u
#define LOOK_NS 20000000
#define LOOKS 500u /* 10 s */

struct limit {
    struct sirq_rig *rig;
    struct sirq_receivers group; /* of one: its counter is what the sums are checked with */
    struct sirq_receiver receiver;
    struct sirq_cpu *cpu;
    struct sirq_napi napi;
    int taken; /* by the last poll */
    double rate[RUNS];
    uint32_t round[ROUNDS]; /* ns */
    uint32_t measured;      /* runs done; __atomic */
    int rc;                 /* of registering, before measured is RUNS */
    struct sirq_error err;
};

static int limit_poll(struct sirq_cpu *cpu, struct sirq_napi *napi, int budget)
{
    struct limit *limit = (struct limit *)((char *)napi - offsetof(struct limit, napi));
    struct sirq_netdev *dev = &limit->rig->dev;

    limit->taken = dev->driver->rx_poll(cpu, dev, budget - 1);
    sirq_napi_complete_done(cpu, napi, limit->taken);
    return limit->taken;
}

/* One poll, then as many receives.  Returns the packets received. */
static uint64_t limit_round(struct limit *limit)
{
    uint8_t buf[SIRQ_FRAME_MAX];
    struct sirq_msg msg = {.buf = buf, .size = sizeof(buf)};
    uint64_t got = 0;

    limit->taken = 0;
    sirq_bh_disable(limit->cpu);
    sirq_napi_schedule(limit->cpu, &limit->napi);
    sirq_bh_enable(limit->cpu);
    for (; got < (uint64_t)limit->taken && sirq_recv(limit->rig->sock[0], &msg, 1, 0) == 1; got++)
        sirq_receiver_took(&limit->receiver, &msg, 1);
    return got;
}

static int by_time(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Packets per second, from the rounds that nobody interrupted for long. */
static double rate_of(uint32_t *round, unsigned n)
{
    uint64_t sum = 0;
    unsigned used = 0;

    if (n < ROUNDS_LEAST)
        return 0;
    qsort(round, n, sizeof(*round), by_time);
    for (; used < n && round[used] <= OUTLIER * round[n / 2]; used++)
        sum += round[used];
    return 1e9 * SIRQ_NAPI_WEIGHT * used / (double)sum;
}

static bool stopped(struct limit *limit)
{
    return __atomic_load_n(&limit->group.stop, __ATOMIC_RELAXED) != 0;
}

static double limit_run(struct limit *limit)
{
    uint64_t start = sirq_lab_now_ns(), now = start;
    unsigned n = 0;

    while (n < ROUNDS && now - start < (n < ROUNDS_LEAST ? RUN_MOST_NS : RUN_NS) &&
           !stopped(limit)) {
        uint64_t before = now, got = limit_round(limit);

        now = sirq_lab_now_ns();
        if (got == SIRQ_NAPI_WEIGHT)
            limit->round[n++] = (uint32_t)(now - before);
    }
    return rate_of(limit->round, n);
}

static void *limit_main(void *arg)
{
    struct limit *limit = arg;
    struct sirq_rig *rig = limit->rig;

    limit->rc =
        sirq_live_thread_register(rig->live, (int)rig->session->cpus.flooded, NULL, &limit->err);
    if (!limit->rc) {
        sirq_napi_enable(&limit->napi);
        for (unsigned i = 0; i < RUNS && !stopped(limit); i++) {
            limit->rate[i] = limit_run(limit);
            __atomic_store_n(&limit->measured, i + 1, __ATOMIC_RELEASE);
        }
        /* Take what is still under way, until the sums have been checked. */
        while (!stopped(limit))
            limit_round(limit);
        sirq_napi_disable(limit->cpu, &limit->napi);
        sirq_live_thread_unregister(rig->live);
    }
    __atomic_store_n(&limit->measured, RUNS, __ATOMIC_RELEASE);
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int wait_measured(struct limit *limit, struct sirq_error *err)
{
    for (unsigned i = 0; i < LOOKS; i++) {
        int rc;

        if (__atomic_load_n(&limit->measured, __ATOMIC_ACQUIRE) == RUNS)
            return 0;
        rc = sirq_lab_wait(limit->rig->sender.pidfd, LOOK_NS);
        if (rc < 0)
            return rc;
        if (rc)
            return sirq_sender_died(&limit->rig->sender, err);
    }
    return sirq_fail(err, ETIMEDOUT,
                     "the one-CPU limit cannot be measured: the thread does not "
                     "get to run on CPU %u",
                     limit->rig->session->cpus.flooded);
}

static int conclude(struct limit *limit, struct sirq_flood_limit *out, struct sirq_error *err)
{
    unsigned first = 0;

    if (limit->rc) {
        *err = limit->err;
        return limit->rc;
    }
    qsort(limit->rate, RUNS, sizeof(limit->rate[0]), by_value);
    while (first < RUNS && limit->rate[first] <= 0)
        first++; /* too few full rounds: no measurement */
    if (first > RUNS - RUNS_LEAST)
        return sirq_fail(err, EIO,
                         "the one-CPU limit cannot be measured: the sender does not fill "
                         "the device's ring; is its CPU %u busy with something else?",
                         limit->rig->session->cpus.sender);
    out->rate = limit->rate[first + (RUNS - first) / 2];
    out->rate_min = limit->rate[first];
    out->rate_max = limit->rate[RUNS - 1];
    return 0;
}

static int measure(struct limit *limit, struct sirq_flood_limit *out, struct sirq_error *err)
{
    struct sirq_account account;
    int rc = pthread_create(&limit->receiver.thread, NULL, limit_main, limit);

    if (rc)
        return sirq_fail(err, rc, "cannot start a thread");
    sirq_sender_flood(&limit->rig->sender, 0);
    rc = wait_measured(limit, err);
    if (!rc)
        rc = sirq_sender_idle(&limit->rig->sender, err);
    if (!rc && !limit->rc)
        rc = sirq_account_settle(&account, &limit->group, err);
    __atomic_store_n(&limit->group.stop, 1, __ATOMIC_RELAXED);
    pthread_join(limit->receiver.thread, NULL);
    return rc ? rc : conclude(limit, out, err);
}

static int on_rig(struct limit *limit, struct sirq_flood_limit *out, struct sirq_error *err)
{
    struct sirq_rig *rig = limit->rig;

    limit->cpu = sirq_live_cpu(rig->live, rig->session->cpus.flooded);
    limit->group.rig = rig;
    limit->group.n = 1;
    limit->group.receiver = &limit->receiver;
    sirq_napi_init(&limit->napi, limit_poll, SIRQ_NAPI_WEIGHT + 1);
    return measure(limit, out, err);
}

int sirq_limit_measure(struct sirq_session *session, struct sirq_flood_limit *out,
                       struct sirq_error *err)
{
    struct sirq_flood flood = {.policy = sirq_policy_default(), .receivers = 1};
    struct limit *limit = aligned_alloc(64, sizeof(*limit));
    struct sirq_rig rig;
    int rc;

    if (!limit)
        return sirq_fail(err, ENOMEM, "out of memory");
    memset(limit, 0, sizeof(*limit));
    limit->rig = &rig;
    rc = sirq_rig_open(&rig, session, &flood, err);
    if (!rc) {
        rc = on_rig(limit, out, err);
        sirq_rig_close(&rig);
    }
    free(limit);
    return rc;
}
