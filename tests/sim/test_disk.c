/* SPDX-License-Identifier: MIT */
/* Simulated storage: service, queue, and completion through the BLOCK vector. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "flood_world.h"

#define SECOND UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define TASKS 8u

struct rig {
    struct sirq_sim *sim;
    struct sirq_sim_disk *disk[2];
    struct sirq_sim_task *task[TASKS];
    uint64_t reads[TASKS];
    unsigned ntasks;
};

struct reader {
    struct rig *rig;
    unsigned i, disk;
};

static void reader_main(struct sirq_sim_task *task, void *arg)
{
    struct reader *self = arg;

    for (;;) {
        sirq_sim_disk_read(task, self->rig->disk[self->disk]);
        self->rig->reads[self->i]++;
    }
}

static void open_rig(struct rig *rig, unsigned ncpus, const char *policy)
{
    struct sirq_sim_config sim = {
        .ncpus = ncpus, .hz = 1000, .seed = 3, .policy = sirq_policy_find(policy)};
    struct sirq_error err;

    *rig = (struct rig){0};
    for (unsigned i = 0; i < SIRQ_NR_COSTS; i++)
        sim.cost_ns[i] = flood_costs[i];
    assert_int_equal(sirq_sim_create(&rig->sim, &sim, &err), 0);
}

static void add_disk(struct rig *rig, unsigned i, const struct sirq_sim_disk_config *config)
{
    struct sirq_error err;

    assert_int_equal(sirq_sim_disk_create(rig->sim, config, &rig->disk[i], &err), 0);
}

static void spawn(struct rig *rig, struct reader *readers, unsigned n, unsigned disk, int cpu)
{
    for (; n > 0; n--) {
        unsigned i = rig->ntasks++;
        struct sirq_sim_task_config task = {
            .name = "reader", .fn = reader_main, .arg = &readers[i], .cpu = cpu};
        struct sirq_error err;

        readers[i] = (struct reader){.rig = rig, .i = i, .disk = disk};
        assert_int_equal(sirq_sim_spawn(rig->sim, &task, &rig->task[i], &err), 0);
    }
}

static struct sirq_sim_disk_stats disk_stats(const struct rig *rig, unsigned i)
{
    struct sirq_sim_disk_stats stats;

    sirq_sim_disk_stats(rig->disk[i], &stats);
    assert_true(stats.completed <= stats.requests);
    return stats;
}

static void disk_one_reader_waits_for_each_request(void **state)
{
    struct reader readers[TASKS];
    struct sirq_sim_disk_stats stats;
    struct rig rig;

    (void)state;
    open_rig(&rig, 2, "time2ms");
    add_disk(&rig, 0, &(struct sirq_sim_disk_config){.service_ns = 100000, .cpu = 1});
    spawn(&rig, readers, 1, 0, 0);
    sirq_sim_run(rig.sim, SECOND);
    stats = disk_stats(&rig, 0);
    assert_in_range(rig.reads[0], 9500, 9990);
    assert_in_range(stats.completed - rig.reads[0], 0, 1);
    assert_in_range(stats.latency_ns / stats.completed, 100000, 103000);
    /* Interrupt and vector are those of CPU 1. */
    assert_in_range(sirq_sim_core(rig.sim)->cpus[1].stats.vec[SIRQ_BLOCK].run, 9500, 9990);
    assert_int_equal(sirq_sim_core(rig.sim)->cpus[0].stats.vec[SIRQ_BLOCK].run, 0);
    assert_true(sirq_sim_core(rig.sim)->cpus[1].stats.vec[SIRQ_BLOCK].time_ns >=
                stats.completed * flood_costs[SIRQ_COST_BLK_DONE]);
    sirq_sim_destroy(rig.sim);
}

static uint64_t served(unsigned depth, unsigned queue, struct sirq_sim_disk_stats *stats)
{
    struct reader readers[TASKS];
    struct rig rig;

    open_rig(&rig, 2, "time2ms");
    add_disk(&rig, 0,
             &(struct sirq_sim_disk_config){
                 .service_ns = 100000, .jitter_ns = 20000, .depth = depth, .queue = queue});
    spawn(&rig, readers, TASKS, 0, -1);
    sirq_sim_run(rig.sim, SECOND);
    *stats = disk_stats(&rig, 0);
    for (unsigned i = 0; i < TASKS; i++) /* in the order of coming */
        assert_in_range(rig.reads[i], stats->completed / TASKS - 40, stats->completed / TASKS + 40);
    sirq_sim_destroy(rig.sim);
    return stats->completed;
}

static void disk_serves_depth_at_once(void **state)
{
    struct sirq_sim_disk_stats stats;

    (void)state;
    assert_in_range(served(1, 0, &stats), 9000, 9120); /* 110 us each, on average */
    assert_in_range(stats.latency_ns / stats.completed, 8 * 109000, 8 * 113000);
    assert_int_equal(stats.full, 0);
    assert_in_range(served(4, 0, &stats), 4 * 8900, 4 * 9120);
}

