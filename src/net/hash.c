/* SPDX-License-Identifier: MIT */
/*
 * See hash.h.  Each bit of the input that is set adds (xor) the 32 bits of the key that begin
 * at its place.
 */
#define SIRQ_NET_INTERNAL
#include "hash.h"

#include <assert.h>
#include <string.h>

const uint8_t sirq_rss_key[SIRQ_RSS_KEY_SIZE] = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

uint32_t sirq_rss_hash(const uint8_t key[SIRQ_RSS_KEY_SIZE], const uint8_t *input, size_t size)
{
    uint32_t hash = 0;
    uint64_t window = 0; /* the next 40 bits of the key: a byte's places and 32 more */

    assert(size <= SIRQ_RSS_KEY_SIZE - 4);
    for (unsigned i = 0; i < 4; i++)
        window = window << 8 | key[i];
    for (size_t i = 0; i < size; i++) {
        window = (window << 8 | key[i + 4]) & UINT64_C(0xffffffffff);
        for (unsigned bit = 0; bit < 8; bit++)
            if (input[i] & 0x80u >> bit)
                hash ^= (uint32_t)(window >> (8 - bit));
    }
    return hash;
}

uint32_t sirq_rss_hash_ipv4(uint32_t saddr, uint32_t daddr, uint16_t sport, uint16_t dport)
{
    uint8_t input[12] = {[8] = (uint8_t)(sport >> 8),
                         [9] = (uint8_t)sport,
                         [10] = (uint8_t)(dport >> 8),
                         [11] = (uint8_t)dport};

    memcpy(input, &saddr, 4);
    memcpy(input + 4, &daddr, 4);
    return sirq_rss_hash(sirq_rss_key, input, sizeof(input));
}
