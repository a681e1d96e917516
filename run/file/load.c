/* SPDX-License-Identifier: MIT */
/* From a text to a data plane that can be tried. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int missing(void *arg, const char *path, const char *what)
{
    return sirq_conf_bad(arg, 0, path, "%s", what);
}

static int load(struct sirq_run_source *out, struct sirq_run_check *check, const char *text,
                size_t len)
{
    cyaml_data_t *data = NULL;
    int rc = sirq_conf_shape(&check->place, &out->doc, &sirq_run_schema, NULL, NULL);

    if (rc == 0)
        rc = sirq_conf_load(&check->place, text, len, &sirq_run_schema, &data, NULL);
    out->file = data;
    if (rc == 0 && data == NULL)
        rc = sirq_conf_bad(&check->place, 1, "", "the file is empty");
    if (rc == 0)
        rc = sirq_conf_needed(&sirq_run_kind, sirq_run_fields, data, missing, &check->place);
    check->file = data;
    return rc != 0 ? rc : sirq_run_check(check);
}

int sirq_run_parse(struct sirq_run_source *out, const char *name, const char *text, size_t len,
                   struct sirq_error *err)
{
    struct sirq_run_check check = {.place = {.kind = &sirq_run_kind, .file = name, .err = err}};
    int rc;

    *out = (struct sirq_run_source){.name = strdup(name)};
    if (out->name == NULL)
        return sirq_fail(err, ENOMEM, "out of memory");
    rc = sirq_conf_doc_open(&out->doc, &check.place, text, len);
    if (rc == 0) {
        check.place.doc = &out->doc;
        rc = load(out, &check, text, len);
    }
    if (rc != 0)
        sirq_run_source_free(out);
    return rc;
}

int sirq_run_read(struct sirq_run_source *out, const char *path, struct sirq_error *err)
{
    char *text;
    size_t len;
    int rc = sirq_conf_slurp(path, "a data plane", &text, &len, err);

    if (rc != 0)
        return rc;
    rc = sirq_run_parse(out, path, text, len, err);
    free(text);
    return rc;
}

void sirq_run_source_free(struct sirq_run_source *source)
{
    sirq_conf_free(&sirq_run_schema, source->file, 0);
    sirq_conf_doc_close(&source->doc);
    free(source->name);
    *source = (struct sirq_run_source){0};
}

static struct sirq_conf_place place_of(const struct sirq_run_source *source, struct sirq_error *err)
{
    return (struct sirq_conf_place){
        .kind = &sirq_run_kind, .file = source->name, .doc = &source->doc, .err = err};
}

int sirq_run_bad(const struct sirq_run_source *source, struct sirq_error *err, const char *path,
                 const char *fmt, ...)
{
    struct sirq_conf_place place = place_of(source, err);
    char what[sizeof(err->text)];
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    return sirq_conf_bad(&place, 0, path, "%s", what);
}

int sirq_run_change(const struct sirq_run_source *now, const struct sirq_run_source *next,
                    struct sirq_error *err)
{
    char path[SIRQ_CONF_PATH] = "";

    if (!sirq_conf_differ(sirq_run_fields, now->file, next->file, sirq_run_reloads, path))
        return 0;
    return sirq_run_bad(next, err, path,
                        "has changed, and cannot while the plane runs; restart it, or put it back");
}
