/* SPDX-License-Identifier: MIT */
/* softirq lab: arguments to options, result to exit code. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "compare.h"
#include "experiment.h"
#include "outfile.h"

enum {
    OPT_WORLD = 256,
    OPT_POLICY,
    OPT_RATE,
    OPT_SECONDS,
    OPT_SEED,
    OPT_CSV,
    OPT_JSON,
    OPT_LIST,
    OPT_MACHINE,
    OPT_LIVE, /* from here on: of the live world */
    OPT_NIC = OPT_LIVE,
    OPT_DELIVERY,
    OPT_RECEIVERS,
    OPT_BATCH,
    OPT_SIZE,
    OPT_CPU,
    OPT_KERNEL, /* from here on: of the kernel's */
    OPT_RUNS = OPT_KERNEL,
    OPT_SIM, /* from here on: of the simulated one */
    OPT_SET = OPT_SIM,
    OPT_SETUP,
    OPT_SEEDS,
    OPT_JOBS,
    OPT_RESUME
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
    {"json", required_argument, NULL, OPT_JSON},
    {"delivery", required_argument, NULL, OPT_DELIVERY},
    {"cpu", required_argument, NULL, OPT_CPU},
    {"batch", required_argument, NULL, OPT_BATCH},
    {"runs", required_argument, NULL, OPT_RUNS},
    {"seed", required_argument, NULL, OPT_SEED},
    {"set", required_argument, NULL, OPT_SET},
    {"setup", required_argument, NULL, OPT_SETUP},
    {"seeds", required_argument, NULL, OPT_SEEDS},
    {"jobs", required_argument, NULL, OPT_JOBS},
    {"resume", required_argument, NULL, OPT_RESUME},
    {"machine", required_argument, NULL, OPT_MACHINE},
    {"list", no_argument, NULL, OPT_LIST},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static const char usage[] =
    "usage: softirq lab EXPERIMENT|FILE [OPTION]...\n"
    "       softirq lab all [OPTION]...        every experiment under every policy, simulated\n"
    "       softirq lab compare A.csv B.csv    which figures moved beyond their spread\n"
    "       softirq lab --list                 experiments with their worlds; policies, "
    "explained\n\n"
    "A FILE, with a / or . in its name, describes an experiment of your own.\n\n"
    "options (default):\n"
    "  --world WORLD        live: real threads and packets; sim: a simulated machine; kernel:\n"
    "                       this kernel's own softirqs, as root (live where the experiment has\n"
    "                       that, else sim)\n"
    "  --policy A,B|all     policies to compare; --list explains them (the file's, else all)\n"
    "  --rate PPS[,PPS...]  offered load, packets/s: 1k, 2.5M; or max, or sweep: a tenth of to\n"
    "                       ten times what one CPU can carry (live: max; sim: the file's)\n"
    "  --seconds S          measured per row, 0.1 to 3600; sim: of all seeds together (live: 2,\n"
    "                       sweep: 1; sim: the file's; kernel, of each run: 0.5 to 2)\n"
    "  --seed N             live: of the flows' ports; sim: the first seed (1)\n"
    "  --csv FILE           also write all figures there\n"
    "  --json FILE          and a summary, as JSON\n\n"
    "sim:\n"
    "  --setup NAME         only this setup of the file; repeatable (all)\n"
    "  --set KEY=VALUE      change a key of the file, machine.hz=100; repeatable\n"
    "  --seeds N            worlds per row, 1 to 1000 (the file's)\n"
    "  --jobs N             worlds side by side, 1 to 256 (one for each CPU)\n"
    "  --resume FILE        of all: keeps what is finished until all is, so that the same command\n"
    "                       goes on after an interruption (softirq-lab.cells in ~/.cache)\n\n"
    "live and kernel (of --nic and --delivery: live):\n"
    "  --nic shm|packet     shared-memory NIC, or AF_PACKET on a veth pair in a network\n"
    "                       namespace of its own (shm)\n"
    "  --delivery MODE      of interrupts: signal, thread or poll (signal)\n"
    "  --receivers N        receiving threads, 1 to 64, a socket each (1)\n"
    "  --batch N            datagrams per receive call, 1 to 64 (1)\n"
    "  --size BYTES         of a frame, 64 to 1514 (64)\n"
    "  --cpu N              the CPU to flood (the last allowed one)\n\n"
    "kernel:\n"
    "  --runs N             of each row, 1 to 100; its figures are their medians (3)\n\n"
    "examples:\n"
    "  softirq lab udp-flood\n"
    "  softirq lab udp-flood --policy inline,ksoftirqd --receivers 4 --csv flood.csv\n"
    "  softirq lab udp-flood --rate sweep\n"
    "  softirq lab udp-flood --world sim --setup '1 receiver SCHED_OTHER' --set machine.hz=250\n"
    "  softirq lab udp-flood --world kernel --policy kernel:default,kernel:threaded-napi\n"
    "  softirq lab udp-stream --world kernel\n"
    "  softirq lab tcp-rr --policy restart10,time2ms\n"
    "  softirq lab ./mine.yaml --seeds 3\n"
    "  softirq lab all --seeds 3 --csv all.csv\n"
    "  softirq lab compare before.csv after.csv\n"
    "  softirq lab udp-flood --nic packet --rate 1k,100k,1M\n";

