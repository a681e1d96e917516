/* SPDX-License-Identifier: MIT */
/* What is wrong in an experiment file is said in one line, with file, line and path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf.h"
#include "spec_text.h"

#define COSTS_N (unsigned)SIRQ_NR_COSTS

/* `line` counts the costs out: 3 is costs_ns, 4 the nics behind it. */
struct bad {
    const char *what, *by;
    unsigned line;
    const char *complaint;
};

static unsigned line_of(unsigned line)
{
    return line > 3 ? line + COSTS_N : line;
}

static void all_refused(const struct bad *bad, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct sirq_spec_text text = sirq_spec_changed(bad[i].what, bad[i].by);
        char line[300];

        snprintf(line, sizeof(line), "t.yaml:%u: %s", line_of(bad[i].line), bad[i].complaint);
        sirq_spec_refused(&text, UINT32_MAX, NULL, line);
        free(text.text);
    }
}

#define ALL_REFUSED(table) all_refused(table, sizeof(table) / sizeof((table)[0]))

static void file_good_is_read_in_every_setup(void **state)
{
    struct sirq_spec_text text = sirq_spec_changed("good", "good");
    const uint32_t setups[] = {UINT32_MAX, 0, 1};
    struct sirq_error err = {""};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct sirq_spec *spec;

        if (sirq_spec_parse(&spec, &text, setups[i], NULL, 0, &err) != 0)
            fail_msg("%s", err.text);
        assert_int_equal(spec->n_threads, 4);
        assert_int_equal(spec->threads[0].count, i == 2 ? 4 : 0);
        assert_int_equal(spec->threads[0].cpus[1], 1);
        assert_int_equal(spec->costs_ns.WAKE, 500);
        assert_non_null(spec->threads[3].hog);
        assert_int_equal(spec->measure[1].stat, SIRQ_SPEC_P99);
        sirq_spec_free(spec);
    }
    free(text.text);
}

static void key_wrong_is_refused_with_what_there_is(void **state)
{
    static const struct bad bad[] = {
        {"hz: 1000", "hertz: 1000", 2,
         "machine.hertz: no such key; there are: cpus, hz, smt, smt_permille, irq_time_accounting, "
         "ipi_ns, rt_period_ns, rt_runtime_ns, scheduler, fair, ksoftirqd"},
        {"rtt_ns: 1000", "rtt_us: 1", 13,
         "threads[1].rr_client.rtt_us: no such key; its unit is another: give rtt_ns"},
        {"run:", "runs:", 25,
         "runs: no such key; did you mean run? there are: name, summary, published, unpatched, "
         "machine, costs_ns, net, nics, disks, threads, traffic, hosts, flows, setups, policies, "
         "run, measure, ..."},
        {"hz: 1000", "hz: 1000, hz: 100", 2, "machine.hz: given twice; leave one out"},
        {"hz: 1000", "? [hz] : 1000", 2, "machine: a key is a word, not a list or a mapping"},
        {"disk: sda", "<<: {disk: sda}", 15,
         "threads[2].disk_reader.<<: no such key; there are: disk, work_ns"},
    };

    (void)state;
    ALL_REFUSED(bad);
}

