/* SPDX-License-Identifier: MIT */
/* The score of a few lines, reckoned by hand, and the JSON that is made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "score.h"

static struct sirq_spec_figure rows[] = {
    {.metric = "a",
     .setup = "s",
     .policy = "p",
     .value = 100,
     .role = SIRQ_SPEC_PREDICT,
     .scored = true},
    {.metric = "b",
     .setup = "s",
     .policy = "p",
     .value = 100,
     .role = SIRQ_SPEC_PREDICT,
     .scored = true},
    {.metric = "c",
     .setup = "s",
     .policy = "p",
     .value = 1,
     .role = SIRQ_SPEC_PREDICT,
     .scored = true},
    {.metric = "d",
     .setup = "s",
     .policy = "p",
     .value = 100,
     .role = SIRQ_SPEC_BASELINE,
     .scored = true},
    {.metric = "e",
     .setup = "s",
     .policy = "p",
     .value = 0,
     .role = SIRQ_SPEC_PREDICT,
     .scored = true},
    {.metric = "f", .setup = "s", .policy = "p", .value = 5, .role = SIRQ_SPEC_PREDICT},
};
static const struct sirq_spec_figures published = {rows, sizeof(rows) / sizeof(rows[0]), NULL};
static const struct sirq_spec_figure own = {.value = 1, .role = SIRQ_SPEC_CLAIM};
static const char *odd = "x";

static void each(const void *of, void (*fn)(void *arg, const struct sirq_line *line), void *arg)
{
    static const struct {
        double value;
        const struct sirq_spec_figure *published;
        bool claim;
    } lines[] = {
        {90, &rows[0], false}, {130, &rows[1], false}, {1, &rows[2], true}, {50, &rows[3], false},
        {7, &rows[4], false},  {0, &own, true},        {3, NULL, false},
    };

    (void)of;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        const struct sirq_line line = {.experiment = "e",
                                       .setup = odd,
                                       .world = "sim",
                                       .policy = "p",
                                       .metric = "m",
                                       .unit = "u",
                                       .value = lines[i].value,
                                       .claim = lines[i].claim,
                                       .published = lines[i].published,
                                       .seed = 4};

        fn(arg, &line);
    }
}

static const struct sirq_lines all = {each, NULL, "e", &published};

static void score_counts_every_published_figure_once(void **state)
{
    struct sirq_score score;
    const struct sirq_score_part *part = &score.part[SIRQ_SCORE_PREDICTED];

    (void)state;
    assert_int_equal(sirq_score_make(&score, &all, 1), 0);
    assert_int_equal(part->n, 3); /* 10 %, 30 %, no end */
    assert_int_equal(part->near, 1);
    assert_true(part->median > 29.99 && part->median < 30.01);
    assert_true(part->p90 > 1e300);
    assert_ptr_equal(part->worst, &rows[4]);
    assert_int_equal(score.part[SIRQ_SCORE_BASELINE].n, 1);
    assert_true(score.part[SIRQ_SCORE_BASELINE].worst_error == -50);
    assert_int_equal(score.part[SIRQ_SCORE_OTHER].n, 0);
    assert_int_equal(score.claims, 2);
    assert_int_equal(score.hold, 1);
    assert_int_equal(score.missing, 1); /* f */
    sirq_score_free(&score);
}

static void read_json(char *text, size_t size)
{
    char path[] = "/tmp/sirq-json-XXXXXX";
    struct sirq_error err;
    int fd = mkstemp(path);
    FILE *file;
    size_t len;

    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(sirq_json_write(path, &all, 1, NULL, &err), 0);
    file = fopen(path, "r");
    assert_non_null(file);
    len = fread(text, 1, size - 1, file);
    text[len] = '\0';
    fclose(file);
    unlink(path);
}

static void expect(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no '%s' in %s", part, text);
}

static void json_says_what_the_score_is(void **state)
{
    static char text[8192];

    (void)state;
    read_json(text, sizeof(text));
    expect(text, "\"metric\": \"m\", \"unit\": \"u\", \"value\": 90, \"least\": null, "
                 "\"most\": null, \"published\": 100, \"role\": \"predict\", \"error\": -10, "
                 "\"seed\": 4}");
    expect(text, "\"published\": null, \"role\": null, \"error\": null");
    expect(text, "\"published\": 0, \"role\": \"predict\", \"error\": null"); /* no end */
    expect(text, "\"role\": \"claim\"");
    expect(text, "\"scored\": 3,\n    \"within_15\": 1,\n    \"orderings_right\": 1,\n"
                 "    \"orderings_total\": 2,\n    \"not_measured\": 1,\n"
                 "    \"median_rel_error\": 0.3,\n    \"p90_rel_error\": null,\n"
                 "    \"worst\": {\"setup\": \"s\", \"policy\": \"p\", \"metric\": \"e\", "
                 "\"rel_error\": null}");
    expect(text, "\"experiments\": {\n      \"e\": {\n        \"scored\": 3,");
}

static void json_text_of_any_bytes_is_escaped(void **state)
{
    static const char *const cases[][2] = {
        {"a\"b\\c\n", "\"a\\\"b\\\\c\\u000a\""},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\xff"
         "a\xc3",
         "\"\\ufffda\\ufffd\""},
        {"\xc0\x80", "\"\\ufffd\\ufffd\""},            /* longer than it has to be */
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* half a pair */
    };
    static char text[8192];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char part[64];

        odd = cases[i][0];
        read_json(text, sizeof(text));
        snprintf(part, sizeof(part), "\"setup\": %s, ", cases[i][1]);
        expect(text, part);
    }
    odd = "x";
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(score_counts_every_published_figure_once),
        cmocka_unit_test(json_says_what_the_score_is),
        cmocka_unit_test(json_text_of_any_bytes_is_escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
