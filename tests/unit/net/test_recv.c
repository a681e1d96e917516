/* SPDX-License-Identifier: MIT */
/* Receiving: batches, truncation, sleeping, timeouts, contexts, the eventfd. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frames.h"
#include "net_host.h"

#define MSGS 200u

struct world {
    struct net_host h;
    struct test_dev dev;
    struct sirq_socket *sock;
    uint8_t frame[FRAME_MAX];
    uint32_t len;
    struct sirq_msg msgs[MSGS];
    uint8_t buf[MSGS][64];
    int64_t timeout_seen;
};

static int setup(void **state)
{
    const struct sirq_socket_config config = {.port = FRAME_DPORT};
    const struct frame_spec spec = {.payload = 20};
    struct world *w = aligned_alloc(64, (sizeof(*w) + 63) & ~(size_t)63);

    memset(w, 0, sizeof(*w));
    net_host_init(&w->h, NULL);
    w->h.arg = w;
    test_dev_open(&w->dev, &w->h);
    assert_int_equal(sirq_socket_open(w->h.net, &config, &w->sock), 0);
    w->len = frame_build(w->frame, &spec);
    for (unsigned i = 0; i < MSGS; i++)
        w->msgs[i] = (struct sirq_msg){.buf = w->buf[i], .size = sizeof(w->buf[i])};
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    sirq_socket_close(w->sock);
    test_dev_close(&w->dev, &w->h.cpu[0]);
    net_host_fini(&w->h);
    free(w);
    return 0;
}

/* n frames, each with its number as rx_ns, in one interrupt. */
static void feed(struct world *w, unsigned n, uint64_t first)
{
    for (unsigned i = 0; i < n; i++)
        test_dev_put(&w->dev, w->frame, w->len, first + i);
    test_dev_interrupt(&w->dev, &w->h.cpu[0]);
}

static void arguments_bad_are_einval(void **state)
{
    struct world *w = *state;

    assert_int_equal(sirq_recv(NULL, w->msgs, 1, 0), -EINVAL);
    assert_int_equal(sirq_recv(w->sock, NULL, 1, 0), -EINVAL);
    assert_int_equal(sirq_recv(w->sock, w->msgs, 0, 0), -EINVAL);
}

static void batch_takes_what_is_queued_in_order(void **state)
{
    struct world *w = *state;

    feed(w, 150, 0);
    assert_int_equal(sirq_recv(w->sock, w->msgs, 10, -1), 10);
    assert_int_equal(sirq_recv(w->sock, w->msgs + 10, MSGS - 10, -1), 140);
    for (unsigned i = 0; i < 150; i++) {
        assert_int_equal(w->msgs[i].rx_ns, i);
        assert_int_equal(w->msgs[i].len, 20);
        assert_memory_equal(w->buf[i], w->frame + FRAME_DATA, 20);
    }
    assert_int_equal(w->h.nwaits, 0);
}

static void batch_passes_one_bottom_half_enable(void **state)
{
    struct world *w = *state;
    struct sirq_cpu *cpu = &w->h.cpu[0];
    uint64_t before;

    feed(w, 150, 0);
    /* Pending, and left to whoever enables bottom halves next: the receiver. */
    before = cpu->stats.runs[SIRQ_ENTRY_BH_ENABLE];
    sirq_napi_schedule(cpu, &w->dev.dev.napi);
    assert_int_equal(sirq_recv(w->sock, w->msgs, 150, 0), 150);
    assert_int_equal(cpu->stats.runs[SIRQ_ENTRY_BH_ENABLE] - before, 1);
    assert_int_equal(w->h.nsafe, 1);
}

static void buffer_too_small_cuts_and_tells_the_length(void **state)
{
    struct world *w = *state;
    struct sirq_msg nothing = {0};

    memset(w->buf[0], 0x55, 64);
    w->msgs[0].size = 7;
    feed(w, 2, 0);
    assert_int_equal(sirq_recv(w->sock, w->msgs, 1, 0), 1);
    assert_int_equal(w->msgs[0].len, 20);
    assert_memory_equal(w->buf[0], w->frame + FRAME_DATA, 7);
    assert_int_equal(w->buf[0][7], 0x55);
    assert_int_equal(sirq_recv(w->sock, &nothing, 1, 0), 1);
    assert_int_equal(nothing.len, 20);
}

static void inside_a_section_or_interrupt_is_edeadlk(void **state)
{
    struct world *w = *state;
    struct sirq_cpu *cpu = &w->h.cpu[0];

    feed(w, 1, 0);
    sirq_bh_disable(cpu);
    assert_int_equal(sirq_recv(w->sock, w->msgs, 1, 0), -EDEADLK);
    sirq_bh_enable(cpu);
    sirq_hardirq_enter(cpu);
    assert_int_equal(sirq_recv(w->sock, w->msgs, 1, 0), -EDEADLK);
    net_host_run_on(-1);
    assert_int_equal(sirq_recv(w->sock, w->msgs, 1, 0), -EDEADLK);
    net_host_run_on(0);
    sirq_hardirq_exit(cpu);
    assert_int_equal(sirq_recv(w->sock, w->msgs, 1, 0), 1);
}

static void thread_on_no_cpu_receives_too(void **state)
{
    struct world *w = *state;

    feed(w, 3, 0);
    net_host_run_on(-1);
    assert_int_equal(sirq_recv(w->sock, w->msgs, 8, 0), 3);
    assert_int_equal(sirq_recv(w->sock, w->msgs, 8, 0), -EAGAIN);
    net_host_run_on(0);
    assert_int_equal(w->h.nsafe, 0);
}

