/* SPDX-License-Identifier: MIT */
/* The hash of names: FNV-1a.  Who asks does not choose which names are in the table. */
#ifndef SIRQ_DNS_HASH_H
#define SIRQ_DNS_HASH_H

#include <stdint.h>

static inline uint32_t dns_hash(const uint8_t *name, uint32_t len)
{
    uint32_t value = 0x811c9dc5u;

    for (uint32_t i = 0; i < len; i++)
        value = (value ^ name[i]) * 0x01000193u;
    return value ^ value >> 15;
}

#endif
