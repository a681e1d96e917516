/* SPDX-License-Identifier: MIT */
/*
 * Threads take the next cell in order, so that a run that is stopped has complete rows
 * first.  When a cell fails, those before it are still run: the complaint is that of the
 * first, whatever the number of threads.
 */
#include "cells.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "experiment.h"

#define TICK_NS 200000000

struct cursor {
    uint32_t row, seed;
};

struct pool {
    struct sirq_sim_batch *batch;
    struct sirq_sim_row **rows; /* of all experiments, one after the other */
    uint32_t n_rows;
    uint64_t first_seed;
    pthread_mutex_t lock; /* of all below, and of what rows keep */
    struct cursor next, end;
    uint32_t done, running;
    bool stop; /* __atomic */
    int rc;
    struct sirq_error err;
    int event;                  /* readable when a cell or a thread has ended */
    pthread_mutex_t store_lock; /* of the batch's store and note */
};

static bool before(struct cursor a, struct cursor b)
{
    return a.row < b.row || (a.row == b.row && a.seed < b.seed);
}

static uint32_t seeds_of(const struct sirq_sim_row *row)
{
    return row->variant->spec->run.seeds;
}

/* ---- results -------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

bool sirq_sim_row_value(const struct sirq_sim_row *row, uint32_t figure, struct sirq_sim_value *out)
{
    const struct sirq_sim_plan *plan = &row->variant->plan;
    uint32_t dist = plan->figures[figure].dist, n = 0;
    double value[SIRQ_SPEC_SEEDS];

    for (uint32_t i = 0; i < seeds_of(row) && i < SIRQ_SPEC_SEEDS; i++) {
        double of_seed = row->values[(size_t)i * plan->n_figures + figure];

        if (row->complete[i] && !__builtin_isnan(of_seed))
            value[n++] = of_seed;
    }
    if (n == 0)
        return false;
    qsort(value, n, sizeof(value[0]), by_value);
    out->least = value[0];
    out->most = value[n - 1];
    out->value = dist != UINT32_MAX
                     ? sirq_sim_dist_figure(&plan->figures[figure], &row->dists[dist])
                     : (value[(n - 1) / 2] + value[n / 2]) / 2;
    return true;
}

static int keep(struct sirq_sim_row *row, uint32_t seed, const struct sirq_sim_outcome *out)
{
    const struct sirq_sim_plan *plan = &row->variant->plan;

    if (row->dists == NULL && plan->n_dists != 0) {
        row->dists = calloc(plan->n_dists, sizeof(*row->dists));
        if (row->dists == NULL)
            return -ENOMEM;
    }
    for (uint32_t i = 0; i < plan->n_dists; i++)
        sirq_dist_merge(&row->dists[i], &out->dists[i]);
    memcpy(&row->values[(size_t)seed * plan->n_figures], out->values,
           plan->n_figures * sizeof(*out->values));
    row->complete[seed] = true;
    row->done++;
    row->stalled += out->stalled;
    row->cut += out->cut;
    return 0;
}

/* ---- threads -------------------------------------------------------------------------------- */

static bool find(struct pool *pool, uint64_t key, const struct sirq_sim_plan *plan,
                 struct sirq_sim_outcome *out)
{
    bool found;

    if (pool->batch->store == NULL)
        return false;
    pthread_mutex_lock(&pool->store_lock);
    found = sirq_sim_store_get(pool->batch->store, key, plan, out);
    pthread_mutex_unlock(&pool->store_lock);
    if (!found)
        memset(out->dists, 0, plan->n_dists * sizeof(*out->dists));
    return found;
}

static void store(struct pool *pool, uint64_t key, const struct sirq_sim_plan *plan,
                  const struct sirq_sim_outcome *out)
{
    int rc;

    if (pool->batch->store == NULL || out->cut)
        return;
    pthread_mutex_lock(&pool->store_lock);
    rc = sirq_sim_store_put(pool->batch->store, key, plan, out);
    if (rc)
        sirq_fail(&pool->batch->note, -rc, "finished cells are not kept any more: %s",
                  strerror(-rc));
    pthread_mutex_unlock(&pool->store_lock);
}

static int run_cell(struct pool *pool, struct cursor at, struct sirq_sim_outcome *out,
                    uint64_t *took_ns, struct sirq_error *err)
{
    const struct sirq_sim_row *row = pool->rows[at.row];
    const struct sirq_sim_plan *plan = &row->variant->plan;
    const struct sirq_sim_cells *cells = row->cells;
    const struct sirq_sim_job job = {
        .spec = row->variant->spec,
        .plan = plan,
        .policy = row->policy,
        .seed = pool->first_seed + at.seed,
        .stop = &pool->stop,
    };
    uint64_t key = sirq_sim_store_key(&job, cells->text->text, cells->text->len, row->variant->name,
                                      cells->set, cells->nset);
    uint64_t begin_ns = sirq_lab_now_ns();
    int rc;

    out->values = calloc((size_t)plan->n_figures + 1, sizeof(*out->values));
    out->dists = calloc((size_t)plan->n_dists + 1, sizeof(*out->dists));
    if (out->values == NULL || out->dists == NULL)
        return sirq_fail(err, ENOMEM, "out of memory");
    if (find(pool, key, plan, out))
        return 0;
    rc = sirq_sim_job_run(&job, out, err);
    *took_ns = sirq_lab_now_ns() - begin_ns;
    if (!rc)
        store(pool, key, plan, out);
    return rc;
}

