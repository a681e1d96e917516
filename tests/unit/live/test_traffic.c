/* SPDX-License-Identifier: MIT */
/* The live host under traffic: every packet is received or counted, whatever else happens. */
#include "traffic.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

static struct traffic t;

static const enum sirq_delivery deliveries[] = {SIRQ_DELIVER_SIGNAL, SIRQ_DELIVER_THREAD,
                                                SIRQ_DELIVER_POLL};
#define FOR_EACH_DELIVERY(i) for (unsigned i = 0; i < 3; i++)

static void expect_progress(void)
{
    uint64_t before = traffic_received(&t), end = env_now_ns() + 5000000000;

    while (traffic_received(&t) < before + 100 && env_now_ns() < end)
        env_sleep_us(500);
    assert_true(traffic_received(&t) >= before + 100);
}

static void several_receivers_on_one_socket_get_everything(void **state)
{
    (void)state;
    FOR_EACH_DELIVERY(i)
    {
        traffic_start(&t, deliveries[i], "ksoftirqd");
        for (unsigned r = 0; r < 3; r++)
            traffic_receiver(&t, env_numbers[r % env_ncpus]);
        for (unsigned round = 0; round < 10; round++)
            expect_progress();
        traffic_settle(&t);
        traffic_stop(&t);
    }
}

/* ---- threads that come and go --------------------------------------------------------- */

static uint32_t stop_churn;

static void *churn(void *arg)
{
    unsigned cpu = *(const unsigned *)arg;

    while (!__atomic_load_n(&stop_churn, __ATOMIC_SEQ_CST)) {
        if (sirq_live_thread_register(t.live, (int)cpu, NULL, NULL) != 0)
            abort();
        for (volatile unsigned i = 0; i < 2000; i++)
            ;
        sirq_live_thread_unregister(t.live);
        env_sleep_us(30);
    }
    return NULL;
}

static void threads_registering_in_a_signal_storm_lose_nothing(void **state)
{
    pthread_t threads[4];

    (void)state;
    FOR_EACH_DELIVERY(i)
    {
        stop_churn = 0;
        traffic_start(&t, deliveries[i], "time2ms");
        traffic_receiver(&t, env_numbers[0]);
        for (unsigned k = 0; k < 4; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, churn, &env_numbers[k % env_ncpus]),
                             0);
        for (unsigned round = 0; round < 20; round++)
            expect_progress();
        __atomic_store_n(&stop_churn, 1, __ATOMIC_SEQ_CST);
        for (unsigned k = 0; k < 4; k++)
            pthread_join(threads[k], NULL);
        traffic_settle(&t);
        traffic_stop(&t);
    }
}

/* ---- eventfd --------------------------------------------------------------------------- */

static void *receive_by_epoll(void *arg)
{
    struct epoll_event event = {.events = EPOLLIN};
    int epfd = epoll_create1(EPOLL_CLOEXEC), n;
    char bytes[128];
    struct sirq_msg msg = {.buf = bytes, .size = sizeof(bytes)};

    (void)arg;
    if (epoll_ctl(epfd, EPOLL_CTL_ADD, sirq_socket_fd(t.sock), &event) != 0 ||
        sirq_live_thread_register(t.live, (int)env_numbers[0], NULL, NULL) != 0)
        abort();
    while (!__atomic_load_n(&t.stop_receivers, __ATOMIC_SEQ_CST)) {
        n = epoll_wait(epfd, &event, 1, 1000);
        if (n == 0 && !__atomic_load_n(&t.stop_receivers, __ATOMIC_SEQ_CST)) {
            struct sirq_socket_stats stats;

            sirq_socket_stats(t.sock, &stats);
            if (stats.len > 0)
                __atomic_fetch_add(&t.errors, 1, __ATOMIC_SEQ_CST); /* asleep beside a packet */
        }
        while ((n = sirq_recv(t.sock, &msg, 1, 0)) == 1)
            __atomic_fetch_add(&t.received, 1, __ATOMIC_SEQ_CST);
        if (n != -EAGAIN)
            __atomic_fetch_add(&t.errors, 1, __ATOMIC_SEQ_CST);
    }
    sirq_live_thread_unregister(t.live);
    close(epfd);
    return NULL;
}

static void eventfd_in_epoll_announces_every_packet(void **state)
{
    (void)state;
    FOR_EACH_DELIVERY(i)
    {
        traffic_start(&t, deliveries[i], "ksoftirqd");
        assert_int_equal(pthread_create(&t.receivers[t.nreceivers++], NULL, receive_by_epoll, NULL),
                         0);
        for (unsigned round = 0; round < 20; round++)
            expect_progress();
        traffic_settle(&t);
        traffic_stop(&t);
    }
}

/* ---- taking down and moving ------------------------------------------------------------- */

static void detach_and_stop_in_the_middle_of_traffic_is_clean(void **state)
{
    struct env_counts before, after;

    (void)state;
    env_count(&before);
    for (unsigned round = 0; round < 30; round++) {
        traffic_start(&t, deliveries[round % 3], round % 2 ? "ksoftirqd" : "inline");
        env_sleep_us(500 * (round % 8));
        sirq_live_detach(t.live, &t.dev); /* the producer goes on */
        traffic_stop(&t);
    }
    env_count(&after);
    assert_int_equal(after.tasks, before.tasks);
    assert_int_equal(after.fds, before.fds);
}

static void cpus_given_and_taken_under_traffic_lose_nothing(void **state)
{
    static const char *const policies[] = {"ksoftirqd", "inline", "time2ms", "threaded"};
    struct sirq_error err;

    (void)state;
    ENV_SKIP_UNLESS(env_ncpus >= 2, "needs 2 CPUs");
    for (unsigned round = 0; round < 12; round++) {
        traffic_start(&t, deliveries[round % 3], policies[round / 3]);
        traffic_receiver(&t, env_numbers[0]);
        traffic_receiver(&t, env_numbers[1]);
        for (unsigned i = 0; i < 6; i++) {
            unsigned gone = env_numbers[i % 2];

            assert_int_equal(sirq_live_cpu_remove(t.live, gone, &err), 0);
            assert_null(sirq_live_cpu(t.live, gone));
            assert_int_equal(sirq_live_cpu_number(t.dev.irq.cpu), env_numbers[!(i % 2)]);
            expect_progress();
            assert_int_equal(sirq_live_cpu_add(t.live, gone, &err), 0);
        }
        traffic_settle(&t);
        traffic_stop(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_receivers_on_one_socket_get_everything),
        cmocka_unit_test(threads_registering_in_a_signal_storm_lose_nothing),
        cmocka_unit_test(eventfd_in_epoll_announces_every_packet),
        cmocka_unit_test(detach_and_stop_in_the_middle_of_traffic_is_clean),
        cmocka_unit_test(cpus_given_and_taken_under_traffic_lose_nothing),
    };

    env_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
