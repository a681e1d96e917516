/* SPDX-License-Identifier: MIT */
/* Receivers through the library: the drivers xdp and packet, to a socket of the library's. */
#include "wire.h"

#include <sirq/inet.h>

#include <errno.h>
#include <string.h>

struct path {
    struct sirq_live *live;
    struct sirq_net *net;
    struct sirq_netdev dev;
    struct sirq_socket *sock;
};

static void receive(struct path *path)
{
    static char room[WIRE_BATCH][128];
    struct sirq_msg msgs[WIRE_BATCH];

    for (unsigned i = 0; i < WIRE_BATCH; i++)
        msgs[i] = (struct sirq_msg){.buf = room[i], .size = sizeof(room[i])};
    wire_begin();
    while (!wire_stop()) {
        int n = sirq_recv(path->sock, msgs, WIRE_BATCH, 50000000);

        if (n > 0)
            wire_count((unsigned)n);
    }
}

static void path_open(struct path *path, const char *driver, const struct bench_options *options)
{
    const struct sirq_netdev_config link = {.ifname = WIRE_RX};
    const struct sirq_socket_config port = {.port = WIRE_PORT};
    struct sirq_error err = {""};
    int ret = sirq_net_create(&path->net, sirq_live_core(path->live), NULL);

    if (ret == 0)
        ret = sirq_netdev_open(&path->dev, path->net, sirq_driver_find(driver), &link, &err);
    if (ret == 0)
        ret = sirq_netdev_set_mac(&path->dev, wire_mac, &err);
    if (ret == 0)
        ret = sirq_socket_open(path->net, &port, &path->sock);
    if (ret == 0)
        ret = sirq_live_thread_register(path->live, (int)options->cpu, NULL, &err);
    if (ret == 0)
        ret = sirq_live_attach(path->live, options->cpu, &path->dev, &err);
    if (ret != 0)
        bench_die(*err.text ? err.text : "wire", -ret);
}

static const char *run(const struct wire_subject *self, const struct bench_options *options)
{
    struct path path = {0};
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(options->cpu, &set);
    path.live = bench_engine(options, &set);
    path_open(&path, self->name, options);
    receive(&path);
    sirq_live_detach(path.live, &path.dev);
    sirq_socket_close(path.sock);
    sirq_netdev_close(&path.dev);
    sirq_net_destroy(path.net);
    sirq_live_thread_unregister(path.live);
    sirq_live_stop(path.live);
    return NULL;
}

static const char *run_xdp(const struct wire_subject *self, const struct bench_options *options)
{
    const struct sirq_netdev_config link = {.ifname = WIRE_RX};
    static struct sirq_error err;
    struct sirq_netdev probe = {.driver = sirq_driver_find(self->name)};

    if (probe.driver->open(&probe, &link, &err) < 0)
        return err.text;
    probe.driver->close(&probe);
    return run(self, options);
}

const struct wire_subject wire_xdp = {
    .name = "xdp", .dest = WIRE_DEST, .enter = wire_net_enter, .run = run_xdp};
const struct wire_subject wire_packet = {
    .name = "packet", .dest = WIRE_DEST, .enter = wire_net_enter, .run = run};
