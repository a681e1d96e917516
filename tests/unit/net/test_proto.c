/* SPDX-License-Identifier: MIT */
/* Every header field, right and wrong: the verdict, and that the sums hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frames.h"
#include "net_host.h"

struct world {
    struct net_host h;
    struct test_dev dev;
    struct sirq_socket *sock;
    uint8_t frame[FRAME_MAX];
};

static int setup(void **state)
{
    const struct sirq_socket_config config = {.port = FRAME_DPORT};
    struct world *w = aligned_alloc(64, (sizeof(*w) + 63) & ~(size_t)63);

    memset(w, 0, sizeof(*w));
    net_host_init(&w->h, NULL);
    test_dev_open(&w->dev, &w->h);
    assert_int_equal(sirq_socket_open(w->h.net, &config, &w->sock), 0);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    sirq_socket_close(w->sock);
    test_dev_close(&w->dev, &w->h.cpu[0]);
    net_host_fini(&w->h);
    free(w);
    return 0;
}

/* The frame in memory that ends where the frame ends, so that ASan sees a read beyond. */
static enum sirq_drop rx(struct world *w, uint32_t len)
{
    uint8_t *exact = malloc(len != 0 ? len : 1);
    enum sirq_drop verdict;

    memcpy(exact, w->frame, len);
    verdict = test_dev_rx(&w->dev, &w->h.cpu[0], exact, len);
    free(exact);
    net_host_check_sums(&w->h);
    return verdict;
}

/* One field (of 1, 2 or 4 bytes at `at`) set to `value` in a good frame of 100 bytes of
 * payload; checksums put right after. */
struct field {
    const char *what;
    uint32_t at, width, value;
    enum sirq_drop want;
};

static const struct field fields[] = {
    {"ethertype ARP", 12, 2, 0x0806, SIRQ_DROP_ETH_TYPE},
    {"ethertype IPv6", 12, 2, 0x86dd, SIRQ_DROP_IP6_VERSION},
    {"VLAN tag", 12, 2, 0x8100, SIRQ_DROP_VLAN},
    {"802.3 length", 12, 2, 0x0040, SIRQ_DROP_ETH_TYPE},
    {"version 0", 14, 1, 0x05, SIRQ_DROP_IP_VERSION},
    {"version 5", 14, 1, 0x55, SIRQ_DROP_IP_VERSION},
    {"version 6", 14, 1, 0x65, SIRQ_DROP_IP_VERSION},
    {"ihl 0", 14, 1, 0x40, SIRQ_DROP_IP_IHL},
    {"ihl 4", 14, 1, 0x44, SIRQ_DROP_IP_IHL},
    {"tos", 15, 1, 0xff, SIRQ_DELIVERED},
    {"total length 0", 16, 2, 0, SIRQ_DROP_IP_LEN},
    {"total length 19", 16, 2, 19, SIRQ_DROP_IP_LEN},
    {"total length 20", 16, 2, 20, SIRQ_DROP_UDP_SHORT},
    {"total length 27", 16, 2, 27, SIRQ_DROP_UDP_SHORT},
    {"total length cuts UDP", 16, 2, 127, SIRQ_DROP_UDP_LEN},
    {"total length one too long", 16, 2, 129, SIRQ_DROP_IP_LEN},
    {"total length 65535", 16, 2, 65535, SIRQ_DROP_IP_LEN},
    {"identification", 18, 2, 0xabcd, SIRQ_DELIVERED},
    {"do not fragment", 20, 2, 0x4000, SIRQ_DELIVERED},
    {"reserved flag", 20, 2, 0x8000, SIRQ_DELIVERED},
    {"more fragments", 20, 2, 0x2000, SIRQ_DROP_IP_FRAG},
    {"fragment offset 1", 20, 2, 0x0001, SIRQ_DROP_IP_FRAG},
    {"fragment offset max", 20, 2, 0x1fff, SIRQ_DROP_IP_FRAG},
    {"ttl 0", 22, 1, 0, SIRQ_DELIVERED}, /* ours to receive, not to forward */
    {"ttl 255", 22, 1, 255, SIRQ_DELIVERED},
    {"protocol 0", 23, 1, 0, SIRQ_DROP_IP_PROTO},
    {"protocol TCP", 23, 1, 6, SIRQ_DROP_IP_PROTO},
    {"protocol 18", 23, 1, 18, SIRQ_DROP_IP_PROTO},
    {"protocol 255", 23, 1, 255, SIRQ_DROP_IP_PROTO},
    {"source 0.0.0.0", 26, 4, 0, SIRQ_DELIVERED},
    {"source 223.255.255.255", 26, 4, 0xdfffffff, SIRQ_DELIVERED},
    {"source 224.0.0.0", 26, 4, 0xe0000000, SIRQ_DROP_IP_SRC},
    {"source 239.255.255.255", 26, 4, 0xefffffff, SIRQ_DROP_IP_SRC},
    {"source 240.0.0.0", 26, 4, 0xf0000000, SIRQ_DELIVERED},
    {"source broadcast", 26, 4, 0xffffffff, SIRQ_DROP_IP_SRC},
    {"destination other", 30, 4, 0x01020304, SIRQ_DELIVERED},
    {"destination multicast", 30, 4, 0xe0000001, SIRQ_DELIVERED},
    {"destination broadcast", 30, 4, 0xffffffff, SIRQ_DELIVERED},
    {"source port 0", 34, 2, 0, SIRQ_DELIVERED},
    {"destination port 0", 36, 2, 0, SIRQ_DROP_UDP_PORT},
    {"destination port one up", 36, 2, FRAME_DPORT + 1, SIRQ_DROP_UDP_PORT},
    {"destination port 65535", 36, 2, 65535, SIRQ_DROP_UDP_PORT},
    {"UDP length 0", 38, 2, 0, SIRQ_DROP_UDP_LEN},
    {"UDP length 7", 38, 2, 7, SIRQ_DROP_UDP_LEN},
    {"UDP length 8", 38, 2, 8, SIRQ_DELIVERED},
    {"UDP length short of packet", 38, 2, 50, SIRQ_DELIVERED},
    {"UDP length one too long", 38, 2, 109, SIRQ_DROP_UDP_LEN},
    {"UDP length 65535", 38, 2, 65535, SIRQ_DROP_UDP_LEN},
};

