/* SPDX-License-Identifier: MIT */
/* The engine starts, stops and refuses: nothing is left behind, and every refusal says why. */
#include "live_env.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sirq/timer.h>

static const enum sirq_delivery deliveries[] = {SIRQ_DELIVER_SIGNAL, SIRQ_DELIVER_THREAD,
                                                SIRQ_DELIVER_POLL};

static void own_handler(int signo)
{
    (void)signo;
}

static void start_and_stop_200_times_leaves_nothing(void **state)
{
    int signo = SIGRTMIN + 3;
    struct sigaction mine = {.sa_handler = own_handler}, now;
    struct env_counts before, after;

    (void)state;
    sigaction(signo, &mine, NULL);
    for (unsigned i = 0; i < 3; i++) /* what the C library takes once and keeps */
        sirq_live_stop(env_start(deliveries[i], env_ncpus));
    env_count(&before);
    for (unsigned i = 0; i < 200; i++) {
        struct sirq_live *live = env_start(deliveries[i % 3], 1 + i % env_ncpus);

        assert_int_equal(sirq_live_thread_register(live, -1, NULL, NULL), 0);
        sirq_live_thread_unregister(live);
        sirq_live_stop(live);
    }
    env_count(&after);
    assert_int_equal(after.tasks, before.tasks);
    assert_int_equal(after.fds, before.fds);
    if (!ENV_SANITIZER)                             /* whose own memory grows */
        assert_true(after.maps <= before.maps + 8); /* stacks that the C library keeps */
    sigaction(signo, NULL, &now);
    assert_ptr_equal(now.sa_handler, own_handler);
    sigaction(SIGIO, NULL, &now);
    assert_ptr_equal(now.sa_handler, SIG_DFL);
    signal(signo, SIG_DFL);
}

static void clock_is_as_fast_as_the_systems(void **state)
{
    struct sirq_live *live = env_start(SIRQ_DELIVER_THREAD, 1);
    const struct sirq_cpu *cpu = sirq_any_online(sirq_live_core(live));
    double best = 1;

    (void)state;
    /* Of several looks the best: this thread may lose its CPU between the two clocks. */
    for (unsigned i = 0; i < 5 && best > 0.001; i++) {
        uint64_t sys = env_now_ns(), own = sirq_now_ns(cpu);
        double off;

        env_sleep_us(20000);
        off = (double)(sirq_now_ns(cpu) - own) / (double)(env_now_ns() - sys) - 1;
        off = off < 0 ? -off : off;
        best = off < best ? off : best;
    }
    assert_true(best <= 0.001);
    sirq_live_stop(live);
}

static void stop_discards_signals_a_thread_has_blocked(void **state)
{
    struct sirq_live *live = env_start(SIRQ_DELIVER_SIGNAL, 1);
    sigset_t ours, before;

    (void)state;
    sigemptyset(&ours);
    sigaddset(&ours, SIGRTMIN + 3);
    sigaddset(&ours, SIGIO);
    pthread_sigmask(SIG_BLOCK, &ours, &before);
    raise(SIGRTMIN + 3); /* a late kick */
    raise(SIGIO);        /* and one for which there was no place in the queue */
    sirq_live_stop(live);
    pthread_sigmask(SIG_SETMASK, &before, NULL); /* would end the process */
}

/* ---- refusals -------------------------------------------------------------------------- */

/* `config` is refused with `ret`, the text has `word` in it, and nothing is left. */
static void expect_refusal(const struct sirq_live_config *config, int ret, const char *word)
{
    struct env_counts before, after;
    struct sirq_error err = {{0}};
    struct sirq_live *live = (void *)1;

    env_count(&before);
    assert_int_equal(sirq_live_start(&live, config, &err), ret);
    env_count(&after);
    assert_null(live);
    if (strstr(err.text, word) == NULL)
        fail_msg("\"%s\" does not name %s", err.text, word);
    assert_int_equal(after.tasks, before.tasks);
    assert_int_equal(after.fds, before.fds);
    sirq_live_stop(env_start(SIRQ_DELIVER_SIGNAL, 1)); /* and the next one starts */
}

