/* SPDX-License-Identifier: MIT */
/*
 * --world kernel as a person runs it: what is wrong with arguments, who may not, a short run whose
 * sums are exact, and that the machine's settings are as before after a run, an interrupted run
 * and a killed one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cli_run.h"

#define BUDGET "/proc/sys/net/core/netdev_budget"
#define RUN "lab udp-flood --world kernel "

static void read_line(const char *path, char text[64])
{
    FILE *file = fopen(path, "r");

    if (!file || !fgets(text, 64, file))
        text[0] = '\0';
    if (file)
        fclose(file);
    text[strcspn(text, "\n")] = '\0';
}

/* A process by its name, 0: there is none. */
static pid_t find(const char *name)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    pid_t found = 0;

    assert_non_null(proc);
    while (!found && (entry = readdir(proc))) {
        char path[300], comm[64];

        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
        read_line(path, comm);
        if (strcmp(comm, name) == 0)
            found = atoi(entry->d_name);
    }
    closedir(proc);
    return found;
}

/* The run's CPU is the last one that may be used. */
static pid_t flooded_ksoftirqd(void)
{
    char name[32];
    cpu_set_t set;
    int last = 0;

    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        last = CPU_ISSET(cpu, &set) ? cpu : last;
    snprintf(name, sizeof(name), "ksoftirqd/%d", last);
    return find(name);
}

static void need_root_and_two_cpus(void)
{
    cpu_set_t set;

    if (geteuid() != 0)
        print_message("settings of the kernel: needs root\n");
    else if (sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) < 2)
        print_message("a flood needs two CPUs\n");
    else if (access(BUDGET, W_OK))
        print_message(BUDGET " may not be written here\n");
    else
        return;
    skip();
}

/* What a container does not allow is no failure of ours. */
static void skip_where_refused(const struct cli_run *run)
{
    if (WIFEXITED(run->status) && WEXITSTATUS(run->status) == 1 &&
        (strstr(run->text[1], "--world kernel: cannot") || strstr(run->text[1], "another run"))) {
        print_message("%s", run->text[1]);
        skip();
    }
}

/* ---- without a right --------------------------------------------------------------------- */

static void bad_input_gives_exit_2_and_names_the_argument(void **state)
{
    static const struct {
        const char *args, *says[2];
    } bad[] = {
        {RUN "--policy ksoftirqd", {"ksoftirqd", "kernel:"}},
        {RUN "--policy kernel:", {"kernel:", "--list"}},
        {RUN "--policy kernel:default,kernel:default", {"twice", "kernel:default"}},
        {RUN "--policy kernel:default,", {"--policy", "--list"}},
        {RUN "--nic shm", {"--nic", "veth"}},
        {RUN "--delivery poll", {"--delivery", "kernel"}},
        {RUN "--seeds 3", {"--seeds", "--world sim"}},
        {RUN "--rate sweep", {"sweep", "list"}},
        {RUN "--runs 0", {"--runs", "100"}},
        {"lab udp-flood --runs 3", {"--runs", "--world kernel"}},
        {"lab udp-flood --policy kernel:default", {"kernel:default", "inline"}},
        {"lab tcp-rr --world kernel --size 100", {"--size", "udp-flood"}},
        {"lab rrul-router --world kernel", {"rrul-router", "--world sim"}},
    };
    static struct cli_run run;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cli_start(&run, bad[i].args);
        cli_finish(&run);
        cli_expect_exit(&run, 2);
        for (unsigned k = 0; k < 2; k++) {
            if (!strstr(run.text[1], bad[i].says[k]))
                fail_msg("%s: '%s' does not say '%s'", bad[i].args, run.text[1], bad[i].says[k]);
        }
        assert_ptr_equal(strchr(run.text[1], '\n'), run.text[1] + strlen(run.text[1]) - 1);
    }
}

