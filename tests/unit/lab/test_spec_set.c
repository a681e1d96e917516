/* SPDX-License-Identifier: MIT */
/* Settings: what they change, what they make, and what is said when they cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spec_text.h"

/* The good file with settings of a command line. */
static struct sirq_spec *with(const char *const *set, unsigned n)
{
    struct sirq_spec_text text = sirq_spec_changed("good", "good");
    struct sirq_error err = {""};
    struct sirq_spec *spec = NULL;

    if (sirq_spec_parse(&spec, &text, 0, set, n, &err) != 0)
        fail_msg("%s", err.text);
    free(text.text);
    return spec;
}

static void setting_of_a_value_changes_it(void **state)
{
    static const char *const set[] = {
        "machine.hz=100",
        "nics.0.ring=1024",
        "threads.rx.sched.class=rr",
        "nics.eth0.cpus=1,2,3",
        "threads.rx.sched.priority=20",
        "run.seeds=3",
        "costs_ns.wake=7",
        "threads.rx.udp_receiver.batch=8",
        "threads.spin.sched.nice=-5",
        "net.poll_until_budget=true",
        "name=other",
        "threads.rx.cpus=[2]",
        "policies=looped",
    };
    struct sirq_spec *spec = with(set, sizeof(set) / sizeof(set[0]));

    (void)state;
    assert_int_equal(spec->machine.hz, 100);
    assert_int_equal(spec->nics[0].ring, 1024);
    assert_int_equal(spec->nics[0].n_cpus, 3);
    assert_int_equal(spec->nics[0].cpus[2], 3);
    assert_int_equal(spec->threads[0].sched.class, SIRQ_SPEC_SCHED_RR);
    assert_int_equal(spec->threads[0].sched.priority, 20);
    assert_int_equal(spec->threads[0].udp_receiver->batch, 8);
    assert_int_equal(spec->threads[0].udp_receiver->rcvbuf, 65536);
    assert_int_equal(spec->threads[0].n_cpus, 1);
    assert_int_equal(spec->threads[3].sched.nice, -5);
    assert_int_equal(spec->run.seeds, 3);
    assert_int_equal(spec->costs_ns.WAKE, 7);
    assert_true(spec->net.poll_until_budget);
    assert_string_equal(spec->name, "other");
    assert_int_equal(spec->n_policies, 1);
    assert_string_equal(spec->policies[0], "looped");
    sirq_spec_free(spec);
}

static void setting_below_a_missing_mapping_makes_it(void **state)
{
    static const char *const set[] = {
        "machine.fair.latency_ns=5000000", "machine.fair.slice_ns=3000000",
        "machine.scheduler=eevdf",         "machine.ksoftirqd={class: fifo, priority: 3}",
        "machine.ksoftirqd.priority=4",    "nics.eth0.cpus=[]",
    };
    struct sirq_spec *spec = with(set, sizeof(set) / sizeof(set[0]));
    struct sirq_sim_config config;

    (void)state;
    assert_int_equal(spec->machine.fair->latency_ns, 5000000);
    assert_int_equal(spec->machine.fair->min_granularity_ns, 0);
    assert_int_equal(spec->machine.ksoftirqd->class, SIRQ_SPEC_SCHED_FIFO);
    assert_int_equal(spec->machine.ksoftirqd->priority, 4);
    assert_int_equal(spec->nics[0].n_cpus, 0);
    sirq_spec_sim_config(spec, &config);
    assert_int_equal(config.ncpus, 4);
    assert_int_equal(config.fair.latency_ns, 5000000);
    assert_int_equal(config.fair.slice_ns, 3000000);
    assert_int_equal(config.scheduler, SIRQ_SIM_EEVDF);
    assert_int_equal(config.ksoftirqd.policy, SCHED_FIFO);
    assert_int_equal(config.ksoftirqd.priority, 4);
    assert_int_equal(config.cost_ns[SIRQ_COST_WAKE], 500);
    sirq_spec_free(spec);
}

static void setting_on_top_of_a_setup_wins(void **state)
{
    static const char *const set[] = {"threads.rx.count=2"};
    struct sirq_spec_text text = sirq_spec_changed("good", "good");
    struct sirq_error err;
    struct sirq_spec *spec;

    (void)state;
    assert_int_equal(sirq_spec_parse(&spec, &text, 1, set, 1, &err), 0);
    assert_int_equal(spec->threads[0].count, 2);
    sirq_spec_free(spec);
    free(text.text);
}

