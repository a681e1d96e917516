/* SPDX-License-Identifier: MIT */
/* Addresses, ARP, echo, forwarding: what comes in, and the frames that leave for it. */
#include "inet_env.h"

#include <stdio.h>

#define HER 0x0a000005u /* on device 0 */
#define HIM 0x0a000105u /* on device 1 */

static void arp_request_for_our_address_is_answered(void **state)
{
    struct router *r = *state;
    const uint8_t *out = r->dev[0].sent[0];

    assert_int_equal(router_rx(r, 0, put_arp(r, 0, 1, HER, US4(0))), SIRQ_HANDLED);
    assert_int_equal(r->dev[0].nsent, 1);
    assert_int_equal(r->dev[0].sent_len[0], 42);
    assert_memory_equal(out, r->frame + 6, 6);
    assert_memory_equal(out + 6, us_mac[0], 6);
    assert_int_equal(frame_get16(out + 12), 0x0806);
    assert_int_equal(frame_get16(out + 20), 2);
    assert_memory_equal(out + 22, us_mac[0], 6);
    assert_memory_equal(out + 28, r->frame + 38, 4);
    assert_memory_equal(out + 32, r->frame + 22, 10);
    assert_int_equal(sirq_net_neighbours(r->h.net, NULL), 0); /* who asks is not noted */
    assert_true(r->dev[0].flushes == 1 && r->dev[0].cleans == 1);
}

static void arp_that_is_not_for_us_or_malformed_is_dropped(void **state)
{
    struct router *r = *state;
    uint32_t len = put_arp(r, 0, 1, HER, HER + 1);

    assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_ARP);
    for (uint32_t cut = 14; cut < 42; cut++)
        assert_int_equal(router_rx(r, 0, (put_arp(r, 0, 1, HER, US4(0)), cut)), SIRQ_DROP_ARP);
    for (unsigned at = 14; at < 22; at++) { /* hardware, protocol, lengths, operation */
        put_arp(r, 0, 1, HER, US4(0));
        r->frame[at] ^= 0x40;
        assert_int_equal(router_rx(r, 0, 42), SIRQ_DROP_ARP);
    }
    assert_int_equal(router_rx(r, 0, put_arp(r, 0, 1, US4(0), US4(0))), SIRQ_DROP_ARP);
    put_arp(r, 0, 1, HER, US4(0));
    r->frame[22] |= 1; /* a multicast sender */
    assert_int_equal(router_rx(r, 0, 42), SIRQ_DROP_ARP);
    assert_int_equal(r->dev[0].nsent, 0);
}

static void ping_asks_for_the_neighbour_and_is_answered(void **state)
{
    struct router *r = *state;
    const uint8_t *ask = r->dev[0].sent[0], *out = r->dev[0].sent[1];
    uint32_t len = put_ping(r, 0, HER, US4(0), 57);
    uint8_t mac[6];

    assert_int_equal(router_rx(r, 0, len), SIRQ_HANDLED);
    assert_int_equal(r->dev[0].nsent, 1);
    assert_memory_equal(ask, all_mac, 6);
    assert_int_equal(frame_get16(ask + 20), 1);
    assert_int_equal(router_stats(r).tx_held - router_stats(r).tx_released, 1);
    router_resolve(r, 0, HER);
    assert_int_equal(r->dev[0].nsent, 2);
    mac_of(HER, mac);
    assert_memory_equal(out, mac, 6);
    assert_int_equal(r->dev[0].sent_len[1], len);
    assert_int_equal(icmp_sum(out + 14, 20), 0xffff);
    assert_int_equal(icmp_sum(out + 34, len - 34), 0xffff);
    assert_int_equal(out[34], 0);
    put_ping(r, 0, HER, US4(0), 57);
    assert_memory_equal(out + 38, r->frame + 38, len - 38);
    assert_memory_equal(out + 30, r->frame + 26, 4); /* to who asked */
    assert_memory_equal(out + 26, r->frame + 30, 4);
    assert_int_equal(router_rx(r, 0, len), SIRQ_HANDLED); /* known now */
    assert_int_equal(r->dev[0].nsent, 3);
}

