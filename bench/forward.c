/* SPDX-License-Identifier: MIT */
/*
 * 64-byte datagrams from one veth pair to another: how many a router sends on for a second of
 * CPU, as they are, and behind one address: through our NAT44 and the kernel's masquerade.
 *
 * They come to WIRE_RX and go to a host of a network behind a neighbour on the second pair,
 * whose far end is in a namespace of its own: a neighbour that answers, and drops the rest.  They
 * are counted where they leave, by the interface that takes them, for all routers alike; all CPU
 * time of the routing side is counted, as in wire.c, and the far end is polled on the other CPU.
 */
#include "wire.h"

#include <sirq/inet.h>
#include <sirq/nat.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUT "wo0"
#define OUT_ADDR "10.78.0.1"
#define GATEWAY 0x0a4e0002u /* 10.78.0.2, of WIRE_SINK */
#define FAR 0x0a4f0001u     /* 10.79.0.1, behind it */

/* The namespace of the far end, which ends with this process. */
static const char *sink_enter(void)
{
    int ready[2], moved[2];
    char cmd[128], byte = 0;
    pid_t sink;

    if (pipe(ready) != 0 || pipe(moved) != 0 || (sink = fork()) < 0)
        return "no process can be made";
    if (sink == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (wire_net_unshare() != NULL || write(ready[1], "", 1) != 1 ||
            read(moved[0], &byte, 1) != 1)
            _exit(1);
        byte = system("ip link set lo up && ip address add 10.78.0.2/24 dev " WIRE_SINK
                      " && ip link set " WIRE_SINK " up") == 0 &&
               wire_net_threaded(WIRE_SINK);
        if (write(ready[1], &byte, 1) == 1)
            pause();
        _exit(1);
    }
    snprintf(cmd, sizeof(cmd), "ip link set " WIRE_SINK " netns %d", (int)sink);
    if (read(ready[0], &byte, 1) != 1 || system(cmd) != 0 || write(moved[1], "", 1) != 1 ||
        read(ready[0], &byte, 1) != 1 || byte == 0)
        return "no second namespace can be made";
    return NULL;
}

static const char *forward_enter(void)
{
    const char *why = wire_net_enter();

    if (why != NULL)
        return why;
    if (system("ip link add " OUT " address 02:00:00:00:00:04 type veth peer name " WIRE_SINK
               " address 02:00:00:00:00:05") != 0)
        return "no veth pair can be made here";
    why = sink_enter();
    if (why == NULL && !wire_net_no_tso(OUT))
        why = "TSO cannot be turned off";
    if (why == NULL && system("ip link set " OUT " up") != 0)
        why = "the second pair cannot be used";
    return why;
}

static uint64_t forward_count(void)
{
    FILE *file = fopen("/sys/class/net/" OUT "/statistics/tx_packets", "re");
    unsigned long long n = 0;

    if (file == NULL || fscanf(file, "%llu", &n) != 1)
        bench_die("forward: statistics of " OUT, errno);
    fclose(file);
    return n;
}

static void idle(void)
{
    wire_begin();
    while (!wire_stop())
        usleep(10000);
}

/* The namespace ends with its process, and with it all of this. */
static const char *run_kernel(const struct wire_subject *self, const struct bench_options *options)
{
    (void)options;
    if (system("ip address add " OUT_ADDR "/24 dev " OUT
               " && ip route add 10.79.0.0/16 via 10.78.0.2") != 0 ||
        !wire_net_write("/proc/sys/net/ipv4/ip_forward", "1") ||
        !wire_net_write("/proc/sys/net/ipv4/conf/all/rp_filter", "0"))
        return "the kernel's forwarding cannot be set up";
    if (self->nat && system("nft 'table ip bench { chain out { type nat hook postrouting "
                            "priority srcnat; oifname " OUT " masquerade; }; }'") != 0)
        return "no masquerade: it needs nft (nftables) and the kernel's nft_masq";
    idle();
    return NULL;
}

