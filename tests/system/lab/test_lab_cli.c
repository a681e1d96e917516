/* SPDX-License-Identifier: MIT */
/*
 * build/softirq as a person runs it: bad input, a run whose sums are exact, Ctrl-C, a sender
 * that dies.  Its path is the first argument.  Every run is bounded in time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../cli_run.h"

#define DIR_SIZE 64

/* A process that has ended, or is only waited for, is gone. */
static bool is_gone(pid_t pid)
{
    char path[64], line[256] = "", *state;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (!file)
        return true;
    if (!fgets(line, sizeof(line), file))
        line[0] = '\0';
    fclose(file);
    state = strrchr(line, ')');
    return !state || state[2] == 'Z';
}

static bool parent_and_name(const char *dir, pid_t *parent, char *name, size_t size)
{
    char path[300], line[256] = "", *open, *close_;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%s/stat", dir);
    file = fopen(path, "r");
    if (!file)
        return false;
    if (!fgets(line, sizeof(line), file))
        line[0] = '\0';
    fclose(file);
    open = strchr(line, '(');
    close_ = strrchr(line, ')');
    if (!open || !close_)
        return false;
    snprintf(name, size, "%.*s", (int)(close_ - open - 1), open + 1);
    *parent = atoi(close_ + 4);
    return true;
}

/* The run's sender, waiting up to 20 s for it. */
static pid_t find_sender(const struct cli_run *run)
{
    for (unsigned i = 0; i < 4000; i++) {
        DIR *proc = opendir("/proc");
        struct dirent *entry;
        pid_t found = 0;

        assert_non_null(proc);
        while (!found && (entry = readdir(proc))) {
            char name[64];
            pid_t parent;

            if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
                parent_and_name(entry->d_name, &parent, name, sizeof(name)) && parent == run->pid &&
                strcmp(name, "softirq-sender") == 0)
                found = atoi(entry->d_name);
        }
        closedir(proc);
        if (found)
            return found;
        cli_sleep_ms(5);
    }
    fail_msg("no sender was started within 20 s");
    return 0;
}

static void need_two_cpus(void)
{
    cpu_set_t set;

    if (!sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) >= 2)
        return;
    print_message("a flood needs two CPUs; this process may use one\n");
    skip();
}

/* ---- bad input ----------------------------------------------------------------------- */

