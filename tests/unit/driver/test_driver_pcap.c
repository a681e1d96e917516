/* SPDX-License-Identifier: MIT */
/* The pcap driver on captures that the test writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sirq/driver.h>

#define FRAMES 100u
#define LEN 60u
#define UDP 34u

static struct {
    uint64_t frames, disorder, bad_sum;
    uint32_t last_seq, len;
    uint8_t frame[LEN];
    uint8_t ports[1 << 17]; /* seen, by address below 10.0.0.2 or not and source port */
    unsigned nports;
} sink;

static struct sirq_netdev dev;
static char path[] = "/tmp/sirq-pcap-XXXXXX";
static const char *skip_reason;

static uint32_t sum16(const uint8_t *at, unsigned len)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < len; i += 2)
        sum += (uint32_t)at[i] << 8 | at[i + 1];
    return sum;
}

static uint16_t fold(uint32_t sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)(sum + (sum >> 16));
}

/* Of header and of pseudo header, UDP and data: ffff when they are right. */
static bool sums_right(const uint8_t *frame)
{
    return fold(sum16(frame + 14, 20)) == 0xffff &&
           fold(sum16(frame + 26, 8) + 17 + (LEN - UDP) + sum16(frame + UDP, LEN - UDP)) == 0xffff;
}

enum sirq_drop sirq_net_rx(struct sirq_cpu *cpu, struct sirq_netdev *netdev, const uint8_t *frame,
                           uint32_t len, uint64_t rx_ns)
{
    uint32_t seq, key = ((uint32_t)frame[29] & 1u) << 16 | (uint32_t)frame[34] << 8 | frame[35];

    (void)cpu, (void)netdev, (void)rx_ns;
    assert_int_equal(len, LEN);
    memcpy(&seq, frame + UDP + 8, sizeof(seq));
    sink.disorder += seq < sink.last_seq;
    sink.last_seq = seq;
    sink.frames++;
    sink.bad_sum += !sums_right(frame);
    sink.nports += !sink.ports[key];
    sink.ports[key] = 1;
    memcpy(sink.frame, frame, LEN);
    return SIRQ_DELIVERED;
}

static void put_sums(uint8_t *frame)
{
    uint16_t sum = (uint16_t)~fold(sum16(frame + 14, 20));

    frame[24] = (uint8_t)(sum >> 8);
    frame[25] = (uint8_t)sum;
    sum = (uint16_t)~fold(sum16(frame + 26, 8) + 17 + (LEN - UDP) + sum16(frame + UDP, LEN - UDP));
    frame[UDP + 6] = (uint8_t)(sum >> 8);
    frame[UDP + 7] = (uint8_t)sum;
}

/* UDP from 10.0.0.0:65000 with a number, `gap_us` apart. */
static void write_capture(unsigned n, uint32_t gap_us, uint32_t link)
{
    const uint32_t head[6] = {0xa1b2c3d4, 0x00040002, 0, 0, 65535, link};
    static const uint8_t start[] = {2,    0, 0,  0,  0, 2, 2,    0,    0,  0,  0, 1,        8,  0,
                                    0x45, 0, 0,  46, 0, 0, 0,    0,    64, 17, 0, 0,        10, 0,
                                    0,    0, 10, 0,  0, 9, 0xfd, 0xe8, 0,  9,  0, LEN - UDP};
    FILE *out = fopen(path, "w");

    assert_non_null(out);
    fwrite(head, sizeof(head), 1, out);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t us = (uint64_t)i * gap_us;
        const uint32_t record[4] = {1000 + (uint32_t)(us / 1000000), (uint32_t)(us % 1000000), LEN,
                                    LEN};
        uint8_t frame[LEN] = {0};

        memcpy(frame, start, sizeof(start));
        memcpy(frame + UDP + 8, &i, sizeof(i));
        put_sums(frame);
        fwrite(record, sizeof(record), 1, out);
        fwrite(frame, LEN, 1, out);
    }
    assert_int_equal(fclose(out), 0);
}

static int group_setup(void **state)
{
    int fd = mkstemp(path);
    const struct sirq_netdev_config config = {.file = path};
    struct sirq_netdev probe = {.driver = sirq_driver_find("pcap")};
    static struct sirq_error err;

    (void)state;
    if (fd < 0)
        return -1;
    close(fd);
    if (probe.driver->open(&probe, &config, &err) == -ENOTSUP)
        skip_reason = err.text;
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    return unlink(path);
}

