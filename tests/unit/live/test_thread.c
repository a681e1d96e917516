/* SPDX-License-Identifier: MIT */
/* Registration of threads, and what a registered thread sees of signal delivery. */
#include "live_env.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static struct sirq_live *live;
static uint64_t runs;

static void count_run(struct sirq_cpu *cpu, void *data)
{
    (void)cpu, (void)data;
    __atomic_fetch_add(&runs, 1, __ATOMIC_SEQ_CST);
}

static int set_up(void **state)
{
    (void)state;
    live = env_start(SIRQ_DELIVER_SIGNAL, env_ncpus);
    runs = 0;
    assert_int_equal(sirq_open(sirq_live_core(live), SIRQ_BLOCK, "test", count_run, NULL), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sirq_live_stop(live);
    return 0;
}

static void on_thread(void *(*fn)(void *), void *arg)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, fn, arg), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *register_twice(void *arg)
{
    struct sirq_error err;
    int *ret = arg;

    ret[0] = sirq_live_thread_register(live, -1, NULL, &err);
    ret[1] = sirq_live_thread_register(live, -1, NULL, &err);
    sirq_live_thread_unregister(live);
    sirq_live_thread_unregister(live); /* harmless */
    ret[2] = sirq_live_thread_register(live, -1, NULL, &err);
    sirq_live_thread_unregister(live);
    return NULL;
}

static void register_twice_is_refused(void **state)
{
    int ret[3];

    (void)state;
    on_thread(register_twice, ret);
    assert_int_equal(ret[0], 0);
    assert_int_equal(ret[1], -EBUSY);
    assert_int_equal(ret[2], 0);
}

/* ---- more threads than there is room for ------------------------------------------------ */

static pthread_barrier_t barrier;

static void *register_and_hold(void *arg)
{
    struct sirq_error err = {{0}};
    int ret = sirq_live_thread_register(live, -1, NULL, &err);

    pthread_barrier_wait(&barrier);
    if (ret == 0)
        sirq_live_thread_unregister(live);
    else if (ret == -ENOSPC && strstr(err.text, "max_threads") != NULL)
        __atomic_fetch_add((unsigned *)arg, 1, __ATOMIC_SEQ_CST);
    else
        abort();
    return NULL;
}

static void register_beyond_max_threads_is_refused(void **state)
{
    pthread_t threads[66];
    unsigned refused = 0;

    (void)state;
    pthread_barrier_init(&barrier, NULL, 66);
    for (unsigned i = 0; i < 66; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, register_and_hold, &refused), 0);
    for (unsigned i = 0; i < 66; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(refused, 2);
}

/* ---- as it was before ------------------------------------------------------------------ */

struct identity {
    cpu_set_t affinity;
    int policy, nice;
    sigset_t mask;
    stack_t stack;
};

static void look(struct identity *out)
{
    memset(out, 0, sizeof(*out));
    pthread_getaffinity_np(pthread_self(), sizeof(out->affinity), &out->affinity);
    out->policy = sched_getscheduler(0);
    out->nice = getpriority(PRIO_PROCESS, (id_t)gettid());
    pthread_sigmask(SIG_SETMASK, NULL, &out->mask);
    sigaltstack(NULL, &out->stack);
}

static bool alike(const struct identity *a, const struct identity *b)
{
    for (int signo = 1; signo <= SIGRTMAX; signo++)
        if (sigismember(&a->mask, signo) != sigismember(&b->mask, signo))
            return false;
    return CPU_EQUAL(&a->affinity, &b->affinity) && a->policy == b->policy && a->nice == b->nice &&
           a->stack.ss_sp == b->stack.ss_sp && a->stack.ss_flags == b->stack.ss_flags;
}

static void *change_and_restore(void *arg)
{
    const struct sirq_sched batch = {.policy = SCHED_BATCH};
    struct identity before, during, after;
    static char own_stack[65536];
    stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof(own_stack)};
    struct sirq_error err;
    sigset_t mask;

    sigaltstack(&stack, NULL);
    sigemptyset(&mask);
    sigaddset(&mask, SIGRTMIN + 3);
    sigaddset(&mask, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    look(&before);
    if (sirq_live_thread_register(live, (int)env_numbers[0], &batch, &err) != 0)
        return NULL;
    look(&during);
    sirq_live_thread_unregister(live);
    look(&after);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    *(bool *)arg = alike(&before, &after) && during.policy == SCHED_BATCH &&
                   CPU_COUNT(&during.affinity) == 1 && during.stack.ss_sp != own_stack &&
                   sigismember(&during.mask, SIGRTMIN + 3) == 0 &&
                   sigismember(&during.mask, SIGUSR2) == 1;
    return NULL;
}

static void unregister_restores_affinity_class_mask_and_stack(void **state)
{
    bool right = false;

    (void)state;
    on_thread(change_and_restore, &right);
    assert_true(right);
}

/* ---- rt awareness ---------------------------------------------------------------------- */

