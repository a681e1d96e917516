/* SPDX-License-Identifier: MIT */
/*
 * The file: a header with the hash of the program, then records, each with its key, its length, a
 * hash of what is in it.  Records are written whole and only ever added, so that whatever stops
 * the writer, all but the last are good; the reader cuts off what is not.  In the byte order of the
 * machine: another machine has another program.
 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "softirq cells 1\n"
#define RECORD_MOST (UINT32_C(64) << 20) /* bytes: more is no record of ours */

struct header {
    char magic[16];
    uint64_t program;
};

struct record {
    uint64_t key, hash;
    uint32_t len, stalled;
};

struct kept {
    uint64_t key;
    off_t at; /* of the record */
};

struct sirq_sim_store {
    int fd;
    bool broken; /* nothing more can be written */
    char *path;
    off_t end;
    struct kept *kept;
    size_t n, room;
};

/* FNV-1a: not for enemies, who can as well write a hash that fits. */
static uint64_t hash(uint64_t seed, const void *data, size_t len)
{
    const unsigned char *at = data;

    for (size_t i = 0; i < len; i++)
        seed = (seed ^ at[i]) * UINT64_C(0x100000001b3);
    return seed;
}

#define HASH_START UINT64_C(0xcbf29ce484222325)

static uint64_t hash_text(uint64_t seed, const char *text)
{
    return hash(seed, text, strlen(text) + 1);
}

/* 0: it cannot be read, and so is never the same as any. */
static uint64_t hash_program(void)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    uint64_t value = 0;
    struct stat st;
    void *map;

    if (fd < 0)
        return 0;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) {
            value = hash(HASH_START, map, (size_t)st.st_size);
            munmap(map, (size_t)st.st_size);
        }
    }
    close(fd);
    return value;
}

uint64_t sirq_sim_store_key(const struct sirq_sim_job *job, const char *text, size_t len,
                            const char *variant, const char *const *set, unsigned nset)
{
    uint64_t key = hash(HASH_START, text, len);

    for (unsigned i = 0; i < nset; i++)
        key = hash_text(key, set[i]);
    key = hash_text(key, variant);
    key = hash_text(key, job->policy->name);
    key = hash(key, &job->seed, sizeof(job->seed));
    key = hash(key, &job->spec->run.warmup_ms, sizeof(job->spec->run.warmup_ms));
    return hash(key, &job->spec->run.duration_ms, sizeof(job->spec->run.duration_ms));
}

