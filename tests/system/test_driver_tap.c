/* SPDX-License-Identifier: MIT */
/* The tap driver and the kernel's end of its interface, in a namespace of the test's own. */
#include "veth_env.h"

#define RING 64u

static int group_setup(void **state)
{
    (void)state;
    skip_reason = enter_namespace(false);
    if (!skip_reason && access("/dev/net/tun", R_OK | W_OK) != 0)
        skip_reason = "/dev/net/tun is not there";
    return 0;
}

static int setup(void **state)
{
    const struct sirq_netdev_config config = {
        .ifname = "sqt", .ring_size = RING, .frame_size = 1600};

    (void)state;
    if (skip_reason)
        return 0;
    assert_int_equal(dev_open("tap", &config), 0);
    assert_int_equal(system("ip link set sqt arp off"), 0);
    sender = open_sender_on("sqt");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (skip_reason)
        return 0;
    close(sender);
    dev.driver->close(&dev);
    assert_null(dev.priv);
    assert_int_equal(if_nametoindex("sqt"), 0); /* it went with its descriptor */
    return 0;
}

static void poll_single_frame_arrives_whole(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    assert_int_equal(rx_poll(64), 0);
    assert_false(dev.driver->rx_pending(&dev));
    send_seq_to(sender, 1, 100);
    assert_true(wait_irq(1000));
    assert_true(dev.driver->rx_pending(&dev));
    assert_int_equal(rx_poll(0), 0);
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

static void poll_too_late_drops_are_counted_and_sums_exact(void **state)
{
    uint32_t seq = 0;

    (void)state;
    NEEDS_NAMESPACE();
    while (seq < 500)
        send_seq_to(sender, ++seq, 1000);
    while (dev.driver->rx_pending(&dev))
        rx_poll(64);
    assert_true(sink.frames >= RING);
    assert_true(stats().rx_dropped > 0);
    assert_int_equal(stats().rx_packets + stats().rx_dropped, seq);
    assert_int_equal(sink.disorder, 0);
}

static void frame_longer_than_frame_size_is_an_error_and_not_handed_on(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    assert_int_equal(system("ip link set sqt mtu 3000"), 0);
    send_seq_to(sender, 1, 1600);
    send_seq_to(sender, 2, 1601);
    send_seq_to(sender, 3, 3000);
    send_seq_to(sender, 4, 60);
    assert_int_equal(rx_poll(64), 4);
    assert_int_equal(sink.frames, 2);
    assert_int_equal(sink.last_seq, 4);
    assert_int_equal(stats().rx_errors, 2);
    assert_int_equal(stats().rx_packets, 2);
}

static void tx_frame_arrives_at_the_interface(void **state)
{
    uint8_t frame[60] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, got[128];

    (void)state;
    NEEDS_NAMESPACE();
    frame[12] = ETHERTYPE >> 8;
    frame[13] = ETHERTYPE & 0xff;
    frame[59] = 7;
    assert_int_equal(dev.driver->tx(NULL, &dev, frame, sizeof(frame)), 0);
    assert_int_equal(recv(sender, got, sizeof(got), 0), sizeof(frame));
    assert_memory_equal(frame, got, sizeof(frame));
    assert_int_equal(stats().tx_packets, 1);
    assert_int_equal(dev.driver->tx(NULL, &dev, frame, 1601), -EMSGSIZE);
    assert_int_equal(system("ip link set sqt down"), 0);
    assert_int_equal(dev.driver->tx(NULL, &dev, frame, sizeof(frame)), -ENETDOWN);
    assert_int_equal(stats().tx_packets, 1);
}

/* Two stations on one wire do not have one address. */
static void open_mac_is_not_the_kernels(void **state)
{
    char kernel[18] = "", ours[18];
    FILE *pipe;

    (void)state;
    NEEDS_NAMESPACE();
    pipe = popen("ip -br link show sqt | tr -s ' ' | cut -d' ' -f3", "r");
    assert_non_null(pipe);
    assert_int_equal(fread(kernel, 1, 17, pipe), 17);
    pclose(pipe);
    snprintf(ours, sizeof(ours), "%02x:%02x:%02x:%02x:%02x:%02x", dev.mac[0], dev.mac[1],
             dev.mac[2], dev.mac[3], dev.mac[4], dev.mac[5]);
    assert_string_not_equal(ours, kernel);
    assert_int_equal(dev.mac[0] & 3, 2);
    assert_int_equal(dev.mtu, 1500);
}

static void queue_second_of_one_interface_takes_frames_too(void **state)
{
    const struct sirq_netdev_config config = {.ifname = "sqt", .ring_size = RING, .queue = 1};
    struct sirq_netdev second = {.driver = dev.driver, .host = &host};
    uint32_t seq = 0;

    (void)state;
    NEEDS_NAMESPACE();
    assert_int_equal(second.driver->open(&second, &config, NULL), 0);
    while (seq < 40) { /* of 40 flows */
        send_seq_to(sender, ++seq, 60);
        rx_poll(64);
        second.driver->rx_poll(NULL, &second, 64);
    }
    assert_int_equal(sink.frames, seq);
    second.driver->close(&second);
    assert_int_not_equal(if_nametoindex("sqt"), 0);
}

static void interface_deleted_is_quiet_and_closes(void **state)
{
    const struct sirq_netdev_config config = {.ifname = "sqv"};

    (void)state;
    NEEDS_NAMESPACE();
    assert_int_equal(dev_open("tap", &config), 0);
    assert_int_equal(system("ip link del sqv"), 0);
    assert_int_equal(rx_poll(64), 0);
    assert_false(dev.driver->rx_pending(&dev));
    assert_int_equal(dev.driver->tx(NULL, &dev, (const uint8_t[60]){0}, 60), -ENETDOWN);
    dev.driver->close(&dev);
}

static void open_existing_is_attached_and_stays(void **state)
{
    const struct sirq_netdev_config config = {.ifname = "sqe"};

    (void)state;
    NEEDS_NAMESPACE();
    assert_int_equal(system("ip tuntap add sqe mode tap && ip link set sqe arp off up"), 0);
    assert_int_equal(dev_open("tap", &config), 0);
    open_refused("tap", &config, -EBUSY, "sqe is in use");
    sender = open_sender_on("sqe");
    /* What is sent before the kernel has noted the carrier is lost. */
    for (uint32_t seq = 1; seq <= 100 && sink.frames == 0; seq++) {
        send_seq_to(sender, seq, 60);
        if (wait_irq(50))
            rx_poll(64);
    }
    assert_true(sink.frames > 0);
    close(sender);
    dev.driver->close(&dev);
    assert_int_not_equal(if_nametoindex("sqe"), 0);
    assert_int_equal(system("ip tuntap del sqe mode tap"), 0);
}

static void open_wrong_arguments_are_refused_by_name(void **state)
{
    struct sirq_netdev_config config = {.ifname = "lo"};

    (void)state;
    NEEDS_NAMESPACE();
    open_refused("tap", &config, -EINVAL, "interface lo");
    config.ifname = "sq%d";
    open_refused("tap", &config, -EINVAL, "ifname");
    config.ifname = NULL;
    open_refused("tap", &config, -EINVAL, "ifname");
    config.queue = 256;
    open_refused("tap", &config, -EINVAL, "queue 256");
}

#define TAP_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TAP_TEST(poll_single_frame_arrives_whole),
        TAP_TEST(poll_many_frames_of_all_sizes_keep_order_and_sums),
        TAP_TEST(poll_too_late_drops_are_counted_and_sums_exact),
        TAP_TEST(frame_longer_than_frame_size_is_an_error_and_not_handed_on),
        TAP_TEST(tx_frame_arrives_at_the_interface),
        TAP_TEST(open_mac_is_not_the_kernels),
        TAP_TEST(queue_second_of_one_interface_takes_frames_too),
        cmocka_unit_test(interface_deleted_is_quiet_and_closes),
        cmocka_unit_test(open_existing_is_attached_and_stays),
        cmocka_unit_test(open_wrong_arguments_are_refused_by_name),
    };

    return cmocka_run_group_tests(tests, group_setup, NULL);
}
