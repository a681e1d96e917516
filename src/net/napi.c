/* SPDX-License-Identifier: MIT */
/*
 * napi.c - NAPI instances and the NET_RX action that polls them.
 *
 * Invariants:
 *   - an instance with SCHED set is on exactly one list (a CPU's incoming, private or kicks
 *     one), or its thread's (SCHED_THREADED; see thread.c), or in its poll function; who sets
 *     SCHED gives it to one of these, who completes or drops it clears SCHED and touches it
 *     no more
 *   - while any instance is on a CPU's lists, NET_RX is pending or running there
 *   - a device whose instance is scheduled has its interrupt masked, so that scheduling
 *     an instance twice is rare and may be ignored
 *
 * One call of net_rx_action is one cycle.  Since Linux 3.19 a cycle visits every instance
 * once; what used its whole weight is visited again by the next cycle, behind those that
 * came in meanwhile.  Before, a cycle went round until netdev_budget was gone.  Both are
 * here, because published figures come from both.  (Sources: Linux net/core/dev.c 3.18
 * and 6.1.)
 */
#define SIRQ_NET_INTERNAL
#include "private.h"

struct rx_cycle {
    struct sirq_napi_list list;   /* still to be visited */
    struct sirq_napi_list repoll; /* used their weight: next cycle */
    int budget;
    uint64_t start_jiffies;
};

static void napi_list_append(struct sirq_napi_list *list, struct sirq_lnode *node)
{
    node->next = NULL;
    if (list->first == NULL)
        list->first = node;
    else
        list->last->next = node;
    list->last = node;
}

static struct sirq_napi *napi_list_pop(struct sirq_napi_list *list)
{
    struct sirq_lnode *node = list->first;

    list->first = node->next;
    return SIRQ_CONTAINER(node, struct sirq_napi, node);
}

static void napi_list_splice(struct sirq_napi_list *list, struct sirq_lnode *node)
{
    struct sirq_lnode *next;

    for (; node != NULL; node = next) {
        next = node->next;
        napi_list_append(list, node);
    }
}

void sirq_napi_init(struct sirq_napi *napi,
                    int (*poll)(struct sirq_cpu *cpu, struct sirq_napi *napi, int budget),
                    int weight)
{
    *napi = (struct sirq_napi){
        .state = SIRQ_NAPI_DISABLED,
        .poll = poll,
        .weight = weight > 0 ? weight : SIRQ_NAPI_WEIGHT,
        .wq = {.eventfd = -1},
    };
}

/* Put it on the list of `to`, which is not the CPU we are on. */
void sirq_napi_give(struct sirq_cpu *to, struct sirq_napi *napi)
{
    sirq_llist_push(&sirq_net_cpu(to)->incoming, &napi->node);
    sirq_raise_remote(to, SIRQ_NET_RX);
    /*
     * `to` may have been given back meanwhile, and the raise gone to another CPU, which does
     * not look at this list.  The raise (seq_cst) before this look (seq_cst): when it is
     * online still, NET_RX is pending there.
     */
    if (!__atomic_load_n(&to->online, __ATOMIC_SEQ_CST)) {
        sirq_raise(to, SIRQ_NET_RX);
        sirq_ksoftirqd_wake(to);
    }
}

/* Where an instance scheduled on `cpu` is polled: not on a CPU that was given back, or a
 * flood would be polled there for ever. */
struct sirq_cpu *sirq_napi_home(struct sirq_cpu *cpu)
{
    if (__atomic_load_n(&cpu->online, __ATOMIC_ACQUIRE))
        return cpu;
    return sirq_any_online(cpu->core);
}

/*
 * Become the one who has it scheduled, with what that means in *state.  False when it is
 * already or must not be.  SEQ_CST: what there is to poll was made visible before (a packet on
 * a backlog), and whoever lets go of the instance looks for it after (SEQ_CST): one of the two
 * sees the other.  It is also an ACQUIRE, of the last poll's stores.
 */
