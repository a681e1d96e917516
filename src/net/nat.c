/* SPDX-License-Identifier: MIT */
/*
 * nat.c - the table of connections of NAT44.
 *
 * Every connection is on two chains: by what its packets have inside, and by what those from
 * outside have.  All memory is taken when NAT is turned on; a full table first looks whether any
 * of its next few connections has had its time, and then refuses.
 *
 * Finding takes no lock.  A holder may be preempted for long by a thread that keeps it from going
 * on, and every packet of the other CPUs would wait for it.  So `seq` is odd while one connection,
 * `changing`, is put on its chains or taken off, and who walked them meanwhile (as many steps as
 * a chain may have, so also one that leads in a circle for a moment has an end) walks again,
 * unless it found another connection than that one: nothing of that changes, however the walk
 * came to it.  Those who make a connection or take one away hold `lock`, for some dozen
 * instructions; waiting for it is bounded, as in neigh.c, and when that fails, or a walk that found
 * nothing never comes to rest, the packet is dropped (nat_busy).  So a holder that is preempted in
 * the middle is in the way of new connections and of the one that it changes, and of no other.
 *
 * What packets note in a connection (when it ends, TCP's state) is written without the lock: a
 * connection that was taken away and given to others in between has one wrong time, once.
 */
#define SIRQ_NET_INTERNAL
#include "nat.h"

#define SPINS 10000u
#define WALKS 64u
#define CHAIN_MAX 256u  /* steps of one walk */
#define PORT_TRIES 512u /* ports looked at for one connection */
#define RECLAIM 64u     /* connections looked at when the table is full */
#define TURN 4096u      /* and by the timer in one turn, unless HZ asks for more */
#define HELD 64u        /* of these while the lock is held */

/* What TCP has shown; relaxed atomics. */
#define SEEN_IN 1u /* also UDP, ICMP */
#define FIN_OUT 2u
#define FIN_IN 4u
#define RESET 8u
#define ANSWERED 16u /* by the host inside, no SYN: it wanted what came in */

/* ---- lock and sequence ---------------------------------------------------------------- */

static bool lock(struct sirq_nat *nat)
{
    for (unsigned i = 0; i < SPINS; i++)
        if (__atomic_load_n(&nat->lock, __ATOMIC_RELAXED) == 0 &&
            __atomic_exchange_n(&nat->lock, 1, __ATOMIC_ACQUIRE) == 0)
            return true;
    return false;
}

static void unlock(struct sirq_nat *nat)
{
    __atomic_store_n(&nat->lock, 0, __ATOMIC_RELEASE);
}

/* ---- chains --------------------------------------------------------------------------- */

static uint32_t hash(const struct sirq_nat *nat, enum sirq_nat_dir dir,
                     const struct sirq_nat_tuple *t, uint16_t lport)
{
    uint64_t ports = (uint64_t)lport << 32 | (uint32_t)t->rport << 16 | t->proto;
    uint64_t addrs = (uint64_t)t->remote << 32 | (dir == SIRQ_NAT_OUT ? t->local : 0);

    return (uint32_t)sirq_nat_mix(sirq_nat_mix(nat->key, addrs), ports) & nat->mask;
}

static bool is(const struct sirq_nat_conn *c, enum sirq_nat_dir dir, const struct sirq_nat_tuple *t)
{
    if (GET(c->in.proto) != t->proto || GET(c->in.remote) != t->remote ||
        GET(c->in.rport) != t->rport)
        return false;
    return dir == SIRQ_NAT_OUT ? GET(c->in.local) == t->local && GET(c->in.lport) == t->lport
                               : GET(c->port) == t->lport;
}

