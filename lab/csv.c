/* SPDX-License-Identifier: MIT */
/*
 * Whoever reads the file never sees half of it: it is written beside its place and renamed.
 * Between check and write no temporary file exists, so that a run that is killed leaves
 * nothing behind.
 */
#include "csv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int temporary(const char *path, char **name, struct sirq_error *err)
{
    int fd, code;

    if (asprintf(name, "%s.XXXXXX", path) < 0)
        return sirq_fail(err, ENOMEM, "--csv %s: out of memory", path);
    fd = mkstemp(*name);
    if (fd >= 0)
        return fd;
    code = errno;
    free(*name);
    *name = NULL;
    return sirq_fail(err, code,
                     "--csv %s: cannot create a file there: %s; name a file in a "
                     "folder you may write to",
                     path, strerror(code));
}

int sirq_csv_check(const char *path, struct sirq_error *err)
{
    struct stat st;
    char *name;
    int fd;

    if (!*path)
        return sirq_fail(err, EINVAL, "--csv: the file name is empty");
    if (!stat(path, &st) && !S_ISREG(st.st_mode))
        return sirq_fail(err, EINVAL,
                         "--csv %s: exists and is not a regular file; name "
                         "another",
                         path);
    fd = temporary(path, &name, err);
    if (fd < 0 || !name)
        return -EINVAL; /* the argument is wrong, whatever the system said */
    close(fd);
    unlink(name);
    free(name);
    return 0;
}

/* Our names hold neither, but a reader must be able to rely on it. */
static void put_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

double sirq_csv_error(const struct sirq_spec_figure *published, double value)
{
    if (published->value == 0)
        return value == 0 ? 0 : __builtin_inf();
    return 100 * (value / published->value - 1);
}

void sirq_csv_put(FILE *out, const struct sirq_csv_line *line)
{
    const char *const text[] = {line->experiment, line->setup,  line->world,
                                line->policy,     line->metric, line->unit};
    const struct sirq_spec_figure *published = line->published;

    for (unsigned i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        put_text(out, text[i]);
        fputc(',', out);
    }
    fprintf(out, "%.10g,", line->value);
    if (line->spread)
        fprintf(out, "%.10g,%.10g,", line->least, line->most);
    else
        fputs(",,", out);
    if (published != NULL)
        fprintf(out, "%.10g,%s,%.4g,", published->value,
                published->role == SIRQ_SPEC_BASELINE ? "baseline" : "predict",
                sirq_csv_error(published, line->value));
    else
        fputs(",,,", out);
    fprintf(out, "%llu\n", line->seed);
}

/* mkstemp's file is for its owner alone; this one is as open as the umask lets it be. */
static void set_mode(int fd)
{
    mode_t mask = umask(0);

    umask(mask);
    (void)!fchmod(fd, 0666 & ~mask);
}

int sirq_csv_write(const char *path, void (*put)(FILE *out, const void *arg), const void *arg,
                   struct sirq_error *err)
{
    char *name;
    int fd = temporary(path, &name, err), code = 0;
    FILE *out;

    if (fd < 0 || !name)
        return fd;
    set_mode(fd);
    out = fdopen(fd, "w");
    if (!out) {
        code = errno;
        close(fd);
    } else {
        fputs("experiment,setup,world,policy,metric,unit,value,least,most,published,role,"
              "error,seed\n",
              out);
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
        sirq_fail(err, code, "--csv %s: cannot write: %s", path, strerror(code));
    }
    free(name);
    return -code;
}
