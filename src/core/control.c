/* SPDX-License-Identifier: MIT */
/*
 * Set-up and control of a core: what is called from task context, now and then.
 *
 * Vectors are opened before they are raised, so an action is never changed under a run; the
 * policy and the threaded mask may change at any time and are asked for anew at each use.
 */
#define SIRQ_CORE_PRIVATE
#include "core.h"

static const char *const vector_names[SIRQ_USER] = {
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
};

int sirq_core_init(struct sirq_core *core, struct sirq_cpu *cpus, unsigned ncpus, unsigned hz,
                   const struct sirq_host *host, void *host_data)
{
    if (core == NULL || cpus == NULL || host == NULL || ncpus == 0 || hz == 0 || hz > 100000)
        return -EINVAL;
#ifdef SIRQ_HZ
    if (hz != SIRQ_HZ) /* the policies' limits are constants for that one */
        return -EINVAL;
#endif
    *core = (struct sirq_core){
        .host = host,
        .host_data = host_data,
        .policy = sirq_policy_default(),
        .cpus = cpus,
        .ncpus = ncpus,
        .hz = hz,
        .tick_ns = 1000000000u / hz,
        .stall_ns = 1000000000u,
    };
    for (unsigned i = 0; i < ncpus; i++)
        cpus[i] =
            (struct sirq_cpu){.core = core, .id = i, .online = true, .traced = host->trace != NULL};
    return 0;
}

int sirq_open(struct sirq_core *core, unsigned vec, const char *name, sirq_action_fn fn, void *data)
{
    if (vec >= SIRQ_NR_VECTORS || fn == NULL)
        return -EINVAL;
    if (core->action[vec].fn != NULL)
        return -EBUSY;
    core->action[vec].data = data;
    core->action[vec].name = name;
    __atomic_store_n(&core->action[vec].fn, fn, __ATOMIC_RELEASE);
    return 0;
}

int sirq_open_user(struct sirq_core *core, const char *name, sirq_action_fn fn, void *data)
{
    if (fn == NULL)
        return -EINVAL;
    for (unsigned vec = SIRQ_USER; vec < SIRQ_NR_VECTORS; vec++)
        if (sirq_open(core, vec, name, fn, data) == 0)
            return (int)vec;
    return -ENOSPC;
}

const char *sirq_vector_name(const struct sirq_core *core, unsigned vec)
{
    if (vec >= SIRQ_NR_VECTORS)
        return NULL;
    if (core->action[vec].name != NULL)
        return core->action[vec].name;
    return vec < SIRQ_USER ? vector_names[vec] : "USER";
}

void sirq_set_policy(struct sirq_core *core, const struct sirq_policy *policy)
{
    __atomic_store_n(&core->policy, policy, __ATOMIC_RELEASE);
}

const struct sirq_policy *sirq_get_policy(const struct sirq_core *core)
{
    return __atomic_load_n(&core->policy, __ATOMIC_ACQUIRE);
}

void sirq_force_threaded(struct sirq_core *core, uint32_t mask)
{
    __atomic_store_n(&core->threaded_mask, mask, __ATOMIC_RELAXED);
}

struct sirq_cpu *sirq_any_online(struct sirq_core *core)
{
    for (unsigned i = 0; i < core->ncpus; i++)
        if (__atomic_load_n(&core->cpus[i].online, __ATOMIC_ACQUIRE))
            return &core->cpus[i];
    return &core->cpus[0];
}

uint64_t sirq_jiffies(const struct sirq_cpu *cpu)
{
    return sirq_now_ns(cpu) / cpu->core->tick_ns;
}

uint64_t sirq_raised(const struct sirq_cpu *cpu, unsigned vec)
{
    if (vec >= SIRQ_NR_VECTORS)
        return 0;
    return __atomic_load_n(&cpu->stats.vec[vec].run, __ATOMIC_RELAXED) +
           __atomic_load_n(&cpu->merged[vec], __ATOMIC_RELAXED) + (sirq_pending(cpu) >> vec & 1);
}

bool sirq_in_hardirq(const struct sirq_cpu *cpu)
{
    return cpu->core->host->ctx()->hardirq_depth > 0;
}

/* ---- waiting for others ------------------------------------------------------------- */

/*
 * Taking each CPU's bottom halves once waits for every section that was open before.  Its
 * wake-ups may be issued after it let go: wait for those too, the list first (a wake-up in
 * neither place is over).
 */
void sirq_synchronize_call(struct sirq_core *core, void (*fn)(struct sirq_cpu *cpu, void *data),
                           void *data)
{
    for (unsigned i = 0; i < core->ncpus; i++) {
        struct sirq_cpu *cpu = &core->cpus[i];
        struct sirq_ctx *ctx = core->host->ctx();
        bool mine = sirq_in_softirq(cpu);

        if (!mine)
            sirq_own_local(cpu, ctx);
        if (fn != NULL)
            fn(cpu, data);
        if (mine)
            continue;
        sirq_disown_local(cpu, ctx);
        if (sirq_pending(cpu) != 0)
            sirq_ksoftirqd_wake(cpu);
        while (!sirq_llist_empty(&cpu->wakes) || __atomic_load_n(&cpu->waking, __ATOMIC_SEQ_CST))
            core->host->relax(cpu);
    }
}
