/* SPDX-License-Identifier: MIT */
/*
 * sirq/sim.h - the simulated host: the core on CPUs whose time is virtual.
 *
 * A world is a machine with its own clock, CPUs, scheduler and devices.  The core, the
 * policies and the packet path run in it unchanged.  Many worlds may live in a process; one
 * thread at a time runs a world, and nothing in a world depends on real time or addresses:
 * the same configuration and seed give the same run, to the nanosecond.
 *
 * Tasks are coroutines.  Their code takes no time but what it spends: sirq_sim_spend(), the
 * costs that the packet path charges (sirq/host.h), and the host's own.  While time passes
 * the CPU takes interrupts, on top of the task as on a real machine, and may switch tasks.
 *
 * Set-up (everything that does not say "task") happens outside of the world: between runs.
 */
#ifndef SIRQ_SIM_H
#define SIRQ_SIM_H

#include <sirq/driver.h>
#include <sirq/host.h>
#include <sirq/policy.h>
#include <sirq/sched.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIRQ_SIM_CPUS 1024u /* most CPUs of a world */
#define SIRQ_SIM_TASKS 65536u

struct sirq_sim;
struct sirq_sim_task;
struct sirq_sim_nic;

/* The fair class: Linux 2.6.23 to 6.5, and since. */
enum sirq_sim_scheduler { SIRQ_SIM_CFS, SIRQ_SIM_EEVDF };

/* Linux's tunables of the fair class, already scaled by CPUs; ns.  0: as Linux computes it. */
struct sirq_sim_fair {
    uint64_t latency_ns;            /* CFS: 6 ms * (1 + log2(min(CPUs, 8))) */
    uint64_t min_granularity_ns;    /* 0.75 ms, likewise */
    uint64_t wakeup_granularity_ns; /* 1 ms, likewise */
    uint64_t slice_ns;              /* EEVDF: 0.75 ms, likewise; Linux from 6.15 on has 0.7 ms */
};

/*
 * What happened on a CPU, for whoever measures: a tracepoint of the core (sirq/host.h) and the
 * time that it ends.  The latency from raise to run of a vector is in its ENTRY, the length of a
 * run in its RUN_END; a policy's time limit shows as the longest since_ns of a RESTART.  The
 * callback must not call into the world.
 */
struct sirq_sim_trace {
    uint64_t time_ns;
    unsigned cpu;
    enum sirq_trace what;
    uint32_t arg;      /* as the tracepoint says */
    uint32_t frames;   /* RESTART, RUN_END: packets of the run's polls so far */
    uint64_t since_ns; /* ENTRY: since the vector was raised; EXIT: since ENTRY; RESTART,
                          RUN_END: since RUN_BEGIN; else 0 */
};

struct sirq_sim_config {
    unsigned ncpus; /* 1..SIRQ_SIM_CPUS */
    unsigned hz;    /* 0: 250; 1..100000 */
    uint64_t seed;
    const struct sirq_policy *policy;  /* null: the default */
    uint32_t cost_ns[SIRQ_NR_COSTS];   /* every one >= 1, at most a second: nothing is free */
    enum sirq_sim_scheduler scheduler; /* of fair tasks; 0: CFS */
    struct sirq_sim_fair fair;
    struct sirq_sched ksoftirqd;
    uint64_t ipi_ns;        /* from a kick to the interrupt; 0: 1 us */
    uint64_t stall_ns;      /* watchdog bound; 0: one second */
    uint64_t rcu_stall_ns;  /* no quiescent state for so long is a stall; 0: 21 s */
    uint64_t rt_period_ns;  /* RT throttling; 0: one second */
    uint64_t rt_runtime_ns; /* of each period; 0: 95 %; >= the period: no throttling */
    /*
     * Linux CONFIG_IRQ_TIME_ACCOUNTING: interrupts and softirqs outside ksoftirqd are not
     * charged to the task they interrupt.
     */
    bool irq_time_accounting;
    unsigned smt;          /* threads of a core: 0 or 1: no SMT, 2: CPUs 2n and 2n+1 share one */
    unsigned smt_permille; /* time per work while the sibling is busy; 0: 1600 */
    void (*report)(void *arg, unsigned cpu, const char *what, uint64_t value); /* may be null */
    void *report_arg;
    void (*trace)(void *arg, const struct sirq_sim_trace *trace); /* null: costs nothing */
    void *trace_arg;
};