static void ping_that_is_cut_spoilt_or_to_many_is_dropped(void **state)
{
    struct router *r = *state;
    uint32_t len = put_ping(r, 0, HER, US4(0), 0);

    for (uint32_t total = 20; total < 28; total++) {
        put_ping(r, 0, HER, US4(0), 0);
        frame_put16(r->frame + 16, total);
        frame_fix_ip(r->frame);
        assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_ICMP_SHORT);
    }
    put_ping(r, 0, HER, US4(0), 0);
    r->frame[38] ^= 1;
    assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_ICMP_CSUM);
    assert_int_equal(router_rx(r, 0, put_ping(r, 0, HER, 0x0a0000ff, 0)), SIRQ_DROP_ICMP_TYPE);
    assert_int_equal(router_rx(r, 0, put_ping(r, 0, HER, 0xe0000001, 0)), SIRQ_DROP_ICMP_TYPE);
    assert_int_equal(router_rx(r, 0, put_ping(r, 0, HER, US4(0), 1990)), SIRQ_DROP_OVERSIZE);
    assert_int_equal(r->dev[0].nsent, 0);
}

static void neighbour_that_never_answers_is_asked_thrice_and_given_up(void **state)
{
    struct router *r = *state;
    struct sirq_net_stats stats;
    unsigned incomplete;

    for (unsigned i = 0; i < 7; i++)
        router_rx(r, 0, put_ping(r, 0, HER, US4(0), 0));
    stats = router_stats(r);
    assert_int_equal(stats.tx_held - stats.tx_released, 4);
    assert_int_equal(stats.tx_verdict[SIRQ_TX_DROP_NEIGH_FULL], 3);
    assert_int_equal(sirq_net_neighbours(r->h.net, &incomplete), 1);
    assert_int_equal(incomplete, 1);
    net_host_sleep(&r->h, 5 * SECOND);
    assert_int_equal(r->dev[0].nsent, 3);
    assert_int_equal(router_stats(r).tx_verdict[SIRQ_TX_DROP_NEIGH], 4);
    assert_int_equal(sirq_net_neighbours(r->h.net, NULL), 0);
    net_host_check_sums(&r->h);
    net_host_sleep(&r->h, 5 * SECOND);
    assert_int_equal(sirq_timer_next(&r->h.cpu[0]), UINT64_MAX); /* no tick for nothing */
}

static void answer_on_another_queue_of_the_interface_is_taken(void **state)
{
    static const struct sirq_netdev_config config = {.ifname = "eth9", .queue = 1};
    static struct test_dev queue; /* of the first device's interface */
    struct router *r = *state;
    uint32_t incomplete, len;

    snprintf(r->dev[0].dev.name, sizeof(r->dev[0].dev.name), "eth9");
    assert_int_equal(sirq_netdev_open(&queue.dev, r->h.net, &test_driver, &config, NULL), 0);
    sirq_napi_enable(&queue.dev.napi);
    queue.masked = 0;
    router_rx(r, 0, put_ping(r, 0, HER, US4(0), 8));
    assert_int_equal(sirq_net_neighbours(r->h.net, &incomplete), 1);
    assert_int_equal(incomplete, 1);
    router_rx(r, 1, put_arp(r, 1, 2, HER, US4(1))); /* another interface's: not about her */
    sirq_net_neighbours(r->h.net, &incomplete);
    assert_int_equal(incomplete, 1);
    test_dev_sent_clear(&r->dev[0]);
    len = put_arp(r, 0, 2, HER, US4(0));
    assert_int_equal(test_dev_rx(&queue, &r->h.cpu[0], r->frame, len), SIRQ_HANDLED);
    sirq_net_neighbours(r->h.net, &incomplete);
    assert_int_equal(incomplete, 0);
    assert_int_equal(r->dev[0].nsent, 1); /* what waited goes where it was to go */
    assert_int_equal(queue.nsent, 0);
    test_dev_close(&queue, &r->h.cpu[0]);
}