#define NEEDS_LIBPCAP()                                  \
    do {                                                 \
        if (skip_reason) {                               \
            print_message("skipped: %s\n", skip_reason); \
            skip();                                      \
        }                                                \
    } while (0)

static void replay_open(const struct sirq_netdev_config *config)
{
    struct sirq_error err = {""};

    memset(&sink, 0, sizeof(sink));
    dev = (struct sirq_netdev){.driver = sirq_driver_find("pcap")};
    if (dev.driver->open(&dev, config, &err) != 0)
        fail_msg("%s", err.text);
}

static struct sirq_netdev_stats stats(void)
{
    struct sirq_netdev_stats out = {0};

    dev.driver->stats(&dev, &out);
    return out;
}

static int rx_poll(int budget)
{
    return dev.driver->rx_poll(NULL, &dev, budget);
}

static bool wait_irq(int timeout_ms)
{
    struct pollfd pfd = {.fd = dev.irq.fd, .events = POLLIN};

    return poll(&pfd, 1, timeout_ms) == 1;
}

/* As the interrupt handler and NAPI do, until nothing has come for a second. */
static void receive_all(void)
{
    dev.driver->irq_unmask(&dev);
    while (dev.driver->rx_pending(&dev) || wait_irq(1000)) {
        dev.driver->irq_ack(&dev);
        dev.driver->irq_mask(&dev);
        while (rx_poll(64) == 64)
            ;
        dev.driver->irq_unmask(&dev);
    }
}

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void replay_as_polled_gives_every_frame_at_once(void **state)
{
    const struct sirq_netdev_config config = {
        .file = path, .replay_pps = SIRQ_REPLAY_POLLED, .ring_size = 64};

    (void)state;
    NEEDS_LIBPCAP();
    write_capture(FRAMES, 1000000, 1);
    replay_open(&config);
    assert_int_equal(rx_poll(64), 0); /* not unmasked yet: it has not begun */
    dev.driver->irq_unmask(&dev);
    assert_int_equal(rx_poll(30), 30);
    assert_true(dev.driver->rx_pending(&dev));
    assert_int_equal(rx_poll(64), 64);
    assert_int_equal(rx_poll(64), 6);
    assert_false(dev.driver->rx_pending(&dev));
    assert_int_equal(sink.last_seq, FRAMES - 1);
    assert_int_equal(sink.disorder, 0);
    assert_int_equal(sink.bad_sum, 0);
    assert_int_equal(stats().rx_packets, FRAMES);
    assert_int_equal(stats().rx_dropped, 0);
    dev.driver->close(&dev);
}

static void replay_as_recorded_takes_its_time_and_interrupts(void **state)
{
    const struct sirq_netdev_config config = {.file = path};
    uint64_t start;

    (void)state;
    NEEDS_LIBPCAP();
    write_capture(5, 40000, 1);
    replay_open(&config);
    start = now_ns();
    dev.driver->irq_unmask(&dev);
    for (uint32_t taken = 0; taken < 5;) { /* a poll that comes late finds more than one */
        int n;

        assert_true(dev.driver->rx_pending(&dev) || wait_irq(2000));
        assert_true(now_ns() - start >= taken * 40000000u);
        dev.driver->irq_mask(&dev);
        dev.driver->irq_ack(&dev);
        n = rx_poll(64);
        assert_true(n >= 1);
        taken += (uint32_t)n;
        dev.driver->irq_unmask(&dev);
    }
    receive_all();
    assert_int_equal(sink.frames, 5);
    assert_int_equal(sink.disorder, 0);
    dev.driver->close(&dev);
}

static void replay_at_rate_too_late_drops_are_exact(void **state)
{
    const struct sirq_netdev_config config = {
        .file = path, .replay_pps = 1000000, .flows = 50, .ring_size = 64};

    (void)state;
    NEEDS_LIBPCAP();
    write_capture(FRAMES, 1, 1);
    replay_open(&config);
    dev.driver->irq_unmask(&dev);
    usleep(20000); /* 5000 frames take 5 ms: all have come, 64 have a place */
    receive_all();
    assert_int_equal(sink.frames, stats().rx_packets);
    assert_true(stats().rx_dropped > 0);
    assert_int_equal(stats().rx_packets + stats().rx_dropped, FRAMES * 50);
    assert_int_equal(stats().rx_waiting, 0);
    dev.driver->close(&dev);
}