struct router {
    struct sirq_live *live;
    struct sirq_net *net;
    struct sirq_netdev in, out;
};

static int open_device(struct router *router, struct sirq_netdev *dev, const char *driver,
                       const char *ifname, uint32_t addr, struct sirq_error *err)
{
    const struct sirq_netdev_config config = {.ifname = ifname, .ring_size = 2048};
    const struct sirq_ip ip = sirq_ip_v4(addr);
    int ret = sirq_netdev_open(dev, router->net, sirq_driver_find(driver), &config, err);
    uint8_t mac[6];

    if (ret != 0)
        return ret;
    memcpy(mac, wire_mac, sizeof(mac)); /* not the interface's: the kernel is to stay out of it */
    mac[4] = dev == &router->out;
    ret = sirq_netdev_set_mac(dev, mac, err);
    return ret != 0 ? ret : sirq_netdev_addr_add(dev, &ip, 24, err);
}

static int open_router(struct router *router, const struct wire_subject *self,
                       const struct bench_options *options, struct sirq_error *err)
{
    static const struct sirq_nat_config nat;
    const struct sirq_route far = {.dst = sirq_ip_v4(htobe32(FAR & ~0xffffu)),
                                   .prefix = 16,
                                   .gateway = sirq_ip_v4(htobe32(GATEWAY))};
    int ret = sirq_net_create(&router->net, sirq_live_core(router->live), NULL);

    if (ret == 0)
        ret = open_device(router, &router->in, self->driver, WIRE_RX, htobe32(WIRE_DEST), err);
    if (ret == 0)
        ret = open_device(router, &router->out, self->driver, OUT, htobe32(GATEWAY - 1), err);
    if (ret == 0)
        ret = sirq_route_add(router->net, &far, err);
    sirq_net_set_forwarding(router->net, true);
    if (ret == 0 && self->nat)
        ret = sirq_nat_set(router->net, &router->out, &nat, err);
    if (ret == 0)
        ret = sirq_live_attach(router->live, options->cpu, &router->in, err);
    if (ret == 0)
        ret = sirq_live_attach(router->live, options->cpu, &router->out, err);
    return ret;
}

static const char *run_router(const struct wire_subject *self, const struct bench_options *options)
{
    static struct sirq_error err;
    struct router router = {0};
    cpu_set_t set;
    int ret;

    CPU_ZERO(&set);
    CPU_SET(options->cpu, &set);
    router.live = bench_engine(options, &set);
    ret = open_router(&router, self, options, &err);
    if (ret != 0)
        bench_die(*err.text ? err.text : "forward", -ret);
    idle();
    sirq_live_detach(router.live, &router.in);
    sirq_live_detach(router.live, &router.out);
    sirq_netdev_close(&router.in);
    sirq_netdev_close(&router.out);
    sirq_net_destroy(router.net);
    sirq_live_stop(router.live);
    return NULL;
}

#define ROUTER(NAME, NAT)                                                              \
    {                                                                                  \
        .name = NAME, .driver = NAME, .nat = NAT, .dest = FAR, .enter = forward_enter, \
        .run = run_router, .count = forward_count                                      \
    }
#define KERNEL(NAT)                                                                        \
    {                                                                                      \
        .name = "kernel", .kernel = true, .nat = NAT, .dest = FAR, .enter = forward_enter, \
        .run = run_kernel, .count = forward_count                                          \
    }

static void compare(const struct bench_options *options, const char *part,
                    const struct wire_subject of[3])
{
    const struct wire_subject *const routers[] = {&of[0], &of[1], &of[2]};

    wire_compare(options, part, routers, 3, 2);
}

void bench_forward(const struct bench_options *options)
{
    static const struct wire_subject plain[] = {ROUTER("xdp", false), ROUTER("packet", false),
                                                KERNEL(false)};
    static const struct wire_subject nat[] = {ROUTER("xdp", true), ROUTER("packet", true),
                                              KERNEL(true)};

    compare(options, "forward", plain);
    compare(options, "forward, NAT", nat);
}
