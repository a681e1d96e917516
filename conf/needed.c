/* SPDX-License-Identifier: MIT */
/* Whether all that is needed is there, in what has been loaded: settings may have given it. */
#include "conf.h"

#include <stdio.h>
#include <string.h>

struct search {
    const struct sirq_conf_kind *kind;
    sirq_conf_missing_fn missing;
    void *arg;
};

static int needed(const struct search *search, const char *path, const char *data,
                  const cyaml_schema_field_t *fields);

/* Words are looked for in the document: the first of a list is 0 too. */
static bool absent(const char *at, const cyaml_schema_value_t *value)
{
    size_t size = value->flags & CYAML_FLAG_POINTER ? sizeof(void *) : value->data_size;

    for (size_t i = 0; i < size; i++) {
        if (at[i] != 0)
            return false;
    }
    return true;
}

static int needed_below(const struct search *search, const char *path, const char *data,
                        const cyaml_schema_field_t *field)
{
    const cyaml_schema_value_t *value = &field->value;
    const char *at = data + field->data_offset;
    bool pointer = value->flags & CYAML_FLAG_POINTER;
    char entry[SIRQ_CONF_PATH];
    uint32_t n;
    int rc = 0;

    if (value->type == CYAML_MAPPING) {
        at = pointer ? *(char *const *)(const void *)at : at;
        return at != NULL ? needed(search, path, at, value->mapping.fields) : 0;
    }
    if (value->type != CYAML_SEQUENCE || value->sequence.entry->type != CYAML_MAPPING)
        return 0;
    memcpy(&n, data + field->count_offset, sizeof(n));
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        sirq_conf_path(entry, "%s[%u]", path, i);
        rc = needed(search, entry,
                    *(char *const *)(const void *)at + (size_t)i * value->sequence.entry->data_size,
                    value->sequence.entry->mapping.fields);
    }
    return rc;
}

static int missing(const struct search *search, const char *path, const cyaml_schema_field_t *field,
                   const struct sirq_conf_rule *rule)
{
    char what[96];

    if (field->value.type != CYAML_UINT)
        return search->missing(search->arg, path, "is missing; give it");
    snprintf(what, sizeof(what), "is missing; give %lld to %lld", (long long)rule->least,
             (long long)rule->most);
    return search->missing(search->arg, path, what);
}

static int needed(const struct search *search, const char *path, const char *data,
                  const cyaml_schema_field_t *fields)
{
    int rc = 0;

    for (const cyaml_schema_field_t *field = fields; field->key != NULL && rc == 0; field++) {
        const struct sirq_conf_rule *rule = sirq_conf_rule(search->kind, fields, field->key);
        char key[SIRQ_CONF_PATH];

        sirq_conf_path(key, "%s%s%s", path, path[0] != '\0' ? "." : "", field->key);
        if (rule != NULL && rule->needed && field->value.type != CYAML_ENUM &&
            absent(data + field->data_offset, &field->value))
            rc = missing(search, key, field, rule);
        else
            rc = needed_below(search, key, data, field);
    }
    return rc;
}

int sirq_conf_needed(const struct sirq_conf_kind *kind, const cyaml_schema_field_t *fields,
                     const void *data, sirq_conf_missing_fn say, void *arg)
{
    const struct search search = {kind, say, arg};

    return needed(&search, "", data, fields);
}
