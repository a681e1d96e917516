/* SPDX-License-Identifier: MIT */
/* Simulated NICs: several rings, the line that they share, bursts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "flood_world.h"

#define SIRQ_SIM_PRIVATE
#include "../../src/sim/nic.h"

#define SECOND UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define PORT 7000u
#define RINGS 4u

struct rig {
    struct sirq_sim *sim;
    struct sirq_net *net;
    struct sirq_sim_nic *nic;
    struct sirq_netdev dev[RINGS];
    unsigned rings;
};

static const struct sirq_sim_source_config base = {.rate = 1000, .dport = PORT, .size = 60};

/* A CPU per ring, no socket: frames that are looked at are dropped for their port. */
static void open_rig(struct rig *rig, const struct sirq_sim_nic_config *config)
{
    struct sirq_sim_config sim = {.hz = 1000, .seed = 1};
    struct sirq_error err;

    *rig = (struct rig){.rings = config->rings != 0 ? config->rings : 1};
    sim.ncpus = rig->rings;
    for (unsigned i = 0; i < SIRQ_NR_COSTS; i++)
        sim.cost_ns[i] = flood_costs[i];
    assert_int_equal(sirq_sim_create(&rig->sim, &sim, &err), 0);
    assert_int_equal(sirq_net_create(&rig->net, sirq_sim_core(rig->sim), NULL), 0);
    assert_int_equal(sirq_sim_nic_create(rig->sim, config, &rig->nic, &err), 0);
    for (unsigned i = 0; i < rig->rings; i++) {
        const struct sirq_netdev_config dev = {.device = rig->nic, .queue = i};

        assert_int_equal(sirq_netdev_open(&rig->dev[i], rig->net, &sirq_sim_driver, &dev, &err), 0);
    }
}

static void attach(struct rig *rig)
{
    struct sirq_error err;

    for (unsigned i = 0; i < rig->rings; i++)
        assert_int_equal(sirq_sim_attach(rig->sim, i, &rig->dev[i], &err), 0);
}

static void close_rig(struct rig *rig)
{
    for (unsigned i = 0; i < rig->rings; i++) {
        if (rig->dev[i].irq.cpu != NULL)
            sirq_sim_detach(rig->sim, &rig->dev[i]);
        sirq_netdev_close(&rig->dev[i]);
    }
    sirq_net_destroy(rig->net);
    sirq_sim_destroy(rig->sim);
}

static void add(struct rig *rig, const struct sirq_sim_source_config *config)
{
    struct sirq_error err = {0};

    assert_int_equal(sirq_sim_source(rig->nic, config, &err), 0);
}

static struct sirq_sim_nic_stats ring_stats(struct rig *rig, unsigned ring)
{
    struct sirq_sim_nic_stats stats;

    sirq_sim_ring_stats(rig->nic, ring, &stats);
    assert_int_equal(stats.arrived, stats.dropped + stats.taken + stats.waiting);
    return stats;
}

static struct sirq_sim_nic_stats nic_stats(struct rig *rig)
{
    struct sirq_sim_nic_stats stats, sum = {0};

    for (unsigned i = 0; i < rig->rings; i++) {
        struct sirq_sim_nic_stats ring = ring_stats(rig, i);

        sum.arrived += ring.arrived;
        sum.taken += ring.taken;
        sum.dropped += ring.dropped;
        sum.waiting += ring.waiting;
    }
    sirq_sim_nic_stats(rig->nic, &stats);
    assert_int_equal(stats.arrived, sum.arrived);
    assert_int_equal(stats.taken, sum.taken);
    assert_int_equal(stats.dropped, sum.dropped);
    assert_int_equal(stats.waiting, sum.waiting);
    return stats;
}

static uint64_t frame_time(const struct rig *rig, unsigned ring, uint32_t i)
{
    return sirq_ring_slot(&rig->nic->ring[ring], i)->time;
}

/* ---- rings ---------------------------------------------------------------------------- */

static void rings_source_with_a_fixed_ring_arrives_there_alone(void **state)
{
    struct rig rig;
    struct sirq_sim_source_config source = base;

    (void)state;
    open_rig(&rig, &(struct sirq_sim_nic_config){.rings = RINGS});
    attach(&rig);
    source.ring_fixed = true;
    source.ring = 2;
    add(&rig, &source);
    sirq_sim_run(rig.sim, SECOND);
    assert_in_range(ring_stats(&rig, 2).taken, 999, 1001);
    assert_int_equal(nic_stats(&rig).arrived, ring_stats(&rig, 2).arrived);
    assert_true(sirq_sim_core(rig.sim)->cpus[2].stats.hardirqs > 900);
    assert_int_equal(rig.dev[2].irqs, ring_stats(&rig, 2).taken);
    assert_int_equal(rig.dev[0].irqs, 0);
    close_rig(&rig);
}

