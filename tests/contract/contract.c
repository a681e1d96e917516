/* SPDX-License-Identifier: MIT */
/* What the contract tests share. */
#include "host.h"

#include <stdio.h>
#include <string.h>

const struct contract_host *host;
struct sirq_core *core;

void contract_main(int argc, char **argv)
{
    for (unsigned i = 0; argc == 2 && contract_hosts[i] != NULL; i++)
        if (strcmp(contract_hosts[i]->name, argv[1]) == 0)
            host = contract_hosts[i];
    if (host != NULL)
        return;
    fprintf(stderr, "usage: %s HOST, one of:", argv[0]);
    for (unsigned i = 0; contract_hosts[i] != NULL; i++)
        fprintf(stderr, " %s", contract_hosts[i]->name);
    fprintf(stderr, "\n");
    exit(2);
}

void contract_start(const struct contract_config *config)
{
    struct contract_config wanted = *config;

    if (wanted.ncpus > host->max_cpus())
        wanted.ncpus = host->max_cpus();
    if (wanted.hz == 0)
        wanted.hz = 250;
    core = host->start(&wanted);
    assert_non_null(core);
}

void contract_stop(void)
{
    host->join();
    host->stop();
    core = NULL;
}

void contract_need_cpus(unsigned n)
{
    if (host->max_cpus() >= n)
        return;
    print_message("needs %u CPUs\n", n);
    contract_stop();
    skip();
}

void contract_run(unsigned c, contract_fn fn, void *arg)
{
    host->spawn(c, fn, arg);
    host->join();
}

void contract_expect(bool (*cond)(void *arg), void *arg)
{
    assert_true(host->until(cond, arg, CONTRACT_WAIT_NS));
}

static void action_run(struct sirq_cpu *cpu, void *data)
{
    struct contract_action *action = data;
    uint64_t raised = contract_load(&action->on[cpu->id].raised);

    if (__atomic_exchange_n(&action->on[cpu->id].inside, 1, __ATOMIC_SEQ_CST) != 0)
        abort(); /* two runs at once: in any context, so not a cmocka failure */
    if (sirq_in_hardirq(cpu) || !sirq_in_softirq(cpu))
        abort();
    for (volatile unsigned i = 0; i < action->spin; i++)
        ;
    if (action->body != NULL)
        action->body(cpu, action);
    contract_add(&action->on[cpu->id].runs, 1);
    __atomic_store_n(&action->on[cpu->id].seen, raised, __ATOMIC_SEQ_CST);
    __atomic_store_n(&action->on[cpu->id].inside, 0, __ATOMIC_SEQ_CST);
}

void contract_open(struct contract_action *action)
{
    int vec = sirq_open_user(core, "contract", action_run, action);

    assert_true(vec >= 0);
    action->vec = (unsigned)vec;
    memset(action->on, 0, sizeof(action->on));
}

void contract_raise(struct sirq_cpu *cpu, struct contract_action *action)
{
    contract_add(&action->on[cpu->id].raised, 1);
    sirq_raise(cpu, action->vec);
}

void contract_raise_remote(struct sirq_cpu *cpu, struct contract_action *action)
{
    contract_add(&action->on[cpu->id].raised, 1);
    sirq_raise_remote(cpu, action->vec);
}

uint64_t contract_runs(const struct contract_action *action, unsigned cpu)
{
    return contract_load(&action->on[cpu].runs);
}

static bool all_seen(void *arg)
{
    const struct contract_action *action = arg;

    for (unsigned i = 0; i < CONTRACT_MAX_CPUS; i++)
        if (contract_load(&action->on[i].seen) != contract_load(&action->on[i].raised))
            return false;
    return true;
}

void contract_expect_all_seen(struct contract_action *action)
{
    contract_expect(all_seen, action);
}
