/* SPDX-License-Identifier: MIT */
/*
 * resched: need_resched alone ends a run.  Asked about in source 003 ("do we need both
 * tests?"): on a CPU given over to softirqs nobody else is to be scheduled, so a run may
 * last for ever; the watchdog reports it.
 */
#define SIRQ_POLICY_INTERNAL
#include "policies.h"

static bool restart(const struct sirq_view *view)
{
    return !sirq_view_need_resched(view);
}

const struct sirq_policy sirq_policy_resched = {
    .name = "resched",
    .origin = "asked about in January 2013; stalls",
    .restart = restart,
};
