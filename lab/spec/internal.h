/* SPDX-License-Identifier: MIT */
/*
 * Between the parts of the loader.  A file is read by conf/, as YAML of the schema's form into
 * structs; then settings are applied (set.c), and at last it is checked as a whole (check.c,
 * check_measure.c, check_claim.c).
 */
#ifndef SIRQ_LAB_SPEC_INTERNAL_H
#define SIRQ_LAB_SPEC_INTERNAL_H

#include "conf.h"
#include "spec.h"

enum { SPEC_BURSTS = SIRQ_SIM_POISSON + 1 }; /* not in sirq/sim.h yet */

/* ---- schema.c, rules.c ------------------------------------------------------------------- */

extern const cyaml_schema_field_t sirq_spec_fair_fields[], sirq_spec_sched_fields[],
    sirq_spec_machine_fields[], sirq_spec_cost_fields[], sirq_spec_net_fields[],
    sirq_spec_nic_fields[], sirq_spec_disk_fields[], sirq_spec_udp_receiver_fields[],
    sirq_spec_rr_client_fields[], sirq_spec_rr_server_fields[], sirq_spec_tcp_receiver_fields[],
    sirq_spec_tcp_sender_fields[], sirq_spec_disk_reader_fields[], sirq_spec_cyclictest_fields[],
    sirq_spec_hog_fields[], sirq_spec_watchdog_fields[], sirq_spec_threads_fields[],
    sirq_spec_traffic_fields[], sirq_spec_host_fields[], sirq_spec_flow_tcp_fields[],
    sirq_spec_flow_ping_fields[], sirq_spec_flow_fields[], sirq_spec_row_fields[],
    sirq_spec_setup_fields[], sirq_spec_unpatched_fields[], sirq_spec_run_fields[],
    sirq_spec_measure_fields[], sirq_spec_cell_fields[], sirq_spec_claim_fields[],
    sirq_spec_fields[];
extern const cyaml_schema_value_t sirq_spec_schema;

extern const struct sirq_conf_kind sirq_spec_kind;

/* ---- set.c --------------------------------------------------------------------------------- */

/* Apply place->setting; `path` (SIRQ_CONF_PATH bytes) is what it has set.  0, -EINVAL, -ENOMEM. */
int sirq_spec_set(struct sirq_spec *spec, const struct sirq_conf_place *place, char *path);

/* ---- check_needed.c, check.c, check_measure.c, check_claim.c -------------------------------- */

/* What has been set, for errors that come of it. */
struct sirq_spec_origin {
    char path[SIRQ_CONF_PATH], origin[48];
    const char *setting;
};

struct sirq_spec_check {
    const struct sirq_spec *spec;
    struct sirq_conf_place place;
    const struct sirq_spec_origin *origin;
    unsigned norigins;
};

/* sirq_conf_bad() on the line of what is to blame: the file's, or a setting's. */
int sirq_spec_wrong(const struct sirq_spec_check *check, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

int sirq_spec_check_needed(const struct sirq_spec_check *check);
int sirq_spec_check(const struct sirq_spec_check *check);
/* check_flow.c: hosts and flows. */
int sirq_spec_check_nic_name(const struct sirq_spec_check *check, const char *path,
                             const char *name);
int sirq_spec_check_cpus(const struct sirq_spec_check *check, const char *path,
                         const uint32_t *cpus, uint32_t n);
int sirq_spec_no_such(const struct sirq_spec_check *check, const char *path, const char *what,
                      const char *name, const char *const *names, unsigned n);
int sirq_spec_check_flows(const struct sirq_spec_check *check);
int sirq_spec_check_measures(const struct sirq_spec_check *check);
int sirq_spec_check_claims(const struct sirq_spec_check *check);

#endif