/* 0, or -EINVAL or -ENOMEM with err filled and nothing left behind. */
int sirq_sim_create(struct sirq_sim **out, const struct sirq_sim_config *config,
                    struct sirq_error *err);

/*
 * Devices are detached, sockets closed and the packet path destroyed before.  Tasks end where
 * they are: what their code holds is not released.
 */
void sirq_sim_destroy(struct sirq_sim *sim);

/* Let virtual time pass up to `until_ns`.  The clock begins at 0. */
void sirq_sim_run(struct sirq_sim *sim, uint64_t until_ns);

uint64_t sirq_sim_now_ns(const struct sirq_sim *sim);
struct sirq_core *sirq_sim_core(struct sirq_sim *sim);

/* Bytes held by the world: stacks, tasks, queues; not the packet path's. */
size_t sirq_sim_memory(const struct sirq_sim *sim);

/*
 * What happened so far: events taken off the queue, and slices of CPU time that ended
 * without one (a charge during which nothing else was due).
 */
struct sirq_sim_events {
    uint64_t events;   /* interrupts posted, timers, ticks, ends of slices */
    uint64_t charges;  /* of them and beside them: charges to a CPU */
    uint64_t switches; /* context switches */
};
void sirq_sim_events(const struct sirq_sim *sim, struct sirq_sim_events *out);

/* A number that depends on everything that happened, and in which order. */
uint64_t sirq_sim_digest(const struct sirq_sim *sim);

/* ---- tasks -------------------------------------------------------------------------- */

struct sirq_sim_task_config {
    const char *name;                                  /* by reference */
    void (*fn)(struct sirq_sim_task *task, void *arg); /* the task ends when it returns */
    void *arg;
    int cpu;                 /* pinned to this CPU, -1: wherever it is allowed */
    const uint64_t *allowed; /* mask, bit per CPU, null: all; with cpu == -1 */
    struct sirq_sched sched;
    /*
     * After each sleep, as its code goes on: the time since it was woken, or since the moment
     * that a sleep was to end.  In the task, with its arg; must not sleep.  Null: nobody asks.
     */
    void (*woken)(void *arg, uint64_t latency_ns);
};

/* 0, -EINVAL or -ENOMEM with err filled.  Runnable at once.  The task lives as long as its
 * world. */
int sirq_sim_spawn(struct sirq_sim *sim, const struct sirq_sim_task_config *config,
                   struct sirq_sim_task **out, struct sirq_error *err);

struct sirq_sim_task_stats {
    uint64_t sched_ns;   /* as the scheduler charged it: what top shows */
    uint64_t task_ns;    /* true time of the task's own code */
    uint64_t softirq_ns; /* softirqs on top of it; ksoftirqd: its runs */
    uint64_t hardirq_ns; /* interrupts on top of it */
    uint64_t switches;   /* times it was switched to */
    uint64_t preempted;  /* times it had to give way while it could run */
};
void sirq_sim_task_stats(struct sirq_sim_task *task, struct sirq_sim_task_stats *out);
struct sirq_sim_task *sirq_sim_ksoftirqd(struct sirq_sim *sim, unsigned cpu);

/* ---- in a task (spend: also in softirq and hardirq) ---------------------------------- */

/* The CPU works for `ns`. */
void sirq_sim_spend(struct sirq_sim *sim, uint64_t ns);

void sirq_sim_sleep_until(struct sirq_sim_task *task, uint64_t time_ns);
void sirq_sim_yield(struct sirq_sim_task *task);
/* The CPU that the caller runs on; until time passes. */
struct sirq_cpu *sirq_sim_this_cpu(const struct sirq_sim *sim);
struct sirq_sim *sirq_sim_of(const struct sirq_sim_task *task);

/* Uniform in 0..n-1, n > 0, of the world's seed.  Any context. */
uint64_t sirq_sim_random(struct sirq_sim *sim, uint64_t n);

/* ---- CPUs --------------------------------------------------------------------------- */

enum sirq_sim_level { SIRQ_SIM_IDLE, SIRQ_SIM_TASK, SIRQ_SIM_SOFTIRQ, SIRQ_SIM_HARDIRQ };
#define SIRQ_SIM_LEVELS 4

