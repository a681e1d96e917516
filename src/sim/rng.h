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

static inline uint64_t sirq_rotl(uint64_t x, unsigned k)
{
    return x << k | x >> (64 - k);
}

static inline uint64_t sirq_rng_next(struct sirq_rng *rng)
{
    uint64_t *s = rng->s, result = sirq_rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = sirq_rotl(s[3], 45);
    return result;
}

/* Uniform in 0..n-1, n > 0, without bias. */
uint64_t sirq_rng_below(struct sirq_rng *rng, uint64_t n);

#define SIRQ_LN2_Q32 UINT64_C(2977044472) /* ln 2 * 2^32 */

/* Of the logarithm: see rng.c. */
struct sirq_ln_step {
    uint32_t ln, rise;
    uint64_t bulge; /* * 2^46 */
};
extern const struct sirq_ln_step sirq_ln_steps[64];

/* -ln(x / 2^64) * 2^32 of a non-zero x. */
static inline uint64_t sirq_minus_ln_q32(uint64_t x)
{
    unsigned shift = (unsigned)__builtin_clzll(x);
    uint64_t frac = x << shift << 1; /* the bits below the top one */
    uint64_t rest = frac << 6 >> 32; /* place in the step, Q32 */
    const struct sirq_ln_step *step = &sirq_ln_steps[frac >> 58];
    uint64_t chord = step->ln + (step->rise * rest >> 32);
    /* the chord lies below the curve by rest (1 - rest) / (2 (64 + i)^2) */
    uint64_t bulge = (rest * ((UINT64_C(1) << 32) - rest) >> 32) * step->bulge >> 46;

    return (uint64_t)(shift + 1) * SIRQ_LN2_Q32 - (chord + bulge);
}

/*
 * Exponential with the given mean; wrong by less than a millionth of the mean.  Here, since
 * every frame of a Poisson source is a draw.
 */
static inline uint64_t sirq_rng_exp(struct sirq_rng *rng, uint64_t mean)
{
    uint64_t u = sirq_rng_next(rng) | 1; /* not zero */

    return (uint64_t)((unsigned __int128)mean * sirq_minus_ln_q32(u) >> 32);
}

#endif
