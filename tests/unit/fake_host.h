/* SPDX-License-Identifier: MIT */
/*
 * A host for unit tests: one real thread plays all threads and CPUs in turn, the clock
 * moves only when a test says so, and every call of the host table is recorded.
 *
 * A hook sees every call as it happens and may act in its place in time: interrupt the
 * run, raise from another CPU, let the lock's owner go on.  That is how interleavings are
 * produced.  Threads (fake_become): FAKE_APP(cpu) and FAKE_APP2(cpu) are application
 * threads of a CPU, FAKE_KSOFTIRQD(cpu) its ksoftirqd.
 */
#ifndef SIRQ_TESTS_FAKE_HOST_H
#define SIRQ_TESTS_FAKE_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sirq/host.h>
#include <sirq/policy.h>

#define FAKE_CPUS 2u
#define FAKE_LOG 4096u

#define FAKE_APP(cpu) (3u * (cpu))
#define FAKE_APP2(cpu) (3u * (cpu) + 1u)
#define FAKE_KSOFTIRQD(cpu) (3u * (cpu) + 2u)
#define FAKE_THREADS (3u * FAKE_CPUS)

enum fake_call {
    FAKE_NOW,
    FAKE_BH_LOCK,
    FAKE_BH_UNLOCK,
    FAKE_WAKE_KSOFTIRQD,
    FAKE_KICK,
    FAKE_WAKE,
    FAKE_IRQ_ENABLE,
    FAKE_IRQ_DISABLE,
    FAKE_RELAX,
    FAKE_REPORT,
    FAKE_RESCHED,
    FAKE_RUN_END, /* not of the host table: sirq_cpu.run_end */
    FAKE_NR_CALLS
};

struct fake;

/* What the action of a vector does when it runs. */
struct fake_action {
    struct fake *fake;
    unsigned vec;
    unsigned runs;    /* how often it ran */
    unsigned again;   /* raise itself again this many times more */
    uint64_t cost_ns; /* let the clock go on by that */
    void (*body)(struct fake *fake, struct sirq_cpu *cpu, unsigned vec); /* may be null */
};

struct fake {
    struct sirq_host host;
    struct sirq_core core;
    struct sirq_cpu cpu[FAKE_CPUS];
    struct sirq_ctx thread[FAKE_THREADS];
    unsigned self; /* index of the thread being played */
    uint64_t now_ns;

    unsigned calls[FAKE_NR_CALLS];
    unsigned calls_cpu[FAKE_NR_CALLS][FAKE_CPUS];
    bool irqs_off[FAKE_CPUS]; /* irq_disable after irq_enable */
    void (*hook)(struct fake *fake, enum fake_call call, struct sirq_cpu *cpu);
    uint32_t waiter;           /* token of who is in bh_lock: bh_unlock hands over to it */
    bool in_hook;              /* a hook is not called from within itself */
    struct sirq_wq *woken[16]; /* by sirq_host.wake, in order */
    uint32_t woken_owner[16];  /* owner of the CPU at that moment */
    unsigned nwoken;
    unsigned irq_pass[FAKE_CPUS]; /* of the last irq_enable */
    bool wake_preempts;
    enum sirq_entry resched_entry;
    const char *reported;
    uint64_t reported_value;

    struct fake_action action[SIRQ_NR_VECTORS];
    uint8_t log[FAKE_LOG]; /* vectors in the order they ran */
    unsigned nlog;
    void *arg; /* the test's own */
    unsigned argn;

    bool bug_expected;
    const char *bug;
    jmp_buf bug_env;
};

/* A core of FAKE_CPUS CPUs; the one host that sirq_host.ctx speaks of until the next. */
void fake_init(struct fake *fake, unsigned hz, const struct sirq_policy *policy);

/* Give `vec` an action that records. */
void fake_open(struct fake *fake, unsigned vec);

void fake_become(struct fake *fake, unsigned thread);

/* Go to jiffy `jiffies` exactly. */
void fake_jiffy(struct fake *fake, uint64_t jiffies);

/* An interrupt on `cpu`, on top of the thread being played, that raises `mask`. */
void fake_irq(struct fake *fake, unsigned cpu, uint32_t mask);

/* Raise from a bottom-half section and leave it. */
void fake_bh(struct fake *fake, unsigned cpu, uint32_t mask);

/* Raise `mask` and enter the core by `entry`: one run, if the policy lets it. */
void fake_enter(struct fake *fake, unsigned cpu, enum sirq_entry entry, uint32_t mask);

/* Play ksoftirqd of `cpu` until it sleeps, at most `max_runs` runs; how many were made. */
unsigned fake_ksoftirqd(struct fake *fake, unsigned cpu, unsigned max_runs);

/* Who owns the bottom halves of `cpu`: a token, 0 for nobody. */
uint32_t fake_owner(const struct fake *fake, unsigned cpu);

/* `stmt` must end in host->bug. */
#define FAKE_EXPECT_BUG(fake, stmt)         \
    do {                                    \
        (fake)->bug = NULL;                 \
        (fake)->bug_expected = true;        \
        if (setjmp((fake)->bug_env) == 0) { \
            stmt;                           \
        }                                   \
        (fake)->bug_expected = false;       \
        assert_non_null((fake)->bug);       \
    } while (0)

#endif
