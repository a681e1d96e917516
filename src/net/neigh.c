/* SPDX-License-Identifier: MIT */
/*
 * neigh.c - the Ethernet addresses of neighbours, for ARP (RFC 826, RFC 1122) and IPv6
 * neighbour discovery (RFC 4861) alike.
 *
 *   INCOMPLETE  asked for; up to PENDING packets wait.  Asked TRIES times, 1 s apart, then the
 *               entry goes and what waits is dropped (tx_neigh); answered, what waits goes first
 *   REACHABLE   answered less than 30 s ago
 *   PROBE       older, and used since: asked directly TRIES times, meanwhile used, then it goes
 *
 * Bounds, whatever comes from the wire: the table has SIRQ_NEIGHBOURS_MAX entries, taken at the
 * first address.  Only packets to be sent make entries, answers and requests of others change
 * those that are there.  At most half of the entries are INCOMPLETE, so that a scan of empty
 * addresses takes nothing from neighbours that answer; a full table takes back an entry not used.
 *
 * One lock, held for a few dozen instructions and never around a send.  The way out does not take
 * it as long as nothing changes: each CPU keeps the last few neighbours it sent to, which hold
 * for one generation of the table.  The timer that looks after all entries runs on the CPU that
 * made the first one, while there are any.
 */
#define SIRQ_NET_INTERNAL
#include "inet.h"

#include <errno.h>
#include <stdlib.h>

#include <sirq/timer.h>

#define PENDING 4u
#define TRIES 3u
#define REACHABLE_S 30u
#define BUCKETS SIRQ_NEIGHBOURS_MAX
#define NIL UINT16_MAX
#define SPINS 10000u
#define ROUNDS 16u

enum state { FREE, INCOMPLETE, REACHABLE, PROBE };

struct entry {
    struct sirq_ip addr;
    struct sirq_netdev *dev;
    uint64_t since; /* jiffies: of the last answer, or question */
    uint16_t next;  /* in its bucket, or free */
    uint8_t state;  /* __atomic: the timer looks without the lock */
    uint8_t tries;
    uint8_t used; /* __atomic; since the last answer */
    uint8_t npending;
    bool releasing; /* answered; what waits is being sent */
    uint8_t mac[6];
    uint32_t first, last; /* of what waits */
};

struct sirq_neigh_table {
    struct sirq_net *net;
    struct sirq_timer timer;
    uint32_t lock; /* __atomic; all below under it */
    bool armed;    /* the timer */
    uint64_t gen;  /* __atomic: caches of older ones are void */
    uint32_t n, nincomplete, hand;
    uint16_t free;
    uint16_t bucket[BUCKETS];
    struct entry entry[SIRQ_NEIGHBOURS_MAX];
};

/* What is left to do when the lock has been let go. */
struct todo {
    uint32_t pending; /* chain of packets, or SIRQ_POOL_NIL */
    bool ask;
    bool direct; /* ask `mac` alone */
    uint8_t mac[6];
    struct sirq_netdev *dev;
    struct sirq_ip addr;
};

/*
 * The holder may be preempted, on another CPU, by a thread that keeps it from going on.  So the
 * wait is bounded and may fail; then a packet is dropped, or an answer not noted.
 */
static bool lock(struct sirq_neigh_table *t)
{
    for (unsigned i = 0; i < SPINS; i++)
        if (__atomic_load_n(&t->lock, __ATOMIC_RELAXED) == 0 &&
            __atomic_exchange_n(&t->lock, 1, __ATOMIC_ACQUIRE) == 0)
            return true;
    return false;
}

static void unlock(struct sirq_neigh_table *t)
{
    __atomic_store_n(&t->lock, 0, __ATOMIC_RELEASE);
}

static uint16_t hash(const struct sirq_netdev *dev, const struct sirq_ip *addr)
{
    uint64_t w[2];

    memcpy(w, addr, sizeof(w));
    w[0] ^= w[1] + dev->link->id;
    return (uint16_t)(w[0] * UINT64_C(0x9e3779b97f4a7c15) >> 40) % BUCKETS;
}

static struct entry *find_locked(struct sirq_neigh_table *t, const struct sirq_netdev *dev,
                                 const struct sirq_ip *addr)
{
    for (uint16_t at = t->bucket[hash(dev, addr)]; at != NIL; at = t->entry[at].next)
        if (t->entry[at].dev == dev && sirq_ip_equal(&t->entry[at].addr, addr))
            return &t->entry[at];
    return NULL;
}

static void set_state(struct sirq_neigh_table *t, struct entry *e, uint8_t state)
{
    t->nincomplete += (state == INCOMPLETE) - (e->state == INCOMPLETE);
    __atomic_store_n(&e->state, state, __ATOMIC_RELAXED);
}