static void value_of_wrong_type_is_refused(void **state)
{
    static const struct bad bad[] = {
        {"hz: 1000", "hz: 1000ms", 2, "machine.hz: '1000ms': give a whole number"},
        {"hz: 1000", "hz: 1.5", 2, "machine.hz: '1.5': give a whole number"},
        {"hz: 1000", "hz: 0100", 2, "machine.hz: '0100': give a whole number"},
        {"hz: 1000", "hz: 0x10", 2, "machine.hz: '0x10': give a whole number"},
        {"hz: 1000", "hz: ", 2, "machine.hz: '': give a whole number"},
        {"hz: 1000", "hz: [1000]", 2, "machine.hz: is a list; give one value"},
        {"hz: 1000", "hz: {a: 1}", 2, "machine.hz: is a mapping; give one value"},
        {"hz: 1000", "hz: 1000, smt: true", 2, "machine.smt: 'true': give a whole number"},
        {"hz: 1000", "hz: 1000, irq_time_accounting: yes", 2,
         "machine.irq_time_accounting: 'yes': give true or false"},
        {"hz: 1000", "hz: 1000, scheduler: o1", 2,
         "machine.scheduler: 'o1': there are: cfs, eevdf"},
        {"hz: 1000}", "hz: 1000}\nnet: 3", 3, "net: '3': give keys and values"},
        {"hz: 1000}", "hz: 1000}\nnet:", 3,
         "net: is empty; give keys and values, or {} for the defaults"},
        {"hz: 1000}", "hz: 1000}\nnet: []", 3, "net: is a list; give keys and values"},
        {"[0, 1]", "0", 10, "threads[0].cpus: is not a list; give [...] or lines with -"},
        {"[0, 1]", "[0, one]", 10, "threads[0].cpus[1]: 'one': give a whole number"},
        {"name: good", "name: ''", 1, "name: is empty; give it a value or leave it out"},
        {"name: good", "name: \"a\\0b\"", 1, "name: has a NUL character; give text"},
        {"what: rate", "what: rates", 27,
         "measure[0].what: 'rates': did you mean rate? there are: rate, mbit, cpu, own_cpu, "
         "latency, wakeup, fairness, cpu_fairness, stalls, stall_after, drops, softirq, hardirq, "
         "idle, idle_task, ksoftirqd, ..."},
        {"stat: p99", "stat: p98", 28,
         "measure[1].stat: 'p98': did you mean p90? there are: min, mean, p50, p90, p99, p999, "
         "max, stddev"},
    };

    (void)state;
    ALL_REFUSED(bad);
}

static void number_out_of_range_is_refused(void **state)
{
    static const struct bad bad[] = {
        {"cpus: 4", "cpus: 0", 2, "machine.cpus: 0: give 1 to 1024"},
        {"cpus: 4", "cpus: 1025", 2, "machine.cpus: 1025: give 1 to 1024"},
        {"cpus: 4", "cpus: -1", 2, "machine.cpus: -1: give 1 to 1024"},
        {"cpus: 4", "cpus: 99999999999999999999999", 2,
         "machine.cpus: 99999999999999999999999: give 1 to 1024"},
        {"  tick: 500\n", "  tick: 1000000\n", 2,
         "machine.hz: 1000: a tick takes 1000500 ns (costs_ns.irq and tick), as long as until the "
         "next; give less"},
        {"costs_ns:\n  pass: 500", "costs_ns:\n  pass: -5", 4 - COSTS_N,
         "costs_ns.pass: -5: give 1 to 1000000000"},
        {"costs_ns:\n  pass: 500", "costs_ns:\n  pass: 0", 4 - COSTS_N,
         "costs_ns.pass: 0: give 1 to 1000000000"},
        {"duration_ms: 100", "duration_ms: 1000000000000000", 25,
         "run.duration_ms: 1000000000000000: give 1 to 604800000"},
        {"duration_ms: 100", "duration_ms: 0", 25, "run.duration_ms: 0: give 1 to 604800000"},
        {"seeds: 2", "seeds: 0", 25, "run.seeds: 0: give 1 to 1000"},
        {"seeds: 2", "seeds: 1001", 25, "run.seeds: 1001: give 1 to 1000"},
        {"rate: 1000", "rate: 0", 19, "traffic[0].rate: 0: give 1 to 1000000000"},
        {"hog: {}", "hog: {}\n    sched: {nice: 20}", 18,
         "threads[3].sched.nice: 20: give -20 to 19"},
        {"hog: {}", "hog: {}\n    sched: {nice: -21}", 18,
         "threads[3].sched.nice: -21: give -20 to 19"},
        {"hog: {}", "hog: {}\n    count: 5000", 18, "threads[3].count: 5000: give 1 to 4096"},
    };

    (void)state;
    ALL_REFUSED(bad);
}

static void key_needed_is_missed(void **state)
{
    static const struct bad bad[] = {
        {"cpus: 4, ", "", 2, "machine.cpus: is missing; give 1 to 1024"},
        {", ring: 512", "", 5, "nics[0].ring: is missing; give 2 to 1048576"},
        {"name: eth0, ", "", 5, "nics[0].name: is missing; give it"},
        {"rtt_ns: 1000, ", "", 13,
         "threads[1].rr_client.rtt_ns: is missing; give 1 to 10000000000"},
        {"nic: eth0, rcvbuf", "rcvbuf", 13, "threads[1].rr_client.nic: is missing; give it"},
        {"to: rx, ", "", 19, "traffic[0].to: is missing; give it"},
        {", duration_ms: 100", "", 25, "run.duration_ms: is missing; give 1 to 604800000"},
        {"name: more\n    ", "", 22, "setups[1].name: is missing; give it"},
        {", what: rate", "", 27, "measure[0].what: is missing; give it"},
        {"of: rx, what: rate", "what: rate", 27, "measure[0].of: is missing; give it"},
        {"what: latency, stat: p99", "what: latency", 28,
         "measure[1].stat: is missing; latency needs min, mean, p50, p90, p99, p999, max or "
         "stddev"},
    };

    (void)state;
    ALL_REFUSED(bad);
}

