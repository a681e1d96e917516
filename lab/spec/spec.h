/* SPDX-License-Identifier: MIT */
/*
 * An experiment as its file describes it: the machine, what its code costs, devices, threads,
 * traffic, setups and policies to compare, how long, what to measure, what was published.
 * docs/experiments.md has every key for its users.
 *
 * Names of fields are the keys of the file; units stand last in a name.  A number that is 0
 * where 0 makes no sense was not given: its default is in the documentation, and applied by
 * whoever uses the field.  Everything a spec points to belongs to it.
 */
#ifndef SIRQ_LAB_SPEC_H
#define SIRQ_LAB_SPEC_H

#include <sirq/sim.h>

#define SIRQ_SPEC_NICS 16u
#define SIRQ_SPEC_DISKS 16u
#define SIRQ_SPEC_GROUPS 64u    /* entries of threads */
#define SIRQ_SPEC_THREADS 4096u /* threads of a group */
#define SIRQ_SPEC_TRAFFIC 64u
#define SIRQ_SPEC_HOSTS 16u
#define SIRQ_SPEC_FLOWS 64u /* entries of flows */
#define SIRQ_SPEC_SETUPS 64u
#define SIRQ_SPEC_SETTINGS 64u   /* of a setup; of a command line */
#define SIRQ_SPEC_SETUP_NAME 63u /* bytes */
#define SIRQ_SPEC_POLICIES 32u
#define SIRQ_SPEC_UNPATCHED 8u
#define SIRQ_SPEC_MEASURES 64u
#define SIRQ_SPEC_CLAIMS 64u
#define SIRQ_SPEC_SEEDS 1000u

/* ---- the machine ----------------------------------------------------------------------- */

struct sirq_spec_fair {
    uint64_t latency_ns, min_granularity_ns, wakeup_granularity_ns; /* CFS */
    uint64_t slice_ns;                                              /* EEVDF */
};

/* How a thread is scheduled. */
enum sirq_spec_class {
    SIRQ_SPEC_SCHED_OTHER,
    SIRQ_SPEC_SCHED_BATCH,
    SIRQ_SPEC_SCHED_IDLE,
    SIRQ_SPEC_SCHED_FIFO,
    SIRQ_SPEC_SCHED_RR
};

struct sirq_spec_sched {
    enum sirq_spec_class class;
    uint32_t priority; /* 1..99 with fifo and rr */
    int32_t nice;
};

struct sirq_spec_machine {
    uint32_t cpus, hz, smt, smt_permille;
    bool irq_time_accounting;
    uint64_t ipi_ns, rt_period_ns, rt_runtime_ns;
    uint32_t scheduler;                /* enum sirq_sim_scheduler: cfs, eevdf */
    struct sirq_spec_fair *fair;       /* null: as Linux computes it */
    struct sirq_spec_sched *ksoftirqd; /* null: other, nice 0 */
};

struct sirq_spec_costs {
#define SIRQ_SPEC_COST(sym, name, meaning) uint32_t sym;
    SIRQ_COSTS(SIRQ_SPEC_COST)
#undef SIRQ_SPEC_COST
};

struct sirq_spec_net {
    bool poll_until_budget; /* Linux before 3.19 */
    uint32_t netdev_budget;
    uint32_t max_backlog;   /* frames on a CPU's backlog */
    bool threaded_backlogs; /* each polled by a thread of its own */
};

/* ---- devices --------------------------------------------------------------------------- */

struct sirq_spec_nic {
    char *name;
    uint32_t rings; /* receive rings, 0: one */
    uint32_t ring;  /* frames on each */
    uint64_t irq_interval_ns;
    uint32_t tx_ring;   /* frames that leave, 0: as ring */
    uint32_t line_mbit; /* 0: as fast as frames come */
    uint64_t line_queue_ns;
    uint32_t *cpus; /* ring i interrupts cpus[i % n_cpus]; null: CPU i % all */
    uint32_t n_cpus;
    uint32_t *rps; /* frames are spread over these; null: they go up where they are polled */
    uint32_t n_rps;
};

struct sirq_spec_disk {
    char *name;
    uint64_t read_ns, read_jitter_ns; /* a request's time in the device, and up to so much more */
    uint32_t depth;                   /* requests that it serves at once */
    uint32_t cpu;                     /* interrupted */
};

/* ---- threads: exactly one of the kinds is given ------------------------------------------ */

/* Receives datagrams of the traffic that is sent `to` it, and works on each. */
struct sirq_spec_udp_receiver {
    uint64_t rcvbuf;  /* bytes of truesize */
    uint32_t batch;   /* datagrams a call, 0: one */
    uint64_t work_ns; /* on each */
};