struct sirq_sim_cpu_stats {
    uint64_t time_ns[SIRQ_SIM_LEVELS]; /* true time; the sum is the time that passed */
    uint64_t idle_task_ns; /* with no task: idle, or interrupts and softirqs on top of that */
    uint64_t switches;
    uint64_t ticks;
    /*
     * RCU stalls: no context switch, idling, round of ksoftirqd, nor tick on top of a task
     * outside of bottom-half sections for rcu_stall_ns.  Each is counted and reported once per
     * such time: with the jiffies since the last quiescent state, as Linux prints them.
     */
    uint64_t rcu_stalls;
    uint64_t rcu_stall_longest_ns;    /* from the last quiescent state to the next, or now */
    uint64_t rcu_first_stall_jiffies; /* as reported first */
};
/* Time of softirqs by vector: struct sirq_cpu_stats of the core, vec[].time_ns. */
void sirq_sim_cpu_stats(const struct sirq_sim *sim, unsigned cpu, struct sirq_sim_cpu_stats *out);

/*
 * Take a CPU away and give it back.  Any context.
 *
 * offline: it takes no more tasks at once, and leaves when its current one can be switched
 * away and every CPU's bottom halves were free once: a softirq that does not end holds it.
 * Tasks move; one that may run nowhere else may then run anywhere, for good, as on Linux.
 * Core timers, interrupts of devices and lines move to another CPU and stay there.  What is
 * pending, now or later (tasklets, NAPI instances), is run by its own ksoftirqd, on another
 * CPU.  RT throttling begins anew.
 * 0, -EINVAL (no such CPU, or it is away), -EBUSY (the last one, or another is leaving).
 */
int sirq_sim_cpu_offline(struct sirq_sim *sim, unsigned cpu, struct sirq_error *err);
/* 0, -EINVAL (no such CPU, or it is here), -EBUSY (it has not left yet, or what it
 * left is being run elsewhere right now). */
int sirq_sim_cpu_online(struct sirq_sim *sim, unsigned cpu, struct sirq_error *err);
bool sirq_sim_cpu_is_online(const struct sirq_sim *sim, unsigned cpu); /* until it has left */

/* ---- interrupts of your own devices --------------------------------------------------- */

/* Deliver `irq` (handler and data filled) to `cpu`.  0, -EINVAL, -EBUSY, -ENOMEM. */
int sirq_sim_irq_request(struct sirq_sim *sim, unsigned cpu, struct sirq_irq *irq,
                         struct sirq_error *err);
void sirq_sim_irq_free(struct sirq_sim *sim, struct sirq_irq *irq);

/* The line wants its CPU in `delay_ns`; merged while it does so already.  Any context. */
void sirq_sim_irq_raise(struct sirq_sim *sim, struct sirq_irq *irq, uint64_t delay_ns);

/* ---- NICs --------------------------------------------------------------------------- */

#define SIRQ_SIM_RINGS 64u

/*
 * Rings have an interrupt, a mask and moderation of their own; each is opened as one sirq_netdev
 * (sirq_netdev_config.queue) and attached to a CPU.  The line is one.  A frame takes its bytes
 * and 24 more (preamble, FCS, gap) on it; one that would have to wait for longer than
 * line_queue_ns is lost in front of it, as in a switch.
 */
struct sirq_sim_nic_config {
    unsigned rings;           /* 1..SIRQ_SIM_RINGS; 0: 1 */
    unsigned ring_size;       /* frames of each, power of two; 0: 1024 */
    unsigned tx_ring_size;    /* frames that leave, on one ring; a power of two; 0: ring_size */
    uint64_t irq_interval_ns; /* moderation: least time between two interrupts; 0: none */
    unsigned line_mbit;       /* line rate, Mbit/s, at most 1000000; 0: frames take no time */
    uint64_t line_queue_ns;   /* at most a second; 0: 1 ms */
};

/* Owned by the world.  0, -EINVAL or -ENOMEM with err filled. */
int sirq_sim_nic_create(struct sirq_sim *sim, const struct sirq_sim_nic_config *config,
                        struct sirq_sim_nic **out, struct sirq_error *err);

/* Distances between frames, or between bursts: equal, or exponential. */
enum sirq_sim_arrivals {
    SIRQ_SIM_CONSTANT,
    SIRQ_SIM_POISSON,
    SIRQ_SIM_BURSTS,
    SIRQ_SIM_POISSON_BURSTS,
};

