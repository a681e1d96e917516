/* SPDX-License-Identifier: MIT */
/*
 * Making, or finding, the interface of the `tap` driver.
 *
 * An interface that is not there is made, with as many queues as are opened, set up, and goes
 * with its last descriptor.  One that is there (ip tuntap add) is left as it is.  Addresses of
 * the kernel's side are the administrator's business in both cases.
 */
#define SIRQ_DRIVER_PRIVATE
#include "driver.h"
#include "tap_open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int tap_fail(const char *ifname, int code, struct sirq_error *err)
{
    if (code == EPERM)
        return sirq_fail(err, code, "tap: interface %s needs CAP_NET_ADMIN: run as root", ifname);
    if (code == EBUSY)
        return sirq_fail(err, code,
                         "tap: interface %s is in use: give another name, or one made with "
                         "multi_queue (ip tuntap add %s mode tap multi_queue)",
                         ifname, ifname);
    if (code == EINVAL)
        return sirq_fail(err, code,
                         "tap: interface %s is there and not a TAP, or has no more queues: give "
                         "another name",
                         ifname);
    return sirq_fail(err, code, "tap: no interface %s (%s)", ifname, strerror(code));
}

/* With several queues; an interface that was made for one takes no such flag. */
static int tap_set_iff(int fd, const char *ifname)
{
    struct ifreq req = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE};

    memcpy(req.ifr_name, ifname, strlen(ifname));
    if (ioctl(fd, TUNSETIFF, &req) == 0)
        return 0;
    req.ifr_flags = IFF_TAP | IFF_NO_PI;
    return errno == EINVAL && ioctl(fd, TUNSETIFF, &req) == 0 ? 0 : -errno;
}

/* The kernel's queue has ring_size places, and the interface is up. */
static int tap_set_up(int sock, const char *ifname, unsigned ring_size)
{
    struct ifreq req = {0};

    memcpy(req.ifr_name, ifname, strlen(ifname));
    req.ifr_qlen = (int)ring_size;
    if (ioctl(sock, SIOCSIFTXQLEN, &req) < 0 || ioctl(sock, SIOCGIFFLAGS, &req) < 0)
        return -errno;
    req.ifr_flags |= IFF_UP;
    return ioctl(sock, SIOCSIFFLAGS, &req) < 0 ? -errno : 0;
}

/* Our end is another station than the kernel's: its address with one bit changed. */
static void tap_describe(int sock, const char *ifname, struct sirq_netdev *dev)
{
    struct ifreq req = {0};

    memcpy(req.ifr_name, ifname, strlen(ifname));
    if (ioctl(sock, SIOCGIFMTU, &req) == 0)
        dev->mtu = (uint16_t)req.ifr_mtu;
    if (ioctl(sock, SIOCGIFHWADDR, &req) == 0) {
        memcpy(dev->mac, req.ifr_hwaddr.sa_data, sizeof(dev->mac));
        dev->mac[0] |= 2; /* locally administered */
        dev->mac[5] ^= 1;
    }
}

uint64_t sirq_tap_dropped(const struct sirq_tap *tap)
{
    unsigned long long dropped = 0;
    size_t len = strlen(tap->ifname);
    char line[512];
    FILE *file = fopen("/proc/thread-self/net/dev", "re");

    while (file && fgets(line, sizeof(line), file)) {
        const char *name = line + strspn(line, " ");

        if (strncmp(name, tap->ifname, len) == 0 && name[len] == ':' &&
            sscanf(name + len + 1, "%*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %llu", &dropped) ==
                1)
            break;
    }
    if (file)
        fclose(file);
    return dropped;
}

static int tap_open_fd(const char *ifname, struct sirq_error *err)
{
    int fd;

    if (!ifname || !*ifname || strlen(ifname) >= IFNAMSIZ || strchr(ifname, '%'))
        return sirq_fail(err, EINVAL, "tap: ifname: give a name of 1 to %u characters",
                         IFNAMSIZ - 1u);
    fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return sirq_fail(err, errno, "tap: /dev/net/tun cannot be opened (%s): modprobe tun",
                         strerror(errno));
    return fd;
}

int sirq_tap_attach(struct sirq_tap *tap, struct sirq_netdev *dev,
                    const struct sirq_netdev_config *config, unsigned ring_size,
                    struct sirq_error *err)
{
    const char *ifname = config->ifname;
    bool there;
    int sock, rc;

    tap->fd = tap_open_fd(ifname, err);
    if (tap->fd < 0)
        return tap->fd;
    memcpy(tap->ifname, ifname, strlen(ifname));
    there = if_nametoindex(ifname) != 0;
    rc = tap_set_iff(tap->fd, ifname);
    sock = rc < 0 ? -1 : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (rc == 0 && sock < 0)
        rc = -errno;
    if (rc == 0 && !there)
        rc = tap_set_up(sock, ifname, ring_size);
    if (rc == 0)
        tap_describe(sock, ifname, dev);
    if (sock >= 0)
        close(sock);
    if (rc < 0) {
        close(tap->fd);
        return tap_fail(ifname, -rc, err);
    }
    tap->dropped_before = sirq_tap_dropped(tap);
    return 0;
}