static void neighbour_in_use_is_asked_again_and_an_idle_one_goes(void **state)
{
    struct router *r = *state;

    router_rx(r, 0, put_ping(r, 0, HER, US4(0), 0));
    router_resolve(r, 0, HER);
    router_rx(r, 0, put_ping(r, 0, HER, US4(0), 0));
    test_dev_sent_clear(&r->dev[0]);
    net_host_sleep(&r->h, 29 * SECOND);
    assert_int_equal(r->dev[0].nsent, 0);
    net_host_sleep(&r->h, 2 * SECOND);
    assert_true(r->dev[0].nsent >= 1);
    assert_memory_not_equal(r->dev[0].sent[0], all_mac, 6); /* asked directly */
    router_resolve(r, 0, HER);
    assert_int_equal(sirq_net_neighbours(r->h.net, NULL), 1);
    net_host_sleep(&r->h, 31 * SECOND);
    assert_int_equal(sirq_net_neighbours(r->h.net, NULL), 0);
}

static void scan_of_empty_addresses_leaves_known_neighbours_alone(void **state)
{
    struct router *r = *state;
    struct sirq_ip wide = ip4(0x0b000001);
    unsigned incomplete;

    assert_int_equal(sirq_netdev_addr_add(&r->dev[1].dev, &wide, 8, NULL), 0);
    sirq_net_set_forwarding(r->h.net, true);
    router_rx(r, 0, put_ping(r, 0, HER, US4(0), 0));
    router_resolve(r, 0, HER);
    for (uint32_t i = 0; i < 3000; i++)
        assert_int_equal(router_rx(r, 0, put_udp(r, 0, HER, 0x0b000100 + i)), SIRQ_FORWARDED);
    assert_int_equal(sirq_net_neighbours(r->h.net, &incomplete), 513);
    assert_int_equal(incomplete, 512);
    test_dev_sent_clear(&r->dev[0]);
    assert_int_equal(router_rx(r, 0, put_ping(r, 0, HER, US4(0), 0)), SIRQ_HANDLED);
    assert_int_equal(r->dev[0].nsent, 1);
    net_host_sleep(&r->h, 5 * SECOND);
    assert_int_equal(sirq_net_neighbours(r->h.net, NULL), 1);
    net_host_check_sums(&r->h);
}

static void datagram_for_another_net_is_forwarded_with_less_ttl(void **state)
{
    struct router *r = *state;
    uint32_t len = put_udp(r, 0, HER, HIM);
    const uint8_t *out = r->dev[1].sent[1];
    uint8_t mac[6];

    assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_IP_DST); /* not yet a router */
    sirq_net_set_forwarding(r->h.net, true);
    assert_int_equal(router_rx(r, 0, len), SIRQ_FORWARDED);
    router_resolve(r, 1, HIM);
    assert_int_equal(r->dev[1].nsent, 2);
    mac_of(HIM, mac);
    assert_memory_equal(out, mac, 6);
    assert_memory_equal(out + 6, us_mac[1], 6);
    assert_int_equal(r->dev[1].sent_len[1], len);
    put_udp(r, 0, HER, HIM);
    assert_int_equal(out[22], r->frame[22] - 1);
    assert_int_equal(icmp_sum(out + 14, 20), 0xffff);
    assert_memory_equal(out + 26, r->frame + 26, len - 26);
}

static void checksum_that_was_left_to_a_device_is_filled_in_when_forwarded(void **state)
{
    struct router *r = *state;
    uint32_t len = put_udp(r, 0, HER, HIM);
    uint8_t good[FRAME_MAX];

    sirq_net_set_forwarding(r->h.net, true);
    memcpy(good, r->frame, len);
    leave_checksum(r->frame + FRAME_UDP, r->frame + 26, 4);
    assert_memory_not_equal(good, r->frame, len);
    r->dev[0].dev.rx_csum_partial = true;
    assert_int_equal(router_rx(r, 0, len), SIRQ_FORWARDED);
    router_resolve(r, 1, HIM);
    assert_int_equal(r->dev[1].nsent, 2);
    assert_memory_equal(r->dev[1].sent[1] + 26, good + 26, len - 26);
    put_udp(r, 0, HER, HIM);
    r->frame[FRAME_UDP + 6] ^= 1;
    r->dev[0].dev.rx_csum_partial = false; /* what somebody filled in is his */
    assert_int_equal(router_rx(r, 0, len), SIRQ_FORWARDED);
    assert_memory_equal(r->dev[1].sent[2] + 26, r->frame + 26, len - 26);
}

