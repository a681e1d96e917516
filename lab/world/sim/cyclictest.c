/* SPDX-License-Identifier: MIT */
/*
 * Sleeps until the next multiple of its interval, as cyclictest; how late it wakes is what
 * every thread's wake-ups tell.  An interval that is over before it could begin is left out.
 */
#include "kind.h"

static const void *settings(const struct sirq_spec_threads *spec)
{
    return spec->cyclictest;
}

static void cycle(struct sirq_sim_thread *thread)
{
    const struct sirq_spec_cyclictest *spec = thread->group->spec->cyclictest;
    struct sirq_sim *sim = thread->rig->sim;
    uint64_t due = sirq_sim_now_ns(sim);

    while (!thread->rig->closing) {
        due += ((sirq_sim_now_ns(sim) - due) / spec->interval_ns + 1) * spec->interval_ns;
        sirq_sim_sleep_until(thread->task, due);
        if (spec->work_ns != 0)
            sirq_sim_spend(sim, spec->work_ns);
        thread->count++;
    }
}

const struct sirq_sim_kind sirq_kind_cyclictest = {
    .name = "cyclictest",
    .settings = settings,
    .main = cycle,
};
