/* SPDX-License-Identifier: MIT */
/* softirq: finds the subcommand; everything else is the subcommand's. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const struct sirq_command *const commands[] = {&sirq_command_lab, &sirq_command_run};
#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static void help(FILE *out)
{
    fputs("usage: softirq COMMAND [ARGUMENT]...\n"
          "       softirq --help | --version\n\n"
          "Softirqs in user space: when does the work run that an interrupt leaves behind?\n\n"
          "commands:\n",
          out);
    for (size_t i = 0; i < NCOMMANDS; i++)
        fprintf(out, "  %-8s%s\n", commands[i]->name, commands[i]->summary);
    fputs("\n`softirq COMMAND --help` says more.\n\n"
          "exit codes: 0 done, 1 failed, 2 bad usage, 128 + N stopped by signal N (130: Ctrl-C)\n\n"
          "examples:\n"
          "  softirq lab udp-flood                    flood one CPU under every policy\n"
          "  softirq lab udp-flood --policy ksoftirqd --rate 1k\n"
          "  softirq run run/examples/udp-echo.yaml   answer UDP on an interface\n",
          out);
}

/*
 * Standard streams that we were started without are taken, or the next file that is opened
 * would get our output.  Read-only: writing there still fails.
 */
static void fill_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* Output that did not arrive is a failure: a full disk, a closed pipe. */
static int finish(int code)
{
    bool lost = ferror(stdout) != 0;

    if (fflush(stdout) == 0 && !lost)
        return code;
    fputs("softirq: the output could not be written\n", stderr);
    return code ? code : SIRQ_EXIT_FAILED;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return SIRQ_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help(stdout);
        return SIRQ_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("softirq " SIRQ_VERSION);
        return SIRQ_EXIT_OK;
    }
    for (size_t i = 0; i < NCOMMANDS; i++) {
        if (strcmp(commands[i]->name, argv[1]) == 0)
            return commands[i]->run(argc - 1, argv + 1);
    }
    fprintf(stderr, "softirq: no such command: '%s'; valid:", argv[1]);
    for (size_t i = 0; i < NCOMMANDS; i++)
        fprintf(stderr, "%s %s", i ? "," : "", commands[i]->name);
    fputs(" (see softirq --help)\n", stderr);
    return SIRQ_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    fill_streams();
    return finish(run(argc, argv));
}
