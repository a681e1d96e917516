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
#include "../../../src/sim/nic.h"
#include <sirq/sim.h>
#include <sirq/tasklet.h>

#define WORLD_CPUS 8u
#define WORLD_VECS 4u
#define WORLD_TASKLETS 4u
#define WORLD_TIMERS 8u
#define WORLD_NICS 3u
#define WORLD_SOCKS 4u
#define WORLD_TASKS 12u
#define WORLD_LINES 4u
#define MS UINT64_C(1000000)

struct world;

/* Why an action raises itself again. */
enum again { AGAIN_NEVER, AGAIN_SOMETIMES, AGAIN_ALWAYS };

struct world_vec {
    struct world *world;
    unsigned vec;
    uint32_t cost_ns;
    enum again again;
    bool inside[WORLD_CPUS];
    uint64_t raised[WORLD_CPUS], seen[WORLD_CPUS];
};

struct world_tasklet {
    struct sirq_tasklet tasklet;
    struct world *world;
    uint32_t cost_ns;
    bool inside, hi;
    uint64_t scheduled, ran;
};

struct world_timer {
    struct sirq_timer timer;
    struct world *world;
    uint64_t expires, fired;
    unsigned cpu;
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

struct world {
    uint64_t seed;
    struct sirq_rng rng; /* of the generator and the load; the machine has its own */
    struct sirq_sim *sim;
    struct sirq_core *core;
    struct sirq_net *net;
    unsigned ncpus, nvecs, ntasklets, nnics, nsocks, ntasks, nlines, ntimers;
    struct world_vec vec[WORLD_VECS];
    struct world_tasklet tasklet[WORLD_TASKLETS];
    struct world_timer timer[WORLD_TIMERS];
    struct world_line line[WORLD_LINES];
    struct sirq_sim_nic *nic[WORLD_NICS];
    struct sirq_netdev dev[WORLD_NICS];
    struct sirq_socket *sock[WORLD_SOCKS];
    struct world_task receiver[WORLD_SOCKS], task[WORLD_TASKS];
    uint64_t received[WORLD_SOCKS];
    bool bh_off[WORLD_CPUS];
    bool switch_policy;
    uint64_t load_ns; /* when it ends */
    bool stopping;    /* load and faults are over */
    bool quit;        /* receivers too */
    unsigned stall_reports, long_reports;
    struct {
        uint64_t min_vruntime, passes, since;
    } seen[WORLD_CPUS];
    uint64_t checks;
};

/* Uniform in least..most. */
static inline uint64_t pick(struct world *world, uint64_t least, uint64_t most)
{
    return least + sirq_rng_below(&world->rng, most - least + 1);
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

/* build.c */
void world_build(struct world *world, uint64_t seed);
void world_take_apart(struct world *world);

/* load.c */
void world_load(struct world *world);
void world_raise(struct world *world, struct sirq_cpu *cpu);

/* check.c */
void world_check(struct sirq_sim *sim, void *arg);
/* Everything has come to rest, and nothing was lost. */
void world_check_drained(struct world *world);

#endif
