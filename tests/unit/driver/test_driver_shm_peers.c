/* SPDX-License-Identifier: MIT */
/*
 * The shared-memory NIC between processes and threads: who dies first, and a producer at full
 * speed against a consumer.
 */
#include "shm_env.h"

static void child_sends_until_killed(void)
{
    struct sirq_shm *shm;
    uint64_t seq = 0;

    if (sirq_shm_attach(&shm, &dev) != 0)
        _exit(1);
    while (seq < 5) {
        seq++;
        if (!sirq_shm_send(shm, &seq, sizeof(seq), seq))
            _exit(2);
    }
    raise(SIGKILL);
}

static void fork_child_sends_and_dies_everything_arrives(void **state)
{
    struct pollfd pfd = {.fd = dev.irq.fd, .events = POLLIN};
    int status;
    pid_t pid;

    (void)state;
    sirq_shm_close(wire);
    dev.driver->irq_unmask(&dev);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        child_sends_until_killed();
    assert_int_equal(poll(&pfd, 1, 10000), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(doorbells(), 1);
    dev.driver->irq_mask(&dev);
    dev.driver->irq_ack(&dev);
    assert_int_equal(rx_poll(64), 5);
    assert_int_equal(sink.disorder, 0);
    assert_int_equal(sirq_shm_attach(&wire, &dev), 0); /* the next producer goes on */
    assert_true(send_seq(6));
    assert_int_equal(rx_poll(64), 1);
    assert_sum(6);
}

/* The orphan of a killed engine: sends on, lives on, and says so. */
static void orphan_sends(int result, pid_t engine)
{
    uint64_t seq;

    for (int i = 0; i < 5000 && getppid() == engine; i++)
        usleep(1000);
    for (seq = 1; seq <= RING; seq++)
        send_seq(seq);
    _exit(write(result, "y", 1) == 1 ? 0 : 1);
}

static void engine_starts_orphan_and_dies(int result)
{
    pid_t engine = getpid();

    signal(SIGPIPE, SIG_DFL);
    dev.driver->irq_unmask(&dev);
    if (fork() == 0) {
        close(nic()->doorbell[0]); /* what fork inherited is not what keeps the pipe alive */
        close(nic()->doorbell[1]);
        orphan_sends(result, engine);
    }
    raise(SIGKILL);
}

static void engine_killed_producer_is_not_and_does_not_hang(void **state)
{
    struct pollfd pfd;
    int result[2];
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(result), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(result[0]);
        dev.driver->close(&dev); /* an engine of its own, whose pipe we do not hold */
        sirq_shm_close(wire);
        open_sized(RING, FRAME);
        engine_starts_orphan_and_dies(result[1]);
    }
    close(result[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    pfd = (struct pollfd){.fd = result[0], .events = POLLIN};
    assert_int_equal(poll(&pfd, 1, 10000), 1);
    assert_true(pfd.revents & POLLIN); /* and not only POLLHUP: killed before it could say */
    close(result[0]);
}

/* ---- a producer thread against a consumer ---------------------------------------------- */

struct stress {
    uint64_t frames;
    bool may_drop; /* else it waits for a place */
    bool lockstep; /* it waits until the frame before was taken */
    uint64_t unmasks, doorbells;
};

static void stress_pause(uint64_t seq)
{
    struct timespec ts = {.tv_nsec = 20000};

    if (seq % 64 == 0)
        sched_yield();
    if (seq % 4096 == 0)
        nanosleep(&ts, NULL); /* long enough for the consumer to unmask and sleep */
}

/* Tens to hundreds of ns, so that the two sides meet at every distance. */
static void stress_delay(uint64_t steps)
{
    for (volatile uint64_t i = 0; i < steps; i++)
        ;
}

/*
 * The next frame at the moment the last was taken, which is when the consumer unmasks: the
 * race that the order of stores and loads in shm_ring.h decides.
 */
static void stress_lockstep(uint64_t seq)
{
    for (unsigned spins = 0; sirq_shm_space(wire) < RING; spins++) {
        if (spins > 1000)
            sched_yield();
    }
    stress_delay(seq % 61);
    send_seq(seq);
}

static void *stress_produce(void *arg)
{
    struct stress *stress = arg;

    for (uint64_t seq = 1; seq <= stress->frames; seq++) {
        if (stress->lockstep) {
            stress_lockstep(seq);
            continue;
        }
        if (stress->may_drop) {
            send_seq(seq);
        } else {
            while (sirq_shm_space(wire) == 0)
                sched_yield();
            if (!send_seq(seq))
                abort();
        }
        stress_pause(seq);
    }
    /* One more that is never dropped tells the end, by doorbell like any other. */
    while (sirq_shm_space(wire) == 0)
        sched_yield();
    send_seq(stress->frames + 1);
    return NULL;
}

/* Sleep until rung; a doorbell that does not come is the lost wake-up looked for. */
static void stress_wait(struct stress *stress)
{
    struct pollfd pfd = {.fd = dev.irq.fd, .events = POLLIN};

    stress->unmasks++;
    if (stress->lockstep)
        stress_delay(stress->unmasks % 257);
    dev.driver->irq_unmask(&dev);
    if (!dev.driver->rx_pending(&dev) && poll(&pfd, 1, 10000) != 1) {
        print_error("a frame was published, the doorbell not rung\n");
        _exit(1); /* the producer thread waits for ever: no further test could run */
    }
    dev.driver->irq_mask(&dev);
    stress->doorbells += (uint64_t)doorbells();
    dev.driver->irq_ack(&dev);
}

/* The two sides on CPUs of their own, where there are two: on one they never meet. */
static void stress_spread(pthread_t producer, const cpu_set_t *allowed)
{
    pthread_t threads[2] = {producer, pthread_self()};
    unsigned n = 0;

    for (unsigned cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++) {
        cpu_set_t one;

        if (!CPU_ISSET(cpu, allowed))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        pthread_setaffinity_np(threads[n++], sizeof(one), &one);
    }
}

static void stress_run(struct stress *stress)
{
    pthread_t producer;
    cpu_set_t allowed;

    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    assert_int_equal(pthread_create(&producer, NULL, stress_produce, stress), 0);
    stress_spread(producer, &allowed);
    while (sink.last_seq <= stress->frames) {
        stress_wait(stress);
        while (rx_poll(16) == 16)
            ;
    }
    assert_int_equal(pthread_join(producer, NULL), 0);
    assert_int_equal(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
    assert_int_equal(sink.disorder, 0);
    assert_int_equal(stats().rx_errors, 0);
    assert_int_equal(stats().rx_waiting, 0);
    assert_true(stress->doorbells <= stress->unmasks);
    print_message("%lu frames, %lu unmasks, %lu doorbells\n", stress->frames, stress->unmasks,
                  stress->doorbells);
    assert_sum(stress->frames + 1);
}

static void stress_producer_that_waits_loses_nothing(void **state)
{
    struct stress stress = {.frames = 50000};

    (void)state;
    stress_run(&stress);
    assert_int_equal(sink.frames, stress.frames + 1);
    assert_int_equal(stats().rx_dropped, 0);
}

static void stress_producer_in_lockstep_is_always_heard(void **state)
{
    struct stress stress = {.frames = 20000, .lockstep = true};

    (void)state;
    stress_run(&stress);
    assert_int_equal(sink.frames, stress.frames + 1);
}

static void stress_producer_that_drops_counts_every_loss(void **state)
{
    struct stress stress = {.frames = 50000, .may_drop = true};

    (void)state;
    stress_run(&stress);
    assert_int_equal(sink.frames + stats().rx_dropped, stress.frames + 1);
    assert_int_equal(sink.frames, stats().rx_packets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHM_TEST(fork_child_sends_and_dies_everything_arrives),
        SHM_TEST(engine_killed_producer_is_not_and_does_not_hang),
        SHM_TEST(stress_producer_that_waits_loses_nothing),
        SHM_TEST(stress_producer_in_lockstep_is_always_heard),
        SHM_TEST(stress_producer_that_drops_counts_every_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
