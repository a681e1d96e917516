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
 * one frame again and again to the veth.  Both are paced: what is sent without a pause fills the
 * veth's ring of 256 frames and is lost there in bursts.
 */
#include "wire.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* Until `sent` packets are due at `pps`. */
static void wait_for(uint64_t start_ns, uint64_t pps, uint64_t sent)
{
    while ((bench_now_ns() - start_ns) / 1000 * pps < sent * 1000000)
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

/*
 * A call sets up pages of its own, which takes milliseconds, so there is one for all frames; the
 * program itself waits until a batch is due.  Frames leave with the last one of their batch.
 */
#define PAGE_BATCH 16
#define PAGE_FRAMES (1 << 30) /* more than a sender has time for */
#define PAGE_LOOKS 4000       /* at the clock, at most: the verifier follows each of them */

#define INSN(CODE, DST, SRC, OFF, IMM)                                                 \
    {                                                                                  \
        .code = (CODE), .dst_reg = (DST), .src_reg = (SRC), .off = (OFF), .imm = (IMM) \
    }

/*
 * struct { uint64_t frames, due_ns; } *at = the one entry of `map`;
 *
 * if (at->frames++ % PAGE_BATCH == 0) {
 *     for (i = PAGE_LOOKS; ktime_get_ns() < at->due_ns && --i != 0; )
 *         ;
 *     at->due_ns += interval_ns;
 * }
 * return bpf_redirect(ifindex, 0);
 */
static int redirect_load(int map, unsigned ifindex, unsigned interval_ns)
{
    const struct bpf_insn code[] = {
        /* NOLINTBEGIN(misc-redundant-expression) */
        INSN(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0),
        INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
        {0}, /* the upper half of the constant */
        INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
        INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4),
        INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
        INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 15, 0),
        INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_0, 0, 0),
        INSN(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_7, BPF_REG_6, 0, 0),
        INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_7, 0, 0),
        INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, 1),
        INSN(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_6, BPF_REG_1, 0, 0),
        INSN(BPF_JMP | BPF_JSET | BPF_K, BPF_REG_7, 0, 9, PAGE_BATCH - 1),
        INSN(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_7, BPF_REG_6, 8, 0),
        INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_8, 0, 0, PAGE_LOOKS),
        INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ktime_get_ns),
        INSN(BPF_JMP | BPF_JGE | BPF_X, BPF_REG_0, BPF_REG_7, 2, 0),
        INSN(BPF_ALU64 | BPF_SUB | BPF_K, BPF_REG_8, 0, 0, 1),
        INSN(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_8, 0, -4, 0),
        INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_7, 0, 0, (int)interval_ns),
        INSN(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_6, BPF_REG_7, 8, 0),
        INSN(BPF_JMP | BPF_JA, 0, 0, 0, 0),
        INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, (int)ifindex),
        INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 0),
        INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect),
        INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
        /* NOLINTEND(misc-redundant-expression) */
    };

    return bpf_prog_load(BPF_PROG_TYPE_XDP, "wire_send", "MIT", code,
                         sizeof(code) / sizeof(code[0]), NULL);
}

static void send_pages(const struct bench_options *options, uint64_t pps,
                       const struct wire_subject *to)
{
    const uint64_t begin[2] = {0, bench_now_ns()};
    const uint32_t only = 0;
    static uint8_t frame[FRAME_LEN];
    int map =
        bpf_map_create(BPF_MAP_TYPE_ARRAY, "wire_pace", sizeof(uint32_t), sizeof(begin), 1, NULL);
    LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = FRAME_LEN,
                .repeat = PAGE_FRAMES, .batch_size = PAGE_BATCH,
                .flags = BPF_F_TEST_XDP_LIVE_FRAMES);
    int fd;

    if (map < 0 || bpf_map_update_elem(map, &only, begin, BPF_ANY) != 0)
        bench_die("wire: sender: BPF map", errno);
    fd = redirect_load(map, if_nametoindex(WIRE_TX), (unsigned)(PAGE_BATCH * 1000000000ull / pps));
    if (fd < 0)
        bench_die("wire: sender: XDP program", errno);
    bench_pin(options->other);
    build_frame(frame, to, 0);
    if (bpf_prog_test_run_opts(fd, &opts) != 0)
        bench_die("wire: sender: live frames (Linux 5.18)", errno);
    pause(); /* all sent: to be killed */
}

const struct wire_sender wire_pages = {.metric = "64-byte UDP, pages", .send = send_pages};

#else

const struct wire_sender wire_pages = {.metric = "64-byte UDP, pages", .send = NULL};

#endif
