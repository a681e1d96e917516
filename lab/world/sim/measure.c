/* SPDX-License-Identifier: MIT */
/*
 * A world is measured between two samples.  Scalars are differences of what the samples
 * count; distributions fill themselves while rig->measuring.
 */
#include "measure.h"

#include <errno.h>
#include <stdlib.h>

#include "pass.h"
#include "rig.h"

#define NS_PER_MS UINT64_C(1000000)

struct thread_sample {
    uint64_t count, bytes, stalls, drops, sched_ns, task_ns;
};

struct nic_sample {
    uint64_t arrived, dropped; /* dropped: at full rings, or in front of the line */
};

struct disk_sample {
    uint64_t completed;
};

struct cpu_sample {
    uint64_t softirq_ns, hardirq_ns, idle_ns, idle_task_ns, ksoftirqd_ns, punts, rcu_stalls,
        stall_jiffies;
};

struct sample {
    struct thread_sample *threads; /* of all groups, one after the other */
    struct nic_sample *nics;
    struct disk_sample *disks;
    struct sirq_sim_flow_counts *flows;
    struct cpu_sample *cpus;
};

struct world {
    const struct sirq_sim_job *job;
    struct sirq_sim_rig rig;
    struct sample before, after;
    uint32_t *first; /* of each group in a sample */
    uint64_t ns;
};

/* ---- samples ------------------------------------------------------------------------------ */

static void sample_thread(struct sirq_sim_thread *thread, struct thread_sample *sample)
{
    struct sirq_sim_task_stats task;
    struct sirq_socket_stats sock = {0};

    sirq_sim_task_stats(thread->task, &task);
    if (thread->sock != NULL)
        sirq_socket_stats(thread->sock, &sock);
    *sample = (struct thread_sample){
        .count = thread->count,
        .bytes = thread->bytes,
        .stalls = thread->stalls + (sirq_sim_now_ns(thread->rig->sim) > thread->due_ns),
        .drops = sock.dropped,
        .sched_ns = task.sched_ns,
        .task_ns = task.task_ns,
    };
}

static void sample_cpu(struct sirq_sim_rig *rig, unsigned cpu, struct cpu_sample *sample)
{
    struct sirq_sim_task_stats ksoftirqd;
    struct sirq_sim_cpu_stats stats;

    sirq_sim_cpu_stats(rig->sim, cpu, &stats);
    sirq_sim_task_stats(sirq_sim_ksoftirqd(rig->sim, cpu), &ksoftirqd);
    *sample = (struct cpu_sample){
        .softirq_ns = stats.time_ns[SIRQ_SIM_SOFTIRQ],
        .hardirq_ns = stats.time_ns[SIRQ_SIM_HARDIRQ],
        .idle_ns = stats.time_ns[SIRQ_SIM_IDLE],
        .idle_task_ns = stats.idle_task_ns,
        .ksoftirqd_ns = ksoftirqd.sched_ns,
        .punts = sirq_sim_core(rig->sim)->cpus[cpu].stats.punts,
        .rcu_stalls = stats.rcu_stalls,
        .stall_jiffies = stats.rcu_first_stall_jiffies,
    };
}

static void take(struct world *world, struct sample *sample)
{
    struct sirq_sim_rig *rig = &world->rig;

    for (uint32_t g = 0; g < rig->n_groups; g++) {
        for (uint32_t i = 0; i < rig->groups[g].n; i++)
            sample_thread(&rig->groups[g].threads[i], &sample->threads[world->first[g] + i]);
    }
    for (uint32_t i = 0; i < rig->n_nics; i++) {
        struct sirq_sim_nic_stats nic;

        sirq_sim_nic_stats(rig->nics[i].sim, &nic);
        sample->nics[i] =
            (struct nic_sample){.arrived = nic.arrived, .dropped = nic.dropped + nic.line_dropped};
    }
    for (uint32_t i = 0; i < rig->n_disks; i++) {
        struct sirq_sim_disk_stats disk;

        sirq_sim_disk_stats(rig->disks[i].sim, &disk);
        sample->disks[i] = (struct disk_sample){.completed = disk.completed};
    }
    for (uint32_t i = 0; i < rig->n_flows; i++)
        sirq_sim_rig_flow_counts(&rig->flows[i], &sample->flows[i]);
    for (uint32_t i = 0; i < rig->spec->machine.cpus; i++)
        sample_cpu(rig, i, &sample->cpus[i]);
}

