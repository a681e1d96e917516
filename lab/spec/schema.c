/* SPDX-License-Identifier: MIT */
/*
 * The schema of an experiment file: which keys there are, for libcyaml.  No key is needed
 * here, since a setting may create a mapping key by key: what has to be given, and the range
 * of each number, stand in rules.c.
 */
#include "internal.h"
#include "schema.h"

static const cyaml_schema_value_t number = {CYAML_VALUE_UINT(CYAML_FLAG_DEFAULT, uint32_t)};
static const cyaml_schema_value_t string = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, SIRQ_CONF_STRING)};

static const cyaml_strval_t classes[] = {
    {"other", SIRQ_SPEC_SCHED_OTHER}, {"batch", SIRQ_SPEC_SCHED_BATCH},
    {"idle", SIRQ_SPEC_SCHED_IDLE},   {"fifo", SIRQ_SPEC_SCHED_FIFO},
    {"rr", SIRQ_SPEC_SCHED_RR},
};

static const cyaml_strval_t schedulers[] = {{"cfs", SIRQ_SIM_CFS}, {"eevdf", SIRQ_SIM_EEVDF}};

static const cyaml_strval_t arrivals[] = {
    {"constant", SIRQ_SIM_CONSTANT},
    {"poisson", SIRQ_SIM_POISSON},
    {"bursts", SPEC_BURSTS},
};

static const cyaml_strval_t stats[] = {
    {"min", SIRQ_SPEC_MIN}, {"mean", SIRQ_SPEC_MEAN},     {"p50", SIRQ_SPEC_P50},
    {"p90", SIRQ_SPEC_P90}, {"p99", SIRQ_SPEC_P99},       {"p999", SIRQ_SPEC_P999},
    {"max", SIRQ_SPEC_MAX}, {"stddev", SIRQ_SPEC_STDDEV},
};

static const cyaml_strval_t betters[] = {
    {"more", SIRQ_SPEC_MORE},
    {"less", SIRQ_SPEC_LESS},
};

static const cyaml_strval_t relations[] = {
    {"at_most", SIRQ_SPEC_AT_MOST}, {"at_least", SIRQ_SPEC_AT_LEAST}, {"about", SIRQ_SPEC_ABOUT},
    {"below", SIRQ_SPEC_BELOW},     {"above", SIRQ_SPEC_ABOVE},
};

static const cyaml_strval_t whats[] = {
#define WHAT(sym, name, of, dist, unit, text) {name, SIRQ_SPEC_##sym},
    SIRQ_SPEC_WHATS(WHAT)
#undef WHAT
};

/* ---- the machine ----------------------------------------------------------------------- */

