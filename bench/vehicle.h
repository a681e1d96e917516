/* SPDX-License-Identifier: MIT */
/*
 * A vehicle carries an item of work to a consumer pinned to a CPU and runs it there:
 * ksoftirqd, a libuv loop's thread, an epoll thread, a thread of liburcu.  They take part in
 * the same measurements.
 */
#ifndef SIRQ_BENCH_VEHICLE_H
#define SIRQ_BENCH_VEHICLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <sirq/llist.h>

struct bench_item {
    void (*run)(struct bench_item *item);
    union {
        struct sirq_lnode node;
        void *words[6]; /* room for any vehicle's own */
    } link;
};

struct bench_vehicle {
    const char *name;
    const char *note; /* what is compared, for the reader; may be null */
    void (*start)(const struct bench_vehicle *self, unsigned cpu);
    /* same_cpu: the caller runs on the consumer's CPU. */
    void (*submit)(const struct bench_vehicle *self, struct bench_item *item, bool same_cpu);
    void (*stop)(const struct bench_vehicle *self);
    void *state;
    bool slow;      /* latency of milliseconds by design: few rounds */
    bool idiomatic; /* with the queue its users write; only in the items part */
};

/* Null-terminated.  [0] is softirq, which needs the engine (bench_vehicle_engine()). */
extern const struct bench_vehicle *const bench_vehicles[];

/* The engine that the softirq vehicle uses from its start to its stop. */
struct sirq_live;
void bench_vehicle_engine(struct sirq_live *live);

extern const struct bench_vehicle bench_softirq;
extern const struct bench_vehicle bench_uv, bench_uv_mutex;
extern const struct bench_vehicle bench_epoll, bench_epoll_mutex;
extern const struct bench_vehicle bench_call_rcu, bench_urcu_wq;

/*
 * Raise + inline dispatch: raise something and have it run, on one thread, `n` times; what
 * ran adds one to bench_ran.  The time is taken outside.
 */
struct bench_inline {
    const char *name;
    const char *metric; /* what one turn is, as precisely as two words allow */
    void (*start)(void);
    void (*loop)(unsigned n);
    void (*settle)(void); /* after the time is taken; may be null */
    void (*stop)(void);
};

extern uint64_t bench_ran;
extern const struct bench_inline bench_uv_inline, bench_epoll_inline, bench_rcu_inline;

/*
 * A queue for peers that bring none: a mutex and a list, what programs usually put beside an
 * eventfd or uv_async; or softirq's own lock-free list, so that the peer is not slowed down
 * by anything but itself.
 */
struct bench_queue {
    bool with_mutex;
    pthread_mutex_t mutex;
    struct sirq_lnode *first, **last;
    struct sirq_llist list;
};

void bench_queue_init(struct bench_queue *queue, bool with_mutex);
bool bench_queue_push(struct bench_queue *queue, struct bench_item *item); /* was it empty? */
void bench_queue_run(struct bench_queue *queue); /* take all, run them in order */
void bench_run_chain(struct sirq_lnode *node);

#endif
