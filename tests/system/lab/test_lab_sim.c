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
#include <sys/stat.h>
#include <unistd.h>

#include "../cli_run.h"

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
                                "me,mine,light,ksoftirqd,nothing,packets/s,1,predict,yes\n"
                                "me,mine,any load,old,carries_what_it_should,claim,1,predict,yes\n";

/* Of the heavy load, which is 1000 times the light one, a CPU cannot carry all. */
static const char claims[] =
    "claims:\n"
    "  - {name: carries_what_it_should, setup: any load, policy: old,\n"
    "     left: {setup: heavy, metric: rx_rate}, is: about, percent: 10,\n"
    "     right: {setup: light, metric: rx_rate}, times: 1000}\n"
    "  - {name: carries_the_light_one, setup: light, policy: ksoftirqd, left: {metric: rx_rate},\n"
    "     is: about, value: 2000, percent: 25}\n"
    "  - {name: not_among_them, setup: light, policy: looped, left: {metric: rx_rate}, is: above,\n"
    "     value: 1}\n"
    "  - {name: better_for_the_other, setup: heavy, policy: ksoftirqd, left: {metric: calc_cpu},\n"
    "     is: above, right: {policy: looped, metric: calc_cpu}}\n";

struct files {
    char dir[64], yaml[96], csv[96], out[96], json[96];
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
    snprintf(files->json, sizeof(files->json), "%s/out.json", files->dir);
    write_file(files->yaml, mine);
    write_file(files->csv, published);
}