static void header_checksum_of_what_is_forwarded_is_right_for_any(void **state)
{
    struct router *r = *state;

    sirq_net_set_forwarding(r->h.net, true);
    router_rx(r, 0, put_udp(r, 0, HER, HIM));
    router_resolve(r, 1, HIM);
    for (uint32_t id = 0; id < 0x10000; id++) {
        uint32_t len = put_udp(r, 0, HER, HIM);

        frame_put16(r->frame + 18, id);
        frame_fix_ip(r->frame);
        test_dev_sent_clear(&r->dev[1]);
        assert_int_equal(test_dev_rx(&r->dev[0], &r->h.cpu[0], r->frame, len), SIRQ_FORWARDED);
        assert_int_equal(icmp_sum(r->dev[1].sent[0] + 14, 20), 0xffff);
    }
}

/* The error that device 0 sent last, about the packet in r->frame. */
static void check_error(struct router *r, uint8_t type, uint8_t code, uint32_t len)
{
    const uint8_t *out = r->dev[0].sent[r->dev[0].nsent - 1];
    uint32_t out_len = r->dev[0].sent_len[r->dev[0].nsent - 1];

    assert_int_equal(out_len, 14 + 20 + 8 + len - 14);
    assert_int_equal(out[23], 1);
    assert_int_equal(out[34], type);
    assert_int_equal(out[35], code);
    assert_int_equal(icmp_sum(out + 14, 20), 0xffff);
    assert_int_equal(icmp_sum(out + 34, out_len - 34), 0xffff);
    assert_memory_equal(out + 42, r->frame + 14, len - 14);
    assert_memory_equal(out + 30, r->frame + 26, 4);
}

static void what_cannot_be_forwarded_is_told_to_its_source(void **state)
{
    struct router *r = *state;
    const struct frame_spec long_one = {.saddr = HER, .daddr = HIM, .payload = 1473};
    uint32_t len = put_udp(r, 0, HER, HIM);

    sirq_net_set_forwarding(r->h.net, true);
    router_rx(r, 0, put_ping(r, 0, HER, US4(0), 0));
    router_resolve(r, 0, HER);
    put_udp(r, 0, HER, HIM);
    r->frame[22] = 1;
    frame_fix_ip(r->frame);
    assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_IP_TTL);
    check_error(r, 11, 0, len);
    assert_int_equal(router_rx(r, 0, put_udp(r, 0, HER, 0x01020304)), SIRQ_DROP_IP_ROUTE);
    check_error(r, 3, 0, len);
    assert_int_equal(router_rx(r, 0, put_udp(r, 0, HER, US4(1))), SIRQ_DROP_UDP_PORT);
    check_error(r, 3, 3, len);
    len = frame_build(r->frame, &long_one);
    put_macs(r, 0, HER);
    assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_IP_MTU);
    assert_int_equal(frame_get16(r->dev[0].sent[r->dev[0].nsent - 1] + 40), 1500);
}

static void errors_are_limited_and_never_about_errors_or_to_many(void **state)
{
    struct router *r = *state;
    unsigned before;

    sirq_net_set_forwarding(r->h.net, true);
    router_rx(r, 0, put_ping(r, 0, HER, US4(0), 0));
    router_resolve(r, 0, HER);
    before = r->dev[0].nsent;
    router_rx(r, 0, put_ping(r, 0, HER, 0x01020304, 0));
    assert_int_equal(r->dev[0].nsent, before + 1); /* about a ping yes */
    put_ping(r, 0, HER, 0x01020304, 0);
    r->frame[34] = 3; /* about an error no */
    assert_int_equal(router_rx(r, 0, 42), SIRQ_DROP_IP_ROUTE);
    put_udp(r, 0, HER, 0x01020304);
    memcpy(r->frame, all_mac, 6); /* the link's broadcast */
    assert_int_equal(router_rx(r, 0, 74), SIRQ_DROP_IP_DST);
    assert_int_equal(router_rx(r, 0, put_udp(r, 0, HER, 0x0a0000ff)), SIRQ_DROP_UDP_PORT);
    assert_int_equal(router_rx(r, 0, put_udp(r, 0, 0x0a0000ff, 0x01020304)), SIRQ_DROP_IP_ROUTE);
    assert_int_equal(r->dev[0].nsent, before + 1);
    for (unsigned i = 0; i < 200; i++)
        router_rx(r, 0, put_udp(r, 0, HER, 0x01020304));
    assert_int_equal(r->dev[0].nsent, before + 50);
    assert_int_equal(router_stats(r).icmp_limited, 151);
}

