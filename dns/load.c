/* SPDX-License-Identifier: MIT */
/*
 * Zone files are read by ldns, record by record.  It takes a file that ends within parentheses or
 * quotes for one that ends before; a copy that was cut short must not be served as if it were whole,
 * so that is looked for first.
 */
#include <errno.h>
#include <fcntl.h>
#include <ldns/ldns.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zone.h"

#define DEFAULT_TTL 3600u
#define BYTES_MAX ((off_t)256 << 20)

struct loading {
    const char *path;
    FILE *file;
    struct dns_record *records;
    uint32_t n, room;
    struct sirq_error *err;
};

static int bad(const struct loading *loading, unsigned line, const char *what)
{
    sirq_fail(loading->err, EINVAL, "%.100s:%u: %s", loading->path, line, what);
    return -EINVAL;
}

static int no_memory(const struct loading *loading)
{
    sirq_fail(loading->err, ENOMEM, "%.100s: out of memory", loading->path);
    return -ENOMEM;
}

/* ---- the file as a whole ------------------------------------------------------------------- */

static int open_file(struct loading *loading)
{
    /* A pipe that nobody writes to would be waited for. */
    int fd = open(loading->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), code = 0;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0)
        code = errno;
    else if (S_ISDIR(st.st_mode))
        code = EISDIR;
    else if (!S_ISREG(st.st_mode))
        code = ESPIPE;
    else if (st.st_size > BYTES_MAX)
        code = EFBIG;
    else if ((loading->file = fdopen(fd, "r")) == NULL)
        code = errno;
    if (code == 0)
        return 0;
    if (fd >= 0)
        close(fd);
    sirq_fail(loading->err, code, "%.100s: cannot be read: %s", loading->path,
              code == ESPIPE ? "not a regular file" : strerror(code));
    return -code;
}

/* Where parentheses or quotes are open, and whether the last line ends. */
struct balance {
    unsigned line, open_line, depth;
    bool quoted, comment, escaped;
    int last;
};

static void step(struct balance *b, int c)
{
    bool escaped = b->escaped;

    b->last = c;
    b->escaped = !escaped && !b->comment && c == '\\';
    if (c == '\n') {
        b->line++;
        b->comment = false;
    }
    if (escaped || b->comment)
        return;
    if (c == '"') {
        b->quoted = !b->quoted;
        b->open_line = b->quoted ? b->line : b->open_line;
    } else if (!b->quoted && c == ';') {
        b->comment = true;
    } else if (!b->quoted && c == '(') {
        b->open_line = b->line;
        b->depth++;
    } else if (!b->quoted && c == ')' && b->depth > 0) {
        b->depth--;
    }
}

static int check_whole(struct loading *loading)
{
    struct balance b = {.line = 1, .last = '\n'};
    int c;

    while ((c = getc(loading->file)) != EOF) {
        if (c == '\0')
            return bad(loading, b.line, "a zero byte; is it a zone file?");
        step(&b, c);
    }
    if (ferror(loading->file)) {
        sirq_fail(loading->err, EIO, "%.100s: cannot be read: %s", loading->path, strerror(EIO));
        return -EIO;
    }
    if (b.quoted)
        return bad(loading, b.open_line, "a quote that is not closed; was the file cut?");
    if (b.depth > 0)
        return bad(loading, b.open_line, "a parenthesis that is not closed; was the file cut?");
    if (b.last != '\n')
        return bad(loading, b.line, "the last line does not end; was the file cut? end it");
    rewind(loading->file);
    return 0;
}

/* ---- records -------------------------------------------------------------------------------- */

static uint8_t *copy(const uint8_t *from, size_t len)
{
    uint8_t *to = malloc(len + 1);

    if (to != NULL && len != 0)
        memcpy(to, from, len);
    return to;
}

/* All fields of a record's data as they are sent. */
static uint8_t *data_of(const ldns_rr *rr, uint32_t *len)
{
    size_t size = 0, at = 0;
    uint8_t *data;

    for (size_t i = 0; i < ldns_rr_rd_count(rr); i++)
        size += ldns_rdf_size(ldns_rr_rdf(rr, i));
    data = malloc(size + 1);
    for (size_t i = 0; i < ldns_rr_rd_count(rr) && data != NULL; i++) {
        const ldns_rdf *field = ldns_rr_rdf(rr, i);

        memcpy(data + at, ldns_rdf_data(field), ldns_rdf_size(field));
        at += ldns_rdf_size(field);
    }
    *len = (uint32_t)size;
    return data;
}