static void rings_hash_spreads_sources_over_all(void **state)
{
    struct rig rig;
    struct sirq_sim_source_config source = base;

    (void)state;
    open_rig(&rig, &(struct sirq_sim_nic_config){.rings = RINGS});
    attach(&rig);
    for (unsigned i = 0; i < 64; i++) {
        source.sport = (uint16_t)(1000 + i);
        add(&rig, &source);
    }
    sirq_sim_run(rig.sim, SECOND);
    for (unsigned i = 0; i < RINGS; i++)
        assert_in_range(ring_stats(&rig, i).arrived, 8000, 24000);
    assert_in_range(nic_stats(&rig).arrived, 63900, 64100);
    close_rig(&rig);
}

static void rings_full_one_loses_and_the_others_do_not(void **state)
{
    struct rig rig;
    struct sirq_sim_source_config flood = base, calm = base;

    (void)state;
    open_rig(&rig, &(struct sirq_sim_nic_config){.rings = 2, .ring_size = 64});
    attach(&rig);
    flood.ring_fixed = calm.ring_fixed = true;
    flood.rate = 10000000;
    calm.ring = 1;
    add(&rig, &flood);
    add(&rig, &calm);
    sirq_sim_run(rig.sim, SECOND / 10);
    assert_true(ring_stats(&rig, 0).dropped > 100000);
    assert_int_equal(ring_stats(&rig, 1).dropped, 0);
    assert_in_range(ring_stats(&rig, 1).taken, 99, 101);
    close_rig(&rig);
}

/* The same world, looked at never or all the time, and at other rings first. */
static uint64_t look(uint64_t step_ns, bool backwards, struct sirq_sim_nic_stats *stats)
{
    struct rig rig;
    struct sirq_sim_source_config source = base;
    uint64_t digest;

    open_rig(&rig,
             &(struct sirq_sim_nic_config){
                 .rings = RINGS, .ring_size = 64, .line_mbit = 1000, .irq_interval_ns = 50000});
    attach(&rig);
    source.arrivals = SIRQ_SIM_POISSON;
    source.rate = 200000;
    for (unsigned i = 0; i < 8; i++) {
        source.ring_fixed = true;
        source.ring = i % RINGS;
        source.size = 60 + i * 100;
        add(&rig, &source);
    }
    for (uint64_t time = step_ns; time <= 20 * MS; time += step_ns) {
        sirq_sim_run(rig.sim, time);
        for (unsigned i = 0; i < RINGS; i++)
            ring_stats(&rig, backwards ? RINGS - 1 - i : i);
    }
    for (unsigned i = 0; i < RINGS; i++)
        stats[i] = ring_stats(&rig, i);
    digest = sirq_sim_digest(rig.sim);
    close_rig(&rig);
    return digest;
}

static void rings_looks_change_nothing(void **state)
{
    struct sirq_sim_nic_stats once[RINGS], often[RINGS], backwards[RINGS];
    uint64_t digest = look(20 * MS, false, once);

    (void)state;
    assert_int_equal(look(MS / 10, false, often), digest);
    assert_int_equal(look(MS / 200, true, backwards), digest);
    assert_memory_equal(once, often, sizeof(once));
    assert_memory_equal(once, backwards, sizeof(once));
    for (unsigned i = 0; i < RINGS; i++)
        assert_true(once[i].arrived > 1000);
}

static void rings_open_refuses_what_is_not_there(void **state)
{
    const struct sirq_sim_nic_config config = {.rings = 2};
    struct sirq_sim_source_config source = base;
    struct sirq_netdev_config queue = {.queue = 2};
    struct sirq_sim_nic *nic;
    struct sirq_netdev dev;
    struct sirq_error err;
    struct rig rig;

    (void)state;
    open_rig(&rig, &config);
    queue.device = rig.nic;
    assert_int_equal(sirq_netdev_open(&dev, rig.net, &sirq_sim_driver, &queue, &err), -EINVAL);
    assert_non_null(strstr(err.text, "queue 2"));
    queue.queue = 1;
    assert_int_equal(sirq_netdev_open(&dev, rig.net, &sirq_sim_driver, &queue, &err), -EBUSY);
    source.ring_fixed = true;
    source.ring = 2;
    assert_int_equal(sirq_sim_source(rig.nic, &source, &err), -EINVAL);
    assert_non_null(strstr(err.text, "ring 2"));
    assert_int_equal(sirq_sim_nic_create(rig.sim,
                                         &(struct sirq_sim_nic_config){.rings = SIRQ_SIM_RINGS + 1},
                                         &nic, &err),
                     -EINVAL);
    assert_non_null(strstr(err.text, "rings 65"));
    close_rig(&rig);
}

