/* SPDX-License-Identifier: MIT */
/* The one list of policies, in the order of their history. */
#define SIRQ_POLICY_INTERNAL
#include "policies.h"

const struct sirq_policy *const sirq_policies[] = {
    &sirq_policy_inline,  &sirq_policy_restart10, &sirq_policy_time2ms,
    &sirq_policy_resched, &sirq_policy_looped,    &sirq_policy_ksoftirqd,
    &sirq_policy_rtdefer, &sirq_policy_threaded,  NULL,
};

static bool same(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b)
        a++, b++;
    return *a == *b;
}

const struct sirq_policy *sirq_policy_find(const char *name)
{
    for (unsigned i = 0; name != NULL && sirq_policies[i] != NULL; i++)
        if (same(sirq_policies[i]->name, name))
            return sirq_policies[i];
    return NULL;
}

const struct sirq_policy *sirq_policy_default(void)
{
    return &sirq_policy_time2ms;
}
