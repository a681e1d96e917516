/* SPDX-License-Identifier: MIT */
/*
 * checksum.h - the Internet checksum (RFC 1071), eight bytes at a time.
 *
 * One's complement addition does not care about byte order as long as all words are in
 * the same one, so words are added as they stand in memory; a field is right when the sum
 * over everything including it is 0xffff.
 */
#ifndef SIRQ_NET_CHECKSUM_H
#define SIRQ_NET_CHECKSUM_H

#ifndef SIRQ_NET_INTERNAL
#error "src/net/checksum.h is private to src/net"
#endif

#include <stdint.h>
#include <string.h>

static inline uint64_t sirq_csum_carry(uint64_t sum, uint64_t word)
{
    sum += word;
    return sum + (sum < word); /* the end-around carry */
}

static inline uint16_t sirq_csum_fold(uint64_t sum)
{
    sum = (sum & UINT32_MAX) + (sum >> 32);
    sum = (sum & UINT32_MAX) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

/* Add `len` bytes; an odd last byte counts as if a zero followed. */
static inline uint64_t sirq_csum_add(uint64_t sum, const uint8_t *p, uint32_t len)
{
    uint64_t other = 0, word[4];
    uint32_t half;
    uint16_t quarter;

    /* Two sums that do not wait for each other's carry. */
    for (; len >= 32; p += 32, len -= 32) {
        memcpy(word, p, 32);
        sum = sirq_csum_carry(sum, word[0]);
        other = sirq_csum_carry(other, word[1]);
        sum = sirq_csum_carry(sum, word[2]);
        other = sirq_csum_carry(other, word[3]);
    }
    sum = sirq_csum_carry(sum, other);
    for (; len >= 8; p += 8, len -= 8) {
        memcpy(word, p, 8);
        sum = sirq_csum_carry(sum, word[0]);
    }
    /* The last 7 bytes piece by piece: gathering them in a word would make the load wait for
     * the stores (a quarter of the receive path, when it did). */
    if (len & 4) {
        memcpy(&half, p, 4);
        sum = sirq_csum_carry(sum, half);
        p += 4;
    }
    if (len & 2) {
        memcpy(&quarter, p, 2);
        sum = sirq_csum_carry(sum, quarter);
        p += 2;
    }
    if (len & 1) {
        const uint8_t last[2] = {*p, 0};

        memcpy(&quarter, last, 2);
        sum = sirq_csum_carry(sum, quarter);
    }
    return sum;
}

/* The folded sum, in memory order. */
static inline uint16_t sirq_csum(const void *p, uint32_t len)
{
    return sirq_csum_fold(sirq_csum_add(0, p, len));
}

/* The same for a transport segment, with its pseudo-header.  Addresses in network order. */
static inline uint16_t sirq_csum_pseudo(uint32_t saddr, uint32_t daddr, uint8_t proto,
                                        const uint8_t *segment, uint32_t len)
{
    const uint8_t tail[4] = {0, proto, (uint8_t)(len >> 8), (uint8_t)len};
    uint32_t word;
    uint64_t sum;

    memcpy(&word, tail, sizeof(word));
    sum = (uint64_t)saddr + daddr + word;
    return sirq_csum_fold(sirq_csum_add(sum, segment, len));
}

#endif
