/* SPDX-License-Identifier: MIT */
/*
 * Buckets 0..127 hold the values themselves; octave n >= 1 holds [2^(n+6), 2^(n+7)) in 128
 * steps of 2^(n-1), so that what a bucket holds never differs by more than 1/128.
 */
#include "hist.h"

static unsigned bucket_of(uint64_t value)
{
    unsigned bits, index;

    if (value < SIRQ_HIST_STEPS)
        return (unsigned)value;
    bits = 63u - (unsigned)__builtin_clzll(value); /* value is in [2^bits, 2^(bits+1)) */
    index = (bits - SIRQ_HIST_BITS + 1) * SIRQ_HIST_STEPS +
            (unsigned)((value >> (bits - SIRQ_HIST_BITS)) & (SIRQ_HIST_STEPS - 1));
    return index < SIRQ_HIST_BUCKETS ? index : SIRQ_HIST_BUCKETS - 1;
}

/* The middle of what a bucket holds. */
static uint64_t value_of(unsigned index)
{
    unsigned octave = index / SIRQ_HIST_STEPS;
    uint64_t low;

    if (!octave)
        return index;
    low = (uint64_t)(SIRQ_HIST_STEPS + index % SIRQ_HIST_STEPS) << (octave - 1);
    return low + ((UINT64_C(1) << (octave - 1)) >> 1);
}

void sirq_hist_add(struct sirq_hist *hist, uint64_t value)
{
    hist->bucket[bucket_of(value)]++;
    hist->count++;
}

void sirq_hist_merge(struct sirq_hist *into, const struct sirq_hist *from)
{
    for (unsigned i = 0; i < SIRQ_HIST_BUCKETS; i++)
        into->bucket[i] += from->bucket[i];
    into->count += from->count;
}

uint64_t sirq_hist_quantile(const struct sirq_hist *hist, double q)
{
    uint64_t want = (uint64_t)(q * (double)hist->count), seen = 0;

    if (!hist->count)
        return 0;
    if (want >= hist->count)
        want = hist->count - 1;
    for (unsigned i = 0; i < SIRQ_HIST_BUCKETS; i++) {
        seen += hist->bucket[i];
        if (seen > want)
            return value_of(i);
    }
    return value_of(SIRQ_HIST_BUCKETS - 1);
}
