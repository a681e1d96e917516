/* SPDX-License-Identifier: MIT */
/*
 * No raise is lost, whatever instruction it falls on.
 *
 * An entry (and ksoftirqd's run and sleep) is single-stepped once, to learn which machine
 * instructions it executes.  Then it is replayed for each of them, with a breakpoint there
 * at which something comes in between: an interrupt that raises, a raise from another CPU,
 * another thread of the CPU that preempts the run.  After that only what the core asked for
 * happens (the kick, ksoftirqd), and the vector must have run, the consumer been woken, the
 * CPU come to rest.
 *
 * Not shown by this: what only two CPUs at the same time can do (memory ordering); the
 * tests of the live host run threads.
 */
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "fake_host.h"

#define NET_RX SIRQ_BIT(SIRQ_NET_RX)
#define TIMER SIRQ_BIT(SIRQ_TIMER)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

enum way { BY_INTERRUPT, BY_OTHER_CPU, BY_OTHER_THREAD };

#if defined(__x86_64__) && defined(__linux__) && !defined(SANITIZED)

#define TRAP_FLAG 0x100
#define INT3 0xcc
#define MAX_STEPS 20000u

extern unsigned char __executable_start[], etext[]; /* the program's text, by the linker */

static struct fake fake;
static struct sirq_cpu *const cpu0 = &fake.cpu[0];
static struct sirq_wq wq;

static enum way way;
static bool recording, injected, stepping_over;
static unsigned char *steps[MAX_STEPS]; /* instructions executed, in order */
static unsigned nsteps;
static unsigned char *target, target_byte; /* where the breakpoint is, what was there */
static unsigned hits_left;                 /* until something comes in between */

static void come_in_between(void)
{
    unsigned self = fake.self;

    if (way == BY_INTERRUPT) {
        fake_irq(&fake, 0, TIMER);
    } else if (way == BY_OTHER_CPU) {
        fake_become(&fake, FAKE_APP(1));
        sirq_raise_remote(cpu0, SIRQ_TIMER);
    } else {
        /* The run was preempted: a thread that takes an interrupt, and where it need not
         * wait for the run, has a section of its own. */
        fake_become(&fake, FAKE_APP2(0));
        fake_irq(&fake, 0, TIMER);
        if (fake_owner(&fake, 0) == 0)
            fake_bh(&fake, 0, TIMER);
    }
    fake_become(&fake, self);
}

static void record(unsigned char *rip)
{
    /* Not the libraries': they are cmocka's assertions in the fake host. */
    if (rip >= __executable_start && rip < etext && nsteps < MAX_STEPS)
        steps[nsteps++] = rip;
}

static void trapped(int signo, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    greg_t *flags = &uc->uc_mcontext.gregs[REG_EFL], *rip = &uc->uc_mcontext.gregs[REG_RIP];

    (void)signo, (void)info;
    if (recording) {
        record((unsigned char *)*rip);
    } else if (stepping_over) {
        stepping_over = false;
        *flags &= ~TRAP_FLAG;
        *target = INT3;
    } else {
        *rip = (greg_t)target;
        *target = target_byte;
        if (--hits_left != 0) {
            stepping_over = true;
            *flags |= TRAP_FLAG;
        } else {
            injected = true;
            come_in_between();
        }
    }
}

/* Below the 128 bytes under the stack pointer that leaf functions may use. */
static void trap_on(void)
{
    if (target != NULL) {
        target_byte = *target;
        *target = INT3;
    } else {
        __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq %0, (%%rsp); popfq;"
                         "lea 128(%%rsp), %%rsp" ::"i"(TRAP_FLAG)
                         : "cc", "memory");
    }
}

static void trap_off(void)
{
    if (target != NULL)
        *target = target_byte;
    else
        __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq %0, (%%rsp); popfq;"
                         "lea 128(%%rsp), %%rsp" ::"i"(~TRAP_FLAG)
                         : "cc", "memory");
}

static void wake_consumer(struct fake *f, struct sirq_cpu *cpu, unsigned vec)
{
    (void)f, (void)vec;
    sirq_wake(cpu, &wq);
}

static void prepare(const struct sirq_policy *policy)
{
    fake_init(&fake, 1000, policy);
    fake_open(&fake, SIRQ_TIMER);
    fake_open(&fake, SIRQ_NET_RX);
    fake.action[SIRQ_TIMER].body = wake_consumer;
    fake.action[SIRQ_NET_RX].body = wake_consumer;
    wq = (struct sirq_wq){.eventfd = -1};
    injected = false;
}

/* One entry with NET_RX pending, stepped.  The interrupt's own exit keeps interrupts out,
 * so of the two a bottom-half section is what another interrupt can fall into. */
