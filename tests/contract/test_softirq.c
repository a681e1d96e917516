/* SPDX-License-Identifier: MIT */
/* Raise, interrupts, bottom halves, policies: what holds on every host. */
#include "host.h"

static struct contract_action action, other;
static uint64_t irqs[CONTRACT_MAX_CPUS];

static void on_interrupt(struct sirq_cpu *cpu, void *arg)
{
    (void)arg;
    if (!sirq_in_hardirq(cpu))
        abort();
    contract_raise(cpu, &action);
    contract_add(&irqs[cpu->id], 1);
}

static int set_up(void **state)
{
    const struct contract_config config = {
        .ncpus = 2, .policy = sirq_policy_find("time2ms"), .interrupt = on_interrupt};

    (void)state;
    contract_start(&config);
    action = other = (struct contract_action){0};
    contract_open(&action);
    contract_open(&other);
    for (unsigned i = 0; i < CONTRACT_MAX_CPUS; i++)
        irqs[i] = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (core != NULL)
        contract_stop();
    return 0;
}

/* ---- who runs it, and where ------------------------------------------------------------ */

static void raise_and_wait(struct sirq_cpu *cpu, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 50; i++) {
        uint64_t runs = contract_runs(&action, cpu->id);

        contract_raise(cpu, &action);
        while (contract_runs(&action, cpu->id) == runs)
            host->pause();
    }
}

static void raise_in_task_is_run_by_ksoftirqd(void **state)
{
    const struct sirq_cpu *cpu = host->cpu(0);

    (void)state;
    contract_run(0, raise_and_wait, NULL);
    contract_expect_all_seen(&action);
    /* A tick may have been first now and then. */
    assert_true(contract_load(&cpu->stats.runs[SIRQ_ENTRY_KSOFTIRQD]) > 10);
    assert_int_equal(contract_load(&cpu->stats.runs[SIRQ_ENTRY_BH_ENABLE]), 0);
}

static bool got_irqs(void *arg)
{
    return contract_load(&irqs[0]) >= *(uint64_t *)arg;
}

static void raise_in_hardirq_runs_at_exit(void **state)
{
    const struct sirq_cpu *cpu = host->cpu(0);

    (void)state;
    for (uint64_t i = 1; i <= 50; i++) {
        host->interrupt(0);
        contract_expect(got_irqs, &i);
        contract_expect_all_seen(&action);
    }
    assert_true(contract_load(&cpu->stats.runs[SIRQ_ENTRY_IRQ_EXIT]) >= 50);
    assert_int_equal(contract_runs(&action, 1), 0);
}

static void hold_and_enable(struct sirq_cpu *cpu, void *arg)
{
    (void)arg;
    sirq_bh_disable(cpu);
    sirq_bh_disable(cpu);
    contract_raise(cpu, &action);
    host->interrupt(0);
    contract_raise_remote(cpu, &other);
    for (unsigned i = 0; i < 200; i++)
        host->pause();
    if (contract_runs(&action, cpu->id) != 0 || contract_runs(&other, cpu->id) != 0)
        abort();
    sirq_bh_enable(cpu);
    if (contract_runs(&action, cpu->id) != 0)
        abort();
    sirq_bh_enable(cpu);
    if (contract_runs(&action, cpu->id) == 0 || contract_runs(&other, cpu->id) == 0)
        abort(); /* at once, in the enable itself */
}

static void bh_disable_holds_and_enable_runs(void **state)
{
    (void)state;
    sirq_set_policy(core, sirq_policy_find("inline"));
    contract_run(0, hold_and_enable, NULL);
    contract_expect_all_seen(&action);
}

static void check_place(struct sirq_cpu *cpu, struct contract_action *self)
{
    if (!host->on_cpu(cpu))
        contract_add(self->arg, 1);
}

static void raise_remote_often(struct sirq_cpu *cpu, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 200; i++) {
        contract_raise_remote(host->cpu(!cpu->id), &action);
        host->pause();
    }
}

static void raise_remote_runs_on_target_cpu(void **state)
{
    uint64_t strayed = 0;

    (void)state;
    contract_need_cpus(2);
    action.arg = &strayed;
    action.body = check_place;
    contract_run(0, raise_remote_often, NULL);
    contract_run(1, raise_remote_often, NULL);
    contract_expect_all_seen(&action);
    assert_true(contract_runs(&action, 0) > 0 && contract_runs(&action, 1) > 0);
    assert_int_equal(strayed, 0);
}

/* ---- everything at once ---------------------------------------------------------------- */

#define ROUNDS 1500u

