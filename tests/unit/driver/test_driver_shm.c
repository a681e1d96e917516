/* SPDX-License-Identifier: MIT */
/*
 * The shared-memory NIC from both of its sides.  The test plays the stack (sirq_net_rx) and
 * the generic interrupt code: mask and acknowledge, poll, unmask, look again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sirq/shm.h>

#define SIRQ_DRIVER_PRIVATE
#include "shm_ring.h"

#define RING 8u
#define FRAME 128u

/* What the stack was given. */
static struct {
    uint64_t frames;
    uint64_t last_seq; /* of numbered frames; each must be greater than the one before */
    uint64_t disorder;
    uint32_t len;
    uint64_t rx_ns;
    uint8_t data[FRAME];
} sink;

static unsigned reports;

enum sirq_drop sirq_net_rx(struct sirq_cpu *cpu, struct sirq_netdev *dev, const uint8_t *frame,
                           uint32_t len, uint64_t rx_ns)
{
    uint64_t seq = 0;

    (void)cpu, (void)dev;
    sink.frames++;
    sink.len = len;
    sink.rx_ns = rx_ns;
    memcpy(sink.data, frame, len < FRAME ? len : FRAME);
    if (len >= sizeof(seq)) {
        memcpy(&seq, frame, sizeof(seq));
        sink.disorder += seq <= sink.last_seq;
        sink.last_seq = seq;
    }
    return SIRQ_DELIVERED;
}

static void count_report(struct sirq_cpu *cpu, const char *what, uint64_t value)
{
    (void)cpu, (void)what, (void)value;
    reports++;
}

static const struct sirq_host host = {.report = count_report};
static struct sirq_netdev dev;
static struct sirq_shm *wire;

static struct sirq_shm_nic *nic(void)
{
    return dev.priv;
}

static void open_sized(unsigned ring_size, unsigned frame_size)
{
    struct sirq_netdev_config config = {.ring_size = ring_size, .frame_size = frame_size};
    struct sirq_error err;

    memset(&sink, 0, sizeof(sink));
    reports = 0;
    dev = (struct sirq_netdev){.driver = sirq_driver_find("shm"), .host = &host};
    assert_int_equal(dev.driver->open(&dev, &config, &err), 0);
    assert_int_equal(sirq_shm_attach(&wire, &dev), 0);
}

static int setup(void **state)
{
    (void)state;
    open_sized(RING, FRAME);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sirq_shm_close(wire);
    dev.driver->close(&dev);
    assert_null(dev.priv);
    assert_int_equal(dev.irq.fd, -1);
    return 0;
}

static bool send_seq(uint64_t seq)
{
    uint8_t frame[60] = {0};

    memcpy(frame, &seq, sizeof(seq));
    return sirq_shm_send(wire, frame, sizeof(frame), 1000 + seq);
}

static int rx_poll(int budget)
{
    return dev.driver->rx_poll(NULL, &dev, budget);
}

static struct sirq_netdev_stats stats(void)
{
    struct sirq_netdev_stats out = {0};

    dev.driver->stats(&dev, &out);
    return out;
}

static void assert_sum(uint64_t offered)
{
    struct sirq_netdev_stats s = stats();

    assert_int_equal(s.rx_packets + s.rx_dropped + s.rx_waiting + s.rx_errors, offered);
}

static int doorbells(void)
{
    int bytes = -1;

    assert_int_equal(ioctl(dev.irq.fd, FIONREAD, &bytes), 0);
    return bytes;
}

static void open_device_is_masked_empty_and_has_its_own_mask(void **state)
{
    (void)state;
    assert_true(dev.irq.self_masking);
    assert_true(dev.irq.fd >= 0);
    assert_int_equal(nic()->map.ring->irq, SIRQ_SHM_MASKED);
    assert_false(dev.driver->rx_pending(&dev));
    assert_int_equal(rx_poll(64), 0);
    assert_int_equal(sirq_shm_space(wire), RING);
    assert_sum(0);
}

static void poll_frame_sent_arrives_whole_with_its_time(void **state)
{
    uint8_t frame[FRAME];

    (void)state;
    for (unsigned i = 0; i < FRAME; i++)
        frame[i] = (uint8_t)(i + 1);
    assert_true(sirq_shm_send(wire, frame, FRAME, 4711));
    assert_true(dev.driver->rx_pending(&dev));
    assert_int_equal(rx_poll(64), 1);
    assert_int_equal(sink.len, FRAME);
    assert_int_equal(sink.rx_ns, 4711);
    assert_memory_equal(sink.data, frame, FRAME);
    assert_false(dev.driver->rx_pending(&dev));
}

