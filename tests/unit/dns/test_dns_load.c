/* SPDX-License-Identifier: MIT */
/* Zone files: what is taken, and the whole line about what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dns.h"

#define HEAD "$ORIGIN a.test.\n@ SOA ns me 1 2 3 4 5\n@ NS ns\n"

static char path[] = "/tmp/sirq-zone-XXXXXX";
static struct sirq_error err;

static int load_bytes(const char *bytes, size_t len, struct sirq_dns_zone **zone)
{
    FILE *file = fopen(path, "w");
    int rc;

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    fclose(file);
    *zone = NULL;
    rc = sirq_dns_zone_load(zone, path, &err);
    unlink(path);
    return rc;
}

static void expect_bad(const char *text, size_t len, const char *what)
{
    struct sirq_dns_zone *zone = NULL;
    char line[300];

    assert_true(load_bytes(text, len, &zone) < 0);
    snprintf(line, sizeof(line), "%s:%s", path, what);
    assert_string_equal(err.text, line);
}

static void wrong_files_are_said_in_one_line(void **state)
{
    static const struct {
        const char *text, *what;
    } bad[] = {
        {"", "1: no SOA record; a zone begins with one"},
        {"; nothing\n", "1: no SOA record; a zone begins with one"},
        {HEAD "w A 192.0.2\n", "4: not a record: Syntax error, could not parse the RR's rdata"},
        {HEAD "w A 192.0.2.1", "4: the last line does not end; was the file cut? end it"},
        {HEAD "w TXT \"open\n", "4: a quote that is not closed; was the file cut?"},
        {"$ORIGIN a.test.\n@ SOA ns me ( 1 2\n3 4 5\n",
         "2: a parenthesis that is not closed; was the file cut?"},
        {HEAD "$INCLUDE other\n", "4: $INCLUDE is not read; put the records here"},
        {HEAD "w CH TXT \"x\"\n", "4: a class that is not IN; give IN"},
        {HEAD "w A 192.0.2.1\nb.test. A 192.0.2.2\n",
         "5: a name outside of the zone, which is the SOA's; leave it out, or say $ORIGIN before "
         "it"},
        {HEAD "xa.test. A 192.0.2.2\n@ SOA ns me 2 2 3 4 5\n",
         "5: a second SOA; a file is one zone, leave one out"},
        {HEAD "w SOA ns me 1 2 3 4 5\n", "4: a second SOA; a file is one zone, leave one out"},
        {HEAD "w CNAME x\nw A 192.0.2.1\n",
         "4: a CNAME beside other records (line 5) of this name; leave one out"},
        {HEAD "w CNAME x\nw CNAME y\n", "5: a second CNAME for this name; leave one out"},
        {HEAD "w DNAME x\n", "4: DNAME is not served; give CNAMEs instead"},
        {"$ORIGIN a.test.\n@ SOA ns me 1 2 3 4 5\n",
         "2: no NS record for the zone itself; give one"},
        {HEAD "w 4000000000 A 192.0.2.1\n", "4: a TTL of more than 2147483647 s (RFC 2181)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_bad(bad[i].text, strlen(bad[i].text), bad[i].what);
    expect_bad(HEAD "w A\0 192.0.2.1\n", sizeof(HEAD "w A\0 192.0.2.1\n") - 1,
               "4: a zero byte; is it a zone file?");
}

/* However it is cut: an error, or records that are all whole. */
static void file_cut_anywhere_is_whole_or_refused(void **state)
{
    static const char text[] = HEAD "w TXT \"a;b\" ( \"c\"\n \"d\" ) ; e (\nv A 192.0.2.1\n";

    (void)state;
    for (size_t len = 1; len < sizeof(text) - 1; len++) {
        struct sirq_dns_zone *zone = NULL;

        if (load_bytes(text, len, &zone) == 0) {
            assert_int_equal(text[len - 1], '\n');
            sirq_dns_zone_free(zone);
        }
    }
}

static void records_that_say_the_same_are_one(void **state)
{
    static const char text[] = HEAD "w A 192.0.2.1\nW.A.Test. A 192.0.2.1\nw A 192.0.2.2\n";
    struct sirq_dns_zone *zone = NULL;

    (void)state;
    assert_int_equal(load_bytes(text, sizeof(text) - 1, &zone), 0);
    assert_int_equal(sirq_dns_zone_records(zone), 4);
    assert_int_equal(sirq_dns_zone_names(zone), 2);
    sirq_dns_zone_free(zone);
}

static void names_between_exist_too(void **state)
{
    static const char text[] = HEAD "w.x.y A 192.0.2.1\nv.y A 192.0.2.1\n";
    struct sirq_dns_zone *zone = NULL;

    (void)state;
    assert_int_equal(load_bytes(text, sizeof(text) - 1, &zone), 0);
    assert_int_equal(sirq_dns_zone_names(zone), 5); /* a.test, y, x.y, w.x.y, v.y */
    sirq_dns_zone_free(zone);
}

static void zone_of_the_root_is_one(void **state)
{
    static const char text[] = ". SOA ns. me. 1 2 3 4 5\n. NS ns.\ntest. NS ns.test.\n";
    struct sirq_dns_zone *zone = NULL;

    (void)state;
    assert_int_equal(load_bytes(text, sizeof(text) - 1, &zone), 0);
    assert_int_equal(sirq_dns_zone_names(zone), 2);
    sirq_dns_zone_free(zone);
}

static void what_is_no_file_is_named(void **state)
{
    struct sirq_dns_zone *zone = NULL;

    (void)state;
    assert_true(sirq_dns_zone_load(&zone, "/nowhere/a.zone", &err) < 0);
    assert_string_equal(err.text, "/nowhere/a.zone: cannot be read: No such file or directory");
    assert_true(sirq_dns_zone_load(&zone, "/tmp", &err) < 0);
    assert_string_equal(err.text, "/tmp: cannot be read: Is a directory");
    assert_true(sirq_dns_zone_load(&zone, "/dev/null", &err) < 0);
    assert_string_equal(err.text, "/dev/null: cannot be read: not a regular file");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_true(sirq_dns_zone_load(&zone, path, &err) < 0); /* and does not wait */
    unlink(path);
}

static int set_up(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    if (fd < 0)
        return -1;
    close(fd);
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_files_are_said_in_one_line),
        cmocka_unit_test(file_cut_anywhere_is_whole_or_refused),
        cmocka_unit_test(records_that_say_the_same_are_one),
        cmocka_unit_test(names_between_exist_too),
        cmocka_unit_test(zone_of_the_root_is_one),
        cmocka_unit_test(what_is_no_file_is_named),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