/* ---- sleeping ----------------------------------------------------------------------- */

static int wait_feeds(struct net_host *h, struct sirq_wq *wq, int64_t timeout_ns)
{
    struct world *w = h->arg;

    assert_int_equal(wq->nwaiters, 1);
    w->timeout_seen = timeout_ns;
    feed(w, 2, 77);
    return 0;
}

static void empty_queue_sleeps_until_fed(void **state)
{
    struct world *w = *state;
    struct sirq_socket_stats stats;

    w->h.wait = wait_feeds;
    assert_int_equal(sirq_recv(w->sock, w->msgs, 8, -1), 2);
    assert_int_equal(w->msgs[0].rx_ns, 77);
    assert_int_equal(w->timeout_seen, -1);
    assert_int_equal(w->h.nwaits, 1);
    assert_int_equal(w->h.nwakes, 1);
    sirq_socket_stats(w->sock, &stats);
    assert_int_equal(stats.received, 2);
    feed(w, 1, 0); /* nobody sleeps any more: nobody is woken */
    assert_int_equal(w->h.nwakes, 1);
}

static int wait_spurious(struct net_host *h, struct sirq_wq *wq, int64_t timeout_ns)
{
    struct world *w = h->arg;

    (void)wq;
    w->timeout_seen = timeout_ns;
    h->now_ns += 400;
    return timeout_ns <= 400 ? -ETIMEDOUT : 0;
}

static void timeout_counts_from_the_first_sleep(void **state)
{
    struct world *w = *state;

    w->h.wait = wait_spurious;
    assert_int_equal(sirq_recv(w->sock, w->msgs, 1, 1000), -ETIMEDOUT);
    assert_int_equal(w->h.nwaits, 3);
    assert_int_equal(w->timeout_seen, 200);
}

static int wait_timeout_feeds(struct net_host *h, struct sirq_wq *wq, int64_t timeout_ns)
{
    wait_feeds(h, wq, timeout_ns);
    return -ETIMEDOUT;
}

static void packet_that_comes_with_the_timeout_is_received(void **state)
{
    struct world *w = *state;

    w->h.wait = wait_timeout_feeds;
    assert_int_equal(sirq_recv(w->sock, w->msgs, 8, 1000), 2);
}

static int wait_interrupted(struct net_host *h, struct sirq_wq *wq, int64_t timeout_ns)
{
    (void)h, (void)wq, (void)timeout_ns;
    return -EINTR;
}

static void sleep_interrupted_is_eintr(void **state)
{
    struct world *w = *state;

    w->h.wait = wait_interrupted;
    assert_int_equal(sirq_recv(w->sock, w->msgs, 1, -1), -EINTR);
}

/* The packet comes between the receiver's look and its sleep: at its look at the clock. */
static void feed_at_clock(struct net_host *h)
{
    h->now_hook = NULL;
    feed(h->arg, 1, 0);
}

static void packet_between_look_and_sleep_is_seen(void **state)
{
    struct world *w = *state;

    w->h.now_hook = feed_at_clock;
    assert_int_equal(sirq_recv(w->sock, w->msgs, 1, 1000), 1);
    assert_int_equal(w->h.nwaits, 0);
}

/* ---- the eventfd -------------------------------------------------------------------- */

static bool readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0;
}

static void fd_is_made_once_and_readable_at_first(void **state)
{
    struct world *w = *state;
    int fd;

    feed(w, 1, 0); /* queued before anybody could be told */
    fd = sirq_socket_fd(w->sock);
    assert_true(fd >= 0);
    assert_int_equal(sirq_socket_fd(w->sock), fd);
    assert_true(readable(fd));
    assert_int_equal(sirq_recv(w->sock, w->msgs, 8, 0), 1);
    assert_int_equal(sirq_recv(w->sock, w->msgs, 8, 0), -EAGAIN);
    assert_false(readable(fd));
}

static void fd_is_written_once_until_received_to_eagain(void **state)
{
    struct world *w = *state;
    int fd = sirq_socket_fd(w->sock);

    for (unsigned round = 1; round <= 3; round++) {
        assert_int_equal(sirq_recv(w->sock, w->msgs, 8, 0), -EAGAIN);
        assert_int_equal(sirq_recv(w->sock, w->msgs, 8, 0), -EAGAIN);
        assert_false(readable(fd));
        feed(w, 3, 0);
        assert_true(readable(fd));
        assert_int_equal(w->h.nwakes, round);
        feed(w, 3, 0); /* not armed: no second write */
        assert_int_equal(w->h.nwakes, round);
        assert_int_equal(sirq_recv(w->sock, w->msgs, 2, 0), 2);
        assert_true(readable(fd)); /* more may be queued */
        assert_int_equal(sirq_recv(w->sock, w->msgs, 8, 0), 4);
    }
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(arguments_bad_are_einval),
        TEST(batch_takes_what_is_queued_in_order),
        TEST(batch_passes_one_bottom_half_enable),
        TEST(buffer_too_small_cuts_and_tells_the_length),
        TEST(inside_a_section_or_interrupt_is_edeadlk),
        TEST(thread_on_no_cpu_receives_too),
        TEST(empty_queue_sleeps_until_fed),
        TEST(timeout_counts_from_the_first_sleep),
        TEST(packet_that_comes_with_the_timeout_is_received),
        TEST(sleep_interrupted_is_eintr),
        TEST(packet_between_look_and_sleep_is_seen),
        TEST(fd_is_made_once_and_readable_at_first),
        TEST(fd_is_written_once_until_received_to_eagain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