/* Of cells that fail the first one counts; later ones need not be run. */
static void fail(struct pool *pool, struct cursor at, int rc, const struct sirq_error *err)
{
    unsigned long long seed = pool->first_seed;

    if (rc == -EINTR || !before(at, pool->end))
        return;
    seed += at.seed;
    pool->end = at;
    pool->rc = rc;
    sirq_fail(&pool->err, -rc, "%.50s, %s, seed %llu: %.150s", pool->rows[at.row]->variant->name,
              pool->rows[at.row]->policy->name, seed, err->text);
}

static void step(struct pool *pool)
{
    if (++pool->next.seed >= seeds_of(pool->rows[pool->next.row]))
        pool->next = (struct cursor){.row = pool->next.row + 1};
}

static void *work(void *arg)
{
    struct pool *pool = arg;
    const uint64_t one = 1;

    pthread_mutex_lock(&pool->lock);
    while (before(pool->next, pool->end) && !__atomic_load_n(&pool->stop, __ATOMIC_RELAXED)) {
        struct sirq_sim_outcome out = {0};
        struct cursor at = pool->next;
        struct sirq_error err = {""};
        uint64_t took_ns = 0;
        int rc;

        step(pool);
        pthread_mutex_unlock(&pool->lock);
        rc = run_cell(pool, at, &out, &took_ns, &err);
        pthread_mutex_lock(&pool->lock);
        if (!rc && keep(pool->rows[at.row], at.seed, &out))
            rc = sirq_fail(&err, ENOMEM, "out of memory");
        pool->rows[at.row]->ran += took_ns != 0;
        pool->rows[at.row]->ran_ns += took_ns;
        if (rc)
            fail(pool, at, rc, &err);
        pool->done += !rc;
        free(out.values);
        free(out.dists);
        (void)!write(pool->event, &one, sizeof(one));
    }
    pool->running--;
    (void)!write(pool->event, &one, sizeof(one));
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* ---- progress, and the end -------------------------------------------------------------------- */

/* Simulated time, of which a row's cells take a share alike: what is known of the whole row. */
static double row_weight(const struct sirq_sim_row *row)
{
    return (double)(row->variant->spec->run.duration_ms + row->variant->spec->run.warmup_ms);
}

/* What is left, from what cells of the row, else of its experiment, else of all took so far. */
static uint64_t left_ns(const struct pool *pool)
{
    double ns = 0, all_ns = 0, all = 0, of_ns = 0, of = 0;
    const struct sirq_sim_cells *cells = NULL;

    for (uint32_t i = 0; i < pool->n_rows; i++) {
        all_ns += (double)pool->rows[i]->ran_ns;
        all += pool->rows[i]->ran * row_weight(pool->rows[i]);
    }
    for (uint32_t i = 0; i < pool->n_rows && all > 0; i++) {
        const struct sirq_sim_row *row = pool->rows[i];

        if (row->cells != cells) {
            cells = row->cells;
            of_ns = of = 0;
            for (uint32_t k = 0; k < cells->n_rows; k++) {
                of_ns += (double)cells->rows[k].ran_ns;
                of += cells->rows[k].ran * row_weight(&cells->rows[k]);
            }
        }
        ns += (seeds_of(row) - row->done) * (row->ran != 0 ? (double)row->ran_ns / row->ran
                                             : of > 0      ? of_ns / of * row_weight(row)
                                                           : all_ns / all * row_weight(row));
    }
    return (uint64_t)(ns / pool->batch->jobs);
}

/* "udp_flood: ksoftirqd, 1 receiver"; of a single experiment without its name. */
static const char *row_name(const struct pool *pool, uint32_t row, char *buf, size_t size)
{
    const struct sirq_sim_row *at = pool->rows[row];
    bool many = pool->batch->n > 1;

    snprintf(buf, size, "%s%s%s, %s", many ? at->variant->spec->name : "", many ? ": " : "",
             at->policy->name, at->variant->name);
    return buf;
}

/* Say which rows are complete, in their order, and what runs.  Returns whether any thread
 * still runs. */
static bool look(struct pool *pool, struct sirq_progress *progress, uint32_t *said)
{
    uint32_t running;
    char name[160];

    pthread_mutex_lock(&pool->lock);
    for (; *said < pool->n_rows; (*said)++) {
        if (pool->rows[*said]->done < seeds_of(pool->rows[*said]))
            break;
        sirq_progress_log(progress, *said + 1, pool->n_rows, "%s",
                          row_name(pool, *said, name, sizeof(name)));
    }
    if (*said < pool->n_rows)
        sirq_progress_at(progress, pool->done, left_ns(pool), "%s",
                         row_name(pool, *said, name, sizeof(name)));
    running = pool->running;
    pthread_mutex_unlock(&pool->lock);
    return running != 0;
}

static void watch(struct pool *pool)
{
    struct sirq_progress progress;
    uint32_t said = 0, cells = 0;
    uint64_t count;

    for (uint32_t i = 0; i < pool->n_rows; i++)
        cells += seeds_of(pool->rows[i]);
    sirq_progress_start(&progress, cells, 0);
    while (look(pool, &progress, &said)) {
        int rc = sirq_lab_wait(pool->event, TICK_NS);

        if (rc == -EINTR) {
            __atomic_store_n(&pool->stop, true, __ATOMIC_RELAXED);
            break;
        }
        if (rc == 1)
            (void)!read(pool->event, &count, sizeof(count));
    }
    sirq_progress_clear(&progress);
}

static unsigned start(struct pool *pool, pthread_t *threads, unsigned jobs)
{
    unsigned n = 0;

    pool->running = jobs; /* before any can end */
    while (n < jobs && pthread_create(&threads[n], NULL, work, pool) == 0)
        n++;
    pthread_mutex_lock(&pool->lock);
    pool->running -= jobs - n;
    pthread_mutex_unlock(&pool->lock);
    return n;
}

/* All rows in a row. */
static int gather(struct pool *pool, struct sirq_sim_batch *batch)
{
    uint32_t n = 0;

    for (unsigned i = 0; i < batch->n; i++)
        n += batch->cells[i]->n_rows;
    pool->rows = calloc((size_t)n + 1, sizeof(struct sirq_sim_row *));
    if (pool->rows == NULL)
        return -ENOMEM;
    for (unsigned i = 0; i < batch->n; i++) {
        for (uint32_t r = 0; r < batch->cells[i]->n_rows; r++)
            pool->rows[pool->n_rows++] = &batch->cells[i]->rows[r];
    }
    pool->batch = batch;
    pool->first_seed = batch->n != 0 ? batch->cells[0]->first_seed : 0;
    pool->end.row = n;
    return 0;
}

int sirq_sim_cells_run(struct sirq_sim_batch *batch, struct sirq_error *err)
{
    struct pool pool = {.event = eventfd(0, EFD_CLOEXEC)};
    pthread_t *threads = calloc(batch->jobs, sizeof(*threads));
    unsigned n;

    if (threads == NULL || pool.event < 0 || gather(&pool, batch) != 0) {
        free(threads);
        return sirq_fail(err, ENOMEM, "cannot start: %s", strerror(errno));
    }
    pthread_mutex_init(&pool.lock, NULL);
    pthread_mutex_init(&pool.store_lock, NULL);
    n = start(&pool, threads, batch->jobs);
    if (n == 0)
        pool.rc = sirq_fail(&pool.err, EAGAIN, "cannot start a thread");
    else
        watch(&pool);
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&pool.store_lock);
    pthread_mutex_destroy(&pool.lock);
    close(pool.event);
    free(threads);
    free(pool.rows);
    if (pool.rc)
        return sirq_fail(err, -pool.rc, "%s", pool.err.text);
    return pool.stop ? -EINTR : 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

int sirq_sim_cells_rows(struct sirq_sim_cells *cells, const struct sirq_policy *const *policy,
                        uint32_t n_policies, struct sirq_error *err)
{
    cells->rows = calloc((size_t)cells->n_variants * n_policies, sizeof(*cells->rows));
    if (cells->rows == NULL)
        return sirq_fail(err, ENOMEM, "out of memory");
    cells->n_policies = n_policies;
    for (uint32_t v = 0; v < cells->n_variants; v++) {
        for (uint32_t p = 0; p < n_policies; p++) {
            struct sirq_sim_row *row = &cells->rows[cells->n_rows];
            uint32_t seeds = cells->variants[v].spec->run.seeds;

            row->cells = cells;
            row->variant = &cells->variants[v];
            row->policy = policy[p];
            row->complete = calloc((size_t)seeds + 1, sizeof(*row->complete));
            row->values =
                calloc((size_t)seeds * row->variant->plan.n_figures + 1, sizeof(*row->values));
            cells->n_rows++;
            if (row->complete == NULL || row->values == NULL)
                return sirq_fail(err, ENOMEM, "out of memory");
        }
    }
    return 0;
}

void sirq_sim_cells_free(struct sirq_sim_cells *cells)
{
    for (uint32_t i = 0; i < cells->n_rows; i++) {
        free(cells->rows[i].complete);
        free(cells->rows[i].values);
        free(cells->rows[i].dists);
    }
    for (uint32_t i = 0; i < cells->n_variants; i++) {
        free(cells->variants[i].name);
        sirq_sim_plan_free(&cells->variants[i].plan);
        sirq_spec_free(cells->variants[i].spec);
    }
    free(cells->rows);
    free(cells->variants);
    *cells = (struct sirq_sim_cells){0};
}