static void *register_as_rr(void *arg)
{
    const struct sirq_sched rr = {.policy = SCHED_RR, .priority = 20};
    const struct sched_param param = {.sched_priority = 20};
    const struct sirq_cpu *cpu = sirq_live_cpu(live, env_numbers[0]);
    uint32_t *seen = arg;

    if (sirq_live_thread_register(live, (int)env_numbers[0], &rr, NULL) != 0)
        return NULL;
    seen[0] = __atomic_load_n(&cpu->rt_tasks, __ATOMIC_SEQ_CST);
    sirq_live_thread_unregister(live);
    seen[1] = __atomic_load_n(&cpu->rt_tasks, __ATOMIC_SEQ_CST);
    /* Its own choice counts like the engine's. */
    sched_setscheduler(0, SCHED_RR, &param);
    sirq_live_thread_register(live, (int)env_numbers[0], NULL, NULL);
    seen[2] = __atomic_load_n(&cpu->rt_tasks, __ATOMIC_SEQ_CST);
    sirq_live_thread_unregister(live);
    seen[3] = __atomic_load_n(&cpu->rt_tasks, __ATOMIC_SEQ_CST);
    return NULL;
}

static void rt_thread_is_counted_while_registered(void **state)
{
    uint32_t seen[4] = {99, 99, 99, 99};

    (void)state;
    on_thread(register_as_rr, seen);
    ENV_SKIP_UNLESS(seen[0] != 99, "no permission for SCHED_RR");
    assert_int_equal(seen[0], 1);
    assert_int_equal(seen[1], 0);
    assert_int_equal(seen[2], 1);
    assert_int_equal(seen[3], 0);
}

/* ---- interrupted system calls ------------------------------------------------------------- */

static int pipe_fds[2];
static uint32_t blocked;

struct outcome {
    ssize_t n;
    int error, slept, wait;
};

static void *block_in_calls(void *arg)
{
    struct sirq_core *core = sirq_live_core(live);
    struct sirq_cpu *cpu = sirq_live_cpu(live, env_numbers[0]);
    struct timespec ts = {.tv_nsec = 50000000};
    struct sirq_wq wq = {.eventfd = -1};
    struct outcome *out = arg;
    char c;

    if (sirq_live_thread_register(live, (int)env_numbers[0], NULL, NULL) != 0)
        abort();
    __atomic_store_n(&blocked, 1, __ATOMIC_SEQ_CST);
    out->n = read(pipe_fds[0], &c, 1);
    out->error = errno;
    out->slept = nanosleep(&ts, NULL) == 0 ? 0 : errno;
    out->wait = core->host->wait(cpu, &wq, 0, 50000000);
    sirq_live_thread_unregister(live);
    return NULL;
}

static void blocked_read_is_restarted(void **state)
{
    struct outcome out = {0};
    struct sirq_cpu *cpu = sirq_live_cpu(live, env_numbers[0]);
    uint64_t on_top;
    pthread_t thread;

    (void)state;
    blocked = 0;
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(pthread_create(&thread, NULL, block_in_calls, &out), 0);
    while (!__atomic_load_n(&blocked, __ATOMIC_SEQ_CST))
        env_sleep_us(1000);
    for (unsigned i = 0; i < 50; i++) {
        sirq_raise_remote(cpu, SIRQ_BLOCK);
        env_sleep_us(500);
    }
    on_top = __atomic_load_n(&runs, __ATOMIC_SEQ_CST); /* of its read() */
    assert_int_equal(write(pipe_fds[1], "x", 1), 1);
    for (unsigned i = 0; i < 200; i++) {
        sirq_raise_remote(cpu, SIRQ_BLOCK);
        env_sleep_us(500);
    }
    pthread_join(thread, NULL);
    if (!ENV_TSAN) /* which keeps them for the end of the call */
        assert_true(on_top > 10);
    assert_int_equal(out.n, 1);
    assert_true(out.slept == 0 || out.slept == EINTR); /* nanosleep is never restarted */
    /* The engine's own signals are no reason for -EINTR. */
    assert_true(out.wait == 0 || out.wait == -ETIMEDOUT);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

/* ---- kicks find a living target ------------------------------------------------------------ */

static uint32_t stop_churn;

static void *churn(void *arg)
{
    unsigned cpu = env_numbers[*(unsigned *)arg % env_ncpus];

    while (!__atomic_load_n(&stop_churn, __ATOMIC_SEQ_CST)) {
        if (sirq_live_thread_register(live, (int)cpu, NULL, NULL) != 0)
            abort();
        if (*(unsigned *)arg % 3 == 0)
            env_sleep_us(100);
        sirq_live_thread_unregister(live);
    }
    return NULL;
}

static void kicks_are_answered_while_threads_come_and_go(void **state)
{
    unsigned ids[5] = {0, 1, 2, 3, 4};
    pthread_t threads[5];
    uint64_t end = env_now_ns() + 1000000000, slowest = 0;

    (void)state;
    stop_churn = 0;
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &ids[i]), 0);
    for (unsigned i = 0; env_now_ns() < end; i++) {
        struct sirq_cpu *cpu = sirq_live_cpu(live, env_numbers[i % env_ncpus]);
        uint64_t before = __atomic_load_n(&runs, __ATOMIC_SEQ_CST), start = env_now_ns(), took;

        sirq_raise_remote(cpu, SIRQ_BLOCK);
        while (__atomic_load_n(&runs, __ATOMIC_SEQ_CST) == before &&
               env_now_ns() - start < 5000000000)
            env_sleep_us(20);
        took = env_now_ns() - start;
        if (took > slowest)
            slowest = took;
    }
    __atomic_store_n(&stop_churn, 1, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < 5; i++)
        pthread_join(threads[i], NULL);
    /* A CPU that has gone deaf is helped by the watchdog after a second, not before. */
    assert_true(slowest < 900000000);
    for (unsigned i = 0; i < env_ncpus; i++)
        assert_int_equal(sirq_live_cpu(live, env_numbers[i])->stats.stalls, 0);
}

