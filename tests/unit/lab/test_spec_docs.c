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

#include "../conf/doc_tables.h"
#include "spec/internal.h"

static const struct doc_section sections[] = {
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
    {"hosts", sirq_spec_host_fields},
    {"flows", sirq_spec_flow_fields},
    {"tcp", sirq_spec_flow_tcp_fields},
    {"ping", sirq_spec_flow_ping_fields},
    {"setups", sirq_spec_setup_fields},
    {"run", sirq_spec_run_fields},
    {"unpatched", sirq_spec_unpatched_fields},
    {"measure", sirq_spec_measure_fields},
    {"published", sirq_spec_row_fields},
    {"claims", sirq_spec_claim_fields},
    {"left, right", sirq_spec_cell_fields},
};

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

static bool measured(const cyaml_schema_field_t *fields, const char *key)
{
    return fields == sirq_spec_measure_fields && is_what(key);
}

static struct doc doc = {
    .name = "docs/experiments.md",
    .kind = &sirq_spec_kind,
    .sections = sections,
    .nsections = LEN(sections),
    .also = measured,
};

static void docs_every_key_has_its_row(void **state)
{
    (void)state;
    doc_check_keys(&doc);
}

static void docs_every_row_has_its_key(void **state)
{
    (void)state;
    doc_check_rows(&doc);
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
    char *text = doc_section(&doc, "measure");

    (void)state;
    for (size_t i = 0; i < LEN(whats); i++) {
        char mark[64], is[64];
        const char *row;

        snprintf(mark, sizeof(mark), "| `%s` |", whats[i].name);
        row = strstr(text, mark);
        if (row == NULL)
            fail_msg("%s is not in docs/experiments.md", whats[i].name);
        doc_cell(row, 2, is, sizeof(is));
        assert_string_equal(is, whats[i].distribution ? "yes" : "no");
        doc_cell(row, 3, is, sizeof(is));
        assert_string_equal(is, whats[i].unit);
    }
    free(text);
}

static void docs_example_loads_in_every_setup(void **state)
{
    static const char begin[] = "```yaml\n", end[] = "```\n";
    struct sirq_error err = {""};
    struct sirq_spec_text text = {.name = (char *)"docs/experiments.md"};
    const char *at = strstr(doc.text, begin);
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
    char *costs = doc_section(&doc, "costs_ns"), mark[64], is[64];
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
        doc_cell(strstr(costs, mark), 1, is, sizeof(is));
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
    int rc;

    if (argc != 2 || !doc_read(&doc, argv[1]))
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    free(doc.text);
    return rc;
}