static int sample_make(struct world *world, struct sample *sample, uint32_t threads)
{
    const struct sirq_spec *spec = world->job->spec;

    sample->threads = calloc((size_t)threads + 1, sizeof(*sample->threads));
    sample->nics = calloc((size_t)spec->n_nics + 1, sizeof(*sample->nics));
    sample->disks = calloc((size_t)spec->n_disks + 1, sizeof(*sample->disks));
    sample->flows = calloc((size_t)spec->n_flows + 1, sizeof(*sample->flows));
    sample->cpus = calloc((size_t)spec->machine.cpus + 1, sizeof(*sample->cpus));
    return sample->threads != NULL && sample->nics != NULL && sample->disks != NULL &&
                   sample->flows != NULL && sample->cpus != NULL
               ? 0
               : -ENOMEM;
}

static void sample_free(struct sample *sample)
{
    free(sample->threads);
    free(sample->nics);
    free(sample->disks);
    free(sample->flows);
    free(sample->cpus);
}

/* ---- figures ------------------------------------------------------------------------------ */

static double per_second(const struct world *world, uint64_t n)
{
    return (double)n * 1e9 / (double)world->ns;
}

static double percent(const struct world *world, uint64_t ns)
{
    return 100 * (double)ns / (double)world->ns;
}

static struct thread_sample difference(const struct world *world, uint32_t i)
{
    const struct thread_sample *a = &world->before.threads[i], *b = &world->after.threads[i];

    return (struct thread_sample){
        .count = b->count - a->count,
        .bytes = b->bytes - a->bytes,
        .stalls = b->stalls - a->stalls,
        .drops = b->drops - a->drops,
        .sched_ns = b->sched_ns - a->sched_ns,
        .task_ns = b->task_ns - a->task_ns,
    };
}

/* Jain's index of what `n` got, in percent; NAN when none got anything. */
struct jain {
    double sum, squares;
    uint32_t n;
};

static void jain_add(struct jain *jain, uint64_t got)
{
    jain->sum += (double)got;
    jain->squares += (double)got * (double)got;
    jain->n++;
}

static double jain_index(const struct jain *jain)
{
    if (jain->squares <= 0)
        return __builtin_nan("");
    return 100 * jain->sum * jain->sum / ((double)jain->n * jain->squares);
}

static double of_threads(const struct world *world, const struct sirq_sim_target *target)
{
    uint32_t first = world->first[target->first], n = world->rig.groups[target->first].n;
    struct thread_sample sum = {0};
    struct jain rate = {0}, cpu = {0};

    for (uint32_t i = 0; i < n; i++) {
        struct thread_sample d = difference(world, first + i);

        if (target->thread != SIRQ_SIM_ALL && target->thread != i)
            continue;
        sum.count += d.count;
        sum.bytes += d.bytes;
        sum.stalls += d.stalls;
        sum.drops += d.drops;
        sum.sched_ns += d.sched_ns;
        sum.task_ns += d.task_ns;
        jain_add(&rate, d.count);
        jain_add(&cpu, d.sched_ns);
    }
    switch (target->what) {
    case SIRQ_SPEC_RATE:
        return per_second(world, sum.count);
    case SIRQ_SPEC_MBIT:
        return per_second(world, sum.bytes) * 8 / 1e6;
    case SIRQ_SPEC_CPU:
        return percent(world, sum.sched_ns);
    case SIRQ_SPEC_OWN_CPU:
        return percent(world, sum.task_ns);
    case SIRQ_SPEC_FAIRNESS:
        return jain_index(&rate);
    case SIRQ_SPEC_CPU_FAIRNESS:
        return jain_index(&cpu);
    case SIRQ_SPEC_STALLS:
        return (double)sum.stalls;
    case SIRQ_SPEC_DROPS:
        return (double)sum.drops;
    default:
        return __builtin_nan("");
    }
}

static double of_nic(const struct world *world, const struct sirq_sim_target *target)
{
    const struct nic_sample *a = &world->before.nics[target->first];
    const struct nic_sample *b = &world->after.nics[target->first];

    return target->what == SIRQ_SPEC_RATE ? per_second(world, b->arrived - a->arrived)
                                          : (double)(b->dropped - a->dropped);
}

static double of_flows(const struct world *world, const struct sirq_sim_target *target)
{
    uint64_t packets = 0, bytes = 0;

    for (uint32_t i = target->first; i < target->first + target->n; i++) {
        packets += world->after.flows[i].packets - world->before.flows[i].packets;
        bytes += world->after.flows[i].bytes - world->before.flows[i].bytes;
    }
    return target->what == SIRQ_SPEC_RATE ? per_second(world, packets)
                                          : per_second(world, bytes) * 8 / 1e6;
}

