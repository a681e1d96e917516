/* SPDX-License-Identifier: MIT */
/* Between the parts of the loader. */
#ifndef SIRQ_RUN_FILE_INTERNAL_H
#define SIRQ_RUN_FILE_INTERNAL_H

#include "file.h"

/* ---- schema.c, rules.c ---------------------------------------------------------------------- */

extern const cyaml_schema_field_t sirq_run_sched_fields[], sirq_run_net_fields[],
    sirq_run_poller_fields[], sirq_run_interface_fields[], sirq_run_backlog_fields[],
    sirq_run_route_fields[], sirq_run_udp_echo_fields[], sirq_run_dns_fields[],
    sirq_run_forward_fields[], sirq_run_nat_router_fields[], sirq_run_service_fields[],
    sirq_run_fields[];
extern const cyaml_schema_value_t sirq_run_schema;
extern const struct sirq_conf_kind sirq_run_kind;

/* May it change while the plane runs? */
bool sirq_run_reloads(const cyaml_schema_field_t *fields, const char *key);

/* ---- check.c, check_service.c ---------------------------------------------------------------- */

struct sirq_run_check {
    const struct sirq_run_file *file;
    struct sirq_conf_place place;
};

#define wrong(check, path, ...) sirq_conf_bad(&(check)->place, 0, path, __VA_ARGS__)

int sirq_run_check(const struct sirq_run_check *check);
int sirq_run_check_services(const struct sirq_run_check *check);

/* CPUs of a list are the plane's, each once (rps: any number of times). */
int sirq_run_check_cpus(const struct sirq_run_check *check, const char *path, const uint32_t *cpus,
                        uint32_t n, bool once);
/* It is one of the interfaces' names. */
int sirq_run_check_interface(const struct sirq_run_check *check, const char *path,
                             const char *name);
int sirq_run_check_sched(const struct sirq_run_check *check, const char *path,
                         const struct sirq_run_sched *sched);

#endif
