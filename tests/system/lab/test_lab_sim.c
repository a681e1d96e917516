/* SPDX-License-Identifier: MIT */
/*
 * Experiments in the simulated world, as a person runs them: a file of one's own, the same
 * bytes whatever the jobs, Ctrl-C.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_run.h"

static const char mine[] =
    "summary: one receiver, and somebody who computes beside it\n"
    "published: ./mine.csv\n"
    "unpatched: [{name: old, policy: time2ms}]\n"
    "machine: {cpus: 2, hz: 250}\n"
    "costs_ns: {pass: 100, napi_poll: 200, rx_queued: 400, rx_full: 200, rx_drop: 200,\n"
    "  recv_call: 300, recv_packet: 200, irq: 500, tick: 1000, switch: 1000, wake: 300,\n"
    "  ksoftirqd: 100}\n"
    "nics: [{name: wan, ring: 256, cpus: [0]}]\n"
    "threads:\n"
    "  - {name: rx, cpus: [0], pin: true, udp_receiver: {rcvbuf: 65536}}\n"
    "  - {name: calc, cpus: [0], hog: {slice_ns: 100000}}\n"
    "traffic: [{name: t, nic: wan, to: rx, arrivals: poisson, rate: 2000}]\n"
    "policies: [time2ms, ksoftirqd]\n"
    "setups: [{name: light}, {name: heavy, set: [traffic.t.rate=2000000]}]\n"
    "run: {seeds: 3, warmup_ms: 10, duration_ms: 50}\n"
    "measure:\n"
    "  - {name: rx_rate, of: rx, what: rate, unit: packets/s}\n"
    "  - {name: calc_cpu, of: calc, what: own_cpu}\n"
    "  - {name: late, of: rx, what: latency, stat: p99}\n";

static const char published[] = "source,experiment,setup,policy,metric,unit,value,role,scored\n"
                                "me,mine,light,old,rx_rate,packets/s,2000,baseline,yes\n"
                                "me,mine,light,ksoftirqd,rx_rate,packets/s,1000,predict,yes\n"
                                "me,mine,light,ksoftirqd,nothing,packets/s,1,predict,yes\n";

struct files {
    char dir[64], yaml[96], csv[96], out[96];
};

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void make_files(struct files *files)
{
    snprintf(files->dir, sizeof(files->dir), "/tmp/sirq-sim-XXXXXX");
    assert_non_null(mkdtemp(files->dir));
    snprintf(files->yaml, sizeof(files->yaml), "%s/mine.yaml", files->dir);
    snprintf(files->csv, sizeof(files->csv), "%s/mine.csv", files->dir);
    snprintf(files->out, sizeof(files->out), "%s/out.csv", files->dir);
    write_file(files->yaml, mine);
    write_file(files->csv, published);
}

static void remove_files(const struct files *files)
{
    unlink(files->yaml);
    unlink(files->csv);
    unlink(files->out);
    assert_int_equal(rmdir(files->dir), 0); /* nothing else is left there */
}

static void expect_text(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no '%s' in: %s", part, text);
}

static void read_all(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    size_t n;

    assert_non_null(file);
    n = fread(text, 1, size - 1, file);
    text[n] = '\0';
    fclose(file);
}

static void own_file_runs_and_is_compared_with_own_figures(void **state)
{
    static struct cli_run run;
    static char csv[8192];
    struct files files;
    char args[300];

    (void)state;
    make_files(&files);
    snprintf(args, sizeof(args), "lab %s --csv %s", files.yaml, files.out);
    cli_start(&run, args);
    cli_finish(&run);
    cli_expect_exit(&run, 0);
    expect_text(run.text[0], "\nlight\n");
    expect_text(run.text[0], "\nheavy\n");
    expect_text(run.text[0], "predicted: 1, within 15 %: 0");
    expect_text(run.text[0], "calibrated on (baseline): 1, within 15 %: 1");
    expect_text(run.text[0], "worst: light, ksoftirqd: rx_rate");
    expect_text(run.text[0], "not measured:\n    light, ksoftirqd: nothing");
    expect_text(run.text[1], "[4/4] ksoftirqd, heavy: done");
    read_all(files.out, csv, sizeof(csv));
    expect_text(csv, "experiment,setup,world,policy,metric,unit,value,least,most,published,role,");
    expect_text(csv, "mine,light,sim,time2ms,rx_rate,packets/s,");
    expect_text(csv, ",2000,baseline,");
    remove_files(&files);
}

static void output_is_the_same_whatever_the_jobs(void **state)
{
    static struct cli_run run;
    static char text[3][16384], csv[3][8192];
    static const unsigned jobs[] = {1, 2, 5};
    struct files files;
    char args[300];

    (void)state;
    make_files(&files);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(args, sizeof(args), "lab %s --csv %s --jobs %u", files.yaml, files.out, jobs[i]);
        cli_start(&run, args);
        cli_finish(&run);
        cli_expect_exit(&run, 0);
        memcpy(text[i], run.text[0], sizeof(text[i]));
        read_all(files.out, csv[i], sizeof(csv[i]));
        assert_string_equal(text[i], text[0]);
        assert_string_equal(csv[i], csv[0]);
    }
    remove_files(&files);
}

static void rates_and_settings_make_other_rows(void **state)
{
    static struct cli_run run;
    static char csv[8192];
    struct files files;
    char args[400];

    (void)state;
    make_files(&files);
    snprintf(args, sizeof(args),
             "lab %s --csv %s --setup light --policy ksoftirqd --rate 1k,4k --seeds 2 --seconds 2 "
             "--seed 9 --set machine.hz=100",
             files.yaml, files.out);
    cli_start(&run, args);
    cli_finish(&run);
    cli_expect_exit(&run, 0);
    expect_text(run.text[0], "offered/s");
    assert_null(strstr(run.text[0], "heavy"));
    assert_null(strstr(run.text[0], "published")); /* nothing was, of these rates */
    read_all(files.out, csv, sizeof(csv));
    expect_text(csv, "mine,light 1000/s,sim,ksoftirqd,rx_rate,packets/s,10");
    expect_text(csv, "mine,light 4000/s,sim,ksoftirqd,rx_rate,packets/s,4");
    expect_text(csv, ",9\n");
    remove_files(&files);
}

static void interrupted_run_prints_complete_rows_and_writes_nothing(void **state)
{
    static struct cli_run run;
    struct files files;
    char args[300];

    (void)state;
    make_files(&files);
    snprintf(args, sizeof(args),
             "lab %s --csv %s --jobs 1 --seeds 2 --seconds 3000 --set run.warmup_ms=0", files.yaml,
             files.out);
    cli_start(&run, args);
    cli_sleep_ms(500);
    kill(run.pid, SIGINT);
    cli_finish(&run);
    cli_expect_exit(&run, 130);
    expect_text(run.text[0], "partial");
    expect_text(run.text[0], "of 2 seeds");
    assert_int_not_equal(access(files.out, F_OK), 0);
    remove_files(&files);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_file_runs_and_is_compared_with_own_figures),
        cmocka_unit_test(output_is_the_same_whatever_the_jobs),
        cmocka_unit_test(rates_and_settings_make_other_rows),
        cmocka_unit_test(interrupted_run_prints_complete_rows_and_writes_nothing),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: %s PATH-OF-SOFTIRQ\n", argv[0]);
        return 2;
    }
    cli_program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
