/* SPDX-License-Identifier: MIT */
/*
 * The engine: start, stop, and the set of CPUs.
 *
 * The core is given one sirq_cpu for every CPU of the affinity mask at start, so that CPUs
 * can be added later without moving anything; those outside the set stay offline.
 */
#define SIRQ_LIVE_PRIVATE
#include "live_private.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARD 4096u

static uint32_t running;         /* one engine per process: signal handlers are the process's */
static struct sirq_live *engine; /* __atomic: the one that sirq_live_stop() may be given */

static const struct sirq_host live_host = {
    .now_ns = sirq_host_now_ns,
    .ctx = sirq_host_ctx,
    .this_cpu = sirq_host_this_cpu,
    .bh_lock = sirq_host_bh_lock,
    .bh_unlock = sirq_host_bh_unlock,
    .wake_ksoftirqd = sirq_host_wake_ksoftirqd,
    .kick = sirq_host_kick,
    .wait = sirq_host_wait,
    .wake_preempts = sirq_host_wake_preempts,
    .wake = sirq_host_wake,
    .irq_enable = sirq_host_irq_enable,
    .irq_disable = sirq_host_irq_disable,
    .safe_point = sirq_host_safe_point,
    .irq_mask = sirq_host_irq_mask,
    .irq_unmask = sirq_host_irq_unmask,
    .resched = sirq_host_resched,
    .relax = sirq_host_relax,
    .report = sirq_host_report,
    .bug = sirq_host_bug,
};

struct sirq_core *sirq_live_core(struct sirq_live *live)
{
    return &live->core;
}

struct sirq_cpu *sirq_live_cpu(struct sirq_live *live, unsigned cpu)
{
    int index = cpu < CPU_SETSIZE ? live->by_number[cpu] : -1;

    return index >= 0 && live_up(&live->cpus[index]) ? live->cpus[index].cpu : NULL;
}

unsigned sirq_live_cpu_number(const struct sirq_cpu *cpu)
{
    return live_of(cpu)->number;
}

size_t sirq_live_memory(const struct sirq_live *live)
{
    return live->memory;
}

void sirq_host_config_lock(struct sirq_live *live, sigset_t *before)
{
    sigset_t ours;

    sigemptyset(&ours);
    if (live->delivery == SIRQ_DELIVER_SIGNAL) {
        sigaddset(&ours, live->signo);
        sigaddset(&ours, SIGIO);
    }
    pthread_sigmask(SIG_BLOCK, &ours, before);
    pthread_mutex_lock(&live->config_lock);
}

void sirq_host_config_unlock(struct sirq_live *live, const sigset_t *before)
{
    pthread_mutex_unlock(&live->config_lock);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* ---- configuration ------------------------------------------------------------------ */

static int check_cpu(unsigned cpu, const cpu_set_t *allowed, struct sirq_error *err)
{
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    char path[64];

    if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, allowed))
        return 0;
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u", cpu);
    if (access(path, F_OK) != 0)
        return sirq_fail(err, EINVAL, "cpu %u: this machine has CPUs 0 to %ld", cpu,
                         configured - 1);
    return sirq_fail(err, EINVAL,
                     "cpu %u: offline or outside the affinity mask: choose another, put it "
                     "online, or widen the mask (taskset -c)",
                     cpu);
}

static int check_config(const struct sirq_live_config *config, const cpu_set_t *allowed,
                        struct sirq_error *err)
{
    if (config->hz > 100000)
        return sirq_fail(err, EINVAL, "hz %u: give 1 to 100000", config->hz);
    if (config->delivery > SIRQ_DELIVER_POLL)
        return sirq_fail(err, EINVAL, "delivery %d: give signal, thread or poll",
                         (int)config->delivery);
    if (config->max_threads > 1024)
        return sirq_fail(err, EINVAL, "max_threads %u: at most 1024", config->max_threads);
    if (config->signo != 0 && (config->signo < SIGRTMIN || config->signo > SIGRTMAX))
        return sirq_fail(err, EINVAL, "signo %d: give a real-time signal, %d to %d", config->signo,
                         SIGRTMIN, SIGRTMAX);
    for (unsigned cpu = 0; config->cpus != NULL && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, config->cpus)) {
            int ret = check_cpu(cpu, allowed, err);

            if (ret != 0)
                return ret;
        }
    if (config->cpus != NULL && CPU_COUNT(config->cpus) == 0)
        return sirq_fail(err, EINVAL, "cpus: the set is empty: give at least one");
    return sirq_host_sched_check(&config->ksoftirqd, "ksoftirqd", err);
}

