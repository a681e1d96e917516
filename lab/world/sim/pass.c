/* SPDX-License-Identifier: MIT */
/* Virtual time passes in slices, between which we look at whether somebody wants to stop. */
#include "pass.h"

#include <errno.h>

#define SLICE_NS UINT64_C(10000000)

int sirq_sim_pass_time(struct sirq_sim *sim, uint64_t ns, const bool *stop)
{
    uint64_t end = sirq_sim_now_ns(sim) + ns, now;

    while ((now = sirq_sim_now_ns(sim)) < end) {
        if (stop != NULL && __atomic_load_n(stop, __ATOMIC_RELAXED))
            return -EINTR;
        sirq_sim_run(sim, end - now < SLICE_NS ? end : now + SLICE_NS);
    }
    return 0;
}