static void replay_in_flows_changes_ports_and_keeps_checksums_right(void **state)
{
    const struct sirq_netdev_config config = {
        .file = path, .replay_pps = SIRQ_REPLAY_POLLED, .flows = 70000};

    (void)state;
    NEEDS_LIBPCAP();
    write_capture(1, 1, 1);
    replay_open(&config);
    receive_all();
    assert_int_equal(sink.frames, 70000);
    assert_int_equal(sink.nports, 70000); /* each its own address and port */
    assert_int_equal(sink.bad_sum, 0);
    dev.driver->close(&dev);
}

static void replay_in_loop_begins_again(void **state)
{
    const struct sirq_netdev_config config = {
        .file = path, .replay_pps = SIRQ_REPLAY_POLLED, .loop = true};

    (void)state;
    NEEDS_LIBPCAP();
    write_capture(3, 1, 1);
    replay_open(&config);
    dev.driver->irq_unmask(&dev);
    assert_int_equal(rx_poll(64), 64);
    assert_int_equal(sink.disorder, 21);
    assert_int_equal(sink.last_seq, 0);
    assert_true(dev.driver->rx_pending(&dev));
    dev.driver->close(&dev);
}

static void irq_masked_is_silent_until_unmasked(void **state)
{
    const struct sirq_netdev_config config = {.file = path, .replay_pps = 1000};

    (void)state;
    NEEDS_LIBPCAP();
    write_capture(FRAMES, 1, 1);
    replay_open(&config);
    dev.driver->irq_unmask(&dev);
    assert_true(wait_irq(1000));
    dev.driver->irq_ack(&dev);
    dev.driver->irq_mask(&dev);
    assert_false(wait_irq(50));
    assert_true(dev.driver->rx_pending(&dev));
    receive_all();
    assert_int_equal(sink.frames, FRAMES);
    dev.driver->close(&dev);
}

static void open_refused(struct sirq_netdev_config config, int rc, const char *word)
{
    struct sirq_netdev other = {.driver = sirq_driver_find("pcap")};
    struct sirq_error err = {""};
    int fd = dup(0);

    close(fd);
    assert_int_equal(other.driver->open(&other, &config, &err), rc);
    if (!strstr(err.text, word))
        fail_msg("\"%s\" does not say \"%s\"", err.text, word);
    assert_null(other.priv);
    assert_int_equal(dup(0), fd);
    close(fd);
}

static void open_broken_captures_are_refused_with_file_and_offset(void **state)
{
    struct sirq_netdev_config config = {.file = path};
    FILE *out;

    (void)state;
    NEEDS_LIBPCAP();
    write_capture(3, 1, 1);
    assert_int_equal(truncate(path, 24 + 2 * (16 + LEN) + 20), 0);
    open_refused(config, -EPROTO, "after frame 2, at byte 196");
    open_refused(config, -EPROTO, path);
    write_capture(3, 1, 101);
    open_refused(config, -EPROTONOSUPPORT, "link type");
    write_capture(0, 1, 1);
    open_refused(config, -EINVAL, "no frame");
    out = fopen(path, "w");
    fputs("this is no capture but a line of text\n", out);
    fclose(out);
    open_refused(config, -EPROTO, "at byte 4: unknown file format");
    assert_int_equal(truncate(path, 0), 0);
    open_refused(config, -EPROTO, path);
}

static void open_wrong_arguments_are_refused_by_name(void **state)
{
    (void)state;
    NEEDS_LIBPCAP();
    write_capture(1, 1, 1);
    open_refused((struct sirq_netdev_config){.file = NULL}, -EINVAL, "file: give");
    open_refused((struct sirq_netdev_config){.file = "/nonexistent.pcap"}, -ENOENT, "/nonexistent");
    open_refused((struct sirq_netdev_config){.file = path, .flows = (1u << 20) + 1}, -EINVAL,
                 "flows");
    open_refused((struct sirq_netdev_config){.file = path, .replay_pps = 1000000001}, -EINVAL,
                 "replay_pps");
    open_refused((struct sirq_netdev_config){.file = path, .queue = 1}, -EINVAL, "queue 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replay_as_polled_gives_every_frame_at_once),
        cmocka_unit_test(replay_as_recorded_takes_its_time_and_interrupts),
        cmocka_unit_test(replay_at_rate_too_late_drops_are_exact),
        cmocka_unit_test(replay_in_flows_changes_ports_and_keeps_checksums_right),
        cmocka_unit_test(replay_in_loop_begins_again),
        cmocka_unit_test(irq_masked_is_silent_until_unmasked),
        cmocka_unit_test(open_broken_captures_are_refused_with_file_and_offset),
        cmocka_unit_test(open_wrong_arguments_are_refused_by_name),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
