/* SPDX-License-Identifier: MIT */
/*
 * A data plane in a network namespace of the test's own: build/softirq on sv0, a kernel's sockets
 * on cl0, the other end of the veth pair.
 */
#ifndef SIRQ_TESTS_PLANE_ENV_H
#define SIRQ_TESTS_PLANE_ENV_H

#include "../cli_run.h"

#include <stdbool.h>
#include <stddef.h>

#define PLANE4 "192.0.2.1"
#define PLANE6 "2001:db8::1"

extern const char *plane_skip; /* null: the namespace and its veth pair are there */
extern unsigned plane_cpus[2]; /* two that may be used, or one twice */
extern char plane_file[64];

#define NEEDS_PLANE()                                   \
    do {                                                \
        if (plane_skip) {                               \
            print_message("skipped: %s\n", plane_skip); \
            skip();                                     \
        }                                               \
    } while (0)

void plane_env_open(void);
void plane_env_close(void);

/* "@0" and "@1" in the text stand for the two CPUs. */
void plane_write(const char *text);
/* The file that most tests run, with `more` keys at the top and `steer` keys of the interface. */
void plane_write_echo(const char *more, const char *steer);

/* Start it on the file and wait until it says that it runs. */
void plane_start(struct cli_run *run, const char *options);
/* A plane that a test has left running is ended. */
int plane_teardown(void **state);
/* Wait until stderr has `line` so often. */
void plane_says(const struct cli_run *run, const char *line, unsigned times);
/* A signal, its end with exit code 0. */
void plane_end(struct cli_run *run, int signo);

/* A kernel's socket, connected to the plane; with room for all that a test is sent. */
int plane_connect(const char *address, unsigned port);
int plane_connect_from(const char *address, unsigned port, unsigned from);
/* Datagram `n` there and back, within two seconds. */
bool plane_echo(int fd, unsigned n);

/* Number `column` of the first row of stdout that begins with `name`; -1: there is none. */
long long plane_figure(const struct cli_run *run, const char *name, unsigned column);

#endif
