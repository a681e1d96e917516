/* SPDX-License-Identifier: MIT */
/*
 * The simulated world: the same core, policies and packet path on a machine that a file
 * describes.
 *
 * A row is run with several seeds; its figures are medians, and a note says how far the
 * seeds lie apart.  The seconds asked for are those of all seeds together.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flood.h"

struct sirq_session {
    const struct sirq_lab_options *options;
    struct sirq_machine *machine;
    struct sirq_sim_figures *figures; /* one per seed */
};

static void sim_close(struct sirq_session *session)
{
    sirq_machine_free(session->machine);
    free(session->figures);
    free(session);
}

static int sim_open(struct sirq_session **out, const struct sirq_lab_options *options,
                    struct sirq_error *err)
{
    struct sirq_session *session = calloc(1, sizeof(*session));
    int rc;

    if (!session)
        return sirq_fail(err, ENOMEM, "out of memory");
    session->options = options;
    rc = options->machine ? sirq_machine_load(&session->machine, options->machine, err)
                          : sirq_machine_shipped(&session->machine, options->experiment->name, err);
    if (!rc && !session->machine->traffic)
        rc = sirq_fail(err, EINVAL, "%s: traffic: is missing; udp-flood needs it",
                       options->machine ? options->machine : "udp-flood.yaml");
    if (!rc) {
        session->figures = calloc(session->machine->run.seeds, sizeof(*session->figures));
        if (!session->figures)
            rc = sirq_fail(err, ENOMEM, "out of memory");
    }
    if (rc) {
        sim_close(session);
        return rc;
    }
    *out = session;
    return 0;
}

static const char *sim_no_elsewhere(const struct sirq_session *session)
{
    return session->machine->machine.cpus < 2 ? "the machine has one" : NULL;
}

/* Costs are known: what a packet takes when nothing else is done is a sum. */
static int sim_flood_limit(struct sirq_session *session, struct sirq_flood_limit *out,
                           struct sirq_error *err)
{
    const struct sirq_machine_costs *cost = &session->machine->costs_ns;
    unsigned batch = session->options->batch;
    double ns = cost->RX_QUEUED + cost->RECV_PACKET + (double)cost->RECV_CALL / batch +
                (double)(cost->PASS + cost->NAPI_POLL) / SIRQ_NAPI_WEIGHT;

    (void)err;
    out->rate = out->rate_min = out->rate_max = 1e9 / ns;
    return 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct spread {
    double least, median, most;
};

/* Of the figure at `offset` in every seed's. */
static struct spread spread_of(const struct sirq_session *session, size_t offset)
{
    unsigned n = session->machine->run.seeds;
    double value[SIRQ_MACHINE_SEEDS];

    for (unsigned i = 0; i < n; i++)
        memcpy(&value[i], (const char *)&session->figures[i] + offset, sizeof(value[i]));
    qsort(value, n, sizeof(value[0]), by_value);
    return (struct spread){
        .least = value[0],
        .median = (value[(n - 1) / 2] + value[n / 2]) / 2,
        .most = value[n - 1],
    };
}

#define MEDIAN(session, field) spread_of(session, offsetof(struct sirq_sim_figures, field)).median

static void add_receivers(struct sirq_session *session, const struct sirq_flood *flood,
                          struct sirq_row *row)
{
    for (unsigned i = 0; i < flood->receivers; i++) {
        size_t at = i * sizeof(double);
        double rate = spread_of(session, offsetof(struct sirq_sim_figures, each) + at).median;
        double cpu = spread_of(session, offsetof(struct sirq_sim_figures, cpu) + at).median;
        double own = spread_of(session, offsetof(struct sirq_sim_figures, own_cpu) + at).median;

        if (flood->receivers == 1) {
            sirq_row_add(row, "percent", cpu, "receiver_cpu");
            sirq_row_add(row, "percent", own, "receiver_own_cpu");
            continue;
        }
        sirq_row_add(row, "packets/s", rate, "receiver%u_rate", i + 1);
        sirq_row_add(row, "percent", cpu, "receiver%u_cpu", i + 1);
        sirq_row_add(row, "percent", own, "receiver%u_own_cpu", i + 1);
    }
}

static void add_row(struct sirq_session *session, const struct sirq_flood *flood, double seconds,
                    struct sirq_row *row)
{
    struct spread received = spread_of(session, offsetof(struct sirq_sim_figures, received));
    unsigned stalled = 0;

    for (unsigned i = 0; i < session->machine->run.seeds; i++)
        stalled += session->figures[i].stalled;
    sirq_row_add(row, "packets/s", MEDIAN(session, offered), "offered_rate");
    sirq_row_add(row, "packets/s", received.median, "receiver_rate");
    add_receivers(session, flood, row);
    sirq_row_add(row, "percent", MEDIAN(session, irq_cpu), "irq_cpu");
    sirq_row_add(row, "percent", MEDIAN(session, ksoftirqd_cpu), "ksoftirqd_cpu");
    sirq_row_add(row, "percent", MEDIAN(session, idle_cpu), "idle_cpu");
    sirq_row_add(row, "packets", MEDIAN(session, nic_drops) * seconds, "nic_drops");
    sirq_row_add(row, "packets", MEDIAN(session, socket_drops) * seconds, "socket_drops");
    sirq_row_add(row, "us", MEDIAN(session, latency_p50_us), "latency_p50");
    sirq_row_add(row, "us", MEDIAN(session, latency_p99_us), "latency_p99");
    sirq_row_add(row, "ms", MEDIAN(session, longest_run_ms), "longest_run");
    sirq_row_add(row, "packets/s", received.least, "receiver_rate_least");
    sirq_row_add(row, "packets/s", received.most, "receiver_rate_most");
    if (stalled)
        sirq_row_note(row, "watchdog: pending softirqs stood still with %u of %u seeds", stalled,
                      session->machine->run.seeds);
}

static int sim_flood(struct sirq_session *session, const struct sirq_flood *flood,
                     const struct sirq_progress *progress, struct sirq_row *row,
                     struct sirq_error *err)
{
    unsigned seeds = session->machine->run.seeds;
    uint64_t start = sirq_lab_now_ns();
    int rc = 0;

    for (unsigned i = 0; i < seeds && !rc; i++) {
        const struct sirq_sim_flood run = {
            .machine = session->machine,
            .options = session->options,
            .flood = flood,
            .seed = session->options->seed + i,
            .ns = (uint64_t)(flood->seconds * 1e9) / seeds,
        };

        rc = sirq_sim_flood_run(&run, &session->figures[i], err);
        sirq_progress_tick(progress, sirq_lab_now_ns() - start);
    }
    if (!rc)
        add_row(session, flood, flood->seconds, row);
    return rc;
}

const struct sirq_world sirq_world_sim = {
    .name = "sim",
    .summary = "a simulated machine in virtual time, described by a file",
    .open = sim_open,
    .close = sim_close,
    .no_elsewhere = sim_no_elsewhere,
    .flood_limit = sim_flood_limit,
    .flood = sim_flood,
};
