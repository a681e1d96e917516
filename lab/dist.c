/* SPDX-License-Identifier: MIT */
#include "dist.h"

#include <assert.h>

void sirq_dist_add(struct sirq_dist *dist, uint64_t value)
{
    if (dist->hist.count == 0 || value < dist->min)
        dist->min = value;
    if (value > dist->max)
        dist->max = value;
    sirq_hist_add(&dist->hist, value);
    dist->sum += value;
    dist->squares += (unsigned __int128)value * value;
}

void sirq_dist_merge(struct sirq_dist *into, const struct sirq_dist *from)
{
    if (from->hist.count == 0)
        return;
    if (into->hist.count == 0 || from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    sirq_hist_merge(&into->hist, &from->hist);
    into->sum += from->sum;
    into->squares += from->squares;
}

double sirq_dist_mean(const struct sirq_dist *dist)
{
    assert(dist->hist.count > 0);
    return (double)dist->sum / (double)dist->hist.count;
}

/* Newton's; the C library's would do as well, but is one more to link. */
static double square_root(double x)
{
    double r = x > 1 ? x : 1;

    for (unsigned i = 0; i < 200; i++)
        r = (r + x / r) / 2;
    return r;
}

/* Squares of distances from the whole mean are exact; what is left is below one. */
double sirq_dist_stddev(const struct sirq_dist *dist)
{
    unsigned __int128 n = dist->hist.count, mean, rest, squares;
    double off;

    assert(n > 0);
    mean = dist->sum / n;
    rest = dist->sum - mean * n;
    squares = dist->squares + n * mean * mean - 2 * mean * dist->sum;
    off = (double)rest / (double)n;
    off = (double)squares / (double)n - off * off;
    return off > 0 ? square_root(off) : 0;
}

double sirq_dist_quantile(const struct sirq_dist *dist, double q)
{
    uint64_t value = sirq_hist_quantile(&dist->hist, q);

    value = value < dist->min ? dist->min : value;
    return (double)(value > dist->max ? dist->max : value);
}