/* Shares are means over the CPUs, counts are sums. */
static double of_cpus(const struct world *world, const struct sirq_sim_target *target)
{
    struct cpu_sample sum = {0};

    for (uint32_t i = target->first; i < target->first + target->n; i++) {
        const struct cpu_sample *a = &world->before.cpus[i], *b = &world->after.cpus[i];

        sum.softirq_ns += b->softirq_ns - a->softirq_ns;
        sum.hardirq_ns += b->hardirq_ns - a->hardirq_ns;
        sum.idle_ns += b->idle_ns - a->idle_ns;
        sum.idle_task_ns += b->idle_task_ns - a->idle_task_ns;
        sum.ksoftirqd_ns += b->ksoftirqd_ns - a->ksoftirqd_ns;
        sum.punts += b->punts - a->punts;
        sum.rcu_stalls += b->rcu_stalls - a->rcu_stalls;
        if (b->stall_jiffies > sum.stall_jiffies)
            sum.stall_jiffies = b->stall_jiffies;
    }
    switch (target->what) {
    case SIRQ_SPEC_SOFTIRQ:
        return percent(world, sum.softirq_ns) / target->n;
    case SIRQ_SPEC_HARDIRQ:
        return percent(world, sum.hardirq_ns) / target->n;
    case SIRQ_SPEC_IDLE:
        return percent(world, sum.idle_ns) / target->n;
    case SIRQ_SPEC_IDLE_TASK:
        return percent(world, sum.idle_task_ns) / target->n;
    case SIRQ_SPEC_KSOFTIRQD:
        return percent(world, sum.ksoftirqd_ns) / target->n;
    case SIRQ_SPEC_PUNTS:
        return per_second(world, sum.punts);
    case SIRQ_SPEC_STALLS:
        return (double)sum.rcu_stalls;
    case SIRQ_SPEC_STALL_AFTER: /* since the world began: a stall takes longer than a warm-up */
        return sum.stall_jiffies != 0 ? (double)sum.stall_jiffies : __builtin_nan("");
    default:
        return __builtin_nan("");
    }
}

double sirq_sim_dist_figure(const struct sirq_sim_figure *figure, const struct sirq_dist *dist)
{
    static const double quantile[] = {
        [SIRQ_SPEC_P50] = 0.5,
        [SIRQ_SPEC_P90] = 0.9,
        [SIRQ_SPEC_P99] = 0.99,
        [SIRQ_SPEC_P999] = 0.999,
    };

    if (dist->hist.count == 0)
        return __builtin_nan("");
    switch (figure->measure->stat) {
    case SIRQ_SPEC_MIN:
        return (double)dist->min / figure->scale;
    case SIRQ_SPEC_MEAN:
        return sirq_dist_mean(dist) / figure->scale;
    case SIRQ_SPEC_MAX:
        return (double)dist->max / figure->scale;
    case SIRQ_SPEC_STDDEV:
        return sirq_dist_stddev(dist) / figure->scale;
    default:
        return sirq_dist_quantile(dist, quantile[figure->measure->stat]) / figure->scale;
    }
}

static double scalar(const struct world *world, const struct sirq_sim_target *target)
{
    switch (target->of) {
    case SIRQ_SIM_THREADS:
        return of_threads(world, target);
    case SIRQ_SIM_NIC:
        return of_nic(world, target);
    case SIRQ_SIM_CPU:
        return of_cpus(world, target);
    case SIRQ_SIM_FLOWS:
        return of_flows(world, target);
    default:
        return per_second(world, world->after.disks[target->first].completed -
                                     world->before.disks[target->first].completed);
    }
}

/* A rate may be wanted as a time: how long each takes. */
static double value_of(const struct world *world, const struct sirq_sim_figure *figure,
                       const struct sirq_sim_outcome *out)
{
    double value;

    if (figure->dist != UINT32_MAX)
        return sirq_sim_dist_figure(figure, &out->dists[figure->dist]);
    value = scalar(world, &figure->target);
    if (figure->per_ns > 0)
        return value > 0 ? 1e9 / value / figure->per_ns : __builtin_nan("");
    return value;
}

/* ---- one world ------------------------------------------------------------------------------ */

/* Where figures of CPUs come from. */
static const enum sirq_sim_traced traced[] = {
    [SIRQ_SPEC_RUN] = SIRQ_SIM_RUN,
    [SIRQ_SPEC_RUN_PACKETS] = SIRQ_SIM_RUN_PACKETS,
    [SIRQ_SPEC_LAST_PASS] = SIRQ_SIM_LAST_PASS,
    [SIRQ_SPEC_RAISE_TO_RUN] = SIRQ_SIM_RAISE_TO_RUN,
};

