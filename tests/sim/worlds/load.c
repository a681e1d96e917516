/* SPDX-License-Identifier: MIT */
/* What goes on in a random world: actions, tasklets, timers, interrupts, tasks, faults. */
#include "worlds.h"

/* ---- actions -------------------------------------------------------------------------- */

static unsigned id(const struct sirq_cpu *cpu)
{
    return cpu->id;
}

/* Raised outside of any section, it is ksoftirqd's; before each raise, which takes time. */
static void note_alone(struct world *world, const struct sirq_cpu *cpu)
{
    world->seen[id(cpu)].task_raises += !sirq_in_softirq(cpu) && !sirq_in_hardirq(cpu);
}

static void raise_vec(struct world_vec *vec, struct sirq_cpu *cpu)
{
    note_alone(vec->world, cpu);
    vec->raised[id(cpu)]++;
    sirq_raise(cpu, vec->vec);
}

static void raise_remote(struct world_vec *vec, struct sirq_cpu *cpu)
{
    /* As it says: when that one has left, on the first one that is there. */
    const struct sirq_cpu *where = cpu->online ? cpu : sirq_any_online(vec->world->core);

    vec->raised[id(where)]++;
    sirq_raise_remote(cpu, vec->vec);
}

/* Something of the deferred kind, here or elsewhere.  Any context. */
void world_raise(struct world *world, struct sirq_cpu *cpu)
{
    struct sirq_cpu *other = &world->core->cpus[pick(world, 0, world->ncpus - 1)];
    struct world_tasklet *tasklet = &world->tasklet[pick(world, 0, WORLD_TASKLETS - 1)];

    if (chance(world, 40))
        raise_vec(&world->vec[pick(world, 0, world->nvecs - 1)], cpu);
    if (chance(world, 30))
        raise_remote(&world->vec[pick(world, 0, world->nvecs - 1)], other);
    if (chance(world, 30) && tasklet->dying == 0) {
        note_alone(world, cpu);
        tasklet->scheduled++;
        if (tasklet->hi)
            sirq_tasklet_hi_schedule(cpu, &tasklet->tasklet);
        else
            sirq_tasklet_schedule(cpu, &tasklet->tasklet);
    }
}

/* One that was cancelled; here, which may be a CPU that has left. */
static void arm_timer(struct world *world, struct sirq_cpu *cpu)
{
    for (unsigned i = 0; i < world->ntimers; i++) {
        struct world_timer *timer = &world->timer[i];

        if (!timer->cancelled)
            continue;
        timer->cancelled = false;
        timer->cpu = id(cpu);
        timer->expires = sirq_jiffies(cpu) + pick(world, 1, 10);
        sirq_timer_mod_local(cpu, &timer->timer, timer->expires);
        return;
    }
}

static void action(struct sirq_cpu *cpu, void *data)
{
    struct world_vec *vec = data;
    struct world *world = vec->world;

    vec->seen[id(cpu)] = vec->raised[id(cpu)];
    sirq_sim_spend(world->sim, vec->cost_ns);
    if (!world->stopping) {
        if (vec->again == AGAIN_ALWAYS || (vec->again == AGAIN_SOMETIMES && chance(world, 50)))
            raise_vec(vec, cpu);
        if (chance(world, 5))
            world_raise(world, cpu);
        if (has(world, FAULT_KILL) && chance(world, 5))
            arm_timer(world, cpu);
    }
}

static void tasklet_fn(struct sirq_tasklet *tasklet, void *data)
{
    struct world_tasklet *self = data;

    MUST(self->world, !self->inside);
    self->inside = true;
    MUST(self->world, tasklet->disabled == 0);
    self->ran = self->scheduled;
    sirq_sim_spend(self->world->sim, self->cost_ns);
    MUST(self->world, self->inside);
    self->inside = false;
}

static void timer_fn(struct sirq_cpu *cpu, struct sirq_timer *timer, void *data)
{
    struct world_timer *self = data;
    struct world *world = self->world;

    MUST(world, (id(cpu) == self->cpu || has(world, FAULT_CPUS)) && !self->cancelled);
    MUST(world, sirq_jiffies(cpu) >= self->expires && sirq_in_softirq(cpu));
    self->fired++;
    self->cpu = id(cpu);
    if (world->stopping)
        return;
    self->expires = sirq_jiffies(cpu) + pick(world, 1, 20);
    sirq_timer_mod_local(cpu, timer, self->expires);
}

