/* SPDX-License-Identifier: MIT */
/*
 * Random worlds: one seed makes a machine, its load and its faults; checkers run after every
 * event; then faults and load stop and everything has to drain.
 *
 * What goes wrong ends the process; main.c prints the command that does it again.
 */
#ifndef SIRQ_TESTS_SIM_WORLDS_H
#define SIRQ_TESTS_SIM_WORLDS_H

#define SIRQ_SIM_PRIVATE
#include "../../../src/sim/disk.h"
#include "../../../src/sim/tcp.h"
#include <sirq/sim.h>
#include <sirq/tasklet.h>

#define WORLD_CPUS 8u
#define WORLD_VECS 4u
#define WORLD_TASKLETS 4u
#define WORLD_TIMERS 8u
#define WORLD_NICS 3u
#define WORLD_SOURCES 3u /* of a NIC */
#define WORLD_RINGS 4u   /* of a NIC */
#define WORLD_DEVS (WORLD_NICS * WORLD_RINGS)
#define WORLD_UDP 4u   /* sockets of sources */
#define WORLD_FLOWS 4u /* TCP-like */
#define WORLD_SOCKS (WORLD_UDP + WORLD_FLOWS)
#define WORLD_DISKS 2u
#define WORLD_READERS 4u
#define WORLD_TASKS 12u
#define WORLD_LINES 4u
#define MS UINT64_C(1000000)

/*
 * What can go wrong in a world, each with a switch (--without NAME).
 * X(symbol, name, percent of the worlds that have it)
 */
#define WORLD_FAULTS(X)         \
    X(CPUS, "cpus", 40)         \
    X(LOST, "lost", 25)         \
    X(SPURIOUS, "spurious", 25) \
    X(LATE, "late", 25)         \
    X(STALL, "stall", 15)       \
    X(AGAIN, "again", 30)       \
    X(FULL, "full", 25)         \
    X(POLICY, "policy", 35)     \
    X(THREADED, "threaded", 20) \
    X(DEAF, "deaf", 25)         \
    X(KILL, "kill", 40)         \
    X(SOCKETS, "sockets", 30)   \
    X(DEVS, "devs", 30)         \
    X(LINGER, "linger", 40)

/* cpus      CPUs leave and return, never the last one
 * lost      interrupts of NICs are lost; the NIC makes them again after a millisecond
 * spurious  NICs interrupt with nothing to do, also while masked or detached
 * late      kicks come up to 3 ms late, each by itself
 * stall     a CPU does nothing for up to 100 ms, as in an SMI: an interrupt of that length
 * again     actions that raise themselves for ever
 * full      short rings and queues, few buffers
 * policy    the policy is switched while running
 * threaded  forced threading is switched while running
 * deaf      receivers that stop reading for up to 20 ms
 * kill      timers are cancelled, tasklets disabled and killed, pending or running
 * sockets   are closed and opened again while traffic flows
 * devs      are detached and attached again, likewise
 * linger    time passes where a real CPU takes some, and costs do not say so: after a round
 *           of ksoftirqd, between a completed poll and the unmasking of its device */
enum world_fault {
#define WORLD_FAULT(sym, name, percent) FAULT_##sym,
    WORLD_FAULTS(WORLD_FAULT)
#undef WORLD_FAULT
        WORLD_NR_FAULTS
};

struct world;

/* Why an action raises itself again. */
enum again { AGAIN_NEVER, AGAIN_SOMETIMES, AGAIN_ALWAYS };

struct world_vec {
    struct world *world;
    unsigned vec;
    uint32_t cost_ns;
    enum again again;
    uint64_t raised[WORLD_CPUS], seen[WORLD_CPUS];
};

struct world_tasklet {
    struct sirq_tasklet tasklet;
    struct world *world;
    uint32_t cost_ns;
    unsigned dying; /* tasks that kill it: nobody schedules it */
    bool inside, hi;
    uint64_t scheduled, ran;
};

struct world_timer {
    struct sirq_timer timer;
    struct world *world;
    uint64_t expires, fired;
    unsigned cpu;   /* where it was armed */
    bool cancelled; /* must not fire */
};

struct world_line {
    struct sirq_irq irq;
    struct world *world;
    uint32_t cost_ns;
};

struct world_task {
    struct world *world;
    struct sirq_sim_task *task;
    unsigned i;
    bool done;
};

/* A TCP-like flow; one that sends has a task, one that receives a socket. */
struct world_flow {
    struct sirq_sim_tcp *tcp;
    struct world_task sender;
    unsigned sock;
    uint64_t bytes; /* handed to it, in whole segments */
    bool send;
};

/* A task that reads from a disk. */
struct world_reader {
    struct world_task task;
    uint64_t begun, ended;
};

/* An action as the core sees it: the checker's, around the real one. */
struct world_wrap {
    struct world *world;
    unsigned vec;
    sirq_action_fn fn;
    void *data;
    bool inside[WORLD_CPUS];
};

/* What the checkers remember of a CPU. */
struct world_seen {
    uint64_t min_vruntime;
    /* the run that is in progress, or was the last one */
    uint64_t runs, passes_begin, pass, end_ns;
    const struct sirq_policy *policy; /* asked after the last action */
    bool need_resched;
    /* net_rx_action */
    uint64_t cycle_jiffies, work, spent;
    unsigned visits;
    bool in_cycle;
    /* vectors that stand pending without an owner, and since when */
    uint32_t standing;
    uint64_t since[SIRQ_NR_VECTORS], ran[SIRQ_NR_VECTORS], stalls;
    uint64_t excuses, task_raises;
    bool was_left;
    uint64_t run_start_ns, long_runs;
};