static void set_field(uint8_t *frame, const struct field *f)
{
    if (f->width == 1)
        frame[f->at] = (uint8_t)f->value;
    else if (f->width == 2)
        frame_put16(frame + f->at, f->value);
    else
        frame_put32(frame + f->at, f->value);
}

/* Where the UDP length lies inside the buffer its checksum can be put right as well. */
static void fix(uint8_t *frame)
{
    frame_fix_ip(frame);
    if ((frame[FRAME_IP] & 15u) >= 5 && frame_get16(frame + FRAME_UDP + 4) <= 108)
        frame_fix_udp(frame);
}

static void field_set_to_each_value_has_its_verdict(void **state)
{
    struct world *w = *state;

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const struct frame_spec spec = {.payload = 100};
        uint32_t len = frame_build(w->frame, &spec);
        struct sirq_net_stats before, after;
        enum sirq_drop verdict;

        set_field(w->frame, &fields[i]);
        fix(w->frame);
        sirq_net_stats_sum(w->h.net, &before);
        verdict = rx(w, len);
        sirq_net_stats_sum(w->h.net, &after);
        if (verdict != fields[i].want)
            fail_msg("%s: %s, not %s", fields[i].what, sirq_drop_name(verdict),
                     sirq_drop_name(fields[i].want));
        assert_int_equal(after.verdict[verdict] - before.verdict[verdict], 1);
        assert_int_equal(after.frames - before.frames, 1);
    }
}

static void frame_cut_at_each_byte_is_dropped_by_the_layer_it_ends_in(void **state)
{
    const struct frame_spec spec = {.payload = 20, .options = 8};
    struct world *w = *state;
    uint32_t len = frame_build(w->frame, &spec);

    for (uint32_t cut = 0; cut < len; cut++) {
        enum sirq_drop want = cut < 14   ? SIRQ_DROP_ETH_SHORT
                              : cut < 34 ? SIRQ_DROP_IP_SHORT
                              : cut < 42 ? SIRQ_DROP_IP_IHL
                                         : SIRQ_DROP_IP_LEN;

        assert_int_equal(rx(w, cut), want);
    }
    assert_int_equal(rx(w, len), SIRQ_DELIVERED);
}

