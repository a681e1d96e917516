/* SPDX-License-Identifier: MIT */
/* build/softirq as a person runs it.  Every run is bounded in time. */
#ifndef SIRQ_TESTS_CLI_RUN_H
#define SIRQ_TESTS_CLI_RUN_H

#include <sys/types.h>

struct cli_run {
    pid_t pid;
    int out, err; /* files that are unlinked already */
    int status;
    char text[2][16384]; /* stdout, stderr */
};

extern const char *cli_program;   /* its path */
extern void (*cli_prepare)(void); /* in the child, before it becomes the program; null: nothing */

/* args: words parted by blanks, "''" is an empty one.  out: stdout, -1: none. */
void cli_start_with(struct cli_run *run, const char *args, int out);
void cli_start(struct cli_run *run, const char *args);

/* Wait for its end and read what it wrote. */
void cli_finish(struct cli_run *run);
void cli_expect_exit(const struct cli_run *run, int code);
void cli_sleep_ms(unsigned ms);

#endif
