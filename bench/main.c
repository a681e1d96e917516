/* SPDX-License-Identifier: MIT */
/* softirq-bench: arguments, and what all parts need. */
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIFO_PRIORITY 2

static const struct part {
    const char *name;
    void (*run)(const struct bench_options *options);
    const char *what;
} parts[] = {
    {"dispatch", bench_dispatch, "raise + inline dispatch on one thread"},
    {"handoff", bench_handoff, "to a sleeping consumer, on the same and another CPU"},
    {"items", bench_items, "items/s from another thread through a busy consumer"},
    {"packet", bench_packet, "64-byte frames to a socket queue, and received (no peer)"},
    {"wire", bench_wire, "64-byte UDP over veth beside a kernel socket (root)"},
    {"forward", bench_forward,
     "the same, sent on to a second pair, beside the kernel's forwarding (root)"},
    {"sim", bench_sim, "simulated events/s beside ns-3, scale, memory over hours"},
    {"memory", bench_memory, "an idle engine on up to two CPUs"},
};
#define NPARTS (sizeof(parts) / sizeof(parts[0]))

uint64_t bench_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void bench_die(const char *what, int error)
{
    fprintf(stderr, "softirq-bench: %s: %s\n", what, strerror(error));
    exit(1);
}

void bench_pin(unsigned cpu)
{
    cpu_set_t set;
    int ret;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    ret = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
    if (ret != 0)
        bench_die("cannot pin a thread", ret);
}

bool bench_late(const struct bench_options *options, uint64_t start_ns, double share)
{
    return (double)(bench_now_ns() - start_ns) > options->seconds * 1e9 * share;
}

/* Consumers on the first CPU we may use, producers on the second. */
static void choose_cpus(struct bench_options *options)
{
    cpu_set_t set;
    unsigned found = 0;

    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        bench_die("affinity mask", errno);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
        if (CPU_ISSET(cpu, &set)) {
            if (found == 0)
                options->cpu = cpu;
            else
                options->other = cpu;
            found++;
        }
    options->have_other = found == 2;
}

static bool fifo_permitted(int priority)
{
    struct sched_param fifo = {.sched_priority = priority}, other = {0};

    return sched_setscheduler(0, SCHED_FIFO, &fifo) == 0 &&
           sched_setscheduler(0, SCHED_OTHER, &other) == 0;
}

static void usage(FILE *out)
{
    fprintf(out, "usage: softirq-bench [--quick] [--runs N] [--csv FILE] [PART...]\n"
                 "Compares softirq with libuv, eventfd + epoll, liburcu and ns-3 in one run.\n"
                 "  --quick     about one minute instead of about six\n"
                 "  --runs N    runs of each part, 1 to 32 (15; 5 with --quick)\n"
                 "  --csv FILE  write the figures too\n"
                 "  --fair      SCHED_OTHER for all threads; else SCHED_FIFO where permitted,\n"
                 "              so that what else runs on the machine does not come between\n"
                 "Parts, all of them by default:\n");
    for (unsigned i = 0; i < NPARTS; i++)
        fprintf(out, "  %-11s %s\n", parts[i].name, parts[i].what);
    fprintf(
        out,
        "A simulated event is what comes off the event queue (an interrupt, timer, tick, kick,\n"
        "the end of a slice of CPU time that it cut into), and a charge: the CPU time of an\n"
        "interrupt's entry, a pass, a poll, a batch of frames of one verdict, a switch, a\n"
        "wake-up, a receive call, what it returned.  Frames and arrivals are not events.\n");
}

static const struct part *find_part(const char *name)
{
    for (unsigned i = 0; i < NPARTS; i++)
        if (strcmp(parts[i].name, name) == 0)
            return &parts[i];
    fprintf(stderr, "softirq-bench: %s: no such part; see --help\n", name);
    exit(2);
}

static unsigned parse_runs(const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0' || n < 1 || n > BENCH_RUNS_MAX) {
        fprintf(stderr, "softirq-bench: --runs %s: give 1 to %u\n", text, BENCH_RUNS_MAX);
        exit(2);
    }
    return (unsigned)n;
}

static void parse(int argc, char **argv, struct bench_options *options)
{
    static const struct option longopts[] = {
        {"quick", no_argument, NULL, 'q'},     {"runs", required_argument, NULL, 'r'},
        {"csv", required_argument, NULL, 'c'}, {"fair", no_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},      {NULL, 0, NULL, 0}};
    int opt;

    while ((opt = getopt_long(argc, argv, "h", longopts, NULL)) != -1) {
        if (opt == 'q') {
            options->scale = 1;
            options->seconds = 1.6;
        } else if (opt == 'f')
            options->priority = 0;
        else if (opt == 'r')
            options->runs = parse_runs(optarg);
        else if (opt == 'c')
            options->csv = optarg;
        else {
            usage(opt == 'h' ? stdout : stderr);
            exit(opt == 'h' ? 0 : 2);
        }
    }
    if (options->runs == 0)
        options->runs = options->scale == 1 ? 5 : 15;
}

int main(int argc, char **argv)
{
    struct bench_options options = {.scale = 3, .seconds = 10, .priority = FIFO_PRIORITY};
    int ret;

    parse(argc, argv, &options);
    for (int i = optind; i < argc; i++)
        find_part(argv[i]);
    choose_cpus(&options);
    if (options.priority != 0 && !fifo_permitted(options.priority))
        options.priority = 0;
    fprintf(stderr, "scheduling: %s\n", options.priority != 0 ? "SCHED_FIFO" : "SCHED_OTHER");
    for (unsigned i = 0; i < NPARTS; i++) {
        bool wanted = optind == argc;

        for (int k = optind; k < argc; k++)
            wanted |= find_part(argv[k]) == &parts[i];
        if (!wanted)
            continue;
        fprintf(stderr, "%s ...\n", parts[i].name);
        parts[i].run(&options);
    }
    bench_print(stdout);
    if (options.csv != NULL && (ret = bench_write_csv(options.csv)) != 0)
        bench_die(options.csv, -ret);
    return 0;
}
