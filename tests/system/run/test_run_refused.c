/* SPDX-License-Identifier: MIT */
/* softirq run with what it cannot run: one line that says why, and an exit code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "plane_env.h"

#define FILE_NAME "@F" /* stands for the file's name in a line */

/* The run ends with `code` and says `line` alone. */
static void refused(const char *options, int code, const char *line)
{
    char args[200], said[512];
    const char *at = strstr(line, FILE_NAME);
    struct cli_run run;

    snprintf(said, sizeof(said), "%.*s%s%s\n", at != NULL ? (int)(at - line) : 0, line,
             at != NULL ? plane_file : "", at != NULL ? at + strlen(FILE_NAME) : line);
    snprintf(args, sizeof(args), "run %s", options);
    cli_start(&run, args);
    cli_finish(&run);
    cli_expect_exit(&run, code);
    assert_string_equal(run.text[0], "");
    assert_string_equal(run.text[1], said);
}

static void usage_wrong_is_refused(void **state)
{
    (void)state;
    refused("", 2, "softirq run: give the file of a data plane (see softirq run --help)");
    refused("a b", 2, "softirq run: give one file (see softirq run --help)");
    refused("a --stats 0", 2,
            "softirq run: --stats: give 1 to 3600 seconds (see softirq run --help)");
    refused("a --stats", 2,
            "softirq run: --stats: give 1 to 3600 seconds (see softirq run --help)");
    refused("a --chek", 2,
            "softirq run: no such option; there are: --check, --stats, --help (see softirq run "
            "--help)");
}

static void file_missing_is_refused(void **state)
{
    (void)state;
    refused("/nowhere/plane.yaml", 2,
            "softirq run: /nowhere/plane.yaml: cannot be read: No such file or directory");
}

static void file_bad_is_refused_with_its_line(void **state)
{
    char check[100];

    (void)state;
    plane_write("cpus: [@0]\n"
                "interfaces:\n"
                "  - {name: sv0, driver: packet, addresses: [192.0.2.1]}\n");
    snprintf(check, sizeof(check), "%s --check", plane_file);
    for (unsigned i = 0; i < 2; i++)
        refused(i == 0 ? plane_file : check, 2,
                "softirq run: @F:3: interfaces[0].addresses[0]: '192.0.2.1': give an address with "
                "its prefix: 192.0.2.1/24, 2001:db8::1/64");
}

static void check_good_file_says_so_and_opens_nothing(void **state)
{
    char args[100], said[100];
    struct cli_run run;

    (void)state;
    plane_write("cpus: [@0]\n"
                "interfaces: [{name: nowhere0, driver: packet}]\n");
    snprintf(args, sizeof(args), "run --check %s", plane_file);
    snprintf(said, sizeof(said), "%s: good\n", plane_file);
    cli_start(&run, args);
    cli_finish(&run);
    cli_expect_exit(&run, 0);
    assert_string_equal(run.text[0], said);
    assert_string_equal(run.text[1], "");
}

/* ---- what the machine refuses --------------------------------------------------------------- */

static void device_missing_is_refused(void **state)
{
    (void)state;
    NEEDS_PLANE();
    plane_write("cpus: [@0]\n"
                "interfaces:\n"
                "  - {name: sv0, driver: packet, addresses: [192.0.2.1/24]}\n"
                "  - {name: nowhere0, driver: packet}\n"
                "services: [udp-echo: {port: 7}]\n");
    refused(plane_file, 1,
            "softirq run: @F:4: interfaces[1]: packet: no interface nowhere0 (No such device): see "
            "ip link");
}

static void capture_missing_is_refused(void **state)
{
    (void)state;
    plane_write("cpus: [@0]\n"
                "interfaces: [{name: replay, driver: pcap, file: /nowhere/in.pcap}]\n");
    refused(plane_file, 1,
            "softirq run: @F:2: interfaces[0]: pcap: /nowhere/in.pcap: No such file or directory");
}

