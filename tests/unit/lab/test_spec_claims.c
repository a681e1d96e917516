/* SPDX-License-Identifier: MIT */
/* What a file claims is about figures that it measures; what was published as a claim is met. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spec/figures.h"
#include "spec_text.h"

#define LAST "  - {name: late, of: rx, what: latency, stat: p99, unit: ms}\n"
#define CLAIM "{name: c, setup: words, policy: looped, "
#define LINE (28 + (unsigned)SIRQ_NR_COSTS + 3)

/* The good text, one more measure and these claims from line LINE on. */
static struct sirq_spec_text with(const char *claims)
{
    char by[1000];

    snprintf(by, sizeof(by), LAST "  - {name: rx%%_rate, of: rx, what: rate, each: true}\n%s%s",
             "claims:\n", claims);
    return sirq_spec_changed(LAST, by);
}

static void claim_is_read_with_its_cells(void **state)
{
    struct sirq_spec_text text =
        with("  - " CLAIM "left: {setup: more, metric: rx4_rate}, is: at_least,\n"
             "     right: {setup: plain, policy: old, metric: rate}, times: 0.25, percent: 7}\n"
             "  - {name: d, setup: plain, policy: old, left: {metric: late}, is: below, value: 0}\n"
             "unpatched: [{name: old, policy: restart10}]\n");
    struct sirq_error err = {""};
    const struct sirq_spec_claim *claim;
    struct sirq_spec *spec;

    (void)state;
    if (sirq_spec_parse(&spec, &text, UINT32_MAX, NULL, 0, &err) != 0)
        fail_msg("%s", err.text);
    claim = spec->claims;
    assert_int_equal(spec->n_claims, 2);
    assert_int_equal(claim->is, SIRQ_SPEC_AT_LEAST);
    assert_true(*claim->times == 0.25);
    assert_int_equal(claim->percent, 7);
    assert_null(claim->value);
    assert_int_equal(sirq_spec_cell_setup(spec, claim, &claim->left), 1);
    assert_string_equal(sirq_spec_cell_policy(spec, claim, &claim->left)->name, "looped");
    assert_int_equal(sirq_spec_cell_setup(spec, claim, claim->right), 0);
    assert_string_equal(sirq_spec_cell_policy(spec, claim, claim->right)->name, "restart10");
    claim++;
    assert_null(claim->right);
    assert_null(claim->times);
    assert_true(*claim->value == 0);
    assert_int_equal(sirq_spec_cell_setup(spec, claim, &claim->left), 0);
    assert_string_equal(sirq_spec_cell_policy(spec, claim, &claim->left)->name, "restart10");
    sirq_spec_free(spec);
    free(text.text);
}

/* A claim and what is said of it, null: it is good. */
static const char *const bad[][2] = {
    {CLAIM "left: {metric: rate}, is: above, value: 1}",
     "left.setup: is missing, and 'words' is no setup; there are: plain, more"},
    {CLAIM "left: {setup: mor, metric: rate}, is: above, value: 1}",
     "left.setup: 'mor': no such setup; did you mean more? there are: plain, more"},
    {CLAIM "left: {setup: more, policy: linux, metric: rate}, is: above, value: 1}",
     "left.policy: 'linux': no such policy; there are: inline, restart10, time2ms, resched, "
     "looped, ksoftirqd, rtdefer, threaded"},
    {CLAIM "left: {setup: more}, is: above, value: 1}", "left.metric: is missing; give it"},
    {CLAIM "left: {setup: more, metric: rtae}, is: above, value: 1}",
     "left.metric: 'rtae' is not measured; did you mean rate? there are: rate, late, "
     "rx%_rate; in setup 'more'"},
    {CLAIM "left: {setup: plain, metric: rx2_rate}, is: above, value: 1}",
     "left.metric: 'rx2_rate' is not measured; did you mean rx%_rate? there are: rate, late, "
     "rx%_rate; in setup 'plain'"},
    {CLAIM "left: {setup: more, metric: rate}, is: above, right: {metric: rate}}",
     "right.setup: is missing, and 'words' is no setup; there are: plain, more"},
    {CLAIM "left: {setup: more, metric: rate}, is: above}", "right: is missing; give it, or value"},
    {CLAIM "left: {setup: more, metric: rate}, is: above, value: 1, right: {metric: rate}}",
     "value: is given, and right too; leave one out"},
    {CLAIM "left: {setup: more, metric: rate}, is: above, value: 1, percent: 3}",
     "percent: 3: is for at_most, at_least and about; give times instead"},
    {CLAIM "left: {setup: more, metric: rate}, is: over, value: 1}",
     "is: 'over': there are: at_most, at_least, about, below, above"},
    {CLAIM "left: {setup: more, metric: rate}, value: 1}", "is: is missing; give it"},
    {CLAIM "left: {setup: more, metric: rate}, is: about, value: 1.5k}",
     "value: '1.5k': give a decimal number"},
    {CLAIM "left: {setup: more, metric: rate}, is: about, value: 1, times: 1000001}",
     "times: 1000001: give 0 to 1000000"},
    {"{name: c, policy: looped, left: {setup: more, metric: rate}, is: above, value: 1}",
     "setup: is missing; give it"},
    {"{name: rx9_rate, setup: words, policy: looped, left: {setup: more, metric: rate}, "
     "is: above, value: 1}",
     NULL}, /* more has four of them, so this is no measure */
    {"{name: rate, setup: words, policy: looped, left: {setup: more, metric: rate}, "
     "is: above, value: 1}",
     "name: 'rate' is a measure too; give another name"},
    {"{name: a b, setup: words, policy: looped, left: {setup: more, metric: rate}, "
     "is: above, value: 1}",
     "name: 'a b': give at most 63 characters, no space or comma"},
};