/* ---- an interrupt of the application's own ------------------------------------------------ */

static void run_thrice(struct sirq_cpu *cpu, void *data)
{
    unsigned *n = data;

    if (++*n % 3 != 0)
        sirq_raise(cpu, SIRQ_RCU);
}

static void *interrupt_self(void *arg)
{
    int *shut = arg;
    struct sirq_cpu *cpu = sirq_live_cpu(live, env_numbers[0]);
    sigset_t mask;

    if (sirq_live_thread_register(live, (int)env_numbers[0], NULL, NULL) != 0)
        return NULL;
    sirq_hardirq_enter(cpu);
    sirq_raise(cpu, SIRQ_RCU);
    sirq_hardirq_exit(cpu);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    *shut = sigismember(&mask, SIGRTMIN + 3);
    sirq_live_thread_unregister(live);
    return NULL;
}

static void interrupt_by_a_thread_leaves_its_signals_open(void **state)
{
    unsigned n = 0;
    int shut = -1;

    (void)state;
    sirq_set_policy(sirq_live_core(live), sirq_policy_find("restart10"));
    assert_int_equal(sirq_open(sirq_live_core(live), SIRQ_RCU, "thrice", run_thrice, &n), 0);
    on_thread(interrupt_self, &shut);
    assert_int_equal(n, 3);
    assert_int_equal(shut, 0);
}

/* ---- a thread on none of the engine's CPUs ----------------------------------------------- */

static void note_tid(struct sirq_cpu *cpu, void *data)
{
    (void)cpu;
    __atomic_store_n((pid_t *)data, gettid(), __ATOMIC_SEQ_CST);
}

/* Awake for the engine, and passing no safe point. */
static void *sleep_elsewhere(void *arg)
{
    if (sirq_live_thread_register(live, (int)env_numbers[0], NULL, NULL) != 0)
        abort();
    __atomic_store_n(&blocked, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n((pid_t *)arg, __ATOMIC_SEQ_CST) == 0)
        env_sleep_us(500);
    sirq_live_thread_unregister(live);
    return NULL;
}

static void sleeper_outside_takes_no_interrupts(void **state)
{
    struct sirq_wq wq = {.eventfd = -1};
    cpu_set_t before, outside;
    struct sirq_cpu *cpu;
    pthread_t thread;
    pid_t tid = 0;

    (void)state;
    ENV_SKIP_UNLESS(env_ncpus >= 2, "needs 2 CPUs");
    live = env_start(SIRQ_DELIVER_POLL, 1);
    cpu = sirq_live_cpu(live, env_numbers[0]);
    assert_int_equal(sirq_open(sirq_live_core(live), SIRQ_BLOCK, "test", note_tid, &tid), 0);
    blocked = 0;
    assert_int_equal(pthread_create(&thread, NULL, sleep_elsewhere, &tid), 0);
    while (!__atomic_load_n(&blocked, __ATOMIC_SEQ_CST))
        env_sleep_us(1000);
    sched_getaffinity(0, sizeof(before), &before);
    CPU_ZERO(&outside);
    CPU_SET(env_numbers[1], &outside);
    assert_int_equal(sched_setaffinity(0, sizeof(outside), &outside), 0);
    sirq_raise_remote(cpu, SIRQ_BLOCK);
    sirq_live_core(live)->host->wait(cpu, &wq, 0, 1000000);
    pthread_join(thread, NULL); /* irq/N has taken it after two ticks */
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    assert_int_not_equal(tid, gettid());
    sirq_live_stop(live);
}

#define CASE(subject_state_result) \
    cmocka_unit_test_setup_teardown(subject_state_result, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(register_twice_is_refused),
        CASE(register_beyond_max_threads_is_refused),
        CASE(unregister_restores_affinity_class_mask_and_stack),
        CASE(rt_thread_is_counted_while_registered),
        CASE(blocked_read_is_restarted),
        CASE(interrupt_by_a_thread_leaves_its_signals_open),
        CASE(kicks_are_answered_while_threads_come_and_go),
        cmocka_unit_test(sleeper_outside_takes_no_interrupts),
    };

    env_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
