/* SPDX-License-Identifier: MIT */
/* Worlds as users see them: configuration, running, tasks, figures. */
#define SIRQ_SIM_HOST_PRIVATE
#include "host.h"

#include <errno.h>
#include <stdlib.h>

#define NS_PER_S UINT64_C(1000000000)

_Static_assert(SIM_CPUS == SIRQ_SIM_CPUS && SIM_LEVELS == SIRQ_SIM_LEVELS, "sirq/sim.h");
_Static_assert((int)SIM_HARDIRQ == (int)SIRQ_SIM_HARDIRQ, "sirq/sim.h");

/*
 * The only thing outside of worlds: which of them this thread is in.  The core asks for "the
 * caller's context" without saying where, as code on a real machine can.
 */
static _Thread_local struct sirq_sim *current;

struct sirq_sim *sirq_sim_current(void)
{
    return current;
}

/* ---- configuration ------------------------------------------------------------------- */

static int check_sched(const struct sirq_sched *sched, const char *name, struct sirq_error *err)
{
    bool rt = sched->policy == SCHED_FIFO || sched->policy == SCHED_RR;

    if (!rt && sched->policy != SCHED_OTHER && sched->policy != SCHED_BATCH &&
        sched->policy != SCHED_IDLE)
        return sirq_fail(err, EINVAL,
                         "%s: scheduling class %d: give OTHER, BATCH, IDLE, FIFO "
                         "or RR",
                         name, sched->policy);
    if (rt ? sched->priority < 1 || sched->priority > 99 : sched->priority != 0)
        return sirq_fail(err, EINVAL, "%s: priority %d: give 1 to 99 for FIFO and RR, else 0", name,
                         sched->priority);
    if (sched->nice < -20 || sched->nice > 19)
        return sirq_fail(err, EINVAL, "%s: nice %d: give -20 to 19", name, sched->nice);
    return 0;
}

static int check_costs(const struct sirq_sim_config *config, struct sirq_error *err)
{
    static const char *const names[] = {
#define COST_NAME(sym, name, meaning) name,
        SIRQ_COSTS(COST_NAME)
#undef COST_NAME
    };

    for (unsigned i = 0; i < SIRQ_NR_COSTS; i++)
        if (config->cost_ns[i] == 0 || config->cost_ns[i] > NS_PER_S)
            return sirq_fail(err, EINVAL, "cost %s: %u ns: give 1 to 1000000000", names[i],
                             config->cost_ns[i]);
    return 0;
}

static int check(const struct sirq_sim_config *config, struct sirq_error *err)
{
    int rc;

    if (config->ncpus < 1 || config->ncpus > SIRQ_SIM_CPUS)
        return sirq_fail(err, EINVAL, "cpus %u: give 1 to %u", config->ncpus, SIRQ_SIM_CPUS);
    if (config->hz > 100000)
        return sirq_fail(err, EINVAL, "hz %u: give 1 to 100000", config->hz);
    if (config->smt > 2 || (config->smt == 2 && config->ncpus % 2 != 0))
        return sirq_fail(err, EINVAL, "smt %u with %u cpus: give 1, or 2 with an even number",
                         config->smt, config->ncpus);
    if (config->smt_permille != 0 && (config->smt_permille < 1000 || config->smt_permille > 10000))
        return sirq_fail(err, EINVAL, "smt_permille %u: give 1000 to 10000", config->smt_permille);
    if (config->scheduler > SIRQ_SIM_EEVDF)
        return sirq_fail(err, EINVAL, "scheduler %d: give CFS or EEVDF", (int)config->scheduler);
    rc = check_sched(&config->ksoftirqd, "ksoftirqd", err);
    return rc != 0 ? rc : check_costs(config, err);
}

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
    return value != 0 ? value : otherwise;
}

/* Linux scales by 1 + log2 of the CPUs, of which at most 8 count. */
static unsigned fair_factor(unsigned ncpus)
{
    return 1 + (ncpus >= 2) + (ncpus >= 4) + (ncpus >= 8);
}

