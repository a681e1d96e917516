/* SPDX-License-Identifier: MIT */
/* Files that csv.c wrote, read back. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csv.h"

#define BYTES ((off_t)256 << 20) /* largest file */
#define TEXTS 6
#define FIELDS 13

static int read_fd(int fd, char **text)
{
    struct stat st;
    size_t len = 0;

    if (fd < 0 || fstat(fd, &st) != 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -ESPIPE;
    if (st.st_size > BYTES)
        return -EFBIG;
    *text = malloc((size_t)st.st_size + 1);
    if (*text == NULL)
        return -ENOMEM;
    while (len < (size_t)st.st_size) {
        ssize_t n = read(fd, *text + len, (size_t)st.st_size - len);

        if (n < 0)
            return -errno;
        if (n == 0)
            break; /* it was cut while it was read */
        len += (size_t)n;
    }
    (*text)[len] = '\0';
    return 0;
}

/* The file with a 0 behind it, owned; null with err filled. */
static char *read_text(const char *path, struct sirq_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text = NULL;
    int rc = read_fd(fd, &text);

    if (fd >= 0)
        close(fd);
    if (rc == 0)
        return text;
    free(text);
    sirq_fail(err, -rc, "%.120s: cannot be read: %s", path,
              rc == -ESPIPE ? "not a regular file" : strerror(-rc));
    return NULL;
}

/* The field at *at, taken out of its quotes in place; *at: behind the comma, or at the line's end.
 * Null: it is broken. */
static char *next_field(char **at)
{
    char *from = *at, *to = from, *field = from;
    bool quoted = *from == '"';

    for (from += quoted; *from != '\0' && (quoted || *from != ','); from++) {
        if (quoted && *from == '"' && from[1] != '"')
            break;
        from += quoted && *from == '"';
        *to++ = *from;
    }
    if (quoted && *from++ != '"')
        return NULL;
    if (*from != ',' && *from != '\0')
        return NULL;
    *at = from + (*from == ',');
    *to = '\0';
    return field;
}

/* A number and nothing else; an empty field is `other`. */
static bool number(const char *text, double other, double *out)
{
    char *end;

    *out = other;
    if (*text == '\0')
        return true;
    *out = strtod(text, &end);
    return *end == '\0';
}

static bool read_row(char *line, struct sirq_csv_row *row)
{
    const char **const text[TEXTS] = {&row->experiment, &row->setup,  &row->world,
                                      &row->policy,     &row->metric, &row->unit};
    char *field[FIELDS];

    for (unsigned i = 0; i < FIELDS; i++) {
        bool last = *line == '\0' && i != FIELDS - 1;

        field[i] = last ? NULL : next_field(&line);
        if (field[i] == NULL)
            return false;
    }
    for (unsigned i = 0; i < TEXTS; i++)
        *text[i] = field[i];
    row->spread = *field[7] != '\0' && *field[8] != '\0';
    return *line == '\0' && *field[6] != '\0' && number(field[6], 0, &row->value) &&
           number(field[7], row->value, &row->least) && number(field[8], row->value, &row->most);
}

static char *next_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');

    if (*line == '\0')
        return NULL;
    *at = end != NULL ? end + 1 : line + strlen(line);
    if (end != NULL)
        *end = '\0';
    return line;
}

static size_t count_lines(const char *text)
{
    size_t n = 1;

    for (; (text = strchr(text, '\n')) != NULL; text++)
        n++;
    return n;
}

static int read_rows(struct sirq_csv_table *table, const char *path, struct sirq_error *err)
{
    char *at = table->text, *line = next_line(&at);

    if (line == NULL || strcmp(line, SIRQ_CSV_HEADER) != 0)
        return sirq_fail(err, EINVAL,
                         "%.120s:1: no results of this version: the columns are not those of "
                         "softirq lab --csv; make it again with this build",
                         path);
    while ((line = next_line(&at)) != NULL) {
        if (!read_row(line, &table->rows[table->n++]))
            return sirq_fail(err, EINVAL,
                             "%.120s:%zu: is not a line of results (cut short?); make the file "
                             "again",
                             path, table->n + 1);
    }
    return 0;
}

int sirq_csv_read(struct sirq_csv_table *out, const char *path, struct sirq_error *err)
{
    int rc;

    *out = (struct sirq_csv_table){.text = read_text(path, err)};
    if (out->text == NULL)
        return -EINVAL;
    out->rows = calloc(count_lines(out->text), sizeof(*out->rows));
    rc = out->rows != NULL ? read_rows(out, path, err) : sirq_fail(err, ENOMEM, "out of memory");
    if (rc)
        sirq_csv_free(out);
    return rc;
}

void sirq_csv_free(struct sirq_csv_table *table)
{
    free(table->rows);
    free(table->text);
    *table = (struct sirq_csv_table){0};
}