static void poll_frame_of_no_bytes_arrives_empty(void **state)
{
    (void)state;
    assert_true(sirq_shm_send(wire, "", 0, 1));
    sink.len = 99;
    assert_int_equal(rx_poll(1), 1);
    assert_int_equal(sink.len, 0);
}

static void poll_budget_smaller_than_ring_takes_the_oldest(void **state)
{
    (void)state;
    for (uint64_t seq = 1; seq <= 6; seq++)
        assert_true(send_seq(seq));
    assert_int_equal(rx_poll(0), 0);
    assert_int_equal(sink.frames, 0);
    assert_int_equal(rx_poll(4), 4);
    assert_int_equal(sink.last_seq, 4);
    assert_true(dev.driver->rx_pending(&dev));
    assert_sum(6);
    assert_int_equal(rx_poll(4), 2);
    assert_int_equal(sink.last_seq, 6);
    assert_int_equal(sink.disorder, 0);
}

static void ring_wrapped_many_times_keeps_order_and_sums(void **state)
{
    uint64_t seq = 0;

    (void)state;
    for (unsigned round = 0; round < 500; round++) {
        for (unsigned i = 0; i < 1 + round % RING; i++)
            assert_true(send_seq(++seq));
        rx_poll((int)(1 + round % RING));
        assert_int_equal(sink.last_seq, seq);
    }
    assert_int_equal(sink.frames, seq);
    assert_int_equal(sink.disorder, 0);
    assert_sum(seq);
}

static void send_full_ring_drops_the_new_frame_and_counts_it(void **state)
{
    (void)state;
    for (uint64_t seq = 1; seq <= RING; seq++)
        assert_true(send_seq(seq));
    assert_int_equal(sirq_shm_space(wire), 0);
    assert_false(send_seq(100));
    assert_false(send_seq(101));
    assert_null(sirq_shm_reserve(wire));
    assert_int_equal(stats().rx_dropped, 2);
    assert_int_equal(stats().rx_waiting, RING);
    assert_sum(RING + 2);
    assert_int_equal(rx_poll(3), 3);
    assert_int_equal(sirq_shm_space(wire), 3);
    assert_true(send_seq(102));
    assert_int_equal(rx_poll(64), RING - 3 + 1);
    assert_int_equal(sink.last_seq, 102);
    assert_sum(RING + 3);
}

static void send_frame_too_long_is_dropped_and_counted(void **state)
{
    uint8_t frame[FRAME + 1] = {0};

    (void)state;
    assert_false(sirq_shm_send(wire, frame, sizeof(frame), 0));
    assert_false(dev.driver->rx_pending(&dev));
    assert_int_equal(stats().rx_dropped, 1);
}

static void reserve_commit_is_seen_only_after_publish(void **state)
{
    uint64_t seq = 7;
    void *place = sirq_shm_reserve(wire);

    (void)state;
    assert_non_null(place);
    memcpy(place, &seq, sizeof(seq));
    assert_false(dev.driver->rx_pending(&dev));
    sirq_shm_commit(wire, sizeof(seq), 5);
    assert_false(dev.driver->rx_pending(&dev));
    sirq_shm_publish(wire);
    assert_int_equal(rx_poll(64), 1);
    assert_int_equal(sink.last_seq, 7);
    assert_int_equal(sink.len, sizeof(seq));
}

static void publish_burst_rings_once_and_nothing_rings_never(void **state)
{
    uint64_t seq = 0;

    (void)state;
    dev.driver->irq_unmask(&dev);
    sirq_shm_publish(wire);
    assert_int_equal(doorbells(), 0);
    for (void *place; (place = sirq_shm_reserve(wire));) {
        seq++;
        memcpy(place, &seq, sizeof(seq));
        sirq_shm_commit(wire, sizeof(seq), 0);
    }
    assert_int_equal(seq, RING);
    assert_int_equal(sirq_shm_space(wire), 0);
    assert_int_equal(doorbells(), 0);
    sirq_shm_publish(wire);
    assert_int_equal(doorbells(), 1);
    assert_int_equal(rx_poll(64), RING);
    assert_int_equal(sink.disorder, 0);
    assert_sum(RING);
}

static void count_drops_not_placed_enter_the_sum(void **state)
{
    (void)state;
    send_seq(1);
    sirq_shm_count_drops(wire, 41);
    assert_int_equal(stats().rx_dropped, 41);
    assert_sum(42);
}

