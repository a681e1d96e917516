/* SPDX-License-Identifier: MIT */
/*
 * Asking the kernel about an interface, by ioctl on a socket: sysfs would show the interfaces
 * of the namespace that it was mounted in.
 */
#define SIRQ_DRIVER_PRIVATE
#include "ifquery.h"

#include <errno.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>

/* Both are optional: a device without ethtool operations is one with unknown answers. */
static void query_ethtool(int fd, struct ifreq *req, struct sirq_ifquery *out)
{
    struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};

    req->ifr_data = (void *)&channels;
    if (ioctl(fd, SIOCETHTOOL, req) == 0)
        out->queues = channels.combined_count + channels.rx_count;
    req->ifr_data = (void *)&info;
    if (ioctl(fd, SIOCETHTOOL, req) == 0)
        out->veth = strcmp(info.driver, "veth") == 0;
}

int sirq_ifquery(int fd, const char *driver, const char *ifname, struct sirq_ifquery *out,
                 struct sirq_error *err)
{
    struct ifreq req = {0};

    *out = (struct sirq_ifquery){0};
    if (!ifname || !*ifname || strlen(ifname) >= sizeof(req.ifr_name))
        return sirq_fail(err, EINVAL, "%s: ifname: give the name of an interface (ip link)",
                         driver);
    memcpy(req.ifr_name, ifname, strlen(ifname));
    if (ioctl(fd, SIOCGIFINDEX, &req) < 0)
        return sirq_fail(err, errno, "%s: no interface %s (%s): see ip link", driver, ifname,
                         strerror(errno));
    out->index = req.ifr_ifindex;
    if (ioctl(fd, SIOCGIFHWADDR, &req) < 0 ||
        (req.ifr_hwaddr.sa_family != ARPHRD_ETHER && req.ifr_hwaddr.sa_family != ARPHRD_LOOPBACK))
        return sirq_fail(err, EPROTONOSUPPORT, "%s: interface %s is not Ethernet: give one that is",
                         driver, ifname);
    memcpy(out->mac, req.ifr_hwaddr.sa_data, sizeof(out->mac));
    if (ioctl(fd, SIOCGIFFLAGS, &req) < 0 || !(req.ifr_flags & IFF_UP))
        return sirq_fail(err, ENETDOWN, "%s: interface %s is down: ip link set %s up", driver,
                         ifname, ifname);
    if (ioctl(fd, SIOCGIFMTU, &req) == 0)
        out->mtu = (unsigned)req.ifr_mtu;
    query_ethtool(fd, &req, out);
    return 0;
}