static void entry_stepped(enum sirq_entry entry)
{
    if (entry == SIRQ_ENTRY_KSOFTIRQD) {
        sirq_raise(cpu0, SIRQ_NET_RX);
        fake_become(&fake, FAKE_KSOFTIRQD(0));
        trap_on();
        if (!sirq_ksoftirqd_run(cpu0))
            (void)sirq_ksoftirqd_sleep(cpu0);
        trap_off();
    } else if (entry == SIRQ_ENTRY_BH_ENABLE) {
        sirq_bh_disable(cpu0);
        sirq_raise(cpu0, SIRQ_NET_RX);
        trap_on();
        sirq_bh_enable(cpu0);
        trap_off();
    } else {
        sirq_hardirq_enter(cpu0);
        sirq_raise(cpu0, SIRQ_NET_RX);
        trap_on();
        sirq_hardirq_exit(cpu0);
        trap_off();
    }
}

/* What the core asked for, and no more; then everything must be done. */
static void finish_and_check(void)
{
    fake_become(&fake, FAKE_APP(0));
    if (fake.calls[FAKE_KICK] != 0)
        fake_irq(&fake, 0, 0);
    fake_ksoftirqd(&fake, 0, 20);
    assert_true(fake.action[SIRQ_TIMER].runs > 0);
    assert_int_equal(fake.action[SIRQ_NET_RX].runs, 1);
    assert_int_equal(cpu0->word, 0);
    assert_int_equal(cpu0->ksoftirqd, 0);
    assert_int_equal(cpu0->bh_depth, 0);
    assert_int_equal(fake.thread[fake.self].hardirq_depth, 0);
    assert_true(sirq_llist_empty(&cpu0->wakes));
    assert_int_equal(wq.queued, 0);
    assert_true(wq.seq > 0);
}

static unsigned count(const unsigned char *rip, unsigned until)
{
    unsigned n = 0;

    for (unsigned i = 0; i <= until; i++)
        n += steps[i] == rip;
    return n;
}

static unsigned every_instruction(const struct sirq_policy *policy, enum sirq_entry entry)
{
    static unsigned char nowhere;

    prepare(policy);
    target = &nowhere;
    entry_stepped(entry); /* once for the dynamic linker, which binds at the first call */
    prepare(policy);
    nsteps = 0;
    target = NULL;
    recording = true;
    entry_stepped(entry);
    recording = false;
    assert_true(nsteps > 50 && nsteps < MAX_STEPS);
    for (unsigned i = 0; i < nsteps; i++) {
        prepare(policy);
        target = steps[i];
        hits_left = count(steps[i], i);
        entry_stepped(entry);
        if (injected)
            finish_and_check();
        else /* trap_on() and trap_off() were recorded, but are not replayed */
            assert_true(i < 8 || i + 16 > nsteps);
    }
    return nsteps;
}

static bool text_is_writable(void)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (uintptr_t)__executable_start & ~(page - 1);

    return mprotect((void *)start, (uintptr_t)etext - start, PROT_READ | PROT_WRITE | PROT_EXEC) ==
           0;
}

static void raise_at_every_instruction(enum way how)
{
    static const char *const names[] = {"time2ms", "ksoftirqd", "threaded"};
    struct sigaction old, action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
    unsigned total = 0;

    if (!text_is_writable()) {
        print_message("skipped: this system does not let a program set breakpoints in itself\n");
        skip();
    }
    sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(SIGTRAP, &action, &old), 0);
    way = how;
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned entry = 0; entry < SIRQ_NR_ENTRIES; entry++) {
            if (how == BY_INTERRUPT && entry == SIRQ_ENTRY_IRQ_EXIT)
                continue; /* interrupts are kept out, but for the passes */
            total += every_instruction(sirq_policy_find(names[i]), entry);
        }
    }
    sigaction(SIGTRAP, &old, NULL);
    print_message("%u instructions\n", total);
}

#else

static void raise_at_every_instruction(enum way how)
{
    (void)how;
    print_message("skipped: needs x86-64 Linux without an address or thread sanitizer\n");
    skip();
}

#endif

static void interrupt_at_every_instruction_is_not_lost(void **state)
{
    (void)state;
    raise_at_every_instruction(BY_INTERRUPT);
}

static void remote_raise_at_every_instruction_is_not_lost(void **state)
{
    (void)state;
    raise_at_every_instruction(BY_OTHER_CPU);
}

static void preemption_at_every_instruction_loses_nothing(void **state)
{
    (void)state;
    raise_at_every_instruction(BY_OTHER_THREAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interrupt_at_every_instruction_is_not_lost),
        cmocka_unit_test(remote_raise_at_every_instruction_is_not_lost),
        cmocka_unit_test(preemption_at_every_instruction_loses_nothing),
    };

    return cmocka_run_group_tests_name("step", tests, NULL, NULL);
}
