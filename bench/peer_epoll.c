/* SPDX-License-Identifier: MIT */
/*
 * An eventfd and a thread in epoll_wait: what a program writes by hand.
 *
 * With the mutex queue every item is written to the eventfd, as most programs do; with the
 * lock-free one only an item that found the queue empty is.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench.h"
#include "vehicle.h"

struct epoll_state {
    struct bench_queue queue;
    int eventfd, epfd;
    uint32_t stop;
    unsigned cpu;
    pthread_t thread;
};

static void open_fds(struct epoll_state *state)
{
    struct epoll_event event = {.events = EPOLLIN};

    state->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    state->epfd = epoll_create1(EPOLL_CLOEXEC);
    if (state->eventfd < 0 || state->epfd < 0 ||
        epoll_ctl(state->epfd, EPOLL_CTL_ADD, state->eventfd, &event) != 0)
        bench_die("eventfd+epoll", errno);
}

static void signal_fd(const struct epoll_state *state)
{
    uint64_t one = 1;

    if (write(state->eventfd, &one, sizeof(one)) < 0 && errno != EAGAIN)
        bench_die("eventfd", errno);
}

static bool wait_fd(const struct epoll_state *state, int timeout_ms)
{
    struct epoll_event event;
    uint64_t value;

    return epoll_wait(state->epfd, &event, 1, timeout_ms) == 1 &&
           read(state->eventfd, &value, sizeof(value)) > 0;
}

static void *consume(void *arg)
{
    struct epoll_state *state = arg;

    bench_pin(state->cpu);
    while (!__atomic_load_n(&state->stop, __ATOMIC_ACQUIRE))
        if (wait_fd(state, -1))
            bench_queue_run(&state->queue);
    return NULL;
}

static void start(const struct bench_vehicle *self, unsigned cpu)
{
    struct epoll_state *state = self->state;
    int ret;

    bench_queue_init(&state->queue, self->idiomatic);
    state->cpu = cpu;
    state->stop = 0;
    open_fds(state);
    ret = pthread_create(&state->thread, NULL, consume, state);
    if (ret != 0)
        bench_die("thread", ret);
}

static void submit(const struct bench_vehicle *self, struct bench_item *item, bool same_cpu)
{
    struct epoll_state *state = self->state;

    (void)same_cpu;
    if (bench_queue_push(&state->queue, item) || self->idiomatic)
        signal_fd(state);
}

static void stop(const struct bench_vehicle *self)
{
    struct epoll_state *state = self->state;

    __atomic_store_n(&state->stop, 1, __ATOMIC_RELEASE);
    signal_fd(state);
    pthread_join(state->thread, NULL);
    close(state->epfd);
    close(state->eventfd);
}

static struct epoll_state lockfree, with_mutex, same_thread;

const struct bench_vehicle bench_epoll = {.name = "eventfd+epoll",
                                          .note = "lock-free queue",
                                          .start = start,
                                          .submit = submit,
                                          .stop = stop,
                                          .state = &lockfree};

const struct bench_vehicle bench_epoll_mutex = {.name = "eventfd+epoll, idiomatic",
                                                .note = "mutex queue, a write an item",
                                                .start = start,
                                                .submit = submit,
                                                .stop = stop,
                                                .state = &with_mutex,
                                                .idiomatic = true};

/* ---- on one thread ------------------------------------------------------------------ */

static void inline_start(void)
{
    open_fds(&same_thread);
}

static void inline_loop(unsigned n)
{
    while (n-- > 0) {
        signal_fd(&same_thread);
        if (wait_fd(&same_thread, 0))
            bench_ran++;
    }
}

static void inline_stop(void)
{
    close(same_thread.epfd);
    close(same_thread.eventfd);
}

const struct bench_inline bench_epoll_inline = {.name = "eventfd+epoll",
                                                .metric = "write, epoll_wait, read",
                                                .start = inline_start,
                                                .loop = inline_loop,
                                                .stop = inline_stop};
