/* SPDX-License-Identifier: MIT */
/* A file as text, of at most 1 MiB. */
#include "conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST ((size_t)16 << 10)

/* What is too large is given up before it is read whole. */
static int read_all(FILE *file, const char *path, const char *what, char **text, size_t *len,
                    struct sirq_error *err)
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
        if (*len > SIRQ_CONF_BYTES)
            return sirq_fail(err, EINVAL, "%.120s: larger than 1 MiB; is it %s?", path, what);
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

int sirq_conf_slurp(const char *path, const char *what, char **text, size_t *len,
                    struct sirq_error *err)
{
    FILE *file = open_regular(path, err);
    int rc;

    if (file == NULL)
        return -EINVAL;
    rc = read_all(file, path, what, text, len, err);
    fclose(file);
    if (rc != 0)
        free(*text);
    return rc;
}
