/* SPDX-License-Identifier: MIT */
/*
 * sirq/host.h - what a host (real threads, a simulator, bare metal) gives the core.
 *
 * One table per host, shared by all its CPUs.  Every function may be called from hardirq
 * and softirq context unless stated otherwise, so none may allocate or block, except
 * bh_lock and wait.  A null entry is allowed only where it says so.
 */
#ifndef SIRQ_HOST_H
#define SIRQ_HOST_H

#include <sirq/softirq.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A wait queue: threads that sleep until deferred work gives them something.  The owner
 * embeds it (a socket does); zeroed is a valid empty one with eventfd = -1 set by hand.
 *
 * A sleeper: seq = load(wq->seq); nwaiters++; look once more at its condition; if still
 * false host->wait(wq, seq); nwaiters--.  A waker: makes the condition true; full fence;
 * if nwaiters or armed is set calls sirq_wake().  One of the two sees the other.
 */
struct sirq_wq {
    struct sirq_lnode node; /* in sirq_cpu.wakes */
    uint32_t queued;        /* 1: in a wakes list already, __atomic */
    uint32_t seq;           /* bumped by every wake-up; the futex of the live host */
    uint32_t nwaiters;      /* threads asleep or about to be, __atomic */
    uint32_t armed;         /* 1: the eventfd is to be written at the next wake-up */
    int eventfd;            /* -1: none; owned by the embedding object */
    void *host;             /* host's own; the sim keeps its sleepers here */
};

/*
 * An interrupt line of a device: a descriptor that becomes readable when the device wants
 * attention.  How that turns into a call of the handler is the host's delivery mode.
 * The embedding device owns it; fd, self_masking, handler, pending and data are set before it is
 * requested from the host (sirq_live_irq_request) and constant until it is freed.
 */
struct sirq_irq {
    int fd;
    bool self_masking; /* the device has a mask of its own: the host need not mask fd */
    void (*handler)(struct sirq_cpu *cpu, void *data); /* hardirq context, must be quick */
    bool (*pending)(void *data); /* would the device interrupt now?  for polling; no syscall */
    void *data;
    struct sirq_cpu *cpu; /* where it is delivered; host writes */
    int fd_flags;         /* the live host's: fd's file status flags while masked; __atomic */
    void *host;           /* the host's own */
};

/*
 * What code costs where time is simulated: named classes, whose values belong to the host.
 * X(symbol, name, what one of it covers)
 */
#define SIRQ_COSTS(X)                                                                \
    X(PASS, "pass", "a pass over the pending vectors, without their actions")        \
    X(NAPI_POLL, "napi_poll", "one visit to a NAPI instance, without its packets")   \
    X(RX_QUEUED, "rx_queued", "a frame, from the ring onto a socket queue")          \
    X(RX_FULL, "rx_full", "a frame that finds its socket queue full")                \
    X(RX_DROP, "rx_drop", "a frame dropped for any other reason")                    \
    X(RX_STEERED, "rx_steered", "a frame, from the ring onto another CPU's backlog") \
    X(RX_ACK, "rx_ack", "a frame that acknowledges what a task has sent")            \
    X(FORWARD, "forward", "a frame, from the ring to the queue of another device")   \
    X(TX, "tx", "sending a frame")                                                   \
    X(RECV_CALL, "recv_call", "a receive call, without its packets")                 \
    X(RECV_PACKET, "recv_packet", "taking one packet off a socket")                  \
    X(BLK_DONE, "blk_done", "completing a storage request")                          \
    X(IRQ, "irq", "entry, handler and exit of a hard interrupt")                     \
    X(TICK, "tick", "the scheduler's work in a tick, beside the interrupt")          \
    X(SWITCH, "switch", "a context switch")                                          \
    X(WAKE, "wake", "waking one thread")                                             \
    X(KSOFTIRQD, "ksoftirqd", "one round of ksoftirqd or of a NAPI thread, without what it runs")

enum sirq_cost {
#define SIRQ_COST_ENUM(sym, name, meaning) SIRQ_COST_##sym,
    SIRQ_COSTS(SIRQ_COST_ENUM)
#undef SIRQ_COST_ENUM
        SIRQ_NR_COSTS
};

/*
 * What the core tells a host that traces, after the kernel's tracepoints irq:softirq_raise,
 * _entry, _exit and napi:napi_poll.  RAISE comes from any context and CPU, PUNT from one that
 * has just let go of the CPU's bottom halves, the others from their owner.
 */
enum sirq_trace {
    SIRQ_TRACE_RAISE,     /* a vector that was not pending is now; arg: vector */
    SIRQ_TRACE_RUN_BEGIN, /* a run begins its first pass; enum sirq_entry */
    SIRQ_TRACE_RESTART,   /* it begins another one; passes made */
    SIRQ_TRACE_ENTRY,     /* an action is about to run; vector */
    SIRQ_TRACE_EXIT,      /* it has; vector */
    SIRQ_TRACE_POLL,      /* a NAPI instance was polled and had work; packets */
    SIRQ_TRACE_RUN_END,   /* a run that began is over; passes made */
    SIRQ_TRACE_PUNT,      /* what is pending is left to ksoftirqd; mask of vectors */
    SIRQ_NR_TRACES
};

