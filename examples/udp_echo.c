/* SPDX-License-Identifier: MIT */
/* A UDP echo server that waits in sirq_recv(). */
#include "common.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WAIT_NS 200000000 /* how long Ctrl-C may go unseen */

int main(int argc, char **argv)
{
    struct sirq_msg *msgs = example_batch();
    struct example ex;
    int rc;

    example_options(&ex, argc, argv, "A UDP echo server.", 7, "", 0);
    rc = example_start(&ex);
    while (rc == 0 && !example_ended()) {
        int n = sirq_recv(ex.sock, msgs, BATCH, WAIT_NS);

        if (n > 0)
            example_echo(&ex, msgs, (unsigned)n);
        else if (n != -ETIMEDOUT && n != -EINTR)
            rc = n;
    }
    if (rc != 0 && ex.attached)
        fprintf(stderr, "%s: receive: %s\n", argv[0], strerror(-rc));
    example_stop(&ex);
    return rc != 0;
}
