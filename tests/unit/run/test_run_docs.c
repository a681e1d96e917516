/* SPDX-License-Identifier: MIT */
/*
 * docs/run.md against the schema, whose example is read too; and what it says of SIGHUP against
 * what a running plane takes up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../conf/doc_tables.h"
#include "file/internal.h"

static const struct doc_section sections[] = {
    {"Top", sirq_run_fields},
    {"sched", sirq_run_sched_fields},
    {"net", sirq_run_net_fields},
    {"interfaces", sirq_run_interface_fields},
    {"poller", sirq_run_poller_fields},
    {"backlog_threads", sirq_run_backlog_fields},
    {"routes", sirq_run_route_fields},
    {"services", sirq_run_service_fields},
    {"udp-echo", sirq_run_udp_echo_fields},
    {"dns", sirq_run_dns_fields},
    {"nat-router", sirq_run_nat_router_fields},
};

static struct doc doc = {
    .name = "docs/run.md",
    .kind = &sirq_run_kind,
    .sections = sections,
    .nsections = LEN(sections),
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

static void docs_example_is_read(void **state)
{
    static const char begin[] = "```yaml\n", end[] = "```\n";
    struct sirq_error err = {""};
    const char *at = strstr(doc.text, begin);
    struct sirq_run_source source;

    (void)state;
    assert_non_null(at);
    at += strlen(begin);
    assert_non_null(strstr(at, end));
    if (sirq_run_parse(&source, "docs/run.md", at, (size_t)(strstr(at, end) - at), &err) != 0)
        fail_msg("%s", err.text);
    sirq_run_source_free(&source);
}

static void docs_keys_that_reload_say_so(void **state)
{
    (void)state;
    for (size_t i = 0; i < LEN(sections); i++) {
        char *text = doc_section(&doc, sections[i].heading);

        for (const cyaml_schema_field_t *f = sections[i].fields; f->key != NULL; f++) {
            char mark[64], meaning[400];

            snprintf(mark, sizeof(mark), "| `%s` |", f->key);
            assert_non_null(strstr(text, mark));
            doc_cell(strstr(text, mark), 3, meaning, sizeof(meaning));
            if ((strstr(meaning, "; SIGHUP") != NULL) !=
                sirq_run_reloads(sections[i].fields, f->key))
                fail_msg("%s: %s: does SIGHUP take it up?", sections[i].heading, f->key);
        }
        free(text);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(docs_every_key_has_its_row),
        cmocka_unit_test(docs_every_row_has_its_key),
        cmocka_unit_test(docs_example_is_read),
        cmocka_unit_test(docs_keys_that_reload_say_so),
    };
    int rc;

    if (argc != 2 || !doc_read(&doc, argv[1]))
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    free(doc.text);
    return rc;
}
