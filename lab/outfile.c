/* SPDX-License-Identifier: MIT */
/* Between check and write no temporary file exists, so that a run that is killed leaves
 * nothing behind. */
#include "outfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int temporary(const char *option, const char *path, char **name, struct sirq_error *err)
{
    int fd, code;

    if (asprintf(name, "%s.XXXXXX", path) < 0)
        return sirq_fail(err, ENOMEM, "%s %s: out of memory", option, path);
    fd = mkstemp(*name);
    if (fd >= 0)
        return fd;
    code = errno;
    free(*name);
    *name = NULL;
    return sirq_fail(err, code,
                     "%s %s: cannot create a file there: %s; name a file in a "
                     "folder you may write to",
                     option, path, strerror(code));
}

int sirq_outfile_check(const char *option, const char *path, struct sirq_error *err)
{
    struct stat st;
    char *name;
    int fd;

    if (!*path)
        return sirq_fail(err, EINVAL, "%s: the file name is empty", option);
    if (!stat(path, &st) && !S_ISREG(st.st_mode))
        return sirq_fail(err, EINVAL, "%s %s: exists and is not a regular file; name another",
                         option, path);
    fd = temporary(option, path, &name, err);
    if (fd < 0 || !name)
        return -EINVAL; /* the argument is wrong, whatever the system said */
    close(fd);
    unlink(name);
    free(name);
    return 0;
}

/* mkstemp's file is for its owner alone; this one is as open as the umask lets it be. */
static void set_mode(int fd)
{
    mode_t mask = umask(0);

    umask(mask);
    (void)!fchmod(fd, 0666 & ~mask);
}

int sirq_outfile_write(const char *option, const char *path,
                       void (*put)(FILE *out, const void *arg), const void *arg,
                       struct sirq_error *err)
{
    char *name;
    int fd = temporary(option, path, &name, err), code = 0;
    FILE *out;

    if (fd < 0 || !name)
        return fd;
    set_mode(fd);
    out = fdopen(fd, "w");
    if (!out) {
        code = errno;
        close(fd);
    } else {
        put(out, arg);
        if (fflush(out) || ferror(out) || fsync(fd))
            code = errno;
        if (fclose(out) && !code)
            code = errno;
    }
    if (!code && rename(name, path))
        code = errno;
    if (code) {
        unlink(name);
        sirq_fail(err, code, "%s %s: cannot write: %s", option, path, strerror(code));
    }
    free(name);
    return -code;
}
