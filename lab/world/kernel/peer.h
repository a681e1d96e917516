/* SPDX-License-Identifier: MIT */
/*
 * A process of the load: pinned or not, in a network namespace of its own or in the run's.  It says
 * through a shared page how far it is, and dies with the run.
 */
#ifndef SIRQ_LAB_KERNEL_PEER_H
#define SIRQ_LAB_KERNEL_PEER_H

#include <sched.h>
#include <stdint.h>
#include <sys/types.h>

#include <sirq/driver.h>

#define SIRQ_PEER_ADDRESS "198.18.0.1" /* of the far end */

enum sirq_peer_state { SIRQ_PEER_NEW, SIRQ_PEER_IN_NAMESPACE, SIRQ_PEER_READY, SIRQ_PEER_BROKEN };

/* Writer of `go` is the run, of the rest the process. */
struct sirq_peer_page {
    uint32_t go;                                 /* __atomic */
    uint32_t state __attribute__((aligned(64))); /* __atomic */
    uint64_t count;                              /* of whatever it does; __atomic */
    struct sirq_error err; /* written before state (release), read after it (acquire) */
};

struct sirq_peer {
    pid_t pid;
    struct sirq_peer_page *page; /* null: none was started */
};

/* What it does: `arg` is the caller's.  It returns never, or to end. */
typedef void (*sirq_peer_body)(struct sirq_peer_page *page, const void *arg);

/* Start it on `cpus` and wait until it is in `state`.  0 or -errno with err filled and none left. */
int sirq_peer_start(struct sirq_peer *peer, sirq_peer_body body, const void *arg,
                    const cpu_set_t *cpus, enum sirq_peer_state state, struct sirq_error *err);

/* Give it, which is in its namespace, the far end of the pair, and wait until it is ready. */
int sirq_peer_connect(const struct sirq_peer *peer, struct sirq_error *err);

/* -EPIPE with err filled when it has ended, else 0. */
int sirq_peer_check(const struct sirq_peer *peer, struct sirq_error *err);
void sirq_peer_end(struct sirq_peer *peer);

/* ---- inside the process ------------------------------------------------------------------ */

void sirq_peer_say(struct sirq_peer_page *page, enum sirq_peer_state state);
void sirq_peer_give_up(struct sirq_peer_page *page, const char *what, int code)
    __attribute__((noreturn));

/* Move to a namespace of its own, wait for the far end, set it up. */
void sirq_peer_enter(struct sirq_peer_page *page);

#endif