static void list_names_the_policies_and_the_world(void **state)
{
    static struct cli_run run;

    (void)state;
    cli_start(&run, "lab --list");
    cli_finish(&run);
    cli_expect_exit(&run, 0);
    assert_non_null(strstr(run.text[0], "worlds: live sim kernel"));
    assert_non_null(strstr(run.text[0], "worlds: sim kernel")); /* tcp-rr */
    assert_non_null(strstr(run.text[0], "kernel:threaded-napi"));
}

static void become_nobody(void)
{
    if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
        _exit(99);
}

static void ordinary_user_is_told_in_one_line(void **state)
{
    static struct cli_run run;

    (void)state;
    cli_prepare = become_nobody;
    cli_start(&run, RUN "--seconds 0.1");
    cli_finish(&run);
    cli_prepare = NULL;
    if (WIFEXITED(run.status) && WEXITSTATUS(run.status) == 127) {
        print_message("the program lies where nobody else may run it\n");
        skip();
    }
    cli_expect_exit(&run, 1);
    assert_non_null(strstr(run.text[1], "needs root"));
    assert_non_null(strstr(run.text[1], "--world live"));
    assert_ptr_equal(strchr(run.text[1], '\n'), run.text[1] + strlen(run.text[1]) - 1);
}

/* ---- runs -------------------------------------------------------------------------------- */

static void short_run_has_exact_sums_and_leaves_the_machine_as_it_was(void **state)
{
    static struct cli_run run;
    char before[64], after[64];

    (void)state;
    need_root_and_two_cpus();
    read_line(BUDGET, before);
    cli_start(&run, RUN "--policy kernel:budget-64,kernel:rps-other-cpu --seconds 0.3 --runs 1");
    cli_finish(&run);
    skip_where_refused(&run);
    cli_expect_exit(&run, 0);
    assert_non_null(strstr(run.text[0], "kernel:budget-64"));
    assert_non_null(strstr(run.text[0], "softirqs elsewhere"));
    assert_null(strstr(run.text[0], "not accounted for"));
    read_line(BUDGET, after);
    assert_string_equal(after, before);
}

static void light_load_is_received_without_loss(void **state)
{
    static struct cli_run run;
    char path[] = "/tmp/sirq-kernel-csv-XXXXXX", args[256], line[256];
    double rate = 0;
    FILE *file;
    int fd;

    (void)state;
    need_root_and_two_cpus();
    fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(args, sizeof(args),
             RUN "--policy kernel:default --rate 2k --seconds 0.5 --runs 2 --csv %s", path);
    cli_start(&run, args);
    cli_finish(&run);
    skip_where_refused(&run);
    cli_expect_exit(&run, 0);
    assert_null(strstr(run.text[0], "not accounted for"));
    assert_non_null(strstr(run.text[0], "p99 us"));
    file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        if (strstr(line, ",receiver_rate,"))
            sscanf(strstr(line, "packets/s,"), "packets/s,%lf", &rate);
        if (strstr(line, ",socket_drops,"))
            assert_non_null(strstr(line, "packets,0,0,0,"));
    }
    fclose(file);
    unlink(path);
    assert_true(rate > 1800 && rate < 2200);
}

static void requests_are_answered_with_and_without_threads(void **state)
{
    static struct cli_run run;
    char path[] = "/tmp/sirq-kernel-csv-XXXXXX", args[256], line[256];
    unsigned rows = 0;
    FILE *file;
    int fd;

    (void)state;
    need_root_and_two_cpus();
    fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(args, sizeof(args),
             "lab tcp-rr --world kernel --policy kernel:default,kernel:threaded-napi --seconds 0.3 "
             "--runs 1 --csv %s",
             path);
    cli_start(&run, args);
    cli_finish(&run);
    skip_where_refused(&run);
    cli_expect_exit(&run, 0);
    file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        const char *figure = strstr(line, ",throughput,transactions/s,");

        if (!figure)
            continue;
        rows++;
        assert_true(atof(figure + strlen(",throughput,transactions/s,")) > 200);
        assert_non_null(strstr(line, "tcp_rr,200 antagonists,kernel,kernel:"));
    }
    fclose(file);
    unlink(path);
    assert_int_equal(rows, 2);
    assert_int_equal(find("rr-server"), 0);
    assert_int_equal(find("rr-clients"), 0);
}

