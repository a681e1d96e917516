/* SPDX-License-Identifier: MIT */
/* Cells that are kept and found again, in files that are whole, cut, foreign, taken or full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "world/sim/store.h"

#define FIGURES 3
#define DISTS 2
#define CELLS 5u

static const struct sirq_sim_plan plan = {.n_figures = FIGURES, .n_dists = DISTS};
static char path[64];

struct cell {
    double values[FIGURES];
    struct sirq_dist dists[DISTS];
    struct sirq_sim_outcome out;
};

static void clear(struct cell *cell)
{
    memset(cell, 0, sizeof(*cell));
    cell->out = (struct sirq_sim_outcome){.values = cell->values, .dists = cell->dists};
}

/* Something of every kind: no number, an empty distribution, large values. */
static void fill(struct cell *cell, unsigned i)
{
    clear(cell);
    cell->values[0] = i;
    cell->values[1] = __builtin_nan("");
    cell->values[2] = -1e300;
    for (unsigned k = 0; k < 10 * i; k++)
        sirq_dist_add(&cell->dists[1], (uint64_t)1 << (3 * (k % 20)));
    cell->out.stalled = i % 2 != 0;
}

static void expect_cell(struct sirq_sim_store *store, unsigned i)
{
    static struct cell want, got;

    fill(&want, i);
    clear(&got);
    assert_true(sirq_sim_store_get(store, i, &plan, &got.out));
    assert_memory_equal(got.values, want.values, sizeof(want.values));
    assert_memory_equal(got.dists, want.dists, sizeof(want.dists));
    assert_int_equal(got.out.stalled, want.out.stalled);
}

static struct sirq_sim_store *open_store(unsigned found, const char *note)
{
    struct sirq_sim_store *store;
    struct sirq_error said = {""}, err = {""};
    unsigned n = 99;

    if (sirq_sim_store_open(&store, path, &n, &said, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(n, found);
    if (note == NULL)
        assert_string_equal(said.text, "");
    else
        assert_non_null(strstr(said.text, note));
    return store;
}

static void expect_refused(int code, const char *why)
{
    struct sirq_sim_store *store;
    struct sirq_error note = {""}, err = {""};
    unsigned n;

    assert_int_equal(sirq_sim_store_open(&store, path, &n, &note, &err), -code);
    assert_non_null(strstr(err.text, why));
}

static void keep_cells(void)
{
    struct sirq_sim_store *store = open_store(0, NULL);
    static struct cell cell;

    for (unsigned i = 0; i < CELLS; i++) {
        fill(&cell, i);
        assert_int_equal(sirq_sim_store_put(store, i, &plan, &cell.out), 0);
    }
    sirq_sim_store_close(store, false);
}

static int set_up(void **state)
{
    char dir[] = "/tmp/sirq-store-XXXXXX";

    (void)state;
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/cells", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    *strrchr(path, '/') = '\0';
    return rmdir(path);
}

static void kept_cells_are_found_as_they_were(void **state)
{
    struct sirq_sim_store *store;
    static struct cell cell;

    (void)state;
    keep_cells();
    store = open_store(CELLS, NULL);
    for (unsigned i = 0; i < CELLS; i++)
        expect_cell(store, i);
    clear(&cell);
    assert_false(sirq_sim_store_get(store, 77, &plan, &cell.out));
    sirq_sim_store_close(store, false);
}

static void finished_run_leaves_no_file(void **state)
{
    struct stat st;

    (void)state;
    keep_cells();
    sirq_sim_store_close(open_store(CELLS, NULL), true);
    assert_int_equal(stat(path, &st), -1);
}

/* Wherever it is cut, or ends in zeros (each turn makes it longer again than what was good), all whole records before that are good, and more can be added. */
static void file_cut_anywhere_keeps_what_is_whole(void **state)
{
    static struct cell cell;
    struct stat st;
    unsigned last = CELLS;

    (void)state;
    keep_cells();
    assert_int_equal(stat(path, &st), 0);
    for (off_t size = st.st_size - 1; size >= 24; size -= 7) {
        struct sirq_sim_store *store;
        struct sirq_error note = {""}, err = {""};
        unsigned n;

        assert_int_equal(truncate(path, size), 0);
        assert_int_equal(sirq_sim_store_open(&store, path, &n, &note, &err), 0);
        assert_true(n <= last);
        for (unsigned i = 0; i < n; i++)
            expect_cell(store, i);
        if (size < 200) {
            fill(&cell, 4);
            assert_int_equal(sirq_sim_store_put(store, 4, &plan, &cell.out), 0);
            sirq_sim_store_close(store, false);
            store = open_store(n + 1, NULL);
            expect_cell(store, 4);
            sirq_sim_store_close(store, false);
            break;
        }
        last = n;
        sirq_sim_store_close(store, false);
    }
}

static void flipped_bit_ends_what_is_good(void **state)
{
    FILE *file;
    struct stat st;
    int byte;

    (void)state;
    keep_cells();
    assert_int_equal(stat(path, &st), 0);
    file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, st.st_size - 9, SEEK_SET), 0);
    byte = fgetc(file);
    assert_int_equal(fseek(file, st.st_size - 9, SEEK_SET), 0);
    fputc(byte ^ 4, file);
    fclose(file);
    sirq_sim_store_close(open_store(CELLS - 1, "breaks off after 4 finished cells"), false);
    sirq_sim_store_close(open_store(CELLS - 1, NULL), false); /* and is whole again */
}

