/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli_run.h"

#define MAX_ARGS 24
#define BOUND_S 60 /* of one run, under a sanitizer and a busy machine too */

const char *cli_program;
void (*cli_prepare)(void);

static int scratch(void)
{
    char path[] = "/tmp/sirq-test-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    unlink(path);
    return fd;
}

static void child(const struct cli_run *run, char **argv)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_DFL);
    if (dup2(run->out, STDOUT_FILENO) < 0)
        close(STDOUT_FILENO); /* asked to be without */
    dup2(run->err, STDERR_FILENO);
    if (cli_prepare != NULL)
        cli_prepare();
    alarm(BOUND_S); /* survives exec: a hang becomes a death by SIGALRM */
    execv(cli_program, argv);
    _exit(127);
}

/* args: words parted by blanks, "''" is an empty one.  out: stdout, -1: none. */
void cli_start_with(struct cli_run *run, const char *args, int out)
{
    char name[] = "softirq", nothing[] = "", line[512], *argv[MAX_ARGS] = {name}, *save = NULL;
    int n = 1;

    *run = (struct cli_run){.out = out, .err = scratch()};
    snprintf(line, sizeof(line), "%s", args);
    for (char *w = strtok_r(line, " ", &save); w && n < MAX_ARGS - 1;
         w = strtok_r(NULL, " ", &save))
        argv[n++] = strcmp(w, "''") == 0 ? nothing : w;
    run->pid = fork();
    assert_true(run->pid >= 0);
    if (!run->pid)
        child(run, argv);
}

void cli_start(struct cli_run *run, const char *args)
{
    cli_start_with(run, args, scratch());
}

void cli_finish(struct cli_run *run)
{
    const int fds[2] = {run->out, run->err};

    assert_int_equal(waitpid(run->pid, &run->status, 0), run->pid);
    for (unsigned i = 0; i < 2; i++) {
        ssize_t n = pread(fds[i], run->text[i], sizeof(run->text[i]) - 1, 0);

        run->text[i][n > 0 ? n : 0] = '\0';
        close(fds[i]);
    }
}

void cli_expect_exit(const struct cli_run *run, int code)
{
    if (!WIFEXITED(run->status) || WEXITSTATUS(run->status) != code)
        fail_msg("status 0x%x, wanted exit %d\nstdout: %s\nstderr: %s", (unsigned)run->status, code,
                 run->text[0], run->text[1]);
}

void cli_sleep_ms(unsigned ms)
{
    nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}
