/* SPDX-License-Identifier: MIT */
/*
 * Answers for a zone with everything in it.  Queries are made, and answers taken apart, by ldns,
 * which knows nothing of our code: what it prints is compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <ldns/ldns.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dns.h"

static const char *zone_path;
static struct sirq_dns_zone *zone;

/* An answer as text: "NOERROR aa | answer | authority | additional", records parted by "; ". */
static char text[65536];

static void add(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void add(const char *fmt, ...)
{
    size_t at = strlen(text);
    va_list args;

    va_start(args, fmt);
    vsnprintf(text + at, sizeof(text) - at, fmt, args);
    va_end(args);
}

static void add_section(const ldns_rr_list *list)
{
    add(" |");
    for (size_t i = 0; i < ldns_rr_list_rr_count(list); i++) {
        char *line = ldns_rr2str(ldns_rr_list_rr(list, i));

        assert_non_null(line);
        line[strcspn(line, "\n")] = '\0';
        for (char *at = line; *at != '\0'; at++)
            *at = *at == '\t' ? ' ' : *at;
        add("%s %s", i != 0 ? ";" : "", line);
        free(line);
    }
}

static const char *describe(const uint8_t *answer, size_t len)
{
    ldns_pkt *pkt;
    char *rcode;

    text[0] = '\0';
    assert_int_equal(ldns_wire2pkt(&pkt, answer, len), LDNS_STATUS_OK);
    assert_true(ldns_pkt_qr(pkt));
    assert_false(ldns_pkt_ra(pkt));
    rcode = ldns_pkt_rcode2str(ldns_pkt_get_rcode(pkt));
    add("%s%s%s", rcode, ldns_pkt_aa(pkt) ? " aa" : "", ldns_pkt_tc(pkt) ? " tc" : "");
    add_section(ldns_pkt_answer(pkt));
    add_section(ldns_pkt_authority(pkt));
    add_section(ldns_pkt_additional(pkt));
    free(rcode);
    ldns_pkt_free(pkt);
    return text;
}

static size_t make_query(const char *name, ldns_rr_type type, uint16_t edns, uint8_t **wire)
{
    ldns_pkt *pkt;
    size_t len;

    assert_int_equal(ldns_pkt_query_new_frm_str(&pkt, name, type, LDNS_RR_CLASS_IN, LDNS_RD),
                     LDNS_STATUS_OK);
    ldns_pkt_set_id(pkt, 0x1234);
    if (edns != 0)
        ldns_pkt_set_edns_udp_size(pkt, edns);
    assert_int_equal(ldns_pkt2wire(wire, pkt, &len), LDNS_STATUS_OK);
    ldns_pkt_free(pkt);
    return len;
}

static const char *ask_with(const char *name, ldns_rr_type type, uint16_t edns)
{
    uint8_t answer[SIRQ_DNS_UDP_MAX], *query;
    size_t len = make_query(name, type, edns, &query);
    size_t n = sirq_dns_answer(zone, query, len, answer, sizeof(answer));

    assert_true(n >= 12 && n <= (edns > 512 ? edns : 512u) && n <= sizeof(answer));
    assert_memory_equal(answer, query, 2);                          /* the id */
    assert_memory_equal(answer + 12, query + 12, strlen(name) + 1); /* the question, in its case */
    assert_true(answer[2] & 1);                                     /* RD */
    free(query);
    return describe(answer, n);
}

static const char *ask(const char *name, ldns_rr_type type)
{
    return ask_with(name, type, 0);
}

#define SOA                                                                            \
    " example.test. 300 IN SOA ns1.example.test. admin.example.test. 2026120101 7200 " \
    "3600 1209600 300 |"

static void records_of_a_name_and_type_are_answered(void **state)
{
    (void)state;
    assert_string_equal(ask("www.example.test.", LDNS_RR_TYPE_A),
                        "NOERROR aa | www.example.test. 300 IN A 192.0.2.1; www.example.test. 300 "
                        "IN A 192.0.2.2 | |");
    assert_string_equal(ask("www.example.test.", LDNS_RR_TYPE_AAAA),
                        "NOERROR aa | www.example.test. 3600 IN AAAA 2001:db8::1 | |");
    assert_string_equal(ask("text.example.test.", LDNS_RR_TYPE_TXT),
                        "NOERROR aa | text.example.test. 3600 IN TXT \"one; two\" \"three\" | |");
    assert_string_equal(ask("example.test.", LDNS_RR_TYPE_MX),
                        "NOERROR aa | example.test. 3600 IN MX 10 mail.example.test. | |");
    assert_string_equal(ask("example.test.", LDNS_RR_TYPE_NS),
                        "NOERROR aa | example.test. 3600 IN NS ns1.example.test.; example.test. "
                        "3600 IN NS ns2.elsewhere.test. | |");
}

static void case_of_a_question_does_not_matter_and_stays(void **state)
{
    (void)state;
    assert_string_equal(ask("mIxEd.eXample.TEST.", LDNS_RR_TYPE_A),
                        "NOERROR aa | mIxEd.eXample.TEST. 3600 IN A 192.0.2.3 | |");
}

static void absent_name_is_nxdomain_and_absent_type_is_not(void **state)
{
    (void)state;
    assert_string_equal(ask("nowhere.example.test.", LDNS_RR_TYPE_A), "NXDOMAIN aa | |" SOA);
    assert_string_equal(ask("www.example.test.", LDNS_RR_TYPE_TXT), "NOERROR aa | |" SOA);
    assert_string_equal(ask("b.c.example.test.", LDNS_RR_TYPE_A), "NOERROR aa | |" SOA);
    assert_string_equal(ask("z.b.c.example.test.", LDNS_RR_TYPE_A), "NXDOMAIN aa | |" SOA);
    assert_string_equal(ask("below.www.example.test.", LDNS_RR_TYPE_A), "NXDOMAIN aa | |" SOA);
}

static void alias_is_followed_within_the_zone(void **state)
{
    (void)state;
    assert_string_equal(ask("twice.example.test.", LDNS_RR_TYPE_AAAA),
                        "NOERROR aa | twice.example.test. 3600 IN CNAME alias.example.test.; "
                        "alias.example.test. 3600 IN CNAME www.example.test.; www.example.test. "
                        "3600 IN AAAA 2001:db8::1 | |");
    assert_string_equal(ask("alias.example.test.", LDNS_RR_TYPE_CNAME),
                        "NOERROR aa | alias.example.test. 3600 IN CNAME www.example.test. | |");
    assert_string_equal(ask("away.example.test.", LDNS_RR_TYPE_A),
                        "NOERROR aa | away.example.test. 3600 IN CNAME www.elsewhere.test. | |");
    assert_string_equal(
        ask("lost.example.test.", LDNS_RR_TYPE_A),
        "NXDOMAIN aa | lost.example.test. 3600 IN CNAME nowhere.example.test. |" SOA);
    assert_string_equal(ask("alias.example.test.", LDNS_RR_TYPE_TXT),
                        "NOERROR aa | alias.example.test. 3600 IN CNAME www.example.test. |" SOA);
    assert_string_equal(ask("down.example.test.", LDNS_RR_TYPE_A),
                        "NOERROR aa | down.example.test. 3600 IN CNAME host.sub.example.test. | |");
}

static void aliases_in_a_circle_end(void **state)
{
    const char *answer;
    unsigned n = 0;

    (void)state;
    answer = ask("loop.example.test.", LDNS_RR_TYPE_A);
    for (const char *at = answer; (at = strstr(at, "CNAME")) != NULL; at++)
        n++;
    assert_int_equal(n, 8);
}

static void wildcard_stands_for_names_that_are_not_there(void **state)
{
    (void)state;
    assert_string_equal(ask("any.wild.example.test.", LDNS_RR_TYPE_A),
                        "NOERROR aa | any.wild.example.test. 3600 IN A 192.0.2.5 | |");
    assert_string_equal(ask("far.below.wild.example.test.", LDNS_RR_TYPE_TXT),
                        "NOERROR aa | far.below.wild.example.test. 3600 IN TXT \"anything\" | |");
    assert_string_equal(ask("any.wild.example.test.", LDNS_RR_TYPE_AAAA), "NOERROR aa | |" SOA);
    assert_string_equal(ask("x.wild.example.test.", LDNS_RR_TYPE_A), "NOERROR aa | |" SOA);
    assert_string_equal(ask("y.x.wild.example.test.", LDNS_RR_TYPE_A), "NXDOMAIN aa | |" SOA);
    assert_string_equal(ask("wild.example.test.", LDNS_RR_TYPE_A), "NOERROR aa | |" SOA);
}

static void delegation_is_referred_with_its_glue(void **state)
{
    static const char referral[] =
        "NOERROR | | sub.example.test. 3600 IN NS ns.sub.example.test.; sub.example.test. 3600 IN "
        "NS ns1.example.test. | ns.sub.example.test. 3600 IN A 192.0.2.54; ns1.example.test. 3600 "
        "IN A 192.0.2.53; ns1.example.test. 3600 IN AAAA 2001:db8::53";

    (void)state;
    assert_string_equal(ask("host.sub.example.test.", LDNS_RR_TYPE_A), referral);
    assert_string_equal(ask("sub.example.test.", LDNS_RR_TYPE_NS), referral);
    assert_string_equal(ask("ns.sub.example.test.", LDNS_RR_TYPE_A), referral);
    assert_string_equal(ask("x.to.sub2.example.test.", LDNS_RR_TYPE_A),
                        "NOERROR | | to.sub2.example.test. 3600 IN NS ns.elsewhere.test. |");
    assert_non_null(strstr(ask("sub.example.test.", LDNS_RR_TYPE_DS), "NOERROR aa | sub"));
    assert_string_equal(ask("to.sub2.example.test.", LDNS_RR_TYPE_DS), "NOERROR aa | |" SOA);
}

static void other_zones_and_transfers_are_refused(void **state)
{
    (void)state;
    assert_string_equal(ask("example.org.", LDNS_RR_TYPE_A), "REFUSED | | |");
    assert_string_equal(ask("test.", LDNS_RR_TYPE_A), "REFUSED | | |");
    assert_string_equal(ask(".", LDNS_RR_TYPE_NS), "REFUSED | | |");
    assert_string_equal(ask("notexample.test.", LDNS_RR_TYPE_A), "REFUSED | | |");
    assert_string_equal(ask("example.test.", LDNS_RR_TYPE_AXFR), "REFUSED | | |");
}

static void any_is_one_set_of_records(void **state)
{
    (void)state;
    assert_string_equal(ask("www.example.test.", LDNS_RR_TYPE_ANY),
                        "NOERROR aa | www.example.test. 300 IN A 192.0.2.1; www.example.test. 300 "
                        "IN A 192.0.2.2 | |");
    assert_string_equal(ask("c.example.test.", LDNS_RR_TYPE_ANY), "NOERROR aa | |" SOA);
}

/* A zone with a set of 40 strings of 50 bytes, and one of 15. */
static struct sirq_dns_zone *large_zone(void)
{
    char path[] = "/tmp/sirq-dns-XXXXXX";
    struct sirq_dns_zone *large;
    struct sirq_error err;
    int fd = mkstemp(path);
    FILE *file;

    assert_true(fd >= 0);
    file = fdopen(fd, "w");
    assert_non_null(file);
    fputs("example.test. SOA ns. me. 1 2 3 4 5\nexample.test. NS ns.\n", file);
    for (unsigned i = 0; i < 40; i++)
        fprintf(file, "l.example.test. TXT \"%050u\"\n", i);
    for (unsigned i = 0; i < 15; i++)
        fprintf(file, "m.example.test. TXT \"%050u\"\n", i);
    fclose(file);
    assert_int_equal(sirq_dns_zone_load(&large, path, &err), 0);
    unlink(path);
    return large;
}

static void answer_that_does_not_fit_is_cut_and_marked(void **state)
{
    struct sirq_dns_zone *small = zone;

    (void)state;
    zone = large_zone();
    assert_string_equal(ask("l.example.test.", LDNS_RR_TYPE_TXT), "NOERROR aa tc | | |");
    assert_string_equal(ask_with("l.example.test.", LDNS_RR_TYPE_TXT, 4096), "NOERROR aa tc | | |");
    assert_string_equal(ask("m.example.test.", LDNS_RR_TYPE_TXT), "NOERROR aa tc | | |");
    assert_string_equal(ask_with("m.example.test.", LDNS_RR_TYPE_TXT, 100), "NOERROR aa tc | | |");
    assert_non_null(strstr(ask_with("m.example.test.", LDNS_RR_TYPE_TXT, 1232), "00014\" | |"));
    sirq_dns_zone_free(zone);
    zone = small;
}

/* ---- what is no query --------------------------------------------------------------------- */

static size_t answer_to(const uint8_t *query, size_t len, uint8_t *answer)
{
    uint8_t *exact = malloc(len + 1); /* so that a sanitizer sees what is read beyond it */
    size_t n;

    assert_non_null(exact);
    memcpy(exact, query, len);
    exact = realloc(exact, len != 0 ? len : 1);
    assert_non_null(exact);
    n = sirq_dns_answer(zone, exact, len, answer, SIRQ_DNS_UDP_MAX);
    free(exact);
    return n;
}

static void expect_rcode(const uint8_t *query, size_t len, unsigned rcode)
{
    uint8_t answer[SIRQ_DNS_UDP_MAX];
    size_t n = answer_to(query, len, answer);

    assert_true(n >= 12);
    assert_int_equal(answer[3] & 15, rcode);
    assert_int_equal(answer[6] | answer[7] | answer[8] | answer[9], 0); /* no records */
}

static void query_cut_anywhere_is_a_format_error_or_nothing(void **state)
{
    uint8_t answer[SIRQ_DNS_UDP_MAX], *query;
    size_t len = make_query("www.example.test.", LDNS_RR_TYPE_A, 1232, &query);

    (void)state;
    for (size_t cut = 0; cut < 12; cut++)
        assert_int_equal(answer_to(query, cut, answer), 0);
    for (size_t cut = 12; cut < len; cut++)
        expect_rcode(query, cut, 1);
    assert_true(answer_to(query, len, answer) > len);
    free(query);
}

static void answers_are_not_answered(void **state)
{
    uint8_t answer[SIRQ_DNS_UDP_MAX], *query;
    size_t len = make_query("www.example.test.", LDNS_RR_TYPE_A, 0, &query);

    (void)state;
    query[2] |= 0x80;
    assert_int_equal(answer_to(query, len, answer), 0);
    free(query);
}

static void broken_queries_are_format_errors(void **state)
{
    static const struct {
        size_t len;
        const char *bytes;
    } bad[] = {
        /* two questions; none; an answer in it; a pointer; a label of 64; trailing bytes */
        {17, "\0\1\0\0\0\2\0\0\0\0\0\0\0\0\1\0\1"},
        {12, "\0\1\0\0\0\0\0\0\0\0\0\0"},
        {17, "\0\1\0\0\0\1\0\1\0\0\0\0\0\0\1\0\1"},
        {18, "\0\1\0\0\0\1\0\0\0\0\0\0\xc0\x0c\0\1\0\1"},
        {18, "\0\1\0\0\0\1\0\0\0\0\0\0\x40\0\0\1\0\1"},
        {18, "\0\1\0\0\0\1\0\0\0\0\0\0\0\0\1\0\1x"},
        /* OPT with a name; two of them; data beyond the end */
        {30, "\0\1\0\0\0\1\0\0\0\0\0\1\0\0\1\0\1\1x\0\0\x29\2\0\0\0\0\0\0\0"},
        {39, "\0\1\0\0\0\1\0\0\0\0\0\2\0\0\1\0\1\0\0\x29\2\0\0\0\0\0\0\0\0\0\x29\2\0\0\0\0\0\0\0"},
        {28, "\0\1\0\0\0\1\0\0\0\0\0\1\0\0\1\0\1\0\0\x29\2\0\0\0\0\0\0\1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_rcode((const uint8_t *)bad[i].bytes, bad[i].len, 1);
}

/* 255 bytes are a name, 256 are none. */
static void name_of_256_bytes_is_a_format_error(void **state)
{
    uint8_t query[300] = {0, 1, 0, 0, 0, 1};
    size_t at = 12;

    (void)state;
    for (unsigned i = 0; i < 127; i++) {
        query[at++] = 1;
        query[at++] = 'a';
    }
    query[at] = 0;
    memcpy(query + at + 1, "\0\1\0\1", 4);
    expect_rcode(query, at + 5, 5); /* not ours, but a name */
    query[12 + 252] = 2;            /* the last label is a byte longer */
    query[at] = 'a';
    query[at + 1] = 0;
    memcpy(query + at + 2, "\0\1\0\1", 4);
    expect_rcode(query, at + 6, 1);
}

static void other_opcodes_and_classes_and_versions_are_named(void **state)
{
    uint8_t answer[SIRQ_DNS_UDP_MAX], *query;
    size_t len = make_query("www.example.test.", LDNS_RR_TYPE_A, 1232, &query);

    (void)state;
    query[2] |= 0x28; /* update */
    expect_rcode(query, len, 4);
    query[2] &= 0x87;
    query[len - 11 - 1] = 3; /* CHAOS */
    expect_rcode(query, len, 5);
    query[len - 11 - 1] = 1;
    query[len - 5] = 1; /* version 1 of EDNS */
    len = answer_to(query, len, answer);
    assert_int_equal(answer[3] & 15, 0);
    assert_int_equal(answer[len - 6], 1); /* 16: BADVERS */
    free(query);
}

static int set_up(void **state)
{
    struct sirq_error err;

    (void)state;
    if (sirq_dns_zone_load(&zone, zone_path, &err) == 0)
        return 0;
    fprintf(stderr, "%s\n", err.text);
    return -1;
}

static int tear_down(void **state)
{
    (void)state;
    sirq_dns_zone_free(zone);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_a_name_and_type_are_answered),
        cmocka_unit_test(case_of_a_question_does_not_matter_and_stays),
        cmocka_unit_test(absent_name_is_nxdomain_and_absent_type_is_not),
        cmocka_unit_test(alias_is_followed_within_the_zone),
        cmocka_unit_test(aliases_in_a_circle_end),
        cmocka_unit_test(wildcard_stands_for_names_that_are_not_there),
        cmocka_unit_test(delegation_is_referred_with_its_glue),
        cmocka_unit_test(other_zones_and_transfers_are_refused),
        cmocka_unit_test(any_is_one_set_of_records),
        cmocka_unit_test(answer_that_does_not_fit_is_cut_and_marked),
        cmocka_unit_test(query_cut_anywhere_is_a_format_error_or_nothing),
        cmocka_unit_test(answers_are_not_answered),
        cmocka_unit_test(broken_queries_are_format_errors),
        cmocka_unit_test(name_of_256_bytes_is_a_format_error),
        cmocka_unit_test(other_opcodes_and_classes_and_versions_are_named),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: %s ZONE\n", argv[0]);
        return 2;
    }
    zone_path = argv[1];
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
