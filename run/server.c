/* SPDX-License-Identifier: MIT */
/*
 * A UDP server: a socket for each family that the plane speaks, and for each socket a thread on
 * each of its CPUs, that receives a batch, answers it and sends the answers.
 *
 * A thread ends when it has been told to and has found its socket's queue empty.  It looks every
 * WAIT_NS whether it has been told.
 */
#include "plane.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FAMILIES 2u
#define WAIT_NS 50000000
#define ANSWER_SIZE SIRQ_PKT_PAYLOAD_MAX

struct serving {
    struct sirq_run_server *server;
    struct sirq_live *live;
    struct sirq_socket *sock;
    pthread_t thread;
    bool running;
    uint32_t cpu;
    sem_t begun;
    int rc; /* of its beginning, with ... */
    struct sirq_error err;
    uint64_t received, answered, unanswered; /* writer: the thread; __atomic */
    uint64_t batches;                        /* that have ended, and waits for one; as above */
    struct sirq_msg query[SIRQ_RUN_BATCH], answer[SIRQ_RUN_BATCH];
    uint8_t in[SIRQ_RUN_BATCH][SIRQ_PKT_PAYLOAD_MAX], out[SIRQ_RUN_BATCH][ANSWER_SIZE];
};

struct sirq_run_server {
    char name[48];
    sirq_run_answer_fn answer;
    void *arg;
    uint32_t batch;
    struct sirq_sched sched;
    bool asked; /* sched is not what it has anyway */
    struct sirq_socket *socks[FAMILIES];
    struct serving **threads;
    unsigned nthreads;
    bool stop; /* __atomic */
};

static void count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* ---- its threads -------------------------------------------------------------------------- */

static void send_all(struct serving *serving, unsigned n)
{
    for (unsigned i = 0; i < n;) {
        int sent = sirq_send(serving->sock, serving->answer + i, n - i);

        count(sent > 0 ? &serving->answered : &serving->unanswered, sent > 0 ? (unsigned)sent : 1);
        i += sent > 0 ? (unsigned)sent : 1;
    }
}

/* From where the query went, to where it came from. */
static void answer_all(struct serving *serving, unsigned n)
{
    const struct sirq_run_server *server = serving->server;
    unsigned answers = 0;

    for (unsigned i = 0; i < n; i++) {
        const struct sirq_msg *query = &serving->query[i];
        struct sirq_msg *answer = &serving->answer[answers];

        *answer = (struct sirq_msg){
            .buf = serving->out[answers],
            .size = ANSWER_SIZE,
            .saddr = query->daddr,
            .daddr = query->saddr,
            .saddr6 = query->daddr6,
            .daddr6 = query->saddr6,
            .dport = query->sport,
        };
        answers += query->len <= query->size && server->answer(server->arg, query, answer);
    }
    count(&serving->received, n);
    count(&serving->unanswered, n - answers);
    send_all(serving, answers);
}

static void serve(struct serving *serving)
{
    const struct sirq_run_server *server = serving->server;

    for (;;) {
        bool stop = __atomic_load_n(&server->stop, __ATOMIC_ACQUIRE);
        int n;

        /* RELEASE: whoever sees it sees no more reads of the batch before. */
        __atomic_store_n(&serving->batches, serving->batches + 1, __ATOMIC_RELEASE);
        n = sirq_recv(serving->sock, serving->query, server->batch, stop ? 0 : WAIT_NS);

        if (n > 0)
            answer_all(serving, (unsigned)n);
        else if (stop && n != -EINTR)
            return;
    }
}

static void *serving_main(void *arg)
{
    struct serving *serving = arg;
    const struct sirq_run_server *server = serving->server;
    int rc = sirq_live_thread_register(serving->live, (int)serving->cpu,
                                       server->asked ? &server->sched : NULL, &serving->err);

    serving->rc = rc;
    sem_post(&serving->begun);
    if (rc != 0)
        return NULL;
    serve(serving);
    sirq_live_thread_unregister(serving->live);
    return NULL;
}

static int start_thread(struct sirq_run_plane *plane, struct sirq_run_server *server,
                        struct sirq_socket *sock, uint32_t cpu, struct sirq_error *err)
{
    struct serving *serving = calloc(1, sizeof(*serving));
    int rc;

    if (serving == NULL)
        return sirq_fail(err, ENOMEM, "out of memory");
    server->threads[server->nthreads++] = serving;
    serving->server = server;
    serving->live = plane->live;
    serving->sock = sock;
    serving->cpu = cpu;
    for (unsigned i = 0; i < SIRQ_RUN_BATCH; i++) {
        serving->query[i].buf = serving->in[i];
        serving->query[i].size = sizeof(serving->in[i]);
    }
    sem_init(&serving->begun, 0, 0);
    rc = pthread_create(&serving->thread, NULL, serving_main, serving);
    if (rc != 0)
        return sirq_fail(err, rc, "a thread cannot be started: %s", strerror(rc));
    serving->running = true;
    while (sem_wait(&serving->begun) != 0)
        ;
    if (serving->rc != 0)
        *err = serving->err;
    return serving->rc;
}

/* ---- its sockets -------------------------------------------------------------------------- */

/* Whether the plane has an address of the family; without any it takes what comes. */
static bool speaks(const struct sirq_run_file *file, bool v4)
{
    bool any = false;

    for (uint32_t i = 0; i < file->n_interfaces; i++) {
        for (uint32_t j = 0; j < file->interfaces[i].n_addresses; j++) {
            struct sirq_ip addr;
            unsigned prefix;

            any = true;
            if (sirq_run_address(file->interfaces[i].addresses[j], &addr, &prefix) &&
                sirq_run_is_v4(&addr) == v4)
                return true;
        }
    }
    return !any;
}

