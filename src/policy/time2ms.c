/* SPDX-License-Identifier: MIT */
/*
 * time2ms: go round until 2 ms are over or somebody is to be scheduled, and at most ten
 * times, since jiffies can stand still.  Linux since 3.9 (source 003).  The library's
 * default.
 *
 * Time is measured in jiffies, as there: at HZ 250 the limit is one jiffy, which ends
 * anywhere between 0 and 4 ms after the start.
 */
#define SIRQ_POLICY_INTERNAL
#include "policies.h"

bool sirq_restart_time2ms(const struct sirq_view *view)
{
    int64_t lasted = (int64_t)(sirq_view_jiffies(view) - sirq_view_start_jiffies(view));

    return lasted < sirq_max_softirq_time(view) && !sirq_view_need_resched(view) &&
           view->pass < SIRQ_MAX_RESTART;
}

const struct sirq_policy sirq_policy_time2ms = {
    .name = "time2ms",
    .origin = "Linux since 3.9 (Eric Dumazet, 2013)",
    .restart = sirq_restart_time2ms,
};
