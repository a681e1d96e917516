/* SPDX-License-Identifier: MIT */
/* What a person types and sees: numbers, lists, tables, published figures, CSV. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csv.h"
#include "dist.h"
#include "experiment.h"
#include "hist.h"
#include "outfile.h"
#include "parse.h"
#include "table.h"

static void count_with_suffix_is_exact(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"1", 1},   {"1k", 1000},       {"2.5M", 2500000},      {"0.001k", 1},
                {"1.0", 1}, {"3G", 3000000000}, {"1.048576M", 1048576}, {"000012", 12}};
    uint64_t value;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(sirq_conf_parse_count(good[i].text, 1, UINT64_MAX, &value), 0);
        assert_int_equal(value, good[i].value);
    }
}

static void count_that_is_no_number_is_refused(void **state)
{
    static const char *const bad[] = {"",    "k",     "-1",      "+1",  "1x", "1kk",
                                      "1.5", "0x10",  "1e9",     "nan", ".",  "1 ",
                                      " 1",  "1.2.3", "0.0001k", "inf", "1,2"};
    uint64_t value = 77;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(sirq_conf_parse_count(bad[i], 0, UINT64_MAX, &value), -EINVAL);
    assert_int_equal(value, 77);
}

static void count_out_of_range_is_refused(void **state)
{
    uint64_t value;

    (void)state;
    assert_int_equal(sirq_conf_parse_count("0", 1, 10, &value), -ERANGE);
    assert_int_equal(sirq_conf_parse_count("11", 1, 10, &value), -ERANGE);
    assert_int_equal(sirq_conf_parse_count("9999999999999999999", 0, UINT64_MAX, &value), -ERANGE);
    assert_int_equal(sirq_conf_parse_count("999999999999999999G", 0, UINT64_MAX, &value), -ERANGE);
    assert_int_equal(sirq_conf_parse_count("10", 1, 10, &value), 0);
    assert_int_equal(sirq_conf_parse_count("1", 1, 10, &value), 0);
}

static void decimal_bounds_hold(void **state)
{
    double value;

    (void)state;
    assert_int_equal(sirq_conf_parse_decimal("0.5", 0.1, 10, &value), 0);
    assert_true(value > 0.4999 && value < 0.5001);
    assert_int_equal(sirq_conf_parse_decimal("0.05", 0.1, 10, &value), -ERANGE);
    assert_int_equal(sirq_conf_parse_decimal("11", 0.1, 10, &value), -ERANGE);
    assert_int_equal(sirq_conf_parse_decimal("1s", 0.1, 10, &value), -EINVAL);
}

static void list_gives_items_and_refuses_empty_ones(void **state)
{
    const char *list = "a,bc", *bad[] = {"", ",a", "a,", "a,,b"};
    char item[8];

    (void)state;
    assert_int_equal(sirq_conf_next_item(&list, item, sizeof(item)), 1);
    assert_string_equal(item, "a");
    assert_int_equal(sirq_conf_next_item(&list, item, sizeof(item)), 1);
    assert_string_equal(item, "bc");
    assert_int_equal(sirq_conf_next_item(&list, item, sizeof(item)), 0);
    for (size_t i = 0; i < 4; i++) {
        int rc = 1;

        while (rc == 1)
            rc = sirq_conf_next_item(&bad[i], item, sizeof(item));
        assert_int_equal(rc, -EINVAL);
    }
    list = "too-long-for-it";
    assert_int_equal(sirq_conf_next_item(&list, item, sizeof(item)), -EINVAL);
}

static void rates_of_a_list_are_kept_in_order(void **state)
{
    struct sirq_lab_options options;
    struct sirq_error err;

    (void)state;
    sirq_lab_defaults(&options);
    assert_int_equal(sirq_lab_set_rates(&options, "1k,2.5M", &err), 0);
    assert_int_equal(options.rates, SIRQ_LAB_RATE_LIST);
    assert_int_equal(options.nrates, 2);
    assert_int_equal(options.rate[0], 1000);
    assert_int_equal(options.rate[1], 2500000);
    assert_int_equal(sirq_lab_set_rates(&options, "sweep", &err), 0);
    assert_int_equal(options.rates, SIRQ_LAB_RATE_SWEEP);
    assert_int_equal(sirq_lab_set_rates(&options, "1k,,2k", &err), -EINVAL);
    assert_non_null(strstr(err.text, "--rate"));
    assert_int_equal(sirq_lab_set_rates(&options, "101M", &err), -EINVAL);
    assert_int_equal(sirq_lab_set_rates(&options, "1k,2k,1000", &err), -EINVAL);
    assert_non_null(strstr(err.text, "twice"));
}

static void policies_unknown_or_twice_are_refused_by_name(void **state)
{
    struct sirq_lab_options options;
    struct sirq_error err;

    (void)state;
    sirq_lab_defaults(&options);
    assert_int_equal(options.npolicies, 8);
    assert_int_equal(sirq_lab_set_policies(&options, "inline,nope", &err), -EINVAL);
    for (unsigned i = 0; sirq_policies[i]; i++)
        assert_non_null(strstr(err.text, sirq_policies[i]->name));
    assert_int_equal(sirq_lab_set_policies(&options, "inline,inline", &err), -EINVAL);
    assert_non_null(strstr(err.text, "twice"));
    assert_int_equal(sirq_lab_set_policies(&options, "looped,inline", &err), 0);
    assert_int_equal(options.npolicies, 2);
    assert_string_equal(options.policy[0]->name, "looped");
}

static void hist_quantiles_are_within_one_percent(void **state)
{
    struct sirq_hist *hist = calloc(1, sizeof(*hist)), *more = calloc(1, sizeof(*more));

    (void)state;
    assert_non_null(hist);
    assert_non_null(more);
    assert_int_equal(sirq_hist_quantile(hist, 0.5), 0);
    for (uint64_t i = 1; i <= 100000; i++)
        sirq_hist_add(i % 2 ? hist : more, i);
    sirq_hist_merge(hist, more);
    assert_int_equal(hist->count, 100000);
    for (unsigned percent = 1; percent < 100; percent++) {
        double exact = 1000.0 * percent, got = (double)sirq_hist_quantile(hist, percent / 100.0);

        assert_true(got > 0.99 * exact && got < 1.01 * exact);
    }
    free(hist);
    free(more);
}

static void hist_extremes_stay_inside(void **state)
{
    struct sirq_hist *hist = calloc(1, sizeof(*hist));

    (void)state;
    assert_non_null(hist);
    sirq_hist_add(hist, 0);
    assert_int_equal(sirq_hist_quantile(hist, 0), 0);
    assert_int_equal(sirq_hist_quantile(hist, 1), 0);
    sirq_hist_add(hist, UINT64_MAX);
    sirq_hist_add(hist, UINT64_MAX);
    assert_true(sirq_hist_quantile(hist, 1) > UINT64_C(1) << 39);
    free(hist);
}

static char *print_table(const struct sirq_lab_table *table, unsigned width)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    sirq_lab_table_print(table, out, width);
    fclose(out);
    return text;
}

static void make_table(struct sirq_lab_table *table)
{
    sirq_lab_table_init(table);
    sirq_lab_table_column(table, "name", true, 0);
    sirq_lab_table_column(table, "a", false, 2);
    sirq_lab_table_column(table, "less", false, 1);
    sirq_lab_table_row(table);
    sirq_lab_table_cell(table, 0, "%s", "x");
    sirq_lab_table_cell(table, 1, "%d", 12345);
    sirq_lab_table_cell(table, 2, "%d", 7);
    sirq_lab_table_row(table);
    sirq_lab_table_cell(table, 0, "%s", "longer");
}

static void table_aligns_columns_without_trailing_blanks(void **state)
{
    struct sirq_lab_table table;
    char *text;

    (void)state;
    make_table(&table);
    text = print_table(&table, 0);
    assert_string_equal(text, "name        a  less\n"
                              "x       12345     7\n"
                              "longer\n");
    free(text);
    sirq_lab_table_free(&table);
}

static void table_too_wide_hides_the_lightest_and_says_so(void **state)
{
    struct sirq_lab_table table;
    char *text;

    (void)state;
    make_table(&table);
    text = print_table(&table, 18);
    assert_string_equal(text, "name        a\n"
                              "x       12345\n"
                              "longer\n"
                              "not shown, the terminal is too narrow: less\n");
    free(text);
    text = print_table(&table, 19);
    assert_null(strstr(text, "narrow"));
    free(text);
    sirq_lab_table_free(&table);
}

static void si_has_three_digits(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},         {999, "999"},     {999.6, "1.00k"},  {1234, "1.23k"},
                 {12345, "12.3k"}, {123456, "123k"}, {999600, "1.00M"}, {1.7e6, "1.70M"},
                 {9996, "10.0k"},  {99960, "100k"}};
    char buf[16];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(sirq_lab_table_si(buf, cases[i].value), cases[i].text);
}

/* Results as the live world has them, beside what was published of udp-flood. */
struct shipped {
    struct sirq_spec_text text;
    struct sirq_spec *spec;
    struct sirq_spec_figures published;
    struct sirq_results results;
};