static void start_with_cpu_that_is_not_there_is_refused(void **state)
{
    struct sirq_live_config config = {0};
    struct sirq_error err = {{0}};
    struct sirq_live *live;
    char word[32];
    cpu_set_t set;
    int ret;

    (void)state;
    CPU_ZERO(&set);
    config.cpus = &set;
    expect_refusal(&config, -EINVAL, "cpus");
    CPU_SET(env_numbers[0], &set);
    CPU_SET(1000, &set);
    expect_refusal(&config, -EINVAL, "cpu 1000");
    if (env_ncpus < 2)
        return;
    /* There, but outside of the affinity mask. */
    snprintf(word, sizeof(word), "cpu %u", env_numbers[1]);
    CPU_CLR(1000, &set);
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
    CPU_SET(env_numbers[1], &set);
    ret = sirq_live_start(&live, &config, &err);
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
    assert_int_equal(ret, -EINVAL);
    assert_non_null(strstr(err.text, word));
    assert_non_null(strstr(err.text, "affinity"));
}

static void start_with_bad_number_is_refused(void **state)
{
    (void)state;
    expect_refusal(&(struct sirq_live_config){.hz = 100001}, -EINVAL, "hz");
    expect_refusal(&(struct sirq_live_config){.delivery = 7}, -EINVAL, "delivery");
    expect_refusal(&(struct sirq_live_config){.max_threads = 1025}, -EINVAL, "max_threads");
    expect_refusal(&(struct sirq_live_config){.signo = SIGUSR1}, -EINVAL, "signo");
    expect_refusal(&(struct sirq_live_config){.signo = SIGRTMAX + 1}, -EINVAL, "signo");
    expect_refusal(&(struct sirq_live_config){.signo = -1}, -EINVAL, "signo");
    expect_refusal(&(struct sirq_live_config){.ksoftirqd = {.nice = 20}}, -EINVAL, "nice");
    expect_refusal(&(struct sirq_live_config){.ksoftirqd = {.nice = -21}}, -EINVAL, "nice");
    expect_refusal(&(struct sirq_live_config){.ksoftirqd = {.priority = 1}}, -EINVAL, "priority");
    expect_refusal(&(struct sirq_live_config){.ksoftirqd = {.policy = SCHED_FIFO, .priority = 100}},
                   -EINVAL, "priority");
    expect_refusal(&(struct sirq_live_config){.ksoftirqd = {.policy = SCHED_RR}}, -EINVAL,
                   "priority");
    expect_refusal(&(struct sirq_live_config){.ksoftirqd = {.policy = 77}}, -EINVAL, "class");
}

static void start_of_second_engine_is_refused(void **state)
{
    struct sirq_live *first = env_start(SIRQ_DELIVER_SIGNAL, 1), *second;
    const struct sirq_live_config config = {0};
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_live_start(&second, &config, &err), -EBUSY);
    assert_null(second);
    assert_non_null(strstr(err.text, "engine"));
    sirq_live_stop(first);
}

static void start_without_descriptors_is_refused(void **state)
{
    struct rlimit before, none;

    (void)state;
    getrlimit(RLIMIT_NOFILE, &before);
    for (unsigned extra = 0; extra < 4; extra++) {
        const struct sirq_live_config config = {.delivery = SIRQ_DELIVER_THREAD};
        struct sirq_live *live = NULL;
        struct sirq_error err = {{0}};
        int ret;

        none = (struct rlimit){.rlim_cur = 3 + extra, .rlim_max = before.rlim_max};
        setrlimit(RLIMIT_NOFILE, &none);
        ret = sirq_live_start(&live, &config, &err);
        setrlimit(RLIMIT_NOFILE, &before);
        if (ret == 0) {
            sirq_live_stop(live);
            continue;
        }
        assert_int_equal(ret, -EMFILE);
        assert_non_null(strstr(err.text, "irq/"));
    }
    sirq_live_stop(env_start(SIRQ_DELIVER_THREAD, 1));
}

/* ---- as an ordinary user ------------------------------------------------------------------ */

