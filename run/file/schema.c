/* SPDX-License-Identifier: MIT */
/*
 * The schema of a data plane's file: which keys there are, for libcyaml.  What has to be given,
 * the range of each number, and what may change while the plane runs stand in rules.c.
 */
#include "internal.h"
#include "schema.h"

static const cyaml_schema_value_t number = {CYAML_VALUE_UINT(CYAML_FLAG_DEFAULT, uint32_t)};
static const cyaml_schema_value_t string = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, SIRQ_CONF_STRING)};

static const cyaml_strval_t classes[] = {
    {"other", SIRQ_RUN_OTHER}, {"batch", SIRQ_RUN_BATCHED}, {"idle", SIRQ_RUN_IDLE},
    {"fifo", SIRQ_RUN_FIFO},   {"rr", SIRQ_RUN_RR},
};

static const cyaml_strval_t deliveries[] = {
    {"signal", SIRQ_DELIVER_SIGNAL},
    {"thread", SIRQ_DELIVER_THREAD},
    {"poll", SIRQ_DELIVER_POLL},
};

static const cyaml_strval_t drivers[] = {
    {"packet", SIRQ_RUN_PACKET},
    {"xdp", SIRQ_RUN_XDP},
    {"tap", SIRQ_RUN_TAP},
    {"pcap", SIRQ_RUN_PCAP},
};

