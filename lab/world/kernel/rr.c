/* SPDX-License-Identifier: MIT */
/*
 * tcp-rr on the running kernel: what does a request cost a client that shares its CPU with the
 * softirqs of 200 others?  The others' answers are received in the softirqs of the measured
 * client's CPU; their own work and the server's is on another.
 */
#include "rr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "net.h"
#include "world.h"

#define WARMUP_NS 300000000
#define DEFAULT_SECONDS 1.0
#define RUN_OVERHEAD_NS 500000000u
#define LOOK_US 50000
#define TICK_NS 200000000
#define RR_PRIORITY 20

static bool flag(const uint32_t *what)
{
    return __atomic_load_n(what, __ATOMIC_RELAXED) != 0;
}

/* ---- the client that is measured --------------------------------------------------------- */

static int set_up(const struct sirq_kernel_rr_client *client)
{
    const struct sched_param param = {.sched_priority = RR_PRIORITY};
    const struct timeval timeout = {.tv_usec = LOOK_US};
    cpu_set_t set;

    prctl(PR_SET_NAME, "rr-client");
    CPU_ZERO(&set);
    CPU_SET(client->cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) ||
        setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)))
        return -errno;
    return client->rr && sched_setscheduler(0, SCHED_RR, &param) ? -errno : 0;
}

/* The answer to a request that is under way.  0, or -errno: stopped, or the server is gone. */
static int take_answer(const struct sirq_kernel_rr_client *client)
{
    char byte;

    while (!flag(&client->stop)) {
        ssize_t n = recv(client->fd, &byte, 1, 0);

        if (n == 1)
            return 0;
        if (n == 0)
            return -ECONNRESET;
        if (errno != EAGAIN && errno != EINTR)
            return -errno;
    }
    return -EINTR;
}

static void *client_main(void *arg)
{
    struct sirq_kernel_rr_client *client = arg;
    int rc = set_up(client);

    while (!rc && !flag(&client->stop)) {
        bool measured = flag(&client->measuring);
        uint64_t start = sirq_lab_now_ns();

        rc = send(client->fd, "r", 1, MSG_NOSIGNAL) == 1 ? take_answer(client) : -errno;
        if (!rc && measured)
            sirq_dist_add(&client->latency, sirq_lab_now_ns() - start);
    }
    client->rc = rc == -EINTR ? 0 : rc;
    /* Orders rc before what makes the run look at it. */
    __atomic_store_n(&client->ended, 1, __ATOMIC_RELEASE);
    return NULL;
}

static int client_failed(const struct sirq_kernel_rr_client *client, struct sirq_error *err)
{
    if (client->rr && client->rc == -EPERM)
        return sirq_fail(err, ENOTSUP,
                         "SCHED_RR is not permitted to a thread here (CAP_SYS_NICE, or "
                         "cpu.rt_runtime_us of its cgroup)");
    return sirq_fail(err, EPIPE, "tcp-rr: the measured client: %s", strerror(-client->rc));
}

/* ---- a run ------------------------------------------------------------------------------- */

static int pass(struct sirq_kernel_rr *rr, uint64_t ns, struct sirq_error *err)
{
    uint64_t start = sirq_lab_now_ns(), gone = 0;

    for (; gone < ns; gone = sirq_lab_now_ns() - start) {
        uint64_t left = ns - gone;
        int rc = sirq_lab_wait(-1, (int64_t)(left < TICK_NS ? left : TICK_NS));

        if (rc)
            return rc;
        rc = sirq_rr_check(&rr->server, err);
        if (!rc)
            rc = sirq_rr_check(&rr->others, err);
        if (rc)
            return rc;
        if (__atomic_load_n(&rr->client.ended, __ATOMIC_ACQUIRE))
            return client_failed(&rr->client, err);
        sirq_progress_tick(&rr->session.progress, sirq_lab_now_ns() - start);
    }
    return 0;
}

static int measure(struct sirq_kernel_rr *rr, struct sirq_row *row, struct sirq_error *err)
{
    struct sirq_kernel_rr_sample begin, end;
    int rc = pass(rr, WARMUP_NS, err);

    if (!rc)
        rc = sirq_kernel_rr_sample(rr, &begin, err);
    __atomic_store_n(&rr->client.measuring, 1, __ATOMIC_RELAXED);
    if (!rc)
        rc = pass(rr, (uint64_t)(rr->session.seconds * 1e9), err);
    if (!rc)
        rc = sirq_kernel_rr_sample(rr, &end, err);
    __atomic_store_n(&rr->client.stop, 1, __ATOMIC_RELAXED);
    pthread_join(rr->client.thread, NULL);
    if (!rc && !rr->client.latency.hist.count)
        return sirq_fail(err, ENOTSUP, "no request of the client was answered in %.1f s",
                         rr->session.seconds);
    if (!rc)
        sirq_kernel_rr_measure(row, rr, &begin, &end);
    return rc;
}

