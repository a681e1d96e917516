/* SPDX-License-Identifier: MIT */
/* Subcommands of `softirq`. */
#ifndef SIRQ_CLI_H
#define SIRQ_CLI_H

/* Exit codes; one ended by signal n exits with 128 + n, as a shell would say. */
enum { SIRQ_EXIT_OK = 0, SIRQ_EXIT_FAILED = 1, SIRQ_EXIT_USAGE = 2, SIRQ_EXIT_SIGNAL = 128 };

struct sirq_command {
    const char *name, *summary;
    /* argv[0] is the command's own name.  Returns an exit code. */
    int (*run)(int argc, char **argv);
};

extern const struct sirq_command sirq_command_lab, sirq_command_run;

#endif
