/* SPDX-License-Identifier: MIT */
/*
 * What a person chooses.  Whatever is wrong with an argument is found here, before
 * anything is started, and said in one line: the argument, what is wrong, what would do.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "experiment.h"
#include "parse.h"

#define TEXT 64

static unsigned cpus(void)
{
    cpu_set_t set;
    unsigned n = sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);

    return n < SIRQ_LAB_JOBS ? n : SIRQ_LAB_JOBS;
}

void sirq_lab_defaults(struct sirq_lab_options *options)
{
    memset(options, 0, sizeof(*options));
    options->receivers = 1;
    options->batch = 1;
    options->size = SIRQ_LAB_SIZE_MIN;
    options->cpu = -1;
    options->seed = 1;
    options->runs = SIRQ_LAB_RUNS;
    options->jobs = cpus();
    for (unsigned i = 0; sirq_policies[i] && i < SIRQ_LAB_POLICIES; i++)
        options->policy[options->npolicies++] = sirq_policies[i];
}

/* "no such NIC: foo; valid names: shm, packet" */
struct name_list {
    char text[200];
    size_t len;
};

static void add_name(struct name_list *list, const char *name)
{
    int n = snprintf(list->text + list->len, sizeof(list->text) - list->len, "%s%s",
                     list->len ? ", " : "", name);

    if (n > 0 && list->len + (size_t)n < sizeof(list->text))
        list->len += (size_t)n;
}

static int no_such(struct sirq_error *err, const char *what, const char *text,
                   const struct name_list *list)
{
    return sirq_fail(err, EINVAL, "%s: no such name: '%.40s'; valid: %s", what, text, list->text);
}

static int find_name(const char *const *names, unsigned n, const char *option, const char *text,
                     struct sirq_error *err)
{
    struct name_list list = {0};

    for (unsigned i = 0; i < n; i++) {
        if (strcmp(names[i], text) == 0)
            return (int)i;
        add_name(&list, names[i]);
    }
    return no_such(err, option, text, &list);
}

/* A name that has a live implementation runs there, if nothing else is asked for. */
int sirq_lab_set_target(struct sirq_lab_options *options, const char *text, const char *world,
                        struct sirq_error *err)
{
    enum { LIVE, SIM, KERNEL };
    static const char *const names[] = {"live", "sim", "kernel"};
    int wanted = world != NULL ? find_name(names, 3, "--world", world, err) : LIVE;
    bool live;

    if (wanted < 0)
        return wanted;
    options->target = text;
    options->all = strcmp(text, "all") == 0;
    for (unsigned i = 0; sirq_experiments[i]; i++) {
        if (strcmp(sirq_experiments[i]->name, text) == 0)
            options->experiment = sirq_experiments[i];
    }
    live = options->experiment != NULL && options->experiment->run != NULL;
    if (!live && world != NULL && wanted == LIVE)
        return sirq_fail(err, EINVAL,
                         "--world live: %.60s has no live implementation; leave it out, or give "
                         "--world sim",
                         text);
    if (wanted == KERNEL && (options->experiment == NULL || options->experiment->kernel == NULL))
        return sirq_fail(err, EINVAL,
                         "--world kernel: %.60s does not run on the kernel's own softirqs; give "
                         "--world sim",
                         text);
    if (wanted == KERNEL)
        options->world = &sirq_world_kernel;
    else
        options->world = live && wanted == LIVE ? &sirq_world_live : NULL;
    return 0;
}

int sirq_lab_add_setting(struct sirq_lab_options *options, const char *text, struct sirq_error *err)
{
    if (options->nsets == SIRQ_SPEC_SETTINGS)
        return sirq_fail(err, EINVAL, "--set: more than %u times; give fewer", SIRQ_SPEC_SETTINGS);
    options->set[options->nsets++] = text;
    return 0;
}

int sirq_lab_add_setup(struct sirq_lab_options *options, const char *text, struct sirq_error *err)
{
    if (options->nsetups == SIRQ_SPEC_SETUPS)
        return sirq_fail(err, EINVAL, "--setup: more than %u times; give fewer", SIRQ_SPEC_SETUPS);
    options->setup[options->nsetups++] = text;
    return 0;
}

static int add_policy(struct sirq_lab_options *options, const char *name, struct sirq_error *err)
{
    const struct sirq_policy *policy = sirq_policy_find(name);
    struct name_list list = {0};

    for (unsigned i = 0; policy && i < options->npolicies; i++) {
        if (options->policy[i] == policy)
            return sirq_fail(err, EINVAL, "--policy: '%s' stands twice in the list", name);
    }
    if (policy && options->npolicies < SIRQ_LAB_POLICIES) {
        options->policy[options->npolicies++] = policy;
        return 0;
    }
    for (unsigned i = 0; sirq_policies[i]; i++)
        add_name(&list, sirq_policies[i]->name);
    add_name(&list, "or 'all' alone");
    return no_such(err, "--policy", name, &list);
}

int sirq_lab_set_policies(struct sirq_lab_options *options, const char *text,
                          struct sirq_error *err)
{
    const char *list = text;
    char name[TEXT];
    int more, rc;

    options->npolicies = 0;
    options->policies_given = true;
    if (strcmp(text, "all") == 0) {
        for (unsigned i = 0; sirq_policies[i] && i < SIRQ_LAB_POLICIES; i++)
            options->policy[options->npolicies++] = sirq_policies[i];
        return 0;
    }
    while ((more = sirq_conf_next_item(&list, name, sizeof(name))) > 0) {
        rc = add_policy(options, name, err);
        if (rc)
            return rc;
    }
    if (more < 0)
        return add_policy(options, *text ? text : "", err);
    return 0;
}

