/* SPDX-License-Identifier: MIT */
/*
 * softirq-worlds: run random worlds.
 *
 *   softirq-worlds [--seed FIRST] [--count N] [--kept FILE]
 *
 * --kept: first the seeds in FILE, one a line: those that failed once.  One line at the end:
 * worlds, events checked, and a digest that has to be the same under every compiler.
 */
#include "worlds.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRAIN_STEP (50 * MS)
#define DRAIN_STEPS 400u /* 20 s: RT throttling and long handlers included */

static char replay[200]; /* for the signal handler */

/* For whoever has to find out what does not come to rest. */
static void describe(const struct world *world)
{
    for (unsigned i = 0; i < world->ncpus; i++) {
        const struct sirq_vcpu *vcpu = &world->sim->vcpus[i];

        fprintf(stderr,
                "cpu %u: word %016llx running %d ksoftirqd %u need_resched %u curr %s/%u class %d "
                "prio %d depth %u fair %u rt %u throttled %d tick stopped %d passes %llu\n",
                i, (unsigned long long)vcpu->cpu->word, vcpu->cpu->running, vcpu->cpu->ksoftirqd,
                vcpu->cpu->need_resched, vcpu->curr->name, vcpu->curr->ctx.token, vcpu->curr->class,
                vcpu->curr->priority, vcpu->curr->ctx.hardirq_depth, vcpu->fair.nr, vcpu->rt.nr,
                vcpu->rt.throttled, vcpu->tick_stopped,
                (unsigned long long)vcpu->cpu->stats.passes);
    }
    for (unsigned i = 0; i < world->ntasks; i++)
        fprintf(stderr, "task %u: %s\n", i, world->task[i].done ? "done" : "not done");
    for (unsigned i = 0; i < world->nsocks; i++)
        fprintf(stderr, "socket %u: received %llu\n", i, (unsigned long long)world->received[i]);
    for (unsigned i = 0; i < world->ntimers; i++)
        fprintf(stderr, "timer %u on %u: %d expires %llu\n", i, world->timer[i].cpu,
                sirq_timer_pending(&world->timer[i].timer),
                (unsigned long long)world->timer[i].expires);
}

void world_broken(const struct world *world, const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: world %llu at %llu ns under %s: does not hold: %s\n", file, line,
            (unsigned long long)world->seed, (unsigned long long)world->sim->now,
            sirq_get_policy(world->core)->name, what);
    describe(world);
    abort();
}

static void on_crash(int signo)
{
    (void)!write(STDERR_FILENO, replay, strlen(replay));
    signal(signo, SIG_DFL);
    raise(signo);
}

static bool at_rest(const struct world *world)
{
    bool rest = true;

    for (unsigned i = 0; i < world->ncpus; i++)
        rest = rest && sirq_pending(&world->core->cpus[i]) == 0;
    for (unsigned i = 0; i < world->nnics; i++)
        rest = rest && sirq_nic_advance(world->nic[i]) == 0;
    for (unsigned i = 0; i < world->ntasks; i++)
        rest = rest && world->task[i].done;
    for (unsigned i = 0; i < world->nsocks; i++) {
        struct sirq_socket_stats stats;

        sirq_socket_stats(world->sock[i], &stats);
        rest = rest && stats.len == 0 && stats.received == stats.queued;
    }
    for (unsigned i = 0; i < world->ntimers; i++)
        rest = rest && !sirq_timer_pending(&world->timer[i].timer);
    return rest;
}

/* Safety while everything happens; then load and faults stop, and it has to come to rest. */
static void run(struct world *world, uint64_t seed, uint64_t *digest, uint64_t *checks)
{
    unsigned steps = 0;

    world_build(world, seed);
    sirq_sim_run(world->sim, world->load_ns);
    world->stopping = true;
    do {
        MUST(world, steps++ < DRAIN_STEPS);
        sirq_sim_run(world->sim, world->sim->now + DRAIN_STEP);
    } while (!at_rest(world));
    sirq_sim_run(world->sim, world->sim->now + 3 * DRAIN_STEP);
    world_check_drained(world);
    world->quit = true;
    sirq_sim_run(world->sim, world->sim->now + 10 * DRAIN_STEP);
    world_check_drained(world);
    *digest = *digest * 31 + sirq_sim_digest(world->sim);
    *checks += world->checks;
    world_take_apart(world);
}

static void one(const char *self, uint64_t seed, uint64_t *digest, uint64_t *checks)
{
    static struct world world;

    snprintf(replay, sizeof(replay), "replay: %s --seed %llu --count 1\n", self,
             (unsigned long long)seed);
    run(&world, seed, digest, checks);
}

static uint64_t number(const char *text)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || end == text) {
        fprintf(stderr, "not a number: %s\n", text);
        exit(2);
    }
    return value;
}

static unsigned run_kept(const char *self, const char *path, uint64_t *digest, uint64_t *checks)
{
    FILE *file = fopen(path, "r");
    unsigned n = 0;
    char line[256];

    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        line[strcspn(line, " \n")] = '\0';
        one(self, number(line), digest, checks);
        n++;
    }
    fclose(file);
    return n;
}

int main(int argc, char **argv)
{
    uint64_t first = 1, count = 200, digest = 0, checks = 0, worlds = 0;

    signal(SIGABRT, on_crash);
    signal(SIGSEGV, on_crash);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0)
            first = number(argv[i + 1]);
        else if (strcmp(argv[i], "--count") == 0)
            count = number(argv[i + 1]);
        else if (strcmp(argv[i], "--kept") == 0)
            worlds += run_kept(argv[0], argv[i + 1], &digest, &checks);
        else
            return fprintf(stderr, "usage: %s [--seed FIRST] [--count N] [--kept FILE]\n", argv[0]),
                   2;
    }
    for (uint64_t i = 0; i < count; i++)
        one(argv[0], first + i, &digest, &checks);
    worlds += count;
    printf("%llu worlds, %llu events checked, digest %016llx\n", (unsigned long long)worlds,
           (unsigned long long)checks, (unsigned long long)digest);
    return 0;
}
