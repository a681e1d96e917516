/* SPDX-License-Identifier: MIT */
/* The parts of a live run that need no engine: CPUs, frames, pace, sums, namespaces' excuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "world/live/account.h"
#include "world/common/cpu.h"
#include "world/common/frame.h"
#include "world/common/netns.h"
#include "world/common/pace.h"

static cpu_set_t set_of(const char *text)
{
    cpu_set_t set;

    sirq_lab_cpus_parse(text, &set);
    return set;
}

static void cpu_list_survives_parse_and_format(void **state)
{
    static const char *const lists[] = {"0", "0-3", "0-1,4,6-7", ""};
    char buf[64];

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        cpu_set_t set = set_of(lists[i]);

        assert_string_equal(sirq_lab_cpus_format(&set, buf, sizeof(buf)), lists[i]);
    }
}

static void pick_keeps_the_sender_off_the_sibling(void **state)
{
    cpu_set_t all = set_of("0-3"), siblings = set_of("2-3");
    struct sirq_lab_cpus cpus;
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_lab_cpus_pick(&cpus, -1, &all, &all, &siblings, &err), 0);
    assert_int_equal(cpus.flooded, 3);
    assert_int_equal(cpus.sender, 1);
    assert_int_equal(cpus.spare, 0);
}

static void pick_of_two_has_none_to_spare(void **state)
{
    cpu_set_t all = set_of("0-1"), siblings = set_of("0-1");
    struct sirq_lab_cpus cpus;
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_lab_cpus_pick(&cpus, 0, &all, &all, &siblings, &err), 0);
    assert_int_equal(cpus.flooded, 0);
    assert_int_equal(cpus.sender, 1);
    assert_int_equal(cpus.spare, -1);
}

static void pick_of_one_cpu_says_what_is_missing(void **state)
{
    cpu_set_t one = set_of("2"), all = set_of("0-3");
    struct sirq_lab_cpus cpus;
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_lab_cpus_pick(&cpus, -1, &one, &all, &one, &err), -ENODEV);
    assert_non_null(strstr(err.text, "taskset"));
}

static void pick_names_a_cpu_that_is_offline_or_not_allowed(void **state)
{
    cpu_set_t allowed = set_of("0-1"), online = set_of("0-2"), none = set_of("");
    struct sirq_lab_cpus cpus;
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_lab_cpus_pick(&cpus, 2, &allowed, &online, &none, &err), -EINVAL);
    assert_non_null(strstr(err.text, "--cpu 2"));
    assert_non_null(strstr(err.text, "affinity"));
    assert_int_equal(sirq_lab_cpus_pick(&cpus, 3, &allowed, &online, &none, &err), -EINVAL);
    assert_non_null(strstr(err.text, "online"));
}

/* The one's complement sum of big-endian words, written the slow way (RFC 1071). */
static uint32_t slow_sum(const uint8_t *bytes, unsigned len, uint32_t sum)
{
    for (unsigned i = 0; i < len; i++)
        sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

static void frame_of_any_size_has_right_checksums(void **state)
{
    static struct sirq_frame frame;
    static uint8_t out[SIRQ_FRAME_MAX];

    (void)state;
    for (uint32_t len = 64; len <= SIRQ_FRAME_MAX; len += len < 70 ? 1 : 481) {
        for (unsigned flow = 0; flow < 64; flow += 9) {
            struct sirq_stamp stamp = {UINT64_C(0x0123456789abcdef) * (flow + 1), ~UINT64_C(0)};

            sirq_frame_build(&frame, flow, len, 7);
            sirq_frame_write(&frame, out, &stamp);
            assert_int_equal(slow_sum(out + 14, 20, 0), 0xffff);
            assert_int_equal(slow_sum(out + 34, len - 34, slow_sum(out + 26, 8, 17 + (len - 34))),
                             0xffff);
            assert_memory_equal(out + SIRQ_FRAME_HEADERS, &stamp, sizeof(stamp));
            assert_int_equal(out[36] << 8 | out[37], SIRQ_FLOOD_PORT + flow);
        }
    }
}

static void frame_seed_decides_the_source_ports(void **state)
{
    static struct sirq_frame a, b;
    unsigned same = 0;

    (void)state;
    for (unsigned flow = 0; flow < 64; flow++) {
        sirq_frame_build(&a, flow, 64, 1);
        sirq_frame_build(&b, flow, 64, 1);
        assert_memory_equal(a.bytes, b.bytes, 64);
        sirq_frame_build(&b, flow, 64, 1000);
        same += memcmp(a.bytes, b.bytes, 64) == 0;
    }
    assert_true(same < 8);
}

static void pace_is_exact_over_time_at_every_rate(void **state)
{
    static const double rates[] = {3, 1000, 333333, 12e6};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct sirq_pace pace;
        uint64_t sent = 0, now = 0, step = 700;
        double want;

        sirq_pace_start(&pace, rates[i], 0.1, 0);
        for (unsigned k = 0; k < 3000000; k++, now += step) {
            uint64_t due = sirq_pace_due(&pace, now);

            sirq_pace_sent(&pace, due);
            sent += due;
        }
        want = rates[i] * (double)now / 1e9;
        assert_true((double)sent > want * 0.9999 - 2 && (double)sent <= want * 1.0001 + 1);
    }
}

