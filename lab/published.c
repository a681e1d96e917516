/* SPDX-License-Identifier: MIT */
/*
 * What others measured, beside what we measure.  "before" is what the unpatched kernel of
 * the source ran; lab/published/README.md says which policy that was.
 */
#include "published.h"

#include <string.h>

#include "result.h"

static const struct {
    const char *experiment, *policy, *is;
} unpatched[] = {
    {"udp_flood", "before", "time2ms"},
    {"udp_stream", "before", "time2ms"},
    {"cyclictest", "vanilla", "ksoftirqd"},
    {"tcp_rr", "before", "restart10"},
};

static const char *policy_of(const struct sirq_figure *figure)
{
    for (size_t i = 0; i < sizeof(unpatched) / sizeof(unpatched[0]); i++) {
        if (strcmp(figure->experiment, unpatched[i].experiment) == 0 &&
            strcmp(figure->policy, unpatched[i].policy) == 0)
            return unpatched[i].is;
    }
    return figure->policy;
}

bool sirq_published(const char *experiment, const char *setup, const char *policy,
                    const char *metric, double *value)
{
    for (const struct sirq_figure *f = sirq_figures; f->experiment; f++) {
        if (strcmp(f->metric, metric) == 0 && strcmp(f->setup, setup) == 0 &&
            strcmp(f->experiment, experiment) == 0 && strcmp(policy_of(f), policy) == 0) {
            *value = f->value;
            return true;
        }
    }
    return false;
}