static void missing_setting_costs_its_row_alone_and_exit_1(void **state)
{
    static struct cli_run run;

    (void)state;
    need_root_and_two_cpus();
    if (find("backlog_napi/0")) {
        print_message("this kernel was booted with thread_backlog_napi\n");
        skip();
    }
    cli_start(&run, RUN "--policy kernel:backlog-napi,kernel:default --seconds 0.1 --runs 1");
    cli_finish(&run);
    skip_where_refused(&run);
    cli_expect_exit(&run, 1);
    assert_non_null(strstr(run.text[0], "kernel:default"));
    assert_non_null(strstr(run.text[0], "no row kernel:backlog-napi: no thread backlog_napi/"));
    assert_non_null(strstr(run.text[1], "1 of 2 rows"));
}

/* ---- runs that end early ----------------------------------------------------------------- */

/* Wait until ksoftirqd is real-time, end the run by `signo`, see that it is no more. */
static void end_in_mid_run(struct cli_run *run, int signo)
{
    pid_t ksoftirqd = flooded_ksoftirqd();
    int before = ksoftirqd ? sched_getscheduler(ksoftirqd) : -1;

    if (before < 0 || before == SCHED_FIFO) {
        print_message("ksoftirqd cannot be seen here, or is real-time already\n");
        skip();
    }
    cli_start(run, RUN "--policy kernel:fifo-ksoftirqd --seconds 2 --runs 1");
    for (unsigned i = 0; i < 4000 && sched_getscheduler(ksoftirqd) != SCHED_FIFO; i++)
        cli_sleep_ms(5);
    if (sched_getscheduler(ksoftirqd) != SCHED_FIFO) {
        cli_finish(run);
        skip_where_refused(run);
        fail_msg("%s", run->text[1]);
    }
    cli_sleep_ms(100);
    kill(run->pid, signo);
    cli_finish(run);
    for (unsigned i = 0; i < 1000 && (sched_getscheduler(ksoftirqd) != before ||
                                      find("softirq-guard") || find("softirq-sender"));
         i++)
        cli_sleep_ms(5);
    assert_int_equal(sched_getscheduler(ksoftirqd), before);
    assert_int_equal(find("softirq-guard"), 0);
}

static void killed_run_leaves_the_machine_as_it_was(void **state)
{
    static struct cli_run run;

    (void)state;
    need_root_and_two_cpus();
    end_in_mid_run(&run, SIGKILL);
}

static void interrupted_run_restores_and_prints_what_it_has(void **state)
{
    static struct cli_run run;

    (void)state;
    need_root_and_two_cpus();
    end_in_mid_run(&run, SIGINT);
    cli_expect_exit(&run, 130);
    assert_non_null(strstr(run.text[0], "partial"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_input_gives_exit_2_and_names_the_argument),
        cmocka_unit_test(list_names_the_policies_and_the_world),
        cmocka_unit_test(ordinary_user_is_told_in_one_line),
        cmocka_unit_test(short_run_has_exact_sums_and_leaves_the_machine_as_it_was),
        cmocka_unit_test(light_load_is_received_without_loss),
        cmocka_unit_test(requests_are_answered_with_and_without_threads),
        cmocka_unit_test(missing_setting_costs_its_row_alone_and_exit_1),
        cmocka_unit_test(killed_run_leaves_the_machine_as_it_was),
        cmocka_unit_test(interrupted_run_restores_and_prints_what_it_has),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: %s PATH-OF-SOFTIRQ\n", argv[0]);
        return 2;
    }
    cli_program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
