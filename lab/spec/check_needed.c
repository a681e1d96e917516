/* SPDX-License-Identifier: MIT */
/* Who is to blame for what is wrong in a whole, and whether all that is needed is there. */
#include "internal.h"

#include <stdio.h>
#include <string.h>

/* ---- who is to blame ------------------------------------------------------------------------ */

static bool within(const char *path, const char *above)
{
    size_t len = strlen(above);

    return strncmp(path, above, len) == 0 &&
           (path[len] == '\0' || path[len] == '.' || path[len] == '[');
}

/* What has set the path, something above or below it; else what has set a key beside it. */
static const struct sirq_spec_origin *origin_of(const struct sirq_spec_check *check,
                                                const char *path)
{
    const char *dot = strrchr(path, '.'), *bracket = strrchr(path, '[');
    char above[SIRQ_SPEC_PATH];

    for (unsigned i = check->norigins; i-- > 0;) {
        if (within(path, check->origin[i].path) || within(check->origin[i].path, path))
            return &check->origin[i];
    }
    if (dot == NULL || (bracket != NULL && bracket > dot))
        dot = bracket;
    sirq_spec_path(above, "%.*s", dot != NULL ? (int)(dot - path) : 0, path);
    for (unsigned i = check->norigins; i-- > 0 && above[0] != '\0';) {
        if (within(check->origin[i].path, above))
            return &check->origin[i];
    }
    return NULL;
}

int sirq_spec_wrong(const struct sirq_spec_check *check, const char *path, const char *fmt, ...)
{
    const struct sirq_spec_origin *origin = origin_of(check, path);
    struct sirq_spec_place place = check->place;
    char what[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    if (origin == NULL)
        return sirq_spec_bad(&place, 0, path, "%s", what);
    place.setting = origin->setting;
    place.origin = origin->origin;
    return sirq_spec_bad(&place, 0, path, "%s: %s", path, what);
}

#define wrong sirq_spec_wrong

/* ---- what is needed ---------------------------------------------------------------------------- */

static int needed(const struct sirq_spec_check *check, const char *path, const char *data,
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

static int needed_below(const struct sirq_spec_check *check, const char *path, const char *data,
                        const cyaml_schema_field_t *field)
{
    const cyaml_schema_value_t *value = &field->value;
    const char *at = data + field->data_offset;
    bool pointer = value->flags & CYAML_FLAG_POINTER;
    char entry[SIRQ_SPEC_PATH];
    uint32_t n;
    int rc = 0;

    if (value->type == CYAML_MAPPING) {
        at = pointer ? *(char *const *)(const void *)at : at;
        return at != NULL ? needed(check, path, at, value->mapping.fields) : 0;
    }
    if (value->type != CYAML_SEQUENCE || value->sequence.entry->type != CYAML_MAPPING)
        return 0;
    memcpy(&n, data + field->count_offset, sizeof(n));
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        sirq_spec_path(entry, "%s[%u]", path, i);
        rc = needed(check, entry,
                    *(char *const *)(const void *)at + (size_t)i * value->sequence.entry->data_size,
                    value->sequence.entry->mapping.fields);
    }
    return rc;
}

static int missing(const struct sirq_spec_check *check, const char *path,
                   const cyaml_schema_field_t *field, const struct sirq_spec_rule *rule)
{
    if (field->value.type == CYAML_UINT)
        return wrong(check, path, "is missing; give %lld to %lld", (long long)rule->least,
                     (long long)rule->most);
    return wrong(check, path, "is missing; give it");
}

static int needed(const struct sirq_spec_check *check, const char *path, const char *data,
                  const cyaml_schema_field_t *fields)
{
    int rc = 0;

    for (const cyaml_schema_field_t *field = fields; field->key != NULL && rc == 0; field++) {
        const struct sirq_spec_rule *rule = sirq_spec_rule(fields, field->key);
        char key[SIRQ_SPEC_PATH];

        sirq_spec_path(key, "%s%s%s", path, path[0] != '\0' ? "." : "", field->key);
        if (rule != NULL && rule->needed && field->value.type != CYAML_ENUM &&
            absent(data + field->data_offset, &field->value))
            rc = missing(check, key, field, rule);
        else
            rc = needed_below(check, key, data, field);
    }
    return rc;
}

int sirq_spec_check_needed(const struct sirq_spec_check *check)
{
    return needed(check, "", (const char *)check->spec, sirq_spec_fields);
}
