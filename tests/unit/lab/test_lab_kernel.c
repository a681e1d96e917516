/* SPDX-License-Identifier: MIT */
/*
 * The kernel world without a kernel: what the guardian restores, in a directory that stands in for
 * / and on a process of the test's own; masks, reasons, counters, runs of a row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "result.h"
#include "world/kernel/counters.h"
#include "world/kernel/guardian.h"
#include "world/kernel/knobs.h"
#include "world/kernel/ordering.h"

#define BUDGET "/proc/sys/net/core/netdev_budget"

static char root[64];

static void write_at(const char *path, const char *text)
{
    char full[256];
    FILE *file;

    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static const char *read_at(const char *path)
{
    static char text[64];
    char full[256];
    FILE *file;

    snprintf(full, sizeof(full), "%s%s", root, path);
    file = fopen(full, "r");
    if (!file || !fgets(text, sizeof(text), file))
        text[0] = '\0';
    if (file)
        fclose(file);
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/sirq-kernel-XXXXXX");
    assert_non_null(mkdtemp(root));
    write_at("/run/nothing", "");
    write_at(BUDGET, "300\n");
    return 0;
}

static int remove_root(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", root);
    return system(command);
}

static void pause_ms(unsigned ms)
{
    const struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};

    nanosleep(&pause, NULL);
}

/* ---- files ----------------------------------------------------------------------------- */

static void guardian_restore_brings_back_what_was_there_first(void **state)
{
    struct sirq_guardian guardian;
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_guardian_start(&guardian, root, &err), 0);
    assert_int_equal(sirq_guardian_write(&guardian, BUDGET, "64"), 0);
    assert_string_equal(read_at(BUDGET), "64");
    assert_int_equal(sirq_guardian_write(&guardian, BUDGET, "128"), 0);
    assert_int_equal(sirq_guardian_restore(&guardian, &err), 0);
    assert_string_equal(read_at(BUDGET), "300");
    assert_int_equal(sirq_guardian_write(&guardian, BUDGET, "7"), 0); /* and again */
    sirq_guardian_end(&guardian);
    assert_string_equal(read_at(BUDGET), "300");
}

static void guardian_unknown_file_is_refused_and_not_made(void **state)
{
    struct sirq_guardian guardian;
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_guardian_start(&guardian, root, &err), 0);
    assert_int_equal(sirq_guardian_write(&guardian, "/proc/none", "1"), -ENOENT);
    assert_int_equal(sirq_guardian_restore(&guardian, &err), 0);
    sirq_guardian_end(&guardian);
    assert_string_equal(read_at("/proc/none"), "");
}