static int with_client(struct sirq_kernel_rr *rr, bool real_time, struct sirq_row *row,
                       struct sirq_error *err)
{
    int rc;

    memset(&rr->client, 0, sizeof(rr->client));
    rr->client.cpu = rr->session.cpus.flooded;
    rr->client.rr = real_time;
    rr->client.fd = sirq_rr_connect();
    if (rr->client.fd < 0)
        return sirq_fail(err, -rr->client.fd, "tcp-rr: the measured client cannot connect: %s",
                         strerror(-rr->client.fd));
    rc = pthread_create(&rr->client.thread, NULL, client_main, &rr->client);
    rc = rc ? sirq_fail(err, rc, "cannot start a thread: %s", strerror(rc)) : measure(rr, row, err);
    close(rr->client.fd);
    return rc;
}

static int with_others(struct sirq_kernel_rr *rr, const struct sirq_kernel_policy *policy,
                       struct sirq_row *row, struct sirq_error *err)
{
    int rc =
        sirq_rr_clients_start(&rr->others, rr->session.cpus.sender, SIRQ_KERNEL_RR_OTHERS, err);

    if (rc)
        return rc;
    rc = with_client(rr, policy->rr, row, err);
    sirq_rr_end(&rr->others);
    return rc;
}

static int with_server(struct sirq_kernel_rr *rr, const struct sirq_kernel_policy *policy,
                       struct sirq_row *row, struct sirq_error *err)
{
    struct sirq_error restoring;
    int rc = sirq_kernel_net_make(policy->threaded, err), restored;

    if (!rc)
        rc = sirq_rr_server_listen(&rr->server, err);
    if (!rc)
        rc = sirq_kernel_knobs_set(&rr->knobs, policy, &rr->session.cpus, &rr->session.guardian,
                                   err);
    if (!rc)
        rc = with_others(rr, policy, row, err);
    restored = sirq_guardian_restore(&rr->session.guardian, &restoring);
    if (restored && (!rc || rc == -ENOTSUP)) {
        *err = restoring;
        rc = restored;
    }
    sirq_kernel_net_delete();
    return rc;
}

static int run_once(void *experiment, const struct sirq_kernel_policy *policy, double rate,
                    unsigned nth, struct sirq_row *row, struct sirq_error *err)
{
    struct sirq_kernel_rr *rr = experiment;
    int rc = sirq_rr_server_start(&rr->server, rr->session.cpus.sender, err);

    (void)rate, (void)nth;
    if (rc)
        return rc;
    rc = with_server(rr, policy, row, err);
    sirq_rr_end(&rr->server);
    return rc;
}

/* ---- the experiment ---------------------------------------------------------------------- */

static int run_all(struct sirq_kernel_rr *rr, struct sirq_error *err)
{
    struct sirq_kernel_session *session = &rr->session;
    const struct sirq_lab_options *options = session->options;
    struct sirq_kernel_rows rows = {.run = run_once, .experiment = rr};
    int rc;

    sirq_progress_start(&session->progress, session->runs * options->nkernel,
                        (uint64_t)(session->seconds * 1e9) + RUN_OVERHEAD_NS);
    for (unsigned i = 0; i < options->nkernel; i++) {
        struct sirq_row *row = rows.row[i] = sirq_results_row(session->results);

        if (!row)
            return sirq_fail(err, ENOMEM, "out of memory");
        snprintf(row->setup, sizeof(row->setup), "%u antagonists%s%s", SIRQ_KERNEL_RR_OTHERS,
                 options->kernel[i]->rr ? " SCHED_RR 20" : "",
                 options->kernel[i]->elsewhere ? " softirqs elsewhere" : "");
        row->policy = options->kernel[i]->name;
    }
    rc = sirq_kernel_rows_run(session, &rows, err);
    if (!rc)
        sirq_progress_end(&session->progress);
    sirq_progress_clear(&session->progress);
    return rc;
}

static int tcp_rr(const struct sirq_lab_options *options, struct sirq_results *results,
                  struct sirq_error *err)
{
    struct sirq_kernel_rr *rr = calloc(1, sizeof(*rr));
    int rc;

    if (!rr)
        return sirq_fail(err, ENOMEM, "out of memory");
    rc = sirq_kernel_session_open(&rr->session, options, results, DEFAULT_SECONDS, err);
    if (!rc) {
        rc = run_all(rr, err);
        sirq_kernel_session_close(&rr->session);
        sirq_kernel_rr_report(rr, rc == -EINTR, stdout);
    }
    free(rr);
    return rc;
}

const struct sirq_experiment sirq_tcp_rr = {
    .name = "tcp-rr",
    .kernel = tcp_rr,
};
