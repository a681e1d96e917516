/* SPDX-License-Identifier: MIT */
/* The text of an experiment: a file of at most 1 MiB, or a shipped one by name. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

#define SHIPPED_MOST 32u

static int take(struct sirq_spec_text *out, const char *name, char *text, size_t len,
                struct sirq_error *err)
{
    out->name = strdup(name);
    out->text = text;
    out->len = len;
    if (out->name != NULL && text != NULL)
        return 0;
    sirq_spec_text_free(out);
    return sirq_fail(err, ENOMEM, "out of memory");
}

const char *const *sirq_spec_shipped(void)
{
    static const char *names[SHIPPED_MOST + 1];

    for (unsigned i = 0; i < SHIPPED_MOST && sirq_spec_experiments[i].name != NULL; i++)
        names[i] = sirq_spec_experiments[i].name;
    return names;
}

static int read_shipped(struct sirq_spec_text *out, const char *what, struct sirq_error *err)
{
    const char *const *names = sirq_spec_shipped();
    char name[64], hint[160];
    unsigned n = 0;

    for (; names[n] != NULL; n++) {
        const char *text = sirq_spec_experiments[n].text;

        if (strcmp(names[n], what) != 0)
            continue;
        snprintf(name, sizeof(name), "%.50s.yaml", what);
        return take(out, name, strdup(text), strlen(text), err);
    }
    return sirq_fail(err, EINVAL, "%.40s: no such experiment; %s; a file has a / or . in its name",
                     what, sirq_conf_suggest(hint, sizeof(hint), what, names, n));
}

int sirq_spec_read(struct sirq_spec_text *out, const char *what, struct sirq_error *err)
{
    char *text;
    size_t len;
    int rc;

    *out = (struct sirq_spec_text){0};
    if (strpbrk(what, "/.") == NULL)
        return read_shipped(out, what, err);
    rc = sirq_conf_slurp(what, "an experiment", &text, &len, err);
    return rc != 0 ? rc : take(out, what, text, len, err);
}

void sirq_spec_text_free(struct sirq_spec_text *text)
{
    free(text->name);
    free(text->text);
    *text = (struct sirq_spec_text){0};
}
