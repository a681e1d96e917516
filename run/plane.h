/* SPDX-License-Identifier: MIT */
/*
 * A data plane that runs: an engine, a stack, devices, threads that serve.  All of it is the main
 * thread's; the servers' threads touch their own server alone.
 */
#ifndef SIRQ_RUN_PLANE_H
#define SIRQ_RUN_PLANE_H

#include "dns.h"
#include "file/file.h"

struct sirq_run_server;

struct sirq_run_device {
    struct sirq_netdev dev;
    bool open, attached;
};

/* The zone that a service answers for; another takes its place while it does. */
struct sirq_run_dns_zone {
    struct sirq_dns_zone *zone; /* __atomic; null: the service is none of DNS */
    struct sirq_run_server *server;
};

struct sirq_run_plane {
    struct sirq_run_source source; /* what it does at present */
    struct sirq_live *live;
    struct sirq_net *net;
    struct sirq_run_device devices[SIRQ_RUN_INTERFACES];
    struct sirq_run_server *servers[SIRQ_RUN_SERVICES];
    unsigned nservers;
    struct sirq_run_dns_zone dns[SIRQ_RUN_SERVICES]; /* by number of the service */
};

/* ---- plane.c ------------------------------------------------------------------------------ */

/* Takes the source, also when it fails.  0 or -errno with err filled and nothing left. */
int sirq_run_open(struct sirq_run_plane *plane, struct sirq_run_source *source,
                  struct sirq_error *err);
void sirq_run_close(struct sirq_run_plane *plane);

/* rc, of a call for what stands at `path`; below 0, file and line go before what it said. */
int sirq_run_blame(const struct sirq_run_source *source, int rc, struct sirq_error *err,
                   const char *path, ...) __attribute__((format(printf, 4, 5)));

/* ---- device.c ----------------------------------------------------------------------------- */

/* All interfaces with their addresses, then routes.  0 or -errno with err filled. */
/* The device of an interface by its name in the file, or null. */
struct sirq_netdev *sirq_run_device_of(struct sirq_run_plane *plane, const char *name);
int sirq_run_devices_open(struct sirq_run_plane *plane, struct sirq_error *err);
int sirq_run_devices_attach(struct sirq_run_plane *plane, struct sirq_error *err);

/* ---- steer.c ------------------------------------------------------------------------------ */

/* Policy, steering and threads as `source`, which may be another than the plane's, says. */
int sirq_run_steer(struct sirq_run_plane *plane, const struct sirq_run_source *source,
                   struct sirq_error *err);
/* No thread polls any more. */
void sirq_run_unsteer(struct sirq_run_plane *plane);

/* ---- drain.c ------------------------------------------------------------------------------ */

/*
 * What the devices have taken goes up, is answered and sent; nothing more is taken.  Devices are
 * detached and servers stopped then.  hurry(): asked now and then whether to make an end of it.
 */
void sirq_run_drain(struct sirq_run_plane *plane, bool (*hurry)(void));

/* ---- server.c ------------------------------------------------------------------------------- */

/* Fill answer->buf, of answer->size bytes, and answer->len, or let buf point to what is to be
 * sent.  False: no answer.  Several threads at once. */
typedef bool (*sirq_run_answer_fn)(void *arg, const struct sirq_msg *query,
                                   struct sirq_msg *answer);

struct sirq_run_server_config {
    const char *name; /* copied */
    uint32_t port;
    const struct sirq_run_listen *listen;
    sirq_run_answer_fn answer;
    void *arg;
};

struct sirq_run_server_stats {
    uint64_t received, answered, unanswered, dropped;
    unsigned queued, threads;
};

/* Answer what comes to a UDP port.  `path`: of the service in the file. */
int sirq_run_server_start(struct sirq_run_plane *plane, const struct sirq_run_server_config *config,
                          const char *path, struct sirq_error *err);
/* Returns when each of its threads has ended the batch that it had. */
void sirq_run_server_wait_batch(const struct sirq_run_server *server);
/* Returns when what is queued has been answered, and its threads have ended. */
void sirq_run_server_stop(struct sirq_run_server *server);
void sirq_run_server_free(struct sirq_run_server *server);
const char *sirq_run_server_name(const struct sirq_run_server *server);
void sirq_run_server_stats(const struct sirq_run_server *server, struct sirq_run_server_stats *out);

/* ---- service.c -------------------------------------------------------------------------------- */

int sirq_run_services_start(struct sirq_run_plane *plane, struct sirq_error *err);

/* ---- zone.c ------------------------------------------------------------------------------------ */

/* The zones of all services that have one, into zones[SIRQ_RUN_SERVICES].  0, or -errno with err
 * filled and nothing left. */
int sirq_run_zones_load(const struct sirq_run_source *source, struct sirq_dns_zone **zones,
                        struct sirq_error *err);
/* Let them take the place of the plane's, which are freed when no thread uses them. */
void sirq_run_zones_take(struct sirq_run_plane *plane, struct sirq_dns_zone **zones);
void sirq_run_zones_free(struct sirq_dns_zone **zones);

/* ---- report.c --------------------------------------------------------------------------------- */

void sirq_run_print_counters(const struct sirq_run_plane *plane);
/* A line of rates since the last call; `first` prints none. */
void sirq_run_print_rates(const struct sirq_run_plane *plane, bool first);

#endif
