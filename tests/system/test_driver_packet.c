/* SPDX-License-Identifier: MIT */
/*
 * The packet driver over a real veth pair, in a network namespace of the test's own: frames
 * sent at one end by a plain AF_PACKET socket are received at the other by the driver.
 */
#include "veth_env.h"

#include <sys/wait.h>

static const char *make_veth(void)
{
    if (system("ip link add sq0 type veth peer name sq1 && "
               "ip link set sq0 arp off up && ip link set sq1 arp off up") != 0)
        return "cannot make a veth pair (is iproute2 installed, the veth module there?)";
    return NULL;
}

static int group_setup(void **state)
{
    (void)state;
    skip_reason = enter_namespace(true);
    if (!skip_reason)
        skip_reason = make_veth();
    return 0;
}

static int open_dev(unsigned ring_size, unsigned frame_size, const char *ifname)
{
    struct sirq_netdev_config config = {
        .ifname = ifname, .ring_size = ring_size, .frame_size = frame_size};

    return dev_open("packet", &config);
}

static int setup(void **state)
{
    (void)state;
    if (skip_reason)
        return 0;
    assert_int_equal(system("ip link set sq1 up"), 0);
    assert_int_equal(open_dev(64, 2048, "sq1"), 0);
    sender = open_sender_on("sq0");
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
    return 0;
}

static void send_seq(uint32_t seq, size_t len)
{
    send_seq_to(sender, seq, len);
}

static void poll_single_frame_arrives_whole_with_its_time(void **state)
{
    uint64_t before = host_now_ns(NULL), after;

    (void)state;
    NEEDS_NAMESPACE();
    assert_false(dev.irq.self_masking);
    assert_int_equal(rx_poll(64), 0);
    send_seq(1, 100);
    after = host_now_ns(NULL);
    assert_true(wait_irq(1000));
    assert_true(dev.driver->rx_pending(&dev));
    assert_int_equal(rx_poll(0), 0);
    assert_int_equal(rx_poll(64), 1);
    assert_int_equal(sink.frames, 1);
    assert_int_equal(sink.len, 100);
    /* Two clocks are compared: allow for their being read a little apart. */
    assert_in_range(sink.rx_ns, before - 1000000, after + 1000000);
    assert_false(dev.driver->rx_pending(&dev));
    assert_false(wait_irq(20));
}

static void poll_many_frames_of_all_sizes_keep_order_and_sums(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    many_frames_keep_order_and_sums(64);
}

static void poll_budget_ending_inside_a_block_goes_on_there(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    for (uint32_t seq = 1; seq <= 10; seq++)
        send_seq(seq, 60);
    for (int i = 0; i < 1000 && stats().rx_waiting < 10; i++)
        usleep(1000);
    assert_true(wait_irq(1000));
    usleep(20000); /* the timer has retired whatever block the last of them is in */
    assert_int_equal(rx_poll(3), 3);
    assert_int_equal(sink.last_seq, 3);
    assert_true(dev.driver->rx_pending(&dev));
    assert_true(wait_irq(0));
    assert_int_equal(stats().rx_waiting, 7);
    assert_int_equal(rx_poll(4), 4);
    assert_int_equal(rx_poll(64), 3);
    assert_int_equal(sink.last_seq, 10);
    assert_int_equal(sink.disorder, 0);
    assert_false(dev.driver->rx_pending(&dev));
}

static void poll_too_late_drops_are_counted_and_sums_exact(void **state)
{
    struct sirq_netdev_stats s;
    const uint32_t n = 2000;

    (void)state;
    NEEDS_NAMESPACE();
    for (uint32_t seq = 1; seq <= n / 2; seq++)
        send_seq(seq, 1514);
    s = stats();
    assert_true(s.rx_dropped > 0);
    assert_true(s.rx_waiting >= 64); /* ring_size frames of full size did fit */
    assert_int_equal(s.rx_dropped + s.rx_waiting, n / 2);
    for (uint32_t seq = n / 2 + 1; seq <= n; seq++)
        send_seq(seq, 1514);
    s = stats(); /* a second read of counters that the kernel resets */
    assert_int_equal(s.rx_packets, 0);
    assert_int_equal(s.rx_dropped + s.rx_waiting, n);
    receive(s.rx_waiting, 64);
    assert_int_equal(stats().rx_packets, s.rx_waiting);
    assert_int_equal(stats().rx_packets + stats().rx_dropped, n);
    assert_int_equal(stats().rx_waiting, 0);
    send_seq(n + 1, 60); /* and the ring works again */
    receive(s.rx_waiting + 1, 64);
    assert_int_equal(sink.last_seq, n + 1);
}

