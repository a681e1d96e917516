/* SPDX-License-Identifier: MIT */
/*
 * hash.h - the hash by which packets of one flow find one queue (RSS).
 *
 * Toeplitz, as Microsoft's "RSS hashing functions" defines it and NICs compute it.  Pure.
 */
#ifndef SIRQ_NET_HASH_H
#define SIRQ_NET_HASH_H

#ifndef SIRQ_NET_INTERNAL
#error "src/net/hash.h is private to src/net"
#endif

#include <stddef.h>
#include <stdint.h>

#define SIRQ_RSS_KEY_SIZE 40u

/* The key of that definition, with which its examples are computed; many drivers' default. */
extern const uint8_t sirq_rss_key[SIRQ_RSS_KEY_SIZE];

/* Of `size` bytes, at most SIRQ_RSS_KEY_SIZE - 4. */
uint32_t sirq_rss_hash(const uint8_t key[SIRQ_RSS_KEY_SIZE], const uint8_t *input, size_t size);

/* Of an IPv4 packet with ports, under sirq_rss_key.  Addresses in network, ports in host order. */
uint32_t sirq_rss_hash_ipv4(uint32_t saddr, uint32_t daddr, uint16_t sport, uint16_t dport);

#endif