static void open_shipped(struct shipped *shipped)
{
    struct sirq_error err;

    assert_int_equal(sirq_spec_read(&shipped->text, "udp-flood", &err), 0);
    assert_int_equal(sirq_spec_parse(&shipped->spec, &shipped->text, UINT32_MAX, NULL, 0, &err), 0);
    assert_int_equal(sirq_spec_figures(&shipped->published, shipped->spec, &shipped->text, &err),
                     0);
    shipped->results = (struct sirq_results){.experiment = "udp_flood",
                                             .world = "live",
                                             .spec = shipped->spec,
                                             .published = &shipped->published,
                                             .seed = 5};
}

static void close_shipped(struct shipped *shipped)
{
    sirq_results_free(&shipped->results);
    sirq_spec_figures_free(&shipped->published);
    sirq_spec_free(shipped->spec);
    sirq_spec_text_free(&shipped->text);
}

/* The whole file that results make. */
static void write_and_read(const struct sirq_results *results, char *text, size_t size)
{
    const struct sirq_lines lines = sirq_results_lines(results);
    char path[] = "/tmp/sirq-csv-XXXXXX";
    struct sirq_error err;
    int fd = mkstemp(path);
    size_t len;
    FILE *file;

    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(sirq_csv_write(path, &lines, 1, &err), 0);
    file = fopen(path, "r");
    assert_non_null(file);
    len = fread(text, 1, size - 1, file);
    text[len] = '\0';
    fclose(file);
    unlink(path);
}

