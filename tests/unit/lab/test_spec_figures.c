/* SPDX-License-Identifier: MIT */
/* Shipped experiments load in every setup; published figures are found, or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "spec/figures.h"
#include "spec_text.h"

#define HEADER "source,experiment,setup,policy,metric,unit,value,role,scored\n"

static void shipped_all_load_in_every_setup(void **state)
{
    struct sirq_error err = {""};
    unsigned n = 0;

    (void)state;
    for (const char *const *name = sirq_spec_shipped(); *name != NULL; name++, n++) {
        struct sirq_spec_text text;
        uint32_t setups = 1;

        if (sirq_spec_read(&text, *name, &err) != 0)
            fail_msg("%s", err.text);
        for (uint32_t s = 0; s < setups; s++) {
            struct sirq_spec *spec;

            if (sirq_spec_parse(&spec, &text, s, NULL, 0, &err) != 0)
                fail_msg("%s", err.text);
            setups = spec->n_setups;
            sirq_spec_free(spec);
        }
        sirq_spec_text_free(&text);
    }
    assert_true(n >= 2);
}

/* Every figure that counts is one that the experiment measures, or a claim. */
static void shipped_figures_meet_measures(void **state)
{
    struct sirq_error err = {""};

    (void)state;
    for (const char *const *name = sirq_spec_shipped(); *name != NULL; name++) {
        struct sirq_spec_figures figures;
        struct sirq_spec_text text;
        struct sirq_spec *spec;
        unsigned met = 0;

        assert_int_equal(sirq_spec_read(&text, *name, &err), 0);
        assert_int_equal(sirq_spec_parse(&spec, &text, UINT32_MAX, NULL, 0, &err), 0);
        if (sirq_spec_figures(&figures, spec, &text, &err) != 0)
            fail_msg("%s", err.text);
        for (uint32_t s = 0; s < spec->n_setups; s++) {
            for (unsigned p = 0; sirq_policies[p] != NULL; p++) {
                for (uint32_t m = 0; m < spec->n_measure; m++)
                    met +=
                        sirq_spec_figure(&figures, spec, s, sirq_policies[p]->name,
                                         spec->measure[m].name, spec->measure[m].published) != NULL;
            }
        }
        assert_true(figures.n == 0 || met > 5);
        sirq_spec_figures_free(&figures);
        sirq_spec_free(spec);
        sirq_spec_text_free(&text);
    }
}

static void figure_before_is_the_policy_that_it_was(void **state)
{
    struct sirq_spec_figures figures;
    const struct sirq_spec_figure *figure;
    struct sirq_spec_text text;
    struct sirq_spec *spec;
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_spec_read(&text, "udp-flood", &err), 0);
    assert_int_equal(sirq_spec_parse(&spec, &text, 0, NULL, 0, &err), 0);
    assert_int_equal(sirq_spec_figures(&figures, spec, &text, &err), 0);
    figure = sirq_spec_figure(&figures, spec, 0, "time2ms", "receiver_rate", NULL);
    assert_non_null(figure);
    assert_true(figure->value == 2000);
    assert_int_equal(figure->role, SIRQ_SPEC_BASELINE);
    assert_true(figure->scored);
    assert_string_equal(figure->unit, "packets/s");
    assert_null(sirq_spec_figure(&figures, spec, 0, "before", "receiver_rate", NULL));
    assert_null(sirq_spec_figure(&figures, spec, 0, "looped", "receiver_rate", NULL));
    sirq_spec_figures_free(&figures);
    sirq_spec_free(spec);
    sirq_spec_text_free(&text);
}

