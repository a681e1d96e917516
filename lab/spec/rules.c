/* SPDX-License-Identifier: MIT */
/* What has to be given, and the range of every number of an experiment file. */
#include "internal.h"

#include <string.h>

#define S INT64_C(1000000000) /* ns */
#define HOUR_MS INT64_C(3600000)
#define WEEK_MS (7 * 24 * HOUR_MS)

#define NEEDED true
#define MAY false

/* Names and strings have no range. */
static const struct sirq_spec_rule rules[] = {
    {sirq_spec_machine_fields, "cpus", NEEDED, 1, SIRQ_SIM_CPUS},
    {sirq_spec_machine_fields, "hz", NEEDED, 1, 100000},
    {sirq_spec_machine_fields, "smt", MAY, 1, 2},
    {sirq_spec_machine_fields, "smt_permille", MAY, 1000, 10000},
    {sirq_spec_machine_fields, "ipi_ns", MAY, 1, S},
    {sirq_spec_machine_fields, "rt_period_ns", MAY, 1000, 1000 * S},
    {sirq_spec_machine_fields, "rt_runtime_ns", MAY, 1000, 1000 * S},
    {sirq_spec_fair_fields, NULL, MAY, 1000, S},
    {sirq_spec_sched_fields, "priority", MAY, 0, 99},
    {sirq_spec_sched_fields, "nice", MAY, -20, 19},
    {sirq_spec_cost_fields, NULL, MAY, 1, S},
    {sirq_spec_net_fields, "netdev_budget", MAY, 1, 1000000},

    {sirq_spec_nic_fields, "name", NEEDED, 0, 0},
    {sirq_spec_nic_fields, "rings", MAY, 1, 64},
    {sirq_spec_nic_fields, "ring", NEEDED, 2, 1 << 20},
    {sirq_spec_nic_fields, "irq_interval_ns", MAY, 0, S},
    {sirq_spec_nic_fields, "line_mbit", MAY, 0, 1000000},
    {sirq_spec_nic_fields, "cpus", MAY, 0, SIRQ_SIM_CPUS - 1},
    {sirq_spec_disk_fields, "name", NEEDED, 0, 0},
    {sirq_spec_disk_fields, "read_ns", NEEDED, 1, 100 * S},
    {sirq_spec_disk_fields, "read_jitter_ns", MAY, 0, 100 * S},
    {sirq_spec_disk_fields, "depth", MAY, 1, 1024},
    {sirq_spec_disk_fields, "cpu", MAY, 0, SIRQ_SIM_CPUS - 1},

    {sirq_spec_threads_fields, "name", NEEDED, 0, 0},
    {sirq_spec_threads_fields, "count", MAY, 1, SIRQ_SPEC_THREADS},
    {sirq_spec_threads_fields, "cpus", MAY, 0, SIRQ_SIM_CPUS - 1},
    {sirq_spec_udp_receiver_fields, "rcvbuf", NEEDED, 4096, 256 << 20},
    {sirq_spec_udp_receiver_fields, "batch", MAY, 1, 64},
    {sirq_spec_udp_receiver_fields, "work_ns", MAY, 0, S},
    {sirq_spec_rr_client_fields, "nic", NEEDED, 0, 0},
    {sirq_spec_rr_client_fields, "rcvbuf", NEEDED, 4096, 256 << 20},
    {sirq_spec_rr_client_fields, "rtt_ns", NEEDED, 1, 10 * S},
    {sirq_spec_rr_client_fields, "rtt_jitter_ns", MAY, 0, S},
    {sirq_spec_rr_client_fields, "work_ns", NEEDED, 1, S},
    {sirq_spec_rr_client_fields, "sections_least", MAY, 0, 1000},
    {sirq_spec_rr_client_fields, "sections_most", MAY, 0, 1000},
    {sirq_spec_rr_server_fields, "nic", NEEDED, 0, 0},
    {sirq_spec_rr_server_fields, "clients", NEEDED, 1, 4096},
    {sirq_spec_rr_server_fields, "rcvbuf", NEEDED, 4096, 256 << 20},
    {sirq_spec_rr_server_fields, "rtt_ns", NEEDED, 1, 10 * S},
    {sirq_spec_rr_server_fields, "rtt_jitter_ns", MAY, 0, S},
    {sirq_spec_rr_server_fields, "work_ns", NEEDED, 1, S},
    {sirq_spec_tcp_receiver_fields, "nic", NEEDED, 0, 0},
    {sirq_spec_tcp_receiver_fields, "rcvbuf", NEEDED, 4096, 256 << 20},
    {sirq_spec_tcp_receiver_fields, "rtt_ns", NEEDED, 1, 10 * S},
    {sirq_spec_tcp_receiver_fields, "rtt_jitter_ns", MAY, 0, S},
    {sirq_spec_tcp_receiver_fields, "work_ns", NEEDED, 1, S},
    {sirq_spec_tcp_receiver_fields, "limit_mbit", MAY, 0, 1000000},
    {sirq_spec_tcp_sender_fields, "nic", NEEDED, 0, 0},
    {sirq_spec_tcp_sender_fields, "sndbuf", NEEDED, 4096, 256 << 20},
    {sirq_spec_tcp_sender_fields, "rtt_ns", NEEDED, 1, 10 * S},
    {sirq_spec_tcp_sender_fields, "rtt_jitter_ns", MAY, 0, S},
    {sirq_spec_tcp_sender_fields, "work_ns", NEEDED, 1, S},
    {sirq_spec_tcp_sender_fields, "limit_mbit", MAY, 0, 1000000},
    {sirq_spec_disk_reader_fields, "disk", NEEDED, 0, 0},
    {sirq_spec_disk_reader_fields, "work_ns", MAY, 0, S},
    {sirq_spec_cyclictest_fields, "interval_ns", NEEDED, 1000, 3600 * S},
    {sirq_spec_cyclictest_fields, "work_ns", MAY, 0, S},
    {sirq_spec_hog_fields, "slice_ns", MAY, 1000, S},
    {sirq_spec_watchdog_fields, "interval_ns", NEEDED, 1000, 3600 * S},
    {sirq_spec_watchdog_fields, "limit_ns", NEEDED, 1000, 3600 * S},

    {sirq_spec_traffic_fields, "name", NEEDED, 0, 0},
    {sirq_spec_traffic_fields, "nic", NEEDED, 0, 0},
    {sirq_spec_traffic_fields, "to", NEEDED, 0, 0},
    {sirq_spec_traffic_fields, "rate", NEEDED, 1, S},
    {sirq_spec_traffic_fields, "burst", MAY, 1, 65536},
    {sirq_spec_traffic_fields, "size", MAY, 60, 1514},
    {sirq_spec_traffic_fields, "start_ms", MAY, 0, WEEK_MS},
    {sirq_spec_traffic_fields, "stop_ms", MAY, 0, WEEK_MS},

    {sirq_spec_setup_fields, "name", NEEDED, 0, 0},
    {sirq_spec_unpatched_fields, NULL, NEEDED, 0, 0},
    {sirq_spec_run_fields, "seeds", MAY, 1, SIRQ_SPEC_SEEDS},
    {sirq_spec_run_fields, "warmup_ms", MAY, 0, HOUR_MS},
    {sirq_spec_run_fields, "duration_ms", NEEDED, 1, WEEK_MS},
    {sirq_spec_measure_fields, "name", NEEDED, 0, 0},
    {sirq_spec_measure_fields, "of", NEEDED, 0, 0},
    {sirq_spec_measure_fields, "what", NEEDED, 0, 0},
    {sirq_spec_cell_fields, "metric", NEEDED, 0, 0},
    {sirq_spec_claim_fields, "name", NEEDED, 0, 0},
    {sirq_spec_claim_fields, "setup", NEEDED, 0, 0},
    {sirq_spec_claim_fields, "policy", NEEDED, 0, 0},
    {sirq_spec_claim_fields, "left", NEEDED, 0, 0},
    {sirq_spec_claim_fields, "is", NEEDED, 0, 0},
    {sirq_spec_claim_fields, "value", MAY, 0, 1000000000000},
    {sirq_spec_claim_fields, "times", MAY, 0, 1000000},
    {sirq_spec_claim_fields, "percent", MAY, 0, 1000},
};

const struct sirq_spec_rule *sirq_spec_rule(const cyaml_schema_field_t *fields, const char *key)
{
    for (size_t i = 0; i < LEN(rules); i++) {
        if (rules[i].fields == fields && (rules[i].key == NULL || strcmp(rules[i].key, key) == 0))
            return &rules[i];
    }
    return NULL;
}
