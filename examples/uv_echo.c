/* SPDX-License-Identifier: MIT */
/* A UDP echo server in libuv's loop: the socket's descriptor as a uv_poll_t, Ctrl-C as uv_signal_t. */
#include "common.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <uv.h>

static int failed; /* libuv's number of what ended the loop */

/* Until nothing is queued, which arms the descriptor again. */
static void readable(uv_poll_t *poll, int status, int events)
{
    struct example *ex = poll->data;
    struct sirq_msg *msgs = example_batch();
    int n = status;

    (void)events;
    while (n >= 0 && (n = sirq_recv(ex->sock, msgs, BATCH, 0)) > 0)
        example_echo(ex, msgs, (unsigned)n);
    if (n != -EAGAIN && n != -EINTR) {
        failed = n;
        uv_stop(poll->loop);
    }
}

static void ends(uv_signal_t *signal, int signo)
{
    (void)signo;
    uv_stop(signal->loop);
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    uv_close(handle, NULL);
}

/* libuv's errors are negative errno too. */
static int loop(struct example *ex, uv_loop_t *uv)
{
    uv_poll_t poll = {.data = ex};
    uv_signal_t interrupt, terminate;
    int rc = uv_poll_init(uv, &poll, sirq_socket_fd(ex->sock));

    if (rc == 0)
        rc = uv_poll_start(&poll, UV_READABLE, readable);
    if (rc == 0)
        rc = uv_signal_init(uv, &interrupt);
    if (rc == 0)
        rc = uv_signal_start(&interrupt, ends, SIGINT);
    if (rc == 0)
        rc = uv_signal_init(uv, &terminate);
    if (rc == 0)
        rc = uv_signal_start(&terminate, ends, SIGTERM);
    if (rc == 0)
        uv_run(uv, UV_RUN_DEFAULT);
    uv_walk(uv, close_handle, NULL);
    uv_run(uv, UV_RUN_DEFAULT);
    return rc != 0 ? rc : failed;
}

int main(int argc, char **argv)
{
    struct example ex;
    int rc;

    example_options(&ex, argc, argv, "A UDP echo server in libuv's loop.", 7, "", 0);
    rc = example_start(&ex);
    if (rc == 0) {
        uv_loop_t uv;

        rc = uv_loop_init(&uv);
        if (rc == 0) {
            rc = loop(&ex, &uv);
            uv_loop_close(&uv);
        }
        if (rc != 0)
            fprintf(stderr, "%s: %s\n", argv[0], uv_strerror(rc));
    }
    example_stop(&ex);
    return rc != 0;
}