/* steer.c */
struct world_steer {
    struct sirq_rng rng; /* its own: see steer.c */
    uint64_t last_ns[WORLD_NICS][WORLD_SOURCES];
    unsigned changes;
    bool done; /* nothing is changed any more */
};

struct world {
    uint64_t seed;
    struct world_steer steer;
    uint32_t faults;       /* a bit per enum world_fault */
    struct sirq_rng rng;   /* of the generator and the load; the machine has its own */
    struct sirq_rng chaos; /* of the faults */
    struct sirq_sim *sim;
    struct sirq_core *core;
    struct sirq_net *net;
    unsigned netdev_budget;
    unsigned ncpus, nvecs, nnics, ndevs, nudp, nsocks, nflows, ndisks, nreaders;
    unsigned ntasks, nlines, ntimers;
    struct world_vec vec[WORLD_VECS];
    struct world_tasklet tasklet[WORLD_TASKLETS];
    struct world_timer timer[WORLD_TIMERS];
    struct world_line line[WORLD_LINES], stall[WORLD_CPUS];
    struct sirq_event spurious;
    struct sirq_sim_nic *nic[WORLD_NICS];
    struct sirq_netdev dev[WORLD_DEVS]; /* one per ring */
    bool unmasking[WORLD_DEVS];
    struct sirq_socket *sock[WORLD_SOCKS]; /* of sources, null while closed; then of flows */
    size_t rcvbuf[WORLD_SOCKS];
    struct world_flow flow[WORLD_FLOWS];
    struct sirq_sim_disk *disk[WORLD_DISKS];
    struct world_reader reader[WORLD_READERS];
    struct world_task receiver[WORLD_SOCKS], task[WORLD_TASKS], operator;
    uint64_t received[WORLD_SOCKS];
    struct {
        uint64_t queued, taken, discarded;
    } closed[WORLD_SOCKS]; /* sums of the sockets that were closed */
    bool bh_off[WORLD_CPUS];
    uint64_t load_ns; /* when it ends */
    bool stopping;    /* load and faults are over */
    bool quit;        /* receivers too */
    struct world_wrap wrap[SIRQ_NR_VECTORS];
    struct world_seen seen[WORLD_CPUS];
    uint64_t checks;
};

static inline bool has(const struct world *world, enum world_fault fault)
{
    return world->faults >> fault & 1;
}

static inline uint64_t draw(struct sirq_rng *rng, uint64_t least, uint64_t most)
{
    return least + sirq_rng_below(rng, most - least + 1);
}

/* Uniform in least..most. */
static inline uint64_t pick(struct world *world, uint64_t least, uint64_t most)
{
    return draw(&world->rng, least, most);
}

static inline bool chance(struct world *world, unsigned percent)
{
    return sirq_rng_below(&world->rng, 100) < percent;
}

/* Says what is broken, in which world and when, and aborts. */
#define MUST(world, expr)                                     \
    do {                                                      \
        if (!(expr))                                          \
            world_broken((world), #expr, __FILE__, __LINE__); \
    } while (0)
void world_broken(const struct world *world, const char *what, const char *file, int line)
    __attribute__((noreturn));

/* build.c; without: faults that are left out */
void world_build(struct world *world, uint64_t seed, uint32_t without);
void world_take_apart(struct world *world);
const struct sirq_policy *world_any_policy(struct sirq_rng *rng);

/* devices.c: NICs and what comes to them, flows, storage */
void world_devices(struct world *world);
void world_readers(struct world *world);
void world_devices_check(const struct world *world);
bool world_devices_at_rest(const struct world *world);
/* Frames that flows took for themselves. */
uint64_t world_control_frames(const struct world *world);
/* Attach, to any CPU that is here. */
void world_attach(struct world *world, struct sirq_rng *rng, struct sirq_netdev *dev);

/* load.c */
void world_load(struct world *world);
void world_raise(struct world *world, struct sirq_cpu *cpu);
void world_spawn(struct world *world, struct world_task *self, unsigned i,
                 void (*fn)(struct sirq_sim_task *task, void *arg));

/* fault.c */
void world_faults_init(struct world *world);
/* Between two runs of the world: something goes wrong, or not. */
void world_fault(struct world *world);
void world_faults_end(struct world *world);
/* In a task: of the kind that waits. */
void world_fault_task(struct world *world, struct sirq_cpu *cpu);
void world_socket_reopen(struct world *world, unsigned i);

/* steer.c */
uint32_t world_steer_cost(struct world *world);
void world_steer_config(struct world *world, struct sirq_net_config *config);
void world_steer_source(const struct world *world, unsigned nic, unsigned i,
                        struct sirq_sim_source_config *source);
void world_steer_build(struct world *world);
void world_steer_take_apart(struct world *world);
void world_steer_received(struct world *world, const struct sirq_msg *msg);
void world_steer_check(struct world *world);
bool world_steer_at_rest(const struct world *world);

/* check.c: after every event */
void world_check(struct sirq_sim *sim, void *arg);
/* Everything has come to rest, and nothing was lost. */
void world_check_drained(struct world *world);

/* run.c: around every action and poll */
void world_wrap(struct world *world);

#endif
