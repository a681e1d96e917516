/* SPDX-License-Identifier: MIT */
/*
 * docs/experiments.md against the schema: every key has its row in the table of its mapping
 * and every row its key, numbers have the range that is checked, and the example loads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spec/internal.h"

static char *docs;

static const struct {
    const char *heading;
    const cyaml_schema_field_t *fields;
} sections[] = {
    {"Top", sirq_spec_fields},
    {"machine", sirq_spec_machine_fields},
    {"fair", sirq_spec_fair_fields},
    {"sched", sirq_spec_sched_fields},
    {"costs_ns", sirq_spec_cost_fields},
    {"net", sirq_spec_net_fields},
    {"nics", sirq_spec_nic_fields},
    {"disks", sirq_spec_disk_fields},
    {"threads", sirq_spec_threads_fields},
    {"udp_receiver", sirq_spec_udp_receiver_fields},
    {"rr_client", sirq_spec_rr_client_fields},
    {"rr_server", sirq_spec_rr_server_fields},
    {"tcp_receiver", sirq_spec_tcp_receiver_fields},
    {"tcp_sender", sirq_spec_tcp_sender_fields},
    {"disk_reader", sirq_spec_disk_reader_fields},
    {"cyclictest", sirq_spec_cyclictest_fields},
    {"hog", sirq_spec_hog_fields},
    {"watchdog", sirq_spec_watchdog_fields},
    {"traffic", sirq_spec_traffic_fields},
    {"setups", sirq_spec_setup_fields},
    {"run", sirq_spec_run_fields},
    {"unpatched", sirq_spec_unpatched_fields},
    {"measure", sirq_spec_measure_fields},
    {"claims", sirq_spec_claim_fields},
    {"left, right", sirq_spec_cell_fields},
};

/* The text of a section up to the next heading, to be freed. */
static char *section(const char *heading)
{
    char mark[64];
    const char *at, *end;

    snprintf(mark, sizeof(mark), "\n## %s\n", heading);
    at = strstr(docs, mark);
    if (at == NULL) {
        fail_msg("docs/experiments.md has no section %s", heading);
        return NULL;
    }
    at += strlen(mark);
    end = strstr(at, "\n## ");
    return end != NULL ? strndup(at, (size_t)(end - at)) : strdup(at);
}

/* Cell `n` of a row, without the spaces around it. */
static void cell(const char *row, unsigned n, char *buf, size_t size)
{
    const char *end;

    for (unsigned i = 0; i <= n && row != NULL; i++)
        row = strchr(row + (i > 0), '|');
    if (row == NULL) {
        fail_msg("a row has no cell %u", n);
        return;
    }
    row += 1 + strspn(row + 1, " ");
    end = strpbrk(row, "|\n");
    assert_non_null(end);
    while (end > row && end[-1] == ' ')
        end--;
    snprintf(buf, size, "%.*s", (int)(end - row), row);
}

static void check_field(const char *text, const char *heading, const cyaml_schema_field_t *fields,
                        const cyaml_schema_field_t *field)
{
    const struct sirq_conf_rule *rule = sirq_conf_rule(&sirq_spec_kind, fields, field->key);
    bool number = field->value.type == CYAML_UINT || field->value.type == CYAML_INT ||
                  field->value.type == CYAML_FLOAT;
    char mark[64], is[160], range[64];
    const char *row;

    snprintf(mark, sizeof(mark), "| `%s` |", field->key);
    row = strstr(text, mark);
    if (row == NULL) {
        fail_msg("%s: key %s is not in docs/experiments.md", heading, field->key);
        return;
    }
    cell(row, 1, is, sizeof(is));
    if (rule != NULL && rule->needed)
        assert_string_equal(is, "needed");
    if (field->value.type == CYAML_SEQUENCE && rule == NULL) {
        snprintf(range, sizeof(range), "at most %u", field->value.sequence.max);
    } else if (number || field->value.type == CYAML_SEQUENCE) {
        if (rule == NULL) {
            fail_msg("%s: %s has no range", heading, field->key);
            return;
        }
        snprintf(range, sizeof(range), "%lld to %lld", (long long)rule->least,
                 (long long)rule->most);
    } else {
        return;
    }
    cell(row, 2, is, sizeof(is));
    if (strcmp(is, range) != 0)
        fail_msg("%s: %s: docs/experiments.md says '%s', checked is '%s'", heading, field->key, is,
                 range);
}

static void docs_every_key_has_its_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < LEN(sections); i++) {
        char *text = section(sections[i].heading);

        for (const cyaml_schema_field_t *f = sections[i].fields; f->key != NULL; f++)
            check_field(text, sections[i].heading, sections[i].fields, f);
        free(text);
    }
}