/* ---- the line ------------------------------------------------------------------------- */

static void line_rate_bounds_all_sources_together(void **state)
{
    struct rig rig;
    struct sirq_sim_source_config source = base;
    struct sirq_sim_nic_stats stats;

    (void)state;
    open_rig(&rig, &(struct sirq_sim_nic_config){.rings = 2, .line_mbit = 10000});
    source.ring_fixed = true;
    source.arrivals = SIRQ_SIM_POISSON;
    source.rate = 10000000; /* each more than half of what fits */
    add(&rig, &source);
    source.ring = 1;
    add(&rig, &source);
    sirq_sim_run(rig.sim, SECOND / 10);
    stats = nic_stats(&rig);
    /* 14,880,952 frames of 60 + 24 bytes a second */
    assert_in_range(stats.arrived, 1488000, 1488200);
    /* what waits for the line, up to 1 ms, is in neither number */
    assert_in_range(stats.arrived + stats.line_dropped, 1970000, 2010000);
    assert_in_range(ring_stats(&rig, 0).arrived, 730000, 758000);
    close_rig(&rig);
}

static void line_frames_of_one_moment_come_one_after_the_other(void **state)
{
    struct rig rig;
    struct sirq_sim_source_config source = base;

    (void)state;
    open_rig(&rig, &(struct sirq_sim_nic_config){.line_mbit = 1000});
    source.arrivals = SIRQ_SIM_BURSTS;
    source.burst = 100;
    source.size = 1514;
    add(&rig, &source);
    sirq_sim_run(rig.sim, SECOND / 10);
    assert_true(nic_stats(&rig).waiting >= 81);
    /* 1538 bytes take 12,304 ns; a burst of 100 is more than 1 ms, and the queue is 1 ms deep */
    for (uint32_t i = 1; i < 81; i++)
        assert_int_equal(frame_time(&rig, 0, i) - frame_time(&rig, 0, i - 1), 12304);
    assert_in_range(nic_stats(&rig).line_dropped, 18, 19);
    close_rig(&rig);
}

static void line_queue_that_is_deep_loses_nothing(void **state)
{
    struct rig rig;
    struct sirq_sim_source_config source = base;

    (void)state;
    open_rig(&rig, &(struct sirq_sim_nic_config){.line_mbit = 1000, .line_queue_ns = 10 * MS});
    source.arrivals = SIRQ_SIM_BURSTS;
    source.burst = 100;
    source.size = 1514;
    add(&rig, &source);
    sirq_sim_run(rig.sim, SECOND);
    assert_int_equal(nic_stats(&rig).line_dropped, 0);
    assert_in_range(nic_stats(&rig).arrived, 900, 1000);
    close_rig(&rig);
}

/* A frame that is asked for takes its turn behind what is on the line. */
static void line_answer_waits_behind_a_burst(void **state)
{
    struct rig rig;
    struct sirq_sim_source_config source = base;
    struct sirq_sim_flow *flow;
    struct sirq_error err;
    uint64_t asked, waiting;

    (void)state;
    open_rig(&rig, &(struct sirq_sim_nic_config){.line_mbit = 100, .line_queue_ns = 100 * MS});
    source.arrivals = SIRQ_SIM_BURSTS;
    source.burst = 20;
    source.size = 1514;
    add(&rig, &source);
    assert_int_equal(sirq_sim_flow_create(rig.nic, &base, &flow, &err), 0);
    sirq_sim_run(rig.sim, 20 * MS);
    asked = sirq_sim_now_ns(rig.sim);
    waiting = nic_stats(&rig).waiting;
    sirq_sim_flow_request(flow, 0);
    sirq_sim_run(rig.sim, asked + 10 * MS);
    for (uint32_t i = 0; i < nic_stats(&rig).waiting; i++) {
        const struct sirq_slot *slot = sirq_ring_slot(&rig.nic->ring[0], i);

        if (slot->source->frame.len != 60 || i == 0)
            continue;
        assert_true(i >= waiting);
        assert_true(slot->time - frame_time(&rig, 0, i - 1) >= 6720); /* 84 bytes at 100 Mbit/s */
        close_rig(&rig);
        return;
    }
    fail();
}

/* ---- bursts --------------------------------------------------------------------------- */