static void machine_that_cannot_be_is_refused(void **state)
{
    static const struct bad bad[] = {
        {"cpus: 4", "cpus: 3, smt: 2", 2, "machine.smt: 2: give an even number of cpus, not 3"},
        {"cpus: [0]}", "cpus: [0, 4]}", 5, "nics[0].cpus[1]: 4: no such CPU; give 0 to 3"},
        {"ring: 512", "ring: 500", 5, "nics[0].ring: 500: give a power of two"},
        {"ring: 512", "ring: 1048576, rings: 64", 5,
         "nics[0].ring: 1048576: all rings hold 67108864 frames with it; give at most 4194304"},
        {"read_ns: 100000", "read_ns: 100000, cpu: 4", 7,
         "disks[0].cpu: 4: no such CPU; give 0 to 3"},
        {"hz: 1000", "hz: 1000, ksoftirqd: {class: fifo}", 2,
         "machine.ksoftirqd.priority: is missing; fifo and rr need 1 to 99"},
        {"name: sda", "name: eth0", 5,
         "nics[0].name: 'eth0' is the name of another NIC, disk, host, flow or group of threads "
         "too; give another"},
        {"name: sda", "name: cpu0", 7,
         "disks[0].name: 'cpu0': measures call CPUs so; give another"},
        {"name: sda", "name: s.a", 7,
         "disks[0].name: 's.a': give letters, digits, _ and -, no digit first, at most 32"},
        {"name: sda", "name: 0", 7,
         "disks[0].name: '0': give letters, digits, _ and -, no digit first, at most 32"},
    };

    (void)state;
    ALL_REFUSED(bad);
}

static void threads_that_cannot_be_are_refused(void **state)
{
    static const struct bad bad[] = {
        {"hog: {}", "hog: {}\n    watchdog: {interval_ns: 1000, limit_ns: 1000}", 16,
         "threads[3]: is hog and watchdog; give one kind"},
        {"\n    hog: {}", "", 16,
         "threads[3]: says not what its threads do; there are: udp_receiver, rr_client, "
         "rr_server, tcp_receiver, tcp_sender, disk_reader, cyclictest, hog, watchdog"},
        {"[0, 1]", "[0, 4]", 10, "threads[0].cpus[1]: 4: no such CPU; give 0 to 3"},
        {"hog: {}", "hog: {}\n    pin: true", 18, "threads[3].pin: true: give the cpus to pin to"},
        {"hog: {}", "hog: {}\n    sched: {class: rr}", 18,
         "threads[3].sched.priority: is missing; fifo and rr need 1 to 99"},
        {"hog: {}", "hog: {}\n    sched: {priority: 5}", 18,
         "threads[3].sched.priority: 5: is for the classes fifo and rr; leave it out"},
        {"hog: {}", "hog: {}\n    sched: {class: rr, priority: 1, nice: 5}", 18,
         "threads[3].sched.nice: 5: means nothing to fifo and rr; leave it out"},
        {"rr_client: {nic: eth0", "rr_client: {nic: eth1", 13,
         "threads[1].rr_client.nic: 'eth1': no such NIC; did you mean eth0? there are: eth0"},
        {"disk: sda", "disk: hda", 15,
         "threads[2].disk_reader.disk: 'hda': no such disk; did you mean sda? there are: sda"},
        {"work_ns: 10", "work_ns: 10, sections_least: 4, sections_most: 3", 13,
         "threads[1].rr_client.sections_most: 3: give sections_least (4) or more"},
        {"hog: {}", "watchdog: {interval_ns: 2000, limit_ns: 1000}", 17,
         "threads[3].watchdog.limit_ns: 1000: give interval_ns or more"},
        {"    hog: {}",
         "    count: 4096\n    rr_server: {nic: eth0, clients: 4, rcvbuf: 4096, "
         "rtt_ns: 1, work_ns: 1}",
         16, "threads[3]: makes 20483 threads and far clients in all; give at most 16384"},
        {"rcvbuf: 65536}", "rcvbuf: 268435456}\n    count: 5", 9,
         "threads[0]: makes 1342177280 bytes of sockets in all; give at most 1073741824"},
    };

    (void)state;
    ALL_REFUSED(bad);
}