static void take_config(struct sirq_sim *sim, const struct sirq_sim_config *config)
{
    const struct sirq_sim_fair *fair = &config->fair;
    unsigned factor = fair_factor(config->ncpus);

    sim->ncpus = config->ncpus;
    for (unsigned i = 0; i < SIRQ_NR_COSTS; i++)
        sim->cost_ns[i] = config->cost_ns[i];
    sim->latency_ns = or_default(fair->latency_ns, factor * UINT64_C(6000000));
    sim->min_granularity_ns = or_default(fair->min_granularity_ns, factor * UINT64_C(750000));
    sim->wakeup_granularity_ns =
        or_default(fair->wakeup_granularity_ns, factor * UINT64_C(1000000));
    sim->slice_ns = or_default(fair->slice_ns, factor * UINT64_C(750000));
    sim->fair = config->scheduler == SIRQ_SIM_EEVDF ? &sirq_eevdf : &sirq_cfs;
    sim->ipi_ns = or_default(config->ipi_ns, 1000);
    sim->rt_period_ns = or_default(config->rt_period_ns, NS_PER_S);
    sim->rt_runtime_ns = or_default(config->rt_runtime_ns, sim->rt_period_ns / 100 * 95);
    sim->stall_ns = config->stall_ns;
    sim->rcu_stall_ns = or_default(config->rcu_stall_ns, 21 * NS_PER_S);
    sim->rcu_next_ns = sim->rcu_stall_ns;
    sim->balance_ns = UINT64_C(4000000);
    sim->irq_time_accounting = config->irq_time_accounting;
    sim->smt = config->smt;
    sim->smt_permille = (unsigned)or_default(config->smt_permille, 1600);
    sim->report = config->report;
    sim->report_arg = config->report_arg;
    sirq_rng_seed(&sim->rng, config->seed, 0);
}

int sirq_sim_create(struct sirq_sim **out, const struct sirq_sim_config *config,
                    struct sirq_error *err)
{
    struct sirq_sim *sim;
    int rc = check(config, err);

    if (rc != 0)
        return rc;
    sim = calloc(1, sizeof(*sim));
    if (sim == NULL)
        return sirq_fail(err, ENOMEM, "out of memory");
    take_config(sim, config);
    sim->outer = current;
    current = sim;
    rc = sirq_sim_trace_init(sim, config);
    if (rc == 0)
        rc = sirq_machine_init(sim, config->hz != 0 ? config->hz : 250, &sim->host);
    if (rc == 0 && config->policy != NULL)
        sirq_set_policy(&sim->core, config->policy);
    if (rc == 0)
        rc = sirq_sim_ksoftirqds(sim, &config->ksoftirqd);
    current = sim->outer;
    if (rc != 0) {
        sirq_sim_destroy(sim);
        return sirq_fail(err, -rc, "no memory for %u CPUs", config->ncpus);
    }
    *out = sim;
    return 0;
}

void sirq_sim_destroy(struct sirq_sim *sim)
{
    if (sim == NULL)
        return;
    sirq_sim_napi_free(sim);
    sirq_machine_fini(sim);
    free(sim->traces);
    free(sim);
}

/* ---- running ------------------------------------------------------------------------- */

void sirq_sim_run(struct sirq_sim *sim, uint64_t until_ns)
{
    assert(sim->running == NULL);
    sim->outer = current;
    current = sim;
    sirq_machine_run(sim, until_ns);
    current = sim->outer;
}

uint64_t sirq_sim_now_ns(const struct sirq_sim *sim)
{
    return sim->now;
}

struct sirq_core *sirq_sim_core(struct sirq_sim *sim)
{
    return &sim->core;
}

uint64_t sirq_sim_random(struct sirq_sim *sim, uint64_t n)
{
    return sirq_rng_below(&sim->rng, n);
}

uint64_t sirq_sim_digest(const struct sirq_sim *sim)
{
    return sim->digest;
}

void sirq_sim_events(const struct sirq_sim *sim, struct sirq_sim_events *out)
{
    *out = (struct sirq_sim_events){
        .events = sim->nevents,
        .charges = sim->ncharges,
        .switches = sim->nswitches,
    };
}