const cyaml_schema_field_t sirq_run_sched_fields[] = {
    WORD(classes, struct sirq_run_sched, class),
    UINT(struct sirq_run_sched, priority),
    CYAML_FIELD_INT("nice", MAY, struct sirq_run_sched, nice),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_run_net_fields[] = {
    UINT(struct sirq_run_net, pool_packets),
    UINT(struct sirq_run_net, netdev_budget),
    UINT(struct sirq_run_net, netdev_budget_jiffies),
    UINT(struct sirq_run_net, netdev_max_backlog),
    UINT(struct sirq_run_net, flow_limit),
    CYAML_FIELD_END,
};

/* ---- interfaces and routes -------------------------------------------------------------- */

const cyaml_schema_field_t sirq_run_poller_fields[] = {
    LIST(struct sirq_run_poller, cpus, &number, SIRQ_RUN_CPUS),
    MAP(struct sirq_run_poller, sched, sirq_run_sched_fields),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_run_interface_fields[] = {
    TEXT(struct sirq_run_interface, name),
    WORD(drivers, struct sirq_run_interface, driver),
    TEXT(struct sirq_run_interface, ifname),
    UINT_PTR(struct sirq_run_interface, cpu),
    UINT(struct sirq_run_interface, queue),
    UINT(struct sirq_run_interface, ring_size),
    UINT(struct sirq_run_interface, frame_size),
    TEXT(struct sirq_run_interface, mac),
    UINT(struct sirq_run_interface, mtu),
    UINT(struct sirq_run_interface, vlan),
    UINT(struct sirq_run_interface, vlan_priority),
    LIST(struct sirq_run_interface, addresses, &string, SIRQ_RUN_ADDRESSES),
    LIST(struct sirq_run_interface, rps, &number, SIRQ_RUN_CPUS),
    MAP_PTR(struct sirq_run_interface, threaded, sirq_run_poller_fields),
    TEXT(struct sirq_run_interface, file),
    UINT(struct sirq_run_interface, replay_pps),
    UINT(struct sirq_run_interface, flows),
    BOOL(struct sirq_run_interface, loop),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_run_backlog_fields[] = {
    LIST(struct sirq_run_backlog, of, &number, SIRQ_RUN_CPUS),
    CYAML_FIELD_SEQUENCE_COUNT("cpus", MAY_PTR, struct sirq_run_backlog, on.cpus, on.n_cpus,
                               &number, 0, SIRQ_RUN_CPUS),
    CYAML_FIELD_MAPPING("sched", MAY, struct sirq_run_backlog, on.sched, sirq_run_sched_fields),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_run_route_fields[] = {
    TEXT(struct sirq_run_route, to),
    TEXT(struct sirq_run_route, via),
    TEXT(struct sirq_run_route, interface),
    CYAML_FIELD_END,
};

/* ---- services ----------------------------------------------------------------------------- */

#define LISTEN(type)                                                                           \
    CYAML_FIELD_UINT("port", MAY, type, listen.port),                                          \
        CYAML_FIELD_STRING_PTR("address", MAY_PTR, type, listen.address, 0, SIRQ_CONF_STRING), \
        CYAML_FIELD_UINT("rcvbuf", MAY, type, listen.rcvbuf),                                  \
        CYAML_FIELD_SEQUENCE_COUNT("cpus", MAY_PTR, type, listen.threads.cpus,                 \
                                   listen.threads.n_cpus, &number, 0, SIRQ_RUN_CPUS),          \
        CYAML_FIELD_UINT("batch", MAY, type, listen.threads.batch),                            \
        CYAML_FIELD_MAPPING("sched", MAY, type, listen.threads.sched, sirq_run_sched_fields)

const cyaml_schema_field_t sirq_run_udp_echo_fields[] = {
    LISTEN(struct sirq_run_udp_echo),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_run_dns_fields[] = {
    TEXT(struct sirq_run_dns, zone),
    LISTEN(struct sirq_run_dns),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_run_forward_fields[] = {
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_run_nat_router_fields[] = {
    TEXT(struct sirq_run_nat_router, outside),
    UINT(struct sirq_run_nat_router, max_conns),
    UINT(struct sirq_run_nat_router, port_lo),
    UINT(struct sirq_run_nat_router, port_hi),
    UINT(struct sirq_run_nat_router, udp_s),
    UINT(struct sirq_run_nat_router, udp_stream_s),
    UINT(struct sirq_run_nat_router, tcp_transitory_s),
    UINT(struct sirq_run_nat_router, tcp_established_s),
    UINT(struct sirq_run_nat_router, icmp_s),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_run_service_fields[] = {
    CYAML_FIELD_MAPPING_PTR("udp-echo", MAY_PTR, struct sirq_run_service, udp_echo,
                            sirq_run_udp_echo_fields),
    CYAML_FIELD_MAPPING_PTR("dns", MAY_PTR, struct sirq_run_service, dns, sirq_run_dns_fields),
    CYAML_FIELD_MAPPING_PTR("forward", MAY_PTR, struct sirq_run_service, forward,
                            sirq_run_forward_fields),
    CYAML_FIELD_MAPPING_PTR("nat-router", MAY_PTR, struct sirq_run_service, nat_router,
                            sirq_run_nat_router_fields),
    CYAML_FIELD_END,
};

/* ---- all ------------------------------------------------------------------------------------ */

static const cyaml_schema_value_t interface =
    ENTRY(struct sirq_run_interface, sirq_run_interface_fields);
static const cyaml_schema_value_t backlog = ENTRY(struct sirq_run_backlog, sirq_run_backlog_fields);
static const cyaml_schema_value_t route = ENTRY(struct sirq_run_route, sirq_run_route_fields);
static const cyaml_schema_value_t service = ENTRY(struct sirq_run_service, sirq_run_service_fields);

const cyaml_schema_field_t sirq_run_fields[] = {
    LIST(struct sirq_run_file, cpus, &number, SIRQ_RUN_CPUS),
    UINT(struct sirq_run_file, hz),
    WORD(deliveries, struct sirq_run_file, delivery),
    UINT(struct sirq_run_file, stall_ms),
    UINT(struct sirq_run_file, drain_ms),
    TEXT(struct sirq_run_file, policy),
    MAP(struct sirq_run_file, ksoftirqd, sirq_run_sched_fields),
    BOOL(struct sirq_run_file, rfs),
    MAP(struct sirq_run_file, net, sirq_run_net_fields),
    LIST(struct sirq_run_file, interfaces, &interface, SIRQ_RUN_INTERFACES),
    LIST(struct sirq_run_file, backlog_threads, &backlog, SIRQ_RUN_CPUS),
    LIST(struct sirq_run_file, routes, &route, SIRQ_RUN_ROUTES),
    LIST(struct sirq_run_file, services, &service, SIRQ_RUN_SERVICES),
    CYAML_FIELD_END,
};

const cyaml_schema_value_t sirq_run_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct sirq_run_file, sirq_run_fields),
};