/* Not 0 of a record of zeros, which a crash of the machine may leave. */
static uint64_t hash_record(const struct record *record, const char *data)
{
    return hash(HASH_START ^ record->key ^ record->stalled, data, record->len);
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool read_at(int fd, void *data, size_t len, off_t at)
{
    char *to = data;

    while (len != 0) {
        ssize_t n = pread(fd, to, len, at);

        if (n <= 0)
            return false;
        to += n;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

/* The record at `at` and what is in it, owned by the caller; null: there is no good one. */
static char *read_record(int fd, off_t at, struct record *record)
{
    char *data;

    if (!read_at(fd, record, sizeof(*record), at) || record->len > RECORD_MOST)
        return NULL;
    data = malloc((size_t)record->len + 1);
    if (data != NULL && read_at(fd, data, record->len, at + (off_t)sizeof(*record)) &&
        hash_record(record, data) == record->hash)
        return data;
    free(data);
    return NULL;
}

static bool remember(struct sirq_sim_store *store, uint64_t key, off_t at)
{
    if (store->n == store->room) {
        size_t room = store->room != 0 ? 2 * store->room : 256;
        struct kept *kept = realloc(store->kept, room * sizeof(*kept));

        if (kept == NULL)
            return false;
        store->kept = kept;
        store->room = room;
    }
    store->kept[store->n++] = (struct kept){key, at};
    return true;
}

/* All good records, up to the first that is not.  0 or -ENOMEM. */
static int scan(struct sirq_sim_store *store)
{
    struct record record;
    char *data;

    while ((data = read_record(store->fd, store->end, &record)) != NULL) {
        free(data);
        if (!remember(store, record.key, store->end))
            return -ENOMEM;
        store->end += (off_t)(sizeof(record) + record.len);
    }
    return 0;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int begin(struct sirq_sim_store *store, const struct header *header)
{
    store->end = (off_t)sizeof(*header);
    if (ftruncate(store->fd, 0) != 0 ||
        pwrite(store->fd, header, sizeof(*header), 0) != (ssize_t)sizeof(*header))
        return errno != 0 ? -errno : -ENOSPC;
    return 0;
}

static int take_up(struct sirq_sim_store *store, struct sirq_error *note, struct sirq_error *err)
{
    struct header here = {.magic = MAGIC, .program = hash_program()}, there;
    const char *path = store->path;
    struct stat st;
    int rc;

    if (fstat(store->fd, &st) != 0 || !S_ISREG(st.st_mode))
        return sirq_fail(err, EINVAL, "--resume %s: is not a regular file; name another", path);
    if (st.st_size != 0 && (!read_at(store->fd, &there, sizeof(there), 0) ||
                            memcmp(there.magic, MAGIC, sizeof(there.magic)) != 0))
        return sirq_fail(err, EINVAL,
                         "--resume %s: holds no cells of a run; remove it or name another", path);
    if (st.st_size == 0 || there.program != here.program || here.program == 0) {
        if (st.st_size != 0)
            sirq_fail(note, EINVAL, "%s: is of another build; all is run anew", path);
        rc = begin(store, &here);
        return rc ? sirq_fail(err, -rc, "--resume %s: %s", path, strerror(-rc)) : 0;
    }
    store->end = (off_t)sizeof(here);
    if (scan(store) != 0)
        return sirq_fail(err, ENOMEM, "--resume %s: out of memory", path);
    if (store->end != st.st_size) {
        sirq_fail(note, EINVAL, "%s: breaks off after %zu finished cells; the rest is run anew",
                  path, store->n);
        rc = ftruncate(store->fd, store->end) != 0 ? errno : 0;
        if (rc != 0)
            return sirq_fail(err, rc, "--resume %s: %s", path, strerror(rc));
    }
    return 0;
}

int sirq_sim_store_open(struct sirq_sim_store **out, const char *path, unsigned *found,
                        struct sirq_error *note, struct sirq_error *err)
{
    struct sirq_sim_store *store = calloc(1, sizeof(*store));
    int rc;

    if (store == NULL || (store->path = strdup(path)) == NULL) {
        free(store);
        return sirq_fail(err, ENOMEM, "out of memory");
    }
    store->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (store->fd < 0)
        rc = sirq_fail(err, errno, "--resume %s: %s; name a file that you may write", path,
                       strerror(errno));
    else if (flock(store->fd, LOCK_EX | LOCK_NB) != 0)
        rc = sirq_fail(err, EBUSY, "--resume %s: another run uses it; wait, or name another", path);
    else
        rc = take_up(store, note, err);
    if (rc != 0) {
        sirq_sim_store_close(store, false);
        return rc;
    }
    *found = (unsigned)store->n;
    *out = store;
    return 0;
}

void sirq_sim_store_close(struct sirq_sim_store *store, bool done)
{
    if (store == NULL)
        return;
    if (done)
        unlink(store->path);
    if (store->fd >= 0)
        close(store->fd);
    free(store->kept);
    free(store->path);
    free(store);
}

/* ---- what is in a record -------------------------------------------------------------------- */

/* Of a distribution only the buckets that hold something, each with its number. */
struct packed {
    uint64_t count, sum, min, max, squares_high, squares_low;
    uint64_t n; /* buckets that follow */
};

struct packed_bucket {
    uint64_t number, count;
};

struct span {
    char *at, *end; /* reading: what is left */
};

static bool take(struct span *span, void *to, size_t len)
{
    if ((size_t)(span->end - span->at) < len)
        return false;
    memcpy(to, span->at, len);
    span->at += len;
    return true;
}

static bool unpack(struct span *span, struct sirq_dist *dist)
{
    struct packed packed;
    struct packed_bucket bucket;

    if (!take(span, &packed, sizeof(packed)) || packed.n > SIRQ_HIST_BUCKETS)
        return false;
    for (uint64_t i = 0; i < packed.n; i++) {
        if (!take(span, &bucket, sizeof(bucket)) || bucket.number >= SIRQ_HIST_BUCKETS)
            return false;
        dist->hist.bucket[bucket.number] = bucket.count;
    }
    dist->hist.count = packed.count;
    dist->sum = packed.sum;
    dist->min = packed.min;
    dist->max = packed.max;
    dist->squares = (unsigned __int128)packed.squares_high << 64 | packed.squares_low;
    return true;
}

static void pack(FILE *out, const struct sirq_dist *dist)
{
    struct packed packed = {
        .count = dist->hist.count,
        .sum = dist->sum,
        .min = dist->min,
        .max = dist->max,
        .squares_high = (uint64_t)(dist->squares >> 64),
        .squares_low = (uint64_t)dist->squares,
    };

    for (unsigned i = 0; i < SIRQ_HIST_BUCKETS; i++)
        packed.n += dist->hist.bucket[i] != 0;
    fwrite(&packed, sizeof(packed), 1, out);
    for (unsigned i = 0; i < SIRQ_HIST_BUCKETS; i++) {
        const struct packed_bucket bucket = {i, dist->hist.bucket[i]};

        if (bucket.count != 0)
            fwrite(&bucket, sizeof(bucket), 1, out);
    }
}

bool sirq_sim_store_get(struct sirq_sim_store *store, uint64_t key,
                        const struct sirq_sim_plan *plan, struct sirq_sim_outcome *out)
{
    size_t i = 0;
    struct record record;
    struct span span;
    char *data;
    bool good;

    while (i < store->n && store->kept[i].key != key)
        i++;
    data = i < store->n ? read_record(store->fd, store->kept[i].at, &record) : NULL;
    if (data == NULL)
        return false;
    span = (struct span){data, data + record.len};
    good = take(&span, out->values, plan->n_figures * sizeof(*out->values));
    for (uint32_t d = 0; d < plan->n_dists && good; d++)
        good = unpack(&span, &out->dists[d]);
    good = good && span.at == span.end;
    out->stalled = record.stalled != 0;
    free(data);
    return good;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Whole or not at all, as far as this process is concerned. */
static int write_at(int fd, const void *data, size_t len, off_t at)
{
    const char *from = data;

    while (len != 0) {
        ssize_t n = pwrite(fd, from, len, at);

        if (n <= 0)
            return n < 0 ? -errno : -ENOSPC;
        from += n;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

int sirq_sim_store_put(struct sirq_sim_store *store, uint64_t key, const struct sirq_sim_plan *plan,
                       const struct sirq_sim_outcome *out)
{
    struct record record = {.key = key, .stalled = out->stalled};
    char *data = NULL;
    size_t len = 0;
    FILE *file;
    int rc;

    if (store->broken)
        return 0;
    file = open_memstream(&data, &len);
    if (file == NULL)
        return -ENOMEM;
    fwrite(&record, sizeof(record), 1, file);
    fwrite(out->values, sizeof(*out->values), plan->n_figures, file);
    for (uint32_t i = 0; i < plan->n_dists; i++)
        pack(file, &out->dists[i]);
    rc = fclose(file) != 0 ? -ENOMEM : 0;
    if (rc == 0) {
        record.len = (uint32_t)(len - sizeof(record));
        record.hash = hash_record(&record, data + sizeof(record));
        memcpy(data, &record, sizeof(record));
        rc = write_at(store->fd, data, len, store->end);
    }
    free(data);
    if (rc == 0)
        store->end += (off_t)len;
    else
        store->broken = true;
    return rc;
}
