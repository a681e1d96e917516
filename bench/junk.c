/* SPDX-License-Identifier: MIT */
/*
 * junk: UDP datagrams that mean nothing, out of an interface as fast as was asked for, for the
 * benchmark of DNS.  At its end it prints how many it sent and how long that took.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BURST 65536u
#define FLOWS 64u
#define FRAME 64u

static volatile sig_atomic_t ended;

static void on_end(int signo)
{
    (void)signo;
    ended = 1;
}

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "junk: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* To 192.0.2.1 from 192.0.2.2, from another port each; eight bytes that are no query. */
static void build(uint8_t *at, const uint8_t *mac, unsigned port, unsigned flow)
{
    static const uint8_t ip[] = {0x08, 0x00, 0x45, 0,   0, 36, 0, 0,   0, 0, 64,
                                 17,   0,    0,    192, 0, 2,  2, 192, 0, 2, 1};
    uint32_t sum = 0;

    memset(at, 0, FRAME);
    memcpy(at, mac, 6);
    at[6] = 2;
    memcpy(at + 12, ip, sizeof(ip));
    for (unsigned i = 14; i < 34; i += 2)
        sum += (uint32_t)at[i] << 8 | at[i + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~(sum + (sum >> 16));
    at[24] = (uint8_t)(sum >> 8);
    at[25] = (uint8_t)sum;
    at[34] = (uint8_t)(0x90 + (flow >> 8));
    at[35] = (uint8_t)flow;
    at[36] = (uint8_t)(port >> 8);
    at[37] = (uint8_t)port;
    at[39] = 16;
}

/*
 * The kernel's generator (BPF_PROG_TEST_RUN with live frames, Linux 5.18) makes frames in pages, as
 * a NIC has them, and takes long to begin: one call makes many.  So the program keeps the pace:
 *
 *     start = ktime(); do if (ktime() - start >= gap) break; while (--n); redirect(ifindex)
 */
static int load_program(const char *ifname, unsigned gap_ns)
{
    const int ifindex = (int)if_nametoindex(ifname), ktime = BPF_FUNC_ktime_get_ns;
    const struct bpf_insn code[] = {
        {.code = BPF_JMP | BPF_CALL, .imm = ktime},
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 0},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 7, .imm = 1000},
        {.code = BPF_JMP | BPF_CALL, .imm = ktime},
        {.code = BPF_ALU64 | BPF_SUB | BPF_X, .dst_reg = 0, .src_reg = 6},
        {.code = BPF_JMP | BPF_JGE | BPF_K, .dst_reg = 0, .off = 2, .imm = (int)gap_ns},
        {.code = BPF_ALU64 | BPF_SUB | BPF_K, .dst_reg = 7, .imm = 1},
        {.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 7, .off = -5, .imm = 0},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = ifindex},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 0},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect},
        {.code = BPF_JMP | BPF_EXIT},
    };
    int fd =
        bpf_prog_load(BPF_PROG_TYPE_XDP, "junk", "MIT", code, sizeof(code) / sizeof(code[0]), NULL);

    if (fd < 0)
        die("XDP program");
    return fd;
}

static void send_burst(int fd, const uint8_t *mac, unsigned port, unsigned flow)
{
    uint8_t frame[FRAME];
    LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = FRAME, .repeat = BURST,
                .flags = BPF_F_TEST_XDP_LIVE_FRAMES);

    build(frame, mac, port, flow);
    if (bpf_prog_test_run_opts(fd, &opts) != 0 && errno != EINTR)
        die("live frames");
}

static uint64_t flood(int fd, const uint8_t *mac, unsigned port, uint64_t end_ns)
{
    uint64_t sent = 0;

    for (; !ended && now_ns() < end_ns; sent += BURST)
        send_burst(fd, mac, port, (unsigned)(sent / BURST) % FLOWS);
    return sent;
}

int main(int argc, char **argv)
{
    uint64_t start, sent;
    double seconds;
    unsigned mac[6];
    uint8_t to[6];
    cpu_set_t cpu;

    if (argc != 7 || sscanf(argv[2], "%x:%x:%x:%x:%x:%x", &mac[0], &mac[1], &mac[2], &mac[3],
                            &mac[4], &mac[5]) != 6) {
        fprintf(stderr,
                "usage: %s IFNAME MAC PORT GAP-NS SECONDS CPU   (gap: least between frames)\n",
                argv[0]);
        return 2;
    }
    for (unsigned i = 0; i < 6; i++)
        to[i] = (uint8_t)mac[i];
    signal(SIGTERM, on_end);
    CPU_ZERO(&cpu);
    CPU_SET((unsigned)atoi(argv[6]), &cpu);
    if (sched_setaffinity(0, sizeof(cpu), &cpu) != 0)
        die("affinity");
    start = now_ns();
    sent = flood(load_program(argv[1], (unsigned)atoi(argv[4])), to, (unsigned)atoi(argv[3]),
                 start + (uint64_t)(atof(argv[5]) * 1e9));
    seconds = (double)(now_ns() - start) / 1e9;
    printf("%llu %.3f\n", (unsigned long long)sent, seconds);
    return 0;
}
