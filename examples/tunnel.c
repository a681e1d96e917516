/* SPDX-License-Identifier: MIT */
/*
 * One end of a UDP tunnel between two NICs, all of it on one CPU: what HOST sends to our port
 * inside goes to PEER outside, sealed, and what PEER sends to the same port there goes to HOST.
 * A sealed datagram is a number (8 bytes, network order) and the data, XORed with the bytes of a
 * generator that key and number seed.  That stands in for the work of a cipher: it hides nothing.
 */
#include "common.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER 8u
#define WAIT_MS 200 /* how long Ctrl-C may go unseen */

struct far {
    uint32_t addr;
    uint16_t port;
};

struct tunnel {
    struct example ex;
    struct sirq_netdev dev; /* outside */
    struct sirq_socket *sock;
    bool opened, attached;
    struct far host, peer;
    uint64_t key, number;
};

static int far_of(const char *text, struct far *far, struct sirq_error *err)
{
    char name[INET_ADDRSTRLEN], rest;
    unsigned port;

    if (sscanf(text, "%15[0-9.]:%5u%c", name, &port, &rest) != 2 || port - 1 > 65534 ||
        inet_pton(AF_INET, name, &far->addr) != 1)
        return sirq_fail(err, EINVAL, "%s: not as 198.51.100.2:4000", text);
    far->port = (uint16_t)port;
    return 0;
}

/* xorshift64, a byte a step. */
static void mix(uint64_t seed, const uint8_t *from, uint8_t *to, uint32_t len)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u | 1;

    for (uint32_t i = 0; i < len; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        to[i] = from[i] ^ (uint8_t)(x >> 32);
    }
}

/* The bytes at `out` that `msg` becomes on the other side. */
static uint32_t turn(struct tunnel *t, bool in, const struct sirq_msg *msg, uint8_t *out)
{
    const uint8_t *data = msg->buf;
    uint64_t number = htobe64(t->number);

    if (in) {
        t->number++;
        memcpy(out, &number, NUMBER);
        mix(t->key + be64toh(number), data, out + NUMBER, msg->len);
        return msg->len + NUMBER;
    }
    memcpy(&number, data, NUMBER);
    mix(t->key + be64toh(number), data + NUMBER, out, msg->len - NUMBER);
    return msg->len - NUMBER;
}

/* All that one side has, to the other.  0 or -errno. */
static int pass(struct tunnel *t, bool in)
{
    const struct far *from = in ? &t->host : &t->peer, *to = in ? &t->peer : &t->host;
    struct sirq_socket *rx = in ? t->ex.sock : t->sock, *tx = in ? t->sock : t->ex.sock;
    static uint8_t out[SIRQ_PKT_PAYLOAD_MAX + NUMBER];
    struct sirq_msg *msgs = example_batch();
    int n = -EAGAIN;

    while (!example_ended() && (n = sirq_recv(rx, msgs, BATCH, 0)) > 0) {
        t->ex.received += (unsigned)n;
        for (int i = 0; i < n; i++) {
            struct sirq_msg msg = {.buf = out, .daddr = to->addr, .dport = to->port};

            if (msgs[i].len > msgs[i].size || msgs[i].saddr != from->addr ||
                msgs[i].sport != from->port || (!in && msgs[i].len < NUMBER))
                continue;
            msg.len = turn(t, in, &msgs[i], out);
            t->ex.sent += sirq_send(tx, &msg, 1) == 1;
        }
    }
    return n >= 0 || n == -EAGAIN || n == -EINTR ? 0 : n;
}

static int start(struct tunnel *t, struct sirq_error *err)
{
    struct sirq_socket_config port = {.port = t->ex.port};
    char **args = t->ex.args, *rest;
    int rc = far_of(args[0], &t->host, err);

    t->key = strtoull(args[4], &rest, 0);
    if (rc == 0 && (*args[4] == '\0' || *rest != '\0'))
        rc = sirq_fail(err, EINVAL, "key %s: a number", args[4]);
    if (rc == 0)
        rc = far_of(args[3], &t->peer, err);
    if (rc == 0)
        rc = example_device(&t->ex, &t->dev, &t->opened, args[1], args[2], &port.addr, err);
    if (rc != 0)
        return rc;
    rc = sirq_socket_open(t->ex.net, &port, &t->sock);
    if (rc != 0)
        return sirq_fail(err, -rc, "port %u outside: %s", port.port, strerror(-rc));
    rc = sirq_live_attach(t->ex.live, (unsigned)t->ex.cpu, &t->dev, err);
    t->attached = rc == 0;
    return rc;
}

static int run(struct tunnel *t)
{
    struct pollfd fds[] = {{.fd = sirq_socket_fd(t->ex.sock), .events = POLLIN},
                           {.fd = sirq_socket_fd(t->sock), .events = POLLIN}};
    int rc = fds[0].fd < 0 ? fds[0].fd : fds[1].fd < 0 ? fds[1].fd : 0;

    while (rc == 0 && !example_ended()) {
        if (poll(fds, 2, WAIT_MS) < 0 && errno != EINTR)
            return -errno;
        rc = pass(t, true);
        if (rc == 0)
            rc = pass(t, false);
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct sirq_error err = {""};
    static struct tunnel t;
    int rc;

    example_options(&t.ex, argc, argv, "One end of a UDP tunnel between two NICs.", 4000,
                    " HOST:PORT OUTSIDE ADDR/LEN PEER:PORT KEY", 5);
    rc = example_start(&t.ex);
    if (rc == 0) {
        rc = start(&t, &err);
        if (rc == 0)
            rc = run(&t);
        if (rc != 0)
            fprintf(stderr, "%s: %s\n", argv[0], *err.text ? err.text : strerror(-rc));
    }
    if (t.attached)
        sirq_live_detach(t.ex.live, &t.dev);
    if (t.sock != NULL)
        sirq_socket_close(t.sock);
    if (t.opened)
        sirq_netdev_close(&t.dev);
    example_stop(&t.ex);
    return rc != 0;
}
