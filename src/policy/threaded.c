/* SPDX-License-Identifier: MIT */
/*
 * threaded: everything in ksoftirqd, as with forced interrupt threading.  The decision is
 * the scheduler's.
 */
#define SIRQ_POLICY_INTERNAL
#include "policies.h"

static uint32_t select(const struct sirq_view *view)
{
    return view->entry == SIRQ_ENTRY_KSOFTIRQD ? view->pending : 0;
}

const struct sirq_policy sirq_policy_threaded = {
    .name = "threaded",
    .origin = "forced interrupt threading",
    .select = select,
    .restart = sirq_restart_time2ms,
};