static void changed(struct sirq_neigh_table *t)
{
    __atomic_store_n(&t->gen, t->gen + 1, __ATOMIC_RELEASE);
}

/* What waits for it, off the entry. */
static uint32_t take_pending(struct entry *e)
{
    uint32_t first = e->npending > 0 ? e->first : SIRQ_POOL_NIL;

    e->npending = 0;
    return first;
}

static void remove_locked(struct sirq_neigh_table *t, struct entry *e)
{
    uint16_t at = (uint16_t)(e - t->entry), *link = &t->bucket[hash(e->dev, &e->addr)];

    while (*link != at)
        link = &t->entry[*link].next;
    *link = e->next;
    set_state(t, e, FREE);
    e->dev = NULL;
    e->next = t->free;
    t->free = at;
    t->n--;
    changed(t);
}

/* One that answered, and was not used since the hand came by. */
static bool reclaim_locked(struct sirq_neigh_table *t)
{
    for (unsigned i = 0; i < 2 * SIRQ_NEIGHBOURS_MAX; i++) {
        struct entry *e = &t->entry[t->hand++ % SIRQ_NEIGHBOURS_MAX];

        if (e->state != REACHABLE && e->state != PROBE)
            continue;
        if (!__atomic_exchange_n(&e->used, 0, __ATOMIC_RELAXED)) {
            remove_locked(t, e);
            return true;
        }
        changed(t); /* so that use is noted anew */
    }
    return false;
}

/* Null: there are too many. */
static struct entry *create_locked(struct sirq_neigh_table *t, struct sirq_netdev *dev,
                                   const struct sirq_ip *addr, uint64_t now)
{
    uint16_t at, *head = &t->bucket[hash(dev, addr)];
    struct entry *e;

    if (t->nincomplete >= SIRQ_NEIGHBOURS_MAX / 2 || (t->free == NIL && !reclaim_locked(t)))
        return NULL;
    at = t->free;
    e = &t->entry[at];
    t->free = e->next;
    *e = (struct entry){.addr = *addr, .dev = dev, .since = now, .tries = 1, .next = *head};
    *head = at;
    t->n++;
    set_state(t, e, INCOMPLETE);
    return e;
}

/* ---- sending -------------------------------------------------------------------------- */

static void ask(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, const struct todo *todo)
{
    const uint8_t *mac = todo->direct ? todo->mac : NULL;

    if (sirq_ip_is_v4(&todo->addr))
        sirq_arp_request(cpu, nc, todo->dev, &todo->addr, mac);
    else
        sirq_nd_solicit(cpu, nc, todo->dev, &todo->addr, mac);
}

static void release(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                    uint32_t chain, const uint8_t *mac)
{
    for (uint32_t idx = chain, next; idx != SIRQ_POOL_NIL; idx = next) {
        next = nc->net->pool.pkts[idx].next;
        COUNT(nc->stats.tx_released, 1);
        if (mac != NULL)
            sirq_eth_output(cpu, nc, dev, mac, sirq_pkt_type(&nc->net->pool.pkts[idx]), idx);
        else
            sirq_tx_drop(nc, SIRQ_TX_DROP_NEIGH, idx);
    }
}

static bool append_locked(struct sirq_net_cpu *nc, struct entry *e, uint32_t idx)
{
    struct sirq_pkt *pkts = nc->net->pool.pkts;

    if (e->npending == PENDING)
        return false;
    pkts[idx].next = SIRQ_POOL_NIL;
    if (e->npending++ == 0)
        e->first = idx;
    else
        pkts[e->last].next = idx;
    e->last = idx;
    COUNT(nc->stats.tx_held, 1);
    return true;
}

/* Does the caller have to arm the timer?  A host without timers keeps its entries. */
static bool arm_locked(const struct sirq_cpu *cpu, struct sirq_neigh_table *t)
{
    if (cpu->timers == NULL || t->armed)
        return false;
    t->armed = true;
    return true;
}

static uint64_t next_look(const struct sirq_cpu *cpu)
{
    return sirq_jiffies(cpu) + (cpu->core->hz + 3) / 4;
}

static void remember(struct sirq_neigh_cached *c, struct entry *e, uint64_t gen)
{
    __atomic_store_n(&e->used, 1, __ATOMIC_RELAXED);
    *c = (struct sirq_neigh_cached){.addr = e->addr, .dev = e->dev, .gen = gen};
    memcpy(c->mac, e->mac, sizeof(c->mac));
}

/* Not in this CPU's cache. */
static __attribute__((noinline)) void output_slow(struct sirq_cpu *cpu, struct sirq_net_cpu *nc,
                                                  struct sirq_netdev *dev,
                                                  const struct sirq_ip *next, uint32_t idx,
                                                  struct sirq_neigh_cached *c)
{
    struct sirq_neigh_table *t = nc->net->neigh;
    struct todo todo = {.dev = dev, .addr = *next};
    bool known = false, waits = false, arm = false;
    struct entry *e;

