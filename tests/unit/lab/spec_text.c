/* SPDX-License-Identifier: MIT */
#include "spec_text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char sirq_spec_good[] = "name: good\n"                   /* 1 */
                              "machine: {cpus: 4, hz: 1000}\n" /* 2 */
                              "costs_ns:\n"                    /* 3 */
#define COST(sym, name, meaning) "  " name ": 500\n"
    SIRQ_COSTS(COST)
#undef COST
        "nics:\n"
        "  - {name: eth0, ring: 512, cpus: [0]}\n"
        "disks:\n"
        "  - {name: sda, read_ns: 100000}\n"
        "threads:\n"
        "  - name: rx\n"
        "    cpus: [0, 1]\n"
        "    udp_receiver: {rcvbuf: 65536}\n"
        "  - name: client\n"
        "    rr_client: {nic: eth0, rcvbuf: 4096, rtt_ns: 1000, work_ns: 10}\n"
        "  - name: reader\n"
        "    disk_reader: {disk: sda}\n"
        "  - name: spin\n"
        "    hog: {}\n"
        "traffic:\n"
        "  - {name: flood, nic: eth0, to: rx, rate: 1000}\n"
        "setups:\n"
        "  - name: plain\n"
        "  - name: more\n"
        "    set: [threads.rx.count=4]\n"
        "policies: [time2ms, ksoftirqd]\n"
        "run: {seeds: 2, duration_ms: 100}\n"
        "measure:\n"
        "  - {name: rate, of: rx, what: rate}\n"
        "  - {name: late, of: rx, what: latency, stat: p99, unit: ms}\n";

struct sirq_spec_text sirq_spec_changed(const char *what, const char *by)
{
    const char *at = strstr(sirq_spec_good, what);
    size_t size = sizeof(sirq_spec_good) + strlen(by);
    struct sirq_spec_text text = {.name = (char *)"t.yaml", .text = malloc(size)};

    assert_non_null(text.text);
    if (at == NULL)
        fail_msg("'%s' is not in the text", what);
    else
        text.len = (size_t)snprintf(text.text, size, "%.*s%s%s", (int)(at - sirq_spec_good),
                                    sirq_spec_good, by, at + strlen(what));
    return text;
}

void sirq_spec_refused(const struct sirq_spec_text *text, uint32_t setup, const char *set,
                       const char *line)
{
    struct sirq_error err = {""};
    struct sirq_spec *spec;
    int rc = sirq_spec_parse(&spec, text, setup, &set, set != NULL, &err);

    if (rc == 0)
        fail_msg("was read instead of: %s", line);
    assert_int_equal(rc, -EINVAL);
    assert_string_equal(err.text, line);
}
