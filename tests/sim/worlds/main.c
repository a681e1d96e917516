/* SPDX-License-Identifier: MIT */
/*
 * softirq-worlds: run random worlds.
 *
 *   softirq-worlds [--seed FIRST] [--count N] [--kept FILE] [--jobs N] [--without FAULT,...]
 *                  [--minimise SEED]
 *
 * --kept: then the seeds in FILE, one a line: those that failed once.  --without leaves kinds
 * of faults out (worlds.h); --minimise says which of them a failing world can do without.
 * The last line: worlds, events checked, a digest that has to be the same under every
 * compiler and for any number of jobs, and how fast it was.
 */
#include "worlds.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DRAIN_STEP (50 * MS)
#define DRAIN_STEPS 400u /* 20 s: RT throttling and long handlers included */

#define MAX_JOBS 64
#define CPU_SECONDS 20 /* of one world: most take milliseconds */
#define MAX_KEPT 1024u

struct result {
    uint64_t worlds, checks, digest;
};

static const char *const fault_names[] = {
#define FAULT_NAME(sym, name, percent) name,
    WORLD_FAULTS(FAULT_NAME)
#undef FAULT_NAME
};

static char replay[300]; /* for the signal handler */

/* For whoever has to find out what does not come to rest. */
static void describe(const struct world *world)
{
    for (unsigned i = 0; i < world->ncpus; i++) {
        const struct sirq_vcpu *vcpu = &world->sim->vcpus[i];

        fprintf(
            stderr,
            "cpu %u: %s word %016llx running %d ksoftirqd %u need_resched %u curr %s/%u class %d "
            "prio %d depth %u fair %u rt %u throttled %d tick stopped %d passes %llu\n",
            i,
            vcpu->active        ? "here"
            : vcpu->cpu->online ? "leaving"
                                : "gone",
            (unsigned long long)vcpu->cpu->word, vcpu->cpu->running, vcpu->cpu->ksoftirqd,
            vcpu->cpu->need_resched, vcpu->curr->name, vcpu->curr->ctx.token, vcpu->curr->class,
            vcpu->curr->priority, vcpu->curr->ctx.hardirq_depth, vcpu->fair.nr, vcpu->rt.nr,
            vcpu->rt.throttled, vcpu->tick_stopped, (unsigned long long)vcpu->cpu->stats.passes);
    }
    for (unsigned i = 0; i < WORLD_TASKLETS; i++)
        fprintf(stderr, "tasklet %u: state %u disabled %u dying %u inside %d\n", i,
                world->tasklet[i].tasklet.state, world->tasklet[i].tasklet.disabled,
                world->tasklet[i].dying, world->tasklet[i].inside);
    for (unsigned i = 0; i < world->ntasks; i++)
        fprintf(stderr, "task %u: %s\n", i, world->task[i].done ? "done" : "not done");
    for (unsigned i = 0; i < world->nsocks; i++)
        fprintf(stderr, "socket %u: received %llu\n", i, (unsigned long long)world->received[i]);
    for (unsigned i = 0; i < world->ntimers; i++)
        fprintf(stderr, "timer %u on %u: %d expires %llu\n", i, world->timer[i].cpu,
                sirq_timer_pending(&world->timer[i].timer),
                (unsigned long long)world->timer[i].expires);
}

static void print_faults(FILE *out, const char *what, uint32_t faults)
{
    fprintf(out, "%s:", what);
    for (unsigned i = 0; i < WORLD_NR_FAULTS; i++)
        if (faults >> i & 1)
            fprintf(out, " %s", fault_names[i]);
    fprintf(out, "%s\n", faults == 0 ? " none" : "");
}

void world_broken(const struct world *world, const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: world %llu at %llu ns under %s: does not hold: %s\n", file, line,
            (unsigned long long)world->seed, (unsigned long long)world->sim->now,
            sirq_get_policy(world->core)->name, what);
    print_faults(stderr, "faults", world->faults);
    describe(world);
    abort();
}

static void on_crash(int signo)
{
    static const char hangs[] = "a world that takes longer than 20 s of CPU time\n";

    if (signo == SIGPROF)
        (void)!write(STDERR_FILENO, hangs, sizeof(hangs) - 1);
    (void)!write(STDERR_FILENO, replay, strlen(replay));
    signal(signo, SIG_DFL);
    raise(signo);
}

