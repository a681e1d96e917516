/* SPDX-License-Identifier: MIT */
/*
 * The senders of the part `wire`.  Over a veth pair it matters in which form a frame comes:
 *
 *   skb    from a socket of this machine, in a socket buffer.  A veth with an XDP program copies
 *          it into a page first, since the program wants 256 bytes in front of the frame; a veth
 *          without one hands it up as it is, and the sender has paid for the buffer.
 *   page   as the driver of a NIC has it, in a page with room in front (an XDP frame).  It goes to
 *          an XDP program as it is, and the kernel's stack has to put it into a buffer first,
 *          as it does with every frame that comes from a wire.
 *
 * The second is what a receiver meets on a machine whose senders are elsewhere.  It is made by
 * the kernel's own generator (BPF_PROG_TEST_RUN with live frames, Linux 5.18), which redirects
 * one frame again and again to the veth.
 */
#include "wire.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#ifdef BENCH_BPF
#include <bpf/bpf.h>
#endif

#define BURST 32u
#define FRAME_LEN 64u

const uint8_t wire_mac[6] = {2, 0, 0, 0, 0, 3};

/*
 * UDP without checksum, of the `flow`-th source port.  A frame for another station goes no
 * further into the kernel's stack than a tap on the interface.
 */
static void build_frame(uint8_t *at, const struct wire_subject *to, unsigned flow)
{
    static const uint8_t header[] = {0x08, 0,  0x45, 0, 0, 50, 0,  0, 0,
                                     0,    64, 17,   0, 0, 10, 77, 0, 2};
    uint32_t sum = 0;

    memset(at, 0, FRAME_LEN);
    memcpy(at, wire_mac, sizeof(wire_mac));
    if (to->kernel)
        at[5] = 2;
    at[6] = 2;
    at[11] = 1;
    memcpy(at + 12, header, sizeof(header));
    for (unsigned i = 0; i < 4; i++)
        at[30 + i] = (uint8_t)(to->dest >> (24 - 8 * i));
    for (unsigned i = 14; i < 34; i += 2)
        sum += (uint32_t)at[i] << 8 | at[i + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~(sum + (sum >> 16));
    at[24] = (uint8_t)(sum >> 8);
    at[25] = (uint8_t)sum;
    at[34] = 0x30; /* source port 12288 and on */
    at[35] = (uint8_t)flow;
    at[36] = WIRE_PORT >> 8;
    at[37] = WIRE_PORT & 0xff;
    at[39] = 30; /* 8 + 22 bytes */
}

/* Until `sent` packets are due at `pps`; 0: at once. */
static void wait_for(uint64_t start_ns, uint64_t pps, uint64_t sent)
{
    while (pps != 0 && (bench_now_ns() - start_ns) / 1000 * pps < sent * 1000000)
        ;
}

static void send_skbs(const struct bench_options *options, uint64_t pps,
                      const struct wire_subject *to)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(WIRE_TX)};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), on = 1;
    struct iovec iov[BURST];
    struct mmsghdr msgs[BURST] = {0};
    static uint8_t frames[BURST][FRAME_LEN];
    uint64_t start = bench_now_ns();

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
        bench_die("wire: sender", errno);
    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on));
    bench_pin(options->other);
    for (unsigned i = 0; i < BURST; i++) {
        build_frame(frames[i], to, i);
        iov[i] = (struct iovec){frames[i], FRAME_LEN};
        msgs[i].msg_hdr.msg_iov = &iov[i];
        msgs[i].msg_hdr.msg_iovlen = 1;
    }
    for (uint64_t sent = 0;; sent += BURST) {
        wait_for(start, pps, sent);
        sendmmsg(fd, msgs, BURST, 0);
    }
}

const struct wire_sender wire_skbs = {.metric = "64-byte UDP, skbs", .send = send_skbs};

#ifdef BENCH_BPF

/* Each call sets up pages of its own, so one call makes many frames. */
#define PAGE_BURST 256u

/* return bpf_redirect(ifindex, 0); */
static int redirect_load(unsigned ifindex)
{
    const struct bpf_insn code[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1, .imm = (int)ifindex},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 0},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect},
        {.code = BPF_JMP | BPF_EXIT},
    };

    return bpf_prog_load(BPF_PROG_TYPE_XDP, "wire_send", "MIT", code,
                         sizeof(code) / sizeof(code[0]), NULL);
}

static void send_pages(const struct bench_options *options, uint64_t pps,
                       const struct wire_subject *to)
{
    static uint8_t frame[FRAME_LEN];
    int fd = redirect_load(if_nametoindex(WIRE_TX));
    uint64_t start = bench_now_ns();
    unsigned burst = pps != 0 ? PAGE_BURST : 64 * PAGE_BURST;
    LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = FRAME_LEN,
                .repeat = (int)burst, .flags = BPF_F_TEST_XDP_LIVE_FRAMES);

    if (fd < 0)
        bench_die("wire: sender: XDP program", errno);
    bench_pin(options->other);
    for (uint64_t sent = 0;; sent += burst) {
        build_frame(frame, to, (unsigned)(sent / burst) % BURST);
        wait_for(start, pps, sent);
        if (bpf_prog_test_run_opts(fd, &opts) != 0)
            bench_die("wire: sender: live frames (Linux 5.18)", errno);
    }
}

const struct wire_sender wire_pages = {.metric = "64-byte UDP, pages", .send = send_pages};

#else

const struct wire_sender wire_pages = {.metric = "64-byte UDP, pages", .send = NULL};

#endif
