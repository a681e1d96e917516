/* SPDX-License-Identifier: MIT */
/* The xdp driver over a real veth pair of two queues, native and on socket buffers. */
#include "veth_env.h"

#include <signal.h>
#include <sys/wait.h>

#define RING 64u

static int group_setup(void **state)
{
    struct sirq_netdev probe = {.driver = sirq_driver_find("xdp"), .host = &host};
    const struct sirq_netdev_config config = {.ifname = "sq1"};
    static struct sirq_error err;
    int rc;

    (void)state;
    skip_reason = enter_namespace(false);
    if (!skip_reason && system("ip link add sq0 numrxqueues 2 numtxqueues 2 type veth peer name "
                               "sq1 numrxqueues 2 numtxqueues 2 && "
                               "ip link set sq0 arp off up && ip link set sq1 arp off up") != 0)
        skip_reason = "cannot make a veth pair (is iproute2 installed, the veth module there?)";
    if (skip_reason)
        return 0;
    rc = probe.driver->open(&probe, &config, &err);
    if (rc == 0)
        probe.driver->close(&probe);
    else if (rc == -ENOTSUP || rc == -EPERM || rc == -EAFNOSUPPORT)
        skip_reason = err.text;
    return 0;
}

static bool program_attached(void)
{
    return system("ip link show sq1 | grep -q xdp") == 0;
}

static int setup_on(unsigned mtu)
{
    const struct sirq_netdev_config config = {.ifname = "sq1", .ring_size = RING};
    char command[128];

    if (skip_reason)
        return 0;
    snprintf(command, sizeof(command), "ip link set sq0 mtu %u up; ip link set sq1 mtu %u up", mtu,
             mtu);
    assert_int_equal(system(command), 0);
    assert_int_equal(dev_open("xdp", &config), 0);
    sender = open_sender_on("sq0");
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return setup_on(1500);
}

static int teardown(void **state)
{
    (void)state;
    if (skip_reason)
        return 0;
    close(sender);
    dev.driver->close(&dev);
    assert_null(dev.priv);
    assert_false(program_attached());
    return 0;
}

static void send_seq(uint32_t seq, size_t len)
{
    send_seq_to(sender, seq, len);
}

static void open_veth_is_native_and_says_so(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    assert_string_equal(dev.mode, "native copy");
    assert_true(program_attached());
}

static void poll_single_frame_arrives_whole(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    assert_false(dev.irq.self_masking);
    assert_int_equal(rx_poll(64), 0);
    assert_false(dev.driver->rx_pending(&dev));
    send_seq(1, 100);
    assert_true(wait_irq(1000));
    assert_true(dev.driver->rx_pending(&dev));
    assert_int_equal(rx_poll(0), 0);
    assert_int_equal(stats().rx_waiting, 1);
    assert_int_equal(rx_poll(64), 1);
    assert_int_equal(sink.frames, 1);
    assert_int_equal(sink.len, 100);
    assert_false(dev.driver->rx_pending(&dev));
    assert_false(wait_irq(20));
}

static void poll_many_frames_of_all_sizes_keep_order_and_sums(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    many_frames_keep_order_and_sums(7);
}

/* In steps that the veth's own queue of 256 can hold. */
static void send_slowly(uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        send_seq(first + i, 1514);
        if (i % 32 == 31)
            usleep(2000);
    }
    usleep(20000);
}

static void poll_too_late_drops_are_counted_and_sums_exact(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    send_slowly(1, 500);
    assert_int_equal(stats().rx_waiting, RING);
    assert_int_equal(stats().rx_dropped, 500 - RING);
    receive(RING, 64);
    assert_int_equal(sink.last_seq, RING); /* the oldest are kept */
    send_slowly(501, 100);                 /* and every chunk is there again */
    assert_int_equal(stats().rx_waiting, RING);
    assert_int_equal(stats().rx_packets + stats().rx_dropped + stats().rx_waiting, 600);
    receive(2 * RING, 64);
    assert_int_equal(sink.frames, 2 * RING);
    assert_int_equal(sink.disorder, 0);
}

