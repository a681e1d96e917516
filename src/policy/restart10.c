/* SPDX-License-Identifier: MIT */
/*
 * restart10: up to ten passes, no time limit.  Linux before 3.9.  With actions of up to
 * two ticks a run lasts up to 20 ms at HZ 1000 and 200 ms at HZ 100 (source 003).
 */
#define SIRQ_POLICY_INTERNAL
#include "policies.h"

static bool restart(const struct sirq_view *view)
{
    return view->pass < SIRQ_MAX_RESTART;
}

const struct sirq_policy sirq_policy_restart10 = {
    .name = "restart10",
    .origin = "Linux before 3.9",
    .restart = restart,
};