static void route_by_a_stranger_is_refused(void **state)
{
    (void)state;
    NEEDS_PLANE();
    plane_write("cpus: [@0]\n"
                "interfaces:\n"
                "  - {name: sv0, driver: packet, addresses: [192.0.2.1/24]}\n"
                "routes:\n"
                "  - {to: 0.0.0.0/0, via: 198.51.100.1}\n");
    refused(plane_file, 1,
            "softirq run: @F:5: routes[0]: route: the gateway is no neighbour: give one that is");
}

static void cpu_that_is_not_there_is_refused(void **state)
{
    char line[120];

    (void)state;
    plane_write("cpus: [1023]\n"
                "interfaces: [{name: replay, driver: pcap, file: in.pcap}]\n");
    snprintf(line, sizeof(line),
             "softirq run: @F:1: cpus: cpu 1023: this machine has CPUs 0 to %ld",
             sysconf(_SC_NPROCESSORS_CONF) - 1);
    refused(plane_file, 1, line);
}

static void drop_net_raw(void)
{
    prctl(PR_CAPBSET_DROP, CAP_NET_RAW, 0, 0, 0);
}

static void drop_sys_nice(void)
{
    const struct rlimit none = {0, 0};

    prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0);
    setrlimit(RLIMIT_RTPRIO, &none);
}

static void without_net_raw_it_says_what_is_needed(void **state)
{
    (void)state;
    NEEDS_PLANE();
    cli_prepare = drop_net_raw;
    plane_write("cpus: [@0]\n"
                "interfaces: [{name: sv0, driver: packet}]\n");
    refused(plane_file, 1,
            "softirq run: @F:2: interfaces[0]: packet: AF_PACKET needs CAP_NET_RAW: run as root, "
            "or inside a user and network namespace of your own (unshare -Urn)");
}

static void without_sys_nice_it_says_what_is_needed(void **state)
{
#define NOT_PERMITTED                                                                    \
    "SCHED_FIFO priority 5 not permitted (Operation not permitted): run as root, grant " \
    "CAP_SYS_NICE, or raise RLIMIT_RTPRIO (ulimit -r)"
    static const char *const files[][2] = {
        {"ksoftirqd: {class: fifo, priority: 5}\n"
         "interfaces: [{name: sv0, driver: packet}]\n",
         "softirq run: @F:2: ksoftirqd: ksoftirqd: " NOT_PERMITTED},
        {"interfaces: [{name: sv0, driver: packet, threaded: {sched: {class: fifo, priority: "
         "5}}}]\n",
         "softirq run: @F:2: interfaces[0]: napi/sv0-0: " NOT_PERMITTED},
        {"interfaces: [{name: sv0, driver: packet}]\n"
         "services:\n"
         "  - udp-echo: {port: 7, sched: {class: fifo, priority: 5}}\n",
         "softirq run: @F:4: services[0].udp-echo: thread: " NOT_PERMITTED},
    };

    (void)state;
    NEEDS_PLANE();
    cli_prepare = drop_sys_nice;
    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char text[300];

        snprintf(text, sizeof(text), "cpus: [@0]\n%s", files[i][0]);
        plane_write(text);
        refused(plane_file, 1, files[i][1]);
    }
}

static int prepare_nothing(void **state)
{
    (void)state;
    cli_prepare = NULL;
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usage_wrong_is_refused),
        cmocka_unit_test(file_missing_is_refused),
        cmocka_unit_test(file_bad_is_refused_with_its_line),
        cmocka_unit_test(check_good_file_says_so_and_opens_nothing),
        cmocka_unit_test(device_missing_is_refused),
        cmocka_unit_test(capture_missing_is_refused),
        cmocka_unit_test(route_by_a_stranger_is_refused),
        cmocka_unit_test(cpu_that_is_not_there_is_refused),
        cmocka_unit_test_teardown(without_net_raw_it_says_what_is_needed, prepare_nothing),
        cmocka_unit_test_teardown(without_sys_nice_it_says_what_is_needed, prepare_nothing),
    };
    int rc;

    if (argc != 2)
        return 1;
    cli_program = argv[1];
    plane_env_open();
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    plane_env_close();
    return rc;
}