static void *take(struct sirq_live *live, size_t n, size_t size, size_t align)
{
    size_t bytes = (n * size + align - 1) / align * align;
    void *mem = aligned_alloc(align, bytes);

    if (mem != NULL) {
        memset(mem, 0, bytes);
        live->memory += bytes;
    }
    return mem;
}

/* Alternate signal stacks, each above a page that faults. */
static int make_stacks(struct sirq_live *live)
{
    size_t stride = LIVE_ALTSTACK + GUARD;

    live->altstacks_size = stride * live->max_threads;
    live->altstacks = mmap(NULL, live->altstacks_size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (live->altstacks == MAP_FAILED) {
        live->altstacks = NULL;
        return -ENOMEM;
    }
    for (unsigned i = 0; i < live->max_threads; i++) {
        if (mprotect(live->altstacks + i * stride, GUARD, PROT_NONE) != 0)
            return -errno; /* each takes a mapping, and those are limited */
        live->threads[i].altstack = live->altstacks + i * stride + GUARD;
    }
    live->memory += (size_t)LIVE_ALTSTACK * live->max_threads;
    return 0;
}

static int take_memory(struct sirq_live *live)
{
    live->cpus = take(live, live->ncpus, sizeof(*live->cpus), 64);
    live->core_cpus = take(live, live->ncpus, sizeof(*live->core_cpus), 64);
    live->timers = take(live, live->ncpus, sizeof(*live->timers), 64);
    live->threads = take(live, live->max_threads, sizeof(*live->threads), 64);
    if (live->cpus == NULL || live->core_cpus == NULL || live->timers == NULL ||
        live->threads == NULL)
        return -ENOMEM;
    return make_stacks(live);
}

static void pi_mutex(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(mutex, &attr);
    pthread_mutexattr_destroy(&attr);
}

static void prepare_cpus(struct sirq_live *live, const cpu_set_t *allowed,
                         const struct sirq_sched *ksoftirqd)
{
    unsigned i = 0;

    for (unsigned number = 0; number < CPU_SETSIZE; number++) {
        live->by_number[number] = -1;
        if (!CPU_ISSET(number, allowed))
            continue;
        live->by_number[number] = (int16_t)i;
        live->cpus[i] = (struct live_cpu){.cpu = &live->core_cpus[i],
                                          .live = live,
                                          .number = number,
                                          .ksoftirqd_sched = *ksoftirqd,
                                          .epfd = -1,
                                          .doorbell = -1};
        pi_mutex(&live->cpus[i].retarget_lock);
        live->core_cpus[i].host = &live->cpus[i];
        live->core_cpus[i].online = false;
        i++;
    }
}

/* ---- start and stop ----------------------------------------------------------------- */

static void free_memory(struct sirq_live *live)
{
    if (live->altstacks != NULL)
        munmap(live->altstacks, live->altstacks_size);
    free(live->threads);
    free(live->timers);
    free(live->core_cpus);
    free(live->cpus);
    free(live);
}

static int prepare(struct sirq_live *live, const struct sirq_live_config *config,
                   const cpu_set_t *allowed)
{
    int ret;

    live->ncpus = (unsigned)CPU_COUNT(allowed);
    live->max_threads = config->max_threads != 0 ? config->max_threads : 64;
    live->delivery = config->delivery;
    live->signo = config->signo != 0 ? config->signo : SIGRTMIN + 3;
    live->report = config->report;
    live->report_arg = config->report_arg;
    live->memory = sizeof(*live);
    pi_mutex(&live->config_lock);
    pi_mutex(&live->napi_lock);
    if ((ret = take_memory(live)) != 0)
        return ret;
    sirq_host_clock_init();
    ret = sirq_core_init(&live->core, live->core_cpus, live->ncpus,
                         config->hz != 0 ? config->hz : LIVE_HZ, &live_host, live);
    if (ret != 0)
        return ret;
    if (config->policy != NULL)
        sirq_set_policy(&live->core, config->policy);
    if (config->stall_ns != 0)
        live->core.stall_ns = config->stall_ns;
    prepare_cpus(live, allowed, &config->ksoftirqd);
    return sirq_timer_open(&live->core, live->timers);
}

static void all_down(struct sirq_live *live)
{
    sirq_host_clock_stop(live);
    for (unsigned i = 0; i < live->ncpus; i++)
        if (live_up(&live->cpus[i]))
            sirq_host_cpu_down(&live->cpus[i]);
    for (unsigned i = 0; i < live->ncpus; i++)
        sirq_host_cpu_close(&live->cpus[i]);
}

static int bring_up(struct sirq_live *live, const cpu_set_t *cpus, struct sirq_error *err)
{
    int ret = sirq_host_signals_install(live);

    if (ret != 0)
        return sirq_fail(err, -ret, "signal %d: cannot be handled: %s", live->signo,
                         strerror(-ret));
    for (unsigned i = 0; ret == 0 && i < live->ncpus; i++)
        if (CPU_ISSET(live->cpus[i].number, cpus))
            ret = sirq_host_cpu_up(&live->cpus[i], err);
    if (ret == 0 && (ret = sirq_host_clock_start(live)) != 0)
        sirq_fail(err, -ret, "clock thread: cannot start: %s", strerror(-ret));
    if (ret != 0) {
        all_down(live);
        sirq_host_signals_restore(live);
    }
    return ret;
}

static void first_of(const cpu_set_t *allowed, cpu_set_t *out)
{
    CPU_ZERO(out);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, allowed)) {
            CPU_SET(cpu, out);
            return;
        }
}