static const char *worlds_of(const char *name)
{
    for (unsigned i = 0; sirq_experiments[i]; i++) {
        if (strcmp(sirq_experiments[i]->name, name) == 0)
            return sirq_experiments[i]->run ? "live sim kernel" : "sim kernel";
    }
    return "sim";
}

static int list_experiment(const char *name, struct sirq_error *err)
{
    struct sirq_spec_text text;
    struct sirq_spec *spec;
    int rc = sirq_spec_read(&text, name, err);

    if (rc)
        return rc;
    rc = sirq_spec_parse(&spec, &text, UINT32_MAX, NULL, 0, err);
    sirq_spec_text_free(&text);
    if (rc)
        return rc;
    printf("  %-18s%s; worlds: %s\n", name, spec->summary ? spec->summary : "", worlds_of(name));
    sirq_spec_free(spec);
    return 0;
}

static int complain(const struct sirq_error *err)
{
    fprintf(stderr, "softirq lab: %s\n", err->text);
    return SIRQ_EXIT_USAGE;
}

static int list(void)
{
    struct sirq_error err = {""};

    puts("experiments:");
    for (const char *const *name = sirq_spec_shipped(); *name; name++) {
        if (list_experiment(*name, &err))
            return complain(&err);
    }
    for (unsigned i = 0; sirq_experiments[i]; i++) {
        if (sirq_experiments[i]->summary)
            printf("  %-18s%s; worlds: kernel\n", sirq_experiments[i]->name,
                   sirq_experiments[i]->summary);
    }
    puts("policies:");
    for (unsigned i = 0; sirq_policies[i]; i++)
        printf("  %-18s%s\n", sirq_policies[i]->name, sirq_policies[i]->origin);
    puts("policies of --world kernel:");
    for (const struct sirq_kernel_policy *p = sirq_kernel_policies; p->name; p++)
        printf("  %-26s%s\n", p->name, p->summary);
    return SIRQ_EXIT_OK;
}

static int set_cpu(struct sirq_lab_options *options, const char *text, struct sirq_error *err)
{
    unsigned cpu;
    int rc = sirq_lab_set_number(&cpu, "--cpu", text, 0, CPU_SETSIZE - 1, err);

    if (!rc)
        options->cpu = (int)cpu;
    return rc;
}

static int set_file(const char **file, const char *option, const char *text, struct sirq_error *err)
{
    *file = text;
    return sirq_outfile_check(option, text, err);
}

static int set_option(struct sirq_lab_options *options, int option, const char *text,
                      struct sirq_error *err)
{
    switch (option) {
    case OPT_MACHINE:
        return sirq_fail(err, EINVAL,
                         "--machine: a file describes a whole experiment now: softirq lab FILE; "
                         "single keys: --set KEY=VALUE");
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
        return set_file(&options->csv, "--csv", text, err);
    case OPT_JSON:
        return set_file(&options->json, "--json", text, err);
    case OPT_DELIVERY:
        return sirq_lab_set_delivery(options, text, err);
    case OPT_CPU:
        return set_cpu(options, text, err);
    case OPT_BATCH:
        return sirq_lab_set_number(&options->batch, "--batch", text, 1, SIRQ_LAB_BATCH, err);
    case OPT_RUNS:
        return sirq_lab_set_number(&options->runs, "--runs", text, 1, SIRQ_ROW_RUNS, err);
    case OPT_SET:
        return sirq_lab_add_setting(options, text, err);
    case OPT_SETUP:
        return sirq_lab_add_setup(options, text, err);
    case OPT_SEEDS:
        return sirq_lab_set_number(&options->seeds, "--seeds", text, 1, SIRQ_SPEC_SEEDS, err);
    case OPT_RESUME:
        options->resume = text;
        return *text != '\0' ? 0 : sirq_fail(err, EINVAL, "--resume: the file name is empty");
    case OPT_JOBS:
        return sirq_lab_set_number(&options->jobs, "--jobs", text, 1, SIRQ_LAB_JOBS, err);
    default:
        return sirq_lab_set_seed(options, text, err);
    }
}