size_t sirq_sim_memory(const struct sirq_sim *sim)
{
    size_t bytes = sizeof(*sim) + sim->stacks.mapped + sim->evq.cap * sizeof(*sim->evq.heap);

    bytes += sim->ncpus * (sizeof(*sim->cpus) + sizeof(*sim->vcpus) + sizeof(*sim->timers));
    bytes += sim->ntasks * sizeof(struct sirq_sim_task) + sirq_sim_trace_memory(sim);
    for (unsigned i = 0; i < sim->ncpus; i++)
        bytes += sim->vcpus[i].fair.cap * sizeof(struct sirq_sim_task *);
    for (const struct sirq_sim_nic *nic = sim->nics; nic != NULL; nic = nic->next)
        bytes += sirq_nic_memory(nic);

    return bytes;
}

/* ---- tasks --------------------------------------------------------------------------- */

/* Who can run there; of two alike the one on the idle core is better. */
static unsigned load_of(const struct sirq_vcpu *vcpu)
{
    const struct sirq_sim *sim = vcpu->sim;
    bool shared = sim->smt > 1 && sirq_vcpu_nr(&sim->vcpus[vcpu->id ^ 1]) > 0;

    return 2 * sirq_vcpu_nr(vcpu) + shared;
}

/* The least loaded of the CPUs that a new task may use; null: there is none. */
static struct sirq_vcpu *home(struct sirq_sim *sim, const uint64_t *allowed)
{
    struct sirq_vcpu *best = NULL;

    for (unsigned i = 0; i < sim->ncpus; i++) {
        struct sirq_vcpu *vcpu = &sim->vcpus[i];

        if ((allowed[i / 64] >> (i % 64) & 1) && vcpu->active &&
            (best == NULL || load_of(vcpu) < load_of(best)))
            best = vcpu;
    }
    return best;
}

static void take_allowed(const struct sirq_sim *sim, const struct sirq_sim_task_config *config,
                         uint64_t *allowed)
{
    for (unsigned i = 0; i < sim->ncpus; i++) {
        bool may = config->cpu >= 0
                       ? i == (unsigned)config->cpu
                       : config->allowed == NULL || (config->allowed[i / 64] >> (i % 64) & 1);

        if (may)
            allowed[i / 64] |= UINT64_C(1) << (i % 64);
    }
}

int sirq_sim_spawn(struct sirq_sim *sim, const struct sirq_sim_task_config *config,
                   struct sirq_sim_task **out, struct sirq_error *err)
{
    uint64_t allowed[SIM_CPUS / 64] = {0};
    struct sirq_task_params params = {
        .name = config->name,
        .fn = config->fn,
        .arg = config->arg,
        .woken = config->woken,
        .allowed = allowed,
        .sched = config->sched,
    };
    struct sirq_sim_task *task;
    struct sirq_vcpu *vcpu;
    int rc = check_sched(&config->sched, config->name, err);

    if (rc != 0)
        return rc;
    take_allowed(sim, config, allowed);
    vcpu = home(sim, allowed);
    if (vcpu == NULL)
        return sirq_fail(err, EINVAL, "%s: cpu %d: not one of the %u CPUs that is online",
                         config->name, config->cpu, sim->ncpus);
    if (sim->ntasks >= SIRQ_SIM_TASKS)
        return sirq_fail(err, EINVAL, "%s: more than %u tasks", config->name, SIRQ_SIM_TASKS);
    task = sirq_task_new(sim, vcpu, &params);
    if (task == NULL)
        return sirq_fail(err, ENOMEM, "%s: out of memory", config->name);
    sirq_task_start(task);
    if (out != NULL)
        *out = task;
    return 0;
}

void sirq_sim_task_stats(struct sirq_sim_task *task, struct sirq_sim_task_stats *out)
{
    *out = (struct sirq_sim_task_stats){
        .sched_ns = sirq_sched_charged_ns(task),
        .task_ns = task->time_ns[SIM_TASK],
        .softirq_ns = task->time_ns[SIM_SOFTIRQ],
        .hardirq_ns = task->time_ns[SIM_HARDIRQ],
        .switches = task->switches,
        .preempted = task->preempted,
    };
}

