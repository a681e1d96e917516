/* SPDX-License-Identifier: MIT */
/*
 * A histogram of times: log-linear, 128 steps to an octave, so a quantile is within 0.8 % of
 * the value.  One writer.  Values beyond the range count in the last bucket.
 */
#ifndef SIRQ_LAB_HIST_H
#define SIRQ_LAB_HIST_H

#include <stdint.h>

#define SIRQ_HIST_BITS 7u
#define SIRQ_HIST_STEPS (1u << SIRQ_HIST_BITS)
#define SIRQ_HIST_OCTAVES 34u /* up to 2^40 ns, 18 minutes */
#define SIRQ_HIST_BUCKETS (SIRQ_HIST_STEPS * SIRQ_HIST_OCTAVES)

struct sirq_hist {
    uint64_t count;
    uint64_t bucket[SIRQ_HIST_BUCKETS];
};

void sirq_hist_add(struct sirq_hist *hist, uint64_t value);
void sirq_hist_merge(struct sirq_hist *into, const struct sirq_hist *from);

/* The value that a share `q` (0..1) of all values does not exceed; 0 when empty. */
uint64_t sirq_hist_quantile(const struct sirq_hist *hist, double q);

#endif