static void connect_threads(struct world *world, const struct sirq_sim_target *target,
                            struct sirq_dist *dist)
{
    struct sirq_sim_group *group = &world->rig.groups[target->first];

    for (uint32_t i = 0; i < group->n; i++) {
        struct sirq_sim_thread *thread = &group->threads[i];
        struct sirq_sim_sink *sink =
            target->what == SIRQ_SPEC_LATENCY ? &thread->latency : &thread->wakeup;

        if (target->thread == SIRQ_SIM_ALL)
            sink->dist[0] = dist;
        else if (target->thread == i)
            sink->dist[1] = dist;
    }
}

/* What happens goes into the distributions that somebody asked for.  Those of one CPU and of
 * all stand apart, also where there is only one. */
static void connect(struct world *world, struct sirq_sim_outcome *out)
{
    const struct sirq_sim_plan *plan = world->job->plan;

    for (uint32_t d = 0; d < plan->n_dists; d++) {
        const struct sirq_sim_target *target = &plan->dists[d];

        if (target->of == SIRQ_SIM_THREADS)
            connect_threads(world, target, &out->dists[d]);
        if (target->of == SIRQ_SIM_DISK)
            world->rig.disks[target->first].latency.dist[0] = &out->dists[d];
        for (uint32_t i = target->first;
             target->of == SIRQ_SIM_FLOWS && i < target->first + target->n; i++)
            world->rig.flows[i].latency.dist[target->n == 1] = &out->dists[d];
        for (uint32_t i = target->first;
             target->of == SIRQ_SIM_CPU && i < target->first + target->n; i++)
            world->rig.cpus[i].sink[traced[target->what]].dist[target->n == 1] = &out->dists[d];
    }
}

static bool wants_trace(const struct sirq_sim_plan *plan)
{
    for (uint32_t d = 0; d < plan->n_dists; d++) {
        if (plan->dists[d].of == SIRQ_SIM_CPU)
            return true;
    }
    return false;
}

static int prepare(struct world *world, struct sirq_error *err)
{
    const struct sirq_spec *spec = world->job->spec;
    uint32_t threads = 0;

    world->first = calloc((size_t)spec->n_threads + 1, sizeof(*world->first));
    for (uint32_t g = 0; g < spec->n_threads && world->first != NULL; g++) {
        world->first[g] = threads;
        threads += sirq_sim_count(&spec->threads[g]);
    }
    if (world->first == NULL || sample_make(world, &world->before, threads) != 0 ||
        sample_make(world, &world->after, threads) != 0)
        return sirq_fail(err, ENOMEM, "out of memory");
    return 0;
}

static int measure(struct world *world, struct sirq_sim_outcome *out, struct sirq_error *err)
{
    const struct sirq_sim_plan *plan = world->job->plan;
    uint64_t begin_ns;
    int rc = sirq_sim_pass_time(world->rig.sim, world->job->spec->run.warmup_ms * NS_PER_MS,
                                world->job->stop);

    if (rc)
        return rc;
    begin_ns = sirq_sim_now_ns(world->rig.sim);
    take(world, &world->before);
    world->rig.measuring = true;
    out->cut = sirq_sim_pass_time(world->rig.sim, world->ns, world->job->stop) == -EINTR;
    world->rig.measuring = false;
    sirq_sim_rig_trace_end(&world->rig);
    world->ns = sirq_sim_now_ns(world->rig.sim) - begin_ns;
    if (world->ns == 0)
        return -EINTR;
    take(world, &world->after);
    for (uint32_t i = 0; i < plan->n_figures; i++)
        out->values[i] = value_of(world, &plan->figures[i], out);
    out->stalled = world->rig.stalled;
    return out->cut ? 0 : sirq_sim_rig_settle(&world->rig, err);
}

int sirq_sim_job_run(const struct sirq_sim_job *job, struct sirq_sim_outcome *out,
                     struct sirq_error *err)
{
    const struct sirq_spec_run *run = &job->spec->run;
    struct world world = {.job = job, .ns = run->duration_ms * NS_PER_MS};
    const struct sirq_sim_rig_config config = {
        .spec = job->spec,
        .policy = job->policy,
        .seed = job->seed,
        .trace = wants_trace(job->plan),
        .end_ns = (run->warmup_ms + run->duration_ms) * NS_PER_MS,
    };
    int rc = prepare(&world, err);

    if (!rc)
        rc = sirq_sim_rig_open(&world.rig, &config, err);
    if (!rc) {
        connect(&world, out);
        rc = measure(&world, out, err);
    }
    sirq_sim_rig_close(&world.rig);
    sample_free(&world.before);
    sample_free(&world.after);
    free(world.first);
    return rc;
}