static void frame_short_and_odd_are_handed_on_whole(void **state)
{
    static const uint8_t lens[] = {15, 16, 17, 33, 59};
    const uint8_t frame[64] = {[0] = 0xff, [12] = 0x99}; /* of one flow, so of one queue */

    (void)state;
    NEEDS_NAMESPACE();
    for (size_t i = 0; i < sizeof(lens); i++)
        assert_int_equal(send(sender, frame, lens[i], 0), lens[i]);
    receive(sizeof(lens), 64);
    assert_int_equal(sink.others, sizeof(lens));
    assert_int_equal(stats().rx_packets, sizeof(lens));
}

/* Two queues of one interface share its program, which goes with the last. */
static void queue_second_shares_the_program(void **state)
{
    const struct sirq_netdev_config config = {.ifname = "sq1", .ring_size = RING, .queue = 1};
    struct sirq_netdev second = {.driver = dev.driver, .host = &host};
    struct sirq_netdev third = {.driver = dev.driver, .host = &host};
    struct sirq_error err = {""};

    (void)state;
    NEEDS_NAMESPACE();
    assert_int_equal(second.driver->open(&second, &config, &err), 0);
    assert_int_equal(third.driver->open(&third, &config, &err), -EBUSY);
    assert_non_null(strstr(err.text, "queue 1 of interface sq1 is open already"));
    send_seq(1, 60);
    usleep(20000);
    assert_int_equal(
        dev.driver->rx_poll(NULL, &dev, 64) + second.driver->rx_poll(NULL, &second, 64), 1);
    second.driver->close(&second);
    assert_true(program_attached());
}

/* Frames that came to sq0 from the driver, in order from `seq`. */
static uint32_t take_sent(uint32_t seq)
{
    uint8_t frame[2048];
    uint32_t got;
    ssize_t len;

    while ((len = recv(sender, frame, sizeof(frame), MSG_DONTWAIT)) > 0) {
        if (frame[12] != ETHERTYPE >> 8)
            continue;
        memcpy(&got, frame + HEADER, sizeof(got));
        assert_int_equal(got, seq);
        assert_int_equal(len, 60 + seq % 1000);
        seq++;
    }
    return seq;
}

static int tx_seq(uint32_t seq)
{
    uint8_t frame[1100] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

    frame[12] = ETHERTYPE >> 8;
    frame[13] = ETHERTYPE & 0xff;
    memcpy(frame + HEADER, &seq, sizeof(seq));
    return dev.driver->tx(NULL, &dev, frame, 60 + seq % 1000);
}

static void tx_many_frames_arrive_whole_and_in_order(void **state)
{
    uint32_t sent = 0, seen = 0;

    (void)state;
    NEEDS_NAMESPACE();
    close(sender);
    sender = open_sender_on("sq0");
    while (sent < 3000) {
        for (unsigned i = 0; i < 50; i++, sent++)
            assert_int_equal(tx_seq(sent), 0);
        dev.driver->tx_flush(NULL, &dev);
        for (unsigned wait = 0; wait < 1000 && seen < sent; wait++) {
            seen = take_sent(seen);
            if (seen < sent)
                usleep(1000);
        }
        assert_int_equal(seen, sent);
        dev.driver->tx_clean(NULL, &dev);
    }
    assert_int_equal(stats().tx_packets, sent);
    assert_int_equal(stats().tx_waiting, 0);
    assert_int_equal(stats().tx_errors, 0);
}

