/* SPDX-License-Identifier: MIT */
/* Files that describe a machine: what is shipped is good, what is wrong is said in one line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shipped.h"
#include "world/sim/flood.h"
#include "world/sim/rr.h"

static char *shipped_text(const char *name)
{
    for (unsigned i = 0; sirq_shipped[i].name; i++)
        if (strcmp(sirq_shipped[i].name, name) == 0)
            return strdup(sirq_shipped[i].text);
    fail_msg("%s is not shipped", name);
    return NULL;
}

/* The shipped udp-flood with `what` replaced by `by` is refused with `complaint`. */
static void refused(const char *what, const char *by, const char *complaint)
{
    char *text = shipped_text("udp-flood.yaml"), *at = strstr(text, what);
    size_t len = strlen(text) + strlen(by) + 1;
    char *changed = malloc(len);
    struct sirq_machine *machine;
    struct sirq_error err;

    assert_non_null(at);
    assert_non_null(changed);
    snprintf(changed, len, "%.*s%s%s", (int)(at - text), text, by, at + strlen(what));
    assert_int_equal(sirq_machine_parse(&machine, "t.yaml", changed, strlen(changed), &err), -22);
    if (strstr(err.text, complaint) == NULL)
        fail_msg("'%s' lacks '%s'", err.text, complaint);
    assert_null(strchr(err.text, '\n'));
    free(changed);
    free(text);
}

static void file_wrong_key_is_refused_with_its_line(void **state)
{
    (void)state;
    refused("  hz: 1000", "  hertz: 1000", "Unexpected key: hertz");
    refused("  hz: 1000", "  hertz: 1000", "line: 1");
    refused("  wake: 500\n", "", "Missing required mapping field: wake");
    refused("nic:", "nix:", "Unexpected key: nix");
    refused("irq_interval_ns", "irq_interval_us", "Unexpected key: irq_interval_us");
}

static void file_wrong_value_is_refused_with_its_key(void **state)
{
    (void)state;
    refused("cpus: 2", "cpus: 0", "machine: cpus: 0: give 1 to");
    refused("wake: 500", "wake: -5", "'-5'");
    refused("hz: 1000", "hz: fast", "'fast'");
    refused("ring: 512", "ring: 1099511627776", "1099511627776");
    refused("poisson", "sometimes", "sometimes");
    refused("seeds: 10", "seeds: 0", "run: seeds: 0: give 1 to");
    refused("rate: 5000000", "rate: 0", "traffic: rate: 0");
}

static void file_garbage_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "\n",
        "[1, 2",
        "just text",
        "machine: {",
        "a: &a [*a]",
        "\x01\x02",
        "- - - -",
        "machine: [cpus, hz]",
        "machine:\n  cpus: 1\n  cpus: 2\n",
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct sirq_machine *machine;
        struct sirq_error err;

        assert_int_equal(sirq_machine_parse(&machine, "t", texts[i], strlen(texts[i]), &err), -22);
    }
}

static void file_missing_or_huge_is_refused(void **state)
{
    struct sirq_machine *machine;
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_machine_load(&machine, "/nonexistent", &err), -22);
    assert_non_null(strstr(err.text, "/nonexistent"));
    assert_int_equal(sirq_machine_load(&machine, "/dev/zero", &err), -22);
    assert_non_null(strstr(err.text, "larger than"));
}

static void shipped_flood_keeps_its_regimes(void **state)
{
    struct sirq_lab_options options = {.batch = 1, .size = 64};
    struct sirq_flood flood = {.receivers = 1};
    struct sirq_sim_figures before, after, rr;
    struct sirq_machine *machine;
    struct sirq_error err;
    struct sirq_sim_flood run = {.options = &options, .flood = &flood, .seed = 1, .ns = 200000000};

    (void)state;
    assert_int_equal(sirq_machine_shipped(&machine, "udp-flood", &err), 0);
    run.machine = machine;
    flood.policy = sirq_policy_find("time2ms");
    assert_int_equal(sirq_sim_flood_run(&run, &before, &err), 0);
    flood.policy = sirq_policy_find("ksoftirqd");
    assert_int_equal(sirq_sim_flood_run(&run, &after, &err), 0);
    flood.rt = true;
    assert_int_equal(sirq_sim_flood_run(&run, &rr, &err), 0);
    print_message("before %.0f/s, after %.0f/s (%.1f %% and %.1f %%), RR %.0f/s\n", before.received,
                  after.received, after.cpu[0], after.ksoftirqd_cpu, rr.received);
    assert_true(before.received > 1500 && before.received < 2500); /* calibrated on 2,000 */
    assert_true(after.received > 300 * before.received);
    assert_true(after.cpu[0] > 44 && after.ksoftirqd_cpu > 44);
    assert_true(after.nic_drops > before.nic_drops);
    assert_true(rr.received > after.received && rr.socket_drops == 0);
    sirq_machine_free(machine);
}

static void shipped_rr_gains_by_the_limit(void **state)
{
    static struct sirq_sim_rr_pool pool[2];
    struct sirq_sim_rr_figures figures[2];
    struct sirq_machine *machine;
    struct sirq_error err;
    struct sirq_sim_rr run = {.hz = 1000, .seed = 1, .ns = 3000000000};

    (void)state;
    assert_int_equal(sirq_machine_shipped(&machine, "tcp-rr", &err), 0);
    run.machine = machine;
    for (unsigned i = 0; i < 2; i++) {
        run.policy = sirq_policy_find(i == 0 ? "restart10" : "time2ms");
        run.pool = &pool[i];
        assert_int_equal(sirq_sim_rr_run(&run, &figures[i], &err), 0);
    }
    print_message("%llu and %llu transactions, longest runs %.1f and %.1f ms\n",
                  (unsigned long long)pool[0].hist.count, (unsigned long long)pool[1].hist.count,
                  figures[0].longest_run_ms, figures[1].longest_run_ms);
    assert_true(pool[1].hist.count > 5 * pool[0].hist.count);
    assert_true(figures[0].longest_run_ms > 18 && figures[0].longest_run_ms < 22);
    assert_true(figures[1].longest_run_ms < 3);
    assert_true(figures[1].throughput > 0.97 * figures[0].throughput);
    sirq_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_wrong_key_is_refused_with_its_line),
        cmocka_unit_test(file_wrong_value_is_refused_with_its_key),
        cmocka_unit_test(file_garbage_is_refused),
        cmocka_unit_test(file_missing_or_huge_is_refused),
        cmocka_unit_test(shipped_flood_keeps_its_regimes),
        cmocka_unit_test(shipped_rr_gains_by_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
