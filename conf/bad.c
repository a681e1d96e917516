/* SPDX-License-Identifier: MIT */
/* The one line that says what is wrong in a file, where, and what would do. */
#include "conf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FILE_SHOWN 80u
#define NEAR 2u     /* letters that a key may be off */
#define KEY_LEN 48u /* longer than any */

/* Whatever a file has put into it, the text stays one line. */
static void one_line(struct sirq_error *err)
{
    for (char *c = err->text; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    }
}

int sirq_conf_bad(const struct sirq_conf_place *place, unsigned line, const char *path,
                  const char *fmt, ...)
{
    size_t len = strlen(place->file);
    const char *file = len > FILE_SHOWN ? place->file + len - FILE_SHOWN : place->file;
    struct sirq_error unseen, *err = place->err != NULL ? place->err : &unseen;
    char what[sizeof(err->text)], in[96] = "";
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    if (place->setting != NULL && line == 0 && place->doc != NULL)
        line = sirq_conf_doc_line(place->doc, place->origin);
    else if (line == 0)
        line = place->doc != NULL ? sirq_conf_doc_line(place->doc, path) : 1;
    if (place->setting == NULL && place->setup != NULL)
        snprintf(in, sizeof(in), "; in setup '%.63s'%s", place->setup,
                 place->set ? " with --set" : "");
    else if (place->setting == NULL && place->set)
        snprintf(in, sizeof(in), "; with --set");
    if (place->setting != NULL && strcmp(place->origin, "--set") == 0)
        sirq_fail(err, EINVAL, "--set %.80s: %s", place->setting, what);
    else if (place->setting != NULL)
        sirq_fail(err, EINVAL, "%s:%u: %s: '%.80s': %s", file, line, place->origin, place->setting,
                  what);
    else
        sirq_fail(err, EINVAL, "%s:%u: %s%s%s%s", file, line, path, path[0] != '\0' ? ": " : "",
                  what, in);
    one_line(err);
    return -EINVAL;
}

void sirq_conf_path(char *path, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(path, SIRQ_CONF_PATH, fmt, args);
    va_end(args);
}

/* ---- keys that are not there ----------------------------------------------------------- */

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Letters to change, add or take away from one to get the other. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[KEY_LEN + 1], n = (unsigned)strlen(b);

    if (strlen(a) > KEY_LEN || n > KEY_LEN)
        return KEY_LEN;
    for (unsigned j = 0; j <= n; j++)
        row[j] = j;
    for (unsigned i = 0; a[i] != '\0'; i++) {
        unsigned diagonal = row[0];

        row[0] = i + 1;
        for (unsigned j = 0; j < n; j++) {
            unsigned changed = diagonal + (a[i] != b[j]);

            diagonal = row[j + 1];
            row[j + 1] = least(changed, least(row[j], row[j + 1]) + 1);
        }
    }
    return row[n];
}

/* Length of a key without its unit: rtt of rtt_ns. */
static size_t stem(const char *key)
{
    static const char *const units[] = {"_ns",    "_us",      "_ms",      "_s",    "_sec",
                                        "_hz",    "_khz",     "_mbit",    "_gbit", "_kbit",
                                        "_bytes", "_percent", "_permille"};
    size_t len = strlen(key);

    for (size_t i = 0; i < LEN(units); i++) {
        size_t unit = strlen(units[i]);

        if (len > unit && strcmp(key + len - unit, units[i]) == 0)
            return len - unit;
    }
    return len;
}

static bool differs_in_unit(const char *a, const char *b)
{
    return stem(a) == stem(b) && strncmp(a, b, stem(a)) == 0;
}

static void list(char *buf, size_t size, const char *const *names, unsigned n)
{
    size_t len = 0;

    buf[0] = '\0';
    for (unsigned i = 0; i < n; i++) {
        const char *name = names[i] != NULL ? names[i] : "?";

        if (len + strlen(name) + sizeof(", ...") >= size) {
            snprintf(buf + len, size - len, "...");
            return;
        }
        len += (size_t)snprintf(buf + len, size - len, "%s%s", name, i + 1 < n ? ", " : "");
    }
}

const char *sirq_conf_suggest(char *buf, size_t size, const char *key, const char *const *names,
                              unsigned n)
{
    unsigned best = NEAR + 1;
    const char *near = NULL;
    char all[150];

    for (unsigned i = 0; i < n; i++) {
        if (names[i] == NULL)
            continue;
        if (differs_in_unit(key, names[i])) {
            snprintf(buf, size, "its unit is another: give %.60s", names[i]);
            return buf;
        }
        if (distance(key, names[i]) < best && 2 * distance(key, names[i]) <= strlen(key)) {
            best = distance(key, names[i]);
            near = names[i];
        }
    }
    list(all, sizeof(all), names, n);
    if (near != NULL)
        snprintf(buf, size, "did you mean %.60s? there are: %s", near, all);
    else
        snprintf(buf, size, "there are: %s", n > 0 ? all : "none");
    return buf;
}

const char *sirq_conf_suggest_key(char *buf, size_t size, const char *key,
                                  const cyaml_schema_field_t *fields)
{
    const char *names[48];
    unsigned n = 0;

    while (fields[n].key != NULL && n < LEN(names)) {
        names[n] = fields[n].key;
        n++;
    }
    return sirq_conf_suggest(buf, size, key, names, n);
}
