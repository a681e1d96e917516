/* SPDX-License-Identifier: MIT */
/* Medians with their bounds, shares of the best and the worst of each policy, reckoned by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "world/sim/shares.h"

/* Of 1..n, from the last to the first. */
static void expect_bounds(uint32_t n, double median, double low, double high)
{
    double values[200];
    struct sirq_matrix_median m;

    for (uint32_t i = 0; i < n; i++)
        values[i] = n - i;
    m = sirq_matrix_median(values, n);
    assert_true(m.median == median);
    assert_true(m.low == low);
    assert_true(m.high == high);
}

/* The ranks are those of tables for the sign test at 5 %, two-sided. */
static void median_bounds_are_those_of_the_binomial(void **state)
{
    (void)state;
    expect_bounds(1, 1, 1, 1);
    expect_bounds(5, 3, 1, 5); /* cannot reach 95 % */
    expect_bounds(6, 3.5, 1, 6);
    expect_bounds(8, 4.5, 1, 8);
    expect_bounds(9, 5, 2, 8);
    expect_bounds(10, 5.5, 2, 9);
    expect_bounds(20, 10.5, 6, 15);
    expect_bounds(30, 15.5, 10, 21);
    expect_bounds(100, 50.5, 40, 61);
}

#define SEEDS 6
#define POLICIES 3

/* Figure 0: more is better; 1: less is; 2: is not compared. */
static double values[POLICIES][SEEDS * 3] = {
    {100, 8, 1, 100, 8, 1, 100, 8, 1, 100, 8, 1, 100, 8, 1, 100, 8, 1},
    {50, 2, 1, 50, 2, 1, 50, 2, 1, 50, 2, 1, 50, 2, 1, 50, 2, 1},
    {90, 4, 1, 80, 4, 1, 70, 4, 1, 60, 4, 1, 95, 4, 1, 99, 4, 1},
};
static bool complete[SEEDS] = {true, true, true, true, true, true};

static void run_matrix(struct sirq_matrix *matrix)
{
    static struct sirq_spec_measure measures[] = {
        {.better = SIRQ_SPEC_MORE}, {.better = SIRQ_SPEC_LESS}, {.better = SIRQ_SPEC_NEITHER}};
    static char rate[] = "rate", wait[] = "wait", other[] = "other", light[] = "light";
    static struct sirq_sim_figure figures[] = {
        {.measure = &measures[0], .name = rate, .unit = "/s", .dist = UINT32_MAX},
        {.measure = &measures[1], .name = wait, .unit = "us", .dist = UINT32_MAX},
        {.measure = &measures[2], .name = other, .unit = "", .dist = UINT32_MAX}};
    static struct sirq_spec spec = {.run = {.seeds = SEEDS}};
    static struct sirq_sim_variant variant = {
        .name = light, .spec = &spec, .plan = {.figures = figures, .n_figures = 3}};
    static struct sirq_sim_row rows[POLICIES];
    const struct sirq_sim_cells cells = {.variants = &variant,
                                         .n_variants = 1,
                                         .rows = rows,
                                         .n_rows = POLICIES,
                                         .n_policies = POLICIES};

    for (unsigned p = 0; p < POLICIES; p++)
        rows[p] = (struct sirq_sim_row){.variant = &variant,
                                        .policy = sirq_policies[p],
                                        .done = SEEDS,
                                        .complete = complete,
                                        .values = values[p]};
    *matrix = (struct sirq_matrix){.policies = sirq_policies, .n_policies = POLICIES};
    assert_int_equal(sirq_sim_matrix_add(matrix, "mine", &cells), 0);
}

static void shares_are_of_the_best_in_the_same_seed(void **state)
{
    struct sirq_matrix matrix;

    (void)state;
    run_matrix(&matrix);
    assert_int_equal(matrix.n_rows, 2);
    assert_int_equal(matrix.seeds, SEEDS);
    assert_string_equal(matrix.rows[0].metric, "rate");
    assert_int_equal(matrix.rows[0].best, 0);
    assert_true(matrix.rows[0].cells[0].share == 100);
    assert_true(matrix.rows[0].cells[1].share == 50);
    assert_true(matrix.rows[0].cells[2].share == 85); /* between 80 and 90 */
    assert_true(matrix.rows[0].cells[2].low == 60 && matrix.rows[0].cells[2].high == 99);
    assert_int_equal(matrix.rows[1].best, 1);
    assert_true(matrix.rows[1].cells[0].share == 25);
    assert_true(matrix.rows[1].cells[2].share == 50);
    sirq_matrix_free(&matrix);
}

static void worst_of_a_policy_is_where_it_reaches_least(void **state)
{
    struct sirq_matrix matrix;

    (void)state;
    run_matrix(&matrix);
    assert_ptr_equal(sirq_matrix_worst(&matrix, 0), &matrix.rows[1]);
    assert_ptr_equal(sirq_matrix_worst(&matrix, 1), &matrix.rows[0]);
    assert_ptr_equal(sirq_matrix_worst(&matrix, 2), &matrix.rows[1]);
    sirq_matrix_free(&matrix);
}

static void policy_that_gave_nothing_has_no_cell(void **state)
{
    struct sirq_matrix matrix;
    double before = values[0][0];

    (void)state;
    for (unsigned i = 0; i < SEEDS; i++)
        values[0][3 * i] = __builtin_nan("");
    run_matrix(&matrix);
    assert_false(matrix.rows[0].cells[0].run);
    assert_int_equal(matrix.rows[0].best, 2);
    sirq_matrix_free(&matrix);
    for (unsigned i = 0; i < SEEDS; i++)
        values[0][3 * i] = before;
}

static void nothing_beside_nothing_is_as_good(void **state)
{
    struct sirq_matrix matrix;
    double keep[POLICIES][SEEDS];

    (void)state;
    for (unsigned i = 0; i < SEEDS; i++) {
        for (unsigned p = 0; p < POLICIES; p++) {
            keep[p][i] = values[p][3 * i + 1];
            values[p][3 * i + 1] = p == 2 ? 4 : 0;
        }
    }
    run_matrix(&matrix);
    assert_true(matrix.rows[1].cells[0].share == 100);
    assert_true(matrix.rows[1].cells[1].share == 100);
    assert_true(matrix.rows[1].cells[2].share == 0);
    sirq_matrix_free(&matrix);
    for (unsigned i = 0; i < SEEDS; i++) {
        for (unsigned p = 0; p < POLICIES; p++)
            values[p][3 * i + 1] = keep[p][i];
    }
}

static void printed_matrix_names_the_worst_cell_of_each(void **state)
{
    struct sirq_matrix matrix;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    (void)state;
    assert_non_null(out);
    run_matrix(&matrix);
    sirq_matrix_print(&matrix, out);
    fclose(out);
    assert_non_null(strstr(text, "mine, light: rate"));
    assert_non_null(strstr(text, "85 +-25"));
    assert_non_null(strstr(text, "25.0 of 100 ("));
    assert_null(strstr(text, "other"));
    free(text);
    sirq_matrix_free(&matrix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_bounds_are_those_of_the_binomial),
        cmocka_unit_test(shares_are_of_the_best_in_the_same_seed),
        cmocka_unit_test(worst_of_a_policy_is_where_it_reaches_least),
        cmocka_unit_test(policy_that_gave_nothing_has_no_cell),
        cmocka_unit_test(nothing_beside_nothing_is_as_good),
        cmocka_unit_test(printed_matrix_names_the_worst_cell_of_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