/* The connection, or null.  A chain is as long as the hash is bad: after CHAIN_MAX it ends. */
static struct sirq_nat_conn *walk(struct sirq_nat *nat, enum sirq_nat_dir dir,
                                  const struct sirq_nat_tuple *t)
{
    uint32_t at = GET(nat->bucket[dir][hash(nat, dir, t, t->lport)]);

    for (unsigned i = 0; at != SIRQ_NAT_NIL && i < CHAIN_MAX; i++) {
        if (is(&nat->conn[at], dir, t))
            return &nat->conn[at];
        at = GET(nat->conn[at].next[dir]);
    }
    return NULL;
}

/* What was found while the sequence was `seq`, which it still is: does it stand? */
static bool stands(const struct sirq_nat *nat, uint32_t seq, const struct sirq_nat_conn *c)
{
    return (seq & 1) == 0 || (c != NULL && c != &nat->conn[GET(nat->changing)]);
}

/* Without the lock: also what the caller wants of it, in `found`.  False: the chains are being
 * changed all the time, or by somebody who was preempted. */
static bool look(struct sirq_nat *nat, enum sirq_nat_dir dir, const struct sirq_nat_tuple *t,
                 struct sirq_nat_tuple *found, struct sirq_nat_conn **out)
{
    for (unsigned i = 0; i < WALKS; i++) {
        uint32_t seq = __atomic_load_n(&nat->seq, __ATOMIC_ACQUIRE);
        struct sirq_nat_conn *c = walk(nat, dir, t);
        bool good = stands(nat, seq, c);

        *found = *t;
        if (c != NULL) {
            found->local = GET(c->in.local);
            found->lport = dir == SIRQ_NAT_OUT ? GET(c->port) : GET(c->in.lport);
        }
        /* The reads above before the second look at the sequence. */
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        *out = c;
        if (good && __atomic_load_n(&nat->seq, __ATOMIC_RELAXED) == seq)
            return true;
    }
    return false;
}

