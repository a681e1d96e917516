/* SPDX-License-Identifier: MIT */
/* What the examples share. */
#include "common.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t ended;

static void end(int signo)
{
    (void)signo;
    ended = 1;
}

bool example_ended(void)
{
    return ended;
}

/* ---- the command line --------------------------------------------------------------------- */

static void usage(const char *name, const char *what, uint16_t port, const char *args)
{
    printf("usage: %s --interface NAME --address ADDR/LEN [OPTION...]%s\n%s\n\n"
           "  -i, --interface NAME    the interface to take over, such as one end of a veth pair\n"
           "  -a, --address ADDR/LEN  our IPv4 address, which the system must not have too\n"
           "  -d, --driver NAME       packet (the default), xdp, tap\n"
           "  -p, --port N            UDP port (%u)\n"
           "  -c, --cpu N             where packets are processed and received (the first CPU)\n"
           "  -P, --policy NAME       when softirqs run (ksoftirqd)\n"
           "  -h, --help\n\nExample: %s -i eth1 -a 192.0.2.1/24 -p %u%s\n",
           name, args, what, port, name, port, args);
}

/* A whole number up to `max`, or the end. */
static unsigned number(const char *name, const char *option, const char *text, unsigned min,
                       unsigned max)
{
    char *rest;
    unsigned long n = strtoul(text, &rest, 10);

    if (*text < '0' || *text > '9' || *rest != '\0' || n < min || n > max) {
        fprintf(stderr, "%s: %s %s: a number from %u to %u\n", name, option, text, min, max);
        exit(2);
    }
    return (unsigned)n;
}