int sirq_live_start(struct sirq_live **out, const struct sirq_live_config *config,
                    struct sirq_error *err)
{
    cpu_set_t allowed, cpus;
    struct sirq_live *live;
    int ret;

    *out = NULL;
    if (sched_getaffinity(getpid(), sizeof(allowed), &allowed) != 0)
        return sirq_fail(err, errno, "affinity mask: cannot be read: %s", strerror(errno));
    if ((ret = check_config(config, &allowed, err)) != 0)
        return ret;
    if (config->cpus != NULL)
        cpus = *config->cpus;
    else
        first_of(&allowed, &cpus);
    if (__atomic_exchange_n(&running, 1, __ATOMIC_ACQ_REL))
        return sirq_fail(err, EBUSY, "engine: one runs in this process already: stop it first");
    live = calloc(1, sizeof(*live));
    ret = live == NULL ? -ENOMEM : prepare(live, config, &allowed);
    if (ret != 0)
        sirq_fail(err, -ret, "engine: %s", strerror(-ret));
    else
        ret = bring_up(live, &cpus, err);
    if (ret != 0) {
        if (live != NULL)
            free_memory(live);
        __atomic_store_n(&running, 0, __ATOMIC_RELEASE);
        return ret;
    }
    __atomic_store_n(&engine, live, __ATOMIC_RELEASE);
    *out = live;
    return 0;
}

/* A thread or device left behind would use memory that is about to be freed. */
static void assert_unused(const struct sirq_live *live)
{
    if (live->napis != NULL)
        sirq_host_bug("sirq_live_stop: a NAPI instance is still threaded", __FILE__, __LINE__);
    for (unsigned i = 0; i < live->max_threads; i++)
        if (__atomic_load_n(&live->threads[i].state, __ATOMIC_ACQUIRE) != LIVE_FREE)
            sirq_host_bug("sirq_live_stop: a thread is still registered", __FILE__, __LINE__);
    for (unsigned i = 0; i < live->ncpus; i++)
        for (unsigned line = 0; line < LIVE_MAX_LINES; line++)
            if (__atomic_load_n(&live->cpus[i].lines[line], __ATOMIC_ACQUIRE) != NULL)
                sirq_host_bug("sirq_live_stop: a device is still attached", __FILE__, __LINE__);
}

