/* SPDX-License-Identifier: MIT */
/*
 * The devices of a random world: NICs with rings and lines, the streams and flows that come to
 * them, disks and their readers; and what has to hold of each after every event.
 *
 *   - a flow: what was sent is delivered, lost or underway; one that receives has delivered
 *     exactly what its socket, which is its alone, was given, and what was steered and is not
 *     there yet or was lost in a backlog
 *   - a disk: no more requests than its queue; what is served and not completed has BLOCK, or an
 *     interrupt that raises it; each read takes at least the time of service
 */
#include "worlds.h"

/* ---- interrupts ----------------------------------------------------------------------- */

static struct world *the_world; /* whose devices they are; one at a time in a process */

/* Time between a completed poll and the unmasking, which is a store on a real one. */
static void slow_unmask(struct sirq_netdev *dev)
{
    struct world *world = the_world;
    bool *unmasking = &world->unmasking[dev - world->dev];

    if (has(world, FAULT_LINGER) && draw(&world->chaos, 0, 3) == 0) {
        *unmasking = true;
        sirq_sim_spend(world->sim, draw(&world->chaos, 1, 20000));
        *unmasking = false;
    }
    sirq_sim_driver.irq_unmask(dev);
}

void world_attach(struct world *world, struct sirq_rng *rng, struct sirq_netdev *dev)
{
    const struct sirq_driver *driver = dev->driver;
    unsigned cpu;

    dev->driver = &sirq_sim_driver; /* no other is taken; no time passes */
    do
        cpu = (unsigned)draw(rng, 0, world->ncpus - 1);
    while (sirq_sim_attach(world->sim, cpu, dev, NULL) != 0);
    dev->driver = driver;
}

/* ---- NICs ----------------------------------------------------------------------------- */

static void build_sources(struct world *world, unsigned nic)
{
    unsigned n = (unsigned)pick(world, 1, WORLD_SOURCES);

    for (unsigned i = 0; i < n; i++) {
        struct sirq_sim_source_config source = {
            .arrivals = (enum sirq_sim_arrivals)pick(world, 0, 3),
            .rate = pick(world, 1, 4) * (chance(world, 50) ? 1000 : 500000),
            .start_ns = pick(world, 0, 10 * MS),
            .stop_ns = world->load_ns,
            .sport = (uint16_t)pick(world, 0, UINT16_MAX),
            .dport = (uint16_t)(100 + pick(world, 0, world->nudp)), /* one too many: no socket */
            .size = (uint32_t)pick(world, 60, 1514),
            .ring_fixed = chance(world, 30),
        };
        struct sirq_error err;

        if (source.arrivals == SIRQ_SIM_BURSTS || source.arrivals == SIRQ_SIM_POISSON_BURSTS)
            source.burst = (uint32_t)pick(world, 1, 100);
        if (source.ring_fixed)
            source.ring = (unsigned)pick(world, 0, world->nic[nic]->nrings - 1);
        world_steer_source(world, nic, i, &source);
        MUST(world, sirq_sim_source(world->nic[nic], &source, &err) == 0);
    }
}

static void open_rings(struct world *world, struct sirq_sim_nic *nic)
{
    for (unsigned i = 0; i < nic->nrings; i++) {
        static struct sirq_driver driver;
        const struct sirq_netdev_config config = {.device = nic, .queue = i};
        struct sirq_netdev *dev = &world->dev[world->ndevs++];
        struct sirq_error err;

        MUST(world, sirq_netdev_open(dev, world->net, &sirq_sim_driver, &config, &err) == 0);
        world_attach(world, &world->rng, dev);
        driver = sirq_sim_driver;
        driver.irq_unmask = slow_unmask;
        dev->driver = &driver;
    }
}

static void build_nics(struct world *world)
{
    world->nnics = (unsigned)pick(world, 0, WORLD_NICS);
    for (unsigned i = 0; i < world->nnics; i++) {
        const struct sirq_sim_nic_config config = {
            .rings = chance(world, 50) ? 1 : (unsigned)pick(world, 2, WORLD_RINGS),
            .ring_size = 1u << pick(world, 1, has(world, FAULT_FULL) ? 3 : 10),
            .irq_interval_ns = chance(world, 50) ? 0 : pick(world, 1000, 200000),
            .line_mbit = (unsigned)(pick(world, 0, 1) * pick(world, 100, 100000)),
            .line_queue_ns = chance(world, 50) ? 0 : pick(world, 1, 2 * MS),
        };
        struct sirq_error err;

        MUST(world, sirq_sim_nic_create(world->sim, &config, &world->nic[i], &err) == 0);
        open_rings(world, world->nic[i]);
        build_sources(world, i);
    }
}

