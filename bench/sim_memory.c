/* SPDX-License-Identifier: MIT */
/*
 * Memory of a simulated machine that runs for long: what the process had resident at most,
 * all of it (the program, the world, the packet path), after a minute of virtual time and
 * after four hours (half an hour with --quick).  The load is light, so that hours take
 * seconds: tasks that work for 10 us and sleep for up to two seconds, and Poisson traffic of
 * 100 packets/s to a receiver.  The peer is the target.
 */
#include "sim.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MINUTE_NS UINT64_C(60000000000)
#define PORT 7000u
#define MB (1024.0 * 1024)
#define SLEEP_NS UINT64_C(2000000000)

struct peaks {
    double minute, end;
};

struct long_run {
    const char *name;
    unsigned cpus, tasks;
    double target;
};

struct load {
    struct sirq_sim *sim;
    struct sirq_net *net;
    struct sirq_netdev dev;
    struct sirq_socket *sock;
    uint64_t received;
};

static void periodic(struct sirq_sim_task *task, void *arg)
{
    struct sirq_sim *sim = sirq_sim_of(task);

    (void)arg;
    for (;;) {
        sirq_sim_spend(sim, 10000);
        sirq_sim_sleep_until(task, sirq_sim_now_ns(sim) + 1 + sirq_sim_random(sim, SLEEP_NS));
    }
}

static void receive(struct sirq_sim_task *task, void *arg)
{
    struct load *load = arg;
    uint8_t buf[8];

    (void)task;
    for (;;) {
        struct sirq_msg msg = {.buf = buf, .size = sizeof(buf)};

        load->received += sirq_recv(load->sock, &msg, 1, -1) == 1;
    }
}

static void build(struct load *load, const struct long_run *run)
{
    const struct sirq_sim_nic_config nic = {.ring_size = 512};
    const struct sirq_socket_config sock = {.port = PORT};
    const struct sirq_sim_source_config source = {
        .arrivals = SIRQ_SIM_POISSON, .rate = 100, .dport = PORT, .size = 60};
    struct sirq_sim_task_config task = {.name = "receiver", .fn = receive, .arg = load, .cpu = -1};
    struct sirq_netdev_config dev = {0};
    struct sirq_error err = {"packet path"};

    load->sim = bench_world(run->cpus, "time2ms");
    bench_must(sirq_sim_nic_create(load->sim, &nic, &dev.device, &err), &err);
    bench_must(sirq_net_create(&load->net, sirq_sim_core(load->sim), NULL), &err);
    bench_must(sirq_socket_open(load->net, &sock, &load->sock), &err);
    bench_must(sirq_netdev_open(&load->dev, load->net, &sirq_sim_driver, &dev, &err), &err);
    bench_must(sirq_sim_source(dev.device, &source, &err), &err);
    bench_must(sirq_sim_attach(load->sim, 0, &load->dev, &err), &err);
    bench_must(sirq_sim_spawn(load->sim, &task, NULL, &err), &err);
    task = (struct sirq_sim_task_config){.name = "periodic", .fn = periodic, .cpu = -1};
    for (unsigned i = 0; i < run->tasks; i++)
        bench_must(sirq_sim_spawn(load->sim, &task, NULL, &err), &err);
}

static double peak(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024;
}

/* In a process of its own, which takes everything with it as it ends. */
static struct peaks in_child(const struct long_run *run, unsigned minutes)
{
    struct load load = {0};
    struct peaks peaks;

    build(&load, run);
    sirq_sim_run(load.sim, MINUTE_NS);
    peaks.minute = peak();
    sirq_sim_run(load.sim, minutes * MINUTE_NS);
    peaks.end = peak();
    if (load.received < minutes)
        bench_die("memory: nothing was received", EPROTO);
    return peaks;
}

static struct peaks measure(const struct long_run *run, unsigned minutes)
{
    struct peaks peaks;
    int ends[2], status;
    pid_t child;

    if (pipe(ends) != 0 || (child = fork()) < 0)
        bench_die("memory: a process", errno);
    if (child == 0) {
        peaks = in_child(run, minutes);
        _exit(write(ends[1], &peaks, sizeof(peaks)) == sizeof(peaks) ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &peaks, sizeof(peaks)) != sizeof(peaks) ||
        waitpid(child, &status, 0) != child)
        bench_die("memory: the process failed", EPROTO);
    close(ends[0]);
    return peaks;
}

void bench_sim_memory(const struct bench_options *options)
{
    static const struct long_run runs[] = {
        {"4 CPUs, 16 tasks", 4, 16, 64 * MB},
        {"256 CPUs, 2000 tasks", 256, 2000, 512 * MB},
    };
    bool quick = options->scale == 1;

    for (unsigned i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        struct bench_series minute = {0}, end = {0}, target = {0};
        struct peaks peaks = measure(&runs[i], quick ? 30 : 240);

        bench_add(&minute, peaks.minute);
        bench_add(&end, peaks.end);
        bench_add(&target, runs[i].target);
        bench_row("sim", runs[i].name, "target", "resident, 1 min", "bytes", BENCH_LESS, &minute,
                  &target);
        bench_row("sim", runs[i].name, "target", quick ? "resident, 30 min" : "resident, 4 h",
                  "bytes", BENCH_LESS, &end, &target);
    }
}