static void line_handler(struct sirq_cpu *cpu, void *data)
{
    struct world_line *line = data;
    struct world *world = line->world;

    MUST(world, sirq_in_hardirq(cpu));
    sirq_sim_spend(world->sim, line->cost_ns);
    if (world->stopping)
        return;
    world_raise(world, cpu); /* or nothing: spurious */
    sirq_sim_irq_raise(world->sim, &line->irq, pick(world, 1000, 2 * MS));
}

/* ---- tasks ---------------------------------------------------------------------------- */

/* One step of a task's life. */
static void step(struct world_task *self, struct sirq_sim_task *task)
{
    struct world *world = self->world;
    struct sirq_sim *sim = world->sim;
    struct sirq_cpu *cpu;

    sirq_sim_spend(sim, 1); /* below here no time passes unless it says so */
    switch (pick(world, 0, 6)) {
    case 0:
        sirq_sim_sleep_until(task, sirq_sim_now_ns(sim) + pick(world, 1, 3 * MS));
        break;
    case 1:
        sirq_sim_yield(task);
        break;
    case 2: /* a bottom-half section, with time passing inside */
        cpu = world->core->host->this_cpu(world->core);
        sirq_bh_disable(cpu);
        world->bh_off[id(cpu)] = true;
        sirq_sim_spend(sim, pick(world, 1, 100000));
        MUST(world, world->core->host->this_cpu(world->core) == cpu);
        world_raise(world, cpu);
        world->bh_off[id(cpu)] = false;
        sirq_bh_enable(cpu);
        break;
    case 3: /* outside of any section: only ksoftirqd would notice */
        world_raise(world, world->core->host->this_cpu(world->core));
        break;
    case 4:
        world_fault_task(world, world->core->host->this_cpu(world->core));
        break;
    default:
        sirq_sim_spend(sim, pick(world, 1, 300000));
    }
}

static void task_main(struct sirq_sim_task *task, void *arg)
{
    struct world_task *self = arg;

    while (!self->world->stopping) {
        step(self, task);
        sirq_sim_spend(self->world->sim, 100);
    }
    self->done = true;
}

static void receiver_main(struct sirq_sim_task *task, void *arg)
{
    struct world_task *self = arg;
    struct world *world = self->world;
    unsigned batch = (unsigned)pick(world, 1, 4);
    uint8_t buf[16];

    while (!world->quit) {
        struct sirq_msg msg[4];
        int n;

        if (has(world, FAULT_SOCKETS) && self->i < world->nudp && !world->stopping &&
            chance(world, 4))
            world_socket_reopen(world, self->i);
        if (has(world, FAULT_DEAF) && !world->stopping && chance(world, 3))
            sirq_sim_sleep_until(task, sirq_sim_now_ns(world->sim) + pick(world, MS, 20 * MS));

        for (unsigned i = 0; i < 4; i++)
            msg[i] = (struct sirq_msg){.buf = buf, .size = sizeof(buf)};
        n = sirq_recv(world->sock[self->i], msg, batch,
                      (int64_t)(chance(world, 50) ? 100 * MS : MS));
        MUST(world, n > 0 || n == -110);
        for (int i = 0; i < n && self->i < world->nudp; i++)
            world_steer_received(world, &msg[i]);
        if (n > 0)
            world->received[self->i] += (uint64_t)n;
        if (world->stopping)
            continue;
        sirq_sim_spend(world->sim, pick(world, 1, 2000));
    }
    self->done = true;
}

static struct sirq_sched any_sched(struct world *world)
{
    struct sirq_sched sched = {.nice = (int)pick(world, 0, 20) - 10};

    if (chance(world, 25))
        sched = (struct sirq_sched){.policy = chance(world, 50) ? SCHED_RR : SCHED_FIFO,
                                    .priority = (int)pick(world, 1, 99)};
    return sched;
}

