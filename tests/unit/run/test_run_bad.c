/* SPDX-License-Identifier: MIT */
/* What is wrong in the file of a data plane is said in one line, with file, line and path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "file/file.h"

static const char good[] = "cpus: [0, 1]\n"                                                /* 1 */
                           "policy: ksoftirqd\n"                                           /* 2 */
                           "ksoftirqd: {nice: 5}\n"                                        /* 3 */
                           "net: {pool_packets: 8192}\n"                                   /* 4 */
                           "interfaces:\n"                                                 /* 5 */
                           "  - name: lan\n"                                               /* 6 */
                           "    driver: packet\n"                                          /* 7 */
                           "    ring_size: 1024\n"                                         /* 8 */
                           "    mac: \"02:00:00:00:00:01\"\n"                              /* 9 */
                           "    addresses: [192.0.2.1/24, \"2001:db8::1/64\"]\n"           /* 10 */
                           "    rps: [0, 1, 1]\n"                                          /* 11 */
                           "  - {name: wan, driver: xdp, vlan: 7, cpu: 1, threaded: {}}\n" /* 12 */
                           "  - {name: replay, driver: pcap, file: in.pcap}\n"             /* 13 */
                           "backlog_threads:\n"                                            /* 14 */
                           "  - {of: [1], sched: {class: fifo, priority: 3}}\n"            /* 15 */
                           "  - {of: [0], cpus: [0, 1]}\n"                                 /* 16 */
                           "routes:\n"                                                     /* 17 */
                           "  - {to: 0.0.0.0/0, via: 192.0.2.254}\n"                       /* 18 */
                           "  - {to: \"2001:db8:1::/48\", interface: wan}\n"               /* 19 */
                           "services:\n"                                                   /* 20 */
                           "  - udp-echo: {port: 7, cpus: [0, 1], address: 192.0.2.1}\n"   /* 21 */
                           "  - udp-echo: {port: 9}\n"                                     /* 22 */
                           "  - forward: {}\n";                                            /* 23 */

/* The good text with the first `what` replaced; to be freed. */
static char *changed(const char *what, const char *by)
{
    const char *at = strstr(good, what);
    char *text;

    if (at == NULL) {
        fail_msg("'%s' is not in the text", what);
        return NULL;
    }
    assert_true(asprintf(&text, "%.*s%s%s", (int)(at - good), good, by, at + strlen(what)) > 0);
    return text;
}

static int parse(struct sirq_run_source *source, const char *text, struct sirq_error *err)
{
    return sirq_run_parse(source, "t.yaml", text, strlen(text), err);
}

static void refused(const char *text, const char *line)
{
    struct sirq_run_source source;
    struct sirq_error err = {""};
    int rc = parse(&source, text, &err);

    if (rc == 0)
        fail_msg("was read instead of: %s", line);
    assert_int_equal(rc, -EINVAL);
    assert_string_equal(err.text, line);
}

static void file_good_is_read_whole(void **state)
{
    struct sirq_run_source source;
    struct sirq_error err = {""};
    const struct sirq_run_file *file;

    (void)state;
    if (parse(&source, good, &err) != 0)
        fail_msg("%s", err.text);
    file = source.file;
    assert_int_equal(file->n_cpus, 2);
    assert_int_equal(file->n_interfaces, 3);
    assert_int_equal(file->interfaces[0].n_rps, 3);
    assert_int_equal(file->interfaces[1].driver, SIRQ_RUN_XDP);
    assert_int_equal(*file->interfaces[1].cpu, 1);
    assert_non_null(file->interfaces[1].threaded);
    assert_null(file->interfaces[0].threaded);
    assert_int_equal(file->backlog_threads[0].on.sched.priority, 3);
    assert_int_equal(file->backlog_threads[1].on.n_cpus, 2);
    assert_int_equal(file->services[0].udp_echo->listen.threads.n_cpus, 2);
    assert_non_null(file->services[2].forward);
    sirq_run_source_free(&source);
}

