/* SPDX-License-Identifier: MIT */
/*
 * A file as YAML: one document, no deeper than any file needs to be, without aliases
 * (a few lines of which can stand for gigabytes).  libyaml's events say that before anything
 * is built of them; then its document API tells the line of each path.
 */
#include "conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static unsigned line_of(const yaml_mark_t *mark)
{
    return (unsigned)mark->line + 1;
}

/* What the library could not read. */
static int not_yaml(const struct sirq_conf_place *place, const yaml_parser_t *parser,
                    const char *text, size_t len)
{
    size_t end = parser->error == YAML_READER_ERROR ? parser->problem_offset : len;
    unsigned line = 1; /* where the reader stopped, or the last one: marks go beyond it */

    if (parser->error == YAML_MEMORY_ERROR)
        return sirq_fail(place->err, ENOMEM, "out of memory");
    for (size_t i = 0; i < end && i < len; i++)
        line += text[i] == '\n';
    if (parser->error != YAML_READER_ERROR && line_of(&parser->problem_mark) < line)
        line = line_of(&parser->problem_mark);
    return sirq_conf_bad(place, line, "", "not YAML: %s",
                         parser->problem != NULL ? parser->problem : "cannot be read");
}

struct scan {
    unsigned depth, documents;
};

static const yaml_char_t *anchor_of(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return event->data.scalar.anchor;
    case YAML_SEQUENCE_START_EVENT:
        return event->data.sequence_start.anchor;
    case YAML_MAPPING_START_EVENT:
        return event->data.mapping_start.anchor;
    default:
        return NULL;
    }
}

static int scan_event(struct scan *scan, const struct sirq_conf_place *place,
                      const yaml_event_t *event)
{
    unsigned line = line_of(&event->start_mark);

    if (event->type == YAML_ALIAS_EVENT || anchor_of(event) != NULL)
        return sirq_conf_bad(place, line, "",
                             "anchors (&) and aliases (*) are not read; write "
                             "it out, or quote the text");
    if (event->type == YAML_DOCUMENT_START_EVENT && ++scan->documents > 1)
        return sirq_conf_bad(place, line, "", "a second document; give one %s a file",
                             place->kind->what);
    if (event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT) {
        if (++scan->depth > SIRQ_CONF_DEPTH)
            return sirq_conf_bad(place, line, "", "nested deeper than %u; no %s is",
                                 SIRQ_CONF_DEPTH, place->kind->what);
    }
    if (event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT)
        scan->depth--;
    return 0;
}

static int scan_text(const struct sirq_conf_place *place, const char *text, size_t len)
{
    struct scan scan = {0};
    yaml_parser_t parser;
    bool ended = false;
    int rc = 0;

    if (!yaml_parser_initialize(&parser))
        return sirq_fail(place->err, ENOMEM, "out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    while (rc == 0 && !ended) {
        yaml_event_t event;

        if (!yaml_parser_parse(&parser, &event)) {
            rc = not_yaml(place, &parser, text, len);
            break;
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        rc = scan_event(&scan, place, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    if (rc == 0 && scan.documents == 0)
        rc = sirq_conf_bad(place, 1, "", "the file is empty; %s has an example", place->kind->docs);
    return rc;
}

int sirq_conf_doc_open(struct sirq_conf_doc *doc, const struct sirq_conf_place *place,
                       const char *text, size_t len)
{
    yaml_parser_t parser;
    int rc = scan_text(place, text, len);

    doc->open = false;
    if (rc != 0)
        return rc;
    if (!yaml_parser_initialize(&parser))
        return sirq_fail(place->err, ENOMEM, "out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    if (yaml_parser_load(&parser, &doc->yaml))
        doc->open = true;
    else
        rc = not_yaml(place, &parser, text, len);
    yaml_parser_delete(&parser);
    return rc;
}

void sirq_conf_doc_close(struct sirq_conf_doc *doc)
{
    if (doc->open)
        yaml_document_delete(&doc->yaml);
    doc->open = false;
}

/* ---- lines ------------------------------------------------------------------------------- */

static yaml_node_t *node_of(const struct sirq_conf_doc *doc, int id)
{
    return yaml_document_get_node((yaml_document_t *)&doc->yaml, id);
}

static yaml_node_t *value_of(const struct sirq_conf_doc *doc, const yaml_node_t *node,
                             const char *key, size_t len)
{
    if (node->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *name = node_of(doc, pair->key);

        if (name->type == YAML_SCALAR_NODE && name->data.scalar.length == len &&
            memcmp(name->data.scalar.value, key, len) == 0)
            return node_of(doc, pair->value);
    }
    return NULL;
}

static yaml_node_t *entry_of(const struct sirq_conf_doc *doc, const yaml_node_t *node,
                             unsigned long i)
{
    if (node->type != YAML_SEQUENCE_NODE ||
        i >= (size_t)(node->data.sequence.items.top - node->data.sequence.items.start))
        return NULL;
    return node_of(doc, node->data.sequence.items.start[i]);
}

unsigned sirq_conf_doc_line(const struct sirq_conf_doc *doc, const char *path)
{
    yaml_node_t *node =
        doc->open ? yaml_document_get_root_node((yaml_document_t *)&doc->yaml) : NULL;
    unsigned line = 1;

    while (node != NULL && *path != '\0') {
        size_t len;

        if (*path == '[') {
            node = entry_of(doc, node, strtoul(path + 1, NULL, 10));
            len = strcspn(path, "]") + 1;
        } else {
            len = strcspn(path, ".[");
            node = value_of(doc, node, path, len);
        }
        if (node != NULL)
            line = line_of(&node->start_mark);
        path += len;
        path += *path == '.';
    }
    return line;
}