    if (!lock(t)) {
        sirq_tx_drop(nc, SIRQ_TX_DROP_NEIGH_FULL, idx);
        return;
    }
    e = find_locked(t, dev, next);
    if (e == NULL) {
        e = create_locked(t, dev, next, sirq_jiffies(cpu));
        todo.ask = e != NULL;
        arm = e != NULL && arm_locked(cpu, t);
    }
    if (e != NULL && e->state != INCOMPLETE) {
        known = true;
        remember(c, e, t->gen);
    } else if (e != NULL) {
        waits = append_locked(nc, e, idx);
    }
    unlock(t);
    if (known)
        sirq_eth_output(cpu, nc, dev, c->mac, sirq_pkt_type(&nc->net->pool.pkts[idx]), idx);
    else if (!waits)
        sirq_tx_drop(nc, SIRQ_TX_DROP_NEIGH_FULL, idx);
    if (arm)
        sirq_timer_mod_local(cpu, &t->timer, next_look(cpu));
    if (todo.ask)
        ask(cpu, nc, &todo);
}

void sirq_neigh_output(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                       const struct sirq_ip *next, uint32_t idx)
{
    struct sirq_neigh_cached *c = &nc->neigh[next->b[15] % SIRQ_NEIGH_CACHE];

    /* ACQUIRE: what was true of the entries before the generation moved is not used. */
    if (c->dev == dev && c->gen == __atomic_load_n(&nc->net->neigh->gen, __ATOMIC_ACQUIRE) &&
        sirq_ip_equal(&c->addr, next))
        sirq_eth_output(cpu, nc, dev, c->mac, sirq_pkt_type(&nc->net->pool.pkts[idx]), idx);
    else
        output_slow(cpu, nc, dev, next, idx, c);
}

/* ---- answers -------------------------------------------------------------------------- */

/* Send what waits; only then others may send: a flow's next frame may be on another CPU.  At the
 * last try what waits is dropped.  True: there may be more. */
static bool release_some(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                         const struct sirq_ip *addr, const uint8_t mac[6], bool last)
{
    struct sirq_neigh_table *t = nc->net->neigh;
    uint32_t pending = SIRQ_POOL_NIL;
    struct entry *e;

    if (!lock(t))
        return true;
    e = find_locked(t, dev, addr);
    if (e != NULL && e->releasing) {
        pending = take_pending(e);
        e->releasing = !last && pending != SIRQ_POOL_NIL;
        set_state(t, e, e->releasing ? INCOMPLETE : REACHABLE);
    }
    unlock(t);
    release(cpu, nc, dev, pending, last ? NULL : mac);
    sirq_tx_flush(cpu, nc);
    return pending != SIRQ_POOL_NIL;
}

static void update(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                   const struct sirq_ip *addr, const uint8_t mac[6])
{
    struct sirq_neigh_table *t = nc->net->neigh;
    bool answered = false;
    struct entry *e;

    if (!lock(t))
        return;
    e = find_locked(t, dev, addr);
    if (e != NULL) {
        bool moved = e->state != INCOMPLETE && memcmp(e->mac, mac, sizeof(e->mac)) != 0;

        memcpy(e->mac, mac, sizeof(e->mac));
        e->since = sirq_jiffies(cpu);
        e->tries = 0;
        /* From now on use is noted again: who has it cached must come by once. */
        if (moved || __atomic_exchange_n(&e->used, 0, __ATOMIC_RELAXED))
            changed(t);
        answered = e->state == INCOMPLETE && !e->releasing;
        e->releasing |= answered;
        if (e->state != INCOMPLETE)
            set_state(t, e, REACHABLE);
    }
    unlock(t);
    for (unsigned i = 0; answered && i < ROUNDS; i++)
        answered = release_some(cpu, nc, dev, addr, mac, i + 1 == ROUNDS);
}

/* The NIC chose the queue that the answer came to: it is for whoever asked on any of them. */
void sirq_neigh_update(struct sirq_cpu *cpu, struct sirq_net_cpu *nc, struct sirq_netdev *dev,
                       const struct sirq_ip *addr, const uint8_t mac[6])
{
    struct sirq_netdev *queue = dev;

    if (__atomic_load_n(&nc->net->neigh, __ATOMIC_ACQUIRE) == NULL)
        return;
    for (unsigned at = 0; queue != NULL; queue = sirq_link_other_queue(dev, &at))
        update(cpu, nc, queue, addr, mac);
}

/* ---- time ----------------------------------------------------------------------------- */

