/* SPDX-License-Identifier: MIT */
/*
 * A distribution of whole numbers (times in ns, packets): a histogram, and exact sums beside
 * it.  Adding and merging are integer sums, so that neither the order nor the number of
 * parts shows in a result.  One writer.
 */
#ifndef SIRQ_LAB_DIST_H
#define SIRQ_LAB_DIST_H

#include "hist.h"

struct sirq_dist {
    struct sirq_hist hist;
    uint64_t sum, min, max; /* min and max: of no value, 0 */
    unsigned __int128 squares;
};

void sirq_dist_add(struct sirq_dist *dist, uint64_t value);
void sirq_dist_merge(struct sirq_dist *into, const struct sirq_dist *from);

/* Of at least one value. */
double sirq_dist_mean(const struct sirq_dist *dist);
double sirq_dist_stddev(const struct sirq_dist *dist);

/* The value that a share `q` (0..1) does not exceed; never outside of min..max. */
double sirq_dist_quantile(const struct sirq_dist *dist, double q);

#endif
