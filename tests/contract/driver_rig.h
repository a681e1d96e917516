/* SPDX-License-Identifier: MIT */
/* Drivers, each with what is at the other end of its device.  Included once, by the test. */
#ifndef SIRQ_TESTS_DRIVER_RIG_H
#define SIRQ_TESTS_DRIVER_RIG_H

#include "../system/veth_env.h"

#include <sirq/shm.h>
#include <sys/stat.h>

#define RING 64u
#define LEN 100u
#define FRAME_MAX 1514u

/* A driver with what is at the other end of its device. */
struct rig {
    const char *name;
    const char *(*prepare)(void); /* once; null, or why it cannot be tested here */
    int (*open)(uint32_t frames); /* the device; `frames` will be sent to it at most */
    void (*send)(uint32_t from, uint32_t n);
    /* The next frame that the device sent, its length, or 0 when none comes; null: it cannot. */
    uint32_t (*sent)(uint8_t *frame);
    void (*close)(void);
};

static const struct rig *rig;

static void make_frame(uint8_t *frame, uint32_t seq, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        frame[i] = (uint8_t)(seq * 7 + i);
    memset(frame, 0xff, 12);
    frame[12] = ETHERTYPE >> 8;
    frame[13] = ETHERTYPE & 0xff;
    memcpy(frame + HEADER, &seq, sizeof(seq));
}

/* ---- an interface of the system ---------------------------------------------------------------- */

static const char *prepare_veth(void)
{
    const char *why = enter_namespace(false);
    struct sirq_netdev probe = {.driver = sirq_driver_find(rig->name), .host = &host};
    const struct sirq_netdev_config config = {.ifname = "sq1"};
    static struct sirq_error err;

    if (why != NULL)
        return why;
    if (system("ip link add sq0 type veth peer name sq1 && "
               "ip link set sq0 arp off up && ip link set sq1 arp off up") != 0)
        return "cannot make a veth pair (is iproute2 installed, the veth module there?)";
    if (probe.driver->open(&probe, &config, &err) != 0)
        return err.text;
    probe.driver->close(&probe);
    return NULL;
}

static const char *prepare_tap(void)
{
    const char *why = enter_namespace(true);

    if (why == NULL && access("/dev/net/tun", R_OK | W_OK) != 0)
        why = "/dev/net/tun is not there";
    return why;
}

/* Frames that the device sent come in at `ifname`; others go out of it to the device. */
static int open_ends(const char *driver, const char *ifname, const char *end)
{
    const struct sirq_netdev_config config = {
        .ifname = ifname, .ring_size = RING, .frame_size = 2048};
    int rc = dev_open(driver, &config);

    if (rc == 0 && strcmp(ifname, end) == 0)
        assert_int_equal(system("ip link set sqt arp off"), 0);
    if (rc == 0)
        sender = open_sender_on(end);
    return rc;
}

static int open_packet(uint32_t frames)
{
    (void)frames;
    return open_ends("packet", "sq1", "sq0");
}

static int open_xdp(uint32_t frames)
{
    (void)frames;
    return open_ends("xdp", "sq1", "sq0");
}

static int open_tap(uint32_t frames)
{
    (void)frames;
    return open_ends("tap", "sqt", "sqt");
}

static void send_out(uint32_t from, uint32_t n)
{
    uint8_t frame[LEN];

    for (uint32_t seq = from; seq < from + n; seq++) {
        make_frame(frame, seq, LEN);
        for (unsigned tries = 0; send(sender, frame, LEN, 0) != LEN; tries++) {
            assert_true(errno == ENOBUFS &&
                        tries < 1000); /* a queue of the whole machine is full */
            usleep(1000);
        }
    }
}

static uint32_t come_in(uint8_t *frame)
{
    struct pollfd pfd = {.fd = sender, .events = POLLIN};
    ssize_t n = poll(&pfd, 1, 2000) == 1 ? recv(sender, frame, FRAME_MAX, 0) : 0;

    return n > 0 ? (uint32_t)n : 0;
}

static void close_ends(void)
{
    close(sender);
    sender = -1;
}

/* ---- memory ------------------------------------------------------------------------------------ */

static struct sirq_shm *wire;

static int open_shm(uint32_t frames)
{
    const struct sirq_netdev_config config = {.ring_size = RING, .frame_size = 2048};
    int rc = dev_open("shm", &config);

    (void)frames;
    return rc == 0 ? sirq_shm_attach(&wire, &dev) : rc;
}

static void send_shm(uint32_t from, uint32_t n)
{
    uint8_t frame[LEN];

    for (uint32_t seq = from; seq < from + n; seq++) {
        make_frame(frame, seq, LEN);
        sirq_shm_send(wire, frame, LEN, 1);
    }
}

static uint32_t sent_shm(uint8_t *frame)
{
    uint32_t len;
    const void *at = sirq_shm_receive(wire, &len, NULL);

    if (at == NULL)
        return 0;
    memcpy(frame, at, len);
    sirq_shm_received(wire);
    return len;
}

static void close_shm(void)
{
    sirq_shm_close(wire);
}

/* ---- a capture --------------------------------------------------------------------------------- */

static const char *prepare_pcap(void)
{
    static struct sirq_error err;
    struct sirq_netdev probe = {.driver = sirq_driver_find("pcap"), .host = &host};
    const struct sirq_netdev_config config = {.file = "/nowhere"};

    return probe.driver->open(&probe, &config, &err) == -ENOTSUP ? err.text : NULL;
}

/* All that will be sent is in the file; it begins when the device is unmasked. */
static int open_pcap(uint32_t frames)
{
    static const uint32_t head[6] = {0xa1b2c3d4, 0x00040002, 0, 0, 65535, 1};
    char capture[] = "/tmp/sirq-contract-XXXXXX";
    const struct sirq_netdev_config config = {
        .file = capture, .replay_pps = SIRQ_REPLAY_POLLED, .ring_size = RING};
    int fd = mkstemp(capture), rc;
    FILE *file = fdopen(fd, "w");

    assert_non_null(file);
    fwrite(head, sizeof(head), 1, file);
    for (uint32_t seq = 1; seq <= frames; seq++) {
        const uint32_t record[4] = {1000, seq, LEN, LEN};
        uint8_t frame[LEN];

        make_frame(frame, seq, LEN);
        fwrite(record, sizeof(record), 1, file);
        fwrite(frame, LEN, 1, file);
    }
    assert_int_equal(fclose(file), 0);
    rc = dev_open("pcap", &config);
    unlink(capture);
    return rc;
}

static void send_pcap(uint32_t from, uint32_t n)
{
    (void)from, (void)n;
}

static void close_pcap(void)
{
}

static const struct rig rigs[] = {
    {"shm", NULL, open_shm, send_shm, sent_shm, close_shm},
    {"pcap", prepare_pcap, open_pcap, send_pcap, NULL, close_pcap},
    {"packet", prepare_veth, open_packet, send_out, come_in, close_ends},
    {"tap", prepare_tap, open_tap, send_out, come_in, close_ends},
    {"xdp", prepare_veth, open_xdp, send_out, come_in, close_ends},
};

#endif