static void tx_ring_full_is_refused_and_empties_again(void **state)
{
    static const uint8_t giant[8192];

    (void)state;
    NEEDS_NAMESPACE();
    assert_int_equal(dev.driver->tx(NULL, &dev, giant, sizeof(giant)), -EMSGSIZE);
    for (uint32_t seq = 0; seq < RING; seq++)
        assert_int_equal(tx_seq(seq), 0);
    assert_int_equal(tx_seq(RING), -ENOBUFS);
    assert_int_equal(stats().tx_packets, RING);
    assert_int_equal(stats().tx_waiting, RING);
    dev.driver->tx_flush(NULL, &dev);
    for (unsigned i = 0; i < 1000 && stats().tx_waiting > 0; i++) {
        usleep(1000);
        dev.driver->tx_clean(NULL, &dev);
    }
    assert_int_equal(stats().tx_waiting, 0);
    assert_int_equal(tx_seq(RING), 0); /* its place was given back */
    dev.driver->tx_flush(NULL, &dev);
}

static void tx_interface_down_is_told(void **state)
{
    int rc = 0;

    (void)state;
    NEEDS_NAMESPACE();
    assert_int_equal(system("ip link set sq1 down"), 0);
    for (uint32_t seq = 0; seq <= RING && rc == 0; seq++) {
        rc = tx_seq(seq);
        dev.driver->tx_flush(NULL, &dev);
    }
    assert_int_equal(rc, -ENETDOWN);
    assert_int_equal(stats().tx_waiting, RING);
}

static void interface_down_and_up_goes_on(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    assert_int_equal(system("ip link set sq1 down"), 0);
    if (wait_irq(50)) {
        assert_int_equal(rx_poll(64), 0);
        dev.driver->irq_ack(&dev);
        assert_false(wait_irq(20));
    }
    assert_int_equal(system("ip link set sq1 up"), 0);
    /* The other end drops what it sends until it has seen the carrier come back. */
    for (uint32_t seq = 1; seq <= 100 && sink.frames == 0; seq++) {
        send_seq(seq, 60);
        if (wait_irq(50))
            rx_poll(64);
    }
    assert_true(sink.frames > 0);
}

/* Frames longer than a chunk's 1792 bytes are lost and counted, those that fit go on. */
static void mtu_raised_while_open_long_frames_are_counted(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    assert_int_equal(system("ip link set sq1 mtu 3000 && ip link set sq0 mtu 3000"), 0);
    send_seq(1, 1792);
    send_seq(2, 1793);
    send_seq(3, 2500);
    send_seq(4, 60);
    receive(2, 64);
    assert_int_equal(sink.frames, 2);
    assert_int_equal(sink.last_seq, 4);
    assert_int_equal(stats().rx_dropped, 2);
}

static int setup_wide(void **state)
{
    (void)state;
    return setup_on(3400);
}

static void open_wide_mtu_takes_its_frames(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    send_seq(1, 3414);
    receive(1, 64);
    assert_int_equal(sink.len, 3414);
    assert_int_equal(stats().rx_dropped, 0);
}

static void open_mtu_too_large_for_native_is_generic_and_says_so(void **state)
{
    const struct sirq_netdev_config config = {.ifname = "sq1", .ring_size = RING};

    (void)state;
    NEEDS_NAMESPACE();
    /* The driver of veth refuses for the sake of what the other end may send. */
    assert_int_equal(system("ip link set sq0 mtu 9000 && ip link set sq1 mtu 1500"), 0);
    assert_int_equal(dev_open("xdp", &config), 0);
    assert_string_equal(dev.mode, "generic copy");
    sender = open_sender_on("sq0");
    for (uint32_t seq = 1; seq <= 20; seq++)
        send_seq(seq, 1514);
    receive(20, 64);
    assert_int_equal(sink.frames, 20);
    assert_int_equal(sink.len, 1514);
    teardown(NULL);
}