static int unprivileged(void)
{
    const struct rlimit none = {0, 0};
    const struct sirq_sched fifo = {.policy = SCHED_FIFO, .priority = 10};
    struct sirq_live_config config = {.ksoftirqd = fifo};
    struct sirq_sched nice = {.nice = -5};
    struct sirq_live *live;
    struct sirq_error err = {{0}};

    setrlimit(RLIMIT_RTPRIO, &none);
    setrlimit(RLIMIT_NICE, &none);
    if (getuid() == 0 && setuid(65534) != 0)
        return 10;
    if (sirq_live_start(&live, &config, &err) != -EPERM || live != NULL ||
        strstr(err.text, "ksoftirqd") == NULL || strstr(err.text, "CAP_SYS_NICE") == NULL)
        return 11;
    config.ksoftirqd = nice;
    if (sirq_live_start(&live, &config, &err) != -EPERM || strstr(err.text, "nice") == NULL)
        return 12;
    config.ksoftirqd = (struct sirq_sched){0};
    if (setpriority(PRIO_PROCESS, 0, 19) != 0) /* started by nice(1): that is no refusal */
        return 17;
    if (sirq_live_start(&live, &config, &err) != 0)
        return 13;
    if (sirq_live_thread_register(live, -1, &fifo, &err) != -EPERM ||
        strstr(err.text, "thread") == NULL || strstr(err.text, "SCHED_FIFO") == NULL)
        return 14;
    if (sirq_live_ksoftirqd_sched(live, env_numbers[0], &fifo, &err) != -EPERM)
        return 15;
    if (sirq_live_thread_register(live, -1, NULL, &err) != 0)
        return 16;
    sirq_live_thread_unregister(live);
    sirq_live_stop(live);
    return 0;
}

/* A program that an ordinary user started by nice(1). */
static int niced(void)
{
    const struct rlimit none = {0, 0};
    const struct sirq_live_config config = {0};
    struct sirq_live *live;
    struct sirq_error err = {{0}};

    setrlimit(RLIMIT_NICE, &none);
    if (setpriority(PRIO_PROCESS, 0, 5) != 0 || (getuid() == 0 && setuid(65534) != 0))
        return 10;
    if (sirq_live_start(&live, &config, &err) != 0)
        return 11;
    sirq_live_stop(live);
    return err.text[0] == '\0' ? 0 : 12;
}

