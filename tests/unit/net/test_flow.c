/* SPDX-License-Identifier: MIT */
/* The flow hash: Microsoft's RSS verification suite, through whole frames. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIRQ_NET_INTERNAL
#include "flow.h"
#include "frames.h"
#include "hash.h"

struct vector {
    const char *daddr, *saddr;
    uint16_t dport, sport;
    uint32_t addresses, ports; /* hash over addresses alone, and with ports */
};

/* "Verifying the RSS Hash Calculation", Windows driver documentation. */
static const struct vector four[] = {
    {"161.142.100.80", "66.9.149.187", 1766, 2794, 0x323e8fc2, 0x51ccc178},
    {"65.69.140.83", "199.92.111.2", 4739, 14230, 0xd718262a, 0xc626b0ea},
    {"12.22.207.184", "24.19.198.95", 38024, 12898, 0xd2d0a5de, 0x5c2b394a},
    {"209.142.163.6", "38.27.205.30", 2217, 48228, 0x82989176, 0xafc7327f},
    {"202.188.127.2", "153.39.163.191", 1303, 44251, 0x5d1809c5, 0x10e828a2},
};
static const struct vector six[] = {
    {"3ffe:2501:200:3::1", "3ffe:2501:200:1fff::7", 1766, 2794, 0x2cc18cd5, 0x40207d3d},
    {"ff02::1", "3ffe:501:8::260:97ff:fe40:efab", 4739, 14230, 0x0f0c461c, 0xdde51bbf},
    {"fe80::200:f8ff:fe21:67cf", "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 38024, 44251, 0x4b61e985,
     0x02d1feef},
};

static struct sirq_flow_table table;

/* A frame just as long as its headers, so that reading on is seen by ASan. */
static uint32_t hash_of(const uint8_t *frame, uint32_t len)
{
    uint8_t *copy = malloc(len > 0 ? len : 1);
    uint32_t hash;

    assert_non_null(copy);
    memcpy(copy, frame, len);
    hash = sirq_flow_hash(&table, copy, len);
    free(copy);
    return hash;
}

static uint32_t put_four(uint8_t *frame, const struct vector *v, uint8_t proto)
{
    memset(frame, 0, FRAME_MAX);
    frame_put16(frame + 12, 0x0800);
    frame[14] = 0x45;
    frame[23] = proto;
    assert_int_equal(inet_pton(AF_INET, v->saddr, frame + 26), 1);
    assert_int_equal(inet_pton(AF_INET, v->daddr, frame + 30), 1);
    frame_put16(frame + 34, v->sport);
    frame_put16(frame + 36, v->dport);
    return 38;
}

static uint32_t put_six(uint8_t *frame, const struct vector *v, uint8_t proto)
{
    memset(frame, 0, FRAME_MAX);
    frame_put16(frame + 12, 0x86dd);
    frame[14] = 0x60;
    frame[20] = proto;
    assert_int_equal(inet_pton(AF_INET6, v->saddr, frame + 22), 1);
    assert_int_equal(inet_pton(AF_INET6, v->daddr, frame + 38), 1);
    frame_put16(frame + 54, v->sport);
    frame_put16(frame + 56, v->dport);
    return 58;
}

static void hash_ipv4_is_as_published(void **state)
{
    uint8_t frame[FRAME_MAX];

    (void)state;
    for (unsigned i = 0; i < sizeof(four) / sizeof(four[0]); i++) {
        assert_int_equal(hash_of(frame, put_four(frame, &four[i], 6)), four[i].ports);
        assert_int_equal(hash_of(frame, put_four(frame, &four[i], 17)), four[i].ports);
        assert_int_equal(hash_of(frame, put_four(frame, &four[i], 1)), four[i].addresses);
    }
}

static void hash_ipv6_is_as_published(void **state)
{
    uint8_t frame[FRAME_MAX];

    (void)state;
    for (unsigned i = 0; i < sizeof(six) / sizeof(six[0]); i++) {
        assert_int_equal(hash_of(frame, put_six(frame, &six[i], 6)), six[i].ports);
        assert_int_equal(hash_of(frame, put_six(frame, &six[i], 17)), six[i].ports);
        assert_int_equal(hash_of(frame, put_six(frame, &six[i], 58)), six[i].addresses);
    }
}

