/* SPDX-License-Identifier: MIT */
/*
 * What every example with an address of its own needs: options of the command line, an engine on
 * one CPU, a stack with one device, an IPv4 socket, and a mark that Ctrl-C leaves.
 */
#ifndef SIRQ_EXAMPLES_COMMON_H
#define SIRQ_EXAMPLES_COMMON_H

#include <sirq/sirq.h>

#define BATCH 32u

struct example {
    /* From the command line. */
    const char *interface, *driver, *address, *policy;
    int cpu; /* -1: the first that may be used */
    uint16_t port;
    char **args;
    /* Made of it by example_start(). */
    struct sirq_live *live;
    struct sirq_net *net;
    struct sirq_netdev dev;
    struct sirq_socket *sock;
    bool opened, registered, attached;
    /* What is printed at the end. */
    uint64_t received, sent;
};

/* Ends the program after --help (0) and after what it does not understand (2).  The port is
 * `port` when none is given; `nargs` further arguments, named in `args`, are at ex->args. */
void example_options(struct example *ex, int argc, char **argv, const char *what, uint16_t port,
                     const char *args, int nargs);

/* A device with an IPv4 address as 192.0.2.1/24; *opened tells whether it has to be closed,
 * *v4 the address in network order. */
int example_device(struct example *ex, struct sirq_netdev *dev, bool *opened, const char *ifname,
                   const char *address, uint32_t *v4, struct sirq_error *err);

/* All of it, and the calling thread registered.  0, or what is wrong has been printed; then too
 * example_stop() cleans up. */
int example_start(struct example *ex);

/* Take down what was started, and print the counters. */
void example_stop(struct example *ex);

/* Whether Ctrl-C or SIGTERM has come. */
bool example_ended(void);

/*
 * A batch that was received is sent back where it came from, but for datagrams that came from our
 * own port (two echo servers would keep one for ever) and those that were cut.
 */
void example_echo(struct example *ex, struct sirq_msg *msgs, unsigned n);

/* Buffers for a batch. */
struct sirq_msg *example_batch(void);

#endif
