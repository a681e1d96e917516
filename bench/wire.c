/* SPDX-License-Identifier: MIT */
/*
 * 64-byte datagrams over a veth pair to one receiver: how many of them for a second of CPU.
 *
 * All CPU time of the receiving side is counted: the process that receives, with the engine's
 * threads, and the kernel thread that polls the veth, both on one CPU.  The sender is a process
 * on the other.  What a receiver makes of a second depends on the load: at a low one it sleeps
 * and is woken, above its limit work goes into datagrams that are dropped; so each is offered
 * several rates, and its best one counts.
 *
 * Receiver and kernel thread have one priority, so neither preempts the other: one goes on until
 * it finds nothing, then the other does.  Everything is in a process and a namespace of its own
 * for each measurement.
 */
#include "wire.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WARM_NS 150000000
#define WINDOW_NS 300000000
#define SENDER_S 10u /* a sender at a real-time priority lives no longer, whatever becomes of us */

uint64_t wire_received;
bool wire_ready, wire_stopping;

static const struct wire_sender *const senders[] = {&wire_skbs, &wire_pages};
#define NSENDERS (sizeof(senders) / sizeof(senders[0]))

static const uint64_t rates[] = {400000, 800000, 1200000, 1600000};
#define NRATES (sizeof(rates) / sizeof(rates[0]))

/* What a measuring process tells. */
struct sample {
    double per_cpu_s, per_s;
    char why[200]; /* empty: it took part */
};

struct job {
    const struct wire_subject *subject;
    const struct wire_sender *sender;
    uint64_t pps;
    const struct bench_options *options;
    const char *why;
};

static void *receive(void *arg)
{
    struct job *job = arg;

    job->why = job->subject->run(job->subject, job->options);
    wire_begin();
    return NULL;
}

static void pause_ns(long ns)
{
    const struct timespec ts = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

    nanosleep(&ts, NULL);
}

static uint64_t cpu_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec + wire_net_cpu_ns();
}

static void be_fifo(int priority)
{
    const struct sched_param param = {.sched_priority = priority};

    if (priority != 0 && sched_setscheduler(0, SCHED_FIFO, &param) != 0)
        bench_die("wire: SCHED_FIFO", errno);
}

static uint64_t done(const struct wire_subject *subject)
{
    return subject->count != NULL ? subject->count()
                                  : __atomic_load_n(&wire_received, __ATOMIC_RELAXED);
}

static void measure_window(const struct job *job, struct sample *sample)
{
    uint64_t cpu, count, start;
    pid_t sender = fork();

    if (sender == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(SENDER_S);
        be_fifo(job->options->priority);
        job->sender->send(job->options, job->pps, job->subject);
    }
    if (sender < 0)
        bench_die("wire: fork", errno);
    pause_ns(WARM_NS);
    start = bench_now_ns();
    cpu = cpu_ns();
    count = done(job->subject);
    pause_ns(WINDOW_NS);
    count = done(job->subject) - count;
    cpu = cpu_ns() - cpu;
    start = bench_now_ns() - start;
    kill(sender, SIGKILL);
    waitpid(sender, NULL, 0);
    if (count == 0)
        bench_die("wire: nothing came through", ENODATA);
    sample->per_cpu_s = (double)count * 1e9 / (double)cpu;
    sample->per_s = (double)count * 1e9 / (double)start;
}

/* In the measuring process, whose main thread stays above those it looks at. */
static void measure(struct job *job, struct sample *sample)
{
    const struct bench_options *options = job->options;
    pthread_t thread;

    job->why = job->subject->enter();
    be_fifo(options->priority); /* the receiver's threads and the sender inherit it */

    if (job->why == NULL && pthread_create(&thread, NULL, receive, job) == 0) {
        while (!__atomic_load_n(&wire_ready, __ATOMIC_ACQUIRE))
            pause_ns(1000000);
        if (job->why == NULL && wire_net_pin(options) == 0)
            bench_die("wire: no thread polls the veth", ENOENT);
        if (options->priority != 0)
            be_fifo(options->priority + 1);
        if (job->why == NULL)
            measure_window(job, sample);
        __atomic_store_n(&wire_stopping, true, __ATOMIC_RELEASE);
        pthread_join(thread, NULL);
    }
    snprintf(sample->why, sizeof(sample->why), "%s", job->why != NULL ? job->why : "");
}