static const struct {
    const char *what, *by;
    const char *line;
} bad[] = {
    {"cpus: [0, 1]\n", "", "t.yaml:1: cpus: is missing; give it"},
    {"cpus: [0, 1]", "cpus: []", "t.yaml:1: cpus: is missing; give it"},
    {"cpus: [0, 1]", "cpus: [0, 0]", "t.yaml:1: cpus[1]: CPU 0 is given twice; leave one out"},
    {"cpus: [0, 1]", "cpus: [1024]", "t.yaml:1: cpus[0]: 1024: give 0 to 1023"},
    {"cpus: [0, 1]", "cpus: &all [0, 1]",
     "t.yaml:1: anchors (&) and aliases (*) are not read; write it out, or quote the text"},
    {"policy: ksoftirqd", "policy: ksoftirq",
     "t.yaml:2: policy: 'ksoftirq': no such policy; did you mean ksoftirqd? there are: inline, "
     "restart10, time2ms, resched, looped, ksoftirqd, rtdefer, threaded"},
    {"policy: ksoftirqd", "polcy: ksoftirqd",
     "t.yaml:2: polcy: no such key; did you mean policy? there are: cpus, hz, delivery, "
     "stall_ms, drain_ms, policy, ksoftirqd, rfs, net, interfaces, backlog_threads, routes, "
     "services"},
    {"{nice: 5}", "{class: fifo}",
     "t.yaml:3: ksoftirqd.priority: is missing; fifo and rr take 1 to 99"},
    {"{nice: 5}", "{priority: 5}",
     "t.yaml:3: ksoftirqd.priority: only fifo and rr have one; leave it out, or give nice"},
    {"{nice: 5}", "{class: rr, priority: 5, nice: 5}",
     "t.yaml:3: ksoftirqd.nice: fifo and rr have none; leave it out, or give priority"},
    {"pool_packets: 8192", "pool_packets: 8k",
     "t.yaml:4: net.pool_packets: '8k': give a whole number"},
    {"name: lan", "name: wan",
     "t.yaml:12: interfaces[1].name: 'wan' is the name of interfaces[0] too; give another"},
    {"name: lan", "name: an interface",
     "t.yaml:6: interfaces[0].name: 'an interface': give letters, digits, _ - . and @, at most "
     "15"},
    {"  - name: lan\n    driver", "  - driver",
     "t.yaml:6: interfaces[0].name: is missing; give it"},
    {"    driver: packet\n", "", "t.yaml:6: interfaces[0].driver: is missing; give it"},
    {"driver: packet", "driver: shm",
     "t.yaml:7: interfaces[0].driver: 'shm': there are: packet, xdp, tap, pcap"},
    {"ring_size: 1024", "ring_size: 1000",
     "t.yaml:8: interfaces[0].ring_size: 1000: give a power of two"},
    {"ring_size: 1024", "loop: true",
     "t.yaml:8: interfaces[0].loop: is a key of driver pcap; leave it out"},
    {"ring_size: 1024", "ifname: interface-number-1",
     "t.yaml:8: interfaces[0].ifname: 'interface-number-1': the system's interfaces have at "
     "most 15 characters"},
    {"ring_size: 1024", "vlan_priority: 1",
     "t.yaml:8: interfaces[0].vlan_priority: there is no vlan; give one, or leave it out"},
    {"02:00:00:00:00:01", "03:00:00:00:00:01",
     "t.yaml:9: interfaces[0].mac: '03:00:00:00:00:01': give an address of one station: "
     "02:00:00:00:00:01"},
    {"02:00:00:00:00:01", "02:00:00:00:00:1",
     "t.yaml:9: interfaces[0].mac: '02:00:00:00:00:1': give an address of one station: "
     "02:00:00:00:00:01"},
    {"192.0.2.1/24", "192.0.2.1",
     "t.yaml:10: interfaces[0].addresses[0]: '192.0.2.1': give an address with its prefix: "
     "192.0.2.1/24, 2001:db8::1/64"},
    {"2001:db8::1/64", "2001:db8::1/129",
     "t.yaml:10: interfaces[0].addresses[1]: '2001:db8::1/129': give an address with its "
     "prefix: 192.0.2.1/24, 2001:db8::1/64"},
    {"rps: [0, 1, 1]", "rps: [0, 2]",
     "t.yaml:11: interfaces[0].rps[1]: CPU 2 is not one of the plane's; add it to cpus, or "
     "give another"},
    {"cpu: 1", "cpu: 5",
     "t.yaml:12: interfaces[1].cpu: CPU 5 is not one of the plane's; add it to cpus, or give "
     "another"},
    {"threaded: {}", "threaded: {cpus: [9, 9]}",
     "t.yaml:12: interfaces[1].threaded.cpus[1]: CPU 9 is given twice; leave one out"},
    {"threaded: {}", "threaded: ''",
     "t.yaml:12: interfaces[1].threaded: is empty; give keys and values, or {} for the "
     "defaults"},
    {", file: in.pcap", "",
     "t.yaml:13: interfaces[2].file: is missing; give the capture to replay"},
    {"file: in.pcap", "file: in.pcap, addresses: [192.0.2.9/24]",
     "t.yaml:13: interfaces[2].addresses: driver pcap cannot send; leave them out"},
    {"of: [0], cpus", "of: [1], cpus",
     "t.yaml:16: backlog_threads[1].of: CPU 1 stands in an entry before; leave one out"},
    {"of: [1], ", "",
     "t.yaml:16: backlog_threads[1]: backlogs are given twice; an entry without `of` is of "
     "all"},
    {"of: [0], cpus", "of: [2], cpus",
     "t.yaml:16: backlog_threads[1].of[0]: CPU 2 is not one of the plane's; add it to cpus, or "
     "give another"},
    {"0.0.0.0/0", "default",
     "t.yaml:18: routes[0].to: 'default': give a prefix: 0.0.0.0/0, 2001:db8::/32"},
    {"0.0.0.0/0", "192.0.2.1/24",
     "t.yaml:18: routes[0].to: '192.0.2.1/24': has bits behind its prefix; make them 0"},
    {", via: 192.0.2.254", "",
     "t.yaml:18: routes[0].via: is missing; give a gateway, or an interface"},
    {"via: 192.0.2.254", "via: 192.0.2.254/24",
     "t.yaml:18: routes[0].via: '192.0.2.254/24': give an address without a prefix"},
    {"via: 192.0.2.254", "via: \"::1\"",
     "t.yaml:18: routes[0].via: '::1': is not of the family of 0.0.0.0/0"},
    {"interface: wan", "interface: wam",
     "t.yaml:19: routes[1].interface: 'wam': no such interface; did you mean wan? there are: "
     "lan, wan, replay"},
    {"udp-echo: {port: 7,", "udp-echo: {",
     "t.yaml:21: services[0].udp-echo.port: is missing; give 1 to 65535"},
    {"port: 7,", "port: 0,", "t.yaml:21: services[0].udp-echo.port: 0: give 1 to 65535"},
    {"port: 7,", "port: 9,",
     "t.yaml:22: services[1].udp-echo.port: 9 is the port of services[0] too; give another"},
    {"address: 192.0.2.1", "address: 192.0.2.9",
     "t.yaml:21: services[0].udp-echo.address: '192.0.2.9': no interface has it; give it to "
     "one, or leave it out"},
    {"address: 192.0.2.1", "address: here",
     "t.yaml:21: services[0].udp-echo.address: 'here': give an address without a prefix"},
    {"udp-echo: {port: 9}", "dns: {port: 53}",
     "t.yaml:22: services[1].dns.zone: is missing; give it"},
    {"udp-echo: {port: 9}", "dns: {zone: a.zone, port: 7}",
     "t.yaml:22: services[1].dns.port: 7 is the port of services[0] too; give another"},
    {"udp-echo: {port: 9}", "dns: {zone: a.zone, address: 192.0.2.9}",
     "t.yaml:22: services[1].dns.address: '192.0.2.9': no interface has it; give it to one, or "
     "leave it out"},
    {"udp-echo: {port: 9}", "dns: {zone: a.zone, rcvbuf: 1}",
     "t.yaml:22: services[1].dns.rcvbuf: 1: give 4096 to 268435456"},
    {"address: 192.0.2.1", "batch: 33", "t.yaml:21: services[0].udp-echo.batch: 33: give 1 to 32"},
    {"udp-echo: {port: 9}", "{}",
     "t.yaml:22: services[1]: is none; there are: udp-echo, dns, forward, nat-router"},
    {"udp-echo: {port: 9}", "{udp-echo: {port: 9}, forward: {}}",
     "t.yaml:22: services[1]: is several; one an entry; there are: udp-echo, dns, forward, "
     "nat-router"},
    {"udp-echo: {port: 9}", "forward: {}",
     "t.yaml:23: services[2].forward: is given twice; leave one out"},
    {"udp-echo: {port: 9}", "forward: {to: all}",
     "t.yaml:22: services[1].forward.to: no such key; there are: none"},
    {"udp-echo: {port: 9}", "nat-router: {}",
     "t.yaml:22: services[1].nat-router.outside: is missing; give it"},
    {"udp-echo: {port: 9}", "nat-router: {outside: wam}",
     "t.yaml:22: services[1].nat-router.outside: 'wam': no such interface; did you mean wan? "
     "there are: lan, wan, replay"},
    {"udp-echo: {port: 9}", "nat-router: {outside: wan}",
     "t.yaml:22: services[1].nat-router.outside: 'wan' has no IPv4 address; give it one"},
    {"udp-echo: {port: 9}", "nat-router: {outside: lan, port_lo: 5000}",
     "t.yaml:22: services[1].nat-router.port_hi: is missing; give both port_lo and port_hi, or "
     "neither"},
    {"udp-echo: {port: 9}", "nat-router: {outside: lan, port_lo: 5000, port_hi: 4999}",
     "t.yaml:22: services[1].nat-router.port_hi: 4999: give port_lo (5000) or more"},
    {"udp-echo: {port: 9}", "nat-router: {outside: lan, max_conns: 0}",
     "t.yaml:22: services[1].nat-router.max_conns: 0: give 1 to 1048576"},
};

