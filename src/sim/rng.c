/* SPDX-License-Identifier: MIT */
/*
 * xoshiro256** (Blackman, Vigna, 2018), seeded through splitmix64.
 *
 * The exponential is -mean * ln(u) with the logarithm in fixed point: the position of the
 * top bit, and between powers of two a table of 64 steps with a correction of second order.
 * No libm: its last bit differs between machines, and one different nanosecond makes
 * another world.
 */
#define SIRQ_SIM_PRIVATE
#include "rng.h"

static uint64_t rotl(uint64_t x, unsigned k)
{
    return x << k | x >> (64 - k);
}

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

void sirq_rng_seed(struct sirq_rng *rng, uint64_t seed, uint64_t stream)
{
    uint64_t state = seed, mixed = splitmix(&state) ^ stream * UINT64_C(0xd1342543de82ef95);

    for (unsigned i = 0; i < 4; i++)
        rng->s[i] = splitmix(&mixed);
}

uint64_t sirq_rng_next(struct sirq_rng *rng)
{
    uint64_t *s = rng->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

/* High half of a product (Lemire, 2019); the low half says when the draw was biased. */
uint64_t sirq_rng_below(struct sirq_rng *rng, uint64_t n)
{
    unsigned __int128 m = (unsigned __int128)sirq_rng_next(rng) * n;

    if ((uint64_t)m < n) {
        uint64_t threshold = -n % n;

        while ((uint64_t)m < threshold)
            m = (unsigned __int128)sirq_rng_next(rng) * n;
    }
    return (uint64_t)(m >> 64);
}

#define LN2_Q32 UINT64_C(2977044472) /* ln 2 * 2^32 */

/* ln(1 + i/64) * 2^32 */
static const uint32_t ln_table[65] = {
    0U,          66589974U,   132163268U,  196750459U,  260380768U,  323082134U,  384881291U,
    445803834U,  505874286U,  565116154U,  623551984U,  681203418U,  738091233U,  794235396U,
    849655098U,  904368797U,  958394255U,  1011748572U, 1064448219U, 1116509066U, 1167946415U,
    1218775023U, 1269009132U, 1318662486U, 1367748360U, 1416279581U, 1464268541U, 1511727226U,
    1558667227U, 1605099758U, 1651035675U, 1696485489U, 1741459379U, 1785967210U, 1830018543U,
    1873622647U, 1916788510U, 1959524856U, 2001840147U, 2043742599U, 2085240191U, 2126340670U,
    2167051565U, 2207380193U, 2247333665U, 2286918897U, 2326142616U, 2365011363U, 2403531508U,
    2441709246U, 2479550612U, 2517061482U, 2554247578U, 2591114477U, 2627667611U, 2663912276U,
    2699853634U, 2735496721U, 2770846446U, 2805907598U, 2840684851U, 2875182766U, 2909405794U,
    2943358281U, 2977044472U,
};

/* -ln(x / 2^64) * 2^32 of a non-zero x. */
static uint64_t minus_ln_q32(uint64_t x)
{
    unsigned shift = (unsigned)__builtin_clzll(x);
    uint64_t frac = x << shift << 1;                 /* the bits below the top one */
    uint64_t i = frac >> 58, rest = frac << 6 >> 32; /* step of the table, place in it (Q32) */
    uint64_t step = ln_table[i + 1] - ln_table[i];
    uint64_t chord = ln_table[i] + (step * rest >> 32);
    /* the chord lies below the curve by rest (1 - rest) / (2 (64 + i)^2) */
    uint64_t bulge = (rest * ((UINT64_C(1) << 32) - rest) >> 32) / (2 * (64 + i) * (64 + i));

    return (uint64_t)(shift + 1) * LN2_Q32 - (chord + bulge);
}

uint64_t sirq_rng_exp(struct sirq_rng *rng, uint64_t mean)
{
    uint64_t u = sirq_rng_next(rng) | 1; /* not zero */

    return (uint64_t)((unsigned __int128)mean * minus_ln_q32(u) >> 32);
}
