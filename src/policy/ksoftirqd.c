/* SPDX-License-Identifier: MIT */
/*
 * ksoftirqd: as time2ms, and at interrupt exit and bottom-half enable leave everything to
 * ksoftirqd while it is runnable (Eric Dumazet, 2016; source 000).  Linux 4.9 to 6.4.
 * Asked once per run: a run that began may go on when ksoftirqd is woken meanwhile.
 */
#define SIRQ_POLICY_INTERNAL
#include "policies.h"

static uint32_t select(const struct sirq_view *view)
{
    if (view->pass == 0 && view->entry != SIRQ_ENTRY_KSOFTIRQD &&
        sirq_view_ksoftirqd_runnable(view))
        return 0;
    return view->pending;
}

const struct sirq_policy sirq_policy_ksoftirqd = {
    .name = "ksoftirqd",
    .origin = "Linux 4.9 to 6.4 (Eric Dumazet, 2016)",
    .select = select,
    .restart = sirq_restart_time2ms,
};