static int open_sockets(struct sirq_run_plane *plane, struct sirq_run_server *server,
                        const struct sirq_run_server_config *config, struct sirq_error *err)
{
    struct sirq_socket_config wanted = {.port = (uint16_t)config->port,
                                        .rcvbuf = config->listen->rcvbuf};
    struct sirq_ip addr = {{0}};
    bool given =
        config->listen->address != NULL && sirq_run_address(config->listen->address, &addr, NULL);
    int rc = 0;

    for (unsigned family = 0; family < FAMILIES && rc == 0; family++) {
        bool v4 = family == 0;

        if (given ? sirq_run_is_v4(&addr) != v4 : !speaks(plane->source.file, v4))
            continue;
        wanted.v6 = !v4;
        if (v4)
            memcpy(&wanted.addr, addr.b + 12, sizeof(wanted.addr));
        else
            wanted.addr6 = addr;
        rc = sirq_socket_open(plane->net, &wanted, &server->socks[family]);
    }
    return rc != 0 ? sirq_fail(err, -rc, "port %u: no socket: %s", config->port, strerror(-rc)) : 0;
}

static int start_threads(struct sirq_run_plane *plane, struct sirq_run_server *server,
                         const struct sirq_run_threads *threads, struct sirq_error *err)
{
    const uint32_t *cpus = threads->n_cpus > 0 ? threads->cpus : plane->source.file->cpus;
    unsigned n = threads->n_cpus > 0 ? threads->n_cpus : 1;
    int rc = 0;

    server->threads = calloc((size_t)n * FAMILIES, sizeof(*server->threads));
    if (server->threads == NULL)
        return sirq_fail(err, ENOMEM, "out of memory");
    for (unsigned i = 0; i < n * FAMILIES && rc == 0; i++) {
        if (server->socks[i % FAMILIES] != NULL)
            rc = start_thread(plane, server, server->socks[i % FAMILIES], cpus[i / FAMILIES], err);
    }
    return rc;
}

int sirq_run_server_start(struct sirq_run_plane *plane, const struct sirq_run_server_config *config,
                          const char *path, struct sirq_error *err)
{
    const struct sirq_run_threads *threads = &config->listen->threads;
    struct sirq_run_server *server = calloc(1, sizeof(*server));
    int rc;

    if (server == NULL)
        return sirq_fail(err, ENOMEM, "out of memory");
    snprintf(server->name, sizeof(server->name), "%s", config->name);
    server->answer = config->answer;
    server->arg = config->arg;
    server->batch = threads->batch != 0 ? threads->batch : SIRQ_RUN_BATCH;
    server->sched = sirq_run_sched_of(&threads->sched);
    server->asked = server->sched.policy != SCHED_OTHER || server->sched.nice != 0;
    plane->servers[plane->nservers++] = server;
    rc = open_sockets(plane, server, config, err);
    if (rc == 0)
        rc = start_threads(plane, server, threads, err);
    return sirq_run_blame(&plane->source, rc, err, "%s", path);
}

/* ---- what it uses changes --------------------------------------------------------------------- */

/* It looks every WAIT_NS whether it has been told to end, so that this too takes no longer. */
void sirq_run_server_wait_batch(const struct sirq_run_server *server)
{
    for (unsigned i = 0; i < server->nthreads; i++) {
        const struct serving *serving = server->threads[i];
        uint64_t seen = __atomic_load_n(&serving->batches, __ATOMIC_ACQUIRE);

        /* ACQUIRE: what the thread used before is not written to earlier. */
        while (serving->running && __atomic_load_n(&serving->batches, __ATOMIC_ACQUIRE) == seen)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* ---- its end ------------------------------------------------------------------------------ */

void sirq_run_server_stop(struct sirq_run_server *server)
{
    /* RELEASE: what went on the queue before is seen by who finds the mark. */
    __atomic_store_n(&server->stop, true, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < server->nthreads; i++) {
        if (server->threads[i]->running)
            pthread_join(server->threads[i]->thread, NULL);
        server->threads[i]->running = false;
    }
}

void sirq_run_server_free(struct sirq_run_server *server)
{
    sirq_run_server_stop(server);
    for (unsigned i = 0; i < server->nthreads; i++) {
        sem_destroy(&server->threads[i]->begun);
        free(server->threads[i]);
    }
    for (unsigned family = 0; family < FAMILIES; family++) {
        if (server->socks[family] != NULL)
            sirq_socket_close(server->socks[family]);
    }
    free(server->threads);
    free(server);
}

const char *sirq_run_server_name(const struct sirq_run_server *server)
{
    return server->name;
}

void sirq_run_server_stats(const struct sirq_run_server *server, struct sirq_run_server_stats *out)
{
    *out = (struct sirq_run_server_stats){.threads = server->nthreads};
    for (unsigned i = 0; i < server->nthreads; i++) {
        const struct serving *serving = server->threads[i];

        out->received += __atomic_load_n(&serving->received, __ATOMIC_RELAXED);
        out->answered += __atomic_load_n(&serving->answered, __ATOMIC_RELAXED);
        out->unanswered += __atomic_load_n(&serving->unanswered, __ATOMIC_RELAXED);
    }
    for (unsigned family = 0; family < FAMILIES; family++) {
        struct sirq_socket_stats stats;

        if (server->socks[family] == NULL)
            continue;
        sirq_socket_stats(server->socks[family], &stats);
        out->dropped += stats.dropped;
        out->queued += stats.len;
    }
}