/* What a person gave, before it is known which world it is for. */
struct given {
    const char *target, *world, *policy;
    uint64_t options; /* bit OPT_... - OPT_WORLD */
};

/* What to say in the simulated world instead of an option of the live one. */
static const char *const instead[] = {
    [OPT_NIC - OPT_LIVE] = "--set nics.NAME.ring=FRAMES and the like",
    [OPT_DELIVERY - OPT_LIVE] = "--set costs_ns.irq=NS: an interrupt is one, and has its cost",
    [OPT_RECEIVERS - OPT_LIVE] = "--set threads.NAME.count=N",
    [OPT_BATCH - OPT_LIVE] = "--set threads.NAME.udp_receiver.batch=N",
    [OPT_SIZE - OPT_LIVE] = "--set traffic.NAME.size=BYTES",
    [OPT_CPU - OPT_LIVE] = "--set nics.NAME.cpus=N and --set threads.NAME.cpus=N",
    [OPT_RUNS - OPT_LIVE] = "--seeds N",
};

static const char *of_world(int option)
{
    return option >= OPT_SIM ? "simulated" : option >= OPT_KERNEL ? "kernel" : "live";
}

static const char *world_name(const struct sirq_lab_options *options)
{
    return options->world ? options->world->name : "simulated";
}

/* Null, or what is wrong with an option in the world that was chosen. */
static const char *no_place(const struct sirq_lab_options *options, int option)
{
    bool kernel = options->world == &sirq_world_kernel;

    if (option < OPT_SIM && !options->world)
        return instead[option - OPT_LIVE];
    if (option >= OPT_SIM && options->world)
        return "add --world sim";
    if (option == OPT_RUNS && !kernel)
        return "add --world kernel";
    if ((option == OPT_NIC || option == OPT_DELIVERY) && kernel)
        return "leave it out: a veth pair and the kernel's own interrupts";
    return NULL;
}

static int check_kernel(const struct sirq_lab_options *options, const struct given *given,
                        struct sirq_error *err)
{
    static const int of_flood[] = {OPT_RATE, OPT_RECEIVERS, OPT_BATCH, OPT_SIZE};

    for (unsigned i = 0; options->experiment != &sirq_udp_flood && longs[i].name; i++) {
        for (unsigned k = 0; k < sizeof(of_flood) / sizeof(of_flood[0]); k++) {
            if (longs[i].val == of_flood[k] && given->options >> (of_flood[k] - OPT_WORLD) & 1)
                return sirq_fail(err, EINVAL, "--%s: in the kernel world of udp-flood alone",
                                 longs[i].name);
        }
    }
    if (options->rates == SIRQ_LAB_RATE_SWEEP)
        return sirq_fail(err, EINVAL,
                         "--rate sweep: not in the kernel world; give a list of rates");
    return 0;
}

static int check_world(const struct sirq_lab_options *options, const struct given *given,
                       struct sirq_error *err)
{
    for (unsigned i = 0; longs[i].name; i++) {
        int option = longs[i].val;

        const char *why;

        if (option < OPT_LIVE || !(given->options >> (option - OPT_WORLD) & 1))
            continue;
        why = no_place(options, option);
        if (why)
            return sirq_fail(err, EINVAL, "--%s: is of the %s world; in the %s one: %s",
                             longs[i].name, of_world(option), world_name(options), why);
    }
    return options->world == &sirq_world_kernel ? check_kernel(options, given, err) : 0;
}

/* What is said of one experiment says nothing of all of them. */
static int check_all(const struct sirq_lab_options *options, const struct given *given,
                     struct sirq_error *err)
{
    static const int of_one[] = {OPT_SET, OPT_SETUP, OPT_RATE, OPT_SECONDS};