static void header_length_beyond_the_frame_is_ip_ihl(void **state)
{
    const struct frame_spec spec = {.payload = 0};
    struct world *w = *state;
    uint32_t len = frame_build(w->frame, &spec);

    w->frame[FRAME_IP] = 0x4f; /* 60 bytes, the packet has 28 */
    assert_int_equal(rx(w, len), SIRQ_DROP_IP_IHL);
}

static void header_with_any_bit_flipped_is_dropped(void **state)
{
    struct world *w = *state;

    for (unsigned bit = 0; bit < 160; bit++) {
        const struct frame_spec spec = {.payload = 30};
        uint32_t len = frame_build(w->frame, &spec);
        enum sirq_drop verdict;

        w->frame[FRAME_IP + bit / 8] ^= (uint8_t)(1u << bit % 8);
        verdict = rx(w, len);
        if (bit >= 32) /* before: version, ihl and length have verdicts of their own */
            assert_int_equal(verdict, SIRQ_DROP_IP_CSUM);
        else
            assert_int_not_equal(verdict, SIRQ_DELIVERED);
    }
}

static void datagram_with_any_bit_flipped_is_dropped(void **state)
{
    struct world *w = *state;

    for (unsigned bit = 0; bit < (8 + 31) * 8; bit++) {
        const struct frame_spec spec = {.payload = 31};
        uint32_t len = frame_build(w->frame, &spec);
        bool is_len = bit / 8 == 4 || bit / 8 == 5;
        enum sirq_drop verdict;

        w->frame[FRAME_UDP + bit / 8] ^= (uint8_t)(1u << bit % 8);
        verdict = rx(w, len);
        if (is_len)
            assert_true(verdict == SIRQ_DROP_UDP_LEN || verdict == SIRQ_DROP_UDP_CSUM);
        else
            assert_int_equal(verdict, SIRQ_DROP_UDP_CSUM);
    }
}

static void receive_one(struct world *w, const struct frame_spec *spec)
{
    uint8_t buf[2048];
    struct sirq_msg msg = {.buf = buf, .size = sizeof(buf)};

    assert_int_equal(sirq_recv(w->sock, &msg, 1, 0), 1);
    assert_int_equal(msg.len, spec->payload);
    for (uint32_t i = 0; i < msg.len; i++)
        assert_int_equal(buf[i], (uint8_t)(i * 7 + 3));
    assert_int_equal(msg.saddr, frame_net32(FRAME_SADDR));
    assert_int_equal(msg.daddr, frame_net32(FRAME_DADDR));
    assert_int_equal(msg.sport, FRAME_SPORT);
    assert_int_equal(msg.dport, FRAME_DPORT);
    assert_int_equal(sirq_recv(w->sock, &msg, 1, 0), -11 /* EAGAIN */);
}

static void payload_of_each_size_arrives_whole(void **state)
{
    struct world *w = *state;

    for (uint32_t payload = 0; payload <= SIRQ_PKT_PAYLOAD_MAX;
         payload += payload < 70 || payload > SIRQ_PKT_PAYLOAD_MAX - 70 ? 1 : 61) {
        const struct frame_spec spec = {.payload = payload};
        const struct frame_spec bare = {.payload = payload, .no_csum = true};

        assert_int_equal(rx(w, frame_build(w->frame, &spec)), SIRQ_DELIVERED);
        receive_one(w, &spec);
        assert_int_equal(rx(w, frame_build(w->frame, &bare)), SIRQ_DELIVERED);
        receive_one(w, &bare);
    }
}

static void options_and_padding_are_not_payload(void **state)
{
    struct world *w = *state;

    for (uint32_t options = 0; options <= 40; options += 4) {
        const struct frame_spec spec = {.payload = 10, .options = options, .padding = 18};

        assert_int_equal(rx(w, frame_build(w->frame, &spec)), SIRQ_DELIVERED);
        receive_one(w, &spec);
    }
}