void world_spawn(struct world *world, struct world_task *self, unsigned i,
                 void (*fn)(struct sirq_sim_task *task, void *arg))
{
    uint64_t allowed = sirq_rng_next(&world->rng) | 1;
    struct sirq_sim_task_config config = {
        .name = "task",
        .fn = fn,
        .arg = self,
        .cpu = chance(world, 50) ? -1 : (int)pick(world, 0, world->ncpus - 1),
        .allowed = chance(world, 50) ? &allowed : NULL,
        .sched = any_sched(world),
    };
    struct sirq_error err;

    *self = (struct world_task){.world = world, .i = i};
    MUST(world, sirq_sim_spawn(world->sim, &config, &self->task, &err) == 0);
}

/* ---- putting it together -------------------------------------------------------------- */

static void load_deferred(struct world *world)
{
    world->nvecs = (unsigned)pick(world, 1, WORLD_VECS);
    for (unsigned i = 0; i < world->nvecs; i++) {
        struct world_vec *vec = &world->vec[i];
        unsigned luck = (unsigned)pick(world, 0, 9);

        vec->world = world;
        vec->cost_ns = (uint32_t)pick(world, 300, chance(world, 10) ? 3 * MS : 20000);
        vec->again = luck < 5 && has(world, FAULT_AGAIN) ? AGAIN_ALWAYS
                     : luck < 4                          ? AGAIN_SOMETIMES
                                                         : AGAIN_NEVER;
        vec->vec = i == 0 && world->ndisks == 0 && chance(world, 50)
                       ? SIRQ_BLOCK
                       : (unsigned)sirq_open_user(world->core, "test", action, vec);
        if (vec->vec == SIRQ_BLOCK)
            MUST(world, sirq_open(world->core, SIRQ_BLOCK, "BLOCK", action, vec) == 0);
    }
    for (unsigned i = 0; i < WORLD_TASKLETS; i++) {
        struct world_tasklet *tasklet = &world->tasklet[i];

        tasklet->world = world;
        tasklet->hi = chance(world, 30);
        tasklet->cost_ns = (uint32_t)pick(world, 1, 50000);
        sirq_tasklet_init(&tasklet->tasklet, tasklet_fn, tasklet);
    }
}

static void load_timers(struct world *world)
{
    world->ntimers = (unsigned)pick(world, 0, WORLD_TIMERS);
    for (unsigned i = 0; i < world->ntimers; i++) {
        struct world_timer *timer = &world->timer[i];
        struct sirq_cpu *cpu;

        timer->world = world;
        timer->cpu = (unsigned)pick(world, 0, world->ncpus - 1);
        timer->expires = pick(world, 1, 10);
        cpu = &world->core->cpus[timer->cpu];
        sirq_timer_init(&timer->timer, timer_fn, timer);
        sirq_bh_disable(cpu); /* from outside, before time begins */
        sirq_timer_mod_local(cpu, &timer->timer, timer->expires);
        sirq_bh_enable(cpu);
    }
}

static void load_lines(struct world *world)
{
    world->nlines = (unsigned)pick(world, 1, WORLD_LINES);
    for (unsigned i = 0; i < world->nlines; i++) {
        struct world_line *line = &world->line[i];
        struct sirq_error err;

        line->world = world;
        line->irq = (struct sirq_irq){.handler = line_handler, .data = line};
        /* now and then a CPU that a handler stalls */
        line->cost_ns = (uint32_t)pick(world, 1, chance(world, 10) ? MS : 5000);
        MUST(world, sirq_sim_irq_request(world->sim, (unsigned)pick(world, 0, world->ncpus - 1),
                                         &line->irq, &err) == 0);
        sirq_sim_irq_raise(world->sim, &line->irq, pick(world, 0, 2 * MS));
    }
}

void world_load(struct world *world)
{
    load_deferred(world);
    load_timers(world);
    load_lines(world);
    world->ntasks = (unsigned)pick(world, 0, WORLD_TASKS);
    for (unsigned i = 0; i < world->ntasks; i++)
        world_spawn(world, &world->task[i], i, task_main);
    for (unsigned i = 0; i < world->nsocks; i++)
        world_spawn(world, &world->receiver[i], i, receiver_main);
    world_readers(world);
}