    if (!options->all)
        return options->resume == NULL ? 0
                                       : sirq_fail(err, EINVAL,
                                                   "--resume: is of softirq lab all; a single "
                                                   "experiment is run as a whole");
    for (unsigned i = 0; longs[i].name; i++) {
        for (unsigned k = 0; k < sizeof(of_one) / sizeof(of_one[0]); k++) {
            if (longs[i].val == of_one[k] && given->options >> (of_one[k] - OPT_WORLD) & 1)
                return sirq_fail(err, EINVAL, "--%s: is of one experiment; name it instead of all",
                                 longs[i].name);
        }
    }
    return 0;
}

/* Which names there are depends on the world. */
static int set_policies(struct sirq_lab_options *options, const struct given *given,
                        struct sirq_error *err)
{
    if (given->world && strcmp(given->world, "kernel") == 0)
        return sirq_lab_set_kernel_policies(options, given->policy, err);
    return given->policy ? sirq_lab_set_policies(options, given->policy, err) : 0;
}

/* Options and, among them, the experiment.  Its world depends on it, and so is looked at last. */
static int parse(int argc, char **argv, struct sirq_lab_options *options, struct sirq_error *err)
{
    struct given given = {0};
    int option, rc = 0;

    opterr = 0;
    optind = 1;
    while (!rc && (option = getopt_long(argc, argv, "-:h", longs, NULL)) != -1) {
        if (option >= OPT_WORLD)
            given.options |= UINT64_C(1) << (option - OPT_WORLD);
        if (option == 1 && given.target)
            rc = sirq_fail(err, EINVAL, "one experiment at a time: '%.40s'", optarg);
        else if (option == 1)
            given.target = optarg;
        else if (option == ':')
            rc = sirq_fail(err, EINVAL, "%.40s needs a value; see softirq lab --help",
                           argv[optind - 1]);
        else if (option == '?')
            rc = sirq_fail(err, EINVAL,
                           "no such option, or more than one begins so: %.40s; see "
                           "softirq lab --help",
                           argv[optind - 1]);
        else if (option == OPT_WORLD)
            given.world = optarg;
        else if (option == OPT_POLICY)
            given.policy = optarg;
        else
            rc = set_option(options, option, optarg, err);
    }
    if (!rc && optind < argc) /* after "--" */
        rc = sirq_fail(err, EINVAL, "what is '%.40s' for? see softirq lab --help", argv[optind]);
    if (!rc)
        rc = set_policies(options, &given, err);
    if (rc || !given.target)
        return rc;
    rc = sirq_lab_set_target(options, given.target, given.world, err);
    if (!rc)
        rc = check_world(options, &given, err);
    return rc ? rc : check_all(options, &given, err);
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
    if (rc == -EINTR && options->all) {
        fputs("softirq lab: stopped; the same command goes on from what is finished\n", stderr);
        return SIRQ_EXIT_SIGNAL + sirq_lab_interrupted();
    }
    if (rc == -EINTR) {
        fprintf(stderr, "softirq lab: stopped; what was printed is partial%s\n",
                options->csv || options->json ? ", and no file was written" : "");
        return SIRQ_EXIT_SIGNAL + sirq_lab_interrupted();
    }
    complain(err);
    return rc == -EINVAL ? SIRQ_EXIT_USAGE : SIRQ_EXIT_FAILED;
}

/* As diff(1): 0 nothing moved, 1 something did, 2 trouble. */
static int compare(int argc, char **argv)
{
    struct sirq_error err = {""};
    unsigned moved = 0;

    if (argc != 4 || argv[2][0] == '-' || argv[3][0] == '-') {
        fputs("softirq lab: compare takes two files that --csv wrote: softirq lab compare A.csv "
              "B.csv\n",
              stderr);
        return SIRQ_EXIT_USAGE;
    }
    if (sirq_lab_compare(argv[2], argv[3], &moved, stdout, &err))
        return complain(&err);
    return moved != 0 ? SIRQ_EXIT_FAILED : SIRQ_EXIT_OK;
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
    if (argc > 1 && strcmp(argv[1], "compare") == 0)
        return compare(argc, argv);
    sirq_lab_defaults(&options);
    if (parse(argc, argv, &options, &err))
        return complain(&err);
    if (!options.target) {
        fprintf(stderr, "softirq lab: which experiment? a file, or one of:");
        for (const char *const *name = sirq_spec_shipped(); *name; name++)
            fprintf(stderr, " %s", *name);
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
