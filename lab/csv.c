/* SPDX-License-Identifier: MIT */
/*
 * experiment,setup,world,policy,metric,unit,value,published,seed - one figure a line.
 *
 * Whoever reads the file never sees half of it: it is written beside its place and renamed.
 * Between check and write no temporary file exists, so that a run that is killed leaves
 * nothing behind.
 */
#include "result.h"

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

static void put_metric(FILE *out, const struct sirq_results *results, const struct sirq_row *row,
                       const struct sirq_metric *metric)
{
    char setup[sizeof(row->setup) + 32];
    double published;

    fprintf(out, "%s,", results->experiment);
    snprintf(setup, sizeof(setup), "%s", row->setup);
    if (row->wanted_rate > 0)
        snprintf(setup, sizeof(setup), "%s %.0f/s", row->setup, row->wanted_rate);
    put_text(out, setup);
    fprintf(out, ",%s,%s,%s,%s,%.10g,", results->world, row->policy, metric->name, metric->unit,
            metric->value);
    if (row->comparable &&
        sirq_published(results->experiment, row->setup, row->policy, metric->name, &published))
        fprintf(out, "%.10g", published);
    fprintf(out, ",%llu\n", results->seed);
}

static void put_results(FILE *out, const struct sirq_results *results)
{
    fputs("experiment,setup,world,policy,metric,unit,value,published,seed\n", out);
    for (unsigned r = 0; r < results->nrows; r++) {
        for (unsigned m = 0; m < results->rows[r]->nmetrics; m++)
            put_metric(out, results, results->rows[r], &results->rows[r]->metric[m]);
    }
}

/* mkstemp's file is for its owner alone; this one is as open as the umask lets it be. */
static void set_mode(int fd)
{
    mode_t mask = umask(0);

    umask(mask);
    (void)!fchmod(fd, 0666 & ~mask);
}

int sirq_csv_write(const char *path, const struct sirq_results *results, struct sirq_error *err)
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
        put_results(out, results);
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