static void csv_is_written_whole_with_published_figures(void **state)
{
    struct shipped shipped;
    struct sirq_row *row;
    char text[512];

    (void)state;
    open_shipped(&shipped);
    row = sirq_results_row(&shipped.results);
    snprintf(row->setup, sizeof(row->setup), "1 receiver SCHED_RR 20");
    row->policy = "ksoftirqd";
    row->comparable = true;
    sirq_row_add(row, "packets/s", 1275000, "receiver_rate");
    sirq_row_add(row, "percent", 1, "receiver%u_own_cpu", 3);
    write_and_read(&shipped.results, text, sizeof(text));
    assert_string_equal(text,
                        "experiment,setup,world,policy,metric,unit,value,least,most,published,role,"
                        "error,seed\n"
                        "udp_flood,1 receiver SCHED_RR 20,live,ksoftirqd,receiver_rate,packets/s,"
                        "1275000,,,1700000,predict,-25,5\n"
                        "udp_flood,1 receiver SCHED_RR 20,live,ksoftirqd,receiver3_own_cpu,percent,"
                        "1,,,,,,5\n");
    close_shipped(&shipped);
}

static void csv_names_the_rate_and_compares_floods_only(void **state)
{
    struct shipped shipped;
    struct sirq_row *row;
    char text[512];

    (void)state;
    open_shipped(&shipped);
    row = sirq_results_row(&shipped.results);
    snprintf(row->setup, sizeof(row->setup), "1 receiver SCHED_OTHER");
    row->policy = "ksoftirqd";
    row->wanted_rate = 1000;
    sirq_row_add(row, "packets/s", 1000, "receiver_rate");
    write_and_read(&shipped.results, text, sizeof(text));
    assert_non_null(strstr(text, "udp_flood,1 receiver SCHED_OTHER 1000/s,live,ksoftirqd,"
                                 "receiver_rate,packets/s,1000,,,,,,5\n"));
    close_shipped(&shipped);
}