static void claim_wrong_is_refused_with_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char entry[300], line[300];
        struct sirq_spec_text text;

        snprintf(entry, sizeof(entry), "  - %s\n", bad[i][0]);
        text = with(entry);
        if (bad[i][1] != NULL) {
            snprintf(line, sizeof(line), "t.yaml:%u: claims[0].%s", LINE, bad[i][1]);
            sirq_spec_refused(&text, UINT32_MAX, NULL, line);
        } else {
            struct sirq_spec *spec;
            struct sirq_error err = {""};

            if (sirq_spec_parse(&spec, &text, UINT32_MAX, NULL, 0, &err) != 0)
                fail_msg("%s", err.text);
            sirq_spec_free(spec);
        }
        free(text.text);
    }
}

static void claim_twice_or_changed_is_refused(void **state)
{
    struct sirq_spec_text text =
        with("  - " CLAIM "left: {setup: more, metric: rate}, is: above, value: 1}\n"
             "  - " CLAIM "left: {setup: more, metric: rate}, is: above, value: 2}\n");
    char line[200];

    (void)state;
    snprintf(line, sizeof(line), "t.yaml:%u: claims[1].name: 'c' is given twice; give another name",
             LINE + 1);
    sirq_spec_refused(&text, UINT32_MAX, NULL, line);
    free(text.text);
    text = with("  - " CLAIM "left: {setup: more, metric: rate}, is: above, value: 1}\n");
    sirq_spec_refused(&text, UINT32_MAX, "claims.c.value=2",
                      "--set claims.c.value=2: a setting cannot change the claims");
    free(text.text);
}

/* Every published ordering of a shipped experiment stands in its file. */
static void shipped_claims_meet_published(void **state)
{
    struct sirq_error err = {""};
    unsigned met = 0;

    (void)state;
    for (const char *const *name = sirq_spec_shipped(); *name != NULL; name++) {
        struct sirq_spec_figures figures;
        struct sirq_spec_text text;
        struct sirq_spec *spec;

        assert_int_equal(sirq_spec_read(&text, *name, &err), 0);
        assert_int_equal(sirq_spec_parse(&spec, &text, UINT32_MAX, NULL, 0, &err), 0);
        assert_int_equal(sirq_spec_figures(&figures, spec, &text, &err), 0);
        for (uint32_t i = 0; i < figures.n; i++) {
            bool found = strcmp(figures.row[i].unit, "claim") != 0;

            met += !found;
            for (uint32_t c = 0; c < spec->n_claims; c++)
                found |= sirq_spec_figure_of_claim(&figures, &spec->claims[c]) == &figures.row[i];
            if (!found)
                fail_msg("%s: no claim %s", *name, figures.row[i].metric);
        }
        sirq_spec_figures_free(&figures);
        sirq_spec_free(spec);
        sirq_spec_text_free(&text);
    }
    assert_true(met >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_is_read_with_its_cells),
        cmocka_unit_test(claim_wrong_is_refused_with_its_line),
        cmocka_unit_test(claim_twice_or_changed_is_refused),
        cmocka_unit_test(shipped_claims_meet_published),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
