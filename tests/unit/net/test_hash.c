/* SPDX-License-Identifier: MIT */
/* The RSS hash against the examples that are published with its definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <arpa/inet.h>
#include <cmocka.h>

#define SIRQ_NET_INTERNAL
#include "hash.h"

/* Microsoft, "Verifying the RSS hash calculation": IPv4. */
static const struct {
    const char *daddr, *saddr;
    uint16_t dport, sport;
    uint32_t addrs, ports; /* hash of the addresses, of addresses and ports */
} examples[] = {
    {"161.142.100.80", "66.9.149.187", 1766, 2794, 0x323e8fc2, 0x51ccc178},
    {"65.69.140.83", "199.92.111.2", 4739, 14230, 0xd718262a, 0xc626b0ea},
    {"12.22.207.184", "24.19.198.95", 38024, 12898, 0xd2d0a5de, 0x5c2b394a},
    {"209.142.163.6", "38.27.205.30", 2217, 48228, 0x82989176, 0xafc7327f},
    {"202.188.127.2", "153.39.163.191", 1303, 44251, 0x5d1809c5, 0x10e828a2},
};
#define EXAMPLES (sizeof(examples) / sizeof(examples[0]))

static void hash_ipv4_with_ports_is_as_published(void **state)
{
    (void)state;
    for (unsigned i = 0; i < EXAMPLES; i++)
        assert_int_equal(sirq_rss_hash_ipv4(inet_addr(examples[i].saddr),
                                            inet_addr(examples[i].daddr), examples[i].sport,
                                            examples[i].dport),
                         examples[i].ports);
}

static void hash_ipv4_addresses_is_as_published(void **state)
{
    (void)state;
    for (unsigned i = 0; i < EXAMPLES; i++) {
        uint32_t input[2] = {inet_addr(examples[i].saddr), inet_addr(examples[i].daddr)};

        assert_int_equal(sirq_rss_hash(sirq_rss_key, (const uint8_t *)input, sizeof(input)),
                         examples[i].addrs);
    }
}

static void hash_of_longest_input_reads_the_whole_key(void **state)
{
    uint8_t input[SIRQ_RSS_KEY_SIZE - 4] = {0}, key[SIRQ_RSS_KEY_SIZE] = {0};

    (void)state;
    input[sizeof(input) - 1] = 1;
    key[SIRQ_RSS_KEY_SIZE - 1] = 2;
    /* the last bit of the input takes the key's bits from the one before its last 32 on */
    assert_int_equal(sirq_rss_hash(key, input, sizeof(input)), 1);
    assert_int_equal(sirq_rss_hash(key, input, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_ipv4_with_ports_is_as_published),
        cmocka_unit_test(hash_ipv4_addresses_is_as_published),
        cmocka_unit_test(hash_of_longest_input_reads_the_whole_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
