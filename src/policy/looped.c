/* SPDX-License-Identifier: MIT */
/*
 * looped: as time2ms, and at interrupt exit punt to ksoftirqd when the loop already went
 * round in this jiffy (Rik van Riel, 2014; source 002).  Only the interrupt exit asks: a
 * receiver's own bottom-half enable still runs everything.
 */
#define SIRQ_POLICY_INTERNAL
#include "policies.h"

static uint32_t select(const struct sirq_view *view)
{
    if (view->pass == 0 && view->entry == SIRQ_ENTRY_IRQ_EXIT && sirq_view_looped(view))
        return 0;
    return view->pending;
}

const struct sirq_policy sirq_policy_looped = {
    .name = "looped",
    .origin = "Rik van Riel, 2014; not merged",
    .select = select,
    .restart = sirq_restart_time2ms,
};
