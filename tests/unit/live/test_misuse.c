/* SPDX-License-Identifier: MIT */
/*
 * Wrong use of the engine: every kind ends in one message that names it, never in damage or
 * in silence.  Each case runs in a process of its own.
 */
#include "traffic.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOUND_S 20

struct outcome {
    int status;
    char text[4096]; /* what it wrote to stderr */
};

static void run_child(void (*fn)(void), int err_fd)
{
    const struct rlimit no_core = {0, 0};

    setrlimit(RLIMIT_CORE, &no_core);
    dup2(err_fd, STDERR_FILENO);
    alarm(BOUND_S);
    fn();
    fflush(NULL);
    _exit(0);
}

static void in_child(void (*fn)(void), struct outcome *out)
{
    size_t len = 0;
    int fds[2];
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        run_child(fn, fds[1]);
    close(fds[1]);
    while ((n = read(fds[0], out->text + len, sizeof(out->text) - 1 - len)) > 0)
        len += (size_t)n;
    out->text[len] = '\0';
    close(fds[0]);
    assert_int_equal(waitpid(pid, &out->status, 0), pid);
}

/* It is stopped by an assertion that says `word`. */
static void expect_bug(void (*fn)(void), const char *word)
{
    struct outcome out;

    in_child(fn, &out);
    if (!WIFSIGNALED(out.status) || WTERMSIG(out.status) != SIGABRT)
        fail_msg("ended with status %#x instead of SIGABRT: %s", (unsigned)out.status, out.text);
    if (strstr(out.text, word) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", out.text, word);
}

static void expect_well(void (*fn)(void))
{
    struct outcome out;

    in_child(fn, &out);
    if (out.status != 0)
        fail_msg("ended with status %#x: %s", (unsigned)out.status, out.text);
}

static struct sirq_live *live;
static struct traffic t;

static void on_thread(void *(*fn)(void *), void *arg)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, fn, arg) != 0 || pthread_join(thread, NULL) != 0)
        abort();
}

/* An action on ksoftirqd of the first CPU, waited for. */
static uint32_t action_done;

static void run_action(sirq_action_fn fn)
{
    struct sirq_core *core = sirq_live_core(live);

    if (sirq_open(core, SIRQ_BLOCK, "misuse", fn, NULL) != 0)
        _exit(9);
    sirq_raise(sirq_live_cpu(live, env_numbers[0]), SIRQ_BLOCK);
    while (!__atomic_load_n(&action_done, __ATOMIC_SEQ_CST))
        env_sleep_us(100);
}

/* ---- stop ------------------------------------------------------------------------------ */

static void stop_twice(void)
{
    live = env_start(SIRQ_DELIVER_SIGNAL, 1);
    sirq_live_stop(live);
    sirq_live_stop(live);
}

static void stop_of_an_engine_that_is_stopped_is_a_bug(void **state)
{
    (void)state;
    expect_bug(stop_twice, "sirq_live_stop: no such engine");
}

static void stop_old_while_new_runs(void)
{
    struct sirq_live *old = env_start(SIRQ_DELIVER_SIGNAL, 1);

    sirq_live_stop(old);
    live = env_start(SIRQ_DELIVER_SIGNAL, env_ncpus);
    if (live == old) /* the same memory again: nobody could tell */
        fputs("sirq_live_stop: no such engine", stderr), abort();
    sirq_live_stop(old);
}

static void stop_of_an_engine_before_this_one_is_a_bug(void **state)
{
    (void)state;
    expect_bug(stop_old_while_new_runs, "sirq_live_stop: no such engine");
}

static void stop_registered(void)
{
    live = env_start(SIRQ_DELIVER_SIGNAL, 1);
    sirq_live_thread_register(live, -1, NULL, NULL);
    sirq_live_stop(live);
}

static void stop_by_a_registered_thread_is_a_bug(void **state)
{
    (void)state;
    expect_bug(stop_registered, "still registered");
}

static void stop_attached(void)
{
    traffic_start(&t, SIRQ_DELIVER_SIGNAL, "time2ms");
    sirq_live_stop(t.live);
}