static void setting_wrong_is_refused_by_its_text(void **state)
{
    static const char *const bad[][2] = {
        {"threads.rxx.count=4",
         "no such entry; did you mean rx? there are: rx, client, reader, spin"},
        {"threads.4.count=4", "no such entry; there are: rx, client, reader, spin"},
        {"threads.rx.cuont=4",
         "no such key; did you mean count? there are: name, count, cpus, pin, sched, "
         "udp_receiver, rr_client, rr_server, tcp_receiver, tcp_sender, disk_reader, cyclictest, "
         "hog, watchdog"},
        {"threads.client.rr_client.rtt_us=1", "no such key; its unit is another: give rtt_ns"},
        {"threads.rx.count=0", "0: give 1 to 4096"},
        {"threads.rx.count=four", "'four': give a whole number"},
        {"threads.rx.count=", "give a value after ="},
        {"threads.rx.count", "give PATH=VALUE, as machine.hz=100"},
        {"threads..count=1", "give keys and names with dots between them"},
        {"threads.rx.cpus=0,9", "threads[0].cpus[1]: 9: no such CPU; give 0 to 3"},
        {"threads.rx.cpus.0=1", "threads[0].cpus: its entries have no keys; give the whole list"},
        {"threads.rx.count.x=1", "threads[0].count: is a value and has no keys"},
        {"threads.rx.hog={}", "threads[0]: is udp_receiver and hog; give one kind"},
        {"threads.rx.watchdog.limit_ns=2000",
         "threads[0].watchdog.interval_ns: is missing; give 1000 to 3600000000000"},
        {"setups.more.name=x", "a setting cannot change the setups"},
        {"machine=&a {hz: *a}",
         "anchors (&) and aliases (*) are not read; write it out, or quote the text"},
        {"machine={hz: 5", "not YAML: did not find expected ',' or '}'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sirq_spec_text text = sirq_spec_changed("good", "good");
        char line[400];

        snprintf(line, sizeof(((struct sirq_error *)0)->text), "--set %s: %s", bad[i][0],
                 bad[i][1]);
        sirq_spec_refused(&text, 0, bad[i][0], line);
        free(text.text);
    }
}

static void setting_that_breaks_another_key_is_told(void **state)
{
    struct sirq_spec_text text = sirq_spec_changed("good", "good");
    char line[200];

    (void)state;
    snprintf(line, sizeof(line),
             "t.yaml:%u: traffic[0].to: 'rx': no such udp_receiver; did you mean rr? there are: "
             "rr; in setup 'plain' with --set",
             19 + SIRQ_NR_COSTS);
    sirq_spec_refused(&text, 0, "threads.rx.name=rr", line);
    free(text.text);
}

static void setup_wrong_is_refused_by_number_and_line(void **state)
{
    static const struct {
        const char *set;
        unsigned line; /* beside the costs */
        const char *complaint;
    } bad[] = {
        {"threads.rxx.count=4", 23,
         "setups[1].set[0]: 'threads.rxx.count=4': no such entry; did you mean rx? there are: rx, "
         "client, reader, spin"},
        {"machine.cpus=1", 10, "threads[0].cpus[1]: 1: no such CPU; give 0 to 0; in setup 'more'"},
        {"traffic.0.to=spin", 23,
         "setups[1].set[0]: 'traffic.0.to=spin': traffic[0].to: 'spin': these threads are no "
         "udp_receiver"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sirq_spec_text text = sirq_spec_changed("threads.rx.count=4", bad[i].set);
        char line[400];

        snprintf(line, sizeof(line), "t.yaml:%u: %s", bad[i].line + SIRQ_NR_COSTS,
                 bad[i].complaint);
        sirq_spec_refused(&text, UINT32_MAX, NULL, line);
        sirq_spec_refused(&text, 1, NULL, line);
        free(text.text);
    }
}

static void setup_none_is_one_as_described(void **state)
{
    struct sirq_spec_text text = sirq_spec_changed(
        "setups:\n  - name: plain\n  - name: more\n    set: [threads.rx.count=4]\n", "");
    struct sirq_error err;
    struct sirq_spec *spec;

    (void)state;
    assert_int_equal(sirq_spec_parse(&spec, &text, 0, NULL, 0, &err), 0);
    assert_int_equal(spec->n_setups, 1);
    assert_string_equal(spec->setups[0].name, "as described");
    sirq_spec_free(spec);
    sirq_spec_refused(&text, 1, NULL, "t.yaml:1: setups: has no number 1; there are 1");
    free(text.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting_of_a_value_changes_it),
        cmocka_unit_test(setting_below_a_missing_mapping_makes_it),
        cmocka_unit_test(setting_on_top_of_a_setup_wins),
        cmocka_unit_test(setting_wrong_is_refused_by_its_text),
        cmocka_unit_test(setting_that_breaks_another_key_is_told),
        cmocka_unit_test(setup_wrong_is_refused_by_number_and_line),
        cmocka_unit_test(setup_none_is_one_as_described),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