static void hammer(struct sirq_cpu *cpu, void *arg)
{
    struct sirq_cpu *far = host->cpu(cpu->core->ncpus > 1 ? !cpu->id : 0);

    (void)arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        contract_raise(cpu, i % 2 ? &action : &other);
        if (i % 3 == 0)
            contract_raise_remote(far, &action);
        sirq_bh_disable(cpu);
        contract_raise(cpu, &other);
        if (i % 5 == 0)
            host->interrupt(far->id);
        sirq_bh_enable(cpu);
        if (i % 16 == 0)
            host->pause();
    }
}

static void raises_from_many_contexts_are_never_lost(void **state)
{
    (void)state;
    action.spin = 200;
    for (unsigned i = 0; i < 4; i++)
        host->spawn(i % core->ncpus, hammer, NULL);
    host->join();
    contract_expect_all_seen(&action);
    contract_expect_all_seen(&other);
    /* Nobody is in a section or run, nothing is owned, nobody is counted twice. */
    for (unsigned i = 0; i < core->ncpus; i++)
        assert_true(contract_runs(&other, i) > 0);
}

static void switch_policies(struct sirq_cpu *cpu, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 400; i++) {
        sirq_set_policy(cpu->core, sirq_policies[i % 8]);
        host->pause();
    }
    sirq_set_policy(cpu->core, sirq_policy_default());
}

static void policy_switch_under_load_loses_nothing(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        host->spawn(i % core->ncpus, hammer, NULL);
    host->spawn(0, switch_policies, NULL);
    host->join();
    contract_expect_all_seen(&action);
    contract_expect_all_seen(&other);
}

static void each_policy_runs_everything(void **state)
{
    (void)state;
    for (unsigned p = 0; sirq_policies[p] != NULL; p++) {
        sirq_set_policy(core, sirq_policies[p]);
        contract_run(0, raise_and_wait, NULL);
        host->interrupt(0);
        contract_expect_all_seen(&action);
    }
}

static void forced_threading_runs_in_ksoftirqd_only(void **state)
{
    const struct sirq_cpu *cpu = host->cpu(0);
    uint64_t n = 0;

    (void)state;
    sirq_force_threaded(core, SIRQ_BIT(action.vec));
    for (unsigned i = 0; i < 20; i++) {
        host->interrupt(0);
        n++;
        contract_expect(got_irqs, &n);
        contract_expect_all_seen(&action);
    }
    assert_int_equal(contract_load(&cpu->stats.runs[SIRQ_ENTRY_IRQ_EXIT]), 0);
    assert_true(contract_load(&cpu->stats.runs[SIRQ_ENTRY_KSOFTIRQD]) > 0);
}

/* ---- synchronize ----------------------------------------------------------------------- */

static uint64_t section; /* odd: inside */
static uint64_t stop_sections;

static void make_sections(struct sirq_cpu *cpu, void *arg)
{
    (void)arg;
    while (!contract_load(&stop_sections)) {
        sirq_bh_disable(cpu);
        contract_add(&section, 1);
        for (volatile unsigned i = 0; i < 1000; i++)
            ;
        contract_add(&section, 1);
        sirq_bh_enable(cpu);
        host->pause();
    }
}

static void synchronize_often(struct sirq_cpu *cpu, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 500; i++) {
        uint64_t seen = contract_load(&section);

        sirq_synchronize(cpu->core);
        if (seen % 2 == 1 && contract_load(&section) == seen)
            abort(); /* the section that was open still is */
        if (i % 16 == 0)
            host->pause();
    }
    __atomic_store_n(&stop_sections, 1, __ATOMIC_SEQ_CST);
}

static void synchronize_waits_for_open_sections(void **state)
{
    (void)state;
    contract_need_cpus(2);
    section = stop_sections = 0;
    host->spawn(1, make_sections, NULL);
    host->spawn(0, synchronize_often, NULL);
    host->join();
    assert_true(section > 0);
}

#define CASE(subject_state_result) \
    cmocka_unit_test_setup_teardown(subject_state_result, set_up, tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(raise_in_task_is_run_by_ksoftirqd),
        CASE(raise_in_hardirq_runs_at_exit),
        CASE(bh_disable_holds_and_enable_runs),
        CASE(raise_remote_runs_on_target_cpu),
        CASE(raises_from_many_contexts_are_never_lost),
        CASE(policy_switch_under_load_loses_nothing),
        CASE(each_policy_runs_everything),
        CASE(forced_threading_runs_in_ksoftirqd_only),
        CASE(synchronize_waits_for_open_sections),
    };

    contract_main(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
