/* SPDX-License-Identifier: MIT */
/*
 * Has to run every interval, as watchdogd: when it could not for longer than its limit, that
 * is a stall, counted once, however long it lasts.
 */
#include "kind.h"

static const void *settings(const struct sirq_spec_threads *spec)
{
    return spec->watchdog;
}

/* It may starve from the beginning. */
static int open_watchdog(struct sirq_sim_thread *thread, struct sirq_error *err)
{
    (void)err;
    thread->due_ns = thread->group->spec->watchdog->limit_ns;
    return 0;
}

static void watch(struct sirq_sim_thread *thread)
{
    const struct sirq_spec_watchdog *spec = thread->group->spec->watchdog;
    struct sirq_sim *sim = thread->rig->sim;

    while (!thread->rig->closing) {
        thread->due_ns = sirq_sim_now_ns(sim) + spec->limit_ns;
        sirq_sim_sleep_until(thread->task, sirq_sim_now_ns(sim) + spec->interval_ns);
        thread->stalls += sirq_sim_now_ns(sim) > thread->due_ns;
        thread->due_ns = UINT64_MAX;
        thread->count++;
    }
    thread->due_ns = UINT64_MAX;
}

const struct sirq_sim_kind sirq_kind_watchdog = {
    .name = "watchdog",
    .settings = settings,
    .open = open_watchdog,
    .main = watch,
};