static void file_wrong_is_refused_in_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < LEN(bad); i++) {
        char *text = changed(bad[i].what, bad[i].by);

        refused(text, bad[i].line);
        free(text);
    }
}

static void file_empty_is_refused(void **state)
{
    (void)state;
    refused("", "t.yaml:1: the file is empty; docs/run.md has an example");
    refused("cpus: [0]\n", "t.yaml:1: interfaces: is missing; give it");
    refused("- 1\n", "t.yaml:1: is a list; give keys and values");
}

static void file_that_cannot_be_read_is_refused(void **state)
{
    struct sirq_run_source source;
    struct sirq_error err = {""};

    (void)state;
    assert_int_equal(sirq_run_read(&source, "/nowhere/plane.yaml", &err), -EINVAL);
    assert_string_equal(err.text, "/nowhere/plane.yaml: cannot be read: No such file or directory");
    assert_int_equal(sirq_run_read(&source, "/dev/zero", &err), -EINVAL);
    assert_string_equal(err.text, "/dev/zero: is not a regular file; give one");
}

/* ---- what a running plane takes up -------------------------------------------------------- */

static int change(const char *what, const char *by, struct sirq_error *err)
{
    struct sirq_run_source now, next;
    char *text = changed(what, by);
    int rc;

    assert_int_equal(parse(&now, good, err), 0);
    if (parse(&next, text, err) != 0)
        fail_msg("%s", err->text);
    rc = sirq_run_change(&now, &next, err);
    sirq_run_source_free(&next);
    sirq_run_source_free(&now);
    free(text);
    return rc;
}

