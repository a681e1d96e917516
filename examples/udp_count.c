/* SPDX-License-Identifier: MIT */
/* udp_count IFNAME PORT: count the datagrams that arrive on an interface, through softirqs. */
#include <stdio.h>
#include <stdlib.h>
#include <sirq/sirq.h>

#define TRY(call)    \
    if ((call) != 0) \
    return fprintf(stderr, "udp_count: %s: %s\n", #call, err.text), 1

int main(int argc, char **argv)
{
    struct sirq_error err = {""};
    struct sirq_live_config config = {.policy = sirq_policy_find("ksoftirqd")};
    struct sirq_netdev_config link = {.ifname = argc > 1 ? argv[1] : "lo"};
    struct sirq_socket_config port = {.port = (uint16_t)(argc > 2 ? atoi(argv[2]) : 9)};
    struct sirq_live *live;
    struct sirq_net *net;
    struct sirq_netdev dev;
    struct sirq_socket *sock;
    char data[2048];
    struct sirq_msg msg = {.buf = data, .size = sizeof(data)};

    TRY(sirq_live_start(&live, &config, &err)); /* on the first CPU we may use */
    unsigned cpu = sirq_live_cpu_number(sirq_any_online(sirq_live_core(live)));
    TRY(sirq_net_create(&net, sirq_live_core(live), NULL));
    TRY(sirq_netdev_open(&dev, net, sirq_driver_find("packet"), &link, &err));
    TRY(sirq_socket_open(net, &port, &sock));
    TRY(sirq_live_thread_register(live, (int)cpu, NULL, &err)); /* may be interrupted */
    TRY(sirq_live_attach(live, cpu, &dev, &err));
    for (unsigned long n = 1; sirq_recv(sock, &msg, 1, -1) == 1; n++)
        printf("%lu: %u bytes from port %u\n", n, msg.len, msg.sport);
    return 0;
}