#define CROSSING                            \
    "hosts:\n"                              \
    "  - {name: lan, nic: eth0}\n"          \
    "  - {name: wan, nic: eth0, port: 1}\n" \
    "flows:\n"                              \
    "  - {name: up, from: lan, to: wan, tcp: {rtt_ns: 1000}}\nsetups:"

static void flows_that_cannot_be_are_refused(void **state)
{
    static const struct {
        const char *what, *by, *line;
    } bad[] = {
        {"nic: eth0, port", "nic: eth1, port",
         "t.yaml:39: hosts[1].nic: 'eth1': no such NIC; did you mean eth0? there are: eth0"},
        {"port: 1", "port: 0", "t.yaml:39: hosts[1].port: 0: 'lan' is there already; give another"},
        {"port: 1", "port: 8", "t.yaml:39: hosts[1].port: 8: give 0 to 7"},
        {"from: lan", "from: men",
         "t.yaml:41: flows[0].from: 'men': no such host; there are: lan, wan"},
        {"to: wan", "to: lan",
         "t.yaml:41: flows[0].to: 'lan': it comes from there; give another host"},
        {", tcp: {rtt_ns: 1000}", "", "t.yaml:41: flows[0]: says not what it is; give tcp or ping"},
        {"tcp:", "ping: {rtt_ns: 1}, tcp:", "t.yaml:41: flows[0]: is tcp and ping; give one"},
        {"tcp: {rtt_ns: 1000}", "ping: {}",
         "t.yaml:41: flows[0].ping.rtt_ns: is missing; give 1 to 10000000000"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char crossing[512];
        const char *at = strstr(CROSSING, bad[i].what);
        struct sirq_spec_text text;

        assert_non_null(at);
        snprintf(crossing, sizeof(crossing), "%.*s%s%s", (int)(at - CROSSING), CROSSING, bad[i].by,
                 at + strlen(bad[i].what));
        text = sirq_spec_changed("setups:", crossing);
        sirq_spec_refused(&text, UINT32_MAX, NULL, bad[i].line);
        free(text.text);
    }
}

static void traffic_that_cannot_be_is_refused(void **state)
{
    static const struct bad bad[] = {
        {"to: rx", "to: tx", 19,
         "traffic[0].to: 'tx': no such udp_receiver; did you mean rx? there are: rx"},
        {"to: rx", "to: spin", 19, "traffic[0].to: 'spin': these threads are no udp_receiver"},
        {"nic: eth0, to", "nic: eth, to", 19,
         "traffic[0].nic: 'eth': no such NIC; did you mean eth0? there are: eth0"},
        {"rate: 1000", "rate: 1000, burst: 3", 19,
         "traffic[0].burst: 3: is for arrivals: bursts; leave it out"},
        {"rate: 1000", "rate: 1000, arrivals: bursts", 19,
         "traffic[0].burst: is missing; bursts need the packets of each"},
        {"rate: 1000", "rate: 1000, start_ms: 5, stop_ms: 5", 19,
         "traffic[0].stop_ms: 5: give more than start_ms (5)"},
        {"rate: 1000}", "rate: 1000}\n  - {name: flood, nic: eth0, to: rx, rate: 1}", 19,
         "traffic[0].name: 'flood' is the name of other traffic too; give another"},
    };

    (void)state;
    ALL_REFUSED(bad);
}

static void comparison_that_cannot_be_is_refused(void **state)
{
    static const struct bad bad[] = {
        {"ksoftirqd]", "ksoftirq]", 24,
         "policies[1]: 'ksoftirq': no such policy; did you mean ksoftirqd? there are: inline, "
         "restart10, time2ms, resched, looped, ksoftirqd, rtdefer, threaded"},
        {"ksoftirqd]", "time2ms]", 24, "policies[1]: 'time2ms' is given twice; leave one out"},
        {"name: more", "name: plain", 22,
         "setups[1].name: 'plain' is given twice; give another name"},
        {"name: more", "name: 0123456789012345678901234567890123456789012345678901234567890123", 22,
         "setups[1].name: '01234567890123456789...': give at most 63 bytes"},
        {"name: good", "unpatched: [{name: before, policy: old}]", 1,
         "unpatched[0].policy: 'old': no such policy; there are: inline, restart10, time2ms, "
         "resched, looped, ksoftirqd, rtdefer, threaded"},
        {"name: late", "name: rate", 28,
         "measure[1].name: 'rate' is given twice; give another name"},
        {"name: late", "name: a b", 28,
         "measure[1].name: 'a b': give at most 63 characters, no space or comma"},
        {"name: rate, ", "name: rate, each: true, ", 27,
         "measure[0].name: 'rate': put one % where the number of each thread goes"},
        {"name: rate,", "name: rate%,", 27, "measure[0].name: 'rate%': % is for each: true"},
        {"of: rx, what: rate", "of: ry, what: rate", 27,
         "measure[0].of: 'ry' names nothing; did you mean rx? there are: rx, client, reader, "
         "spin, eth0, sda, cpu0, cpus"},
        {"of: rx, what: rate", "of: cpu4, what: idle", 27,
         "measure[0].of: 'cpu4': no such CPU; give cpu0 to cpu3"},
        {"of: rx, what: rate", "of: rx, what: idle", 27,
         "measure[0].of: 'rx': idle is measured of a CPU or cpus"},
        {"of: rx, what: rate", "of: spin, what: rate", 27,
         "measure[0].of: 'spin': rate is measured of threads that are no hog"},
        {"of: rx, what: rate", "of: rx, what: stalls", 27,
         "measure[0].of: 'rx': stalls is measured of a watchdog or CPUs"},
        {"of: rx, what: rate", "of: eth0, what: latency, stat: p50", 27,
         "measure[0].of: 'eth0': latency is measured of threads or a disk or flows"},
        {"name: rate, of: rx", "name: rate%, each: true, of: eth0", 27,
         "measure[0].each: true: is for threads, and 'eth0' is none"},
        {"what: rate", "what: rate, stat: mean", 27,
         "measure[0].stat: rate is one figure and has no stat; leave it out"},
        {"unit: ms", "unit: hours", 28, "measure[1].unit: 'hours': latency is in ns, us, ms or s"},
        {"what: rate", "what: rate, unit: percent", 27,
         "measure[0].unit: 'percent': rate is in /s, packets/s or the like, or as a time in ns, "
         "us, ms or s"},
        {"what: rate", "what: cpu, unit: us", 27, "measure[0].unit: 'us': cpu is in percent"},
    };

    (void)state;
    ALL_REFUSED(bad);
}

/* ---- what is no experiment --------------------------------------------------------------- */

static void text_refused(const char *text, size_t len, const char *line)
{
    struct sirq_spec_text of = {.name = (char *)"t.yaml", .text = (char *)text, .len = len};

    sirq_spec_refused(&of, UINT32_MAX, NULL, line);
}

static void text_of_something_else_is_refused(void **state)
{
    static const char *const bad[][2] = {
        {"", "t.yaml:1: the file is empty; docs/experiments.md has an example"},
        {"# nothing\n\n", "t.yaml:1: the file is empty; docs/experiments.md has an example"},
        {"just text", "t.yaml:1: 'just text': give keys and values"},
        {"- a\n- b\n", "t.yaml:1: is a list; give keys and values"},
        {"name: a\nmachine: {", "t.yaml:2: not YAML: did not find expected node content"},
        {"name: a\n\tb: c\n",
         "t.yaml:2: not YAML: found a tab character that violates indentation"},
        {"name: a\n\x01\x02", "t.yaml:2: not YAML: control characters are not allowed"},
        {"\x7f"
         "ELF",
         "t.yaml:1: not YAML: control characters are not allowed"},
        {"name: a\n---\nname: b\n", "t.yaml:2: a second document; give one experiment a file"},
        {"name: &a x\nsummary: *a\n",
         "t.yaml:1: anchors (&) and aliases (*) are not read; write it out, or quote the text"},
        {"name: *a\n",
         "t.yaml:1: anchors (&) and aliases (*) are not read; write it out, or quote the text"},
        {"name: [[[[[[[[[[[[[[[[[[[[[[", "t.yaml:1: nested deeper than 16; no experiment is"},
        {"name: a\n", "t.yaml:1: machine.cpus: is missing; give 1 to 1024"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        text_refused(bad[i][0], strlen(bad[i][0]), bad[i][1]);
    text_refused("name: a\0b", 9, "t.yaml:1: not YAML: control characters are not allowed");
}

/* Lists and nesting without end are given up early. */
static void text_endless_is_refused(void **state)
{
    size_t len = SIRQ_CONF_BYTES;
    char *text = malloc(len + 1);

    (void)state;
    assert_non_null(text);
    memset(text, '[', len);
    text_refused(text, len, "t.yaml:1: nested deeper than 16; no experiment is");
    for (size_t i = 0; i < len; i++)
        text[i] = "a: 1\n"[i % 5];
    text_refused(text, len - len % 5,
                 "t.yaml:1: a: no such key; there are: name, summary, published, unpatched, "
                 "machine, costs_ns, net, nics, disks, threads, traffic, hosts, flows, setups, "
                 "policies, run, measure, ...");
    memcpy(text, "policies: [", 11); /* NOLINT(bugprone-not-null-terminated-result) */
    for (size_t i = 11; i < len - 1; i++)
        text[i] = "a,"[(i - 11) % 2];
    text[len - 1] = ']';
    text_refused(text, len, "t.yaml:1: policies: has more than 32 entries");
    free(text);
}

static void file_name_long_is_cut_at_its_head(void **state)
{
    char name[300], line[300];
    const struct sirq_spec_text text = {.name = name, .text = (char *)"", .len = 0};

    (void)state;
    memset(name, 'x', sizeof(name));
    snprintf(name + 290, 10, "end.yaml");
    snprintf(line, sizeof(line), "%s:1: the file is empty; docs/experiments.md has an example",
             name + strlen(name) - 80);
    sirq_spec_refused(&text, UINT32_MAX, NULL, line);
}

static void read_refused(const char *what, const char *line)
{
    struct sirq_spec_text text;
    struct sirq_error err = {""};

    assert_int_equal(sirq_spec_read(&text, what, &err), -22);
    assert_string_equal(err.text, line);
}

static void file_that_cannot_be_read_is_refused(void **state)
{
    char dir[] = "/tmp/softirq-spec-XXXXXX", path[64], line[200];

    (void)state;
    read_refused("/nonexistent.yaml",
                 "/nonexistent.yaml: cannot be read: No such file or directory");
    snprintf(path, sizeof(path), "/tmp/softirq-fifo-%d", getpid());
    snprintf(line, sizeof(line), "%s: is not a regular file; give one", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    read_refused(path, line);
    unlink(path);
    read_refused("/dev/zero", "/dev/zero: is not a regular file; give one");
    read_refused(
        "udp-flod",
        "udp-flod: no such experiment; did you mean udp-flood? there are: "
        "rrul-router, softirq-latency, tcp-rr, udp-flood; a file has a / or . in its name");
    assert_non_null(mkdtemp(dir));
    snprintf(line, sizeof(line), "%s: cannot be read: Is a directory", dir);
    read_refused(dir, line);
    if (geteuid() == 0) {
        print_message("root reads everything: that a file cannot be read is not tried\n");
    } else {
        snprintf(path, sizeof(path), "%s/a.yaml", dir);
        fclose(fopen(path, "we"));
        chmod(path, 0);
        snprintf(line, sizeof(line), "%s: cannot be read: Permission denied", path);
        read_refused(path, line);
        unlink(path);
    }
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_good_is_read_in_every_setup),
        cmocka_unit_test(key_wrong_is_refused_with_what_there_is),
        cmocka_unit_test(value_of_wrong_type_is_refused),
        cmocka_unit_test(number_out_of_range_is_refused),
        cmocka_unit_test(key_needed_is_missed),
        cmocka_unit_test(machine_that_cannot_be_is_refused),
        cmocka_unit_test(threads_that_cannot_be_are_refused),
        cmocka_unit_test(traffic_that_cannot_be_is_refused),
        cmocka_unit_test(flows_that_cannot_be_are_refused),
        cmocka_unit_test(comparison_that_cannot_be_is_refused),
        cmocka_unit_test(text_of_something_else_is_refused),
        cmocka_unit_test(text_endless_is_refused),
        cmocka_unit_test(file_name_long_is_cut_at_its_head),
        cmocka_unit_test(file_that_cannot_be_read_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
