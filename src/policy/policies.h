/* SPDX-License-Identifier: MIT */
/* Private to src/policy: one line a policy, and what several of them share. */
#ifndef SIRQ_POLICY_INTERNAL
#error "policies.h is private to src/policy"
#endif
#ifndef SIRQ_POLICIES_H
#define SIRQ_POLICIES_H

#include <sirq/policy.h>

extern const struct sirq_policy sirq_policy_inline, sirq_policy_restart10, sirq_policy_time2ms,
    sirq_policy_resched, sirq_policy_looped, sirq_policy_ksoftirqd, sirq_policy_rtdefer,
    sirq_policy_threaded;

/*
 * Built for one HZ (-DSIRQ_HZ=1000) the limit is a constant; otherwise each core has its
 * own HZ, as a simulator needs.
 */
static inline int64_t sirq_max_softirq_time(const struct sirq_view *view)
{
#ifdef SIRQ_HZ
    _Static_assert(SIRQ_MAX_SOFTIRQ_TIME(SIRQ_HZ) >= 1, "at least one jiffy");
    (void)view;
    return SIRQ_MAX_SOFTIRQ_TIME(SIRQ_HZ);
#else
    return SIRQ_MAX_SOFTIRQ_TIME((int64_t)sirq_view_hz(view));
#endif
}

/* The restart rule of time2ms. */
bool sirq_restart_time2ms(const struct sirq_view *view);

#endif