static void hash_fragment_leaves_ports_out(void **state)
{
    uint8_t frame[FRAME_MAX];
    uint32_t len = put_four(frame, &four[0], 17);

    (void)state;
    frame_put16(frame + 20, 0x2000); /* more fragments */
    assert_int_equal(hash_of(frame, len), four[0].addresses);
    frame_put16(frame + 20, 0x0001); /* not the first */
    assert_int_equal(hash_of(frame, len), four[0].addresses);
    frame_put16(frame + 20, 0x4000); /* do not fragment */
    assert_int_equal(hash_of(frame, len), four[0].ports);
}

static void hash_sees_through_vlan_tags(void **state)
{
    uint8_t frame[FRAME_MAX], tagged[FRAME_MAX];
    uint32_t len = put_four(frame, &four[1], 17);

    (void)state;
    memset(tagged, 0, 12);
    frame_put16(tagged + 12, 0x88a8);
    frame_put16(tagged + 14, 7);
    frame_put16(tagged + 16, 0x8100);
    frame_put16(tagged + 18, 9);
    memcpy(tagged + 20, frame + 12, len - 12);
    assert_int_equal(hash_of(tagged, len + 8), four[1].ports);
    frame_put16(tagged + 20, 0x8100); /* a third is not looked through */
    assert_int_equal(hash_of(tagged, len + 8), 0);
}

static void hash_ip_options_are_skipped(void **state)
{
    uint8_t frame[FRAME_MAX];
    uint32_t len = put_four(frame, &four[2], 17);

    (void)state;
    memmove(frame + 42, frame + 34, 4);
    memset(frame + 34, 1, 8);
    frame[14] = 0x47;
    assert_int_equal(hash_of(frame, len + 8), four[2].ports);
}

static void hash_cut_frames_read_nothing_beyond(void **state)
{
    uint8_t frame[FRAME_MAX];
    uint32_t len = put_four(frame, &four[3], 17);

    (void)state;
    for (uint32_t cut = 0; cut < 34; cut++)
        assert_int_equal(hash_of(frame, cut), 0);
    for (uint32_t cut = 34; cut < len; cut++)
        assert_int_equal(hash_of(frame, cut), four[3].addresses);
    len = put_six(frame, &six[0], 17);
    for (uint32_t cut = 0; cut < 54; cut++)
        assert_int_equal(hash_of(frame, cut), 0);
    for (uint32_t cut = 54; cut < len; cut++)
        assert_int_equal(hash_of(frame, cut), six[0].addresses);
}

static void hash_not_ip_is_no_flow(void **state)
{
    uint8_t frame[FRAME_MAX];
    uint32_t len = put_four(frame, &four[0], 17);

    (void)state;
    frame[14] = 0x65; /* a version that is not 4 */
    assert_int_equal(hash_of(frame, len), 0);
    frame_put16(frame + 12, 0x0806); /* ARP */
    assert_int_equal(hash_of(frame, len), 0);
}

static void hash_by_table_is_the_hash_bit_by_bit(void **state)
{
    uint8_t frame[FRAME_MAX], input[SIRQ_FLOW_INPUT];
    uint32_t x = 1;

    (void)state;
    for (unsigned round = 0; round < 1000; round++) {
        put_six(frame, &six[0], 17);
        for (unsigned i = 0; i < sizeof(input); i++) {
            x = x * 1664525u + 1013904223u;
            input[i] = (uint8_t)(x >> 24);
        }
        memcpy(frame + 22, input, sizeof(input));
        assert_int_equal(hash_of(frame, 58), sirq_rss_hash(sirq_rss_key, input, sizeof(input)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_ipv4_is_as_published),
        cmocka_unit_test(hash_ipv6_is_as_published),
        cmocka_unit_test(hash_fragment_leaves_ports_out),
        cmocka_unit_test(hash_sees_through_vlan_tags),
        cmocka_unit_test(hash_ip_options_are_skipped),
        cmocka_unit_test(hash_cut_frames_read_nothing_beyond),
        cmocka_unit_test(hash_not_ip_is_no_flow),
        cmocka_unit_test(hash_by_table_is_the_hash_bit_by_bit),
    };

    sirq_flow_table_init(&table);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