bool sirq_napi_claim(struct sirq_napi *napi, uint32_t *state)
{
    uint32_t old = __atomic_load_n(&napi->state, __ATOMIC_SEQ_CST);

    do {
        if (old & (SIRQ_NAPI_SCHED | SIRQ_NAPI_DISABLED))
            return false;
        *state = old | SIRQ_NAPI_SCHED;
        if (old & SIRQ_NAPI_THREADED)
            *state |= SIRQ_NAPI_SCHED_THREADED;
    } while (!__atomic_compare_exchange_n(&napi->state, &old, *state, true, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST));
    return true;
}

/* Give it to NET_RX of `home`; we are on `cpu`. */
void sirq_napi_list(struct sirq_cpu *cpu, struct sirq_cpu *home, struct sirq_napi *napi)
{
    home = sirq_napi_home(home);
    if (home != cpu) {
        sirq_napi_give(home, napi);
        return;
    }
    /* On the list before NET_RX is pending: the action that takes the bit finds it. */
    sirq_llist_push(&sirq_net_cpu(cpu)->incoming, &napi->node);
    sirq_raise(cpu, SIRQ_NET_RX);
}

bool sirq_napi_schedule(struct sirq_cpu *cpu, struct sirq_napi *napi)
{
    uint32_t state;

    if (!sirq_napi_claim(napi, &state))
        return false;
    if (state & SIRQ_NAPI_SCHED_THREADED)
        sirq_napi_thread_wake(cpu, napi);
    else
        sirq_napi_list(cpu, cpu, napi);
    return true;
}

void sirq_napi_release(struct sirq_napi *napi)
{
    /* SEQ_CST: see sirq_napi_claim(); it is also a RELEASE, of all we did to the instance,
     * to its next owner or a disabler. */
    uint32_t old = __atomic_fetch_and(&napi->state, ~(SIRQ_NAPI_SCHED | SIRQ_NAPI_SCHED_THREADED),
                                      __ATOMIC_SEQ_CST);

    assert(old & SIRQ_NAPI_SCHED);
    (void)old;
}

void sirq_napi_complete_done(struct sirq_cpu *cpu, struct sirq_napi *napi, int work_done)
{
    assert(sirq_net_cpu(cpu)->polling);
    (void)cpu;
    COUNT(napi->work, (uint64_t)work_done); /* ours until the next line */
    sirq_napi_release(napi);
}

void sirq_napi_disable(struct sirq_cpu *cpu, struct sirq_napi *napi)
{
    assert(!sirq_in_softirq(cpu) && !sirq_in_hardirq(cpu));
    __atomic_fetch_or(&napi->state, SIRQ_NAPI_DISABLED, __ATOMIC_RELAXED);
    /* A scheduled instance is dropped at its next visit.  ACQUIRE: see sirq_napi_release(). */
    while (__atomic_load_n(&napi->state, __ATOMIC_ACQUIRE) & SIRQ_NAPI_SCHED)
        cpu->core->host->relax(cpu);
    /* A poll that completed goes on to unmask its device: wait for its end too. */
    sirq_synchronize(cpu->core);
}

void sirq_napi_enable(struct sirq_napi *napi)
{
    __atomic_fetch_and(&napi->state, ~SIRQ_NAPI_DISABLED, __ATOMIC_RELEASE);
}

/* One poll.  True when it used its whole weight and stays scheduled; its work in *done. */
bool sirq_napi_poll_local(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_napi *napi,
                          int *done)
{
    int weight = napi->weight, work; /* after a completion the instance is not ours */
    bool more;

    COUNT(napi->polls, 1);
    nc->polling = true;
    work = napi->poll(cpu, napi, weight);
    nc->polling = false;
    assert(work >= 0 && work <= weight);
    more = work == weight;
    if (more) {
        assert(__atomic_load_n(&napi->state, __ATOMIC_RELAXED) & SIRQ_NAPI_SCHED);
        COUNT(napi->work, (uint64_t)work);
        COUNT(nc->stats.polls_full, 1);
    }
    COUNT(nc->stats.polls, 1);
    if (work > 0)
        sirq_tracepoint(cpu, SIRQ_TRACE_POLL, (uint32_t)work);
    sirq_tx_flush(cpu, nc);
    sirq_feeds_poll_end(cpu, nc, more);
    *done = work;
    return more;
}

