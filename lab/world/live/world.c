/* SPDX-License-Identifier: MIT */
/*
 * The live world: this machine's CPUs and threads, real frames.
 *
 * A run: build, start receivers, attach the device, flood; let it warm up; measure between
 * two samples; stop the sender, let every frame arrive, check the sums; take down.
 */
#include <errno.h>
#include <stdlib.h>

#include "limit.h"
#include "measure.h"

#define WARMUP_NS 200000000

static int live_open(struct sirq_session **out, const struct sirq_lab_options *options,
                     struct sirq_error *err)
{
    struct sirq_session *session = calloc(1, sizeof(*session));
    int rc;

    if (!session)
        return sirq_fail(err, ENOMEM, "out of memory");
    session->options = options;
    rc = sirq_lab_cpus_choose(&session->cpus, options->cpu, err);
    if (!rc && options->nic == SIRQ_LAB_PACKET)
        rc = sirq_netns_enter(&sirq_live_veth, err);
    if (!rc && options->nic == SIRQ_LAB_PACKET)
        rc = sirq_veth_make(&sirq_live_veth, err);
    if (rc) {
        free(session);
        return rc;
    }
    *out = session;
    return 0;
}

static void live_close(struct sirq_session *session)
{
    free(session);
}

static const char *live_no_elsewhere(const struct sirq_session *session)
{
    return session->cpus.spare < 0 ? "none is to spare (one is flooded, one sends)" : NULL;
}

/* Flood and measure.  The sender is idle and every frame accounted for when it returns 0. */
static int flood_and_measure(struct sirq_receivers *group, const struct sirq_flood *flood,
                             const struct sirq_progress *progress, struct sirq_sample sample[2],
                             struct sirq_error *err)
{
    struct sirq_rig *rig = group->rig;
    struct sirq_account account;
    int rc, idle_rc;

    sirq_sender_flood(&rig->sender, flood->rate);
    rc = sirq_sender_pass(&rig->sender, progress, WARMUP_NS, err);
    sirq_sample_take(&sample[0], group);
    sirq_receivers_phase(group, SIRQ_PHASE_MEASURE);
    if (!rc)
        rc = sirq_sender_pass(&rig->sender, progress, (uint64_t)(flood->seconds * 1e9), err);
    sirq_sample_take(&sample[1], group);
    sirq_receivers_phase(group, SIRQ_PHASE_AFTER);
    idle_rc = rc == -EPIPE ? rc : sirq_sender_idle(&rig->sender, err);
    if (idle_rc)
        return idle_rc;
    idle_rc = sirq_account_settle(&account, group, err);
    return rc ? rc : idle_rc;
}

static void note_watchdog(const struct sirq_rig *rig, struct sirq_row *row)
{
    const char *what = __atomic_load_n(&rig->report.what, __ATOMIC_RELAXED);
    unsigned long times = (unsigned long)__atomic_load_n(&rig->report.times, __ATOMIC_RELAXED);

    if (what)
        sirq_row_note(row, "watchdog: %s (%lu report%s)", what, times, times == 1 ? "" : "s");
}

static int run_on_rig(struct sirq_rig *rig, const struct sirq_flood *flood,
                      const struct sirq_progress *progress, struct sirq_row *row,
                      struct sirq_error *err)
{
    struct sirq_receivers group;
    struct sirq_sample *sample = calloc(2, sizeof(*sample));
    int rc;

    if (!sample) {
        sirq_fail(err, ENOMEM, "out of memory");
        return -ENOMEM;
    }
    rc = sirq_receivers_start(&group, rig, flood, err);
    if (rc) {
        free(sample);
        return rc; /* EPERM: the class is not permitted */
    }
    rc = sirq_rig_attach(rig, err);
    if (!rc)
        rc = flood_and_measure(&group, flood, progress, sample, err);
    sirq_receivers_stop(&group);
    if (!rc)
        sirq_measure_row(row, &group, &sample[0], &sample[1]);
    note_watchdog(rig, row);
    sirq_receivers_free(&group);
    free(sample);
    return rc == -EPERM ? -EACCES : rc; /* here it is not about the class */
}

static int live_flood(struct sirq_session *session, const struct sirq_flood *flood,
                      const struct sirq_progress *progress, struct sirq_row *row,
                      struct sirq_error *err)
{
    struct sirq_rig *rig = calloc(1, sizeof(*rig));
    int rc;

    if (!rig)
        return sirq_fail(err, ENOMEM, "out of memory");
    rc = sirq_rig_open(rig, session, flood, err);
    if (rc) {
        free(rig);
        return rc == -EPERM ? -EACCES : rc;
    }
    rc = run_on_rig(rig, flood, progress, row, err);
    sirq_rig_close(rig);
    free(rig);
    return rc;
}

const struct sirq_world sirq_world_live = {
    .name = "live",
    .summary = "this machine's CPUs, threads and clock; real frames",
    .open = live_open,
    .close = live_close,
    .no_elsewhere = live_no_elsewhere,
    .flood_limit = sirq_limit_measure,
    .flood = live_flood,
};
