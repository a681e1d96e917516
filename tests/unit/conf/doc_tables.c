/* SPDX-License-Identifier: MIT */
#include "doc_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool doc_read(struct doc *doc, const char *path)
{
    struct sirq_error err;
    size_t len;
    char *text;

    if (sirq_conf_slurp(path, "a document", &text, &len, &err) != 0) {
        print_error("%s\n", err.text);
        return false;
    }
    doc->text = strndup(text, len);
    free(text);
    return doc->text != NULL;
}

char *doc_section(const struct doc *doc, const char *heading)
{
    char mark[64];
    const char *at, *end;

    snprintf(mark, sizeof(mark), "\n## %s\n", heading);
    at = strstr(doc->text, mark);
    if (at == NULL) {
        fail_msg("%s has no section %s", doc->name, heading);
        return NULL;
    }
    at += strlen(mark);
    end = strstr(at, "\n## ");
    return end != NULL ? strndup(at, (size_t)(end - at)) : strdup(at);
}

void doc_cell(const char *row, unsigned n, char *buf, size_t size)
{
    const char *end;

    for (unsigned i = 0; i <= n && row != NULL; i++)
        row = strchr(row + (i > 0), '|');
    if (row == NULL) {
        fail_msg("a row has no cell %u", n);
        return;
    }
    row += 1 + strspn(row + 1, " ");
    end = strpbrk(row, "|\n");
    assert_non_null(end);
    while (end > row && end[-1] == ' ')
        end--;
    snprintf(buf, size, "%.*s", (int)(end - row), row);
}

static void check_field(const struct doc *doc, const char *text, const char *heading,
                        const cyaml_schema_field_t *fields, const cyaml_schema_field_t *field)
{
    const struct sirq_conf_rule *rule = sirq_conf_rule(doc->kind, fields, field->key);
    bool number = field->value.type == CYAML_UINT || field->value.type == CYAML_INT ||
                  field->value.type == CYAML_FLOAT;
    char mark[64], is[160], range[64];
    const char *row;

    snprintf(mark, sizeof(mark), "| `%s` |", field->key);
    row = strstr(text, mark);
    if (row == NULL) {
        fail_msg("%s: key %s is not in %s", heading, field->key, doc->name);
        return;
    }
    doc_cell(row, 1, is, sizeof(is));
    if (rule != NULL && rule->needed)
        assert_string_equal(is, "needed");
    if (field->value.type == CYAML_SEQUENCE && (rule == NULL || rule->most == 0)) {
        snprintf(range, sizeof(range), "at most %u", field->value.sequence.max);
    } else if (number || field->value.type == CYAML_SEQUENCE) {
        if (rule == NULL) {
            fail_msg("%s: %s has no range", heading, field->key);
            return;
        }
        snprintf(range, sizeof(range), "%lld to %lld", (long long)rule->least,
                 (long long)rule->most);
    } else {
        return;
    }
    doc_cell(row, 2, is, sizeof(is));
    if (strcmp(is, range) != 0)
        fail_msg("%s: %s: %s says '%s', checked is '%s'", heading, field->key, doc->name, is,
                 range);
}

void doc_check_keys(const struct doc *doc)
{
    for (size_t i = 0; i < doc->nsections; i++) {
        const struct doc_section *section = &doc->sections[i];
        char *text = doc_section(doc, section->heading);

        for (const cyaml_schema_field_t *f = section->fields; f->key != NULL; f++)
            check_field(doc, text, section->heading, section->fields, f);
        free(text);
    }
}

void doc_check_rows(const struct doc *doc)
{
    for (size_t i = 0; i < doc->nsections; i++) {
        const cyaml_schema_field_t *fields = doc->sections[i].fields;
        char *text = doc_section(doc, doc->sections[i].heading);

        for (const char *row = strstr(text, "\n| `"); row != NULL; row = strstr(row + 1, "\n| `")) {
            const cyaml_schema_field_t *f = fields;
            char key[64];

            snprintf(key, sizeof(key), "%.*s", (int)strcspn(row + 4, "`"), row + 4);
            while (f->key != NULL && strcmp(f->key, key) != 0)
                f++;
            if (f->key == NULL && (doc->also == NULL || !doc->also(fields, key)))
                fail_msg("%s: there is no key %s", doc->sections[i].heading, key);
        }
        free(text);
    }
}