struct sirq_host {
    /* Monotonic time, ns.  Called twice per run: cheap. */
    uint64_t (*now_ns)(const struct sirq_cpu *cpu);

    /*
     * The caller has just done `n` things of this cost on `cpu`: let time pass.  Hardirq,
     * softirq and task context; the latter may be preempted here.  Null: time passes by
     * itself.
     */
    void (*charge)(struct sirq_cpu *cpu, enum sirq_cost cost, uint64_t n);

    /* The caller's context.  Never null. */
    struct sirq_ctx *(*ctx)(void);

    /*
     * The CPU of `core` that the calling thread runs on, or null when it runs on none of
     * them.  A hint: an unpinned thread may move right after.
     */
    struct sirq_cpu *(*this_cpu)(struct sirq_core *core);

    /*
     * Contended bottom halves.  bh_lock: task context only; return with the owner half of
     * cpu->word holding ctx->token (a waiters bit may stand beside it); the core has
     * found it taken by another.  bh_unlock: the owner half has SIRQ_OWNER_WAITERS set;
     * hand over or free it, leaving the pending half alone.  Null on hosts where a run is
     * never preempted by another context of the same CPU: contention is then a bug.
     */
    void (*bh_lock)(struct sirq_cpu *cpu, struct sirq_ctx *ctx);
    void (*bh_unlock)(struct sirq_cpu *cpu, struct sirq_ctx *ctx);

    /* cpu->ksoftirqd went from 0 to 1: let its thread run. */
    void (*wake_ksoftirqd)(struct sirq_cpu *cpu);

    /* Interrupt `cpu` so that it passes sirq_hardirq_enter/exit soon (an IPI). */
    void (*kick)(struct sirq_cpu *cpu);

    /*
     * Sleep until wq->seq != seq or the timeout (ns; < 0: none) is over.  Task context,
     * bottom halves enabled.  `cpu` is this_cpu(), or any of the core's when the thread runs
     * on none of them: its interrupts are then not the caller's to take.  Returns 0 (also spuriously), -ETIMEDOUT or -EINTR.
     */
    int (*wait)(struct sirq_cpu *cpu, struct sirq_wq *wq, uint32_t seq, int64_t timeout_ns);

    /* Would waking the sleepers of wq take this CPU from whoever it runs?  Null: yes. */
    bool (*wake_preempts)(struct sirq_cpu *cpu, const struct sirq_wq *wq);

    /* A run is not preempted by whom it wakes: sirq_wake() need not put wake-ups off. */
    bool wake_at_once;

    /* Bump wq->seq, wake its sleepers, write its eventfd when armed.  The caller owns the
     * CPU's bottom halves when its run goes on, and nothing when it has ended; also from hardirq
     * and task context, for threads of NAPI instances. */
    void (*wake)(struct sirq_cpu *cpu, struct sirq_wq *wq);

    /*
     * A run entered from an interrupt exit lets hard interrupts in: irq_enable before each
     * pass (`pass` counts from 0), irq_disable once at its end (`passes` made, > 0).  A host
     * for which this is dear may keep them out during the first pass.  Null: not needed.
     */
    void (*irq_enable)(struct sirq_cpu *cpu, unsigned pass);
    void (*irq_disable)(struct sirq_cpu *cpu, unsigned passes);

    /*
     * A thread is about to ask for packets: take interrupts that are waiting for it.  Task
     * context, bottom halves enabled.  Null: interrupts come by themselves.
     */
    void (*safe_point)(struct sirq_cpu *cpu);

    /*
     * Stop and restart delivery of a line without a mask of its own.  After unmask the
     * caller looks at its device once more: what came in between makes no interrupt.
     */
    void (*irq_mask)(struct sirq_irq *irq);
    void (*irq_unmask)(struct sirq_irq *irq);

    /*
     * A run is over, the CPU is free and need_resched is set: reschedule, clear it.  Called
     * in the context of the entry.  Null: the host's scheduler sees need_resched itself.
     */
    void (*resched)(struct sirq_cpu *cpu, enum sirq_entry entry);

    /* Give way to whoever is waited for (sirq_tasklet_kill, sirq_synchronize). Task. */
    void (*relax)(struct sirq_cpu *cpu);

    /* Something a person should read: `what` is a static string.  May be null. */
    void (*report)(struct sirq_cpu *cpu, const char *what, uint64_t value);

    /*
     * Something happened on `cpu`.  Must be quick, and must not raise or call back into the
     * core.  Null: nobody traces, which costs a test; constant once the core is set up.
     */
    void (*trace)(struct sirq_cpu *cpu, enum sirq_trace what, uint32_t arg);

    /* A broken invariant of the core.  Must not return. */
    void (*bug)(const char *expr, const char *file, int line);
};

/* See sirq_host.charge. */
static inline void sirq_charge(struct sirq_cpu *cpu, enum sirq_cost cost, uint64_t n)
{
    const struct sirq_host *host = cpu->core->host;

    if (__builtin_expect(host->charge != NULL, 0) && n > 0)
        host->charge(cpu, cost, n);
}

/* See sirq_host.trace. */
static inline void sirq_tracepoint(struct sirq_cpu *cpu, enum sirq_trace what, uint32_t arg)
{
    if (__builtin_expect(cpu->traced, 0))
        cpu->core->host->trace(cpu, what, arg);
}

#ifdef __cplusplus
}
#endif
#endif