const cyaml_schema_field_t sirq_spec_fair_fields[] = {
    UINT(struct sirq_spec_fair, latency_ns),
    UINT(struct sirq_spec_fair, min_granularity_ns),
    UINT(struct sirq_spec_fair, wakeup_granularity_ns),
    UINT(struct sirq_spec_fair, slice_ns),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_sched_fields[] = {
    WORD(classes, struct sirq_spec_sched, class),
    UINT(struct sirq_spec_sched, priority),
    CYAML_FIELD_INT("nice", MAY, struct sirq_spec_sched, nice),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_machine_fields[] = {
    UINT(struct sirq_spec_machine, cpus),
    UINT(struct sirq_spec_machine, hz),
    UINT(struct sirq_spec_machine, smt),
    UINT(struct sirq_spec_machine, smt_permille),
    BOOL(struct sirq_spec_machine, irq_time_accounting),
    UINT(struct sirq_spec_machine, ipi_ns),
    UINT(struct sirq_spec_machine, rt_period_ns),
    UINT(struct sirq_spec_machine, rt_runtime_ns),
    WORD(schedulers, struct sirq_spec_machine, scheduler),
    MAP_PTR(struct sirq_spec_machine, fair, sirq_spec_fair_fields),
    MAP_PTR(struct sirq_spec_machine, ksoftirqd, sirq_spec_sched_fields),
    CYAML_FIELD_END,
};

/* Every cost, by the name it has in sirq/host.h. */
const cyaml_schema_field_t sirq_spec_cost_fields[] = {
#define COST(sym, name, meaning) CYAML_FIELD_UINT(name, MAY, struct sirq_spec_costs, sym),
    SIRQ_COSTS(COST)
#undef COST
        CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_net_fields[] = {
    BOOL(struct sirq_spec_net, poll_until_budget),
    UINT(struct sirq_spec_net, netdev_budget),
    UINT(struct sirq_spec_net, max_backlog),
    BOOL(struct sirq_spec_net, threaded_backlogs),
    CYAML_FIELD_END,
};

/* ---- devices --------------------------------------------------------------------------- */

const cyaml_schema_field_t sirq_spec_nic_fields[] = {
    TEXT(struct sirq_spec_nic, name),
    UINT(struct sirq_spec_nic, rings),
    UINT(struct sirq_spec_nic, ring),
    UINT(struct sirq_spec_nic, irq_interval_ns),
    UINT(struct sirq_spec_nic, tx_ring),
    UINT(struct sirq_spec_nic, line_mbit),
    UINT(struct sirq_spec_nic, line_queue_ns),
    LIST(struct sirq_spec_nic, cpus, &number, SIRQ_SIM_CPUS),
    LIST(struct sirq_spec_nic, rps, &number, SIRQ_SIM_CPUS),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_disk_fields[] = {
    TEXT(struct sirq_spec_disk, name),
    UINT(struct sirq_spec_disk, read_ns),
    UINT(struct sirq_spec_disk, read_jitter_ns),
    UINT(struct sirq_spec_disk, depth),
    UINT(struct sirq_spec_disk, cpu),
    CYAML_FIELD_END,
};

/* ---- threads --------------------------------------------------------------------------- */

const cyaml_schema_field_t sirq_spec_udp_receiver_fields[] = {
    UINT(struct sirq_spec_udp_receiver, rcvbuf),
    UINT(struct sirq_spec_udp_receiver, batch),
    UINT(struct sirq_spec_udp_receiver, work_ns),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_rr_client_fields[] = {
    TEXT(struct sirq_spec_rr_client, nic),
    UINT(struct sirq_spec_rr_client, rcvbuf),
    UINT(struct sirq_spec_rr_client, rtt_ns),
    UINT(struct sirq_spec_rr_client, rtt_jitter_ns),
    UINT(struct sirq_spec_rr_client, work_ns),
    UINT(struct sirq_spec_rr_client, sections_least),
    UINT(struct sirq_spec_rr_client, sections_most),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_rr_server_fields[] = {
    TEXT(struct sirq_spec_rr_server, nic),
    UINT(struct sirq_spec_rr_server, clients),
    UINT(struct sirq_spec_rr_server, rcvbuf),
    UINT(struct sirq_spec_rr_server, rtt_ns),
    UINT(struct sirq_spec_rr_server, rtt_jitter_ns),
    UINT(struct sirq_spec_rr_server, work_ns),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_tcp_receiver_fields[] = {
    TEXT(struct sirq_spec_tcp_receiver, nic),
    UINT(struct sirq_spec_tcp_receiver, rcvbuf),
    UINT(struct sirq_spec_tcp_receiver, rtt_ns),
    UINT(struct sirq_spec_tcp_receiver, rtt_jitter_ns),
    UINT(struct sirq_spec_tcp_receiver, work_ns),
    UINT(struct sirq_spec_tcp_receiver, limit_mbit),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_tcp_sender_fields[] = {
    TEXT(struct sirq_spec_tcp_sender, nic),
    UINT(struct sirq_spec_tcp_sender, sndbuf),
    UINT(struct sirq_spec_tcp_sender, rtt_ns),
    UINT(struct sirq_spec_tcp_sender, rtt_jitter_ns),
    UINT(struct sirq_spec_tcp_sender, work_ns),
    UINT(struct sirq_spec_tcp_sender, limit_mbit),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_disk_reader_fields[] = {
    TEXT(struct sirq_spec_disk_reader, disk),
    UINT(struct sirq_spec_disk_reader, work_ns),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_cyclictest_fields[] = {
    UINT(struct sirq_spec_cyclictest, interval_ns),
    UINT(struct sirq_spec_cyclictest, work_ns),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_hog_fields[] = {
    UINT(struct sirq_spec_hog, slice_ns),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_watchdog_fields[] = {
    UINT(struct sirq_spec_watchdog, interval_ns),
    UINT(struct sirq_spec_watchdog, limit_ns),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_threads_fields[] = {
    TEXT(struct sirq_spec_threads, name),
    UINT(struct sirq_spec_threads, count),
    LIST(struct sirq_spec_threads, cpus, &number, SIRQ_SIM_CPUS),
    BOOL(struct sirq_spec_threads, pin),
    MAP(struct sirq_spec_threads, sched, sirq_spec_sched_fields),
    MAP_PTR(struct sirq_spec_threads, udp_receiver, sirq_spec_udp_receiver_fields),
    MAP_PTR(struct sirq_spec_threads, rr_client, sirq_spec_rr_client_fields),
    MAP_PTR(struct sirq_spec_threads, rr_server, sirq_spec_rr_server_fields),
    MAP_PTR(struct sirq_spec_threads, tcp_receiver, sirq_spec_tcp_receiver_fields),
    MAP_PTR(struct sirq_spec_threads, tcp_sender, sirq_spec_tcp_sender_fields),
    MAP_PTR(struct sirq_spec_threads, disk_reader, sirq_spec_disk_reader_fields),
    MAP_PTR(struct sirq_spec_threads, cyclictest, sirq_spec_cyclictest_fields),
    MAP_PTR(struct sirq_spec_threads, hog, sirq_spec_hog_fields),
    MAP_PTR(struct sirq_spec_threads, watchdog, sirq_spec_watchdog_fields),
    CYAML_FIELD_END,
};

/* ---- traffic, setups, what is measured --------------------------------------------------- */

const cyaml_schema_field_t sirq_spec_traffic_fields[] = {
    TEXT(struct sirq_spec_traffic, name),    TEXT(struct sirq_spec_traffic, nic),
    TEXT(struct sirq_spec_traffic, to),      WORD(arrivals, struct sirq_spec_traffic, arrivals),
    UINT(struct sirq_spec_traffic, rate),    UINT(struct sirq_spec_traffic, burst),
    UINT(struct sirq_spec_traffic, size),    UINT(struct sirq_spec_traffic, start_ms),
    UINT(struct sirq_spec_traffic, stop_ms), CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_host_fields[] = {
    TEXT(struct sirq_spec_host, name),
    TEXT(struct sirq_spec_host, nic),
    UINT(struct sirq_spec_host, port),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_flow_tcp_fields[] = {
    UINT(struct sirq_spec_flow_tcp, rtt_ns),
    UINT(struct sirq_spec_flow_tcp, rtt_jitter_ns),
    UINT(struct sirq_spec_flow_tcp, window),
    UINT(struct sirq_spec_flow_tcp, limit_mbit),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_flow_ping_fields[] = {
    BOOL(struct sirq_spec_flow_ping, icmp),
    UINT(struct sirq_spec_flow_ping, rtt_ns),
    UINT(struct sirq_spec_flow_ping, interval_ns),
    UINT(struct sirq_spec_flow_ping, timeout_ns),
    UINT(struct sirq_spec_flow_ping, average_ns),
    UINT(struct sirq_spec_flow_ping, size),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_flow_fields[] = {
    TEXT(struct sirq_spec_flow, name),
    TEXT(struct sirq_spec_flow, from),
    TEXT(struct sirq_spec_flow, to),
    UINT(struct sirq_spec_flow, count),
    MAP_PTR(struct sirq_spec_flow, tcp, sirq_spec_flow_tcp_fields),
    MAP_PTR(struct sirq_spec_flow, ping, sirq_spec_flow_ping_fields),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_unpatched_fields[] = {
    TEXT(struct sirq_spec_unpatched, name),
    TEXT(struct sirq_spec_unpatched, policy),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_setup_fields[] = {
    TEXT(struct sirq_spec_setup, name),
    LIST(struct sirq_spec_setup, set, &string, SIRQ_SPEC_SETTINGS),
    MAP_PTR(struct sirq_spec_setup, published, sirq_spec_unpatched_fields),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_row_fields[] = {
    TEXT(struct sirq_spec_row, setup),
    TEXT(struct sirq_spec_row, metric),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_run_fields[] = {
    UINT(struct sirq_spec_run, seeds),
    UINT(struct sirq_spec_run, warmup_ms),
    UINT(struct sirq_spec_run, duration_ms),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_measure_fields[] = {
    TEXT(struct sirq_spec_measure, name),
    TEXT(struct sirq_spec_measure, of),
    WORD(whats, struct sirq_spec_measure, what),
    WORD(stats, struct sirq_spec_measure, stat),
    TEXT(struct sirq_spec_measure, unit),
    BOOL(struct sirq_spec_measure, each),
    WORD(betters, struct sirq_spec_measure, better),
    MAP_PTR(struct sirq_spec_measure, published, sirq_spec_row_fields),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_cell_fields[] = {
    TEXT(struct sirq_spec_cell, setup),
    TEXT(struct sirq_spec_cell, policy),
    TEXT(struct sirq_spec_cell, metric),
    CYAML_FIELD_END,
};

const cyaml_schema_field_t sirq_spec_claim_fields[] = {
    TEXT(struct sirq_spec_claim, name),
    TEXT(struct sirq_spec_claim, setup),
    TEXT(struct sirq_spec_claim, policy),
    MAP(struct sirq_spec_claim, left, sirq_spec_cell_fields),
    WORD(relations, struct sirq_spec_claim, is),
    MAP_PTR(struct sirq_spec_claim, right, sirq_spec_cell_fields),
    DECIMAL_PTR(struct sirq_spec_claim, value),
    DECIMAL_PTR(struct sirq_spec_claim, times),
    UINT(struct sirq_spec_claim, percent),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t nic = ENTRY(struct sirq_spec_nic, sirq_spec_nic_fields);
static const cyaml_schema_value_t disk = ENTRY(struct sirq_spec_disk, sirq_spec_disk_fields);
static const cyaml_schema_value_t group = ENTRY(struct sirq_spec_threads, sirq_spec_threads_fields);
static const cyaml_schema_value_t load = ENTRY(struct sirq_spec_traffic, sirq_spec_traffic_fields);
static const cyaml_schema_value_t host = ENTRY(struct sirq_spec_host, sirq_spec_host_fields);
static const cyaml_schema_value_t flow = ENTRY(struct sirq_spec_flow, sirq_spec_flow_fields);
static const cyaml_schema_value_t setup = ENTRY(struct sirq_spec_setup, sirq_spec_setup_fields);
static const cyaml_schema_value_t unpatched =
    ENTRY(struct sirq_spec_unpatched, sirq_spec_unpatched_fields);
static const cyaml_schema_value_t measure =
    ENTRY(struct sirq_spec_measure, sirq_spec_measure_fields);
static const cyaml_schema_value_t claim = ENTRY(struct sirq_spec_claim, sirq_spec_claim_fields);

const cyaml_schema_field_t sirq_spec_fields[] = {
    TEXT(struct sirq_spec, name),
    TEXT(struct sirq_spec, summary),
    TEXT(struct sirq_spec, published),
    LIST(struct sirq_spec, unpatched, &unpatched, SIRQ_SPEC_UNPATCHED),
    MAP(struct sirq_spec, machine, sirq_spec_machine_fields),
    MAP(struct sirq_spec, costs_ns, sirq_spec_cost_fields),
    MAP(struct sirq_spec, net, sirq_spec_net_fields),
    LIST(struct sirq_spec, nics, &nic, SIRQ_SPEC_NICS),
    LIST(struct sirq_spec, disks, &disk, SIRQ_SPEC_DISKS),
    LIST(struct sirq_spec, threads, &group, SIRQ_SPEC_GROUPS),
    LIST(struct sirq_spec, traffic, &load, SIRQ_SPEC_TRAFFIC),
    LIST(struct sirq_spec, hosts, &host, SIRQ_SPEC_HOSTS),
    LIST(struct sirq_spec, flows, &flow, SIRQ_SPEC_FLOWS),
    LIST(struct sirq_spec, setups, &setup, SIRQ_SPEC_SETUPS),
    LIST(struct sirq_spec, policies, &string, SIRQ_SPEC_POLICIES),
    MAP(struct sirq_spec, run, sirq_spec_run_fields),
    LIST(struct sirq_spec, measure, &measure, SIRQ_SPEC_MEASURES),
    LIST(struct sirq_spec, claims, &claim, SIRQ_SPEC_CLAIMS),
    CYAML_FIELD_END,
};

const cyaml_schema_value_t sirq_spec_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct sirq_spec, sirq_spec_fields),
};
