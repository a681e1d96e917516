/* SPDX-License-Identifier: MIT */
/* Building a run and taking it down, in the opposite order, however far it came. */
#include "rig.h"

#include <errno.h>
#include <string.h>

/* Some 4,000 packets: a wake-up with its two switches costs as much as a hundred of them. */
#define RCVBUF (8u << 20)
/*
 * A sender on a general-purpose CPU loses it for tens of microseconds now and then; a NIC
 * does not.  The ring has to bridge that, or the device runs dry under a flood and receivers
 * live on the gaps: 1,024 frames are 20 us at 50 million a second.
 */
#define SHM_RING 8192u
#define POOL_SLACK 1024u /* packets between a poll and a queue, or in a receiver's hands */

const struct sirq_netns_use sirq_live_veth = {"--nic packet", "--nic shm"};

/* Clock thread. */
static void note_report(void *arg, unsigned cpu, const char *what, uint64_t value)
{
    struct sirq_rig_report *report = arg;

    (void)cpu;
    (void)value;
    if (!__atomic_load_n(&report->what, __ATOMIC_RELAXED))
        __atomic_store_n(&report->what, what, __ATOMIC_RELAXED);
    __atomic_fetch_add(&report->times, 1, __ATOMIC_RELAXED);
}

static int open_engine(struct sirq_rig *rig, const struct sirq_flood *flood, struct sirq_error *err)
{
    const struct sirq_session *session = rig->session;
    struct sirq_live_config config = {.delivery = session->options->delivery,
                                      .policy = flood->policy,
                                      .max_threads = SIRQ_LAB_RECEIVERS + 1,
                                      .report = note_report,
                                      .report_arg = &rig->report};
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    CPU_SET(session->cpus.flooded, &cpus);
    CPU_SET(rig->irq_cpu, &cpus);
    config.cpus = &cpus;
    return sirq_live_start(&rig->live, &config, err);
}

static int open_net(struct sirq_rig *rig, unsigned receivers, struct sirq_error *err)
{
    struct sirq_net_config config = {
        .pool_packets = receivers * (RCVBUF / SIRQ_PKT_TRUESIZE) + POOL_SLACK,
        .max_sockets = receivers,
    };
    int rc = sirq_net_create(&rig->net, sirq_live_core(rig->live), &config);

    if (rc)
        return sirq_fail(err, -rc, "cannot build the packet path: %s", strerror(-rc));
    return 0;
}

static int open_device(struct sirq_rig *rig, struct sirq_error *err)
{
    static const char *const drivers[] = {[SIRQ_LAB_SHM] = "shm", [SIRQ_LAB_PACKET] = "packet"};
    const struct sirq_lab_options *options = rig->session->options;
    struct sirq_netdev_config config = {.ifname = SIRQ_VETH_RX};
    const struct sirq_driver *driver = sirq_driver_find(drivers[options->nic]);
    int rc;

    if (!driver)
        return sirq_fail(err, ENODEV, "the library was built without the driver '%s'",
                         drivers[options->nic]);
    if (driver == sirq_driver_find("shm")) {
        config.ring_size = SHM_RING;
        config.frame_size = options->size;
    }
    rc = sirq_netdev_open(&rig->dev, rig->net, driver, &config, err);
    if (rc)
        rig->dev.driver = NULL; /* not open: nothing to close */
    return rc;
}

static int open_sockets(struct sirq_rig *rig, unsigned receivers, struct sirq_error *err)
{
    for (unsigned i = 0; i < receivers; i++) {
        struct sirq_socket_config config = {.port = (uint16_t)(SIRQ_FLOOD_PORT + i),
                                            .rcvbuf = RCVBUF};
        int rc = sirq_socket_open(rig->net, &config, &rig->sock[i]);

        if (rc)
            return sirq_fail(err, -rc, "cannot open socket %u: %s", i + 1, strerror(-rc));
        rig->nsocks++;
    }
    return 0;
}

static int open_sender(struct sirq_rig *rig, unsigned receivers, struct sirq_error *err)
{
    const struct sirq_lab_options *options = rig->session->options;
    struct sirq_wire_config config = {.ops = options->nic == SIRQ_LAB_PACKET ? &sirq_wire_packet
                                                                             : &sirq_wire_shm,
                                      .dev = &rig->dev,
                                      .flows = receivers,
                                      .size = options->size,
                                      .seed = options->seed,
                                      .use = &sirq_live_veth};

    return sirq_sender_start(&rig->sender, &config, rig->session->cpus.sender, err);
}

static int open_parts(struct sirq_rig *rig, const struct sirq_flood *flood, struct sirq_error *err)
{
    int rc = open_engine(rig, flood, err);

    if (rc)
        return rc;
    /* Only now: the engine wants its CPUs to be in the affinity mask of who starts it. */
    sirq_lab_cpus_avoid(&rig->session->cpus);
    rc = open_net(rig, flood->receivers, err);
    if (!rc)
        rc = open_sockets(rig, flood->receivers, err);
    if (!rc)
        rc = open_device(rig, err);
    if (rc)
        return rc;
    if (rig->session->options->nic == SIRQ_LAB_PACKET &&
        sirq_netns_lost("/proc", &rig->lost_before))
        return sirq_fail(err, ENODEV, "--nic packet: no counters of %s", SIRQ_VETH_TX);
    return open_sender(rig, flood->receivers, err);
}

int sirq_rig_open(struct sirq_rig *rig, const struct sirq_session *session,
                  const struct sirq_flood *flood, struct sirq_error *err)
{
    int rc;

    memset(rig, 0, sizeof(*rig));
    rig->session = session;
    rig->irq_cpu = flood->elsewhere ? (unsigned)session->cpus.spare : session->cpus.flooded;
    rc = open_parts(rig, flood, err);
    if (rc)
        sirq_rig_close(rig);
    return rc;
}

int sirq_rig_attach(struct sirq_rig *rig, struct sirq_error *err)
{
    int rc = sirq_live_attach(rig->live, rig->irq_cpu, &rig->dev, err);

    rig->attached = !rc;
    return rc;
}

void sirq_rig_close(struct sirq_rig *rig)
{
    if (rig->sender.pid > 0)
        sirq_sender_end(&rig->sender);
    if (rig->attached)
        sirq_live_detach(rig->live, &rig->dev);
    if (rig->dev.driver)
        sirq_netdev_close(&rig->dev);
    for (unsigned i = 0; i < rig->nsocks; i++)
        sirq_socket_close(rig->sock[i]);
    if (rig->net)
        sirq_net_destroy(rig->net);
    if (rig->live)
        sirq_live_stop(rig->live);
    sirq_lab_cpus_restore(&rig->session->cpus);
}