/* A stream of UDP frames to one socket. */
struct sirq_sim_source_config {
    enum sirq_sim_arrivals arrivals;
    uint64_t rate;              /* packets/s on average, 1..1e9 */
    uint32_t burst;             /* with bursts: frames back to back at line rate, 1..65536 */
    uint64_t start_ns, stop_ns; /* stop 0: never */
    uint32_t saddr, daddr;      /* network order */
    uint16_t sport, dport;      /* host order */
    uint32_t size;              /* frame without FCS, bytes, 60..1514 */
    bool ring_fixed;            /* it arrives on `ring`; else where the hash of its addresses */
    unsigned ring;              /* and ports leads to (RSS: Toeplitz, 128 entries round robin) */
};
int sirq_sim_source(struct sirq_sim_nic *nic, const struct sirq_sim_source_config *config,
                    struct sirq_error *err);

/*
 * A peer that answers: a frame that arrives at the NIC some time after it was asked for.
 * Addresses, ports and size of `config` count.  One request at a time.  Any context.
 */
struct sirq_sim_flow;
int sirq_sim_flow_create(struct sirq_sim_nic *nic, const struct sirq_sim_source_config *config,
                         struct sirq_sim_flow **out, struct sirq_error *err);
void sirq_sim_flow_request(struct sirq_sim_flow *flow, uint64_t delay_ns);

struct sirq_sim_nic_stats {
    uint64_t arrived;      /* frames from the wire */
    uint64_t dropped;      /* of them, lost at a full ring */
    uint64_t taken;        /* by the driver */
    uint64_t waiting;      /* on the ring; arrived = dropped + taken + waiting, always */
    uint64_t line_dropped; /* lost in front of the line, before they could arrive; NIC only */
};
/* Of all rings together; of one. */
void sirq_sim_nic_stats(struct sirq_sim_nic *nic, struct sirq_sim_nic_stats *out);
void sirq_sim_ring_stats(struct sirq_sim_nic *nic, unsigned ring, struct sirq_sim_nic_stats *out);

/* Its driver: sirq_netdev_config.device is the NIC, .queue the ring. */
extern const struct sirq_driver sirq_sim_driver;

/* Deliver the device's interrupt to `cpu`, enable NAPI, unmask; and the reverse. */
int sirq_sim_attach(struct sirq_sim *sim, unsigned cpu, struct sirq_netdev *dev,
                    struct sirq_error *err);
void sirq_sim_detach(struct sirq_sim *sim, struct sirq_netdev *dev);

/* ---- TCP-like flows ------------------------------------------------------------------- */

/*
 * What a congestion window does to a link: slow start, Reno's congestion avoidance, fast
 * retransmit, retransmission timer with backoff, the receiver's window.  The packet path knows
 * UDP: a segment is a datagram.  Receiving (`send` false), the peer sends to `socket`; a segment
 * counts as acknowledged once a softirq has delivered it, which the peer learns rtt_ns later.
 * Sending, a task does; a frame comes back for two segments, rtt_ns after the second has left.
 */
struct sirq_sim_tcp;
struct sirq_sim_tcp_config {
    bool send;
    uint32_t saddr, daddr; /* of the frames that arrive: segments, or what acknowledges them; */
    uint16_t sport, dport; /* as in sirq_sim_source_config */
    bool ring_fixed;
    unsigned ring;
    struct sirq_socket *socket; /* receiving: this flow's alone, open as long as the world runs */
    uint32_t mss;               /* payload of a segment, bytes, 18..1472; 0: 1448 */
    uint32_t window;            /* most segments in flight, up to 65536; 0: as many as the socket
                                 * holds, or 1024 when a task sends */
    uint64_t rtt_ns, rtt_jitter_ns; /* without waiting anywhere, and up to so much more; <= 10 s */
    /* Receiving: */
    uint64_t rate;              /* cap, bit/s of payload; 0: none */
    uint64_t bytes;             /* to be sent; 0: no end */
    uint64_t start_ns, stop_ns; /* stop 0: never */
};

/* Owned by the world.  0, -EINVAL or -ENOMEM with err filled. */
int sirq_sim_tcp_create(struct sirq_sim_nic *nic, const struct sirq_sim_tcp_config *config,
                        struct sirq_sim_tcp **out, struct sirq_error *err);

