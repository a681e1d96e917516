/* SPDX-License-Identifier: MIT */
/* The text of an experiment: a file of at most 1 MiB, or a shipped one by name. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

#define SHIPPED_MOST 32u
#define FIRST ((size_t)16 << 10)

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

/* What is too large is given up before it is read whole. */
static int read_all(FILE *file, const char *path, char **text, size_t *len, struct sirq_error *err)
{
    size_t room = FIRST;
    char *more = malloc(room);

    *text = NULL;
    *len = 0;
    while (more != NULL) {
        *text = more;
        *len += fread(*text + *len, 1, room - *len, file);
        if (ferror(file))
            return sirq_fail(err, EINVAL, "%.120s: cannot be read: %s", path, strerror(errno));
        if (*len > SIRQ_SPEC_BYTES)
            return sirq_fail(err, EINVAL, "%.120s: larger than 1 MiB; is it an experiment?", path);
        if (*len < room)
            return 0;
        room = room * 2;
        more = realloc(*text, room);
    }
    return sirq_fail(err, ENOMEM, "out of memory");
}

/* A pipe that nobody writes to would be waited for, and a device never ends. */
static FILE *open_regular(const char *path, struct sirq_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = NULL;
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0) {
        if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
            file = fdopen(fd, "r"); /* reading says what is wrong with a directory */
        else
            errno = ESPIPE;
    }
    if (file != NULL)
        return file;
    if (errno == ESPIPE)
        sirq_fail(err, EINVAL, "%.120s: is not a regular file; give one", path);
    else
        sirq_fail(err, EINVAL, "%.120s: cannot be read: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return NULL;
}

int sirq_spec_slurp(const char *path, char **text, size_t *len, struct sirq_error *err)
{
    FILE *file = open_regular(path, err);
    int rc;

    if (file == NULL)
        return -EINVAL;
    rc = read_all(file, path, text, len, err);
    fclose(file);
    if (rc != 0)
        free(*text);
    return rc;
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
                     what, sirq_spec_suggest(hint, sizeof(hint), what, names, n));
}

int sirq_spec_read(struct sirq_spec_text *out, const char *what, struct sirq_error *err)
{
    char *text;
    size_t len;
    int rc;

    *out = (struct sirq_spec_text){0};
    if (strpbrk(what, "/.") == NULL)
        return read_shipped(out, what, err);
    rc = sirq_spec_slurp(what, &text, &len, err);
    return rc != 0 ? rc : take(out, what, text, len, err);
}

void sirq_spec_text_free(struct sirq_spec_text *text)
{
    free(text->name);
    free(text->text);
    *text = (struct sirq_spec_text){0};
}