/* One visit.  True when it used its whole weight and stays on the list. */
static bool napi_visit(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_napi *napi,
                       struct rx_cycle *cycle)
{
    uint32_t state = __atomic_load_n(&napi->state, __ATOMIC_RELAXED);
    bool more;
    int work;

    if (__builtin_expect(state & (SIRQ_NAPI_DISABLED | SIRQ_NAPI_THREADED), 0)) {
        if (state & SIRQ_NAPI_DISABLED) {
            sirq_napi_release(napi);
            return false;
        }
        if (sirq_napi_to_thread(cpu, napi))
            return false;
    }
    more = sirq_napi_poll_local(cpu, nc, napi, &work);
    /* An empty visit is charged too: the cycle is bounded even if jiffies stand still. */
    cycle->budget -= work > 0 ? work : 1;
    return more;
}

static bool cycle_over(const struct sirq_cpu *cpu, const struct sirq_net *net,
                       const struct rx_cycle *cycle)
{
    if (net->config.poll_until_budget && cycle->list.first == NULL)
        return false; /* the old kernels asked before a visit, not after */
    /* Signed: clocks of two CPUs may differ, and a thread that is not pinned may move. */
    return cycle->budget <= 0 || (int64_t)(sirq_jiffies(cpu) - cycle->start_jiffies) >=
                                     (int64_t)net->config.netdev_budget_jiffies;
}

static void cycle_run(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct rx_cycle *cycle)
{
    bool round = nc->net->config.poll_until_budget;

    while (cycle->list.first != NULL) {
        struct sirq_napi *napi = napi_list_pop(&cycle->list);

        if (napi_visit(cpu, nc, napi, cycle))
            napi_list_append(round ? &cycle->list : &cycle->repoll, &napi->node);
        if (round)
            napi_list_splice(&cycle->list, sirq_llist_take(&nc->incoming));
        if (cycle_over(cpu, nc->net, cycle)) {
            COUNT(nc->stats.time_squeeze, 1);
            COUNT(cpu->stats.squeezed, 1);
            return;
        }
    }
}

/* There is more to poll: by the next cycle, here or on a CPU that is not given back. */
static void napi_go_on(struct sirq_cpu *cpu, struct sirq_net_cpu *nc)
{
    struct sirq_cpu *home = sirq_napi_home(cpu);

    if (home == cpu)
        sirq_raise(cpu, SIRQ_NET_RX);
    else
        while (nc->polls.first != NULL)
            sirq_napi_give(home, napi_list_pop(&nc->polls));
}

static uint64_t dropped_full(const struct sirq_net_stats *stats)
{
    return stats->verdict[SIRQ_DROP_SOCKET_FULL] + stats->verdict[SIRQ_DROP_NO_BUFFER];
}

void sirq_net_rx_action(struct sirq_cpu *cpu, void *data)
{
    struct sirq_net_cpu *nc = sirq_net_cpu(cpu);
    uint64_t delivered = nc->stats.verdict[SIRQ_DELIVERED], dropped = dropped_full(&nc->stats);
    struct rx_cycle cycle = {
        .list = nc->polls,
        .budget = (int)nc->net->config.netdev_budget,
        .start_jiffies = sirq_jiffies(cpu),
    };

    (void)data;
    napi_list_splice(&cycle.list, sirq_llist_take(&nc->incoming));
    cycle_run(cpu, nc, &cycle);
    cpu->ran_delivered = (uint32_t)(nc->stats.verdict[SIRQ_DELIVERED] - delivered);
    cpu->ran_dropped = (uint32_t)(dropped_full(&nc->stats) - dropped);
    /* Not reached, then newcomers, then those that want more: everyone gets a turn. */
    napi_list_splice(&cycle.list, sirq_llist_take(&nc->incoming));
    napi_list_splice(&cycle.list, cycle.repoll.first);
    nc->polls = cycle.list;
    sirq_kicks_flush(cpu, nc);
    if (nc->polls.first != NULL)
        napi_go_on(cpu, nc);
}
