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
    char above[SIRQ_CONF_PATH];

    for (unsigned i = check->norigins; i-- > 0;) {
        if (within(path, check->origin[i].path) || within(check->origin[i].path, path))
            return &check->origin[i];
    }
    if (dot == NULL || (bracket != NULL && bracket > dot))
        dot = bracket;
    sirq_conf_path(above, "%.*s", dot != NULL ? (int)(dot - path) : 0, path);
    for (unsigned i = check->norigins; i-- > 0 && above[0] != '\0';) {
        if (within(check->origin[i].path, above))
            return &check->origin[i];
    }
    return NULL;
}

int sirq_spec_wrong(const struct sirq_spec_check *check, const char *path, const char *fmt, ...)
{
    const struct sirq_spec_origin *origin = origin_of(check, path);
    struct sirq_conf_place place = check->place;
    char what[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    if (origin == NULL)
        return sirq_conf_bad(&place, 0, path, "%s", what);
    place.setting = origin->setting;
    place.origin = origin->origin;
    return sirq_conf_bad(&place, 0, path, "%s: %s", path, what);
}

/* ---- what is needed ---------------------------------------------------------------------------- */

static int missing(void *arg, const char *path, const char *what)
{
    return sirq_spec_wrong(arg, path, "%s", what);
}

int sirq_spec_check_needed(const struct sirq_spec_check *check)
{
    return sirq_conf_needed(&sirq_spec_kind, sirq_spec_fields, check->spec, missing, (void *)check);
}
