/* SPDX-License-Identifier: MIT */
/* Files of results against each other, and files that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare.h"
#include "csv.h"

#define HEAD SIRQ_CSV_HEADER "\n"

static char path[2][32], *text;
static unsigned moved;
static struct sirq_error err;

static void write_file(unsigned i, const char *content)
{
    FILE *file;
    int fd;

    strcpy(path[i], "/tmp/sirq-compare-XXXXXX");
    fd = mkstemp(path[i]);
    assert_true(fd >= 0);
    file = fdopen(fd, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static int run(const char *a, const char *b)
{
    size_t len;
    FILE *out;
    int rc;

    free(text);
    out = open_memstream(&text, &len);
    assert_non_null(out);
    write_file(0, a);
    write_file(1, b);
    moved = 0;
    rc = sirq_lab_compare(path[0], path[1], &moved, out, &err);
    fclose(out);
    unlink(path[0]);
    unlink(path[1]);
    return rc;
}

static void same_files_have_nothing_that_moved(void **state)
{
    const char *same = HEAD "e,s,sim,p,m,us,3,1,4,,,,1\ne,\"a, \"\"b\"\"\",sim,p,m,us,3,,,,,,1\n";

    (void)state;
    assert_int_equal(run(same, same), 0);
    assert_int_equal(moved, 0);
    assert_non_null(strstr(text, "2 cells in both, 0 moved"));
}

static void overlapping_spreads_have_not_moved(void **state)
{
    (void)state;
    assert_int_equal(run(HEAD "e,s,sim,p,m,us,3,1,4,,,,1\n", HEAD "e,s,sim,p,m,us,5,4,9,,,,1\n"),
                     0);
    assert_int_equal(moved, 0);
}

static void disjoint_spreads_have_moved_either_way(void **state)
{
    (void)state;
    assert_int_equal(run(HEAD "e,s,sim,p,m,us,4,1,4,,,,1\n", HEAD "e,s,sim,p,m,us,6,5,9,,,,1\n"),
                     0);
    assert_int_equal(moved, 1);
    assert_non_null(strstr(text, "+50.0%"));
    assert_int_equal(run(HEAD "e,s,sim,p,m,us,6,5,9,,,,1\n", HEAD "e,s,sim,p,m,us,3,1,4,,,,1\n"),
                     0);
    assert_int_equal(moved, 1);
    assert_non_null(strstr(text, "-50.0%"));
}

static void cells_are_found_in_any_order_and_those_of_one_file_are_counted(void **state)
{
    (void)state;
    assert_int_equal(run(HEAD "e,s,sim,p,a,us,1,,,,,,1\ne,s,sim,p,b,us,2,,,,,,1\n",
                         HEAD "e,s,sim,p,c,us,1,,,,,,1\ne,s,sim,p,a,us,1,,,,,,1\n"),
                     0);
    assert_int_equal(moved, 2);
    assert_non_null(strstr(text, "1 cells in both, 0 moved beyond their spread; 1 only in"));
}

/* All seeds of a claim but one may hold, and it holds. */
static void claim_moves_when_its_verdict_does(void **state)
{
    (void)state;
    assert_int_equal(
        run(HEAD "e,s,sim,p,c,claim,1,0,1,,,,1\n", HEAD "e,s,sim,p,c,claim,0,0,1,,,,1\n"), 0);
    assert_int_equal(moved, 1);
}

static void broken_file_is_one_clear_line(void **state)
{
    static const struct {
        const char *b, *why;
    } bad[] = {
        {"", ":1: no results of this version"},
        {"experiment,setup\n", ":1: no results of this version"},
        {HEAD "e,s,sim,p,m,us,3,1,4,,,,1\ne,s,si", ":3: is not a line of results"},
        {HEAD "e,s,sim,p,m,us,x,1,4,,,,1\n", ":2: is not a line of results"},
        {HEAD "e,s,sim,p,m,us,,1,4,,,,1\n", ":2: is not a line of results"},
        {HEAD "e,s,sim,p,m,us,3,1,4,,,,1,2\n", ":2: is not a line of results"},
        {HEAD "\"e,s,sim,p,m,us,3,1,4,,,,1\n", ":2: is not a line of results"},
        {HEAD "\"e\"x,s,sim,p,m,us,3,1,4,,,,1\n", ":2: is not a line of results"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_true(run(HEAD, bad[i].b) < 0);
        if (strstr(err.text, bad[i].why) == NULL || strstr(err.text, path[1]) != err.text)
            fail_msg("%zu: %s", i, err.text);
    }
}

static void missing_file_is_named(void **state)
{
    (void)state;
    assert_true(sirq_lab_compare("/nowhere/a.csv", "/nowhere/b.csv", &moved, stdout, &err) < 0);
    assert_non_null(strstr(err.text, "/nowhere/a.csv: cannot be read: No such file"));
    assert_true(sirq_lab_compare("/dev/null", "/dev/null", &moved, stdout, &err) < 0);
    assert_non_null(strstr(err.text, "not a regular file"));
}

static int tear_down(void **state)
{
    (void)state;
    free(text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_files_have_nothing_that_moved),
        cmocka_unit_test(overlapping_spreads_have_not_moved),
        cmocka_unit_test(disjoint_spreads_have_moved_either_way),
        cmocka_unit_test(cells_are_found_in_any_order_and_those_of_one_file_are_counted),
        cmocka_unit_test(claim_moves_when_its_verdict_does),
        cmocka_unit_test(broken_file_is_one_clear_line),
        cmocka_unit_test(missing_file_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, tear_down);
}
