/* SPDX-License-Identifier: MIT */
/*
 * A data plane as its file describes it.  docs/run.md has every key for its users.
 *
 * Names of fields are the keys of the file, but for those of services, which have a hyphen.  A
 * number that is 0 where 0 makes no sense was not given: its default is in the documentation.
 * CPUs are the machine's numbers.  Everything a file points to belongs to it.
 */
#ifndef SIRQ_RUN_FILE_H
#define SIRQ_RUN_FILE_H

#include <sirq/sirq.h>

#include "conf.h"

#define SIRQ_RUN_CPUS 64u /* of a list */
#define SIRQ_RUN_CPU_MAX 1023u
#define SIRQ_RUN_INTERFACES 32u
#define SIRQ_RUN_ADDRESSES 32u /* of an interface */
#define SIRQ_RUN_ROUTES 1024u
#define SIRQ_RUN_SERVICES 32u
#define SIRQ_RUN_THREADS 512u /* of all services */
#define SIRQ_RUN_BATCH 32u    /* datagrams of one receive call */
#define SIRQ_RUN_DNS_PORT 53u

enum sirq_run_class { SIRQ_RUN_OTHER, SIRQ_RUN_BATCHED, SIRQ_RUN_IDLE, SIRQ_RUN_FIFO, SIRQ_RUN_RR };

struct sirq_run_sched {
    enum sirq_run_class class;
    uint32_t priority;
    int32_t nice;
};

struct sirq_run_net {
    uint32_t pool_packets, netdev_budget, netdev_budget_jiffies, netdev_max_backlog, flow_limit;
};

/* A thread that polls: where (none given: on the NUMA node of what it polls), and how. */
struct sirq_run_poller {
    uint32_t *cpus;
    uint32_t n_cpus;
    struct sirq_run_sched sched;
};

enum sirq_run_driver { SIRQ_RUN_PACKET, SIRQ_RUN_XDP, SIRQ_RUN_TAP, SIRQ_RUN_PCAP };

struct sirq_run_interface {
    char *name;
    enum sirq_run_driver driver;
    char *ifname;  /* null: name */
    uint32_t *cpu; /* takes its interrupts; null: the first */
    uint32_t queue, ring_size, frame_size;
    char *mac; /* null: the device's */
    uint32_t mtu, vlan, vlan_priority;
    char **addresses; /* "192.0.2.1/24" */
    uint32_t n_addresses;
    uint32_t *rps;
    uint32_t n_rps;
    struct sirq_run_poller *threaded; /* null: polled in NET_RX */
    char *file;                       /* of pcap, as are those below */
    uint32_t replay_pps, flows;
    bool loop;
};

/* Threads of the backlogs of some CPUs (none given: all). */
struct sirq_run_backlog {
    uint32_t *of;
    uint32_t n_of;
    struct sirq_run_poller on;
};

struct sirq_run_route {
    char *to;  /* "0.0.0.0/0" */
    char *via; /* null: interface */
    char *interface;
};

/* What every service of threads has. */
struct sirq_run_threads {
    uint32_t *cpus; /* a thread on each; none given: one on the first */
    uint32_t n_cpus;
    uint32_t batch;
    struct sirq_run_sched sched;
};

/* And every service behind a UDP port. */
struct sirq_run_listen {
    uint32_t port, rcvbuf;
    char *address; /* null: all, of both families */
    struct sirq_run_threads threads;
};

struct sirq_run_udp_echo {
    struct sirq_run_listen listen;
};

struct sirq_run_dns {
    char *zone; /* path of its file */
    struct sirq_run_listen listen;
};

struct sirq_run_forward {
    bool ipv4; /* nothing to set: an empty mapping says it all */
};

struct sirq_run_nat_router {
    char *outside; /* the interface whose address all others hide behind */
    uint32_t max_conns, port_lo, port_hi;
    uint32_t udp_s, udp_stream_s, tcp_transitory_s, tcp_established_s, icmp_s;
};

/* One of these. */
struct sirq_run_service {
    struct sirq_run_udp_echo *udp_echo;
    struct sirq_run_dns *dns;
    struct sirq_run_forward *forward;
    struct sirq_run_nat_router *nat_router;
};

struct sirq_run_file {
    uint32_t *cpus;
    uint32_t n_cpus;
    uint32_t hz;
    enum sirq_delivery delivery;
    uint32_t stall_ms, drain_ms;
    char *policy; /* null: the default */
    struct sirq_run_sched ksoftirqd;
    bool rfs;
    struct sirq_run_net net;
    struct sirq_run_interface *interfaces;
    uint32_t n_interfaces;
    struct sirq_run_backlog *backlog_threads;
    uint32_t n_backlog_threads;
    struct sirq_run_route *routes;
    uint32_t n_routes;
    struct sirq_run_service *services;
    uint32_t n_services;
};

/* ---- reading ------------------------------------------------------------------------------ */

/* A file that was read, with where everything stands in it. */
struct sirq_run_source {
    char *name;
    struct sirq_conf_doc doc;
    struct sirq_run_file *file;
};

/* 0, -EINVAL or -ENOMEM with err filled: file, line and key, what is wrong, what would do; then
 * nothing is left.  `name` is what errors call the text. */
int sirq_run_parse(struct sirq_run_source *out, const char *name, const char *text, size_t len,
                   struct sirq_error *err);
int sirq_run_read(struct sirq_run_source *out, const char *path, struct sirq_error *err);
void sirq_run_source_free(struct sirq_run_source *source);

/* "FILE:LINE: path: what" into err: -EINVAL. */
int sirq_run_bad(const struct sirq_run_source *source, struct sirq_error *err, const char *path,
                 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Can a plane of `now` become one of `next` without being started anew?  0, or -EINVAL with the
 * key that stands against it. */
int sirq_run_change(const struct sirq_run_source *now, const struct sirq_run_source *next,
                    struct sirq_error *err);

/* ---- what texts mean ------------------------------------------------------------------------ */

/* "192.0.2.1/24", "2001:db8::1/64"; with prefix null the address alone.  False: it is none. */
bool sirq_run_address(const char *text, struct sirq_ip *addr, unsigned *prefix);
bool sirq_run_is_v4(const struct sirq_ip *addr);
/* "02:00:00:00:00:01".  False: it is none. */
bool sirq_run_mac(const char *text, uint8_t mac[6]);
/* The service's port and threads, or null: it has none. */
const struct sirq_run_listen *sirq_run_listen_of(const struct sirq_run_service *service);
/* Its port, 0: it has none. */
uint32_t sirq_run_port_of(const struct sirq_run_service *service);
/* Threads of all services: one for each family and CPU. */
unsigned sirq_run_threads_of(const struct sirq_run_file *file);
struct sirq_sched sirq_run_sched_of(const struct sirq_run_sched *sched);

#endif
