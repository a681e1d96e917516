/* SPDX-License-Identifier: MIT */
/* See fake_host.h.  One fake at a time: sirq_host.ctx has no argument to find it by. */
#include <string.h>

#include "fake_host.h"

static struct fake *current;

static struct fake *called(enum fake_call call, struct sirq_cpu *cpu)
{
    struct fake *fake = current;

    fake->calls[call]++;
    fake->calls_cpu[call][cpu->id]++;
    return fake;
}

static void hook(struct fake *fake, enum fake_call call, struct sirq_cpu *cpu)
{
    if (fake->hook == NULL || fake->in_hook)
        return;
    fake->in_hook = true;
    fake->hook(fake, call, cpu);
    fake->in_hook = false;
}

static uint64_t host_now_ns(const struct sirq_cpu *cpu)
{
    struct sirq_cpu *mine = &cpu->core->cpus[cpu->id];
    struct fake *fake = called(FAKE_NOW, mine);

    hook(fake, FAKE_NOW, mine);
    return fake->now_ns;
}

static struct sirq_ctx *host_ctx(void)
{
    return &current->thread[current->self];
}

static struct sirq_cpu *host_this_cpu(struct sirq_core *core)
{
    return &core->cpus[current->self / 3];
}

static void host_bh_lock(struct sirq_cpu *cpu, struct sirq_ctx *ctx)
{
    struct fake *fake = called(FAKE_BH_LOCK, cpu);

    fake->waiter = ctx->token;
    hook(fake, FAKE_BH_LOCK, cpu);
    fake->waiter = 0;
    if (fake_owner(fake, cpu->id) == ctx->token)
        return; /* handed over */
    /* The hook has let the owner go on: the lock is free, or the test is wrong. */
    assert_int_equal(fake_owner(fake, cpu->id), 0);
    __atomic_fetch_or(&cpu->word, (uint64_t)ctx->token << 32, __ATOMIC_ACQUIRE);
}

static void host_bh_unlock(struct sirq_cpu *cpu, struct sirq_ctx *ctx)
{
    struct fake *fake = called(FAKE_BH_UNLOCK, cpu);

    assert_ptr_equal(ctx, host_ctx());
    assert_int_equal(fake_owner(fake, cpu->id) & ~SIRQ_OWNER_WAITERS, ctx->token);
    __atomic_fetch_and(&cpu->word, UINT64_C(0xffffffff), __ATOMIC_RELEASE);
    __atomic_fetch_or(&cpu->word, (uint64_t)fake->waiter << 32, __ATOMIC_RELEASE);
    hook(fake, FAKE_BH_UNLOCK, cpu);
}

static void host_wake_ksoftirqd(struct sirq_cpu *cpu)
{
    struct fake *fake = called(FAKE_WAKE_KSOFTIRQD, cpu);

    assert_int_equal(cpu->ksoftirqd, 1);
    hook(fake, FAKE_WAKE_KSOFTIRQD, cpu);
}

static void host_kick(struct sirq_cpu *cpu)
{
    hook(called(FAKE_KICK, cpu), FAKE_KICK, cpu);
}

static int host_wait(struct sirq_cpu *cpu, struct sirq_wq *wq, uint32_t seq, int64_t timeout_ns)
{
    (void)cpu, (void)wq, (void)seq, (void)timeout_ns;
    fail_msg("the core never waits for a wait queue");
    return 0;
}

static void host_wake(struct sirq_cpu *cpu, struct sirq_wq *wq)
{
    struct fake *fake = called(FAKE_WAKE, cpu);

    assert_true(fake->nwoken < sizeof(fake->woken) / sizeof(fake->woken[0]));
    fake->woken_owner[fake->nwoken] = fake_owner(fake, cpu->id);
    fake->woken[fake->nwoken++] = wq;
    wq->seq++;
    hook(fake, FAKE_WAKE, cpu);
}

static bool host_wake_preempts(struct sirq_cpu *cpu, const struct sirq_wq *wq)
{
    (void)cpu, (void)wq;
    return current->wake_preempts;
}

static void host_resched(struct sirq_cpu *cpu, enum sirq_entry entry)
{
    struct fake *fake = called(FAKE_RESCHED, cpu);

    assert_int_not_equal(fake_owner(fake, cpu->id), fake->thread[fake->self].token);
    fake->resched_entry = entry;
    __atomic_store_n(&cpu->need_resched, 0, __ATOMIC_RELAXED);
    hook(fake, FAKE_RESCHED, cpu);
}

static void host_irq_enable(struct sirq_cpu *cpu, unsigned pass)
{
    struct fake *fake = called(FAKE_IRQ_ENABLE, cpu);

    fake->irqs_off[cpu->id] = false;
    fake->irq_pass[cpu->id] = pass;
    hook(fake, FAKE_IRQ_ENABLE, cpu);
}

static void host_irq_disable(struct sirq_cpu *cpu, unsigned passes)
{
    struct fake *fake = called(FAKE_IRQ_DISABLE, cpu);

    assert_int_equal(passes, fake->irq_pass[cpu->id] + 1); /* made, not counted from 0 */
    hook(fake, FAKE_IRQ_DISABLE, cpu);
    fake->irqs_off[cpu->id] = true;
}

static void host_irq_line(struct sirq_irq *irq)
{
    (void)irq;
    fail_msg("the core knows no interrupt lines");
}

static void host_relax(struct sirq_cpu *cpu)
{
    struct fake *fake = called(FAKE_RELAX, cpu);

    if (fake->calls[FAKE_RELAX] > 1000)
        fail_msg("waits for ever");
    hook(fake, FAKE_RELAX, cpu);
}