/* ---- flows ---------------------------------------------------------------------------- */

static void sender_main(struct sirq_sim_task *task, void *arg)
{
    struct world_task *self = arg;
    struct world *world = self->world;
    struct world_flow *flow = &world->flow[self->i];

    while (!world->stopping) {
        uint64_t segments = pick(world, 1, 64);

        flow->bytes += segments * flow->tcp->mss;
        MUST(world, sirq_sim_tcp_send(task, flow->tcp, segments * flow->tcp->mss) == 0);
        if (chance(world, 20))
            MUST(world, sirq_sim_tcp_flush(task, flow->tcp) == 0);
        sirq_sim_sleep_until(task, sirq_sim_now_ns(world->sim) + pick(world, 1, 3 * MS));
    }
    MUST(world, sirq_sim_tcp_flush(task, flow->tcp) == 0);
    MUST(world, sirq_tcp_inflight(flow->tcp) + flow->tcp->holes + flow->tcp->owed == 0);
    self->done = true;
}

/* The socket of one that receives: its own, which nothing else reaches. */
static void open_flow_socket(struct world *world, struct world_flow *flow,
                             struct sirq_sim_tcp_config *config)
{
    struct sirq_socket_config sock = {.port = (uint16_t)(200 + world->nsocks)};

    flow->sock = world->nsocks++;
    sock.rcvbuf = world->rcvbuf[flow->sock] =
        pick(world, 2, has(world, FAULT_FULL) ? 8 : 512) * SIRQ_PKT_TRUESIZE;
    MUST(world, sirq_socket_open(world->net, &sock, &world->sock[flow->sock]) == 0);
    config->socket = world->sock[flow->sock];
    config->dport = sock.port;
    config->rate = chance(world, 50) ? 0 : pick(world, 1, 1000) * 1000000;
    config->start_ns = pick(world, 0, 10 * MS);
    config->stop_ns = world->load_ns;
}

static void build_flows(struct world *world)
{
    unsigned n = world->nnics > 0 && chance(world, 50) ? (unsigned)pick(world, 1, WORLD_FLOWS) : 0;

    for (unsigned i = 0; i < n; i++) {
        struct world_flow *flow = &world->flow[i];
        struct sirq_sim_tcp_config config = {
            .send = flow->send = chance(world, 50),
            .sport = (uint16_t)pick(world, 0, UINT16_MAX),
            .dport = 1, /* of acknowledgements: the flow's own */
            .mss = (uint32_t)pick(world, 18, 1472),
            .window = (uint32_t)pick(world, 1, 64),
            .rtt_ns = pick(world, 20000, chance(world, 50) ? MS : 10 * MS),
            .rtt_jitter_ns = pick(world, 0, MS),
        };
        struct sirq_error err;

        if (!flow->send)
            open_flow_socket(world, flow, &config);
        MUST(world, sirq_sim_tcp_create(world->nic[pick(world, 0, world->nnics - 1)], &config,
                                        &flow->tcp, &err) == 0);
        flow->sender.done = true;
        if (flow->send)
            world_spawn(world, &flow->sender, i, sender_main);
        world->nflows++;
    }
}

/* ---- storage -------------------------------------------------------------------------- */

static void reader_main(struct sirq_sim_task *task, void *arg)
{
    struct world_task *self = arg;
    struct world *world = self->world;
    struct world_reader *reader = &world->reader[self->i];

    while (!world->stopping) {
        struct sirq_sim_disk *disk = world->disk[pick(world, 0, world->ndisks - 1)];
        uint64_t begin = sirq_sim_now_ns(world->sim);

        reader->begun++;
        sirq_sim_disk_read(task, disk);
        MUST(world, sirq_sim_now_ns(world->sim) - begin >= disk->service_ns);
        reader->ended++;
        sirq_sim_spend(world->sim, pick(world, 1, 50000));
    }
    self->done = true;
}