static void doorbell_masked_device_is_never_rung(void **state)
{
    (void)state;
    for (uint64_t seq = 1; seq <= RING + 2; seq++)
        send_seq(seq);
    assert_int_equal(doorbells(), 0);
}

static void doorbell_unmasked_device_is_rung_exactly_once(void **state)
{
    (void)state;
    dev.driver->irq_unmask(&dev);
    assert_false(dev.driver->rx_pending(&dev));
    assert_int_equal(doorbells(), 0);
    for (uint64_t seq = 1; seq <= RING + 2; seq++)
        send_seq(seq);
    assert_int_equal(doorbells(), 1);
}

static void doorbell_each_unmask_is_rung_once_more(void **state)
{
    uint64_t seq = 0;

    (void)state;
    for (int round = 0; round < 20; round++) {
        dev.driver->irq_unmask(&dev);
        send_seq(++seq);
        send_seq(++seq);
        assert_int_equal(doorbells(), 1);
        dev.driver->irq_mask(&dev);
        dev.driver->irq_ack(&dev);
        assert_int_equal(doorbells(), 0);
        send_seq(++seq);
        assert_int_equal(doorbells(), 0);
        assert_int_equal(rx_poll(64), 3);
    }
}

static void unmask_after_a_frame_is_seen_by_the_second_look(void **state)
{
    (void)state;
    send_seq(1);
    dev.driver->irq_unmask(&dev);
    assert_int_equal(doorbells(), 0);
    assert_true(dev.driver->rx_pending(&dev));
}

static void ack_drains_everything_and_does_not_block(void **state)
{
    int errno_before;

    (void)state;
    for (int i = 0; i < 200; i++)
        assert_int_equal(write(nic()->doorbell[1], "", 1), 1);
    errno = errno_before = EXDEV;
    dev.driver->irq_ack(&dev);
    assert_int_equal(doorbells(), 0);
    dev.driver->irq_ack(&dev);
    assert_int_equal(errno, errno_before);
}

static void doorbell_full_pipe_neither_blocks_nor_loses_frames(void **state)
{
    char bytes[4096] = {0};

    (void)state;
    while (write(nic()->doorbell[1], bytes, sizeof(bytes)) > 0)
        ;
    while (write(nic()->doorbell[1], bytes, 1) > 0)
        ;
    dev.driver->irq_unmask(&dev);
    assert_true(send_seq(1));
    assert_int_equal(rx_poll(64), 1);
}

static void attach_after_a_producer_died_unrung_rings_again(void **state)
{
    (void)state;
    dev.driver->irq_unmask(&dev);
    send_seq(1);
    dev.driver->irq_ack(&dev); /* as if the byte had never been written */
    assert_int_equal(doorbells(), 0);
    sirq_shm_close(wire);
    assert_int_equal(sirq_shm_attach(&wire, &dev), 0);
    assert_int_equal(doorbells(), 1);
    dev.driver->irq_ack(&dev);
    nic()->map.ring->irq = SIRQ_SHM_UNMASKED; /* as if it had died before looking */
    sirq_shm_close(wire);
    assert_int_equal(sirq_shm_attach(&wire, &dev), 0);
    assert_int_equal(doorbells(), 1);
    assert_true(send_seq(2));
    assert_int_equal(rx_poll(64), 2);
    assert_sum(2);
}

static void attach_other_driver_is_refused(void **state)
{
    struct sirq_netdev other = dev;
    struct sirq_shm *shm;

    (void)state;
    other.driver = sirq_driver_find("packet");
    assert_int_equal(sirq_shm_attach(&shm, &other), -EINVAL);
}

static void attach_broken_ring_is_refused(void **state)
{
    struct sirq_shm *shm;

    (void)state;
    nic()->map.ring->prod = RING + 1;
    assert_int_equal(sirq_shm_attach(&shm, &dev), -EPROTO);
    nic()->map.ring->prod = 0;
    nic()->map.ring->version++;
    assert_int_equal(sirq_shm_attach(&shm, &dev), -EPROTO);
}

static void broken_index(uint64_t prod)
{
    uint64_t errors = stats().rx_errors;

    __atomic_store_n(&nic()->map.ring->prod, prod, __ATOMIC_SEQ_CST);
    assert_false(dev.driver->rx_pending(&dev));
    assert_int_equal(rx_poll(64), 0);
    assert_int_equal(stats().rx_errors, errors + 1);
    assert_int_equal(stats().rx_waiting, 0);
}