static void host_report(struct sirq_cpu *cpu, const char *what, uint64_t value)
{
    struct fake *fake = called(FAKE_REPORT, cpu);

    fake->reported = what;
    fake->reported_value = value;
    hook(fake, FAKE_REPORT, cpu);
}

static void host_bug(const char *expr, const char *file, int line)
{
    if (!current->bug_expected)
        fail_msg("%s:%d: %s", file, line, expr);
    current->bug = expr;
    current->in_hook = false;
    longjmp(current->bug_env, 1);
}

static void run_end(struct sirq_cpu *cpu, bool goes_on)
{
    (void)goes_on;
    hook(called(FAKE_RUN_END, cpu), FAKE_RUN_END, cpu);
}

static const struct sirq_host fake_table = {
    .now_ns = host_now_ns,
    .ctx = host_ctx,
    .this_cpu = host_this_cpu,
    .bh_lock = host_bh_lock,
    .bh_unlock = host_bh_unlock,
    .wake_ksoftirqd = host_wake_ksoftirqd,
    .kick = host_kick,
    .wait = host_wait,
    .wake_preempts = host_wake_preempts,
    .wake = host_wake,
    .resched = host_resched,
    .irq_enable = host_irq_enable,
    .irq_disable = host_irq_disable,
    .irq_mask = host_irq_line,
    .irq_unmask = host_irq_line,
    .relax = host_relax,
    .report = host_report,
    .bug = host_bug,
};

void fake_init(struct fake *fake, unsigned hz, const struct sirq_policy *policy)
{
    memset(fake, 0, sizeof(*fake));
    current = fake;
    fake->host = fake_table;
    fake->wake_preempts = true;
    for (unsigned i = 0; i < FAKE_THREADS; i++)
        fake->thread[i].token = 100 + i;
    assert_int_equal(sirq_core_init(&fake->core, fake->cpu, FAKE_CPUS, hz, &fake->host, fake), 0);
    if (policy != NULL)
        sirq_set_policy(&fake->core, policy);
    for (unsigned i = 0; i < FAKE_CPUS; i++)
        fake->cpu[i].run_end = run_end;
    fake_jiffy(fake, 1000);
}

static void action(struct sirq_cpu *cpu, void *data)
{
    struct fake_action *action = data;
    struct fake *fake = action->fake;

    assert_true(sirq_in_softirq(cpu));
    action->runs++;
    if (fake->nlog < FAKE_LOG)
        fake->log[fake->nlog++] = (uint8_t)action->vec;
    fake->now_ns += action->cost_ns;
    if (action->again != 0) {
        action->again--;
        sirq_raise(cpu, action->vec);
    }
    if (action->body != NULL)
        action->body(fake, cpu, action->vec);
}

void fake_open(struct fake *fake, unsigned vec)
{
    fake->action[vec].fake = fake;
    fake->action[vec].vec = vec;
    assert_int_equal(sirq_open(&fake->core, vec, "test", action, &fake->action[vec]), 0);
}

void fake_become(struct fake *fake, unsigned thread)
{
    assert_true(thread < FAKE_THREADS);
    fake->self = thread;
}

void fake_jiffy(struct fake *fake, uint64_t jiffies)
{
    fake->now_ns = jiffies * fake->core.tick_ns;
}

static void raise_mask(struct sirq_cpu *cpu, uint32_t mask)
{
    for (unsigned vec = 0; vec < SIRQ_NR_VECTORS; vec++) {
        if (mask & SIRQ_BIT(vec))
            sirq_raise(cpu, vec);
    }
}

void fake_irq(struct fake *fake, unsigned cpu, uint32_t mask)
{
    sirq_hardirq_enter(&fake->cpu[cpu]);
    raise_mask(&fake->cpu[cpu], mask);
    sirq_hardirq_exit(&fake->cpu[cpu]);
}

void fake_bh(struct fake *fake, unsigned cpu, uint32_t mask)
{
    sirq_bh_disable(&fake->cpu[cpu]);
    raise_mask(&fake->cpu[cpu], mask);
    sirq_bh_enable(&fake->cpu[cpu]);
}

void fake_enter(struct fake *fake, unsigned cpu, enum sirq_entry entry, uint32_t mask)
{
    if (entry == SIRQ_ENTRY_IRQ_EXIT) {
        fake_irq(fake, cpu, mask);
    } else if (entry == SIRQ_ENTRY_BH_ENABLE) {
        fake_bh(fake, cpu, mask);
    } else {
        raise_mask(&fake->cpu[cpu], mask);
        assert_int_equal(fake_ksoftirqd(fake, cpu, 1), 1);
    }
}

unsigned fake_ksoftirqd(struct fake *fake, unsigned cpu, unsigned max_runs)
{
    unsigned before = fake->self, runs = 0;

    fake_become(fake, FAKE_KSOFTIRQD(cpu));
    while (__atomic_load_n(&fake->cpu[cpu].ksoftirqd, __ATOMIC_ACQUIRE) && runs < max_runs) {
        bool left = sirq_ksoftirqd_run(&fake->cpu[cpu]);

        runs++;
        if (!left && sirq_ksoftirqd_sleep(&fake->cpu[cpu]))
            break;
    }
    fake_become(fake, before);
    return runs;
}

uint32_t fake_owner(const struct fake *fake, unsigned cpu)
{
    return (uint32_t)(__atomic_load_n(&fake->cpu[cpu].word, __ATOMIC_ACQUIRE) >> 32);
}