static void published_error_is_relative_or_infinite(void **state)
{
    const struct sirq_spec_figure some = {.value = 50}, zero = {.value = 0};

    (void)state;
    assert_true(sirq_line_error(&some, 60) > 19.999 && sirq_line_error(&some, 60) < 20.001);
    assert_true(sirq_line_error(&some, 50) == 0);
    assert_true(sirq_line_error(&zero, 0) == 0);
    assert_true(sirq_line_error(&zero, 1) > 1e300);
}

static void dist_of_few_values_is_exact(void **state)
{
    static struct sirq_dist dist, other;

    (void)state;
    for (uint64_t value = 1; value <= 4; value++) /* far from zero: no cancellation */
        sirq_dist_add(value % 2 ? &dist : &other, UINT64_C(1000000000000) + value);
    sirq_dist_merge(&dist, &other);
    assert_int_equal(dist.min, UINT64_C(1000000000001));
    assert_int_equal(dist.max, UINT64_C(1000000000004));
    assert_true(sirq_dist_mean(&dist) == 1000000000002.5);
    assert_true(sirq_dist_stddev(&dist) * sirq_dist_stddev(&dist) > 1.2499 &&
                sirq_dist_stddev(&dist) * sirq_dist_stddev(&dist) < 1.2501);
    for (unsigned percent = 0; percent <= 100; percent++) {
        double value = sirq_dist_quantile(&dist, percent / 100.0);

        assert_true(value >= (double)dist.min && value <= (double)dist.max);
    }
}

static void csv_path_that_cannot_be_written_is_refused(void **state)
{
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_outfile_check("--csv", "/nonexistent/x.csv", &err), -EINVAL);
    assert_non_null(strstr(err.text, "/nonexistent/x.csv"));
    assert_int_equal(sirq_outfile_check("--csv", "/tmp", &err), -EINVAL);
    assert_int_equal(sirq_outfile_check("--csv", "", &err), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(count_with_suffix_is_exact),
        cmocka_unit_test(count_that_is_no_number_is_refused),
        cmocka_unit_test(count_out_of_range_is_refused),
        cmocka_unit_test(decimal_bounds_hold),
        cmocka_unit_test(list_gives_items_and_refuses_empty_ones),
        cmocka_unit_test(rates_of_a_list_are_kept_in_order),
        cmocka_unit_test(policies_unknown_or_twice_are_refused_by_name),
        cmocka_unit_test(hist_quantiles_are_within_one_percent),
        cmocka_unit_test(hist_extremes_stay_inside),
        cmocka_unit_test(table_aligns_columns_without_trailing_blanks),
        cmocka_unit_test(table_too_wide_hides_the_lightest_and_says_so),
        cmocka_unit_test(si_has_three_digits),
        cmocka_unit_test(published_error_is_relative_or_infinite),
        cmocka_unit_test(dist_of_few_values_is_exact),
        cmocka_unit_test(csv_is_written_whole_with_published_figures),
        cmocka_unit_test(csv_names_the_rate_and_compares_floods_only),
        cmocka_unit_test(csv_path_that_cannot_be_written_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