static const struct {
    const char *args, *says[2];
} bad_input[] = {
    {"", {"usage:", "lab"}},
    {"nonsense", {"nonsense", "lab"}},
    {"lab", {"udp-flood", "experiment"}},
    {"lab nonsense", {"nonsense", "udp-flood"}},
    {"lab udp-flood udp-flood", {"one experiment", ""}},
    {"lab udp-flood --world mars", {"mars", "live"}},
    {"lab --world mars udp-flood", {"mars", "live"}},
    {"lab --world live", {"udp-flood", "experiment"}},
    {"lab udp-flood --policy linux", {"linux", "ksoftirqd"}},
    {"lab udp-flood --policy ''", {"--policy", "inline"}},
    {"lab udp-flood --policy inline,", {"--policy", "inline"}},
    {"lab udp-flood --nic eth0", {"eth0", "packet"}},
    {"lab udp-flood --delivery mail", {"mail", "signal"}},
    {"lab udp-flood --rate 0", {"--rate", "packets/s"}},
    {"lab udp-flood --rate -5", {"--rate", "packets/s"}},
    {"lab udp-flood --rate 1k,x", {"--rate", "packets/s"}},
    {"lab udp-flood --rate 200M", {"--rate", "packets/s"}},
    {"lab udp-flood --size 63", {"--size", "64"}},
    {"lab udp-flood --size 1515", {"--size", "1514"}},
    {"lab udp-flood --seconds 0", {"--seconds", "0.1"}},
    {"lab udp-flood --receivers 0", {"--receivers", "64"}},
    {"lab udp-flood --receivers 65", {"--receivers", "64"}},
    {"lab udp-flood --batch 0", {"--batch", "64"}},
    {"lab udp-flood --cpu 1023", {"--cpu 1023", "online"}},
    {"lab udp-flood --cpu -1", {"--cpu", "whole number"}},
    {"lab udp-flood --csv /nonexistent/a.csv", {"--csv", "/nonexistent/a.csv"}},
    {"lab udp-flood --seed x", {"--seed", "whole number"}},
    {"lab udp-flood --rate", {"--rate", "value"}},
    {"lab udp-flood --policy all,inline", {"'all' alone", "inline"}},
    {"lab udp-flood --bogus", {"--bogus", "--help"}},
    {"lab tcp-rr --world live", {"no live implementation", "sim"}},
    {"lab ./no-such.yaml", {"no-such.yaml", "cannot be read"}},
    {"lab udp-flood --world sim --receivers 4", {"--receivers", "threads.NAME.count"}},
    {"lab tcp-rr --nic packet", {"--nic", "nics.NAME"}},
    {"lab udp-flood --world sim --cpu 1", {"--cpu", "threads.NAME.cpus"}},
    {"lab udp-flood --seeds 3", {"--seeds", "--world sim"}},
    {"lab udp-flood --set machine.hz=100", {"--set", "--world sim"}},
    {"lab udp-flood --world sim --machine m.yaml", {"--machine", "softirq lab FILE"}},
    {"lab tcp-rr --set machine.hertz=100", {"hertz", "hz"}},
    {"lab tcp-rr --setup nope", {"nope", "200 antagonists HZ=1000"}},
    {"lab tcp-rr --rate 1k", {"--rate", "traffic"}},
    {"lab tcp-rr --seeds 0", {"--seeds", "1000"}},
    {"lab tcp-rr --jobs 0", {"--jobs", "256"}},
    {"lab tcp-rr --seeds 1000 --seconds 0.5", {"--seconds", "--seeds"}},
    {"lab udp-flood -- bogus", {"bogus", "--help"}},
};

static void bad_input_gives_exit_2_and_names_the_argument(void **state)
{
    static struct cli_run run;

    (void)state;
    for (size_t i = 0; i < sizeof(bad_input) / sizeof(bad_input[0]); i++) {
        cli_start(&run, bad_input[i].args);
        cli_finish(&run);
        cli_expect_exit(&run, 2);
        assert_string_equal(run.text[0], "");
        for (unsigned k = 0; k < 2; k++) {
            if (!strstr(run.text[1], bad_input[i].says[k]))
                fail_msg("'softirq %s' does not say '%s': %s", bad_input[i].args,
                         bad_input[i].says[k], run.text[1]);
        }
    }
}

static void help_and_version_give_exit_0(void **state)
{
    static const char *const cases[][2] = {{"--help", "examples"},
                                           {"--version", "softirq "},
                                           {"lab --help", "--list explains"},
                                           {"lab --list", "udp-flood"}};
    static struct cli_run run;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        cli_start(&run, cases[i][0]);
        cli_finish(&run);
        cli_expect_exit(&run, 0);
        assert_non_null(strstr(run.text[0], cases[i][1]));
    }
}

static void output_that_is_lost_gives_exit_1(void **state)
{
    static struct cli_run run;

    (void)state;
    for (unsigned i = 0; i < 4; i++) { /* full, or closed */
        cli_start_with(&run, i < 2 ? "lab --list" : "--help",
                       i % 2 ? -1 : open("/dev/full", O_WRONLY));
        cli_finish(&run);
        cli_expect_exit(&run, 1);
        assert_non_null(strstr(run.text[1], "output"));
    }
}

/* ---- runs ---------------------------------------------------------------------------- */

static void make_dir(char *dir)
{
    snprintf(dir, DIR_SIZE, "/tmp/sirq-lab-XXXXXX");
    assert_non_null(mkdtemp(dir));
}

/* Remove it and say how many files were there. */
static unsigned remove_dir(const char *dir)
{
    DIR *handle = opendir(dir);
    struct dirent *entry;
    unsigned n = 0;

    assert_non_null(handle);
    while ((entry = readdir(handle))) {
        char path[512];

        snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
        n += unlink(path) == 0; /* not . and .. */
    }
    closedir(handle);
    assert_int_equal(rmdir(dir), 0);
    return n;
}