static void figures_wrong_are_refused_with_their_line(void **state)
{
    static const char *const bad[][2] = {
        {"", "f.csv:1: the first line has to be source,experiment,setup,policy,metric,unit,value,"
             "role,scored"},
        {"a,b\n", "f.csv:1: the first line has to be source,experiment,setup,policy,metric,unit,"
                  "value,role,scored"},
        {HEADER "1,e,s,p,m,us,5,predict\n",
         "f.csv:2: has 8 fields; give source,experiment,setup,policy,metric,unit,value,role,"
         "scored"},
        {HEADER "1,e,s,p,m,us,5,predict,yes,no\n",
         "f.csv:2: has 10 fields; give source,experiment,setup,policy,metric,unit,value,role,"
         "scored"},
        {HEADER "\n1,e,,p,m,us,5,predict,yes\n",
         "f.csv:3: field 3 is empty; give text without quotes and commas"},
        {HEADER "1,e,\"s\",p,m,us,5,predict,yes\n",
         "f.csv:2: field 3 is quoted; give text without quotes and commas"},
        {HEADER "1,e,s,p,m,us,fast,predict,yes\n", "f.csv:2: value 'fast': give a decimal number"},
        {HEADER "1,e,s,p,m,us,nan,predict,yes\n", "f.csv:2: value 'nan': give a decimal number"},
        {HEADER "1,e,s,p,m,us,5,fitted,yes\n",
         "f.csv:2: role 'fitted': give baseline, predict or claim"},
        {HEADER "1,e,s,p,m,us,5,predict,maybe\n", "f.csv:2: scored 'maybe': give yes or no"},
        {HEADER "1,e,s,p,m,us,5,predict,no\r\n1,e,s,p,m,us,6,predict,no\n",
         "f.csv:3: s, p, m is given twice; leave one out"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sirq_spec_figures figures;
        struct sirq_error err = {""};

        assert_int_equal(
            sirq_spec_figures_parse(&figures, "f.csv", bad[i][0], strlen(bad[i][0]), &err), -22);
        assert_string_equal(err.text, bad[i][1]);
        assert_null(figures.row);
    }
}

static void figures_beside_the_file_are_read(void **state)
{
    char dir[] = "/tmp/softirq-spec-XXXXXX", yaml[64], csv[64];
    struct sirq_spec_text good = sirq_spec_changed("name: good", "published: f.csv"), text;
    struct sirq_spec_figures figures;
    struct sirq_spec *spec;
    struct sirq_error err = {""};
    FILE *file;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(yaml, sizeof(yaml), "%s/my-own.yaml", dir);
    snprintf(csv, sizeof(csv), "%s/f.csv", dir);
    file = fopen(yaml, "we");
    assert_non_null(file);
    fwrite(good.text, 1, good.len, file);
    fclose(file);
    assert_int_equal(sirq_spec_read(&text, yaml, &err), 0);
    assert_int_equal(sirq_spec_parse(&spec, &text, 0, NULL, 0, &err), 0);
    assert_string_equal(spec->name, "my-own");
    assert_int_equal(sirq_spec_figures(&figures, spec, &text, &err), -22);
    file = fopen(csv, "we");
    assert_non_null(file);
    fputs(HEADER "1,e,plain,looped,rate,/s,2.5,claim,no\n", file);
    fclose(file);
    assert_int_equal(sirq_spec_figures(&figures, spec, &text, &err), -22);
    assert_non_null(strstr(err.text, ":1: published: 'f.csv': no figure of experiment 'my-own'"));
    file = fopen(csv, "we");
    assert_non_null(file);
    fputs(HEADER "1,e,plain,looped,rate,/s,9,claim,no\n"
                 "1,my-own,plain,looped,rate,/s,2.5,claim,no\n",
          file);
    fclose(file);
    assert_int_equal(sirq_spec_figures(&figures, spec, &text, &err), 0);
    assert_true(sirq_spec_figure(&figures, spec, 0, "looped", "rate", NULL)->value == 2.5);
    assert_null(sirq_spec_figure(&figures, spec, 1, "looped", "rate", NULL));
    sirq_spec_figures_free(&figures);
    sirq_spec_free(spec);
    sirq_spec_text_free(&text);
    free(good.text);
    unlink(yaml);
    unlink(csv);
    rmdir(dir);
}

/* Other names for setups and policies, of one setup and one measure. */
static void figure_is_found_under_the_names_of_its_publisher(void **state)
{
    struct sirq_spec_figures figures;
    struct sirq_spec_text text;
    struct sirq_spec *spec;
    struct sirq_error err;
    const struct sirq_spec_row *row;
    const struct sirq_spec_figure *f;

    (void)state;
    assert_int_equal(sirq_spec_read(&text, "rrul-router", &err), 0);
    assert_int_equal(sirq_spec_parse(&spec, &text, UINT32_MAX, NULL, 0, &err), 0);
    assert_int_equal(sirq_spec_figures(&figures, spec, &text, &err), 0);
    row = spec->measure[0].published;
    assert_non_null(row);
    f = sirq_spec_figure(&figures, spec, 0, "ksoftirqd", spec->measure[0].name, row);
    assert_non_null(f);
    assert_string_equal(f->policy, "rps");
    f = sirq_spec_figure(&figures, spec, 1, "ksoftirqd", spec->measure[0].name, row);
    assert_non_null(f);
    assert_string_equal(f->policy, "rps_threaded");
    assert_string_equal(f->setup, row->setup);
    assert_null(sirq_spec_figure(&figures, spec, 1, "time2ms", spec->measure[0].name, row));
    assert_null(sirq_spec_figure(&figures, spec, 1, "ksoftirqd", spec->measure[0].name, NULL));
    sirq_spec_figures_free(&figures);
    sirq_spec_free(spec);
    sirq_spec_text_free(&text);
}

static void figures_not_shipped_are_refused(void **state)
{
    struct sirq_spec_text text = sirq_spec_changed("name: good", "published: udp_flod");
    struct sirq_spec_figures figures;
    struct sirq_spec *spec;
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_spec_parse(&spec, &text, 0, NULL, 0, &err), 0);
    assert_int_equal(sirq_spec_figures(&figures, spec, &text, &err), -22);
    assert_string_equal(err.text, "t.yaml:1: published: 'udp_flod': no such figures are shipped; "
                                  "did you mean udp_flood? there are: udp_flood, udp_stream, "
                                  "tcp_rr, cyclictest, rrul_router");
    sirq_spec_free(spec);
    free(text.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_all_load_in_every_setup),
        cmocka_unit_test(shipped_figures_meet_measures),
        cmocka_unit_test(figure_before_is_the_policy_that_it_was),
        cmocka_unit_test(figures_wrong_are_refused_with_their_line),
        cmocka_unit_test(figures_beside_the_file_are_read),
        cmocka_unit_test(figure_is_found_under_the_names_of_its_publisher),
        cmocka_unit_test(figures_not_shipped_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
