/* SPDX-License-Identifier: MIT */
#include "pace.h"

#define CATCH_UP 2.0

void sirq_pace_start(struct sirq_pace *pace, double rate, double forgive_s, uint64_t now_ns)
{
    *pace = (struct sirq_pace){.rate = rate, .most = rate * forgive_s, .last_ns = now_ns};
    if (pace->most < 2)
        pace->most = 2; /* a slow pace must still be able to owe one */
}

uint64_t sirq_pace_due(struct sirq_pace *pace, uint64_t now_ns)
{
    double frames = pace->rate * (double)(now_ns - pace->last_ns) / 1e9;

    pace->last_ns = now_ns;
    pace->owed += frames;
    if (pace->owed > pace->most)
        pace->owed = pace->most;
    pace->credit += CATCH_UP * frames;
    if (pace->credit > pace->owed)
        pace->credit = pace->owed;
    return pace->credit > 0 ? (uint64_t)pace->credit : 0;
}

void sirq_pace_sent(struct sirq_pace *pace, uint64_t n)
{
    pace->owed -= (double)n;
    pace->credit -= (double)n;
}

uint64_t sirq_pace_next_ns(const struct sirq_pace *pace)
{
    double missing = 1 - pace->owed;

    return missing > 0 ? (uint64_t)(missing / pace->rate * 1e9) : 0;
}