static void file_of_another_build_begins_anew(void **state)
{
    FILE *file;

    (void)state;
    keep_cells();
    file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, 16, SEEK_SET);
    fputs("another!", file);
    fclose(file);
    sirq_sim_store_close(open_store(0, "of another build"), false);
}

static void foreign_file_is_refused_and_left_alone(void **state)
{
    FILE *file = fopen(path, "w");
    struct stat st;

    (void)state;
    assert_non_null(file);
    fputs("what a person wrote", file);
    fclose(file);
    expect_refused(EINVAL, "holds no cells of a run; remove it or name another");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 19);
}

static void file_in_use_is_refused(void **state)
{
    struct sirq_sim_store *store = open_store(0, NULL);

    (void)state;
    expect_refused(EBUSY, "another run uses it");
    sirq_sim_store_close(store, false);
}

/* The limit of a file's size stands in for a disk that is full. */
static void full_disk_keeps_what_was_there(void **state)
{
    struct sirq_sim_store *store;
    struct rlimit before, limit;
    static struct cell cell;
    struct stat st;

    (void)state;
    keep_cells();
    assert_int_equal(stat(path, &st), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)st.st_size + 40;
    store = open_store(CELLS, NULL);
    fill(&cell, 6);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_not_equal(sirq_sim_store_put(store, 6, &plan, &cell.out), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(sirq_sim_store_put(store, 7, &plan, &cell.out), 0); /* is not tried again */
    sirq_sim_store_close(store, false);
    store = open_store(CELLS, "breaks off");
    expect_cell(store, CELLS - 1);
    sirq_sim_store_close(store, false);
}

static void key_depends_on_all_that_a_cell_does(void **state)
{
    struct sirq_spec spec = {.run = {.warmup_ms = 1, .duration_ms = 2}};
    struct sirq_sim_job job = {.spec = &spec, .policy = sirq_policies[0], .seed = 1};
    const char *set[] = {"a=1", "b=2"};
    uint64_t key[9];

    (void)state;
    key[0] = sirq_sim_store_key(&job, "text", 4, "light", set, 2);
    assert_true(key[0] == sirq_sim_store_key(&job, "text", 4, "light", set, 2));
    key[1] = sirq_sim_store_key(&job, "next", 4, "light", set, 2);
    key[2] = sirq_sim_store_key(&job, "text", 4, "heavy", set, 2);
    key[3] = sirq_sim_store_key(&job, "text", 4, "light", set, 1);
    key[4] = sirq_sim_store_key(&job, "text", 4, "light", set + 1, 1);
    job.seed = 2;
    key[5] = sirq_sim_store_key(&job, "text", 4, "light", set, 2);
    job.seed = 1;
    job.policy = sirq_policies[1];
    key[6] = sirq_sim_store_key(&job, "text", 4, "light", set, 2);
    job.policy = sirq_policies[0];
    spec.run.duration_ms = 3;
    key[7] = sirq_sim_store_key(&job, "text", 4, "light", set, 2);
    spec.run = (struct sirq_spec_run){.warmup_ms = 2, .duration_ms = 2};
    key[8] = sirq_sim_store_key(&job, "text", 4, "light", set, 2);
    for (unsigned i = 0; i < 9; i++) {
        for (unsigned k = 0; k < i; k++)
            assert_false(key[i] == key[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kept_cells_are_found_as_they_were, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finished_run_leaves_no_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(file_cut_anywhere_keeps_what_is_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(flipped_bit_ends_what_is_good, set_up, tear_down),
        cmocka_unit_test_setup_teardown(file_of_another_build_begins_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(foreign_file_is_refused_and_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(file_in_use_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_disk_keeps_what_was_there, set_up, tear_down),
        cmocka_unit_test(key_depends_on_all_that_a_cell_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