static void build_disks(struct world *world)
{
    world->ndisks = chance(world, 40) ? (unsigned)pick(world, 1, WORLD_DISKS) : 0;
    for (unsigned i = 0; i < world->ndisks; i++) {
        struct sirq_sim_disk_config config = {
            .service_ns = pick(world, 1, chance(world, 50) ? 50000 : 2 * MS),
            .jitter_ns = pick(world, 0, 100000),
            .depth = (unsigned)pick(world, 1, 3),
            .cpu = (unsigned)pick(world, 0, world->ncpus - 1),
        };
        struct sirq_error err;

        config.queue = config.depth + (unsigned)pick(world, 0, 2);
        MUST(world, sirq_sim_disk_create(world->sim, &config, &world->disk[i], &err) == 0);
    }
}

void world_readers(struct world *world)
{
    world->nreaders = world->ndisks > 0 ? (unsigned)pick(world, 1, WORLD_READERS) : 0;
    for (unsigned i = 0; i < world->nreaders; i++)
        world_spawn(world, &world->reader[i].task, i, reader_main);
}

void world_devices(struct world *world)
{
    the_world = world;
    build_nics(world);
    build_flows(world);
    build_disks(world);
}

/* ---- what has to hold ----------------------------------------------------------------- */

uint64_t world_control_frames(const struct world *world)
{
    uint64_t frames = 0;

    for (unsigned i = 0; i < world->nflows; i++)
        frames += world->flow[i].send ? world->flow[i].tcp->acks : 0;
    return frames;
}

static void check_flow(const struct world *world, const struct world_flow *flow, uint64_t steered)
{
    const struct sirq_sim_tcp *tcp = flow->tcp;
    struct sirq_socket_stats stats;

    MUST(world, tcp->gone == tcp->delivered + tcp->lost && tcp->gone <= tcp->sent);
    MUST(world, tcp->data + tcp->retransmitted == tcp->sent && tcp->acked <= tcp->delivered);
    MUST(world, tcp->cwnd >= 1 && tcp->cwnd <= tcp->window);
    if (flow->send) {
        MUST(world, tcp->data * tcp->mss <= flow->bytes);
        return;
    }
    sirq_socket_stats(world->sock[flow->sock], &stats);
    MUST(world, stats.queued <= tcp->delivered && tcp->delivered - stats.queued <= steered);
}

/* It was served: an interrupt is on its way, or BLOCK is, where it was raised last. */
static void check_disk(const struct world *world, const struct sirq_sim_disk *disk)
{
    const struct sirq_cpu *cpu = disk->raised;
    uint64_t begun = 0, ended = 0;

    MUST(world, disk->held <= disk->queue && disk->requests - disk->completed <= disk->held);
    MUST(world, disk->latency_ns >= disk->completed * disk->service_ns);
    if (disk->served.first != NULL)
        MUST(world,
             disk->line.posted || disk->vcpu->curr->ctx.hardirq_depth > 0 ||
                 (cpu != NULL && ((sirq_pending(cpu) & SIRQ_BIT(SIRQ_BLOCK)) || cpu->running)));
    for (unsigned i = 0; i < world->nreaders; i++) {
        begun += world->reader[i].begun;
        ended += world->reader[i].ended;
    }
    MUST(world, begun - ended <= world->nreaders);
}

void world_devices_check(const struct world *world)
{
    struct sirq_net_stats stats;

    sirq_net_stats_sum(world->net, &stats);
    for (unsigned i = 0; i < world->nflows; i++)
        check_flow(world, &world->flow[i], stats.steered);
    for (unsigned i = 0; i < world->ndisks; i++)
        check_disk(world, world->disk[i]);
}

static bool disks_at_rest(const struct world *world)
{
    uint64_t completed = 0, ended = 0;
    bool rest = true;

    for (unsigned i = 0; i < world->ndisks; i++) {
        rest = rest && world->disk[i]->held == 0;
        completed += world->disk[i]->completed;
    }
    for (unsigned i = 0; i < world->nreaders; i++) {
        rest = rest && world->reader[i].task.done;
        ended += world->reader[i].ended;
    }
    return rest && completed == ended;
}

bool world_devices_at_rest(const struct world *world)
{
    bool rest = disks_at_rest(world);

    for (unsigned i = 0; i < world->nflows; i++) {
        const struct world_flow *flow = &world->flow[i];

        rest = rest && flow->sender.done && flow->tcp->gone == flow->tcp->sent;
        if (flow->send)
            rest = rest && flow->tcp->data * flow->tcp->mss == flow->bytes;
    }
    return rest;
}