/*
 * Send; sleeps while the window is full and returns when the last segment has left (cost tx
 * each, and a bottom-half section).  What was lost is sent again by this call and the next ones;
 * flush returns when everything has been acknowledged.  Task; one at a time.  0, -EINVAL (the
 * flow receives) or -EBUSY (another task is sending).
 */
int sirq_sim_tcp_send(struct sirq_sim_task *task, struct sirq_sim_tcp *tcp, uint64_t bytes);
int sirq_sim_tcp_flush(struct sirq_sim_task *task, struct sirq_sim_tcp *tcp);

/* sent = delivered + lost + underway, in segments, those sent again included. */
struct sirq_sim_tcp_stats {
    uint64_t sent, delivered, lost, underway;
    uint64_t retransmitted;  /* of those sent */
    uint64_t spurious;       /* delivered twice: the timer ran out too early */
    uint64_t acks;           /* notes that reached the sender */
    uint64_t timeouts, cuts; /* of the timer; of the window, by fast retransmit */
    uint64_t goodput_bytes;  /* acknowledged, each byte once */
    uint32_t cwnd;           /* segments */
    uint64_t srtt_ns;        /* 0: nothing measured yet */
};
void sirq_sim_tcp_stats(struct sirq_sim_tcp *tcp, struct sirq_sim_tcp_stats *out);

/* ---- what crosses the machine ---------------------------------------------------------- */

/*
 * A NIC may have ports, as those of a switch behind it: each is opened as a sirq_netdev of its own
 * (sirq_netdev_config.port), they share rings, interrupts and lines, and the first one's poll
 * takes the frames of all.  The first is opened before the others and closed after them.
 *
 * A host is at the far end of a port: it answers ARP requests for its address.  Flows and pings
 * between two hosts cross the machine as frames, and are known again, whatever addresses and
 * ports a router made of theirs, by what stands in their payload.
 */
#define SIRQ_SIM_PORTS 8u

struct sirq_sim_host;
struct sirq_sim_host_config {
    unsigned port;
    uint32_t addr;  /* network order */
    uint8_t mac[6]; /* its own, and that of the machine's device on this port */
    uint8_t router_mac[6];
};
/* Owned by the world.  0, -EINVAL or -ENOMEM with err filled. */
int sirq_sim_host_create(struct sirq_sim_nic *nic, const struct sirq_sim_host_config *config,
                         struct sirq_sim_host **out, struct sirq_error *err);

/*
 * TCP as above, with both ends elsewhere: segments go `from` a host `to` another, and for two of
 * them an acknowledgement comes back; both are frames that the machine forwards (UDP ones), and
 * both may be lost in it.  `pulls`: the receiver speaks first, and data goes where that came from
 * (the sender has no other way to know it when a router hides the receiver's address).
 * goodput_bytes are those acknowledged; `underway` may have been lost since the last that arrived.
 */
struct sirq_sim_across_config {
    struct sirq_sim_host *from, *to;
    uint16_t sport, dport;
    bool pulls;
    uint32_t mss;                   /* as in sirq_sim_tcp_config; so are: */
    uint32_t window;                /* 0: 1024 */
    uint64_t rtt_ns, rtt_jitter_ns; /* half of it behind each crossing */
    uint64_t rate, bytes, start_ns, stop_ns;
};
int sirq_sim_tcp_across(struct sirq_sim *sim, const struct sirq_sim_across_config *config,
                        struct sirq_sim_tcp **out, struct sirq_error *err);

/* Requests, and how long until the answer is there. */
struct sirq_sim_ping;
struct sirq_sim_ping_config {
    struct sirq_sim_host *from, *to;
    uint16_t sport, dport;
    bool icmp;                  /* echo request and reply; sport is their identifier.  Else UDP */
    uint32_t size;              /* frame without FCS, 60..1514; 0: 98 */
    uint64_t rtt_ns;            /* half of it behind each crossing */
    uint64_t interval_ns;       /* between two requests; 0: the next one follows the answer ... */
    uint64_t timeout_ns;        /* ... or comes after so long without one; 0: one second */
    uint64_t start_ns, stop_ns; /* stop 0: never */
    void (*answered)(void *arg, uint64_t rtt_ns); /* no time may pass; may be null */
    void *arg;
};
int sirq_sim_ping_create(struct sirq_sim *sim, const struct sirq_sim_ping_config *config,
                         struct sirq_sim_ping **out, struct sirq_error *err);