struct sirq_sim_task *sirq_sim_ksoftirqd(struct sirq_sim *sim, unsigned cpu)
{
    return cpu < sim->ncpus ? sim->vcpus[cpu].ksoftirqd : NULL;
}

void sirq_sim_spend(struct sirq_sim *sim, uint64_t ns)
{
    sirq_vcpu_spend(sim, ns);
}

void sirq_sim_sleep_until(struct sirq_sim_task *task, uint64_t time_ns)
{
    sirq_task_sleep(task, time_ns);
}

void sirq_sim_yield(struct sirq_sim_task *task)
{
    sirq_task_yield(task);
}

struct sirq_cpu *sirq_sim_this_cpu(const struct sirq_sim *sim)
{
    return sim->running != NULL ? sim->running->cpu : NULL;
}

struct sirq_sim *sirq_sim_of(const struct sirq_sim_task *task)
{
    return task->sim;
}

int sirq_sim_cpu_offline(struct sirq_sim *sim, unsigned cpu, struct sirq_error *err)
{
    unsigned others = 0;

    if (cpu >= sim->ncpus || !sim->vcpus[cpu].active)
        return sirq_fail(err, EINVAL, "cpu %u: not one of the %u CPUs that is online", cpu,
                         sim->ncpus);
    for (unsigned i = 0; i < sim->ncpus; i++) {
        const struct sirq_vcpu *vcpu = &sim->vcpus[i];

        if (!vcpu->active && vcpu->cpu->online)
            return sirq_fail(err, EBUSY, "cpu %u: cpu %u is leaving: one at a time", cpu, i);
        others += i != cpu && vcpu->active;
    }
    if (others == 0)
        return sirq_fail(err, EBUSY, "cpu %u: is the last one", cpu);
    sirq_hotplug_offline(&sim->vcpus[cpu]);
    return 0;
}

int sirq_sim_cpu_online(struct sirq_sim *sim, unsigned cpu, struct sirq_error *err)
{
    if (cpu >= sim->ncpus || sim->vcpus[cpu].active)
        return sirq_fail(err, EINVAL, "cpu %u: not one of the %u CPUs that has left", cpu,
                         sim->ncpus);
    if (sim->cpus[cpu].online)
        return sirq_fail(err, EBUSY, "cpu %u: it is leaving: try later", cpu);
    if (sim->cpus[cpu].word >> 32 != 0) /* or two CPUs would be at its softirqs */
        return sirq_fail(err, EBUSY, "cpu %u: its softirqs run elsewhere now: try later", cpu);
    sirq_hotplug_online(&sim->vcpus[cpu]);
    return 0;
}

bool sirq_sim_cpu_is_online(const struct sirq_sim *sim, unsigned cpu)
{
    return cpu < sim->ncpus && sim->cpus[cpu].online;
}

void sirq_sim_cpu_stats(const struct sirq_sim *sim, unsigned cpu, struct sirq_sim_cpu_stats *out)
{
    const struct sirq_vcpu *vcpu = &sim->vcpus[cpu];

    assert(cpu < sim->ncpus);
    *out = (struct sirq_sim_cpu_stats){
        .switches = vcpu->switches,
        .ticks = vcpu->ticks,
        .rcu_stalls = vcpu->rcu.stalls,
        .rcu_stall_longest_ns = sirq_rcu_longest_ns(vcpu),
        .rcu_first_stall_jiffies = vcpu->rcu.first_stall_jiffies,
    };
    for (unsigned i = 0; i < SIM_LEVELS; i++)
        out->time_ns[i] = vcpu->time_ns[i];
    if (vcpu->waiting)
        out->time_ns[vcpu->wait_level] += sim->now - vcpu->wait_since;
    for (unsigned i = 0; i < SIM_LEVELS; i++)
        out->idle_task_ns += vcpu->idle->time_ns[i];
    if (vcpu->waiting && vcpu->curr == vcpu->idle)
        out->idle_task_ns += sim->now - vcpu->wait_since;
}
