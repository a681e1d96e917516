/* SPDX-License-Identifier: MIT */
/* What has changed from one version of a file to the next, as loaded: defaults and order of keys
 * make no difference. */
#include "conf.h"

#include <stdio.h>
#include <string.h>

static bool value_differs(const cyaml_schema_value_t *value, const char *one, const char *other,
                          sirq_conf_may_fn may, char *path);

static uint32_t count_of(const cyaml_schema_field_t *field, const char *data)
{
    uint32_t n;

    memcpy(&n, data + field->count_offset, sizeof(n));
    return n;
}

/* Entries may be pointers (strings) or lie in a row. */
static bool list_differs(const cyaml_schema_field_t *field, const char *one, const char *other,
                         sirq_conf_may_fn may, char *path)
{
    const cyaml_schema_value_t *entry = field->value.sequence.entry;
    size_t size = entry->flags & CYAML_FLAG_POINTER ? sizeof(void *) : entry->data_size;
    uint32_t n = count_of(field, one);
    size_t len = strlen(path);

    if (n != count_of(field, other))
        return true;
    for (uint32_t i = 0; i < n; i++) {
        const char *a = *(char *const *)(const void *)(one + field->data_offset) + i * size;
        const char *b = *(char *const *)(const void *)(other + field->data_offset) + i * size;

        snprintf(path + len, SIRQ_CONF_PATH - len, "[%u]", i);
        if (value_differs(entry, a, b, may, path))
            return true;
    }
    path[len] = '\0';
    return false;
}

static bool value_differs(const cyaml_schema_value_t *value, const char *one, const char *other,
                          sirq_conf_may_fn may, char *path)
{
    if (value->flags & CYAML_FLAG_POINTER) {
        one = *(char *const *)(const void *)one;
        other = *(char *const *)(const void *)other;
        if (one == NULL || other == NULL)
            return one != other;
    }
    if (value->type == CYAML_MAPPING)
        return sirq_conf_differ(value->mapping.fields, one, other, may, path);
    if (value->type == CYAML_STRING)
        return strcmp(one, other) != 0;
    return memcmp(one, other, value->data_size) != 0;
}

bool sirq_conf_differ(const cyaml_schema_field_t *fields, const void *one, const void *other,
                      sirq_conf_may_fn may, char *path)
{
    size_t len = strlen(path);

    for (const cyaml_schema_field_t *field = fields; field->key != NULL; field++) {
        const char *a = one, *b = other;
        bool differs;

        if (may != NULL && may(fields, field->key))
            continue;
        snprintf(path + len, SIRQ_CONF_PATH - len, "%s%s", len > 0 ? "." : "", field->key);
        if (field->value.type == CYAML_SEQUENCE)
            differs = list_differs(field, a, b, may, path);
        else
            differs = value_differs(&field->value, a + field->data_offset, b + field->data_offset,
                                    may, path);
        if (differs)
            return true;
    }
    path[len] = '\0';
    return false;
}