static uint64_t bursts(enum sirq_sim_arrivals arrivals, uint64_t *together)
{
    struct rig rig;
    struct sirq_sim_source_config source = base;
    uint64_t arrived;

    open_rig(&rig, &(struct sirq_sim_nic_config){.ring_size = 1 << 17});
    source.arrivals = arrivals;
    source.burst = 32;
    source.rate = 100000;
    add(&rig, &source);
    sirq_sim_run(rig.sim, SECOND);
    arrived = nic_stats(&rig).waiting;
    *together = 0;
    for (uint32_t i = 1; i < arrived; i++)
        *together += frame_time(&rig, 0, i) == frame_time(&rig, 0, i - 1);
    close_rig(&rig);
    return arrived;
}

static void bursts_keep_the_average_rate(void **state)
{
    uint64_t together, arrived = bursts(SIRQ_SIM_BURSTS, &together);

    (void)state;
    assert_in_range(arrived, 100000 - 32, 100000 + 32);
    assert_int_equal(together, arrived / 32 * 31);
    arrived = bursts(SIRQ_SIM_POISSON_BURSTS, &together);
    assert_in_range(arrived, 93000, 107000); /* 56 bursts, a standard deviation: 1,800 frames */
    assert_in_range(together, arrived / 32 * 31 - 31, arrived / 32 * 31 + 64);
}

static void bursts_need_a_length(void **state)
{
    struct rig rig;
    struct sirq_sim_source_config source = base;
    struct sirq_error err;

    (void)state;
    open_rig(&rig, &(struct sirq_sim_nic_config){0});
    source.arrivals = SIRQ_SIM_BURSTS;
    assert_int_equal(sirq_sim_source(rig.nic, &source, &err), -EINVAL);
    assert_non_null(strstr(err.text, "burst 0"));
    source.arrivals = SIRQ_SIM_POISSON;
    source.burst = 3;
    assert_int_equal(sirq_sim_source(rig.nic, &source, &err), -EINVAL);
    close_rig(&rig);
}

/* ---- detaching ------------------------------------------------------------------------ */

static void detach_main(struct sirq_sim_task *task, void *arg)
{
    struct rig *rig = arg;
    struct sirq_error err;

    for (unsigned round = 0; round < 500; round++) {
        const struct sirq_nic_ring *ring = &rig->nic->ring[0];

        sirq_sim_sleep_until(task, sirq_sim_now_ns(rig->sim) + 1 + round * 97 % 20000);
        sirq_sim_detach(rig->sim, &rig->dev[0]);
        assert_true(ring->masked && !sirq_event_queued(&ring->event));
        sirq_sim_sleep_until(task, sirq_sim_now_ns(rig->sim) + 20000);
        assert_true(ring->masked && !sirq_event_queued(&ring->event));
        assert_int_equal(sirq_sim_attach(rig->sim, 0, &rig->dev[0], &err), 0);
    }
    rig->rings = 2; /* it is done */
}

static void detach_at_any_point_of_a_poll_leaves_no_interrupt(void **state)
{
    struct sirq_sim_source_config source = base;
    struct sirq_sim_task_config task = {.name = "detach", .fn = detach_main, .cpu = 1};
    struct rig rig;
    struct sirq_error err;

    (void)state;
    open_rig(&rig, &(struct sirq_sim_nic_config){.rings = 2});
    attach(&rig);
    source.rate = 200000;
    source.ring_fixed = true;
    add(&rig, &source);
    rig.rings = 0;
    task.arg = &rig;
    assert_int_equal(sirq_sim_spawn(rig.sim, &task, NULL, &err), 0);
    sirq_sim_run(rig.sim, SECOND);
    assert_int_equal(rig.rings, 2);
    close_rig(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_source_with_a_fixed_ring_arrives_there_alone),
        cmocka_unit_test(rings_hash_spreads_sources_over_all),
        cmocka_unit_test(rings_full_one_loses_and_the_others_do_not),
        cmocka_unit_test(rings_looks_change_nothing),
        cmocka_unit_test(rings_open_refuses_what_is_not_there),
        cmocka_unit_test(line_rate_bounds_all_sources_together),
        cmocka_unit_test(line_frames_of_one_moment_come_one_after_the_other),
        cmocka_unit_test(line_queue_that_is_deep_loses_nothing),
        cmocka_unit_test(line_answer_waits_behind_a_burst),
        cmocka_unit_test(bursts_keep_the_average_rate),
        cmocka_unit_test(bursts_need_a_length),
        cmocka_unit_test(detach_at_any_point_of_a_poll_leaves_no_interrupt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