static int make_room(struct loading *loading)
{
    uint32_t room = loading->room != 0 ? 2 * loading->room : 256;
    struct dns_record *records;

    if (loading->n < loading->room)
        return 0;
    records = realloc(loading->records, room * sizeof(*records));
    if (records == NULL)
        return no_memory(loading);
    loading->records = records;
    loading->room = room;
    return 0;
}

static int add_record(struct loading *loading, const ldns_rr *rr, unsigned line)
{
    const ldns_rdf *owner = ldns_rr_owner(rr);
    struct dns_record record = {
        .line = line,
        .ttl = ldns_rr_ttl(rr),
        .type = (uint16_t)ldns_rr_get_type(rr),
        .name_len = (uint32_t)ldns_rdf_size(owner),
    };

    if (ldns_rr_get_class(rr) != LDNS_RR_CLASS_IN)
        return bad(loading, line, "a class that is not IN; give IN");
    if (record.ttl > INT32_MAX)
        return bad(loading, line, "a TTL of more than 2147483647 s (RFC 2181)");
    if (loading->n == SIRQ_DNS_RECORDS_MAX)
        return bad(loading, line, "more than 1048576 records");
    if (make_room(loading) != 0)
        return -ENOMEM;
    record.name = copy(ldns_rdf_data(owner), record.name_len);
    record.data = data_of(rr, &record.data_len);
    if (record.name == NULL || record.data == NULL) {
        free(record.name);
        free(record.data);
        return no_memory(loading);
    }
    dns_name_lower(record.name, record.name, record.name_len);
    loading->records[loading->n++] = record;
    return 0;
}

static int bad_status(const struct loading *loading, unsigned line, ldns_status status)
{
    char what[120];

    if (status == LDNS_STATUS_MEM_ERR)
        return no_memory(loading);
    if (status == LDNS_STATUS_SYNTAX_INCLUDE || status == LDNS_STATUS_SYNTAX_INCLUDE_ERR_NOTIMPL)
        return bad(loading, line, "$INCLUDE is not read; put the records here");
    snprintf(what, sizeof(what), "not a record: %s", ldns_get_errorstr_by_id(status));
    return bad(loading, line, what);
}

static bool is_no_record(ldns_status status)
{
    return status == LDNS_STATUS_SYNTAX_TTL || status == LDNS_STATUS_SYNTAX_ORIGIN ||
           status == LDNS_STATUS_SYNTAX_EMPTY;
}

static int read_records(struct loading *loading)
{
    ldns_rdf *origin = ldns_dname_new_frm_str("."), *previous = NULL;
    uint32_t ttl = DEFAULT_TTL;
    int line = 0, rc = origin != NULL ? 0 : no_memory(loading);

    while (rc == 0 && !feof(loading->file)) {
        ldns_rr *rr = NULL;
        ldns_status status =
            ldns_rr_new_frm_fp_l(&rr, loading->file, &ttl, &origin, &previous, &line);

        if (status == LDNS_STATUS_OK)
            rc = add_record(loading, rr, (unsigned)line);
        else if (!is_no_record(status))
            rc = bad_status(loading, (unsigned)line, status);
        ldns_rr_free(rr);
    }
    ldns_rdf_deep_free(origin);
    ldns_rdf_deep_free(previous);
    return rc;
}

int sirq_dns_zone_load(struct sirq_dns_zone **out, const char *path, struct sirq_error *err)
{
    struct loading loading = {.path = path, .err = err};
    int rc = open_file(&loading);

    if (rc == 0)
        rc = check_whole(&loading);
    if (rc == 0)
        rc = read_records(&loading);
    if (rc == 0)
        rc = dns_zone_build(out, loading.records, loading.n, path, err);
    for (uint32_t i = 0; i < loading.n; i++) {
        free(loading.records[i].name);
        free(loading.records[i].data);
    }
    free(loading.records);
    if (loading.file != NULL)
        fclose(loading.file);
    return rc;
}