static struct sample in_child(struct job *job)
{
    struct sample sample = {0};
    int fds[2], status;
    pid_t child;

    if (pipe(fds) != 0 || (child = fork()) < 0)
        bench_die("wire: fork", errno);
    if (child == 0) {
        measure(job, &sample);
        _exit(write(fds[1], &sample, sizeof(sample)) != sizeof(sample));
    }
    close(fds[1]);
    if (read(fds[0], &sample, sizeof(sample)) != sizeof(sample) ||
        waitpid(child, &status, 0) != child || status != 0)
        bench_die("wire: a measuring process failed", ECHILD);
    close(fds[0]);
    return sample;
}

/* Of one sender. */
struct results {
    struct bench_series per_cpu_s[WIRE_SUBJECTS_MAX], per_s[WIRE_SUBJECTS_MAX];
};

/* False: the subject cannot take part. */
static bool best_of(struct job *job, struct bench_series *per_cpu_s, struct bench_series *per_s)
{
    struct sample best = {0};

    for (unsigned i = 0; i < NRATES; i++) {
        struct sample sample;

        job->pps = rates[i];
        sample = in_child(job);
        if (sample.why[0] != '\0') {
            fprintf(stderr, "%s left out: %s\n", job->subject->name, sample.why);
            return false;
        }
        if (sample.per_cpu_s > best.per_cpu_s)
            best.per_cpu_s = sample.per_cpu_s;
        if (sample.per_s > best.per_s)
            best.per_s = sample.per_s;
    }
    bench_add(per_cpu_s, best.per_cpu_s);
    bench_add(per_s, best.per_s);
    return true;
}

static void report(const char *part, const struct wire_sender *sender,
                   const struct results *results, const struct wire_subject *const *subjects,
                   unsigned n, unsigned ours)
{
    for (unsigned i = 0; i < n; i++) {
        if (results->per_s[i].n == 0)
            continue;
        for (unsigned peer = ours; peer < n && i < ours; peer++)
            if (results->per_s[peer].n > 0)
                bench_row(part, subjects[i]->name, subjects[peer]->name, sender->metric, "/CPU-s",
                          BENCH_MORE, &results->per_cpu_s[i], &results->per_cpu_s[peer]);
        bench_row(part, subjects[i]->name, "-", sender->metric, "pkt/s", BENCH_MORE,
                  &results->per_s[i], NULL);
    }
}

void wire_compare(const struct bench_options *options, const char *part,
                  const struct wire_subject *const *subjects, unsigned n, unsigned ours)
{
    struct results results[NSENDERS] = {0};
    bool left_out[WIRE_SUBJECTS_MAX] = {false};
    uint64_t start = bench_now_ns();

    if (geteuid() != 0 || !options->have_other) {
        fprintf(stderr, "%s: left out: it needs %s\n", part,
                geteuid() != 0 ? "root (a network namespace, XDP)" : "two CPUs");
        return;
    }
    for (unsigned run = 0; run < options->runs && !bench_late(options, start, 8); run++)
        for (unsigned from = 0; from < NSENDERS; from++)
            for (unsigned i = 0; i < n && senders[from]->send != NULL; i++) {
                struct job job = {subjects[i], senders[from], 0, options, NULL};

                if (!left_out[i])
                    left_out[i] =
                        !best_of(&job, &results[from].per_cpu_s[i], &results[from].per_s[i]);
            }
    for (unsigned from = 0; from < NSENDERS; from++)
        report(part, senders[from], &results[from], subjects, n, ours);
}

void bench_wire(const struct bench_options *options)
{
    static const struct wire_subject *const receivers[] = {&wire_xdp, &wire_packet, &wire_recvmmsg,
                                                           &wire_uring};

    wire_compare(options, "wire", receivers, 4, 2);
}