static void poll_impossible_index_is_empty_counted_and_reported_once(void **state)
{
    (void)state;
    send_seq(1);
    send_seq(2);
    assert_int_equal(rx_poll(1), 1);
    broken_index(1 + RING + 1);
    broken_index(0);
    broken_index(UINT64_MAX);
    broken_index(UINT64_MAX / 2);
    assert_int_equal(reports, 1);
    assert_int_equal(sink.frames, 1);
    nic()->map.ring->prod = 2; /* sane again: traffic goes on */
    assert_int_equal(rx_poll(64), 1);
    assert_int_equal(sink.last_seq, 2);
}

static void poll_impossible_length_is_refused_and_the_rest_passes(void **state)
{
    (void)state;
    for (uint64_t seq = 1; seq <= 4; seq++)
        send_seq(seq);
    nic()->map.descs[1].len = FRAME + 1;
    nic()->map.descs[2].len = UINT32_MAX;
    assert_int_equal(rx_poll(64), 4);
    assert_int_equal(sink.frames, 2);
    assert_int_equal(sink.last_seq, 4);
    assert_int_equal(stats().rx_errors, 2);
    assert_sum(4);
}

static void poll_overwritten_header_sizes_are_not_used(void **state)
{
    (void)state;
    nic()->map.ring->ring_size = UINT32_MAX;
    nic()->map.ring->frame_size = UINT32_MAX;
    nic()->map.ring->slot_size = UINT32_MAX;
    nic()->map.ring->cons = 12345;
    send_seq(1);
    nic()->map.descs[0].len = FRAME + 1;
    assert_int_equal(rx_poll(64), 1);
    assert_int_equal(sink.frames, 0);
    assert_int_equal(nic()->map.ring->cons, 1);
}

static void ring_memory_cannot_be_shrunk(void **state)
{
    (void)state;
    assert_int_equal(ftruncate(nic()->memfd, 4096), -1);
    assert_int_equal(errno, EPERM);
}

static void wire_device_closed_first_still_takes_frames(void **state)
{
    (void)state;
    dev.driver->irq_unmask(&dev);
    dev.driver->close(&dev);
    for (uint64_t seq = 1; seq <= RING; seq++)
        assert_true(send_seq(seq));
    assert_false(send_seq(99));
    sirq_shm_close(wire);
    open_sized(RING, FRAME);
}

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

#define SHM_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHM_TEST(open_device_is_masked_empty_and_has_its_own_mask),
        SHM_TEST(poll_frame_sent_arrives_whole_with_its_time),
        SHM_TEST(poll_frame_of_no_bytes_arrives_empty),
        SHM_TEST(poll_budget_smaller_than_ring_takes_the_oldest),
        SHM_TEST(ring_wrapped_many_times_keeps_order_and_sums),
        SHM_TEST(send_full_ring_drops_the_new_frame_and_counts_it),
        SHM_TEST(send_frame_too_long_is_dropped_and_counted),
        SHM_TEST(reserve_commit_is_seen_only_after_publish),
        SHM_TEST(publish_burst_rings_once_and_nothing_rings_never),
        SHM_TEST(count_drops_not_placed_enter_the_sum),
        SHM_TEST(doorbell_masked_device_is_never_rung),
        SHM_TEST(doorbell_unmasked_device_is_rung_exactly_once),
        SHM_TEST(doorbell_each_unmask_is_rung_once_more),
        SHM_TEST(unmask_after_a_frame_is_seen_by_the_second_look),
        SHM_TEST(ack_drains_everything_and_does_not_block),
        SHM_TEST(doorbell_full_pipe_neither_blocks_nor_loses_frames),
        SHM_TEST(attach_after_a_producer_died_unrung_rings_again),
        SHM_TEST(attach_other_driver_is_refused),
        SHM_TEST(attach_broken_ring_is_refused),
        SHM_TEST(poll_impossible_index_is_empty_counted_and_reported_once),
        SHM_TEST(poll_impossible_length_is_refused_and_the_rest_passes),
        SHM_TEST(poll_overwritten_header_sizes_are_not_used),
        SHM_TEST(ring_memory_cannot_be_shrunk),
        SHM_TEST(wire_device_closed_first_still_takes_frames),
        SHM_TEST(fork_child_sends_and_dies_everything_arrives),
        SHM_TEST(engine_killed_producer_is_not_and_does_not_hang),
        SHM_TEST(stress_producer_that_waits_loses_nothing),
        SHM_TEST(stress_producer_in_lockstep_is_always_heard),
        SHM_TEST(stress_producer_that_drops_counts_every_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