struct figure {
    char setup[64], policy[32], metric[32], unit[32];
    double value;
};

/* Split a line of 13 fields, none of them quoted. */
static void parse_line(char *line, struct figure *figure)
{
    char *field[14] = {NULL}, *rest = line, *end;
    unsigned n = 0;

    line[strcspn(line, "\n")] = '\0';
    while (n < 14 && (field[n] = strsep(&rest, ",")))
        n++;
    if (n != 13) {
        fail_msg("%u fields in a line of the CSV file", n);
        return;
    }
    assert_string_equal(field[0], "udp_flood");
    assert_string_equal(field[2], "live");
    assert_string_equal(field[12], "42");
    snprintf(figure->setup, sizeof(figure->setup), "%s", field[1]);
    snprintf(figure->policy, sizeof(figure->policy), "%s", field[3]);
    snprintf(figure->metric, sizeof(figure->metric), "%s", field[4]);
    snprintf(figure->unit, sizeof(figure->unit), "%s", field[5]);
    figure->value = strtod(field[6], &end);
    assert_true(end != field[6] && *end == '\0');
}

static unsigned read_csv(const char *path, struct figure *figures, unsigned most)
{
    FILE *file = fopen(path, "r");
    char line[512];
    unsigned n = 0;

    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    assert_string_equal(line,
                        "experiment,setup,world,policy,metric,unit,value,least,most,published,"
                        "role,error,seed\n");
    while (n < most && fgets(line, sizeof(line), file))
        parse_line(line, &figures[n++]);
    fclose(file);
    return n;
}

static double figure_of(const struct figure *figures, unsigned n, const char *setup,
                        const char *metric)
{
    for (unsigned i = 0; i < n; i++) {
        if (strcmp(figures[i].setup, setup) == 0 && strcmp(figures[i].metric, metric) == 0)
            return figures[i].value;
    }
    fail_msg("no %s of '%s' in the CSV file", metric, setup);
    return 0;
}

static void light_load_run_is_complete_and_lossless(void **state)
{
    static struct figure figures[400];
    static struct cli_run run;
    char dir[DIR_SIZE], path[96], args[256];
    unsigned n;

    (void)state;
    need_two_cpus();
    make_dir(dir);
    snprintf(path, sizeof(path), "%s/a.csv", dir);
    snprintf(args, sizeof(args),
             "lab --world live udp-flood --policy ksoftirqd --rate 500 "
             "--seconds 1 --receivers 2 --seed 42 --csv %s",
             path);
    cli_start(&run, args);
    cli_finish(&run);
    cli_expect_exit(&run, 0); /* exit 0 also says that all sums were exact */
    assert_non_null(strstr(run.text[0], "class"));
    assert_non_null(strstr(run.text[1], "] one-CPU limit: done")); /* no terminal */
    assert_non_null(strstr(run.text[1], "] ksoftirqd, 2 receivers SCHED_OTHER, 500/s: done"));
    assert_null(strchr(run.text[1], '\r'));
    n = read_csv(path, figures, 400);
#define FIGURE(metric) figure_of(figures, n, "2 receivers SCHED_OTHER 500/s", metric)
    assert_true(FIGURE("offered_rate") > 250 && FIGURE("receiver1_rate") > 100 &&
                FIGURE("receiver2_rate") > 100);
    assert_true(FIGURE("nic_drops") == 0 && FIGURE("socket_drops") == 0);
    assert_true(FIGURE("latency_p50") > 0 && FIGURE("latency_p99") >= FIGURE("latency_p50"));
    assert_int_equal(remove_dir(dir), 1); /* no temporary file is left */
}