/* Sends a request to a peer far away and waits for its answer (netperf TCP_RR). */
struct sirq_spec_rr_client {
    char *nic;
    uint64_t rcvbuf;
    uint64_t rtt_ns, rtt_jitter_ns; /* from a request to the arrival of its answer */
    uint64_t work_ns;               /* own, per transaction */
    /* Bottom-half sections beside the receive: the lesser of two draws from here. */
    uint32_t sections_least, sections_most;
};

/* Answers requests of `clients` peers far away, each with one under way (netserver). */
struct sirq_spec_rr_server {
    char *nic;
    uint32_t clients;
    uint64_t rcvbuf, rtt_ns, rtt_jitter_ns, work_ns;
};

/* One TCP-like flow from a peer far away (iperf). */
struct sirq_spec_tcp_receiver {
    char *nic;
    uint64_t rcvbuf, rtt_ns, rtt_jitter_ns;
    uint64_t work_ns;    /* own, per receive call */
    uint32_t limit_mbit; /* the application's; 0: none */
};

/* The same to it. */
struct sirq_spec_tcp_sender {
    char *nic;
    uint64_t sndbuf; /* bytes of truesize: bounds what is in flight */
    uint64_t rtt_ns, rtt_jitter_ns;
    uint64_t work_ns; /* own, per send call */
    uint32_t limit_mbit;
};

/* Reads blocks one after the other (dd). */
struct sirq_spec_disk_reader {
    char *disk;
    uint64_t work_ns; /* on each block: copying it */
};

/* Sleeps until the next multiple of its interval and measures how late it wakes (cyclictest). */
struct sirq_spec_cyclictest {
    uint64_t interval_ns, work_ns;
};

/* Never sleeps. */
struct sirq_spec_hog {
    uint64_t slice_ns; /* of work between two looks at the clock, 0: 1 ms */
};

/* Has to run every interval; when it could not for limit_ns that is a stall (watchdogd). */
struct sirq_spec_watchdog {
    uint64_t interval_ns, limit_ns;
};

struct sirq_spec_threads {
    char *name;
    uint32_t count; /* 0: one */
    uint32_t *cpus; /* allowed, null: all */
    uint32_t n_cpus;
    bool pin; /* thread i on cpus[i % n_cpus] alone */
    struct sirq_spec_sched sched;
    struct sirq_spec_udp_receiver *udp_receiver;
    struct sirq_spec_rr_client *rr_client;
    struct sirq_spec_rr_server *rr_server;
    struct sirq_spec_tcp_receiver *tcp_receiver;
    struct sirq_spec_tcp_sender *tcp_sender;
    struct sirq_spec_disk_reader *disk_reader;
    struct sirq_spec_cyclictest *cyclictest;
    struct sirq_spec_hog *hog;
    struct sirq_spec_watchdog *watchdog;
};

/* ---- traffic: UDP frames that arrive whatever becomes of them ---------------------------- */

struct sirq_spec_traffic {
    char *name, *nic;
    char *to;                   /* threads: a group of udp_receivers, which share the rate evenly */
    uint32_t arrivals;          /* enum sirq_sim_arrivals: constant, poisson, bursts */
    uint64_t rate;              /* packets/s in all */
    uint32_t burst;             /* bursts: packets of each */
    uint32_t size;              /* frame without FCS, bytes, 60..1514; 0: 60 */
    uint64_t start_ms, stop_ms; /* 0: from the beginning, for ever */
};

/* ---- what crosses the machine, which is a router as soon as there are hosts -------------- */

/* At the far end of a NIC, or of one of its ports. */
struct sirq_spec_host {
    char *name, *nic;
    uint32_t port;
};

/* TCP-like, greedy (iperf, netperf TCP_STREAM). */
struct sirq_spec_flow_tcp {
    uint64_t rtt_ns, rtt_jitter_ns; /* without the machine */
    uint32_t window;                /* most segments in flight, 0: 1024 */
    uint32_t limit_mbit;
};

struct sirq_spec_flow_ping {
    bool icmp;
    uint64_t rtt_ns;                 /* without the machine */
    uint64_t interval_ns;            /* 0: the next follows the answer */
    uint64_t timeout_ns, average_ns; /* average: one value for all answers of such a time */
    uint32_t size;
};

struct sirq_spec_flow {
    char *name, *from, *to; /* data, or requests */
    uint32_t count;         /* 0: one */
    struct sirq_spec_flow_tcp *tcp;
    struct sirq_spec_flow_ping *ping;
};

/* ---- what is compared and measured -------------------------------------------------------- */