static void change_of_steering_is_taken_up(void **state)
{
    static const char *const good_changes[][2] = {
        {"policy: ksoftirqd", "policy: inline"},
        {"policy: ksoftirqd\n", ""},
        {"nice: 5", "nice: 6"},
        {"rps: [0, 1, 1]", "rps: []"},
        {"threaded: {}", "threaded: {sched: {nice: 3}}"},
        {", threaded: {}", ""},
        {"backlog_threads:\n  - {of: [1], sched: {class: fifo, priority: 3}}\n",
         "backlog_threads:\n"},
        {"net: {", "rfs: true\ndrain_ms: 10\nnet: {"},
        {"net: {pool_packets: 8192}", "# nothing\nnet:\n  pool_packets: 8192"},
    };
    struct sirq_error err = {""};

    (void)state;
    for (size_t i = 0; i < LEN(good_changes); i++) {
        if (change(good_changes[i][0], good_changes[i][1], &err) != 0)
            fail_msg("%s: %s", good_changes[i][1], err.text);
    }
}

static void change_of_anything_else_is_refused_with_its_key(void **state)
{
    static const char end[] =
        ": has changed, and cannot while the plane runs; restart it, or put it back";
    static const char *const refused_changes[][3] = {
        {"cpus: [0, 1]", "cpus: [1, 0]", "t.yaml:1: cpus[0]"},
        {"cpus: [0, 1]", "cpus: [0, 1, 2]", "t.yaml:1: cpus"},
        {"net: {", "hz: 100\nnet: {", "t.yaml:4: hz"},
        {"net: {pool_packets: 8192}\n", "", "t.yaml:1: net.pool_packets"},
        {"192.0.2.1/24", "192.0.2.1/25", "t.yaml:10: interfaces[0].addresses[0]"},
        {"cpu: 1, ", "", "t.yaml:12: interfaces[1].cpu"},
        {"cpu: 1, ", "cpu: 0, ", "t.yaml:12: interfaces[1].cpu"},
        {"  - {name: replay, driver: pcap, file: in.pcap}\n", "", "t.yaml:6: interfaces"},
        {"driver: packet", "driver: tap", "t.yaml:7: interfaces[0].driver"},
        {"192.0.2.254", "192.0.2.253", "t.yaml:18: routes[0].via"},
        {"port: 9", "port: 10", "t.yaml:22: services[1].udp-echo.port"},
        {"  - forward: {}\n", "", "t.yaml:21: services"},
    };

    (void)state;
    for (size_t i = 0; i < LEN(refused_changes); i++) {
        struct sirq_error err = {""};
        char line[200];

        snprintf(line, sizeof(line), "%s%s", refused_changes[i][2], end);
        assert_int_equal(change(refused_changes[i][0], refused_changes[i][1], &err), -EINVAL);
        assert_string_equal(err.text, line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_good_is_read_whole),
        cmocka_unit_test(file_wrong_is_refused_in_one_line),
        cmocka_unit_test(file_empty_is_refused),
        cmocka_unit_test(file_that_cannot_be_read_is_refused),
        cmocka_unit_test(change_of_steering_is_taken_up),
        cmocka_unit_test(change_of_anything_else_is_refused_with_its_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