struct sirq_sim_ping_stats {
    uint64_t asked, reached, answers, answered; /* each at most the one before */
};
void sirq_sim_ping_stats(struct sirq_sim_ping *ping, struct sirq_sim_ping_stats *out);

/*
 * Frames of hosts that crossed: the sums are exact, at any time at which none is inside the stack:
 * what a NIC has sent = arrived + strange, over all NICs.  disordered: they came out behind a
 * later one of their flow.
 */
struct sirq_sim_crossing_stats {
    uint64_t sent;    /* by hosts' flows and pings */
    uint64_t arrived; /* of them, at the host where they were to */
    uint64_t strange; /* anything else that the NICs sent: ARP, errors, the stack's own */
    uint64_t disordered;
};
void sirq_sim_crossing_stats(struct sirq_sim *sim, struct sirq_sim_crossing_stats *out);

/* ---- storage ------------------------------------------------------------------------ */

#define SIRQ_SIM_DISK_DEPTH 64u

/*
 * A disk serves requests in the order in which they come, up to `depth` at once.  A request that
 * has been served interrupts the disk's CPU; the handler raises BLOCK, whose action completes
 * it (cost blk_done) and wakes the task.  The first disk of a world opens the vector.
 */
struct sirq_sim_disk;
struct sirq_sim_disk_config {
    uint64_t service_ns, jitter_ns; /* of a request: 1 ns to 1 s, and up to so much more */
    unsigned depth;                 /* 1..SIRQ_SIM_DISK_DEPTH; 0: 1 */
    unsigned queue;                 /* requests at most, those served too; 0: 64 */
    unsigned cpu;                   /* interrupted */
};

/* Owned by the world.  0, -EINVAL, -EBUSY (somebody else opened BLOCK) or -ENOMEM. */
int sirq_sim_disk_create(struct sirq_sim *sim, const struct sirq_sim_disk_config *config,
                         struct sirq_sim_disk **out, struct sirq_error *err);

/* Read, and sleep until it is done; first for room in the queue.  Task. */
void sirq_sim_disk_read(struct sirq_sim_task *task, struct sirq_sim_disk *disk);

struct sirq_sim_disk_stats {
    uint64_t requests;   /* handed to the disk */
    uint64_t completed;  /* by BLOCK */
    uint64_t full;       /* reads that had to wait for room */
    uint64_t latency_ns; /* of all completed, from the call, waiting for room included */
    uint64_t latency_ns_max;
};
void sirq_sim_disk_stats(const struct sirq_sim_disk *disk, struct sirq_sim_disk_stats *out);

/* ---- NAPI in tasks ------------------------------------------------------------------- */

/* How a task that polls a NAPI instance runs; null: SCHED_OTHER, on any CPU. */
struct sirq_sim_napi_attr {
    struct sirq_sched sched;
    const uint64_t *allowed; /* mask, bit per CPU; null: all */
};

/*
 * Let a task poll the device, or the backlogs of the CPUs in `set` (mask, null: all), instead
 * of NET_RX, and NET_RX again; between runs or from a task, at any time.  Called again, another
 * task with the new attributes takes over.  Each counts as a task of its world for good.  Ended
 * before the device is closed, or the stack destroyed.  0, or -EINVAL or -ENOMEM with err filled:
 * NET_RX polls it then.
 */
int sirq_sim_napi_thread(struct sirq_sim *sim, struct sirq_netdev *dev,
                         const struct sirq_sim_napi_attr *attr, struct sirq_error *err);
void sirq_sim_napi_unthread(struct sirq_sim *sim, struct sirq_netdev *dev);
int sirq_sim_backlog_threads(struct sirq_sim *sim, struct sirq_net *net, const uint64_t *set,
                             const struct sirq_sim_napi_attr *attr, struct sirq_error *err);
void sirq_sim_backlog_unthread(struct sirq_sim *sim, struct sirq_net *net, const uint64_t *set);

/* The task that polls it now, or null. */
struct sirq_sim_task *sirq_sim_napi_task(struct sirq_sim *sim, const struct sirq_napi *napi);

#ifdef __cplusplus
}
#endif
#endif
