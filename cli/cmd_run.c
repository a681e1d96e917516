/* SPDX-License-Identifier: MIT */
/* softirq run: arguments to options. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "cli.h"
#include "parse.h"
#include "run.h"

enum { OPT_CHECK = 256, OPT_STATS };

static const struct option longs[] = {
    {"check", no_argument, NULL, OPT_CHECK},
    {"stats", required_argument, NULL, OPT_STATS},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static const char usage[] =
    "usage: softirq run FILE [OPTION]...\n\n"
    "Runs the data plane that FILE describes: interfaces, addresses, routes, how packets are\n"
    "steered to CPUs, and services: udp-echo, forward.  docs/run.md has every key.\n\n"
    "options:\n"
    "  --check              read FILE, say what is wrong in it, and end\n"
    "  --stats SECONDS      print rates so often, 1 to 3600\n\n"
    "signals:\n"
    "  SIGHUP               read FILE again: policy, steering and threads change while traffic\n"
    "                       flows; another change is refused, and the plane goes on as it was\n"
    "  SIGUSR1              print the counters, as is done at the end\n"
    "  SIGTERM, SIGINT      take nothing more, answer and send what is queued, end; the second\n"
    "                       time: now\n\n"
    "Interfaces need CAP_NET_RAW (packet), CAP_NET_ADMIN (tap), root (xdp).\n\n"
    "example, echo.yaml:\n"
    "  cpus: [0]\n"
    "  interfaces:\n"
    "    - {name: eth1, driver: packet, addresses: [192.0.2.1/24]}\n"
    "  services:\n"
    "    - udp-echo: {port: 7}\n\n"
    "  softirq run echo.yaml --stats 1\n";

static int bad_usage(const char *text)
{
    fprintf(stderr, "softirq run: %s (see softirq run --help)\n", text);
    return SIRQ_EXIT_USAGE;
}

/* -1: go on. */
static int parse(int argc, char **argv, struct sirq_run_options *options)
{
    uint64_t seconds;
    int opt;

    opterr = 0;
    optind = 1;
    while ((opt = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        switch (opt) {
        case 'h':
            fputs(usage, stdout);
            return SIRQ_EXIT_OK;
        case OPT_CHECK:
            options->check = true;
            break;
        case OPT_STATS:
            if (sirq_conf_parse_count(optarg, 1, 3600, &seconds) != 0)
                return bad_usage("--stats: give 1 to 3600 seconds");
            options->stats_s = (unsigned)seconds;
            break;
        case ':':
            return bad_usage("--stats: give 1 to 3600 seconds");
        default:
            return bad_usage("no such option; there are: --check, --stats, --help");
        }
    }
    if (optind + 1 != argc)
        return bad_usage(optind == argc ? "give the file of a data plane" : "give one file");
    options->path = argv[optind];
    return -1;
}

static int run(int argc, char **argv)
{
    struct sirq_run_options options = {0};
    struct sirq_error err = {""};
    int code = parse(argc, argv, &options), rc;

    if (code >= 0)
        return code;
    rc = sirq_run(&options, &err);
    if (rc != 0)
        fprintf(stderr, "softirq run: %s\n", err.text);
    if (rc == -EINVAL)
        return SIRQ_EXIT_USAGE;
    return rc == 0 ? SIRQ_EXIT_OK : SIRQ_EXIT_FAILED;
}

const struct sirq_command sirq_command_run = {
    .name = "run",
    .summary = "run a data plane that a file describes",
    .run = run,
};