static void change_begin(struct sirq_nat *nat, uint32_t at)
{
    /* RELEASE: who sees it sees that the change before has ended; and it is seen by who sees the
     * odd sequence. */
    __atomic_store_n(&nat->changing, at, __ATOMIC_RELEASE);
    __atomic_store_n(&nat->seq, nat->seq + 1, __ATOMIC_RELEASE);
    /* The odd sequence before the changes. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static void change_end(struct sirq_nat *nat)
{
    __atomic_store_n(&nat->seq, nat->seq + 1, __ATOMIC_RELEASE);
}

static void link_locked(struct sirq_nat *nat, enum sirq_nat_dir dir, uint32_t at)
{
    struct sirq_nat_conn *c = &nat->conn[at];
    uint32_t *head =
        &nat->bucket[dir][hash(nat, dir, &c->in, dir == SIRQ_NAT_OUT ? c->in.lport : c->port)];

    SET(c->next[dir], *head);
    SET(*head, at);
}

static void unlink_locked(struct sirq_nat *nat, enum sirq_nat_dir dir, uint32_t at)
{
    struct sirq_nat_conn *c = &nat->conn[at];
    uint32_t *link =
        &nat->bucket[dir][hash(nat, dir, &c->in, dir == SIRQ_NAT_OUT ? c->in.lport : c->port)];

    while (*link != at)
        link = &nat->conn[*link].next[dir];
    SET(*link, c->next[dir]);
}

static void remove_locked(struct sirq_nat *nat, uint32_t at)
{
    struct sirq_nat_conn *c = &nat->conn[at];

    change_begin(nat, at);
    unlink_locked(nat, SIRQ_NAT_OUT, at);
    unlink_locked(nat, SIRQ_NAT_IN, at);
    SET(c->in.proto, 0);
    SET(c->next[0], nat->free);
    change_end(nat);
    nat->free = at;
    SET(nat->stats.conns, nat->stats.conns - 1);
    SET(nat->stats.expired, nat->stats.expired + 1);
}

/* Take away those of the next `n` that have had their time. */
static void sweep_locked(struct sirq_nat *nat, uint64_t now, uint32_t n)
{
    assert(nat->conn != NULL); /* taken before anybody could see the table */
    for (uint32_t i = 0; i < n; i++) {
        struct sirq_nat_conn *c = &nat->conn[nat->hand];

        if (c->in.proto != 0 && (int64_t)(GET(c->expires) - now) <= 0)
            remove_locked(nat, nat->hand);
        nat->hand = nat->hand + 1 < nat->config.max_conns ? nat->hand + 1 : 0;
    }
}

/* ---- time ----------------------------------------------------------------------------- */

static unsigned timeout_s(const struct sirq_nat *nat, uint8_t proto, uint8_t state)
{
    const struct sirq_nat_config *config = &nat->config;

    if (proto == SIRQ_PROTO_ICMP)
        return config->icmp_s;
    if (proto == SIRQ_PROTO_UDP)
        return (state & SEEN_IN) ? config->udp_stream_s : config->udp_s;
    if ((state & ANSWERED) && (state & (RESET | FIN_OUT | FIN_IN)) == 0)
        return config->tcp_established_s;
    return config->tcp_transitory_s;
}

/*
 * A packet of it went by.  A SYN begins anew what has ended (RFC 5382, 5).  TCP is open when the host
 * inside has answered what came in: a SYN-ACK alone may be anybody's, to a SYN that nobody sent.
 */
static void note(struct sirq_cpu *cpu, const struct sirq_nat *nat, struct sirq_nat_conn *c,
                 enum sirq_nat_dir dir, uint32_t flags)
{
    uint8_t state = GET(c->state), was = state, proto = GET(c->in.proto);
    uint64_t expires;

    if (proto == SIRQ_PROTO_TCP && (flags & SIRQ_NAT_SYN) != 0)
        state &= SEEN_IN;
    if (dir == SIRQ_NAT_OUT && (state & SEEN_IN) != 0 && (flags & SIRQ_NAT_SYN) == 0)
        state |= ANSWERED;
    if (dir == SIRQ_NAT_IN)
        state |= SEEN_IN;
    if (proto == SIRQ_PROTO_TCP && (flags & SIRQ_NAT_FIN) != 0)
        state |= dir == SIRQ_NAT_OUT ? FIN_OUT : FIN_IN;
    if (proto == SIRQ_PROTO_TCP && (flags & SIRQ_NAT_RST) != 0)
        state |= RESET;
    if (state != was)
        SET(c->state, state);
    expires = sirq_jiffies(cpu) + (uint64_t)timeout_s(nat, proto, state) * cpu->core->hz;
    if (GET(c->expires) != expires) /* a line that others read is written once a jiffy */
        SET(c->expires, expires);
}

/* Jiffies between two turns: so many turns a second that the whole table has its turn in one. */
static uint64_t pause_of(const struct sirq_cpu *cpu, const struct sirq_nat *nat)
{
    uint64_t pause = cpu->core->hz / ((nat->config.max_conns + TURN - 1) / TURN);

    return pause > 0 ? pause : 1;
}

void sirq_nat_timer(struct sirq_cpu *cpu, struct sirq_timer *timer, void *data)
{
    struct sirq_nat *nat = data;
    uint64_t now = sirq_jiffies(cpu), pause = pause_of(cpu, nat);
    uint64_t n = (nat->config.max_conns * pause + cpu->core->hz - 1) / cpu->core->hz;
    bool again = true;

    for (uint64_t done = 0; done < n && again && lock(nat); done += HELD) {
        sweep_locked(nat, now, n - done < HELD ? (uint32_t)(n - done) : HELD);
        again = nat->armed = nat->stats.conns > 0;
        unlock(nat);
    }
    if (again)
        sirq_timer_mod_local(cpu, timer, now + pause);
}

/* ---- making one ----------------------------------------------------------------------- */

/* A port that no other connection to the same remote has; 0: none of those tried. */
static uint16_t choose_port(struct sirq_nat *nat, const struct sirq_nat_tuple *t)
{
    uint32_t lo = nat->config.port_lo, range = nat->config.port_hi - lo + 1u;
    uint32_t tries = range < PORT_TRIES ? range : PORT_TRIES;
    struct sirq_nat_tuple in = *t;
    uint32_t start;

    if (t->lport >= lo && t->lport < lo + range && walk(nat, SIRQ_NAT_IN, t) == NULL)
        return t->lport;
    start = (uint32_t)(sirq_nat_mix(nat->key + nat->stats.created, t->lport) % range);
    for (uint32_t i = 0; i < tries; i++) {
        in.lport = (uint16_t)(lo + (start + i) % range);
        if (walk(nat, SIRQ_NAT_IN, &in) == NULL)
            return in.lport;
    }
    return 0;
}

static enum sirq_drop make_locked(struct sirq_cpu *cpu, struct sirq_nat *nat,
                                  const struct sirq_nat_tuple *t, struct sirq_nat_conn **out)
{
    struct sirq_nat_conn *c;
    uint32_t at;
    uint16_t port;

    assert(nat->conn != NULL);
    *out = walk(nat, SIRQ_NAT_OUT, t); /* another CPU may have been quicker */
    if (*out != NULL)
        return SIRQ_DELIVERED;
    if (nat->free == SIRQ_NAT_NIL)
        sweep_locked(nat, sirq_jiffies(cpu), RECLAIM);
    if (nat->free == SIRQ_NAT_NIL)
        return SIRQ_DROP_NAT_FULL;
    port = choose_port(nat, t);
    if (port == 0)
        return SIRQ_DROP_NAT_PORTS;
    at = nat->free;
    c = &nat->conn[at];
    nat->free = c->next[0];
    change_begin(nat, at);
    SET(c->in.local, t->local);
    SET(c->in.remote, t->remote);
    SET(c->in.lport, t->lport);
    SET(c->in.rport, t->rport);
    SET(c->in.proto, t->proto);
    SET(c->port, port);
    SET(c->state, 0);
    SET(c->expires, sirq_jiffies(cpu) + cpu->core->hz);
    link_locked(nat, SIRQ_NAT_OUT, at);
    link_locked(nat, SIRQ_NAT_IN, at);
    change_end(nat);
    SET(nat->stats.conns, nat->stats.conns + 1);
    SET(nat->stats.created, nat->stats.created + 1);
    *out = c;
    return SIRQ_DELIVERED;
}

static enum sirq_drop make(struct sirq_cpu *cpu, struct sirq_nat *nat,
                           const struct sirq_nat_tuple *t, struct sirq_nat_conn **out)
{
    enum sirq_drop verdict;
    bool arm;

    if (!lock(nat))
        return SIRQ_DROP_NAT_BUSY;
    verdict = make_locked(cpu, nat, t, out);
    arm = verdict == SIRQ_DELIVERED && !nat->armed;
    nat->armed |= arm;
    unlock(nat);
    if (arm)
        sirq_timer_mod_local(cpu, &nat->timer, sirq_jiffies(cpu) + pause_of(cpu, nat));
    return verdict;
}

enum sirq_drop sirq_nat_find(struct sirq_cpu *cpu, struct sirq_nat *nat, enum sirq_nat_dir dir,
                             const struct sirq_nat_tuple *tuple, uint32_t flags,
                             struct sirq_nat_tuple *found)
{
    struct sirq_nat_conn *c;
    enum sirq_drop verdict;

    if (!look(nat, dir, tuple, found, &c))
        return SIRQ_DROP_NAT_BUSY;
    if (c == NULL && (dir == SIRQ_NAT_IN || flags == SIRQ_NAT_QUOTED))
        return SIRQ_DROP_NAT_NONE;
    if (c == NULL) {
        verdict = make(cpu, nat, tuple, &c);
        if (verdict != SIRQ_DELIVERED)
            return verdict;
        *found = *tuple;
        found->lport = GET(c->port);
    }
    if (flags != SIRQ_NAT_QUOTED)
        note(cpu, nat, c, dir, flags);
    return SIRQ_DELIVERED;
}