static void fragment_is_forwarded_but_not_delivered(void **state)
{
    struct router *r = *state;
    uint32_t len = put_udp(r, 0, HER, HIM);

    sirq_net_set_forwarding(r->h.net, true);
    frame_put16(r->frame + 20, 0x2000);
    frame_fix_ip(r->frame);
    assert_int_equal(router_rx(r, 0, len), SIRQ_FORWARDED);
    put_udp(r, 0, HER, US4(0));
    frame_put16(r->frame + 20, 0x2000);
    frame_fix_ip(r->frame);
    assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_IP_FRAG);
}

static void frame_for_another_mac_is_dropped(void **state)
{
    struct router *r = *state;
    uint32_t len = put_udp(r, 0, HER, US4(0));

    r->frame[5] ^= 4;
    assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_ETH_DST);
    r->frame[5] ^= 4;
    assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_UDP_PORT);
    memcpy(r->frame, all_mac, 6);
    assert_int_equal(router_rx(r, 0, len), SIRQ_DROP_UDP_PORT);
}

/* A tag into r->frame. */
static uint32_t tag(struct router *r, uint32_t len, uint32_t tci)
{
    memmove(r->frame + 16, r->frame + 12, len - 12);
    frame_put16(r->frame + 12, 0x8100);
    frame_put16(r->frame + 14, tci);
    return len + 4;
}

static void vlan_tag_is_taken_off_and_put_on(void **state)
{
    struct router *r = *state;
    const uint8_t *out = r->dev[0].sent[0];
    uint32_t len = put_arp(r, 0, 1, HER, US4(0));

    assert_int_equal(router_rx(r, 0, tag(r, len, 0xe000)), SIRQ_HANDLED); /* priority only */
    assert_int_equal(frame_get16(out + 12), 0x0806);
    assert_int_equal(router_rx(r, 0, (put_arp(r, 0, 1, HER, US4(0)), tag(r, len, 7))),
                     SIRQ_DROP_VLAN);
    assert_int_equal(sirq_netdev_set_vlan(&r->dev[0].dev, 7, 5, NULL), 0);
    test_dev_sent_clear(&r->dev[0]);
    assert_int_equal(router_rx(r, 0, len + 4), SIRQ_HANDLED);
    assert_int_equal(frame_get16(out + 12), 0x8100);
    assert_int_equal(frame_get16(out + 14), 0xa007);
    assert_int_equal(frame_get16(out + 16), 0x0806);
    assert_int_equal(r->dev[0].sent_len[0], 46);
    assert_int_equal(router_rx(r, 0, 17), SIRQ_DROP_VLAN); /* cut in the tag */
    assert_int_equal(router_rx(r, 0, put_arp(r, 0, 1, HER, US4(0))), SIRQ_DROP_VLAN);
    assert_int_equal(router_rx(r, 0, (put_udp(r, 0, HER, US4(0)), tag(r, 74, 7))),
                     SIRQ_DROP_UDP_PORT);
}

