/* SPDX-License-Identifier: MIT */
/*
 * Settings: "threads.receiver.count=4".  The path goes down the schema and what was loaded at
 * the same time; entries of lists go by name or index.  The value is YAML, is held to the
 * same form as in the file and loaded by libcyaml, so what it replaces can be freed by it.
 */
#include "internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MOST 4096u
#define PARTS_MOST 16u

struct cursor {
    const struct sirq_conf_place *place;
    const cyaml_schema_field_t *fields; /* of the mapping we are in */
    char *base;                         /* its data */
    const cyaml_schema_field_t *field;  /* the key that was named last */
    char part[64];                      /* the present part of the path */
    char *path;
    size_t len;
};

#define bad(cursor, ...) sirq_conf_bad((cursor)->place, 0, "", __VA_ARGS__)

static void go(struct cursor *cursor, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void go(struct cursor *cursor, const char *fmt, ...)
{
    size_t room = SIRQ_CONF_PATH - cursor->len;
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(cursor->path + cursor->len, room, fmt, args);
    va_end(args);
    if (n > 0)
        cursor->len += (size_t)n < room ? (size_t)n : room - 1;
}

static uint32_t *count_of(const struct cursor *cursor)
{
    return (uint32_t *)(void *)(cursor->base + cursor->field->count_offset);
}

static void **pointer_of(const struct cursor *cursor)
{
    return (void **)(void *)(cursor->base + cursor->field->data_offset);
}

/* Every entry of a list that settings go into begins with its name. */
static const char *entry_name(const char *entry, const cyaml_schema_field_t *fields)
{
    return strcmp(fields[0].key, "name") == 0
               ? *(char *const *)(const void *)(entry + fields[0].data_offset)
               : NULL;
}

static int no_entry(const struct cursor *cursor, const char *entries,
                    const cyaml_schema_value_t *entry, unsigned n)
{
    const char *names[SIRQ_SPEC_GROUPS];
    char hint[200];

    for (unsigned i = 0; i < n && i < LEN(names); i++)
        names[i] = entry_name(entries + (size_t)i * entry->data_size, entry->mapping.fields);
    sirq_conf_suggest(hint, sizeof(hint), cursor->part, names, n < LEN(names) ? n : LEN(names));
    return bad(cursor, "no such entry; %s", hint);
}

/* Into the entry of a list, by name or index. */
static int enter_entry(struct cursor *cursor)
{
    const cyaml_schema_value_t *entry = cursor->field->value.sequence.entry;
    char *entries = *pointer_of(cursor), *end;
    unsigned long i, n = *count_of(cursor);

    if (entry->type != CYAML_MAPPING)
        return bad(cursor, "%s: its entries have no keys; give the whole list", cursor->path);
    i = strtoul(cursor->part, &end, 10);
    if (end == cursor->part || *end != '\0') {
        for (i = 0; i < n; i++) {
            const char *name = entry_name(entries + i * entry->data_size, entry->mapping.fields);

            if (name != NULL && strcmp(name, cursor->part) == 0)
                break;
        }
    }
    if (i >= n)
        return no_entry(cursor, entries, entry, (unsigned)n);
    go(cursor, "[%lu]", i);
    cursor->base = entries + i * entry->data_size;
    cursor->fields = entry->mapping.fields;
    cursor->field = NULL;
    return 0;
}

static int enter_mapping(struct cursor *cursor)
{
    const cyaml_schema_value_t *value = &cursor->field->value;

    if (value->flags & CYAML_FLAG_POINTER) {
        void **pointer = pointer_of(cursor);

        if (*pointer == NULL) {
            *pointer = cyaml_mem(NULL, NULL, value->data_size);
            if (*pointer == NULL)
                return sirq_fail(cursor->place->err, ENOMEM, "out of memory");
            memset(*pointer, 0, value->data_size);
        }
        cursor->base = *pointer;
    } else {
        cursor->base += cursor->field->data_offset;
    }
    cursor->fields = value->mapping.fields;
    cursor->field = NULL;
    return 0;
}

static int name_key(struct cursor *cursor)
{
    char hint[220];

    for (const cyaml_schema_field_t *field = cursor->fields; field->key != NULL; field++) {
        if (strcmp(field->key, cursor->part) == 0) {
            cursor->field = field;
            go(cursor, "%s%s", cursor->len > 0 ? "." : "", field->key);
            return 0;
        }
    }
    sirq_conf_suggest_key(hint, sizeof(hint), cursor->part, cursor->fields);
    return bad(cursor, "no such key; %s", hint);
}

static int step(struct cursor *cursor)
{
    int rc = 0;

    if (cursor->field != NULL && cursor->field->value.type == CYAML_SEQUENCE)
        return enter_entry(cursor);
    if (cursor->field != NULL && cursor->field->value.type == CYAML_MAPPING)
        rc = enter_mapping(cursor);
    else if (cursor->field != NULL)
        rc = bad(cursor, "%s: is a value and has no keys", cursor->path);
    return rc != 0 ? rc : name_key(cursor);
}

/* What was loaded goes in, what was there goes away. */
static void put(const struct cursor *cursor, const cyaml_schema_value_t *value,
                cyaml_data_t *loaded, unsigned n)
{
    char *at = cursor->base + cursor->field->data_offset;
    unsigned had = 0;

    if (value->type == CYAML_SEQUENCE) {
        had = *count_of(cursor);
        *count_of(cursor) = n;
    }
    if (cursor->field->value.flags & CYAML_FLAG_POINTER) {
        void *old = *pointer_of(cursor);

        *pointer_of(cursor) = loaded;
        sirq_conf_free(value, old, had);
        return;
    }
    for (uint32_t i = 0; i < value->data_size; i++) {
        char byte = at[i];

        at[i] = ((char *)loaded)[i];
        ((char *)loaded)[i] = byte;
    }
    sirq_conf_free(value, loaded, 0);
}

static int store(const struct cursor *cursor, const char *text)
{
    cyaml_schema_value_t value = cursor->field->value;
    bool bare = value.type == CYAML_SEQUENCE && text[0] != '[';
    char yaml[VALUE_MOST];
    struct sirq_conf_doc doc;
    cyaml_data_t *loaded = NULL;
    unsigned n = 0;
    int len = snprintf(yaml, sizeof(yaml), "%s%s%s", bare ? "[" : "", text, bare ? "]" : "");
    int rc;

    if (text[0] == '\0' || len >= (int)sizeof(yaml))
        return bad(cursor, "give a value after =");
    rc = sirq_conf_doc_open(&doc, cursor->place, yaml, (size_t)len);
    if (rc != 0)
        return rc;
    rc = sirq_conf_shape(cursor->place, &doc, &value, cursor->fields, cursor->field->key);
    sirq_conf_doc_close(&doc);
    value.flags |= CYAML_FLAG_POINTER;
    if (rc == 0)
        rc = sirq_conf_load(cursor->place, yaml, (size_t)len, &value, &loaded, &n);
    if (rc == 0)
        put(cursor, &value, loaded, n);
    return rc;
}

int sirq_spec_set(struct sirq_spec *spec, const struct sirq_conf_place *place, char *path)
{
    struct cursor cursor = {
        .place = place, .fields = sirq_spec_fields, .base = (char *)spec, .path = path};
    const char *at = place->setting, *value = strchr(at, '=');
    int rc = 0;

    path[0] = '\0';
    if (value == NULL)
        return sirq_conf_bad(place, 0, "", "give PATH=VALUE, as machine.hz=100");
    for (unsigned parts = 0; at < value && rc == 0; parts++) {
        size_t len = strcspn(at, ".=");

        if (len == 0 || len >= sizeof(cursor.part) || parts == PARTS_MOST ||
            (at[len] == '.' && at[len + 1] == '='))
            return sirq_conf_bad(place, 0, "", "give keys and names with dots between them");
        memcpy(cursor.part, at, len);
        cursor.part[len] = '\0';
        rc = step(&cursor);
        at += len + (at[len] == '.');
        if (rc == 0 && (strcmp(path, "setups") == 0 || strcmp(path, "claims") == 0))
            rc = bad(&cursor, "a setting cannot change the %s", path);
    }
    if (rc == 0 && cursor.field == NULL) {
        char hint[200];

        sirq_conf_suggest_key(hint, sizeof(hint), "", cursor.fields);
        rc = bad(&cursor, "%s: give one of its keys; %s", path[0] != '\0' ? path : "=", hint);
    }
    if (rc != 0)
        return rc;
    assert(cursor.field != NULL);
    return store(&cursor, value + 1);
}
