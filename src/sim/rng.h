/* SPDX-License-Identifier: MIT */
/*
 * Random numbers of a world.  Integers only: the same seed gives the same world under every
 * compiler and on every machine.
 */
#ifndef SIRQ_SIM_PRIVATE
#error "rng.h belongs to the simulator"
#endif
#ifndef SIRQ_SIM_RNG_H
#define SIRQ_SIM_RNG_H

#include <stdint.h>

struct sirq_rng {
    uint64_t s[4];
};

/* Streams of one seed are independent: a new consumer does not shift the others. */
void sirq_rng_seed(struct sirq_rng *rng, uint64_t seed, uint64_t stream);

uint64_t sirq_rng_next(struct sirq_rng *rng);

/* Uniform in 0..n-1, n > 0, without bias. */
uint64_t sirq_rng_below(struct sirq_rng *rng, uint64_t n);

/* Exponential with the given mean; wrong by less than a millionth of the mean. */
uint64_t sirq_rng_exp(struct sirq_rng *rng, uint64_t mean);

#endif