static void address_that_stays_on_its_host_is_not_forwarded(void **state)
{
    static const struct {
        uint32_t from, to;
        enum sirq_drop drop;
    } bad[] = {{0x7f000001, 0x0b000001, SIRQ_DROP_IP_SRC}, {0x7f000001, US4(0), SIRQ_DROP_IP_SRC},
               {0, 0x0b000001, SIRQ_DROP_IP_SRC},          {1, 0x0b000001, SIRQ_DROP_IP_SRC},
               {US4(0) + 1, 0x7f000001, SIRQ_DROP_IP_DST}, {US4(0) + 1, 1, SIRQ_DROP_IP_DST}};
    const struct sirq_route any = {.dst = sirq_ip_v4(0), .gateway = ip4(US4(1) + 1)};
    struct router *r = *state;

    sirq_net_set_forwarding(r->h.net, true);
    assert_int_equal(sirq_route_add(r->h.net, &any, NULL), 0);
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint32_t len = put_udp(r, 0, US4(0) + 1, bad[i].to);

        frame_put32(r->frame + 26, bad[i].from); /* also none, which put_udp() takes otherwise */
        frame_put32(r->frame + 30, bad[i].to);
        frame_fix_ip(r->frame);
        assert_int_equal(router_rx(r, 0, len), bad[i].drop);
    }
    assert_int_equal(r->dev[0].nsent + r->dev[1].nsent, 0);
}

static void route_of_the_longest_prefix_wins(void **state)
{
    struct router *r = *state;
    const struct sirq_ip none = {{0}};
    struct sirq_route any = {.dst = ip4(0), .gateway = ip4(HIM)},
                      some = {.dst = ip4(0x14000000), .prefix = 8, .gateway = ip4(HER)};
    struct sirq_error err;

    sirq_net_set_forwarding(r->h.net, true);
    assert_int_equal(sirq_route_add(r->h.net, &any, &err), 0);
    assert_int_equal(sirq_route_add(r->h.net, &any, &err), -EEXIST);
    router_rx(r, 0, put_udp(r, 0, HER, 0x14010203));
    assert_int_equal(r->dev[1].nsent, 1);
    assert_int_equal(sirq_route_add(r->h.net, &some, &err), 0);
    router_rx(r, 1, put_udp(r, 1, HIM, 0x14010203));
    assert_int_equal(r->dev[0].nsent, 1);
    assert_memory_equal(r->dev[0].sent[0] + 38, "\x0a\0\0\x05", 4); /* asks for the gateway */
    assert_int_equal(sirq_route_del(r->h.net, &some, &err), 0);
    assert_int_equal(sirq_route_del(r->h.net, &some, &err), -ENOENT);
    some.gateway = ip4(0x01010101);
    assert_int_equal(sirq_route_add(r->h.net, &some, &err), -ENETUNREACH);
    some.gateway = none;
    assert_int_equal(sirq_route_add(r->h.net, &some, &err), -EINVAL);
    some.prefix = 6;
    some.dev = &r->dev[0].dev;
    some.dst = ip4(0x14000001);
    assert_int_equal(sirq_route_add(r->h.net, &some, &err), -EINVAL);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, router_setup, router_teardown)
    const struct CMUnitTest tests[] = {
        CASE(arp_request_for_our_address_is_answered),
        CASE(arp_that_is_not_for_us_or_malformed_is_dropped),
        CASE(ping_asks_for_the_neighbour_and_is_answered),
        CASE(ping_that_is_cut_spoilt_or_to_many_is_dropped),
        CASE(neighbour_that_never_answers_is_asked_thrice_and_given_up),
        CASE(answer_on_another_queue_of_the_interface_is_taken),
        CASE(neighbour_in_use_is_asked_again_and_an_idle_one_goes),
        CASE(scan_of_empty_addresses_leaves_known_neighbours_alone),
        CASE(datagram_for_another_net_is_forwarded_with_less_ttl),
        CASE(checksum_that_was_left_to_a_device_is_filled_in_when_forwarded),
        CASE(header_checksum_of_what_is_forwarded_is_right_for_any),
        CASE(what_cannot_be_forwarded_is_told_to_its_source),
        CASE(errors_are_limited_and_never_about_errors_or_to_many),
        CASE(fragment_is_forwarded_but_not_delivered),
        CASE(frame_for_another_mac_is_dropped),
        CASE(vlan_tag_is_taken_off_and_put_on),
        CASE(address_that_stays_on_its_host_is_not_forwarded),
        CASE(route_of_the_longest_prefix_wins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
