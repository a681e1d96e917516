/* SPDX-License-Identifier: MIT */
/* A data plane from its file, until a signal ends it. */
#ifndef SIRQ_RUN_RUN_H
#define SIRQ_RUN_RUN_H

#include <sirq/driver.h>

struct sirq_run_options {
    const char *path;
    bool check;       /* the file alone */
    unsigned stats_s; /* a line of rates so often; 0: none */
};

/*
 * SIGTERM and SIGINT drain the plane and end it, SIGHUP reads the file again, SIGUSR1 prints the
 * counters, as its end does.  Tables go to stdout, what happens to stderr.  Of a process's main
 * thread, before it has others.  0; -EINVAL, the file is bad; -EIO, the machine refuses what it asks for;
 * -ENOMEM; with the one line that says why in err.
 */
int sirq_run(const struct sirq_run_options *options, struct sirq_error *err);

#endif
