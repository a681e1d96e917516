/* SPDX-License-Identifier: MIT */
/*
 * Between the parts of the loader.  A file is read in this order: as YAML within bounds
 * (doc.c), each value in the form that the schema asks for (shape.c), into structs (libcyaml),
 * with settings applied (set.c), and at last as a whole (check.c, check_measure.c,
 * check_claim.c).
 */
#ifndef SIRQ_LAB_SPEC_INTERNAL_H
#define SIRQ_LAB_SPEC_INTERNAL_H

#include <stdarg.h>

#include <cyaml/cyaml.h>
#include <yaml.h>

#include "spec.h"

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

#define SIRQ_SPEC_STRING 255u /* bytes of a string */
#define SIRQ_SPEC_DEPTH 16u   /* mappings and sequences within each other */
#define SIRQ_SPEC_PATH 192u

enum { SPEC_BURSTS = SIRQ_SIM_POISSON + 1 }; /* not in sirq/sim.h yet */

/* ---- schema.c, rules.c ------------------------------------------------------------------- */

extern const cyaml_schema_field_t sirq_spec_fair_fields[], sirq_spec_sched_fields[],
    sirq_spec_machine_fields[], sirq_spec_cost_fields[], sirq_spec_net_fields[],
    sirq_spec_nic_fields[], sirq_spec_disk_fields[], sirq_spec_udp_receiver_fields[],
    sirq_spec_rr_client_fields[], sirq_spec_rr_server_fields[], sirq_spec_tcp_receiver_fields[],
    sirq_spec_tcp_sender_fields[], sirq_spec_disk_reader_fields[], sirq_spec_cyclictest_fields[],
    sirq_spec_hog_fields[], sirq_spec_watchdog_fields[], sirq_spec_threads_fields[],
    sirq_spec_traffic_fields[], sirq_spec_setup_fields[], sirq_spec_unpatched_fields[],
    sirq_spec_run_fields[], sirq_spec_measure_fields[], sirq_spec_cell_fields[],
    sirq_spec_claim_fields[], sirq_spec_fields[];
extern const cyaml_schema_value_t sirq_spec_schema;

/* What may stand at a key.  `needed`: has to be given. */
struct sirq_spec_rule {
    const cyaml_schema_field_t *fields;
    const char *key; /* null: all keys of the mapping */
    bool needed;
    int64_t least, most; /* of a number, 0 and 0: as the type; a decimal has a range */
};

/* Null: nothing beyond its type. */
const struct sirq_spec_rule *sirq_spec_rule(const cyaml_schema_field_t *fields, const char *key);

/* ---- doc.c --------------------------------------------------------------------------------- */

struct sirq_spec_doc {
    yaml_document_t yaml;
    bool open;
};

/* Where something is wrong; `setting` and `origin` while a setting is being applied. */
struct sirq_spec_place {
    const char *file;
    const struct sirq_spec_doc *doc; /* lines by path; may be null */
    const char *setup;               /* in which something is wrong only, or null */
    bool set;                        /* something is wrong only with settings of the command line */
    const char *origin;              /* "setups[1].set[0]", "--set" */
    const char *setting;             /* "threads.rx.count=4" */
    struct sirq_error *err;
};

/* 0, or -EINVAL with what is wrong. */
int sirq_spec_doc_open(struct sirq_spec_doc *doc, const struct sirq_spec_place *place,
                       const char *text, size_t len);
void sirq_spec_doc_close(struct sirq_spec_doc *doc);

/* Line of `path` ("threads[0].count") or of the nearest above that is in the file. */
unsigned sirq_spec_doc_line(const struct sirq_spec_doc *doc, const char *path);

/* ---- bad.c --------------------------------------------------------------------------------- */

/* "FILE:LINE: path: what": -EINVAL.  Line 0: that of the path. */
int sirq_spec_bad(const struct sirq_spec_place *place, unsigned line, const char *path,
                  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Into path, SIRQ_SPEC_PATH bytes: "threads[%u].count". */
void sirq_spec_path(char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Into buf: what to do about a key that is none of `names`.  buf */
const char *sirq_spec_suggest(char *buf, size_t size, const char *key, const char *const *names,
                              unsigned n);
const char *sirq_spec_suggest_key(char *buf, size_t size, const char *key,
                                  const cyaml_schema_field_t *fields);

/* ---- shape.c ------------------------------------------------------------------------------- */

/* Whether the document has the form of `value`, which stands at key `rule_key` of `fields`
 * (null: at the top).  0 or -EINVAL. */
int sirq_spec_shape(const struct sirq_spec_place *place, const struct sirq_spec_doc *doc,
                    const cyaml_schema_value_t *value, const cyaml_schema_field_t *fields,
                    const char *key);

/* ---- text.c -------------------------------------------------------------------------------- */

/* A whole file of at most SIRQ_SPEC_BYTES, to be freed.  0, -EINVAL or -ENOMEM. */
int sirq_spec_slurp(const char *path, char **text, size_t *len, struct sirq_error *err);

/* ---- load.c -------------------------------------------------------------------------------- */

/* Text in the right shape into memory of libcyaml's.  0, -EINVAL or -ENOMEM. */
int sirq_spec_cyaml(const struct sirq_spec_place *place, const char *text, size_t len,
                    const cyaml_schema_value_t *value, cyaml_data_t **out, unsigned *n);
void sirq_spec_cyaml_free(const cyaml_schema_value_t *value, cyaml_data_t *data, unsigned n);

/* ---- set.c --------------------------------------------------------------------------------- */

/* Apply place->setting; `path` (SIRQ_SPEC_PATH bytes) is what it has set.  0, -EINVAL, -ENOMEM. */
int sirq_spec_set(struct sirq_spec *spec, const struct sirq_spec_place *place, char *path);

/* ---- check_needed.c, check.c, check_measure.c, check_claim.c -------------------------------- */

/* What has been set, for errors that come of it. */
struct sirq_spec_origin {
    char path[SIRQ_SPEC_PATH], origin[48];
    const char *setting;
};

struct sirq_spec_check {
    const struct sirq_spec *spec;
    struct sirq_spec_place place;
    const struct sirq_spec_origin *origin;
    unsigned norigins;
};

/* sirq_spec_bad() on the line of what is to blame: the file's, or a setting's. */
int sirq_spec_wrong(const struct sirq_spec_check *check, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

int sirq_spec_check_needed(const struct sirq_spec_check *check);
int sirq_spec_check(const struct sirq_spec_check *check);
int sirq_spec_check_measures(const struct sirq_spec_check *check);
int sirq_spec_check_claims(const struct sirq_spec_check *check);

#endif
