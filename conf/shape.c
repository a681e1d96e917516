/* SPDX-License-Identifier: MIT */
/*
 * Whether what a document says has the form that the schema asks for.  libcyaml reads loosely
 * ('1000ms' is 1000, 'maybe' is true) and knows no ranges, so each value is looked at before,
 * where its line is known.
 */
#include "conf.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

#define KEYS 64u /* of a mapping; more than any has */

struct shape {
    const struct sirq_conf_place *place;
    const struct sirq_conf_doc *doc;
    char path[SIRQ_CONF_PATH];
    size_t len;
};

/* Where a value stands: the rule of its key, null: none. */
struct slot {
    const cyaml_schema_value_t *value;
    const struct sirq_conf_rule *rule;
};

static int shape_value(struct shape *shape, int id, const struct slot *slot);

static yaml_node_t *node_of(const struct shape *shape, int id)
{
    return yaml_document_get_node((yaml_document_t *)&shape->doc->yaml, id);
}

static unsigned line_of(const struct shape *shape, const yaml_node_t *node)
{
    return shape->place->setting != NULL ? 0 : (unsigned)node->start_mark.line + 1;
}

#define bad(shape, node, ...) \
    sirq_conf_bad((shape)->place, line_of(shape, node), (shape)->path, __VA_ARGS__)

