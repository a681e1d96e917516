/* SPDX-License-Identifier: MIT */
/* Never sleeps. */
#include "kind.h"

#define SLICE_NS 1000000u

static const void *settings(const struct sirq_spec_threads *spec)
{
    return spec->hog;
}

static void burn(struct sirq_sim_thread *thread)
{
    uint64_t slice = thread->group->spec->hog->slice_ns;

    while (!thread->rig->closing) {
        sirq_sim_spend(thread->rig->sim, slice != 0 ? slice : SLICE_NS);
        thread->count++;
    }
}

const struct sirq_sim_kind sirq_kind_hog = {.name = "hog", .settings = settings, .main = burn};