void example_options(struct example *ex, int argc, char **argv, const char *what, uint16_t port,
                     const char *args, int nargs)
{
    static const struct option options[] = {{"interface", required_argument, NULL, 'i'},
                                            {"address", required_argument, NULL, 'a'},
                                            {"driver", required_argument, NULL, 'd'},
                                            {"port", required_argument, NULL, 'p'},
                                            {"cpu", required_argument, NULL, 'c'},
                                            {"policy", required_argument, NULL, 'P'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int opt;

    *ex = (struct example){.driver = "packet", .policy = "ksoftirqd", .cpu = -1, .port = port};
    while ((opt = getopt_long(argc, argv, "i:a:d:p:c:P:h", options, NULL)) != -1) {
        switch (opt) {
        case 'i':
            ex->interface = optarg;
            break;
        case 'a':
            ex->address = optarg;
            break;
        case 'd':
            ex->driver = optarg;
            break;
        case 'p':
            ex->port = (uint16_t)number(argv[0], "--port", optarg, 1, 65535);
            break;
        case 'c':
            ex->cpu = (int)number(argv[0], "--cpu", optarg, 0, CPU_SETSIZE - 1);
            break;
        case 'P':
            ex->policy = optarg;
            break;
        case 'h':
            usage(argv[0], what, port, args);
            exit(0);
        default:
            exit(2);
        }
    }
    if (ex->interface == NULL || ex->address == NULL || argc - optind != nargs) {
        fprintf(stderr,
                "%s: --interface and --address are needed%s%s, and nothing else; see --help\n",
                argv[0], nargs > 0 ? ", and" : "", args);
        exit(2);
    }
    ex->args = argv + optind;
}

/* ---- start and end ------------------------------------------------------------------------ */

static int address_of(const char *text, struct sirq_ip *addr, unsigned *prefix)
{
    char name[INET_ADDRSTRLEN], rest;
    struct in_addr v4;

    if (sscanf(text, "%15[0-9.]/%2u%c", name, prefix, &rest) != 2 || *prefix > 32 ||
        inet_pton(AF_INET, name, &v4) != 1)
        return -EINVAL;
    *addr = sirq_ip_v4(v4.s_addr);
    return 0;
}

static int start_engine(struct example *ex, struct sirq_error *err)
{
    struct sirq_live_config config = {.policy = sirq_policy_find(ex->policy)};
    cpu_set_t cpus;
    int rc;

    if (config.policy == NULL)
        return sirq_fail(err, EINVAL, "--policy %s: there is none of this name", ex->policy);
    CPU_ZERO(&cpus);
    if (ex->cpu >= 0) {
        CPU_SET((unsigned)ex->cpu, &cpus);
        config.cpus = &cpus;
    }
    rc = sirq_live_start(&ex->live, &config, err);
    if (rc == 0)
        ex->cpu = (int)sirq_live_cpu_number(sirq_any_online(sirq_live_core(ex->live)));
    return rc;
}

int example_device(struct example *ex, struct sirq_netdev *dev, bool *opened, const char *ifname,
                   const char *address, uint32_t *v4, struct sirq_error *err)
{
    const struct sirq_netdev_config link = {.ifname = ifname};
    const struct sirq_driver *driver = sirq_driver_find(ex->driver);
    struct sirq_ip addr;
    unsigned prefix;
    int rc;

    if (driver == NULL)
        return sirq_fail(err, EINVAL, "--driver %s: there is none of this name", ex->driver);
    if (address_of(address, &addr, &prefix) != 0)
        return sirq_fail(err, EINVAL, "address %s: not as 192.0.2.1/24", address);
    memcpy(v4, addr.b + 12, sizeof(*v4));
    rc = sirq_netdev_open(dev, ex->net, driver, &link, err);
    *opened = rc == 0;
    return rc != 0 ? rc : sirq_netdev_addr_add(dev, &addr, prefix, err);
}

static int start_device(struct example *ex, uint32_t *v4, struct sirq_error *err)
{
    int rc = sirq_net_create(&ex->net, sirq_live_core(ex->live), NULL);

    if (rc != 0)
        return sirq_fail(err, -rc, "no stack: %s", strerror(-rc));
    return example_device(ex, &ex->dev, &ex->opened, ex->interface, ex->address, v4, err);
}

static int start(struct example *ex, struct sirq_error *err)
{
    struct sirq_socket_config port = {.port = ex->port};
    int rc = start_engine(ex, err);

    if (rc == 0)
        rc = start_device(ex, &port.addr, err);
    if (rc != 0)
        return rc;
    rc = sirq_socket_open(ex->net, &port, &ex->sock);
    if (rc != 0)
        return sirq_fail(err, -rc, "--port %u: %s", ex->port, strerror(-rc));
    rc = sirq_live_thread_register(ex->live, ex->cpu, NULL, err);
    ex->registered = rc == 0;
    if (rc == 0)
        rc = sirq_live_attach(ex->live, (unsigned)ex->cpu, &ex->dev, err);
    ex->attached = rc == 0;
    return rc;
}

int example_start(struct example *ex)
{
    const struct sigaction action = {.sa_handler = end};
    struct sirq_error err = {""};
    int rc;

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    rc = start(ex, &err);
    if (rc != 0)
        fprintf(stderr, "%s\n", *err.text ? err.text : strerror(-rc));
    else
        printf("on %s, CPU %d, %s, port %u\n", ex->interface, ex->cpu, ex->address, ex->port);
    fflush(stdout);
    return rc;
}

void example_stop(struct example *ex)
{
    struct sirq_socket_stats stats = {0};

    if (ex->attached)
        sirq_live_detach(ex->live, &ex->dev);
    if (ex->sock != NULL) {
        sirq_socket_stats(ex->sock, &stats);
        sirq_socket_close(ex->sock);
    }
    if (ex->opened)
        sirq_netdev_close(&ex->dev);
    if (ex->net != NULL)
        sirq_net_destroy(ex->net);
    if (ex->registered)
        sirq_live_thread_unregister(ex->live);
    if (ex->live != NULL)
        sirq_live_stop(ex->live);
    printf("%lu received, %lu sent, %lu dropped at a full socket\n", (unsigned long)ex->received,
           (unsigned long)ex->sent, (unsigned long)stats.dropped);
}

/* ---- batches ------------------------------------------------------------------------------ */

struct sirq_msg *example_batch(void)
{
    static uint8_t data[BATCH][SIRQ_PKT_PAYLOAD_MAX];
    static struct sirq_msg msgs[BATCH];

    for (unsigned i = 0; i < BATCH; i++)
        msgs[i] = (struct sirq_msg){.buf = data[i], .size = sizeof(data[i])};
    return msgs;
}

void example_echo(struct example *ex, struct sirq_msg *msgs, unsigned n)
{
    ex->received += n;
    for (unsigned i = 0; i < n; i++) {
        struct sirq_msg answer = {.buf = msgs[i].buf,
                                  .len = msgs[i].len,
                                  .saddr = msgs[i].daddr,
                                  .daddr = msgs[i].saddr,
                                  .dport = msgs[i].sport};

        if (msgs[i].len <= msgs[i].size && msgs[i].sport != ex->port)
            ex->sent += sirq_send(ex->sock, &answer, 1) == 1;
    }
}