/* What a published figure calls a kernel ("before"), and the policy that this one had. */
struct sirq_spec_unpatched {
    char *name, *policy;
};

/* A variant: the file with some keys set otherwise. */
struct sirq_spec_setup {
    char *name; /* as in the results and as published */
    char **set; /* "threads.receiver.count=4", "machine.hz=100"; entries by name or index */
    uint32_t n_set;
    struct sirq_spec_unpatched *published; /* as for all setups, of this one alone */
};

struct sirq_spec_run {
    uint32_t seeds;
    uint64_t warmup_ms, duration_ms; /* of each seed */
};

enum sirq_spec_stat {
    SIRQ_SPEC_NO_STAT,
    SIRQ_SPEC_MIN,
    SIRQ_SPEC_MEAN,
    SIRQ_SPEC_P50,
    SIRQ_SPEC_P90,
    SIRQ_SPEC_P99,
    SIRQ_SPEC_P999,
    SIRQ_SPEC_MAX,
    SIRQ_SPEC_STDDEV
};

/*
 * What can be measured.  Times may be given in ns, us, ms or s; a unit "/s" as "packets/s" or
 * any other word before it, or as a time: how long each of them takes.
 */
/* X(symbol, name, of, distribution?, unit, what it is)
 * of: t threads, n NIC, d disk, f flows, c CPUs */
#define SIRQ_SPEC_WHATS(X)                                                                        \
    X(RATE, "rate", "tndf", false, "/s", "messages, transactions, blocks or periods; frames")     \
    X(MBIT, "mbit", "tf", false, "Mbit/s", "payload")                                             \
    X(CPU, "cpu", "t", false, "percent", "CPU time as the scheduler charges it, of one CPU")      \
    X(OWN_CPU, "own_cpu", "t", false, "percent", "CPU time of the thread's own code")             \
    X(LATENCY, "latency", "tdf", true, "us",                                                      \
      "arrival to receive; request to answer; request to block")                                  \
    X(WAKEUP, "wakeup", "t", true, "us", "from due or woken to running")                          \
    X(FAIRNESS, "fairness", "t", false, "percent", "Jain's index of the threads' rates")          \
    X(CPU_FAIRNESS, "cpu_fairness", "t", false, "percent", "the same of their CPU time")          \
    X(STALLS, "stalls", "tc", false, "stalls", "of a watchdog; RCU stalls of a CPU")              \
    X(STALL_AFTER, "stall_after", "c", false, "jiffies", "without a quiescent state, at a stall") \
    X(DROPS, "drops", "tn", false, "packets", "at full sockets of threads; at full rings")        \
    X(SOFTIRQ, "softirq", "c", false, "percent", "true time, wherever it ran")                    \
    X(HARDIRQ, "hardirq", "c", false, "percent", "true time")                                     \
    X(IDLE, "idle", "c", false, "percent", "true time")                                           \
    X(IDLE_TASK, "idle_task", "c", false, "percent",                                              \
      "no thread's: idle, or interrupts and softirqs on top of that")                             \
    X(KSOFTIRQD, "ksoftirqd", "c", false, "percent", "of the thread, as the scheduler charges")   \
    X(RUN, "run", "c", true, "ms", "length of a softirq run")                                     \
    X(RUN_PACKETS, "run_packets", "c", true, "packets", "polled by a softirq run")                \
    X(LAST_PASS, "last_pass", "c", true, "ms", "into a run when its last pass began")             \
    X(RAISE_TO_RUN, "raise_to_run", "c", true, "us", "from raise to action, all vectors")         \
    X(PUNTS, "punts", "c", false, "/s", "runs that left work to ksoftirqd")

enum sirq_spec_what {
#define SIRQ_SPEC_WHAT(sym, name, of, dist, unit, text) SIRQ_SPEC_##sym,
    SIRQ_SPEC_WHATS(SIRQ_SPEC_WHAT)
#undef SIRQ_SPEC_WHAT
        SIRQ_SPEC_NR_WHATS
};

/* Where a figure stands among the published ones, when they call it otherwise. */
struct sirq_spec_row {
    char *setup, *metric;
};

/* Whether a policy is the better one for more of it, for less, or that is not compared. */
enum sirq_spec_better { SIRQ_SPEC_NEITHER, SIRQ_SPEC_MORE, SIRQ_SPEC_LESS };

