/* SPDX-License-Identifier: MIT */
/*
 * One run of a cell: a pair, the settings, receivers, a sender; flood; warm up; measure between two
 * samples; stop, and see that every frame is accounted for; everything as it was.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "flood.h"
#include "net.h"
#include "wire_gso.h"

#define WARMUP_NS 150000000u
#define PLAIN_RATE 100e3 /* packets/s: up to here frames are sent one by one */
#define SETTLE_NS 10000000
#define SETTLE_LOOKS 100u

/* Frames on the way arrive somewhere; then what was sent is what was lost, dropped or taken. */
static int settle(const struct sirq_kernel_cell *cell, const struct sirq_kernel_counters *before,
                  unsigned cpu, struct sirq_row *row, struct sirq_error *err)
{
    const struct timespec pause = {0, SETTLE_NS};
    uint64_t offered = sirq_sender_offered(&cell->sender), arrived = 0;

    for (unsigned i = 0; i < SETTLE_LOOKS; i++) {
        struct sirq_kernel_counters now;
        int rc = sirq_kernel_counters_read(&now, "/proc", cpu);

        if (rc)
            return sirq_fail(err, -rc, "--world kernel: counters in /proc: %s", strerror(-rc));
        arrived = (now.device_lost - before->device_lost) * cell->datagrams + now.udp_received -
                  before->udp_received + now.udp_errors - before->udp_errors;
        if (arrived == offered)
            return 0;
        nanosleep(&pause, NULL);
    }
    sirq_row_note(row, "of %llu frames sent %lld are not accounted for",
                  (unsigned long long)offered, (long long)(offered - arrived));
    return 0;
}

static int measure(struct sirq_kernel_flood *flood, struct sirq_kernel_cell *cell,
                   struct sirq_row *row, struct sirq_error *err)
{
    struct sirq_kernel_sample begin, end;
    struct sirq_kernel_counters before;
    unsigned cpu = flood->session.cpus.flooded;
    int rc = sirq_kernel_counters_read(&before, "/proc", cpu), idle_rc;

    if (rc)
        return sirq_fail(err, -rc, "--world kernel: counters in /proc: %s", strerror(-rc));
    sirq_sender_flood(&cell->sender, cell->rate);
    rc = sirq_sender_pass(&cell->sender, &flood->session.progress, WARMUP_NS, err);
    sirq_kernel_receivers_measure(&cell->group, true);
    if (!rc)
        rc = sirq_kernel_sample_take(&begin, cell, cpu, err);
    if (!rc)
        rc = sirq_sender_pass(&cell->sender, &flood->session.progress,
                              (uint64_t)(flood->session.seconds * 1e9), err);
    if (!rc)
        rc = sirq_kernel_sample_take(&end, cell, cpu, err);
    sirq_kernel_receivers_measure(&cell->group, false);
    idle_rc = rc == -EPIPE ? 0 : sirq_sender_idle(&cell->sender, err);
    rc = rc ? rc : idle_rc;
    if (!rc)
        rc = settle(cell, &before, cpu, row, err);
    sirq_kernel_receivers_stop(&cell->group);
    if (!rc && end.offered == begin.offered)
        return sirq_fail(err, ENOTSUP,
                         "nothing could be sent: packet sockets of this kernel take no UDP "
                         "segmentation offload (Linux 6.2 and later do); --rate of 100k or less "
                         "does without");
    if (!rc)
        sirq_kernel_measure(row, cell, &begin, &end);
    return rc;
}

static int send_and_measure(struct sirq_kernel_flood *flood, struct sirq_kernel_cell *cell,
                            unsigned nth, struct sirq_row *row, struct sirq_error *err)
{
    const struct sirq_lab_options *options = flood->session.options;
    const struct sirq_wire_config wire = {.ops = cell->datagrams > 1 ? &sirq_wire_gso
                                                                     : &sirq_wire_packet,
                                          .flows = options->receivers,
                                          .size = options->size,
                                          .seed = options->seed + nth,
                                          .use = &sirq_kernel_use};
    int rc = sirq_sender_start(&cell->sender, &wire, flood->session.cpus.sender, err);

    if (rc)
        return rc;
    rc = measure(flood, cell, row, err);
    sirq_sender_end(&cell->sender);
    return rc;
}

static int receive_and_measure(struct sirq_kernel_flood *flood, struct sirq_kernel_cell *cell,
                               unsigned nth, struct sirq_row *row, struct sirq_error *err)
{
    const struct sirq_kernel_receiving how = {.n = flood->session.options->receivers,
                                              .batch = flood->session.options->batch,
                                              .cpu = flood->session.cpus.flooded,
                                              .rr = cell->policy->rr,
                                              .latency = cell->rate > 0 &&
                                                         cell->rate <= SIRQ_LAB_LATENCY_RATE};
    int rc = sirq_kernel_receivers_start(&cell->group, &how, err);

    if (rc)
        return rc == -EPERM ? -ENOTSUP : rc;
    rc = send_and_measure(flood, cell, nth, row, err);
    sirq_kernel_receivers_stop(&cell->group);
    sirq_kernel_receivers_free(&cell->group);
    return rc;
}

int sirq_kernel_cell_run(struct sirq_kernel_flood *flood, const struct sirq_kernel_policy *policy,
                         double rate, unsigned nth, struct sirq_row *row, struct sirq_error *err)
{
    bool plain = rate > 0 && rate <= PLAIN_RATE;
    struct sirq_kernel_cell cell = {
        .policy = policy, .rate = rate, .datagrams = plain ? 1 : SIRQ_GSO_DATAGRAMS};
    struct sirq_error restoring;
    int rc = sirq_kernel_net_make(policy->threaded, err), restored;

    if (!rc)
        rc = sirq_kernel_knobs_set(&cell.knobs, policy, &flood->session.cpus,
                                   &flood->session.guardian, err);
    if (!rc)
        rc = receive_and_measure(flood, &cell, nth, row, err);
    restored = sirq_guardian_restore(&flood->session.guardian, &restoring);
    if (restored && (!rc || rc == -ENOTSUP)) {
        *err = restoring;
        rc = restored;
    }
    sirq_kernel_net_delete();
    return rc;
}
