/* SPDX-License-Identifier: MIT */
/*
 * What a contract test needs of a host, whichever it is: the same test source runs over
 * every entry of contract_hosts[].  A task is a thread or a simulated task; inside a task
 * only pause() lets time pass for certain.  Waits are bounded: nothing here waits for ever.
 */
#ifndef SIRQ_TEST_CONTRACT_HOST_H
#define SIRQ_TEST_CONTRACT_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <sirq/driver.h>
#include <sirq/host.h>
#include <sirq/policy.h>

#define CONTRACT_WAIT_NS UINT64_C(5000000000) /* longest wait for what has to happen */
#define CONTRACT_MAX_CPUS 4u

typedef void (*contract_fn)(struct sirq_cpu *cpu, void *arg);

struct contract_config {
    unsigned ncpus;
    unsigned hz;
    const struct sirq_policy *policy;
    uint64_t stall_ns;     /* 0: the default */
    contract_fn interrupt; /* handler of the line that interrupt() pulls; may be null */
    void *arg;             /* of interrupt and report */
    void (*report)(void *arg, unsigned cpu, const char *what, uint64_t value);
};

struct contract_host {
    const char *name;

    /* CPUs this host can give. */
    unsigned (*max_cpus)(void);

    /* The core, with tasklets and timers opened. */
    struct sirq_core *(*start)(const struct contract_config *config);
    void (*stop)(void); /* tasks have been joined */

    /* Core CPU `c`, 0 .. ncpus - 1. */
    struct sirq_cpu *(*cpu)(unsigned c);

    /* Does the caller execute on the CPU that `cpu` stands for? */
    bool (*on_cpu)(const struct sirq_cpu *cpu);

    /* Start a task on CPU `c`; wait for all that were started. */
    void (*spawn)(unsigned c, contract_fn fn, void *arg);
    void (*join)(void);

    /* In a task: let others run and a little time pass, and take what interrupts are due. */
    void (*pause)(void);

    /* Outside of tasks: go on until cond(arg), at most `ns` of the host's time. */
    bool (*until)(bool (*cond)(void *arg), void *arg, uint64_t ns);

    /* Pull the interrupt line of CPU `c`.  Any context of the test's. */
    void (*interrupt)(unsigned c);

    /* Outside of tasks: backlogs of the CPUs in `mask` are threads', the others NET_RX's; and the
     * device is its thread's, or not. */
    void (*backlog_threads)(struct sirq_net *net, unsigned mask);
    void (*napi_thread)(struct sirq_netdev *dev, bool on);
};

extern const struct contract_host *const contract_hosts[];

/* The one this process tests, and its core between start and stop. */
extern const struct contract_host *host;
extern struct sirq_core *core;

/* In set-up and tear-down. */
void contract_start(const struct contract_config *config);
void contract_stop(void);

/* Skips the test, saying why, where the host has fewer CPUs. */
void contract_need_cpus(unsigned n);

/* Run fn as a task on CPU `c` to its end. */
void contract_run(unsigned c, contract_fn fn, void *arg);

/* Has to become true. */
void contract_expect(bool (*cond)(void *arg), void *arg);

/* Call from main: picks the host named by argv[1]. */
void contract_main(int argc, char **argv);

/* ---- a checked action ------------------------------------------------------------------ */

/*
 * One per test vector.  Counts of one CPU each; `inside` catches two runs at once; `raised`
 * is bumped before each raise and copied to `seen` by the action, so seen == raised in the
 * end says that a run followed the last raise.
 */
struct contract_action {
    unsigned vec;
    unsigned spin; /* rounds of work per run */
    void (*body)(struct sirq_cpu *cpu, struct contract_action *action);
    void *arg;
    struct {
        uint32_t inside;
        uint64_t raised, seen, runs;
    } on[CONTRACT_MAX_CPUS];
};

/* Opens a user vector for it. */
void contract_open(struct contract_action *action);

void contract_raise(struct sirq_cpu *cpu, struct contract_action *action);
void contract_raise_remote(struct sirq_cpu *cpu, struct contract_action *action);

uint64_t contract_runs(const struct contract_action *action, unsigned cpu);

/* A run followed the last raise, on every CPU: waits for it. */
void contract_expect_all_seen(struct contract_action *action);

static inline uint64_t contract_load(const uint64_t *value)
{
    return __atomic_load_n(value, __ATOMIC_SEQ_CST);
}

static inline void contract_add(uint64_t *value, uint64_t n)
{
    __atomic_fetch_add(value, n, __ATOMIC_SEQ_CST);
}

#endif