static int add_kernel_policy(struct sirq_lab_options *options, const char *name,
                             struct sirq_error *err)
{
    const struct sirq_kernel_policy *policy = sirq_kernel_policy_find(name);

    for (unsigned i = 0; policy && i < options->nkernel; i++) {
        if (options->kernel[i] == policy)
            return sirq_fail(err, EINVAL, "--policy: '%s' stands twice in the list", name);
    }
    if (!policy || options->nkernel == SIRQ_LAB_POLICIES)
        return sirq_fail(err, EINVAL,
                         "--policy: no such name in the kernel world: '%.40s'; valid: those of "
                         "softirq lab --list that begin with kernel:, or 'all' alone",
                         name);
    options->kernel[options->nkernel++] = policy;
    return 0;
}

int sirq_lab_set_kernel_policies(struct sirq_lab_options *options, const char *text,
                                 struct sirq_error *err)
{
    bool all = text && strcmp(text, "all") == 0;
    char name[TEXT];
    int more, rc = 0;

    options->nkernel = 0;
    options->policies_given = text != NULL;
    if (!text || all) {
        for (const struct sirq_kernel_policy *p = sirq_kernel_policies; p->name; p++) {
            if (all || !p->backlog_threads)
                options->kernel[options->nkernel++] = p;
        }
        return 0;
    }
    while (!rc && (more = sirq_conf_next_item(&text, name, sizeof(name))) > 0)
        rc = add_kernel_policy(options, name, err);
    return !rc && more < 0 ? add_kernel_policy(options, text, err) : rc;
}

int sirq_lab_set_nic(struct sirq_lab_options *options, const char *text, struct sirq_error *err)
{
    static const char *const names[] = {[SIRQ_LAB_SHM] = "shm", [SIRQ_LAB_PACKET] = "packet"};
    int i = find_name(names, SIRQ_LAB_NICS, "--nic", text, err);

    if (i >= 0)
        options->nic = (enum sirq_lab_nic)i;
    return i < 0 ? i : 0;
}

int sirq_lab_set_delivery(struct sirq_lab_options *options, const char *text,
                          struct sirq_error *err)
{
    static const char *const names[] = {[SIRQ_DELIVER_SIGNAL] = "signal",
                                        [SIRQ_DELIVER_THREAD] = "thread",
                                        [SIRQ_DELIVER_POLL] = "poll"};
    int i = find_name(names, 3, "--delivery", text, err);

    if (i >= 0)
        options->delivery = (enum sirq_delivery)i;
    return i < 0 ? i : 0;
}

static int add_rate(struct sirq_lab_options *options, const char *text, struct sirq_error *err)
{
    uint64_t rate;

    if (sirq_conf_parse_count(text, 1, SIRQ_LAB_RATE_LIMIT, &rate))
        return sirq_fail(err, EINVAL,
                         "--rate %.40s: not a rate; give packets/s from 1 to 100M "
                         "(1k, 2.5M, or a list of them), or 'max' or 'sweep' alone",
                         text);
    for (unsigned i = 0; i < options->nrates; i++) {
        if (options->rate[i] == rate)
            return sirq_fail(err, EINVAL, "--rate: %.40s stands twice in the list", text);
    }
    if (options->nrates == SIRQ_LAB_RATES)
        return sirq_fail(err, EINVAL, "--rate: more than %u rates; give fewer", SIRQ_LAB_RATES);
    options->rate[options->nrates++] = rate;
    return 0;
}

int sirq_lab_set_rates(struct sirq_lab_options *options, const char *text, struct sirq_error *err)
{
    char item[TEXT];
    const char *list = text;
    int more, rc;

    options->nrates = 0;
    options->rates = SIRQ_LAB_RATE_LIST;
    if (strcmp(text, "max") == 0) {
        options->rates = SIRQ_LAB_RATE_MAX;
        return 0;
    }
    if (strcmp(text, "sweep") == 0) {
        options->rates = SIRQ_LAB_RATE_SWEEP;
        return 0;
    }
    while ((more = sirq_conf_next_item(&list, item, sizeof(item))) > 0) {
        rc = add_rate(options, item, err);
        if (rc)
            return rc;
    }
    return more < 0 ? add_rate(options, "", err) : 0;
}

int sirq_lab_set_number(unsigned *out, const char *option, const char *text, unsigned min,
                        unsigned max, struct sirq_error *err)
{
    uint64_t value;

    if (sirq_conf_parse_count(text, min, max, &value))
        return sirq_fail(err, EINVAL, "%s %.40s: give a whole number from %u to %u", option, text,
                         min, max);
    *out = (unsigned)value;
    return 0;
}

int sirq_lab_set_seconds(struct sirq_lab_options *options, const char *text, struct sirq_error *err)
{
    if (sirq_conf_parse_decimal(text, 0.1, 3600, &options->seconds))
        return sirq_fail(err, EINVAL, "--seconds %.40s: give seconds per row, 0.1 to 3600", text);
    return 0;
}

int sirq_lab_set_seed(struct sirq_lab_options *options, const char *text, struct sirq_error *err)
{
    if (sirq_conf_parse_count(text, 0, UINT64_MAX / 2, &options->seed))
        return sirq_fail(err, EINVAL, "--seed %.40s: give a whole number, 0 to 9223372036854775807",
                         text);
    return 0;
}
