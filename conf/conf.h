/* SPDX-License-Identifier: MIT */
/*
 * Files in YAML that people write: an experiment, a data plane.  A file is read in this order:
 * as YAML within bounds (doc.c), each value in the form that the schema asks for (shape.c), into
 * structs by libcyaml (load.c); then its kind checks it as a whole.  What is wrong is said in
 * one line (bad.c), by whoever finds it.
 */
#ifndef SIRQ_CONF_CONF_H
#define SIRQ_CONF_CONF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cyaml/cyaml.h>
#include <yaml.h>

#include <sirq/driver.h>

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

#define SIRQ_CONF_BYTES ((size_t)1 << 20) /* largest file */
#define SIRQ_CONF_STRING 255u             /* bytes of a string */
#define SIRQ_CONF_DEPTH 16u               /* mappings and sequences within each other */
#define SIRQ_CONF_PATH 192u

/* What may stand at a key.  `needed`: has to be given. */
struct sirq_conf_rule {
    const cyaml_schema_field_t *fields;
    const char *key; /* null: all keys of the mapping */
    bool needed;
    int64_t least, most; /* of a number, 0 and 0: as the type; a decimal has a range */
};

/* A kind of file. */
struct sirq_conf_kind {
    const char *what; /* "experiment" */
    const char *docs; /* where an example is: "docs/experiments.md" */
    const struct sirq_conf_rule *rules;
    size_t nrules;
};

/* Null: nothing beyond its type. */
const struct sirq_conf_rule *sirq_conf_rule(const struct sirq_conf_kind *kind,
                                            const cyaml_schema_field_t *fields, const char *key);

/* ---- doc.c --------------------------------------------------------------------------------- */

struct sirq_conf_doc {
    yaml_document_t yaml;
    bool open;
};

/* Where something is wrong; `setting` and `origin` while a setting is being applied. */
struct sirq_conf_place {
    const struct sirq_conf_kind *kind;
    const char *file;
    const struct sirq_conf_doc *doc; /* lines by path; may be null */
    const char *setup;               /* in which something is wrong only, or null */
    bool set;                        /* something is wrong only with settings of the command line */
    const char *origin;              /* "setups[1].set[0]", "--set" */
    const char *setting;             /* "threads.rx.count=4" */
    struct sirq_error *err;
};

/* 0, or -EINVAL with what is wrong. */
int sirq_conf_doc_open(struct sirq_conf_doc *doc, const struct sirq_conf_place *place,
                       const char *text, size_t len);
void sirq_conf_doc_close(struct sirq_conf_doc *doc);

/* Line of `path` ("threads[0].count") or of the nearest above that is in the file. */
unsigned sirq_conf_doc_line(const struct sirq_conf_doc *doc, const char *path);

/* ---- bad.c --------------------------------------------------------------------------------- */

/* "FILE:LINE: path: what": -EINVAL.  Line 0: that of the path. */
int sirq_conf_bad(const struct sirq_conf_place *place, unsigned line, const char *path,
                  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Into path, SIRQ_CONF_PATH bytes: "threads[%u].count". */
void sirq_conf_path(char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Into buf: what to do about a key that is none of `names`.  buf */
const char *sirq_conf_suggest(char *buf, size_t size, const char *key, const char *const *names,
                              unsigned n);
const char *sirq_conf_suggest_key(char *buf, size_t size, const char *key,
                                  const cyaml_schema_field_t *fields);

/* ---- shape.c ------------------------------------------------------------------------------- */

/* Whether the document has the form of `value`, which stands at key `rule_key` of `fields`
 * (null: at the top).  0 or -EINVAL. */
int sirq_conf_shape(const struct sirq_conf_place *place, const struct sirq_conf_doc *doc,
                    const cyaml_schema_value_t *value, const cyaml_schema_field_t *fields,
                    const char *key);

/* ---- slurp.c ------------------------------------------------------------------------------- */

/* A whole file of at most SIRQ_CONF_BYTES, to be freed; `what` it should be ("an experiment").
 * 0, -EINVAL or -ENOMEM. */
int sirq_conf_slurp(const char *path, const char *what, char **text, size_t *len,
                    struct sirq_error *err);

/* ---- load.c -------------------------------------------------------------------------------- */

/* Text in the right shape into memory of libcyaml's.  0, -EINVAL or -ENOMEM. */
int sirq_conf_load(const struct sirq_conf_place *place, const char *text, size_t len,
                   const cyaml_schema_value_t *value, cyaml_data_t **out, unsigned *n);
void sirq_conf_free(const cyaml_schema_value_t *value, cyaml_data_t *data, unsigned n);

/* ---- needed.c ------------------------------------------------------------------------------ */

/* Said of the first that is missing; what it returns is returned. */
typedef int (*sirq_conf_missing_fn)(void *arg, const char *path, const char *what);

/* `data` is a mapping of `fields` that was loaded.  0, or what `say` returned. */
int sirq_conf_needed(const struct sirq_conf_kind *kind, const cyaml_schema_field_t *fields,
                     const void *data, sirq_conf_missing_fn say, void *arg);

/* ---- differ.c ------------------------------------------------------------------------------ */

/*
 * Two mappings of `fields`, loaded: to path, SIRQ_CONF_PATH bytes and empty at first, where they
 * differ first, but for what `may` (null: nothing) says may differ.  False: they do not.
 */
typedef bool (*sirq_conf_may_fn)(const cyaml_schema_field_t *fields, const char *key);
bool sirq_conf_differ(const cyaml_schema_field_t *fields, const void *one, const void *other,
                      sirq_conf_may_fn may, char *path);

#endif
