/* SPDX-License-Identifier: MIT */
/* Virtual time passes in slices, between which we look at whether a person wants to stop. */
#include "pass.h"

#include <errno.h>

#include "experiment.h"

#define SLICE_NS UINT64_C(10000000)

int sirq_sim_pass_time(struct sirq_sim *sim, uint64_t ns)
{
    uint64_t end = sirq_sim_now_ns(sim) + ns, now;

    while ((now = sirq_sim_now_ns(sim)) < end) {
        if (sirq_lab_wait(-1, 0) == -EINTR)
            return -EINTR;
        sirq_sim_run(sim, end - now < SLICE_NS ? end : now + SLICE_NS);
    }
    return 0;
}
