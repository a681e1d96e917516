/* SPDX-License-Identifier: MIT */
/*
 * libuv: a loop on a thread of its own, woken by uv_async_send(), which is the one call of
 * libuv that other threads may make.  It merges: one callback may stand for many sends, so
 * items travel in a queue beside it, and the callback takes all that is there.
 */
#include <errno.h>
#include <uv.h>

#include "bench.h"
#include "vehicle.h"

struct uv_state {
    struct bench_queue queue;
    uv_loop_t loop;
    uv_async_t async;
    uint32_t stop;
    unsigned cpu;
    pthread_t thread;
};

static void on_async(uv_async_t *async)
{
    struct uv_state *state = async->data;

    bench_queue_run(&state->queue);
    if (__atomic_load_n(&state->stop, __ATOMIC_ACQUIRE))
        uv_close((uv_handle_t *)async, NULL);
}

static void open_loop(struct uv_state *state, uv_async_cb callback)
{
    if (uv_loop_init(&state->loop) != 0 ||
        uv_async_init(&state->loop, &state->async, callback) != 0)
        bench_die("libuv", ENOMEM);
    state->async.data = state;
}

static void *consume(void *arg)
{
    struct uv_state *state = arg;

    bench_pin(state->cpu);
    uv_run(&state->loop, UV_RUN_DEFAULT);
    return NULL;
}

static void start(const struct bench_vehicle *self, unsigned cpu)
{
    struct uv_state *state = self->state;
    int ret;

    bench_queue_init(&state->queue, self->idiomatic);
    state->cpu = cpu;
    state->stop = 0;
    open_loop(state, on_async);
    ret = pthread_create(&state->thread, NULL, consume, state);
    if (ret != 0)
        bench_die("thread", ret);
}

static void submit(const struct bench_vehicle *self, struct bench_item *item, bool same_cpu)
{
    struct uv_state *state = self->state;

    (void)same_cpu;
    if (bench_queue_push(&state->queue, item) || self->idiomatic)
        uv_async_send(&state->async);
}

static void stop(const struct bench_vehicle *self)
{
    struct uv_state *state = self->state;

    __atomic_store_n(&state->stop, 1, __ATOMIC_RELEASE);
    uv_async_send(&state->async);
    pthread_join(state->thread, NULL);
    uv_loop_close(&state->loop);
}

static struct uv_state lockfree, with_mutex, same_thread;

const struct bench_vehicle bench_uv = {.name = "libuv",
                                       .note = "lock-free queue",
                                       .start = start,
                                       .submit = submit,
                                       .stop = stop,
                                       .state = &lockfree};

const struct bench_vehicle bench_uv_mutex = {.name = "libuv, idiomatic",
                                             .note = "mutex queue, a send an item",
                                             .start = start,
                                             .submit = submit,
                                             .stop = stop,
                                             .state = &with_mutex,
                                             .idiomatic = true};

/* ---- on one thread ------------------------------------------------------------------ */

static void count(uv_async_t *async)
{
    (void)async;
    bench_ran++;
}

static void inline_start(void)
{
    open_loop(&same_thread, count);
}

static void inline_loop(unsigned n)
{
    while (n-- > 0) {
        uv_async_send(&same_thread.async);
        uv_run(&same_thread.loop, UV_RUN_NOWAIT);
    }
}

static void inline_stop(void)
{
    uv_close((uv_handle_t *)&same_thread.async, NULL);
    uv_run(&same_thread.loop, UV_RUN_DEFAULT);
    uv_loop_close(&same_thread.loop);
}

const struct bench_inline bench_uv_inline = {.name = "libuv",
                                             .metric = "uv_async_send, uv_run(NOWAIT)",
                                             .start = inline_start,
                                             .loop = inline_loop,
                                             .stop = inline_stop};