static void start_when_niced_leaves_default_class_as_it_is(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(niced());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void start_without_permission_names_class_and_remedy(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(unprivileged());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- the CPU set --------------------------------------------------------------------------- */

static void cpu_set_changes_are_checked(void **state)
{
    struct sirq_live *live = env_start(SIRQ_DELIVER_THREAD, 1);
    const struct sirq_sched sched = {.nice = 1};
    struct sirq_live_usage usage;
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_live_cpu_add(live, 1000, &err), -EINVAL);
    assert_int_equal(sirq_live_cpu_add(live, CPU_SETSIZE, &err), -EINVAL);
    assert_int_equal(sirq_live_cpu_add(live, env_numbers[0], &err), -EBUSY);
    assert_int_equal(sirq_live_cpu_remove(live, env_numbers[0], &err), -EBUSY);
    assert_int_equal(sirq_live_cpu_remove(live, 1000, &err), -EINVAL);
    assert_int_equal(sirq_live_thread_register(live, 1000, NULL, &err), -EINVAL);
    assert_int_equal(sirq_live_ksoftirqd_sched(live, 1000, &sched, &err), -EINVAL);
    assert_int_equal(sirq_live_usage(live, 1000, &usage), -EINVAL);
    assert_null(sirq_live_cpu(live, 1000));
    sirq_live_stop(live);
}

static pid_t ksoftirqd_tid(unsigned cpu)
{
    char want[32], name[32];
    struct dirent *task;
    pid_t found = 0;
    DIR *dir = opendir("/proc/self/task");

    snprintf(want, sizeof(want), "ksoftirqd/%u\n", cpu);
    while (dir != NULL && (task = readdir(dir)) != NULL) {
        char path[300];
        FILE *file;

        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
        file = fopen(path, "r");
        if (file != NULL && fgets(name, sizeof(name), file) != NULL && strcmp(name, want) == 0)
            found = atoi(task->d_name);
        if (file != NULL)
            fclose(file);
    }
    if (dir != NULL)
        closedir(dir);
    return found;
}

static void count_run(struct sirq_cpu *cpu, void *data)
{
    (void)cpu;
    __atomic_fetch_add((unsigned *)data, 1, __ATOMIC_SEQ_CST);
}

static void count_timer(struct sirq_cpu *cpu, struct sirq_timer *timer, void *data)
{
    (void)timer;
    count_run(cpu, data);
}

static void delete_here(struct sirq_cpu *cpu, void *data)
{
    struct sirq_timer *timer = data;

    if (sirq_timer_cpu(timer) == cpu)
        assert_true(sirq_timer_del_local(cpu, timer));
}

static void removed_cpus_timer_is_found_and_deleted(void **state)
{
    struct sirq_live *live;
    struct sirq_timer timer;
    struct sirq_error err;
    struct sirq_cpu *cpu;
    unsigned runs = 0;

    (void)state;
    ENV_SKIP_UNLESS(env_ncpus >= 2, "needs 2 CPUs");
    live = env_start(SIRQ_DELIVER_SIGNAL, env_ncpus);
    cpu = sirq_live_cpu(live, env_numbers[1]);
    sirq_timer_init(&timer, count_timer, &runs);
    sirq_bh_disable(cpu);
    sirq_timer_mod_local(cpu, &timer, sirq_jiffies(cpu) + 1000000);
    sirq_bh_enable(cpu);
    assert_int_equal(sirq_live_cpu_remove(live, env_numbers[1], &err), 0);
    assert_ptr_equal(sirq_timer_cpu(&timer), sirq_live_cpu(live, env_numbers[0]));
    assert_int_equal(sirq_live_cpu_add(live, env_numbers[1], &err), 0);
    sirq_synchronize_call(sirq_live_core(live), delete_here, &timer);
    assert_false(sirq_timer_pending(&timer));
    assert_int_equal(runs, 0);
    sirq_live_stop(live);
}

static void ksoftirqd_class_nice_and_affinity_are_set_and_kept(void **state)
{
    struct sirq_live *live = env_start(SIRQ_DELIVER_SIGNAL, env_ncpus);
    const struct sirq_sched batch = {.policy = SCHED_BATCH, .nice = 5};
    unsigned runs = 0, cpu = env_numbers[env_ncpus - 1];
    cpu_set_t set, now, none_such;
    struct sirq_error err;
    pid_t tid;

    (void)state;
    CPU_ZERO(&set);
    CPU_SET(env_numbers[0], &set);
    CPU_ZERO(&none_such);
    CPU_SET(1000, &none_such);
    assert_int_equal(sirq_open(sirq_live_core(live), SIRQ_BLOCK, "test", count_run, &runs), 0);
    assert_int_equal(sirq_live_ksoftirqd_sched(live, cpu, &batch, &err), 0);
    assert_int_equal(sirq_live_ksoftirqd_affinity(live, cpu, &set, &err), 0);
    assert_int_equal(sirq_live_ksoftirqd_affinity(live, cpu, &none_such, &err), -EINVAL);
    assert_non_null(strstr(err.text, "ksoftirqd"));
    assert_int_equal(sirq_live_ksoftirqd_affinity(live, 1000, &set, &err), -EINVAL);
    if (env_ncpus > 1) { /* kept while the CPU is given away and taken back */
        assert_int_equal(sirq_live_cpu_remove(live, cpu, &err), 0);
        assert_int_equal(sirq_live_cpu_add(live, cpu, &err), 0);
    }
    tid = ksoftirqd_tid(cpu);
    assert_int_not_equal(tid, 0);
    assert_int_equal(sched_getscheduler(tid), SCHED_BATCH);
    assert_int_equal(getpriority(PRIO_PROCESS, (id_t)tid), 5);
    assert_int_equal(sched_getaffinity(tid, sizeof(now), &now), 0);
    assert_true(CPU_EQUAL(&now, &set));
    sirq_raise(sirq_live_cpu(live, cpu), SIRQ_BLOCK); /* and it still does its work */
    for (unsigned i = 0; i < 50000 && __atomic_load_n(&runs, __ATOMIC_SEQ_CST) == 0; i++)
        env_sleep_us(100);
    assert_int_equal(runs, 1);
    assert_int_equal(sirq_live_ksoftirqd_affinity(live, cpu, NULL, &err), 0);
    assert_int_equal(sched_getaffinity(tid, sizeof(now), &now), 0);
    assert_int_equal(CPU_COUNT(&now), 1);
    assert_true(CPU_ISSET(cpu, &now));
    sirq_live_stop(live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_and_stop_200_times_leaves_nothing),
        cmocka_unit_test(clock_is_as_fast_as_the_systems),
        cmocka_unit_test(stop_discards_signals_a_thread_has_blocked),
        cmocka_unit_test(start_with_cpu_that_is_not_there_is_refused),
        cmocka_unit_test(start_with_bad_number_is_refused),
        cmocka_unit_test(start_of_second_engine_is_refused),
        cmocka_unit_test(start_without_descriptors_is_refused),
        cmocka_unit_test(start_without_permission_names_class_and_remedy),
        cmocka_unit_test(start_when_niced_leaves_default_class_as_it_is),
        cmocka_unit_test(cpu_set_changes_are_checked),
        cmocka_unit_test(removed_cpus_timer_is_found_and_deleted),
        cmocka_unit_test(ksoftirqd_class_nice_and_affinity_are_set_and_kept),
    };

    env_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
