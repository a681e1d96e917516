/* SPDX-License-Identifier: MIT */
/*
 * Signals come to the main thread alone, one at a time, by sigtimedwait(): all are blocked before
 * there are other threads, so none is lost and none interrupts a thread of the plane.
 */
#include "run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "plane.h"

static sigset_t waited;

static void block_signals(void)
{
    static const int taken[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};

    sigemptyset(&waited);
    for (size_t i = 0; i < LEN(taken); i++)
        sigaddset(&waited, taken[i]);
    pthread_sigmask(SIG_BLOCK, &waited, NULL);
    signal(SIGPIPE, SIG_IGN); /* a reader of our tables may go; the plane stays */
}

/* Asked again to end: then now. */
static bool asked_again(void)
{
    const struct timespec none = {0};
    sigset_t end;

    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigaddset(&end, SIGINT);
    return sigtimedwait(&end, NULL, &none) > 0;
}

static void say(const struct sirq_run_plane *plane, const char *what)
{
    fprintf(stderr, "softirq run: %s: %s\n", plane->source.name, what);
}

/* All or nothing: what cannot be taken up leaves the plane as it was. */
static void reload(struct sirq_run_plane *plane)
{
    struct sirq_dns_zone *zones[SIRQ_RUN_SERVICES];
    struct sirq_run_source next;
    struct sirq_error err = {""}, back = {""};
    int rc = sirq_run_read(&next, plane->source.name, &err);

    if (rc == 0) {
        rc = sirq_run_change(&plane->source, &next, &err);
        if (rc == 0)
            rc = sirq_run_zones_load(&next, zones, &err);
        if (rc == 0) {
            rc = sirq_run_steer(plane, &next, &err);
            if (rc != 0 && sirq_run_steer(plane, &plane->source, &back) != 0)
                fprintf(stderr, "softirq run: going back: %s\n", back.text);
            if (rc != 0)
                sirq_run_zones_free(zones);
        }
        if (rc == 0) {
            sirq_run_zones_take(plane, zones);
            sirq_run_source_free(&plane->source);
            plane->source = next;
            say(plane, "read again and taken up");
            return;
        }
        sirq_run_source_free(&next);
    }
    fprintf(stderr, "softirq run: not taken up: %s\n", err.text);
}

static void describe(const struct sirq_run_plane *plane)
{
    for (uint32_t i = 0; i < plane->source.file->n_interfaces; i++) {
        const struct sirq_netdev *dev = &plane->devices[i].dev;

        fprintf(stderr, "softirq run: %s: %s %s%s%s, %02x:%02x:%02x:%02x:%02x:%02x, mtu %u\n",
                plane->source.file->interfaces[i].name, dev->driver->name, dev->name,
                dev->mode[0] != '\0' ? ", " : "", dev->mode, dev->mac[0], dev->mac[1], dev->mac[2],
                dev->mac[3], dev->mac[4], dev->mac[5], dev->mtu);
    }
    say(plane, "running");
}

/* Until a signal asks for the end. */
static void attend(struct sirq_run_plane *plane, unsigned stats_s)
{
    const struct timespec every = {.tv_sec = stats_s != 0 ? stats_s : 3600};

    sirq_run_print_rates(plane, true);
    for (;;) {
        int signo = sigtimedwait(&waited, NULL, &every);

        if (signo == SIGTERM || signo == SIGINT)
            return;
        if (signo == SIGHUP)
            reload(plane);
        else if (signo == SIGUSR1)
            sirq_run_print_counters(plane);
        else if (signo < 0 && errno == EAGAIN && stats_s != 0)
            sirq_run_print_rates(plane, false);
    }
}

static int run(struct sirq_run_source *source, unsigned stats_s, struct sirq_error *err)
{
    static struct sirq_run_plane plane;
    int rc = sirq_run_open(&plane, source, err);

    if (rc != 0)
        return rc;
    describe(&plane);
    attend(&plane, stats_s);
    say(&plane, "draining");
    sirq_run_drain(&plane, asked_again);
    sirq_run_print_counters(&plane);
    sirq_run_close(&plane);
    return 0;
}

int sirq_run(const struct sirq_run_options *options, struct sirq_error *err)
{
    struct sirq_run_source source;
    int rc;

    if (!options->check)
        block_signals();
    rc = sirq_run_read(&source, options->path, err);
    if (rc == 0 && !options->check)
        return run(&source, options->stats_s, err) != 0 ? -EIO : 0;
    if (rc != 0)
        return rc;
    printf("%s: good\n", source.name);
    sirq_run_source_free(&source);
    return 0;
}