void sirq_live_stop(struct sirq_live *live)
{
    struct sirq_live *expected = live;

    if (live == NULL)
        return;
    /* Before anything of it is looked at: it may be freed memory. */
    if (!__atomic_compare_exchange_n(&engine, &expected, NULL, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        sirq_host_bug("sirq_live_stop: no such engine: it is stopped already", __FILE__, __LINE__);
    LIVE_ASSERT_TASK(live, "sirq_live_stop");
    assert_unused(live);
    /* ksoftirqd is to end, whatever the policy would have it do. */
    sirq_set_policy(&live->core, sirq_policy_default());
    all_down(live);
    sirq_host_report_deliver(live);
    sirq_host_signals_restore(live);
    free_memory(live);
    __atomic_store_n(&running, 0, __ATOMIC_RELEASE);
}

/* ---- the CPU set -------------------------------------------------------------------- */

int sirq_live_cpu_add(struct sirq_live *live, unsigned cpu, struct sirq_error *err)
{
    int index = cpu < CPU_SETSIZE ? live->by_number[cpu] : -1;
    sigset_t before;
    int ret;

    if (index < 0)
        return sirq_fail(err, EINVAL,
                         "cpu %u: was offline or outside the affinity mask when the engine "
                         "started",
                         cpu);
    sirq_host_config_lock(live, &before);
    ret = live_up(&live->cpus[index])
              ? sirq_fail(err, EBUSY, "cpu %u: the engine has it already", cpu)
              : sirq_host_cpu_up(&live->cpus[index], err);
    sirq_host_config_unlock(live, &before);
    return ret;
}

static struct live_cpu *another(struct sirq_live *live, const struct live_cpu *lc)
{
    for (unsigned i = 0; i < live->ncpus; i++)
        if (live_up(&live->cpus[i]) && &live->cpus[i] != lc)
            return &live->cpus[i];
    return NULL;
}

static void move_timers(struct sirq_cpu *from, struct sirq_cpu *to)
{
    sirq_bh_disable(from);
    sirq_bh_disable(to);
    sirq_timer_migrate_local(from, to);
    sirq_bh_enable(to);
    sirq_bh_enable(from);
}

int sirq_live_cpu_remove(struct sirq_live *live, unsigned cpu, struct sirq_error *err)
{
    struct live_cpu *lc, *heir;
    struct sirq_cpu *found;
    sigset_t before;
    int ret = 0;

    sirq_host_config_lock(live, &before);
    found = sirq_live_cpu(live, cpu);
    heir = found == NULL ? NULL : another(live, live_of(found));
    if (found == NULL) {
        ret = sirq_fail(err, EINVAL, "cpu %u: not one of the engine's CPUs", cpu);
    } else if (heir == NULL) {
        ret = sirq_fail(err, EBUSY, "cpu %u: is the engine's last: stop the engine instead", cpu);
    } else if (!sirq_host_lines_fit(live_of(found), heir)) {
        ret = sirq_fail(err, EBUSY, "cpu %u: cpu %u would get more than %u interrupts: detach some",
                        cpu, heir->number, LIVE_MAX_LINES);
    } else if ((ret = sirq_host_lines_move(live_of(found), heir)) != 0) {
        sirq_fail(err, -ret, "cpu %u: an interrupt cannot be delivered to cpu %u instead: %s", cpu,
                  heir->number, strerror(-ret));
    } else {
        lc = live_of(found);
        sirq_host_threads_move(lc, heir);
        sirq_host_retarget(heir);
        sirq_host_retarget(lc);
        sirq_host_cpu_down(lc);
        move_timers(lc->cpu, heir->cpu);
    }
    sirq_host_config_unlock(live, &before);
    return ret;
}

int sirq_live_ksoftirqd_sched(struct sirq_live *live, unsigned cpu, const struct sirq_sched *sched,
                              struct sirq_error *err)
{
    int ret = sirq_host_sched_check(sched, "ksoftirqd", err);
    struct sirq_cpu *found;
    sigset_t before;

    if (ret != 0)
        return ret;
    sirq_host_config_lock(live, &before);
    found = sirq_live_cpu(live, cpu);
    if (found == NULL)
        ret = sirq_fail(err, EINVAL, "cpu %u: not one of the engine's CPUs", cpu);
    else
        ret = sirq_host_sched_set(live_of(found)->ksoftirqd_tid, sched, "ksoftirqd", err);
    if (found != NULL && ret == 0)
        live_of(found)->ksoftirqd_sched = *sched;
    sirq_host_config_unlock(live, &before);
    return ret;
}

static uint64_t thread_cpu_ns(pthread_t thread)
{
    struct timespec ts;
    clockid_t clock;

    if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &ts) != 0)
        return 0;
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int sirq_live_usage(struct sirq_live *live, unsigned cpu, struct sirq_live_usage *out)
{
    const struct sirq_cpu *found;
    sigset_t before;

    *out = (struct sirq_live_usage){0};
    sirq_host_config_lock(live, &before); /* its threads stay */
    found = sirq_live_cpu(live, cpu);
    if (found != NULL) {
        out->ksoftirqd_ns = thread_cpu_ns(live_of(found)->ksoftirqd);
        if (live->delivery != SIRQ_DELIVER_SIGNAL)
            out->irq_thread_ns = thread_cpu_ns(live_of(found)->irq_thread);
    }
    sirq_host_config_unlock(live, &before);
    return found == NULL ? -EINVAL : 0;
}
