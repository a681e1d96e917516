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

/*
 * ln(1 + i/64) * 2^32, the distance to the next, and the factor that stands for a division by
 * 2 (64 + i)^2: exact for numerators up to 2^30, which is what they are.
 */
#define LN(i, here, next)                                                              \
    {                                                                                  \
        here, (next) - (here), (UINT64_C(1) << 46) / (2 * (64 + (i)) * (64 + (i))) + 1 \
    }

const struct sirq_ln_step sirq_ln_steps[64] = {
    LN(0, 0U, 66589974U),
    LN(1, 66589974U, 132163268U),
    LN(2, 132163268U, 196750459U),
    LN(3, 196750459U, 260380768U),
    LN(4, 260380768U, 323082134U),
    LN(5, 323082134U, 384881291U),
    LN(6, 384881291U, 445803834U),
    LN(7, 445803834U, 505874286U),
    LN(8, 505874286U, 565116154U),
    LN(9, 565116154U, 623551984U),
    LN(10, 623551984U, 681203418U),
    LN(11, 681203418U, 738091233U),
    LN(12, 738091233U, 794235396U),
    LN(13, 794235396U, 849655098U),
    LN(14, 849655098U, 904368797U),
    LN(15, 904368797U, 958394255U),
    LN(16, 958394255U, 1011748572U),
    LN(17, 1011748572U, 1064448219U),
    LN(18, 1064448219U, 1116509066U),
    LN(19, 1116509066U, 1167946415U),
    LN(20, 1167946415U, 1218775023U),
    LN(21, 1218775023U, 1269009132U),
    LN(22, 1269009132U, 1318662486U),
    LN(23, 1318662486U, 1367748360U),
    LN(24, 1367748360U, 1416279581U),
    LN(25, 1416279581U, 1464268541U),
    LN(26, 1464268541U, 1511727226U),
    LN(27, 1511727226U, 1558667227U),
    LN(28, 1558667227U, 1605099758U),
    LN(29, 1605099758U, 1651035675U),
    LN(30, 1651035675U, 1696485489U),
    LN(31, 1696485489U, 1741459379U),
    LN(32, 1741459379U, 1785967210U),
    LN(33, 1785967210U, 1830018543U),
    LN(34, 1830018543U, 1873622647U),
    LN(35, 1873622647U, 1916788510U),
    LN(36, 1916788510U, 1959524856U),
    LN(37, 1959524856U, 2001840147U),
    LN(38, 2001840147U, 2043742599U),
    LN(39, 2043742599U, 2085240191U),
    LN(40, 2085240191U, 2126340670U),
    LN(41, 2126340670U, 2167051565U),
    LN(42, 2167051565U, 2207380193U),
    LN(43, 2207380193U, 2247333665U),
    LN(44, 2247333665U, 2286918897U),
    LN(45, 2286918897U, 2326142616U),
    LN(46, 2326142616U, 2365011363U),
    LN(47, 2365011363U, 2403531508U),
    LN(48, 2403531508U, 2441709246U),
    LN(49, 2441709246U, 2479550612U),
    LN(50, 2479550612U, 2517061482U),
    LN(51, 2517061482U, 2554247578U),
    LN(52, 2554247578U, 2591114477U),
    LN(53, 2591114477U, 2627667611U),
    LN(54, 2627667611U, 2663912276U),
    LN(55, 2663912276U, 2699853634U),
    LN(56, 2699853634U, 2735496721U),
    LN(57, 2735496721U, 2770846446U),
    LN(58, 2770846446U, 2805907598U),
    LN(59, 2805907598U, 2840684851U),
    LN(60, 2840684851U, 2875182766U),
    LN(61, 2875182766U, 2909405794U),
    LN(62, 2909405794U, 2943358281U),
    LN(63, 2943358281U, 2977044472U),
};
