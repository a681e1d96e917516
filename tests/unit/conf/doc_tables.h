/* SPDX-License-Identifier: MIT */
/*
 * A document against a schema: every key has its row in the table of its mapping, every row its
 * key, and numbers have the range that is checked.  Columns: key, default, range, meaning.
 */
#ifndef SIRQ_TESTS_DOC_TABLES_H
#define SIRQ_TESTS_DOC_TABLES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "conf.h"

struct doc_section {
    const char *heading;
    const cyaml_schema_field_t *fields;
};

struct doc {
    const char *name; /* "docs/experiments.md" */
    char *text;
    const struct sirq_conf_kind *kind;
    const struct doc_section *sections;
    size_t nsections;
    /* A row that stands for something else than a key; null: there is none. */
    bool (*also)(const cyaml_schema_field_t *fields, const char *key);
};

/* False, with a message: it cannot be read.  Its text is to be freed. */
bool doc_read(struct doc *doc, const char *path);

/* The text of a section up to the next heading, to be freed. */
char *doc_section(const struct doc *doc, const char *heading);

/* Cell `n` of a row, without the spaces around it. */
void doc_cell(const char *row, unsigned n, char *buf, size_t size);

void doc_check_keys(const struct doc *doc);
void doc_check_rows(const struct doc *doc);

#endif