static void question(struct entry *e, uint64_t now, struct todo *todo)
{
    e->tries++;
    e->since = now;
    todo->ask = true;
    todo->direct = e->state == PROBE;
    memcpy(todo->mac, e->mac, sizeof(todo->mac));
}

/* What time does to one entry. */
static void age_locked(struct sirq_neigh_table *t, struct entry *e, uint64_t now, struct todo *todo)
{
    uint64_t hz = t->net->core->hz, age = (int64_t)(now - e->since) > 0 ? now - e->since : 0;

    *todo = (struct todo){.pending = SIRQ_POOL_NIL, .dev = e->dev, .addr = e->addr};
    switch (e->state) {
    case INCOMPLETE:
    case PROBE:
        if (age < hz)
            return;
        if (e->tries < TRIES) {
            question(e, now, todo);
            return;
        }
        todo->pending = take_pending(e);
        remove_locked(t, e);
        return;
    case REACHABLE:
        if (age < REACHABLE_S * hz)
            return;
        if (!__atomic_load_n(&e->used, __ATOMIC_RELAXED)) {
            remove_locked(t, e);
            return;
        }
        set_state(t, e, PROBE);
        question(e, now, todo);
        return;
    default:
        return;
    }
}

static void neigh_timer(struct sirq_cpu *cpu, struct sirq_timer *timer, void *data)
{
    struct sirq_neigh_table *t = data;
    struct sirq_net_cpu *nc = sirq_net_cpu(cpu);
    uint64_t now = sirq_jiffies(cpu);
    bool again = true;
    struct todo todo;

    for (unsigned i = 0; i < SIRQ_NEIGHBOURS_MAX; i++) {
        struct entry *e = &t->entry[i];

        if (__atomic_load_n(&e->state, __ATOMIC_RELAXED) == FREE || !lock(t))
            continue;
        age_locked(t, e, now, &todo);
        unlock(t);
        release(cpu, nc, todo.dev, todo.pending, NULL);
        if (todo.ask)
            ask(cpu, nc, &todo);
    }
    sirq_tx_flush(cpu, nc);
    if (lock(t)) {
        t->armed = again = t->n > 0;
        unlock(t);
    }
    if (again)
        sirq_timer_mod_local(cpu, timer, next_look(cpu));
}

/* ---- life ----------------------------------------------------------------------------- */

/* Under the stack's lock. */
int sirq_neigh_init(struct sirq_net *net)
{
    struct sirq_neigh_table *t;

    if (net->neigh != NULL)
        return 0;
    t = calloc(1, sizeof(*t));
    if (t == NULL)
        return -ENOMEM;
    t->net = net;
    t->gen = 1;
    sirq_timer_init(&t->timer, neigh_timer, t);
    for (unsigned i = 0; i < SIRQ_NEIGHBOURS_MAX; i++) {
        t->bucket[i] = NIL;
        t->entry[i].next = (uint16_t)(i + 1 < SIRQ_NEIGHBOURS_MAX ? i + 1 : NIL);
    }
    __atomic_fetch_add(&net->bytes, sizeof(*t), __ATOMIC_RELAXED);
    __atomic_store_n(&net->neigh, t, __ATOMIC_RELEASE);
    return 0;
}

void sirq_neigh_forget(struct sirq_cpu *cpu, void *data)
{
    struct sirq_netdev *dev = data;
    struct sirq_net_cpu *nc = sirq_net_cpu(cpu);
    struct sirq_neigh_table *t = nc->net->neigh;

    for (unsigned i = 0; t != NULL && i < SIRQ_NEIGHBOURS_MAX; i++) {
        struct entry *e = &t->entry[i];
        uint32_t pending = SIRQ_POOL_NIL;

        while (!lock(t))
            ; /* in a task's section, and whoever holds it is in no more than a few lines */
        if (e->state != FREE && e->dev == dev) {
            pending = take_pending(e);
            remove_locked(t, e);
        }
        unlock(t);
        release(cpu, nc, dev, pending, NULL);
    }
}

/* No device is left, so nobody is asked for any more. */
void sirq_neigh_fini(struct sirq_net *net)
{
    if (net->neigh == NULL)
        return;
    sirq_net_timer_stop(net->core, &net->neigh->timer);
    free(net->neigh);
    net->neigh = NULL;
}

unsigned sirq_net_neighbours(const struct sirq_net *net, unsigned *incomplete)
{
    const struct sirq_neigh_table *t = __atomic_load_n(&net->neigh, __ATOMIC_ACQUIRE);

    if (incomplete != NULL)
        *incomplete = t != NULL ? __atomic_load_n(&t->nincomplete, __ATOMIC_RELAXED) : 0;
    return t != NULL ? __atomic_load_n(&t->n, __ATOMIC_RELAXED) : 0;
}