static void flood_of_every_policy_and_delivery_has_exact_sums(void **state)
{
    static const char *const deliveries[] = {"signal", "thread", "poll"};
    static struct cli_run run;
    char args[256];

    (void)state;
    need_two_cpus();
    for (unsigned i = 0; i < 3; i++) {
        snprintf(args, sizeof(args),
                 "lab udp-flood --policy all --seconds 0.1 --receivers 3 --size %u --delivery %s",
                 64 + 725 * i, deliveries[i]);
        cli_start(&run, args);
        cli_finish(&run);
        cli_expect_exit(&run, 0);
        assert_non_null(strstr(run.text[0], "one-CPU limit"));
    }
}

static void packet_run_is_exact_or_says_what_is_missing(void **state)
{
    static struct cli_run run;

    (void)state;
    need_two_cpus();
    cli_start(&run, "lab udp-flood --nic packet --policy ksoftirqd --rate 20k --seconds 0.3");
    cli_finish(&run);
    if (WIFEXITED(run.status) && WEXITSTATUS(run.status) == 1 &&
        strstr(run.text[1], "--nic packet") && strstr(run.text[1], "--nic shm")) {
        print_message("%s", run.text[1]);
        skip();
    }
    cli_expect_exit(&run, 0);
    assert_non_null(strstr(run.text[0], "SCHED_OTHER"));
}

/* ---- interruption -------------------------------------------------------------------- */

static void interrupted_run_prints_what_it_has_and_leaves_nothing(void **state)
{
    static struct cli_run run;
    char dir[DIR_SIZE], args[256];
    pid_t sender;

    (void)state;
    need_two_cpus();
    make_dir(dir);
    snprintf(args, sizeof(args), "lab udp-flood --policy ksoftirqd --seconds 30 --csv %s/a.csv",
             dir);
    cli_start(&run, args);
    sender = find_sender(&run);
    cli_sleep_ms(1500); /* somewhere in the limit or the first row: both are fine */
    kill(run.pid, SIGINT);
    cli_finish(&run);
    cli_expect_exit(&run, 130);
    assert_non_null(strstr(run.text[0], "partial"));
    assert_true(is_gone(sender));
    assert_int_equal(remove_dir(dir), 0);
}

static void dead_sender_ends_the_run_with_a_clear_error(void **state)
{
    static struct cli_run run;
    pid_t sender;

    (void)state;
    need_two_cpus();
    cli_start(&run, "lab udp-flood --policy ksoftirqd --seconds 30");
    sender = find_sender(&run);
    cli_sleep_ms(100);
    /* The first one may be the limit's and end by itself: kill what there is. */
    for (unsigned i = 0; i < 100 && kill(sender, SIGKILL); i++)
        sender = find_sender(&run);
    cli_finish(&run);
    cli_expect_exit(&run, 1);
    assert_non_null(strstr(run.text[1], "the sender"));
    assert_true(is_gone(sender));
}

static void killed_run_takes_its_sender_along(void **state)
{
    static struct cli_run run;
    pid_t sender;

    (void)state;
    need_two_cpus();
    cli_start(&run, "lab udp-flood --policy ksoftirqd --seconds 30");
    sender = find_sender(&run);
    kill(run.pid, SIGKILL);
    cli_finish(&run);
    for (unsigned i = 0; i < 1000 && !is_gone(sender); i++)
        cli_sleep_ms(5);
    assert_true(is_gone(sender));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_input_gives_exit_2_and_names_the_argument),
        cmocka_unit_test(help_and_version_give_exit_0),
        cmocka_unit_test(output_that_is_lost_gives_exit_1),
        cmocka_unit_test(light_load_run_is_complete_and_lossless),
        cmocka_unit_test(flood_of_every_policy_and_delivery_has_exact_sums),
        cmocka_unit_test(packet_run_is_exact_or_says_what_is_missing),
        cmocka_unit_test(interrupted_run_prints_what_it_has_and_leaves_nothing),
        cmocka_unit_test(dead_sender_ends_the_run_with_a_clear_error),
        cmocka_unit_test(killed_run_takes_its_sender_along),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: %s PATH-OF-SOFTIRQ\n", argv[0]);
        return 2;
    }
    cli_program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
