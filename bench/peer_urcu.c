/* SPDX-License-Identifier: MIT */
/*
 * liburcu: call_rcu(), and the workqueue that its hash table resizes on.
 *
 * call_rcu() promises more than we do: an item runs after a grace period, and its thread
 * sleeps 10 ms at a time to collect many for one.  It is listed because it is how programs
 * with liburcu defer work; its latency is that sleep, its throughput is not hurt by it.
 * The workqueue is the nearest relative of ksoftirqd: a wait-free queue and a thread on a
 * futex.  Its functions are exported, its header is not installed, hence the declarations.
 */
#include <errno.h>
#include <urcu.h>
#include <urcu/wfcqueue.h>

#include "bench.h"
#include "vehicle.h"

/* ---- call_rcu ----------------------------------------------------------------------- */

_Static_assert(sizeof(struct rcu_head) <= sizeof(((struct bench_item *)0)->link), "room");

struct rcu_state {
    struct call_rcu_data *data;
};

static void rcu_run(struct rcu_head *head)
{
    struct bench_item *item = SIRQ_CONTAINER(head, struct bench_item, link);

    item->run(item);
}

static void rcu_start(const struct bench_vehicle *self, unsigned cpu)
{
    struct rcu_state *state = self->state;
    cpu_set_t set;

    rcu_register_thread();
    state->data = create_call_rcu_data(0, (int)cpu);
    if (state->data == NULL)
        bench_die("call_rcu", errno);
    CPU_ZERO(&set); /* itself it sees to that only now and then */
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(get_call_rcu_thread(state->data), sizeof(set), &set);
    set_thread_call_rcu_data(state->data);
}

static void rcu_submit(const struct bench_vehicle *self, struct bench_item *item, bool same_cpu)
{
    (void)self;
    (void)same_cpu;
    call_rcu((struct rcu_head *)(void *)&item->link, rcu_run);
}

static void rcu_stop(const struct bench_vehicle *self)
{
    struct rcu_state *state = self->state;

    rcu_barrier();
    set_thread_call_rcu_data(NULL);
    call_rcu_data_free(state->data);
    rcu_unregister_thread();
}

static struct rcu_state rcu_state;

const struct bench_vehicle bench_call_rcu = {.name = "call_rcu",
                                             .note = "after a grace period, 10 ms",
                                             .start = rcu_start,
                                             .submit = rcu_submit,
                                             .stop = rcu_stop,
                                             .state = &rcu_state,
                                             .slow = true};

/* The enqueue alone: what runs, runs elsewhere and later, and is not timed. */
#define INLINE_HEADS 4096u
static struct rcu_head heads[INLINE_HEADS];
static unsigned used;

static void count(struct rcu_head *head)
{
    (void)head;
    __atomic_fetch_add(&bench_ran, 1, __ATOMIC_RELAXED);
}

static void inline_start(void)
{
    rcu_register_thread();
    used = 0;
}

static void inline_loop(unsigned n)
{
    while (n-- > 0)
        call_rcu(&heads[used++ % INLINE_HEADS], count);
}

static void inline_settle(void)
{
    rcu_barrier();
}

static void inline_stop(void)
{
    rcu_unregister_thread();
}

const struct bench_inline bench_rcu_inline = {.name = "call_rcu",
                                              .metric = "enqueue only",
                                              .start = inline_start,
                                              .loop = inline_loop,
                                              .settle = inline_settle,
                                              .stop = inline_stop};

/* ---- the workqueue ------------------------------------------------------------------ */

#ifdef BENCH_URCU_WORKQUEUE
struct urcu_workqueue;
struct urcu_work {
    struct cds_wfcq_node next;
    void (*func)(struct urcu_work *work);
};
typedef void (*urcu_hook)(struct urcu_workqueue *queue, void *priv);

struct urcu_workqueue *urcu_workqueue_create(unsigned long flags, int cpu, void *priv,
                                             urcu_hook grace_period, urcu_hook initialize,
                                             urcu_hook finalize, urcu_hook before_wait,
                                             urcu_hook after_wake_up, urcu_hook before_pause,
                                             urcu_hook after_resume);
void urcu_workqueue_destroy(struct urcu_workqueue *queue);
void urcu_workqueue_queue_work(struct urcu_workqueue *queue, struct urcu_work *work,
                               void (*func)(struct urcu_work *work));

_Static_assert(sizeof(struct urcu_work) <= sizeof(((struct bench_item *)0)->link), "room");

struct wq_state {
    struct urcu_workqueue *queue;
    unsigned cpu;
};

/* It only checks its affinity now and then. */
static void wq_initialize(struct urcu_workqueue *queue, void *priv)
{
    const struct wq_state *state = priv;

    (void)queue;
    bench_pin(state->cpu);
}

static void wq_run(struct urcu_work *work)
{
    struct bench_item *item = SIRQ_CONTAINER(work, struct bench_item, link);

    item->run(item);
}

static void wq_start(const struct bench_vehicle *self, unsigned cpu)
{
    struct wq_state *state = self->state;

    state->cpu = cpu;
    state->queue = urcu_workqueue_create(0, (int)cpu, state, NULL, wq_initialize, NULL, NULL, NULL,
                                         NULL, NULL);
}

static void wq_submit(const struct bench_vehicle *self, struct bench_item *item, bool same_cpu)
{
    const struct wq_state *state = self->state;

    (void)same_cpu;
    urcu_workqueue_queue_work(state->queue, (struct urcu_work *)(void *)&item->link, wq_run);
}

static void wq_stop(const struct bench_vehicle *self)
{
    const struct wq_state *state = self->state;

    urcu_workqueue_destroy(state->queue);
}

static struct wq_state wq_state;

const struct bench_vehicle bench_urcu_wq = {.name = "urcu workqueue",
                                            .note = "wait-free queue and futex",
                                            .start = wq_start,
                                            .submit = wq_submit,
                                            .stop = wq_stop,
                                            .state = &wq_state};
#endif
