/* SPDX-License-Identifier: MIT */
/* softirq lab: arguments to options, result to exit code. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "experiment.h"

enum {
    OPT_WORLD = 256,
    OPT_POLICY,
    OPT_NIC,
    OPT_RECEIVERS,
    OPT_RATE,
    OPT_SIZE,
    OPT_SECONDS,
    OPT_CSV,
    OPT_DELIVERY,
    OPT_CPU,
    OPT_BATCH,
    OPT_SEED,
    OPT_MACHINE,
    OPT_LIST
};

static const struct option longs[] = {
    {"world", required_argument, NULL, OPT_WORLD},
    {"policy", required_argument, NULL, OPT_POLICY},
    {"nic", required_argument, NULL, OPT_NIC},
    {"receivers", required_argument, NULL, OPT_RECEIVERS},
    {"rate", required_argument, NULL, OPT_RATE},
    {"size", required_argument, NULL, OPT_SIZE},
    {"seconds", required_argument, NULL, OPT_SECONDS},
    {"csv", required_argument, NULL, OPT_CSV},
    {"delivery", required_argument, NULL, OPT_DELIVERY},
    {"cpu", required_argument, NULL, OPT_CPU},
    {"batch", required_argument, NULL, OPT_BATCH},
    {"seed", required_argument, NULL, OPT_SEED},
    {"machine", required_argument, NULL, OPT_MACHINE},
    {"list", no_argument, NULL, OPT_LIST},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static const char usage[] =
    "usage: softirq lab EXPERIMENT [OPTION]...\n"
    "       softirq lab --list      experiments with their worlds; policies, explained\n\n"
    "options (default):\n"
    "  --world NAME         where it runs (live)\n"
    "  --policy A,B|all     policies to compare; --list explains them (all)\n"
    "  --nic shm|packet     shared-memory NIC, or AF_PACKET on a veth pair in a network\n"
    "                       namespace of its own (shm)\n"
    "  --delivery MODE      of interrupts: signal, thread or poll (signal)\n"
    "  --receivers N        receiving threads, 1 to 64, a socket each (1)\n"
    "  --batch N            datagrams per receive call, 1 to 64 (1)\n"
    "  --rate PPS[,PPS...]  offered load, packets/s: 1k, 2.5M; or max, or sweep: a tenth of to\n"
    "                       ten times what one CPU can carry (max)\n"
    "  --size BYTES         of a frame, 64 to 1514 (64)\n"
    "  --seconds S          measured per row, 0.1 to 3600 (2; sweep: 1)\n"
    "  --cpu N              the CPU to flood (the last allowed one)\n"
    "  --seed N             of the flows' ports (1)\n"
    "  --machine FILE       sim: the machine and its costs (the experiment's own)\n"
    "  --csv FILE           also write all figures there\n\n"
    "examples:\n"
    "  softirq lab udp-flood\n"
    "  softirq lab udp-flood --policy inline,ksoftirqd --receivers 4 --csv flood.csv\n"
    "  softirq lab udp-flood --rate sweep\n"
    "  softirq lab udp-flood --world sim\n"
    "  softirq lab udp-flood --nic packet --rate 1k,100k,1M\n";

static int list(void)
{
    puts("experiments:");
    for (unsigned i = 0; sirq_experiments[i]; i++) {
        const struct sirq_experiment *experiment = sirq_experiments[i];

        printf("  %-12s%s; worlds:", experiment->name, experiment->summary);
        for (unsigned w = 0; experiment->worlds[w]; w++)
            printf(" %s", experiment->worlds[w]->name);
        putchar('\n');
    }
    puts("policies:");
    for (unsigned i = 0; sirq_policies[i]; i++)
        printf("  %-12s%s\n", sirq_policies[i]->name, sirq_policies[i]->origin);
    return SIRQ_EXIT_OK;
}

static int complain(const struct sirq_error *err)
{
    fprintf(stderr, "softirq lab: %s\n", err->text);
    return SIRQ_EXIT_USAGE;
}

static int set_cpu(struct sirq_lab_options *options, const char *text, struct sirq_error *err)
{
    unsigned cpu;
    int rc = sirq_lab_set_number(&cpu, "--cpu", text, 0, CPU_SETSIZE - 1, err);

    if (!rc)
        options->cpu = (int)cpu;
    return rc;
}

static int set_csv(struct sirq_lab_options *options, const char *text, struct sirq_error *err)
{
    options->csv = text;
    return sirq_csv_check(text, err);
}

static int set_option(struct sirq_lab_options *options, int option, const char *text,
                      struct sirq_error *err)
{
    switch (option) {
    case OPT_MACHINE:
        options->machine = text;
        return 0;
    case OPT_POLICY:
        return sirq_lab_set_policies(options, text, err);
    case OPT_NIC:
        return sirq_lab_set_nic(options, text, err);
    case OPT_RECEIVERS:
        return sirq_lab_set_number(&options->receivers, "--receivers", text, 1, SIRQ_LAB_RECEIVERS,
                                   err);
    case OPT_RATE:
        return sirq_lab_set_rates(options, text, err);
    case OPT_SIZE:
        return sirq_lab_set_number(&options->size, "--size", text, SIRQ_LAB_SIZE_MIN,
                                   SIRQ_LAB_SIZE_MAX, err);
    case OPT_SECONDS:
        return sirq_lab_set_seconds(options, text, err);
    case OPT_CSV:
        return set_csv(options, text, err);
    case OPT_DELIVERY:
        return sirq_lab_set_delivery(options, text, err);
    case OPT_CPU:
        return set_cpu(options, text, err);
    case OPT_BATCH:
        return sirq_lab_set_number(&options->batch, "--batch", text, 1, SIRQ_LAB_BATCH, err);
    default:
        return sirq_lab_set_seed(options, text, err);
    }
}

/* Options and, among them, the experiment.  Its world depends on it, and so is looked at last. */
static int parse(int argc, char **argv, struct sirq_lab_options *options, struct sirq_error *err)
{
    const char *world = NULL;
    int option, rc = 0;

    opterr = 0;
    optind = 1;
    while (!rc && (option = getopt_long(argc, argv, "-:h", longs, NULL)) != -1) {
        if (option == 1)
            rc = options->experiment == NULL
                     ? sirq_lab_set_experiment(options, optarg, err)
                     : sirq_fail(err, EINVAL, "one experiment at a time: '%.40s'", optarg);
        else if (option == ':')
            rc = sirq_fail(err, EINVAL, "%.40s needs a value; see softirq lab --help",
                           argv[optind - 1]);
        else if (option == '?')
            rc = sirq_fail(err, EINVAL,
                           "no such option, or more than one begins so: %.40s; see "
                           "softirq lab --help",
                           argv[optind - 1]);
        else if (option == OPT_WORLD)
            world = optarg;
        else
            rc = set_option(options, option, optarg, err);
    }
    if (!rc && optind < argc) /* after "--" */
        rc = sirq_fail(err, EINVAL, "what is '%.40s' for? see softirq lab --help", argv[optind]);
    if (!rc && world && options->experiment)
        rc = sirq_lab_set_world(options, world, err);
    return rc;
}