static void pace_catches_up_without_a_burst(void **state)
{
    struct sirq_pace pace;
    uint64_t sent = 0, now = 0;

    (void)state;
    sirq_pace_start(&pace, 1e6, 0.1, 0);
    for (now = 1000; now <= 1000000; now += 1000)
        sirq_pace_sent(&pace, sirq_pace_due(&pace, now)); /* 1 ms of 1 frame each us */
    now += 10000;                                         /* held up for 10 us: 10 frames late */
    sirq_pace_due(&pace, now);
    for (unsigned i = 0; i < 100; i++) {
        uint64_t due;

        now += 1000;
        due = sirq_pace_due(&pace, now);
        sirq_pace_sent(&pace, due);
        assert_true(i == 0 || due <= 3);
        sent += due;
    }
    assert_in_range(sent, 108, 112);
}

static void pace_forgives_what_is_owed_for_long(void **state)
{
    struct sirq_pace pace;

    (void)state;
    sirq_pace_start(&pace, 1e6, 0.1, 0);
    assert_true(sirq_pace_due(&pace, UINT64_C(60000000000)) <= 100001);
}

static struct sirq_account sound(void)
{
    struct sirq_account a = {.offered = 100, .lost = 1, .queued = 60, .received = 60};

    a.dev.rx_dropped = 9;
    a.dev.rx_packets = 90;
    a.net.frames = 90;
    a.net.verdict[SIRQ_DELIVERED] = 60;
    a.net.verdict[SIRQ_DROP_SOCKET_FULL] = 30;
    return a;
}

static void account_names_the_sum_that_is_wrong(void **state)
{
    struct sirq_account a = sound();
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_account_check(&a, &err), 0);
    a.offered++;
    assert_int_equal(sirq_account_check(&a, &err), -EPROTO);
    assert_non_null(strstr(err.text, "offered 101"));
    a = sound();
    a.net.frames--;
    assert_int_equal(sirq_account_check(&a, &err), -EPROTO);
    a = sound();
    a.net.verdict[SIRQ_DROP_UDP_PORT]++;
    assert_int_equal(sirq_account_check(&a, &err), -EPROTO);
    a = sound();
    a.received--;
    assert_int_equal(sirq_account_check(&a, &err), -EPROTO);
    assert_non_null(strstr(err.text, "received 59"));
}

static void netns_excuse_names_the_missing_right(void **state)
{
    (void)state;
    assert_non_null(strstr(sirq_netns_why(EPERM, true), "CAP_SYS_ADMIN"));
    assert_non_null(strstr(sirq_netns_why(EPERM, false), "user namespaces"));
    assert_non_null(strstr(sirq_netns_why(ENOSPC, false), "max_user_namespaces"));
    assert_non_null(strstr(sirq_netns_why(EINVAL, true), "kernel"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_list_survives_parse_and_format),
        cmocka_unit_test(pick_keeps_the_sender_off_the_sibling),
        cmocka_unit_test(pick_of_two_has_none_to_spare),
        cmocka_unit_test(pick_of_one_cpu_says_what_is_missing),
        cmocka_unit_test(pick_names_a_cpu_that_is_offline_or_not_allowed),
        cmocka_unit_test(frame_of_any_size_has_right_checksums),
        cmocka_unit_test(frame_seed_decides_the_source_ports),
        cmocka_unit_test(pace_is_exact_over_time_at_every_rate),
        cmocka_unit_test(pace_catches_up_without_a_burst),
        cmocka_unit_test(pace_forgives_what_is_owed_for_long),
        cmocka_unit_test(account_names_the_sum_that_is_wrong),
        cmocka_unit_test(netns_excuse_names_the_missing_right),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