static void stop_with_a_device_attached_is_a_bug(void **state)
{
    (void)state;
    expect_bug(stop_attached, "still attached");
}

static void stop_action(struct sirq_cpu *cpu, void *data)
{
    (void)cpu, (void)data;
    sirq_live_stop(live);
}

static void stop_in_softirq(void)
{
    live = env_start(SIRQ_DELIVER_SIGNAL, 1);
    run_action(stop_action);
}

static void stop_in_a_softirq_is_a_bug(void **state)
{
    (void)state;
    expect_bug(stop_in_softirq, "sirq_live_stop: on a thread of the engine");
}

static void stop_in_report_fn(void *arg, unsigned cpu, const char *what, uint64_t value)
{
    (void)arg, (void)cpu, (void)what, (void)value;
    sirq_live_stop(live);
}

static uint32_t select_none(const struct sirq_view *view)
{
    (void)view;
    return 0;
}

static void no_action(struct sirq_cpu *cpu, void *data)
{
    (void)cpu, (void)data;
}

static void stop_in_report(void)
{
    static const struct sirq_policy hold = {.name = "hold", .select = select_none};
    const struct sirq_live_config config = {
        .policy = &hold, .stall_ns = 50000000, .report = stop_in_report_fn};

    if (sirq_live_start(&live, &config, NULL) != 0)
        _exit(9);
    run_action(no_action);
}

static void stop_in_the_report_callback_is_a_bug(void **state)
{
    (void)state;
    expect_bug(stop_in_report, "sirq_live_stop: on a thread of the engine");
}

/* ---- registration ---------------------------------------------------------------------- */

static void *register_and_end(void *arg)
{
    (void)arg;
    if (sirq_live_thread_register(live, (int)env_numbers[0], NULL, NULL) != 0)
        _exit(9);
    return NULL;
}

static void end_registered(void)
{
    live = env_start(SIRQ_DELIVER_SIGNAL, 1);
    on_thread(register_and_end, NULL);
}

static void thread_that_ends_registered_is_a_bug(void **state)
{
    (void)state;
    expect_bug(end_registered, "ended without sirq_live_thread_unregister");
}

static void register_action(struct sirq_cpu *cpu, void *data)
{
    (void)cpu, (void)data;
    sirq_live_thread_register(live, -1, NULL, NULL);
    __atomic_store_n(&action_done, 1, __ATOMIC_SEQ_CST);
}

static void register_in_softirq(void)
{
    live = env_start(SIRQ_DELIVER_SIGNAL, 1);
    run_action(register_action);
}

static void register_on_a_thread_of_the_engine_is_a_bug(void **state)
{
    (void)state;
    expect_bug(register_in_softirq, "sirq_live_thread_register: on a thread of the engine");
}

static void unregister_action(struct sirq_cpu *cpu, void *data)
{
    (void)cpu, (void)data;
    sirq_live_thread_unregister(live);
    __atomic_store_n(&action_done, 1, __ATOMIC_SEQ_CST);
}

static void unregister_in_softirq(void)
{
    live = env_start(SIRQ_DELIVER_SIGNAL, 1);
    if (sirq_live_thread_register(live, (int)env_numbers[0], NULL, NULL) != 0 ||
        sirq_open(sirq_live_core(live), SIRQ_BLOCK, "misuse", unregister_action, NULL) != 0)
        _exit(9);
    sirq_bh_disable(sirq_live_cpu(live, env_numbers[0]));
    sirq_raise(sirq_live_cpu(live, env_numbers[0]), SIRQ_BLOCK);
    sirq_bh_enable(sirq_live_cpu(live, env_numbers[0]));
}

static void unregister_in_a_softirq_is_a_bug(void **state)
{
    (void)state;
    expect_bug(unregister_in_softirq, "sirq_live_thread_unregister: in a softirq");
}

/* ---- sections -------------------------------------------------------------------------- */

static void *end_inside_section(void *arg)
{
    (void)arg;
    sirq_bh_disable(sirq_live_cpu(live, env_numbers[0]));
    return NULL;
}