static bool asks_for(int argc, char **argv, const char *what)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], what) == 0)
            return true;
    }
    return false;
}

static int exit_code(int rc, const struct sirq_lab_options *options, const struct sirq_error *err)
{
    if (!rc)
        return SIRQ_EXIT_OK;
    if (rc == -EINTR) {
        fprintf(stderr, "softirq lab: stopped; what was printed is partial%s%s%s\n",
                options->csv ? ", and " : "", options->csv ? options->csv : "",
                options->csv ? " was not written" : "");
        return SIRQ_EXIT_SIGNAL + sirq_lab_interrupted();
    }
    complain(err);
    return rc == -EINVAL ? SIRQ_EXIT_USAGE : SIRQ_EXIT_FAILED;
}

static int lab(int argc, char **argv)
{
    struct sirq_lab_options options;
    struct sirq_error err = {""};

    if (asks_for(argc, argv, "--help") || asks_for(argc, argv, "-h")) {
        fputs(usage, stdout);
        return SIRQ_EXIT_OK;
    }
    if (asks_for(argc, argv, "--list"))
        return list();
    sirq_lab_defaults(&options);
    if (parse(argc, argv, &options, &err))
        return complain(&err);
    if (!options.experiment) {
        fprintf(stderr, "softirq lab: which experiment? valid:");
        for (unsigned i = 0; sirq_experiments[i]; i++)
            fprintf(stderr, "%s %s", i ? "," : "", sirq_experiments[i]->name);
        fputs(" (see softirq lab --help)\n", stderr);
        return SIRQ_EXIT_USAGE;
    }
    return exit_code(sirq_lab_run(&options, &err), &options, &err);
}

const struct sirq_command sirq_command_lab = {
    .name = "lab",
    .summary = "experiments: what each policy does to a workload",
    .run = lab,
};