static void frame_sent_on_the_interface_itself_is_not_received(void **state)
{
    int out;

    (void)state;
    NEEDS_NAMESPACE();
    out = sender;
    sender = open_sender_on("sq0");
    {
        struct sockaddr_ll addr = {.sll_family = AF_PACKET};

        addr.sll_ifindex = (int)if_nametoindex("sq1");
        assert_int_equal(bind(sender, (struct sockaddr *)&addr, sizeof(addr)), 0);
    }
    send_seq(1, 60);
    assert_false(wait_irq(50));
    assert_int_equal(stats().rx_waiting, 0);
    close(sender);
    sender = out;
}

/* A datagram of the machine's own stack leaves its checksum to a device that has none. */
static void udp_socket_frame_has_partial_checksum_marked(void **state)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(4000)};
    int fd;

    (void)state;
    NEEDS_NAMESPACE();
    assert_int_equal(system("ip address replace 10.9.9.1/24 dev sq0"), 0);
    assert_int_equal(inet_pton(AF_INET, "10.9.9.2", &to.sin_addr), 1);
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(sendto(fd, "hello", 5, 0, (struct sockaddr *)&to, sizeof(to)), 5);
    receive(1, 64);
    assert_int_equal(sink.others, 1);
    assert_int_equal(sink.partial, 1);
    send_seq(1, 60);
    receive(2, 64);
    assert_int_equal(sink.frames, 1);
    assert_int_equal(sink.partial, 1); /* the next frame is not marked any more */
    close(fd);
}

static void interface_down_error_is_cleared_by_ack(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    assert_int_equal(system("ip link set sq1 down"), 0);
    assert_true(wait_irq(1000));
    assert_int_equal(rx_poll(64), 0);
    dev.driver->irq_ack(&dev);
    assert_false(wait_irq(20));
    assert_int_equal(system("ip link set sq1 up"), 0);
    /* The other end drops what it sends until it has seen the carrier come back. */
    for (uint32_t seq = 1; seq <= 100 && sink.frames == 0; seq++) {
        send_seq(seq, 60);
        if (wait_irq(50))
            rx_poll(64);
    }
    assert_true(sink.frames > 0);
}

static void irq_mask_goes_to_the_host(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    masks = unmasks = 0;
    dev.driver->irq_mask(&dev);
    assert_int_equal(masks, 1);
    dev.driver->irq_unmask(&dev);
    assert_int_equal(unmasks, 1);
}

static void interface_refused(const char *ifname, int rc, const char *word)
{
    const struct sirq_netdev_config config = {.ifname = ifname};

    open_refused("packet", &config, rc, word);
}

static void open_wrong_interface_is_refused_by_name(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    interface_refused("nosuch0", -ENODEV, "nosuch0");
    interface_refused("a-name-too-long-for-linux", -EINVAL, "ifname");
    interface_refused("", -EINVAL, "ifname");
    interface_refused(NULL, -EINVAL, "ifname");
    interface_refused("lo", -ENETDOWN, "ip link set lo up");
    if (system("ip tuntap add sqt mode tun 2>/dev/null && ip link set sqt up") == 0) {
        interface_refused("sqt", -EPROTONOSUPPORT, "not Ethernet");
        assert_int_equal(system("ip tuntap del sqt mode tun"), 0);
    }
}

static void open_without_permission_says_what_is_missing(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    NEEDS_NAMESPACE();
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct sirq_netdev_config config = {.ifname = "sq1"};
        struct sirq_netdev other = {.driver = sirq_driver_find("packet"), .host = &host};
        struct sirq_error err = {""};

        /* A user namespace without a say over this network namespace. */
        if (unshare(CLONE_NEWUSER) < 0)
            _exit(77);
        if (other.driver->open(&other, &config, &err) != -EPERM)
            _exit(1);
        _exit(strstr(err.text, "CAP_NET_RAW") ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("skipped: user namespaces are not permitted\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void open_longer_frames_than_a_block_enlarges_it(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    dev.driver->close(&dev);
    assert_int_equal(open_dev(4, 65536, "sq1"), 0);
    send_seq(1, 1514);
    receive(1, 64);
    assert_int_equal(sink.len, 1514);
}

#define PACKET_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PACKET_TEST(poll_single_frame_arrives_whole_with_its_time),
        PACKET_TEST(poll_many_frames_of_all_sizes_keep_order_and_sums),
        PACKET_TEST(poll_budget_ending_inside_a_block_goes_on_there),
        PACKET_TEST(poll_too_late_drops_are_counted_and_sums_exact),
        PACKET_TEST(frame_sent_on_the_interface_itself_is_not_received),
        PACKET_TEST(udp_socket_frame_has_partial_checksum_marked),
        PACKET_TEST(interface_down_error_is_cleared_by_ack),
        PACKET_TEST(irq_mask_goes_to_the_host),
        PACKET_TEST(open_wrong_interface_is_refused_by_name),
        PACKET_TEST(open_without_permission_says_what_is_missing),
        PACKET_TEST(open_longer_frames_than_a_block_enlarges_it),
    };

    return cmocka_run_group_tests(tests, group_setup, NULL);
}
