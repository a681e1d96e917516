/* SPDX-License-Identifier: MIT */
/* Interfaces with their addresses, and routes. */
#include "plane.h"

#include <string.h>

static int open_driver(struct sirq_run_plane *plane, uint32_t at, struct sirq_error *err)
{
    static const char *const names[] = {
        [SIRQ_RUN_PACKET] = "packet",
        [SIRQ_RUN_XDP] = "xdp",
        [SIRQ_RUN_TAP] = "tap",
        [SIRQ_RUN_PCAP] = "pcap",
    };
    const struct sirq_run_interface *interface = &plane->source.file->interfaces[at];
    struct sirq_run_device *device = &plane->devices[at];
    const struct sirq_netdev_config config = {
        .ifname = interface->ifname != NULL ? interface->ifname : interface->name,
        .ring_size = interface->ring_size,
        .frame_size = interface->frame_size,
        .queue = interface->queue,
        .file = interface->file,
        .replay_pps = interface->replay_pps,
        .flows = interface->flows,
        .loop = interface->loop,
    };
    int rc = sirq_netdev_open(&device->dev, plane->net, sirq_driver_find(names[interface->driver]),
                              &config, err);

    device->open = rc == 0;
    return sirq_run_blame(&plane->source, rc, err, "interfaces[%u]", at);
}

static int set_up(struct sirq_run_plane *plane, uint32_t at, struct sirq_error *err)
{
    const struct sirq_run_interface *interface = &plane->source.file->interfaces[at];
    struct sirq_netdev *dev = &plane->devices[at].dev;
    uint8_t mac[6];
    int rc = 0;

    if (interface->mac != NULL && sirq_run_mac(interface->mac, mac))
        rc = sirq_netdev_set_mac(dev, mac, err);
    if (rc == 0 && interface->mtu != 0)
        rc = sirq_netdev_set_mtu(dev, interface->mtu, err);
    if (rc == 0 && interface->vlan != 0)
        rc = sirq_netdev_set_vlan(dev, interface->vlan, interface->vlan_priority, err);
    return sirq_run_blame(&plane->source, rc, err, "interfaces[%u]", at);
}

static int add_addresses(struct sirq_run_plane *plane, uint32_t at, struct sirq_error *err)
{
    const struct sirq_run_interface *interface = &plane->source.file->interfaces[at];
    int rc = 0;

    for (uint32_t i = 0; i < interface->n_addresses && rc == 0; i++) {
        struct sirq_ip addr;
        unsigned prefix;

        if (sirq_run_address(interface->addresses[i], &addr, &prefix))
            rc = sirq_netdev_addr_add(&plane->devices[at].dev, &addr, prefix, err);
        rc = sirq_run_blame(&plane->source, rc, err, "interfaces[%u].addresses[%u]", at, i);
    }
    return rc;
}

struct sirq_netdev *sirq_run_device_of(struct sirq_run_plane *plane, const char *name)
{
    const struct sirq_run_file *file = plane->source.file;

    for (uint32_t i = 0; name != NULL && i < file->n_interfaces; i++) {
        if (strcmp(file->interfaces[i].name, name) == 0)
            return &plane->devices[i].dev;
    }
    return NULL;
}

static int add_route(struct sirq_run_plane *plane, uint32_t at, struct sirq_error *err)
{
    const struct sirq_run_route *said = &plane->source.file->routes[at];
    struct sirq_route route = {.dev = sirq_run_device_of(plane, said->interface)};
    int rc = 0;

    if (sirq_run_address(said->to, &route.dst, &route.prefix) &&
        (said->via == NULL || sirq_run_address(said->via, &route.gateway, NULL)))
        rc = sirq_route_add(plane->net, &route, err);
    return sirq_run_blame(&plane->source, rc, err, "routes[%u]", at);
}

int sirq_run_devices_open(struct sirq_run_plane *plane, struct sirq_error *err)
{
    const struct sirq_run_file *file = plane->source.file;
    int rc = 0;

    for (uint32_t i = 0; i < file->n_interfaces && rc == 0; i++) {
        rc = open_driver(plane, i, err);
        if (rc == 0)
            rc = set_up(plane, i, err);
        if (rc == 0)
            rc = add_addresses(plane, i, err);
    }
    for (uint32_t i = 0; i < file->n_routes && rc == 0; i++)
        rc = add_route(plane, i, err);
    return rc;
}

int sirq_run_devices_attach(struct sirq_run_plane *plane, struct sirq_error *err)
{
    const struct sirq_run_file *file = plane->source.file;
    int rc = 0;

    for (uint32_t i = 0; i < file->n_interfaces && rc == 0; i++) {
        const uint32_t *cpu = file->interfaces[i].cpu;

        rc = sirq_live_attach(plane->live, cpu != NULL ? *cpu : file->cpus[0],
                              &plane->devices[i].dev, err);
        plane->devices[i].attached = rc == 0;
        rc = sirq_run_blame(&plane->source, rc, err, "interfaces[%u]", i);
    }
    return rc;
}