static bool at_rest(const struct world *world)
{
    bool rest = world->operator.done;

    for (unsigned i = 0; i < world->ncpus; i++)
        rest = rest && sirq_pending(&world->core->cpus[i]) == 0;
    for (unsigned i = 0; i < world->nnics; i++) {
        struct sirq_sim_nic_stats stats;

        sirq_sim_nic_stats(world->nic[i], &stats);
        rest = rest && stats.waiting == 0;
    }
    for (unsigned i = 0; i < world->ntasks; i++)
        rest = rest && world->task[i].done;
    for (unsigned i = 0; i < world->nsocks; i++) {
        struct sirq_socket_stats stats = {0};

        rest = rest && world->sock[i] != NULL;
        if (rest)
            sirq_socket_stats(world->sock[i], &stats);
        rest = rest && stats.len == 0 && stats.received == stats.queued;
    }
    rest = rest && world_steer_at_rest(world);
    rest = rest && world_devices_at_rest(world);
    for (unsigned i = 0; i < world->ntimers; i++)
        rest = rest && !sirq_timer_pending(&world->timer[i].timer);
    return rest;
}

/* The load and its faults. */
static void run_loaded(struct world *world)
{
    struct sirq_sim *sim = world->sim;

    while (sim->now < world->load_ns) {
        uint64_t next = sim->now + draw(&world->chaos, 1, 2 * MS);

        sirq_sim_run(sim, next < world->load_ns ? next : world->load_ns);
        world_fault(world);
    }
    world_faults_end(world);
    world->stopping = true;
}

/* Safety while everything happens; then load and faults stop, and it has to come to rest. */
static void run(struct world *world, uint64_t seed, uint32_t without, struct result *result)
{
    unsigned steps = 0;
    uint64_t digest;

    world_build(world, seed, without);
    run_loaded(world);
    do {
        MUST(world, steps++ < DRAIN_STEPS);
        sirq_sim_run(world->sim, world->sim->now + DRAIN_STEP);
    } while (!at_rest(world));
    sirq_sim_run(world->sim, world->sim->now + 3 * DRAIN_STEP);
    world_check_drained(world);
    world->quit = true;
    sirq_sim_run(world->sim, world->sim->now + 10 * DRAIN_STEP);
    world_check_drained(world);
    digest = (sirq_sim_digest(world->sim) ^ seed) * UINT64_C(0x9fb21c651e98df25);
    result->digest += digest ^ digest >> 29; /* a sum: in any order */
    result->checks += world->checks;
    result->worlds++;
    world_take_apart(world);
}

/* The command holds in a fresh clone: it builds what it needs. */
static void note_replay(uint64_t seed, uint32_t without)
{
    size_t len = (size_t)snprintf(replay, sizeof(replay),
                                  "replay: make sim SIM_SEED=%llu SIM_COUNT=1 SIM_JOBS=1",
                                  (unsigned long long)seed);
    const char *lead = " SIM_ARGS='--without ";

    for (unsigned i = 0; i < WORLD_NR_FAULTS; i++)
        if (without >> i & 1) {
            len +=
                (size_t)snprintf(replay + len, sizeof(replay) - len, "%s%s", lead, fault_names[i]);
            lead = ",";
        }
    snprintf(replay + len, sizeof(replay) - len, "%s\n", without != 0 ? "'" : "");
}

static void one(uint64_t seed, uint32_t without, struct result *result)
{
    const struct itimerval limit = {.it_value.tv_sec = CPU_SECONDS};
    static struct world world;

    note_replay(seed, without);
    setitimer(ITIMER_PROF, &limit, NULL);
    run(&world, seed, without, result);
}

/* ---- several at once ------------------------------------------------------------------ */

struct work {
    uint64_t first, count, kept[MAX_KEPT];
    uint32_t nkept, without;
    unsigned jobs;
};

static void do_share(const struct work *work, unsigned job, struct result *result)
{
    for (uint64_t i = job; i < work->count; i += work->jobs)
        one(work->first + i, work->without, result);
    for (uint32_t i = job; i < work->nkept; i += work->jobs)
        one(work->kept[i], work->without, result);
}

static int start_job(const struct work *work, unsigned job)
{
    struct result result = {0};
    int fd[2];
    pid_t pid;

    if (pipe(fd) != 0 || (pid = fork()) < 0) {
        perror("softirq-worlds");
        exit(2);
    }
    if (pid == 0) {
        close(fd[0]);
        do_share(work, job, &result);
        _exit(write(fd[1], &result, sizeof(result)) == sizeof(result) ? 0 : 2);
    }
    close(fd[1]);
    return fd[0];
}

