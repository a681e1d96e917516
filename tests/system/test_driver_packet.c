/* SPDX-License-Identifier: MIT */
/*
 * The packet driver over a real veth pair, in a network namespace of the test's own: frames
 * sent at one end by a plain AF_PACKET socket are received at the other by the driver.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sirq/driver.h>

#define ETHERTYPE 0x88b5 /* local experimental: nobody else's frames are counted */
#define HEADER 14u

/* What the stack was given; frames of other types are the machine's own (`others`). */
static struct {
    uint64_t frames, others, disorder, partial;
    uint32_t last_seq, len;
    uint64_t rx_ns;
} sink;

static const char *skip_reason; /* null: the namespace and its veth pair are there */
static int sender = -1;
static struct sirq_netdev dev;
static unsigned masks, unmasks;

enum sirq_drop sirq_net_rx(struct sirq_cpu *cpu, struct sirq_netdev *netdev, const uint8_t *frame,
                           uint32_t len, uint64_t rx_ns)
{
    uint32_t seq;

    (void)cpu;
    sink.partial += netdev->rx_csum_partial;
    if (len < HEADER + sizeof(seq) || frame[12] != ETHERTYPE >> 8 ||
        frame[13] != (ETHERTYPE & 0xff)) {
        sink.others++;
        return SIRQ_DROP_ETH_TYPE;
    }
    memcpy(&seq, frame + HEADER, sizeof(seq));
    sink.frames++;
    sink.disorder += seq <= sink.last_seq;
    sink.last_seq = seq;
    sink.len = len;
    sink.rx_ns = rx_ns;
    return SIRQ_DELIVERED;
}

static uint64_t host_now_ns(const struct sirq_cpu *cpu)
{
    struct timespec ts;

    (void)cpu;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void host_irq_mask(struct sirq_irq *irq)
{
    assert_ptr_equal(irq, &dev.irq);
    masks++;
}

static void host_irq_unmask(struct sirq_irq *irq)
{
    assert_ptr_equal(irq, &dev.irq);
    unmasks++;
}

static const struct sirq_host host = {
    .now_ns = host_now_ns, .irq_mask = host_irq_mask, .irq_unmask = host_irq_unmask};

/* ---- a namespace of our own ------------------------------------------------------------ */

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return ok;
}

static const char *enter_namespace(void)
{
    char map[32];
    unsigned uid = geteuid();

    if (uid == 0 && unshare(CLONE_NEWNET) == 0)
        return NULL;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
        return "network namespaces are not permitted (run as root, or allow user namespaces)";
    snprintf(map, sizeof(map), "0 %u 1", uid);
    if (!write_file("/proc/self/setgroups", "deny") || !write_file("/proc/self/uid_map", map))
        return "cannot map the user into a namespace";
    return NULL;
}

static const char *make_veth(void)
{
    /* No IPv6: its neighbour discovery would send frames of its own. */
    write_file("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    write_file("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    if (system("ip link add sq0 type veth peer name sq1 && "
               "ip link set sq0 arp off up && ip link set sq1 arp off up") != 0)
        return "cannot make a veth pair (is iproute2 installed, the veth module there?)";
    return NULL;
}

static int group_setup(void **state)
{
    (void)state;
    skip_reason = enter_namespace();
    if (!skip_reason)
        skip_reason = make_veth();
    return 0;
}

static int open_sender(void)
{
    struct sockaddr_ll addr = {.sll_family = AF_PACKET};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

    addr.sll_ifindex = (int)if_nametoindex("sq0");
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    return fd;
}

static int open_dev(unsigned ring_size, unsigned frame_size, const char *ifname)
{
    struct sirq_netdev_config config = {
        .ifname = ifname, .ring_size = ring_size, .frame_size = frame_size};
    struct sirq_error err = {""};
    int rc;

    memset(&sink, 0, sizeof(sink));
    dev = (struct sirq_netdev){.driver = sirq_driver_find("packet"), .host = &host};
    rc = dev.driver->open(&dev, &config, &err);
    if (rc < 0)
        print_message("%s\n", err.text);
    return rc;
}

static int setup(void **state)
{
    (void)state;
    if (skip_reason)
        return 0;
    assert_int_equal(system("ip link set sq1 up"), 0);
    assert_int_equal(open_dev(64, 2048, "sq1"), 0);
    sender = open_sender();
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

#define NEEDS_NAMESPACE()                                \
    do {                                                 \
        if (skip_reason) {                               \
            print_message("skipped: %s\n", skip_reason); \
            skip();                                      \
        }                                                \
    } while (0)

static void send_seq(uint32_t seq, size_t len)
{
    uint8_t frame[1514] = {0};

    memset(frame, 0xff, 12);
    frame[12] = ETHERTYPE >> 8;
    frame[13] = ETHERTYPE & 0xff;
    memcpy(frame + HEADER, &seq, sizeof(seq));
    assert_int_equal(send(sender, frame, len, 0), len);
}

static int rx_poll(int budget)
{
    return dev.driver->rx_poll(NULL, &dev, budget);
}

static struct sirq_netdev_stats stats(void)
{
    struct sirq_netdev_stats out = {0};

    dev.driver->stats(&dev, &out);
    return out;
}

/* Wait for a retired block, as the host does. */
static bool wait_irq(int timeout_ms)
{
    struct pollfd pfd = {.fd = dev.irq.fd, .events = POLLIN};

    return poll(&pfd, 1, timeout_ms) == 1;
}

/* Take what comes until `n` frames are there or nothing has come for a second. */
static void receive(uint64_t n, int budget)
{
    while (sink.frames + sink.others < n && wait_irq(1000))
        rx_poll(budget);
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
    uint32_t seq = 0;

    (void)state;
    NEEDS_NAMESPACE();
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 25; i++, seq++)
            send_seq(seq + 1, 60 + seq % 1455);
        receive(seq, 64);
    }
    assert_int_equal(sink.frames, seq);
    assert_int_equal(sink.disorder, 0);
    assert_int_equal(stats().rx_packets, seq);
    assert_int_equal(stats().rx_dropped, 0);
    assert_int_equal(stats().rx_waiting, 0);
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
    sender = open_sender();
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

static void open_refused(const char *ifname, int rc, const char *word)
{
    struct sirq_netdev_config config = {.ifname = ifname};
    struct sirq_netdev other = {.driver = sirq_driver_find("packet"), .host = &host};
    struct sirq_error err = {""};
    int fd = dup(0);

    close(fd);
    assert_int_equal(other.driver->open(&other, &config, &err), rc);
    assert_non_null(strstr(err.text, word));
    assert_null(other.priv);
    assert_int_equal(dup(0), fd); /* no descriptor was left open */
    close(fd);
}

static void open_wrong_interface_is_refused_by_name(void **state)
{
    (void)state;
    NEEDS_NAMESPACE();
    open_refused("nosuch0", -ENODEV, "nosuch0");
    open_refused("a-name-too-long-for-linux", -EINVAL, "ifname");
    open_refused("", -EINVAL, "ifname");
    open_refused(NULL, -EINVAL, "ifname");
    open_refused("lo", -ENETDOWN, "ip link set lo up");
    if (system("ip tuntap add sqt mode tun 2>/dev/null && ip link set sqt up") == 0) {
        open_refused("sqt", -EPROTONOSUPPORT, "not Ethernet");
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