static void interface_gone_is_quiet_after_ack_and_closes(void **state)
{
    const struct sirq_netdev_config config = {.ifname = "sv1", .ring_size = RING};

    (void)state;
    NEEDS_NAMESPACE();
    assert_int_equal(system("ip link add sv0 type veth peer name sv1 && ip link set sv0 arp off up "
                            "&& ip link set sv1 arp off up"),
                     0);
    assert_int_equal(dev_open("xdp", &config), 0);
    sender = open_sender_on("sv0");
    send_seq(1, 60);
    usleep(20000);
    assert_int_equal(system("ip link del sv0"), 0);
    assert_true(dev.driver->rx_pending(&dev));
    assert_int_equal(rx_poll(64), 1); /* what was on the ring is ours */
    dev.driver->irq_ack(&dev);
    assert_int_equal(rx_poll(64), 0);
    assert_false(wait_irq(20));
    assert_int_equal(stats().rx_packets, 1);
    close(sender);
    dev.driver->close(&dev);
}

static void process_killed_leaves_no_program(void **state)
{
    const struct sirq_netdev_config config = {.ifname = "sq1", .ring_size = RING};
    int ready[2], status;
    char byte;
    pid_t pid;

    (void)state;
    NEEDS_NAMESPACE();
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        if (dev_open("xdp", &config) == 0 && write(ready[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    assert_true(program_attached());
    open_refused("xdp", &config, -EBUSY, "sq1 has an XDP program");
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    for (int i = 0; i < 100 && program_attached(); i++)
        usleep(10000);
    assert_false(program_attached());
}

static void open_wrong_arguments_are_refused_by_name(void **state)
{
    struct sirq_netdev_config config = {.ifname = "nosuch0"};

    (void)state;
    NEEDS_NAMESPACE();
    open_refused("xdp", &config, -ENODEV, "nosuch0");
    config.ifname = NULL;
    open_refused("xdp", &config, -EINVAL, "ifname");
    config.ifname = "sq1";
    config.queue = 2;
    open_refused("xdp", &config, -EINVAL, "queue 2: interface sq1 has 2, give 0 to 1");
    config.queue = 0;
    config.frame_size = 3841;
    open_refused("xdp", &config, -EINVAL, "frame_size 3841");
    config.frame_size = 512;
    open_refused("xdp", &config, -EMSGSIZE, "MTU of 1500");
    config.frame_size = 0;
    assert_int_equal(system("ip link set sq1 mtu 9000"), 0);
    open_refused("xdp", &config, -EMSGSIZE, "ip link set sq1 mtu");
    assert_int_equal(system("ip link set sq1 mtu 1500 down"), 0);
    open_refused("xdp", &config, -ENETDOWN, "ip link set sq1 up");
    assert_int_equal(system("ip link set sq1 up"), 0);
    assert_false(program_attached());
}

#define XDP_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        XDP_TEST(open_veth_is_native_and_says_so),
        XDP_TEST(poll_single_frame_arrives_whole),
        XDP_TEST(poll_many_frames_of_all_sizes_keep_order_and_sums),
        XDP_TEST(poll_too_late_drops_are_counted_and_sums_exact),
        XDP_TEST(frame_short_and_odd_are_handed_on_whole),
        XDP_TEST(queue_second_shares_the_program),
        XDP_TEST(tx_many_frames_arrive_whole_and_in_order),
        XDP_TEST(tx_ring_full_is_refused_and_empties_again),
        XDP_TEST(tx_interface_down_is_told),
        XDP_TEST(interface_down_and_up_goes_on),
        XDP_TEST(mtu_raised_while_open_long_frames_are_counted),
        cmocka_unit_test_setup_teardown(open_wide_mtu_takes_its_frames, setup_wide, teardown),
        cmocka_unit_test(open_mtu_too_large_for_native_is_generic_and_says_so),
        cmocka_unit_test(interface_gone_is_quiet_after_ack_and_closes),
        cmocka_unit_test(process_killed_leaves_no_program),
        cmocka_unit_test(open_wrong_arguments_are_refused_by_name),
    };

    return cmocka_run_group_tests(tests, group_setup, NULL);
}