static void payload_beyond_a_buffer_is_oversize(void **state)
{
    const struct frame_spec spec = {.payload = SIRQ_PKT_PAYLOAD_MAX + 1};
    struct world *w = *state;
    struct sirq_socket_stats stats;

    assert_int_equal(rx(w, frame_build(w->frame, &spec)), SIRQ_DROP_OVERSIZE);
    sirq_socket_stats(w->sock, &stats);
    assert_int_equal(stats.dropped, 0); /* socket_full and no_buffer only */
}

static void frame_at_any_alignment_is_parsed(void **state)
{
    const struct frame_spec spec = {.payload = 33};
    struct world *w = *state;
    uint8_t copy[FRAME_MAX + 8];
    uint32_t len = frame_build(w->frame, &spec);

    for (unsigned shift = 0; shift < 8; shift++) {
        memcpy(copy + shift, w->frame, len);
        assert_int_equal(test_dev_rx(&w->dev, &w->h.cpu[0], copy + shift, len), SIRQ_DELIVERED);
        receive_one(w, &spec);
    }
}

/* Two fit.  The first of five is delivered alone; the third time round the queue is full. */
static void alike_frames_share_a_drop_and_are_delivered_one_by_one(void **state)
{
    const struct sirq_socket_config config = {.port = 9, .rcvbuf = 2 * SIRQ_PKT_TRUESIZE};
    const struct frame_spec here = {.dport = 9}, nowhere = {.dport = 10};
    struct world *w = *state;
    struct sirq_socket_stats stats;
    struct sirq_net_stats net;
    struct sirq_socket *sock;

    assert_int_equal(sirq_socket_open(w->h.net, &config, &sock), 0);
    w->dev.alike = 5;
    assert_int_equal(rx(w, frame_build(w->frame, &here)), SIRQ_DELIVERED);
    assert_int_equal(rx(w, frame_build(w->frame, &here)), SIRQ_DELIVERED);
    assert_int_equal(rx(w, frame_build(w->frame, &here)), SIRQ_DROP_SOCKET_FULL);
    assert_int_equal(rx(w, frame_build(w->frame, &nowhere)), SIRQ_DROP_UDP_PORT);
    sirq_socket_stats(sock, &stats);
    assert_int_equal(stats.queued, 2);
    assert_int_equal(stats.dropped, 5);
    sirq_net_stats_sum(w->h.net, &net);
    assert_int_equal(net.frames, 2 + 5 + 5);
    assert_int_equal(net.verdict[SIRQ_DELIVERED], 2);
    assert_int_equal(net.verdict[SIRQ_DROP_SOCKET_FULL], 5);
    assert_int_equal(net.verdict[SIRQ_DROP_UDP_PORT], 5);
    sirq_socket_close(sock);
}

static void drop_each_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int a = 0; a < SIRQ_NR_DROPS; a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(sirq_drop_name((enum sirq_drop)a),
                                    sirq_drop_name((enum sirq_drop)b));
    assert_string_equal(sirq_drop_name(SIRQ_DELIVERED), "delivered");
    assert_string_equal(sirq_drop_name(SIRQ_DROP_OVERSIZE), "oversize");
    assert_string_equal(sirq_drop_name(SIRQ_NR_DROPS), "unknown");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(field_set_to_each_value_has_its_verdict),
        TEST(frame_cut_at_each_byte_is_dropped_by_the_layer_it_ends_in),
        TEST(header_length_beyond_the_frame_is_ip_ihl),
        TEST(header_with_any_bit_flipped_is_dropped),
        TEST(datagram_with_any_bit_flipped_is_dropped),
        TEST(payload_of_each_size_arrives_whole),
        TEST(options_and_padding_are_not_payload),
        TEST(payload_beyond_a_buffer_is_oversize),
        TEST(frame_at_any_alignment_is_parsed),
        TEST(alike_frames_share_a_drop_and_are_delivered_one_by_one),
        cmocka_unit_test(drop_each_has_a_name_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