static void lose_owner(void)
{
    live = env_start(SIRQ_DELIVER_SIGNAL, 1);
    on_thread(end_inside_section, NULL);
    sirq_bh_disable(sirq_live_cpu(live, env_numbers[0]));
}

static void thread_that_ended_inside_a_section_is_a_bug_for_the_next(void **state)
{
    (void)state;
    expect_bug(lose_owner, "bottom halves");
}

static void enable_too_often(void)
{
    live = env_start(SIRQ_DELIVER_SIGNAL, 1);
    sirq_bh_enable(sirq_live_cpu(live, env_numbers[0]));
}

static void enable_without_disable_is_a_bug(void **state)
{
    (void)state;
    expect_bug(enable_too_often, "bh_depth");
}

static void raise_unopened(void)
{
    live = env_start(SIRQ_DELIVER_SIGNAL, 1);
    sirq_raise(sirq_live_cpu(live, env_numbers[0]), SIRQ_BLOCK);
}

static void raise_of_a_vector_without_action_is_a_bug(void **state)
{
    (void)state;
    expect_bug(raise_unopened, "action");
}

/* ---- sockets --------------------------------------------------------------------------- */

/* Takes what there is, then sleeps for ever. */
static void *receive_for_ever(void *arg)
{
    uint8_t buf[2048];
    struct sirq_msg msg = {.buf = buf, .size = sizeof(buf)};

    (void)arg;
    while (sirq_recv(t.sock, &msg, 1, -1) > 0)
        ;
    return NULL;
}

static void close_under_receiver(void)
{
    pthread_t receiver;

    traffic_start(&t, SIRQ_DELIVER_SIGNAL, "time2ms");
    if (pthread_create(&receiver, NULL, receive_for_ever, NULL) != 0)
        _exit(10);
    __atomic_store_n(&t.stop_producer, 1, __ATOMIC_SEQ_CST);
    pthread_join(t.producer, NULL);
    env_sleep_us(300000);
    sirq_live_detach(t.live, &t.dev);
    sirq_socket_close(t.sock);
}

static void close_with_a_receiver_inside_is_a_bug(void **state)
{
    (void)state;
    expect_bug(close_under_receiver, "nwaiters");
}

static int recv_ret;

static void recv_action(struct sirq_cpu *cpu, void *data)
{
    struct sirq_msg msg = {0};

    (void)cpu, (void)data;
    recv_ret = sirq_recv(t.sock, &msg, 1, -1);
    __atomic_store_n(&action_done, 1, __ATOMIC_SEQ_CST);
}

static void recv_in_softirq(void)
{
    traffic_start(&t, SIRQ_DELIVER_SIGNAL, "time2ms");
    live = t.live;
    run_action(recv_action);
    if (recv_ret != -EDEADLK)
        _exit(10);
    traffic_stop(&t);
}

static void recv_in_a_softirq_is_refused(void **state)
{
    (void)state;
    expect_well(recv_in_softirq);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stop_of_an_engine_that_is_stopped_is_a_bug),
        cmocka_unit_test(stop_of_an_engine_before_this_one_is_a_bug),
        cmocka_unit_test(stop_by_a_registered_thread_is_a_bug),
        cmocka_unit_test(stop_with_a_device_attached_is_a_bug),
        cmocka_unit_test(stop_in_a_softirq_is_a_bug),
        cmocka_unit_test(stop_in_the_report_callback_is_a_bug),
        cmocka_unit_test(thread_that_ends_registered_is_a_bug),
        cmocka_unit_test(register_on_a_thread_of_the_engine_is_a_bug),
        cmocka_unit_test(unregister_in_a_softirq_is_a_bug),
        cmocka_unit_test(thread_that_ended_inside_a_section_is_a_bug_for_the_next),
        cmocka_unit_test(enable_without_disable_is_a_bug),
        cmocka_unit_test(raise_of_a_vector_without_action_is_a_bug),
        cmocka_unit_test(close_with_a_receiver_inside_is_a_bug),
        cmocka_unit_test(recv_in_a_softirq_is_refused),
    };

    env_init();
    return cmocka_run_group_tests_name("misuse", tests, NULL, NULL);
}