static void disk_full_queue_keeps_readers_outside(void **state)
{
    struct sirq_sim_disk_stats stats;

    (void)state;
    assert_in_range(served(1, 3, &stats), 8800, 9120);
    assert_true(stats.full > 8000);
    assert_in_range(stats.latency_ns / stats.completed, 8 * 109000, 8 * 115000);
}

static void disk_two_share_the_vector(void **state)
{
    struct reader readers[TASKS];
    struct rig rig;

    (void)state;
    open_rig(&rig, 2, "time2ms");
    add_disk(&rig, 0, &(struct sirq_sim_disk_config){.service_ns = 100000, .cpu = 0});
    add_disk(&rig, 1, &(struct sirq_sim_disk_config){.service_ns = 50000, .cpu = 1});
    spawn(&rig, readers, 1, 0, 0);
    spawn(&rig, readers, 1, 1, 1);
    sirq_sim_run(rig.sim, SECOND);
    assert_in_range(rig.reads[0], 9500, 9990);
    assert_in_range(rig.reads[1], 18000, 19900);
    sirq_sim_destroy(rig.sim);
}

/* A real-time hog: completions that are left to ksoftirqd wait until it is throttled. */
static void hog_main(struct sirq_sim_task *task, void *arg)
{
    (void)arg;
    for (;;)
        sirq_sim_spend(sirq_sim_of(task), MS);
}

static uint64_t latency_under(const char *policy)
{
    const struct sirq_sim_task_config hog = {
        .name = "hog",
        .fn = hog_main,
        .cpu = 1,
        .sched = {.policy = SCHED_FIFO, .priority = 50},
    };
    struct reader readers[TASKS];
    struct sirq_sim_disk_stats stats;
    struct sirq_error err;
    struct rig rig;

    open_rig(&rig, 2, policy);
    add_disk(&rig, 0, &(struct sirq_sim_disk_config){.service_ns = 100000, .cpu = 1});
    spawn(&rig, readers, 1, 0, 0);
    assert_int_equal(sirq_sim_spawn(rig.sim, &hog, NULL, &err), 0);
    sirq_sim_run(rig.sim, 2 * SECOND);
    stats = disk_stats(&rig, 0);
    assert_true(stats.completed > 10);
    sirq_sim_destroy(rig.sim);
    return stats.latency_ns / stats.completed;
}

static void disk_completion_is_the_policys_to_run(void **state)
{
    (void)state;
    assert_true(latency_under("time2ms") < 103000);
    assert_true(latency_under("threaded") > 500000);
}

/* Its completions go on elsewhere, those pending on the CPU that leaves among them. */
static void disk_outlives_the_cpu_that_it_interrupts(void **state)
{
    struct reader readers[TASKS];
    struct sirq_sim_disk_stats stats;
    struct sirq_error err;
    struct rig rig;

    (void)state;
    open_rig(&rig, 3, "threaded");
    add_disk(&rig, 0,
             &(struct sirq_sim_disk_config){.service_ns = 1000, .jitter_ns = 1000, .cpu = 1});
    spawn(&rig, readers, TASKS, 0, 0);
    for (uint64_t time = MS; time < 100 * MS; time += 2 * MS) {
        sirq_sim_run(rig.sim, time);
        assert_int_equal(sirq_sim_cpu_offline(rig.sim, 1 + time / MS / 2 % 2, &err), 0);
        sirq_sim_run(rig.sim, time + MS);
        sirq_sim_disk_stats(rig.disk[0], &stats);
        assert_int_equal(sirq_sim_cpu_online(rig.sim, 1 + time / MS / 2 % 2, &err), 0);
        sirq_sim_run(rig.sim, time + 3 * MS / 2);
        assert_true(disk_stats(&rig, 0).completed > stats.completed + 20);
    }
    assert_in_range(stats.requests - stats.completed, 0, TASKS);
    sirq_sim_destroy(rig.sim);
}

static void disk_create_refuses_by_name(void **state)
{
    static const struct {
        struct sirq_sim_disk_config config;
        const char *word;
    } bad[] = {
        {{.service_ns = 0}, "service_ns 0"},
        {{.service_ns = 1, .depth = 65}, "depth 65"},
        {{.service_ns = 1, .depth = 4, .queue = 3}, "queue 3"},
        {{.service_ns = 1, .cpu = 1}, "cpu 1"},
    };
    struct sirq_sim_disk *disk;
    struct sirq_error err;
    struct rig rig;

    (void)state;
    open_rig(&rig, 1, "time2ms");
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(sirq_sim_disk_create(rig.sim, &bad[i].config, &disk, &err), -EINVAL);
        assert_non_null(strstr(err.text, bad[i].word));
    }
    sirq_sim_destroy(rig.sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disk_one_reader_waits_for_each_request),
        cmocka_unit_test(disk_serves_depth_at_once),
        cmocka_unit_test(disk_full_queue_keeps_readers_outside),
        cmocka_unit_test(disk_two_share_the_vector),
        cmocka_unit_test(disk_completion_is_the_policys_to_run),
        cmocka_unit_test(disk_outlives_the_cpu_that_it_interrupts),
        cmocka_unit_test(disk_create_refuses_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