static const char *text_of(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

/* The path goes on by a key or an index, until it is cut back. */
static size_t push(struct shape *shape, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static size_t push(struct shape *shape, const char *fmt, ...)
{
    size_t was = shape->len, room = sizeof(shape->path) - was;
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(shape->path + was, room, fmt, args);
    va_end(args);
    if (n > 0)
        shape->len += (size_t)n < room ? (size_t)n : room - 1;
    return was;
}

static void pop(struct shape *shape, size_t was)
{
    shape->len = was;
    shape->path[was] = '\0';
}

/* ---- scalars ------------------------------------------------------------------------------ */

static void range_of(const struct slot *slot, int64_t *least, uint64_t *most)
{
    unsigned bits = slot->value->data_size * 8;
    bool sign = slot->value->type == CYAML_INT;

    *most = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    *least = 0;
    if (sign) {
        *most /= 2;
        *least = -(int64_t)*most - 1;
    }
    if (slot->rule != NULL && (slot->rule->least != 0 || slot->rule->most != 0)) {
        *least = slot->rule->least;
        *most = (uint64_t)slot->rule->most;
    }
}

static int shape_number(struct shape *shape, const yaml_node_t *node, const struct slot *slot)
{
    const char *text = text_of(node), *digits = text + (text[0] == '-');
    size_t n = strspn(digits, "0123456789");
    unsigned long long magnitude;
    uint64_t most;
    int64_t least;
    bool fits;

    if (n == 0 || digits[n] != '\0' || (digits[0] == '0' && n > 1))
        return bad(shape, node, "'%.40s': give a whole number", text);
    range_of(slot, &least, &most);
    errno = 0;
    magnitude = strtoull(digits, NULL, 10);
    if (digits != text)
        fits = errno == 0 && (least < 0 ? magnitude <= (uint64_t)-least : magnitude == 0);
    else
        fits = errno == 0 && magnitude <= most && (least <= 0 || magnitude >= (uint64_t)least);
    if (!fits)
        return bad(shape, node, "%.40s: give %lld to %llu", text, (long long)least,
                   (unsigned long long)most);
    return 0;
}

static int shape_decimal(struct shape *shape, const yaml_node_t *node, const struct slot *slot)
{
    int64_t least, most;
    double value;
    int rc;

    assert(slot->rule != NULL); /* of every decimal there is one */
    least = slot->rule->least;
    most = slot->rule->most;
    rc = sirq_conf_parse_decimal(text_of(node), (double)least, (double)most, &value);
    if (rc == -EINVAL)
        return bad(shape, node, "'%.40s': give a decimal number", text_of(node));
    if (rc != 0)
        return bad(shape, node, "%.40s: give %lld to %lld", text_of(node), (long long)least,
                   (long long)most);
    return 0;
}

static int shape_word(struct shape *shape, const yaml_node_t *node,
                      const cyaml_schema_value_t *value)
{
    const char *names[KEYS];
    unsigned n = value->enumeration.count;
    char hint[200];

    for (unsigned i = 0; i < n && i < KEYS; i++) {
        names[i] = value->enumeration.strings[i].str;
        if (strcmp(names[i], text_of(node)) == 0)
            return 0;
    }
    return bad(shape, node, "'%.40s': %s", text_of(node),
               sirq_conf_suggest(hint, sizeof(hint), text_of(node), names, n < KEYS ? n : KEYS));
}

static int shape_string(struct shape *shape, const yaml_node_t *node)
{
    const char *text = text_of(node);

    if (strlen(text) != node->data.scalar.length)
        return bad(shape, node, "has a NUL character; give text");
    if (node->data.scalar.length > SIRQ_CONF_STRING)
        return bad(shape, node, "'%.20s...': give at most %u bytes", text, SIRQ_CONF_STRING);
    if (text[0] == '\0')
        return bad(shape, node, "is empty; give it a value or leave it out");
    return 0;
}

static int shape_scalar(struct shape *shape, const yaml_node_t *node, const struct slot *slot)
{
    switch (slot->value->type) {
    case CYAML_UINT:
    case CYAML_INT:
        return shape_number(shape, node, slot);
    case CYAML_FLOAT:
        return shape_decimal(shape, node, slot);
    case CYAML_BOOL:
        if (strcmp(text_of(node), "true") == 0 || strcmp(text_of(node), "false") == 0)
            return 0;
        return bad(shape, node, "'%.40s': give true or false", text_of(node));
    case CYAML_ENUM:
        return shape_word(shape, node, slot->value);
    default:
        return shape_string(shape, node);
    }
}

/* ---- mappings and sequences --------------------------------------------------------------- */

static const cyaml_schema_field_t *field_of(const cyaml_schema_field_t *fields, const char *key)
{
    for (; fields->key != NULL; fields++) {
        if (strcmp(fields->key, key) == 0)
            return fields;
    }
    return NULL;
}

static int shape_pair(struct shape *shape, const yaml_node_pair_t *pair,
                      const cyaml_schema_field_t *fields, uint64_t *seen)
{
    const yaml_node_t *key = node_of(shape, pair->key);
    const cyaml_schema_field_t *field;
    struct slot slot;
    char hint[220];
    size_t was;
    int rc;

    if (key->type != YAML_SCALAR_NODE)
        return bad(shape, key, "a key is a word, not a list or a mapping");
    field = field_of(fields, text_of(key));
    was = push(shape, "%s%.60s", shape->len > 0 ? "." : "", text_of(key));
    if (field == NULL) {
        const char *what = sirq_conf_suggest_key(hint, sizeof(hint), text_of(key), fields);

        return bad(shape, key, "no such key; %s", what);
    }
    if (*seen & UINT64_C(1) << (field - fields))
        return bad(shape, key, "given twice; leave one out");
    *seen |= UINT64_C(1) << (field - fields);
    slot = (struct slot){&field->value, sirq_conf_rule(shape->place->kind, fields, field->key)};
    rc = shape_value(shape, pair->value, &slot);
    pop(shape, was);
    return rc;
}

/* A word that is not given looks like the first of its list once it is loaded. */
static int shape_needed_words(struct shape *shape, const yaml_node_t *node,
                              const cyaml_schema_field_t *fields, uint64_t seen)
{
    for (unsigned i = 0; fields[i].key != NULL; i++) {
        const struct sirq_conf_rule *rule =
            sirq_conf_rule(shape->place->kind, fields, fields[i].key);

        if (fields[i].value.type != CYAML_ENUM || rule == NULL || !rule->needed ||
            (seen & UINT64_C(1) << i))
            continue;
        push(shape, "%s%s", shape->len > 0 ? "." : "", fields[i].key);
        return bad(shape, node, "is missing; give it");
    }
    return 0;
}

static int shape_mapping(struct shape *shape, const yaml_node_t *node,
                         const cyaml_schema_value_t *value)
{
    uint64_t seen = 0;
    int rc = 0;

    if (node->type != YAML_MAPPING_NODE) {
        if (node->type == YAML_SCALAR_NODE && text_of(node)[0] == '\0')
            return bad(shape, node, "is empty; give keys and values, or {} for the defaults");
        if (node->type == YAML_SCALAR_NODE)
            return bad(shape, node, "'%.40s': give keys and values", text_of(node));
        return bad(shape, node, "is a list; give keys and values");
    }
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top && rc == 0; pair++)
        rc = shape_pair(shape, pair, value->mapping.fields, &seen);
    return rc != 0 ? rc : shape_needed_words(shape, node, value->mapping.fields, seen);
}

static int shape_sequence(struct shape *shape, const yaml_node_t *node, const struct slot *slot)
{
    const struct slot entry = {slot->value->sequence.entry, slot->rule};
    unsigned most = slot->value->sequence.max, i = 0;
    int rc = 0;

    if (node->type != YAML_SEQUENCE_NODE)
        return bad(shape, node, "is not a list; give [...] or lines with -");
    if ((size_t)(node->data.sequence.items.top - node->data.sequence.items.start) > most)
        return bad(shape, node, "has more than %u entries", most);
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top && rc == 0; item++, i++) {
        size_t was = push(shape, "[%u]", i);

        rc = shape_value(shape, *item, &entry);
        pop(shape, was);
    }
    return rc;
}

static int shape_value(struct shape *shape, int id, const struct slot *slot)
{
    const yaml_node_t *node = node_of(shape, id);

    if (slot->value->type == CYAML_MAPPING)
        return shape_mapping(shape, node, slot->value);
    if (slot->value->type == CYAML_SEQUENCE)
        return shape_sequence(shape, node, slot);
    if (node->type != YAML_SCALAR_NODE)
        return bad(shape, node, "is a %s; give one value",
                   node->type == YAML_MAPPING_NODE ? "mapping" : "list");
    return shape_scalar(shape, node, slot);
}

int sirq_conf_shape(const struct sirq_conf_place *place, const struct sirq_conf_doc *doc,
                    const cyaml_schema_value_t *value, const cyaml_schema_field_t *fields,
                    const char *key)
{
    struct shape shape = {.place = place, .doc = doc};
    const struct slot slot = {value,
                              fields != NULL ? sirq_conf_rule(place->kind, fields, key) : NULL};

    return shape_value(&shape, 1, &slot);
}