static void remove_files(const struct files *files)
{
    unlink(files->yaml);
    unlink(files->csv);
    unlink(files->out);
    unlink(files->json);
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

static void add_claims(const struct files *files)
{
    FILE *file = fopen(files->yaml, "a");

    assert_non_null(file);
    assert_true(fputs(claims, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void claims_hold_or_do_not_or_were_not_run(void **state)
{
    static struct cli_run run;
    static char csv[8192];
    struct files files;
    char args[300];

    (void)state;
    make_files(&files);
    add_claims(&files);
    snprintf(args, sizeof(args), "lab %s --csv %s", files.yaml, files.out);
    cli_start(&run, args);
    cli_finish(&run);
    cli_expect_exit(&run, 0);
    expect_text(run.text[0], "claims: 1 of 2 hold, 2 not run\n"
                             "  does NOT hold   carries_what_it_should (0 of 3 seeds)\n");
    expect_text(run.text[0], "packets/s, rx_rate: heavy, time2ms\n");
    expect_text(run.text[0], "packets/s +-10 % = 1000 x ");
    expect_text(run.text[0], "  holds           carries_the_light_one (");
    expect_text(run.text[0], "about  2.00k packets/s +-25 %\n");
    expect_text(run.text[0], "not run: not_among_them, better_for_the_other\n");
    assert_null(strstr(run.text[0], "any load, old")); /* judged, so it is not missing */
    read_all(files.out, csv, sizeof(csv));
    expect_text(csv, "mine,any load,sim,old,carries_what_it_should,claim,0,0,0,1,predict,-100,1\n");
    expect_text(csv, "mine,light,sim,ksoftirqd,carries_the_light_one,claim,1,");
    expect_text(csv, ",1,claim,0,1\n"); /* of the file alone */
    assert_null(strstr(csv, "not_among_them"));
    snprintf(args, sizeof(args), "lab %s --setup light --policy looped,ksoftirqd", files.yaml);
    cli_start(&run, args);
    cli_finish(&run);
    expect_text(run.text[0], "claims: 2 of 2 hold, 2 not run\n");
    snprintf(args, sizeof(args), "lab %s --rate 1k", files.yaml);
    cli_start(&run, args);
    cli_finish(&run);
    assert_null(strstr(run.text[0], "claims:"));
    remove_files(&files);
}

/* Line by line the same as the CSV file, and a summary that follows from them. */
static const char same_as_csv[] =
    "import csv, json, statistics, sys\n"
    "lines = list(csv.DictReader(open(sys.argv[1])))\n"
    "data = json.load(open(sys.argv[2]))\n"
    "def same(a, b):\n"
    "    return (a == '' or a == 'inf') if b is None else a == b if isinstance(b, str) else \\\n"
    "        abs(float(a) - b) <= 1e-3 * abs(b)\n"
    "assert len(lines) == len(data['figures']) > 10\n"
    "for a, b in zip(lines, data['figures']):\n"
    "    assert list(a) == list(b) and all(same(a[k], b[k]) for k in a), (a, b)\n"
    "claims = [a for a in lines if a['unit'] == 'claim']\n"
    "errors = [abs(float(a['error'])) / 100 for a in lines\n"
    "          if a['role'] == 'predict' and a['unit'] != 'claim']\n"
    "s = data['summary']\n"
    "assert s['scored'] == len(errors) == 1 and s['within_15'] == sum(e <= .15 for e in errors)\n"
    "assert s['orderings_total'] == len(claims) == 2\n"
    "assert s['orderings_right'] == sum(a['value'] == '1' for a in claims) == 1\n"
    "assert abs(s['median_rel_error'] - statistics.median(errors)) < 1e-3\n"
    "assert s['not_measured'] == 1 and s['worst']['metric'] == 'rx_rate'\n"
    "assert {k: s[k] for k in s if k != 'experiments'} == s['experiments']['mine']\n";

static void json_parses_and_agrees_with_the_csv(void **state)
{
    static struct cli_run run;
    struct files files;
    char args[400], script[96];

    (void)state;
    make_files(&files);
    add_claims(&files);
    snprintf(script, sizeof(script), "%s/same.py", files.dir);
    write_file(script, same_as_csv);
    snprintf(args, sizeof(args), "lab %s --csv %s --json %s", files.yaml, files.out, files.json);
    cli_start(&run, args);
    cli_finish(&run);
    cli_expect_exit(&run, 0);
    snprintf(args, sizeof(args), "python3 %s %s %s", script, files.out, files.json);
    assert_int_equal(system(args), 0);
    unlink(script);
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

static void results_over_the_experiment_itself_are_refused(void **state)
{
    static struct cli_run run;
    static char yaml[4096];
    struct files files;
    char args[300];

    (void)state;
    make_files(&files);
    snprintf(args, sizeof(args), "lab %s --csv %s", files.yaml, files.yaml);
    cli_start(&run, args);
    cli_finish(&run);
    cli_expect_exit(&run, 2);
    expect_text(run.text[1], ": is the experiment itself; name another file\n");
    read_all(files.yaml, yaml, sizeof(yaml));
    assert_string_equal(yaml, mine);
    remove_files(&files);
}

static void interrupted_run_prints_what_was_measured_and_writes_nothing(void **state)
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
    expect_text(run.text[0], "1 of 2 seeds, 1 of them cut short");
    expect_text(run.text[0], "rx_rate");
    assert_int_not_equal(access(files.out, F_OK), 0);
    remove_files(&files);
}

/* Twice stopped: the second run begins where the first ended. */
static void interrupted_run_of_all_goes_on_from_what_is_finished(void **state)
{
    static struct cli_run run;
    struct files files;
    char args[300];
    unsigned found = 0;
    const char *said;

    (void)state;
    make_files(&files);
    snprintf(args, sizeof(args), "lab all --seeds 1 --resume %s", files.out);
    cli_start(&run, args);
    for (unsigned i = 0; i < 300; i++) { /* until something is finished */
        struct stat st;

        cli_sleep_ms(100);
        if (stat(files.out, &st) == 0 && st.st_size > 4096)
            break;
    }
    kill(run.pid, SIGTERM);
    cli_finish(&run);
    cli_expect_exit(&run, 143);
    expect_text(run.text[1], "stopped; the same command goes on from what is finished");
    cli_start(&run, args);
    cli_sleep_ms(500);
    kill(run.pid, SIGINT);
    cli_finish(&run);
    cli_expect_exit(&run, 130);
    said = strstr(run.text[1], "softirq lab: ");
    assert_non_null(said);
    assert_int_equal(sscanf(said, "softirq lab: %u finished cells are in", &found), 1);
    assert_true(found >= 1);
    remove_files(&files);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_file_runs_and_is_compared_with_own_figures),
        cmocka_unit_test(claims_hold_or_do_not_or_were_not_run),
        cmocka_unit_test(json_parses_and_agrees_with_the_csv),
        cmocka_unit_test(output_is_the_same_whatever_the_jobs),
        cmocka_unit_test(rates_and_settings_make_other_rows),
        cmocka_unit_test(results_over_the_experiment_itself_are_refused),
        cmocka_unit_test(interrupted_run_prints_what_was_measured_and_writes_nothing),
        cmocka_unit_test(interrupted_run_of_all_goes_on_from_what_is_finished),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: %s PATH-OF-SOFTIRQ\n", argv[0]);
        return 2;
    }
    cli_program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