static void guardian_file_that_vanished_is_reported(void **state)
{
    struct sirq_guardian guardian;
    struct sirq_error err;
    char full[256];

    (void)state;
    write_at("/proc/gone", "1\n");
    assert_int_equal(sirq_guardian_start(&guardian, root, &err), 0);
    assert_int_equal(sirq_guardian_write(&guardian, "/proc/gone", "2"), 0);
    assert_int_equal(sirq_guardian_write(&guardian, BUDGET, "2"), 0);
    snprintf(full, sizeof(full), "%s/proc/gone", root);
    unlink(full);
    assert_int_equal(sirq_guardian_restore(&guardian, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/proc/gone"));
    assert_string_equal(read_at(BUDGET), "300"); /* the rest all the same */
    sirq_guardian_end(&guardian);
}

static void guardian_second_run_is_refused_until_the_first_ends(void **state)
{
    struct sirq_guardian first, second;
    struct sirq_error err = {""};

    (void)state;
    assert_int_equal(sirq_guardian_start(&first, root, &err), 0);
    assert_int_equal(sirq_guardian_start(&second, root, &err), -EBUSY);
    assert_non_null(strstr(err.text, "another run"));
    sirq_guardian_end(&first);
    assert_int_equal(sirq_guardian_start(&second, root, &err), 0);
    sirq_guardian_end(&second);
}

/* ---- a run that dies ------------------------------------------------------------------- */

/* The run: changes things, says so, and waits to be killed. */
static void changing_run(int said, pid_t thread)
{
    struct sirq_guardian guardian;
    struct sirq_error err;
    bool ok = !sirq_guardian_start(&guardian, root, &err) &&
              !sirq_guardian_write(&guardian, BUDGET, "64") &&
              !sirq_guardian_class(&guardian, thread, SCHED_BATCH, 0);
    ssize_t n = ok ? write(said, &guardian.pid, sizeof(guardian.pid)) : -1;

    if (n < 0)
        _exit(1);
    for (;;)
        pause();
}

static void killed_run_leaves_everything_as_it_was(void **state)
{
    int said[2];
    pid_t run, guardian = 0, thread = fork();

    (void)state;
    if (!thread) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    assert_int_equal(pipe(said), 0);
    run = fork();
    if (!run)
        changing_run(said[1], thread);
    close(said[1]); /* or its death would not end the read */
    assert_int_equal(read(said[0], &guardian, sizeof(guardian)), sizeof(guardian));
    assert_string_equal(read_at(BUDGET), "64");
    assert_int_equal(sched_getscheduler(thread), SCHED_BATCH);
    assert_int_not_equal(getsid(guardian), getsid(0));
    kill(guardian,
         SIGTERM); /* of a session that ends, say: it does not go before it has restored */
    kill(run, SIGKILL);
    waitpid(run, NULL, 0);
    for (unsigned i = 0; i < 1000 && (strcmp(read_at(BUDGET), "300") != 0 ||
                                      sched_getscheduler(thread) != SCHED_OTHER);
         i++)
        pause_ms(5);
    assert_string_equal(read_at(BUDGET), "300");
    assert_int_equal(sched_getscheduler(thread), SCHED_OTHER);
    kill(thread, SIGKILL);
    waitpid(thread, NULL, 0);
    close(said[0]);
}

static void dead_guardian_is_noticed(void **state)
{
    struct sirq_guardian guardian;
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_guardian_start(&guardian, root, &err), 0);
    kill(guardian.pid, SIGKILL);
    assert_int_equal(sirq_guardian_write(&guardian, BUDGET, "64"), -EPIPE);
    assert_int_equal(sirq_kernel_knobs_why(&err, -EPIPE, "x"), -EPIPE);
    assert_non_null(strstr(err.text, "ksoftirqd"));
    sirq_guardian_end(&guardian);
    assert_string_equal(read_at(BUDGET), "300");
}

/* ---- threads --------------------------------------------------------------------------- */

static void guardian_gives_a_thread_its_cpus_and_nice_back(void **state)
{
    struct sirq_guardian guardian;
    struct sirq_error err;
    cpu_set_t before, after;
    pid_t thread = fork();
    unsigned cpu = 0;

    (void)state;
    if (!thread) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    setpriority(PRIO_PROCESS, (id_t)thread, 7);
    assert_int_equal(sched_getaffinity(thread, sizeof(before), &before), 0);
    while (!CPU_ISSET(cpu, &before))
        cpu++;
    assert_int_equal(sirq_guardian_start(&guardian, root, &err), 0);
    assert_int_equal(sirq_guardian_class(&guardian, thread, SCHED_BATCH, 0), 0);
    assert_int_equal(sirq_guardian_pin(&guardian, thread, cpu), 0);
    assert_int_equal(sched_getaffinity(thread, sizeof(after), &after), 0);
    assert_int_equal(CPU_COUNT(&after), 1);
    assert_int_equal(sirq_guardian_restore(&guardian, &err), 0);
    assert_int_equal(sched_getscheduler(thread), SCHED_OTHER);
    assert_int_equal(getpriority(PRIO_PROCESS, (id_t)thread), 7);
    assert_int_equal(sched_getaffinity(thread, sizeof(after), &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    assert_int_equal(sirq_guardian_class(&guardian, thread, SCHED_BATCH, 0), 0);
    kill(thread, SIGKILL);
    waitpid(thread, NULL, 0);
    assert_int_equal(sirq_guardian_restore(&guardian, &err), 0); /* a thread that is gone */
    assert_int_equal(sirq_guardian_class(&guardian, thread, SCHED_BATCH, 0), -ESRCH);
    sirq_guardian_end(&guardian);
}

/* ---- names, masks, reasons, counters --------------------------------------------------- */

static void policy_names_say_the_world_and_are_found(void **state)
{
    unsigned n = 0;

    (void)state;
    for (const struct sirq_kernel_policy *p = sirq_kernel_policies; p->name; p++, n++) {
        assert_int_equal(strncmp(p->name, "kernel:", 7), 0);
        assert_ptr_equal(sirq_kernel_policy_find(p->name), p); /* so no name stands twice */
        assert_true(!p->file == !p->value);
    }
    assert_true(n >= 5);
    assert_null(sirq_kernel_policy_find("default"));
}

static void mask_of_a_cpu_is_as_sysfs_wants_it(void **state)
{
    char buf[64];

    (void)state;
    assert_string_equal(sirq_kernel_knobs_mask(buf, sizeof(buf), 0), "1");
    assert_string_equal(sirq_kernel_knobs_mask(buf, sizeof(buf), 5), "20");
    assert_string_equal(sirq_kernel_knobs_mask(buf, sizeof(buf), 31), "80000000");
    assert_string_equal(sirq_kernel_knobs_mask(buf, sizeof(buf), 32), "1,00000000");
    assert_string_equal(sirq_kernel_knobs_mask(buf, sizeof(buf), 65), "2,00000000,00000000");
}

static void reason_of_a_missing_setting_is_one_clear_line(void **state)
{
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_kernel_knobs_why(&err, -ENOENT, "threaded NAPI"), -ENOTSUP);
    assert_string_equal(err.text, "threaded NAPI: this kernel has no such setting");
    assert_int_equal(sirq_kernel_knobs_why(&err, -EROFS, "netdev_budget"), -ENOTSUP);
    assert_non_null(strstr(err.text, "may not be changed here"));
    assert_int_equal(sirq_kernel_knobs_why(&err, -EINVAL, "netdev_budget_usecs"), -ENOTSUP);
    assert_non_null(strstr(err.text, "does not take it"));
}

static void counters_are_read_by_name_and_cpu(void **state)
{
    struct sirq_kernel_counters c;
    char proc[80];
    long hz = sysconf(_SC_CLK_TCK);

    (void)state;
    snprintf(proc, sizeof(proc), "%s/proc", root);
    assert_int_equal(sirq_kernel_counters_read(&c, proc, 1), -ENOENT);
    write_at("/proc/thread-self/net/snmp",
             "Tcp: InSegs\nTcp: 9\n"
             "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors InCsumErrors\n"
             "Udp: 11 1 13 1 12 1\nUdpLite: InDatagrams\nUdpLite: 99\n");
    write_at("/proc/thread-self/net/dev",
             " a | b\n face |c\n sirq0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
             " sirq1: 1 2 3 4 5 6 7 8 9 10 11 77 13 14 15 16\n");
    write_at("/proc/net/softnet_stat", "00000001 0000000a 00000002\n00000001 00000001 00000003\n");
    write_at("/proc/stat", "cpu  9 9 9 9 9 9 9 9\ncpu0 1 1 1 1 1 1 1 1\ncpu1 1 1 1 1 1 30 40 1\n"
                           "cpu11 9 9 9 9 9 9 9 9\n");
    assert_int_equal(sirq_kernel_counters_read(&c, proc, 1), 0);
    assert_int_equal(c.udp_received, 11);
    assert_int_equal(c.udp_errors, 13);
    assert_int_equal(c.udp_socket_full, 12);
    assert_int_equal(c.device_lost, 77);
    assert_int_equal(c.backlog_dropped, 11);
    assert_int_equal(c.squeezed, 5);
    assert_int_equal(c.irq_ns, 70 * (1000000000u / (unsigned long)hz));
    assert_int_equal(sirq_kernel_counters_read(&c, proc, 3), -ENODATA);
}

static void runs_of_a_row_become_their_median_and_spread(void **state)
{
    static struct sirq_row runs[4], out, even;
    const struct sirq_row *const list[] = {&runs[0], &runs[1], &runs[2], &runs[3]};
    const double rates[] = {30, 10, 20, 60};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        sirq_row_add(&runs[i], "packets/s", rates[i], "receiver_rate");
        if (i != 1)
            sirq_row_add(&runs[i], "us", 1, "latency_p50");
        sirq_row_note(&runs[i], "the same in all of them");
    }
    sirq_row_merge(&out, list, 3);
    assert_int_equal(out.nmetrics, 1); /* what a run does not have has no median */
    assert_int_equal(out.nnotes, 1);
    assert_true(out.metric[0].value == 20 && out.metric[0].least == 10 && out.metric[0].most == 30);
    assert_true(out.metric[0].spread);
    sirq_row_merge(&even, list, 4);
    assert_true(even.metric[0].value == 25 && even.metric[0].most == 60);
    memset(&out, 0, sizeof(out));
    sirq_row_merge(&out, list, 1);
    assert_false(out.metric[0].spread);
    assert_true(out.metric[0].value == 30);
}

static void ordering_holds_only_where_no_run_says_otherwise(void **state)
{
    static struct sirq_row a = {.policy = "a"}, b = {.policy = "b"}, c = {.policy = "c"};
    struct sirq_row *rows[] = {&a, &b, &c};
    const struct sirq_results results = {.nrows = 3, .rows = rows};
    const struct sirq_kernel_ordering ab = {"", "a", "b"}, ba = {"", "b", "a"}, ac = {"", "a", "c"};

    (void)state;
    sirq_row_add(&a, "packets/s", 10, "receiver_rate");
    sirq_row_add(&b, "packets/s", 20, "receiver_rate");
    c.skipped = true;
    assert_int_equal(sirq_kernel_ordering_judge(&ab, &results, 0), SIRQ_KERNEL_NO_FLOOD);
    a.comparable = b.comparable = true;
    assert_int_equal(sirq_kernel_ordering_judge(&ab, &results, 0), SIRQ_KERNEL_HOLDS);
    assert_int_equal(sirq_kernel_ordering_judge(&ba, &results, 0), SIRQ_KERNEL_REVERSED);
    assert_int_equal(sirq_kernel_ordering_judge(&ac, &results, 0), SIRQ_KERNEL_NOT_RUN);
    assert_int_equal(sirq_kernel_ordering_judge(&ab, &results, 5), SIRQ_KERNEL_NOT_RUN);
    a.metric[0].most = 20;
    assert_int_equal(sirq_kernel_ordering_judge(&ab, &results, 0), SIRQ_KERNEL_UNSURE);
}

int main(void)
{
#define IN_ROOT(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)
    const struct CMUnitTest tests[] = {
        IN_ROOT(guardian_restore_brings_back_what_was_there_first),
        IN_ROOT(guardian_unknown_file_is_refused_and_not_made),
        IN_ROOT(guardian_file_that_vanished_is_reported),
        IN_ROOT(guardian_second_run_is_refused_until_the_first_ends),
        IN_ROOT(killed_run_leaves_everything_as_it_was),
        IN_ROOT(dead_guardian_is_noticed),
        IN_ROOT(guardian_gives_a_thread_its_cpus_and_nice_back),
        cmocka_unit_test(policy_names_say_the_world_and_are_found),
        cmocka_unit_test(mask_of_a_cpu_is_as_sysfs_wants_it),
        cmocka_unit_test(reason_of_a_missing_setting_is_one_clear_line),
        IN_ROOT(counters_are_read_by_name_and_cpu),
        cmocka_unit_test(runs_of_a_row_become_their_median_and_spread),
        cmocka_unit_test(ordering_holds_only_where_no_run_says_otherwise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