static bool is_what(const char *name)
{
    static const char *const whats[] = {
#define WHAT(sym, name, of, dist, unit, text) name,
        SIRQ_SPEC_WHATS(WHAT)
#undef WHAT
    };

    for (size_t i = 0; i < LEN(whats); i++) {
        if (strcmp(whats[i], name) == 0)
            return true;
    }
    return false;
}

static void docs_every_row_has_its_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < LEN(sections); i++) {
        char *text = section(sections[i].heading);

        for (const char *row = strstr(text, "\n| `"); row != NULL; row = strstr(row + 1, "\n| `")) {
            const cyaml_schema_field_t *f = sections[i].fields;
            char key[64];

            snprintf(key, sizeof(key), "%.*s", (int)strcspn(row + 4, "`"), row + 4);
            while (f->key != NULL && strcmp(f->key, key) != 0)
                f++;
            if (f->key == NULL && (sections[i].fields != sirq_spec_measure_fields || !is_what(key)))
                fail_msg("%s: there is no key %s", sections[i].heading, key);
        }
        free(text);
    }
}

static void docs_every_what_is_as_the_table_says(void **state)
{
    static const struct {
        const char *name, *unit;
        bool distribution;
    } whats[] = {
#define WHAT(sym, name, of, dist, unit, text) {name, unit, dist},
        SIRQ_SPEC_WHATS(WHAT)
#undef WHAT
    };
    char *text = section("measure");

    (void)state;
    for (size_t i = 0; i < LEN(whats); i++) {
        char mark[64], is[64];
        const char *row;

        snprintf(mark, sizeof(mark), "| `%s` |", whats[i].name);
        row = strstr(text, mark);
        if (row == NULL)
            fail_msg("%s is not in docs/experiments.md", whats[i].name);
        cell(row, 2, is, sizeof(is));
        assert_string_equal(is, whats[i].distribution ? "yes" : "no");
        cell(row, 3, is, sizeof(is));
        assert_string_equal(is, whats[i].unit);
    }
    free(text);
}

static void docs_example_loads_in_every_setup(void **state)
{
    static const char begin[] = "```yaml\n", end[] = "```\n";
    struct sirq_error err = {""};
    struct sirq_spec_text text = {.name = (char *)"docs/experiments.md"};
    const char *at = strstr(docs, begin);
    struct sirq_spec *spec;

    (void)state;
    assert_non_null(at);
    text.text = (char *)at + strlen(begin);
    assert_non_null(strstr(text.text, end));
    text.len = (size_t)(strstr(text.text, end) - text.text);
    if (sirq_spec_parse(&spec, &text, UINT32_MAX, NULL, 0, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(spec->n_setups, 2);
    sirq_spec_free(spec);
}

static void docs_cost_that_is_not_given_is_the_default(void **state)
{
    static char bare[] =
        "machine: {cpus: 1, hz: 250}\nthreads: [{name: t, hog: {slice_ns: 1000}}]\n"
        "run: {duration_ms: 1}\nmeasure: [{name: m, of: t, what: cpu}]\n";
    const struct sirq_spec_text text = {.name = (char *)"bare", .text = bare, .len = strlen(bare)};
    char *costs = section("costs_ns"), mark[64], is[64];
    struct sirq_error err = {""};
    struct sirq_spec *spec;

    (void)state;
    if (sirq_spec_parse(&spec, &text, UINT32_MAX, NULL, 0, &err) != 0)
        fail_msg("%s", err.text);
    for (const cyaml_schema_field_t *f = sirq_spec_cost_fields; f->key != NULL; f++) {
        uint32_t value;

        memcpy(&value, (const char *)&spec->costs_ns + f->data_offset, sizeof(value));
        snprintf(mark, sizeof(mark), "| `%s` |", f->key);
        assert_non_null(strstr(costs, mark));
        cell(strstr(costs, mark), 1, is, sizeof(is));
        assert_int_equal(strtoul(is, NULL, 10), value);
        assert_int_not_equal(value, 0);
    }
    sirq_spec_free(spec);
    free(costs);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(docs_every_key_has_its_row),
        cmocka_unit_test(docs_every_row_has_its_key),
        cmocka_unit_test(docs_every_what_is_as_the_table_says),
        cmocka_unit_test(docs_example_loads_in_every_setup),
        cmocka_unit_test(docs_cost_that_is_not_given_is_the_default),
    };
    struct sirq_error err;
    size_t len;
    int rc;

    if (argc != 2 || sirq_conf_slurp(argv[1], "the documentation", &docs, &len, &err) != 0)
        return 1;
    docs = realloc(docs, len + 1);
    if (docs == NULL)
        return 1;
    docs[len] = '\0';
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    free(docs);
    return rc;
}
