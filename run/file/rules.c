/* SPDX-License-Identifier: MIT */
/* What has to be given, the range of every number, and what a running plane takes up. */
#include "internal.h"

#include <string.h>

#define NEEDED true
#define MAY false
#define CPU MAY, 0, SIRQ_RUN_CPU_MAX

/* Names and strings have no range. */
static const struct sirq_conf_rule rules[] = {
    {sirq_run_fields, "cpus", NEEDED, 0, SIRQ_RUN_CPU_MAX},
    {sirq_run_fields, "hz", MAY, 1, 100000},
    {sirq_run_fields, "stall_ms", MAY, 10, 3600000},
    {sirq_run_fields, "drain_ms", MAY, 1, 60000},
    {sirq_run_fields, "interfaces", NEEDED, 0, 0},
    {sirq_run_sched_fields, "priority", MAY, 0, 99},
    {sirq_run_sched_fields, "nice", MAY, -20, 19},

    {sirq_run_net_fields, "pool_packets", MAY, 64, 1 << 20},
    {sirq_run_net_fields, "netdev_budget", MAY, 1, 1000000},
    {sirq_run_net_fields, "netdev_budget_jiffies", MAY, 1, 1000},
    {sirq_run_net_fields, "netdev_max_backlog", MAY, 1, SIRQ_BACKLOG_MAX},
    {sirq_run_net_fields, "flow_limit", MAY, 0, SIRQ_FLOW_LIMIT_MAX},

    {sirq_run_poller_fields, "cpus", CPU},
    {sirq_run_interface_fields, "name", NEEDED, 0, 0},
    {sirq_run_interface_fields, "driver", NEEDED, 0, 0},
    {sirq_run_interface_fields, "cpu", CPU},
    {sirq_run_interface_fields, "queue", MAY, 0, 1023},
    {sirq_run_interface_fields, "ring_size", MAY, 2, 65536},
    {sirq_run_interface_fields, "frame_size", MAY, 128, 4096},
    {sirq_run_interface_fields, "mtu", MAY, SIRQ_MTU_MIN, SIRQ_MTU_MAX},
    {sirq_run_interface_fields, "vlan", MAY, 0, 4094},
    {sirq_run_interface_fields, "vlan_priority", MAY, 0, 7},
    {sirq_run_interface_fields, "rps", CPU},
    {sirq_run_interface_fields, "replay_pps", MAY, 0, 1000000000},
    {sirq_run_interface_fields, "flows", MAY, 1, 1 << 20},
    {sirq_run_backlog_fields, "of", CPU},
    {sirq_run_backlog_fields, "cpus", CPU},
    {sirq_run_route_fields, "to", NEEDED, 0, 0},

    {sirq_run_udp_echo_fields, "port", NEEDED, 1, 65535},
    {sirq_run_udp_echo_fields, "rcvbuf", MAY, 4096, 256 << 20},
    {sirq_run_udp_echo_fields, "cpus", CPU},
    {sirq_run_udp_echo_fields, "batch", MAY, 1, SIRQ_RUN_BATCH},
    {sirq_run_dns_fields, "zone", NEEDED, 0, 0},
    {sirq_run_dns_fields, "port", MAY, 1, 65535},
    {sirq_run_dns_fields, "rcvbuf", MAY, 4096, 256 << 20},
    {sirq_run_dns_fields, "cpus", CPU},
    {sirq_run_dns_fields, "batch", MAY, 1, SIRQ_RUN_BATCH},
    {sirq_run_nat_router_fields, "outside", NEEDED, 0, 0},
    {sirq_run_nat_router_fields, "max_conns", MAY, 1, SIRQ_NAT_CONNS_MAX},
    {sirq_run_nat_router_fields, "port_lo", MAY, 1, 65535},
    {sirq_run_nat_router_fields, "port_hi", MAY, 1, 65535},
    {sirq_run_nat_router_fields, "udp_s", MAY, 1, 86400},
    {sirq_run_nat_router_fields, "udp_stream_s", MAY, 1, 86400},
    {sirq_run_nat_router_fields, "tcp_transitory_s", MAY, 1, 86400},
    {sirq_run_nat_router_fields, "tcp_established_s", MAY, 1, 604800},
    {sirq_run_nat_router_fields, "icmp_s", MAY, 1, 86400},
};

const struct sirq_conf_kind sirq_run_kind = {
    .what = "data plane",
    .docs = "docs/run.md",
    .rules = rules,
    .nrules = LEN(rules),
};

bool sirq_run_reloads(const cyaml_schema_field_t *fields, const char *key)
{
    static const struct {
        const cyaml_schema_field_t *fields;
        const char *key;
    } taken[] = {
        {sirq_run_fields, "policy"},
        {sirq_run_fields, "ksoftirqd"},
        {sirq_run_fields, "rfs"},
        {sirq_run_fields, "drain_ms"},
        {sirq_run_fields, "backlog_threads"},
        {sirq_run_interface_fields, "rps"},
        {sirq_run_interface_fields, "threaded"},
        {sirq_run_dns_fields, "zone"},
    };

    for (size_t i = 0; i < LEN(taken); i++) {
        if (taken[i].fields == fields && strcmp(taken[i].key, key) == 0)
            return true;
    }
    return false;
}