/* A job that fails has said what and how to replay it.  Returns how many did. */
static unsigned run_jobs(const struct work *work, struct result *sum)
{
    unsigned failed = 0;
    int fd[MAX_JOBS];

    for (unsigned job = 0; job < work->jobs; job++)
        fd[job] = start_job(work, job);
    for (unsigned job = 0; job < work->jobs; job++) {
        struct result part = {0};

        failed += read(fd[job], &part, sizeof(part)) != sizeof(part);
        close(fd[job]);
        sum->worlds += part.worlds;
        sum->checks += part.checks;
        sum->digest += part.digest;
    }
    while (wait(NULL) > 0)
        ;
    return failed;
}

/* ---- minimising ----------------------------------------------------------------------- */

static bool fails(uint64_t seed, uint32_t without)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        struct result result = {0};

        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(2);
        one(seed, without, &result);
        _exit(0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status != 0;
}

static int minimise(uint64_t seed)
{
    uint32_t without = 0;

    if (!fails(seed, 0))
        return printf("world %llu does not fail\n", (unsigned long long)seed), 0;
    for (unsigned i = 0; i < WORLD_NR_FAULTS; i++)
        if (fails(seed, without | UINT32_C(1) << i))
            without |= UINT32_C(1) << i;
    print_faults(stdout, "fails without", without);
    note_replay(seed, without);
    printf("%s", replay);
    return 1;
}

/* ---- arguments ------------------------------------------------------------------------ */

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

static uint32_t fault_mask(char *list)
{
    uint32_t mask = 0;

    for (char *name = strtok(list, ","); name != NULL; name = strtok(NULL, ",")) {
        unsigned i = 0;

        while (i < WORLD_NR_FAULTS && strcmp(name, fault_names[i]) != 0)
            i++;
        if (i == WORLD_NR_FAULTS) {
            fprintf(stderr, "no fault of this name: %s\n", name);
            print_faults(stderr, "there are", UINT32_MAX);
            exit(2);
        }
        mask |= UINT32_C(1) << i;
    }
    return mask;
}

static void read_kept(struct work *work, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[256];

    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    while (fgets(line, sizeof(line), file) != NULL && work->nkept < MAX_KEPT) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        line[strcspn(line, " \n")] = '\0';
        work->kept[work->nkept++] = number(line);
    }
    fclose(file);
}

static void parse(struct work *work, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        char *value = argv[i + 1];

        if (value != NULL && strcmp(argv[i], "--seed") == 0)
            work->first = number(value);
        else if (value != NULL && strcmp(argv[i], "--count") == 0)
            work->count = number(value);
        else if (value != NULL && strcmp(argv[i], "--jobs") == 0)
            work->jobs = (unsigned)number(value);
        else if (value != NULL && strcmp(argv[i], "--kept") == 0)
            read_kept(work, value);
        else if (value != NULL && strcmp(argv[i], "--without") == 0)
            work->without = fault_mask(value);
        else if (value != NULL && strcmp(argv[i], "--minimise") == 0)
            exit(minimise(number(value)));
        else {
            fprintf(stderr,
                    "usage: %s [--seed FIRST] [--count N] [--kept FILE] [--jobs N] "
                    "[--without FAULT,...] [--minimise SEED]\n",
                    argv[0]);
            exit(2);
        }
    }
    if (work->jobs < 1 || work->jobs > MAX_JOBS) {
        fprintf(stderr, "jobs: give 1 to %d\n", MAX_JOBS);
        exit(2);
    }
}

static uint64_t clock_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / MS;
}

int main(int argc, char **argv)
{
    static struct work work = {.first = 1, .count = 200, .jobs = 1};
    struct result sum = {0};
    unsigned failed;
    uint64_t start = clock_ms(), ms;

    signal(SIGABRT, on_crash);
    signal(SIGSEGV, on_crash);
    signal(SIGPROF, on_crash);
    parse(&work, argc, argv);
    failed = run_jobs(&work, &sum);
    ms = clock_ms() - start + 1;
    printf("worlds from seed %llu: %llu worlds, %llu events checked, digest %016llx, "
           "%llu worlds a minute\n",
           (unsigned long long)work.first, (unsigned long long)sum.worlds,
           (unsigned long long)sum.checks, (unsigned long long)sum.digest,
           (unsigned long long)(sum.worlds * 60000 / ms));
    return failed > 0 ? 1 : 0;
}