struct sirq_spec_measure {
    char *name; /* as in the results and as published; "receiver%_cpu" with each */
    char *of;   /* threads, a NIC, a disk by name; cpuN; cpus: all of them */
    enum sirq_spec_what what;
    enum sirq_spec_stat stat; /* of a distribution */
    char *unit;               /* null: the table's; ns, us, ms, s for times; as published */
    bool each;                /* one figure for each thread; % in the name is its number from 1 */
    enum sirq_spec_better better;    /* a row of the matrix, or none */
    struct sirq_spec_row *published; /* null: in the setup's name, and as this one's */
};

/* A figure of one setup under one policy (or what `unpatched` calls it); null: the claim's. */
struct sirq_spec_cell {
    char *setup, *policy, *metric; /* metric: name of a measure, "receiver2_cpu" of each */
};

enum sirq_spec_relation {
    SIRQ_SPEC_AT_MOST,
    SIRQ_SPEC_AT_LEAST,
    SIRQ_SPEC_ABOUT,
    SIRQ_SPEC_BELOW,
    SIRQ_SPEC_ABOVE
};

/* What has to hold, of two figures or of one and a number. */
struct sirq_spec_claim {
    char *name, *setup, *policy; /* as in results and as published: any words */
    struct sirq_spec_cell left;
    enum sirq_spec_relation is;
    struct sirq_spec_cell *right; /* null: value is there */
    double *value;                /* null: right is there */
    double *times;                /* the right side that often, null: once */
    uint32_t percent;             /* of the right side: how far off is still good */
};

struct sirq_spec {
    char *name, *summary; /* name: as in results, udp_flood; never null: else the file's */
    char *published;      /* CSV beside the file (has a dot or slash), or a shipped one, or null */
    struct sirq_spec_unpatched *unpatched;
    uint32_t n_unpatched;
    struct sirq_spec_machine machine;
    struct sirq_spec_costs costs_ns;
    struct sirq_spec_net net;
    struct sirq_spec_nic *nics;
    uint32_t n_nics;
    struct sirq_spec_disk *disks;
    uint32_t n_disks;
    struct sirq_spec_threads *threads;
    uint32_t n_threads;
    struct sirq_spec_traffic *traffic;
    uint32_t n_traffic;
    struct sirq_spec_host *hosts;
    uint32_t n_hosts;
    struct sirq_spec_flow *flows;
    uint32_t n_flows;
    struct sirq_spec_setup *setups; /* at least one */
    uint32_t n_setups;
    char **policies; /* by name, null: all of the table */
    uint32_t n_policies;
    struct sirq_spec_run run;
    struct sirq_spec_measure *measure;
    uint32_t n_measure;
    struct sirq_spec_claim *claims;
    uint32_t n_claims;
};

/* ---- reading ------------------------------------------------------------------------------ */

/* The text of a file, owned; `name` is what errors call it. */
struct sirq_spec_text {
    char *name, *text;
    size_t len;
};

/* `what`: a path (has a slash or a dot), else a shipped experiment.  0, or -EINVAL with err
 * filled.  Free with sirq_spec_text_free(). */
int sirq_spec_read(struct sirq_spec_text *out, const char *what, struct sirq_error *err);
void sirq_spec_text_free(struct sirq_spec_text *text);

/*
 * The experiment, then in setup number `setup` (UINT32_MAX: in none), then with the `nset`
 * settings "path=value" of the command line, checked as a whole.  0, -EINVAL or -ENOMEM with
 * err filled: which file, line and key, what is wrong, what would do.  Free with
 * sirq_spec_free().
 */
int sirq_spec_parse(struct sirq_spec **out, const struct sirq_spec_text *text, uint32_t setup,
                    const char *const *set, unsigned nset, struct sirq_error *err);
void sirq_spec_free(struct sirq_spec *spec);

/* Flows that a measure's `of` names: one, or all whose names begin as it does before its `*`, which
 * then stand one after the other.  How many; 0: it names none. */
uint32_t sirq_spec_flows_of(const struct sirq_spec *spec, const char *of, uint32_t *first);

/* The simulated machine's configuration, without policy and seed. */
void sirq_spec_sim_config(const struct sirq_spec *spec, struct sirq_sim_config *out);

/* Where a cell of a claim stands: a number in spec->setups, UINT32_MAX: there is none; a policy,
 * null: there is none.  With checked specs, always there. */
uint32_t sirq_spec_cell_setup(const struct sirq_spec *spec, const struct sirq_spec_claim *claim,
                              const struct sirq_spec_cell *cell);
const struct sirq_policy *sirq_spec_cell_policy(const struct sirq_spec *spec,
                                                const struct sirq_spec_claim *claim,
                                                const struct sirq_spec_cell *cell);

/* The shipped experiments' names, null-terminated. */
const char *const *sirq_spec_shipped(void);

#endif
