/* SPDX-License-Identifier: MIT */
/*
 * cyclictest on the running kernel: what do real-time threads, one on each CPU, wait for beside
 * iperf and dd?  The tools are the published ones (rt-tests, iperf3, dd), the hours are seconds.
 */
#include "cyclic.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counters.h"
#include "knobs.h"
#include "net.h"
#include "peer.h"
#include "session.h"
#include "world.h"

#define DEFAULT_SECONDS 2.0
#define RUN_OVERHEAD_NS 900000000u
#define START_NS 500000000 /* iperf listens, connects and grows its windows */
#define PERIODS 1000u      /* of cyclictest, a second */
#define DISKS 8u           /* dd, at most */

struct cyclic {
    struct sirq_kernel_session session;
    unsigned threads;
    bool pinned;
    struct sirq_kernel_knobs knobs;
    struct sirq_peer server, client, disk[DISKS];
};

/* ---- tools ------------------------------------------------------------------------------- */

int sirq_cyclic_need(const char *tool, const char *package, const char *path,
                     struct sirq_error *err)
{
    char full[512];

    for (const char *at = path; at && *at;) {
        size_t len = strcspn(at, ":");

        snprintf(full, sizeof(full), "%.*s/%s", (int)len, at, tool);
        if (!access(full, X_OK))
            return 0;
        at += len + (at[len] == ':');
    }
    return sirq_fail(err, ENOENT,
                     "--world kernel: the tool `%s` is not installed; install the Debian package "
                     "%s",
                     tool, package);
}

static void silence(void)
{
    int null = open("/dev/null", O_RDWR);

    if (null >= 0) {
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
    }
}

static void iperf_server(struct sirq_peer_page *page, const void *unused)
{
    (void)unused;
    sirq_peer_enter(page);
    sirq_peer_say(page, SIRQ_PEER_READY);
    silence();
    execlp("iperf3", "iperf3", "-s", (char *)NULL);
}

/* The server sends: its segments are received in this side's softirqs. */
static void iperf_client(struct sirq_peer_page *page, const void *arg)
{
    const struct cyclic *cyclic = arg;
    char streams[16];

    snprintf(streams, sizeof(streams), "%u", cyclic->threads);
    sirq_peer_say(page, SIRQ_PEER_READY);
    silence();
    execlp("iperf3", "iperf3", "-c", SIRQ_PEER_ADDRESS, "-R", "-P", streams, "-t", "3600",
           (char *)NULL);
}

static void exec_dd(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* of the writer, whose own the run is */
    execlp("dd", "dd", "if=/dev/zero", "of=/proc/self/fd/1", "bs=1M", "count=8", "conv=fdatasync",
           (char *)NULL);
    _exit(127);
}

/* One dd after the other, to a file without a name: it goes with them. */
static void disk_writer(struct sirq_peer_page *page, const void *unused)
{
    int file = open("/var/tmp", O_TMPFILE | O_RDWR, 0600), status = 0;

    (void)unused;
    if (file < 0)
        sirq_peer_give_up(page, "a file in /var/tmp for dd", errno);
    silence();
    dup2(file, 1);
    sirq_peer_say(page, SIRQ_PEER_READY);
    for (;;) {
        pid_t pid = fork();

        if (!pid)
            exec_dd();
        if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
            sirq_peer_give_up(page, "dd cannot write to /var/tmp", EIO);
    }
}

/* ---- cyclictest -------------------------------------------------------------------------- */

static void exec_cyclictest(const struct cyclic *cyclic, int out)
{
    char threads[16], loops[32];
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    sched_setaffinity(0, sizeof(cyclic->session.cpus.allowed), &cyclic->session.cpus.allowed);
    silence();
    dup2(out, 1);
    snprintf(threads, sizeof(threads), "%u", cyclic->threads);
    snprintf(loops, sizeof(loops), "%.0f", cyclic->session.seconds * PERIODS);
    execlp("cyclictest", "cyclictest", "-q", "-m", "-t", threads, "-p", "80", "-d", "0", "-i",
           "1000", "-l", loops, cyclic->pinned ? "-a" : (char *)NULL, (char *)NULL);
    _exit(127);
}

unsigned sirq_cyclic_parse(char *text, struct sirq_row *row)
{
    double worst = 0;
    unsigned n = 0;
    char *rest;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *avg = strstr(line, "Avg:"), *max = strstr(line, "Max:");
        double mean, most;

        if (strncmp(line, "T:", 2) != 0 || !avg || !max || sscanf(avg, "Avg: %lf", &mean) != 1 ||
            sscanf(max, "Max: %lf", &most) != 1)
            continue;
        sirq_row_add(row, "us", most, "t%u_max", n);
        sirq_row_add(row, "us", mean, "t%u_mean", n);
        worst = most > worst ? most : worst;
        n++;
    }
    if (n)
        sirq_row_add(row, "us", worst, "worst_max");
    return n;
}

/* Everything it wrote.  0, -EINTR, or -EIO with err filled. */
static int read_all(int fd, uint64_t bound_ns, const struct sirq_progress *progress, char *text,
                    size_t size, struct sirq_error *err)
{
    uint64_t start = sirq_lab_now_ns(), gone = 0;
    size_t len = 0;

    for (; gone < bound_ns; gone = sirq_lab_now_ns() - start) {
        int rc = sirq_lab_wait(fd, 200000000);
        ssize_t n;

        if (rc < 0)
            return rc;
        sirq_progress_tick(progress, gone);
        if (!rc)
            continue;
        n = read(fd, text + len, size - 1 - len);
        if (n <= 0) {
            text[len] = '\0';
            return 0;
        }
        len += (size_t)n;
    }
    return sirq_fail(err, EIO, "cyclictest does not end");
}

static int run_cyclictest(struct cyclic *cyclic, struct sirq_row *row, struct sirq_error *err)
{
    char text[4096];
    int ends[2], rc;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC))
        return sirq_fail(err, errno, "no pipe: %s", strerror(errno));
    pid = fork();
    if (!pid)
        exec_cyclictest(cyclic, ends[1]);
    close(ends[1]);
    rc = pid < 0 ? sirq_fail(err, errno, "cannot start cyclictest: %s", strerror(errno))
                 : read_all(ends[0], (uint64_t)(cyclic->session.seconds * 10e9) + 5000000000u,
                            &cyclic->session.progress, text, sizeof(text), err);
    close(ends[0]);
    if (pid > 0) {
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (!rc && sirq_cyclic_parse(text, row) != cyclic->threads)
        return sirq_fail(
            err, ENOTSUP,
            "cyclictest did not measure; is SCHED_FIFO permitted here (CAP_SYS_NICE)?");
    return rc;
}

/* ---- a run ------------------------------------------------------------------------------- */

static int measure(struct cyclic *cyclic, struct sirq_row *row, struct sirq_error *err)
{
    unsigned cpu = cyclic->session.cpus.flooded;
    struct sirq_kernel_counters begin, end;
    uint64_t start, bytes[2] = {0, 0};
    double seconds;
    int rc = sirq_lab_wait(-1, START_NS);

    if (rc)
        return rc;
    start = sirq_lab_now_ns();
    rc = sirq_kernel_counters_read(&begin, "/proc", cpu);
    sirq_cyclic_received("/proc", &bytes[0]);
    if (!rc)
        rc = run_cyclictest(cyclic, row, err);
    if (rc)
        return rc;
    seconds = (double)(sirq_lab_now_ns() - start) / 1e9;
    rc = sirq_kernel_counters_read(&end, "/proc", cpu);
    sirq_cyclic_received("/proc", &bytes[1]);
    if (rc)
        return sirq_fail(err, -rc, "--world kernel: counters in /proc: %s", strerror(-rc));
    sirq_row_add(row, "Mbit/s", (double)(bytes[1] - bytes[0]) * 8 / 1e6 / seconds, "iperf_rate");
    sirq_row_add(row, "percent", (double)(end.irq_ns - begin.irq_ns) / 1e7 / seconds, "irq_cpu");
    for (unsigned i = 0; i < cyclic->threads && i < DISKS && !rc; i++)
        rc = sirq_peer_check(&cyclic->disk[i], err);
    if (!rc && sirq_peer_check(&cyclic->client, err))
        rc = sirq_fail(err, EPIPE, "iperf3 ended early: no load");
    return rc ? -ENOTSUP : 0;
}

static int load_and_measure(struct cyclic *cyclic, struct sirq_row *row, struct sirq_error *err)
{
    const cpu_set_t *cpus = &cyclic->session.cpus.allowed;
    int rc = sirq_lab_wait(-1, 100000000); /* iperf listens */

    if (!rc)
        rc = sirq_peer_start(&cyclic->client, iperf_client, cyclic, cpus, SIRQ_PEER_READY, err);
    for (unsigned i = 0; i < cyclic->threads && i < DISKS && !rc; i++)
        rc = sirq_peer_start(&cyclic->disk[i], disk_writer, NULL, cpus, SIRQ_PEER_READY, err);
    if (!rc)
        rc = measure(cyclic, row, err);
    for (unsigned i = 0; i < DISKS; i++)
        sirq_peer_end(&cyclic->disk[i]);
    sirq_peer_end(&cyclic->client);
    return rc;
}

static int run_once(void *experiment, const struct sirq_kernel_policy *policy, double rate,
                    unsigned nth, struct sirq_row *row, struct sirq_error *err)
{
    struct cyclic *cyclic = experiment;
    struct sirq_kernel_session *session = &cyclic->session;
    struct sirq_error restoring;
    int restored, rc = sirq_peer_start(&cyclic->server, iperf_server, NULL, &session->cpus.allowed,
                                       SIRQ_PEER_IN_NAMESPACE, err);

    (void)rate, (void)nth;
    if (rc)
        return rc;
    rc = sirq_kernel_net_make(policy->threaded, err);
    if (!rc)
        rc = sirq_peer_connect(&cyclic->server, err);
    if (!rc)
        rc = sirq_kernel_knobs_set(&cyclic->knobs, policy, &session->cpus, &session->guardian, err);
    if (!rc)
        rc = load_and_measure(cyclic, row, err);
    restored = sirq_guardian_restore(&session->guardian, &restoring);
    if (restored && (!rc || rc == -ENOTSUP)) {
        *err = restoring;
        rc = restored;
    }
    sirq_kernel_net_delete();
    sirq_peer_end(&cyclic->server);
    return rc;
}

/* ---- the experiment ---------------------------------------------------------------------- */

static int run_setup(struct cyclic *cyclic, bool pinned, struct sirq_error *err)
{
    struct sirq_kernel_session *session = &cyclic->session;
    struct sirq_kernel_rows rows = {.run = run_once, .experiment = cyclic};

    cyclic->pinned = pinned;
    for (unsigned i = 0; i < session->options->nkernel; i++) {
        struct sirq_row *row = rows.row[i] = sirq_results_row(session->results);

        if (!row)
            return sirq_fail(err, ENOMEM, "out of memory");
        snprintf(row->setup, sizeof(row->setup), "%u threads %s %u iperf %u dd", cyclic->threads,
                 pinned ? "pinned" : "unpinned", cyclic->threads,
                 cyclic->threads < DISKS ? cyclic->threads : DISKS);
        row->policy = session->options->kernel[i]->name;
    }
    return sirq_kernel_rows_run(session, &rows, err);
}

static int run_all(struct cyclic *cyclic, struct sirq_error *err)
{
    struct sirq_kernel_session *session = &cyclic->session;
    int rc;

    sirq_progress_start(&session->progress, 2 * session->runs * session->options->nkernel,
                        (uint64_t)(session->seconds * 1e9) + RUN_OVERHEAD_NS);
    rc = run_setup(cyclic, true, err);
    if (!rc)
        rc = run_setup(cyclic, false, err);
    if (!rc)
        sirq_progress_end(&session->progress);
    sirq_progress_clear(&session->progress);
    return rc;
}

static int cyclictest(const struct sirq_lab_options *options, struct sirq_results *results,
                      struct sirq_error *err)
{
    const char *path = getenv("PATH");
    struct cyclic cyclic = {0};
    struct sirq_lab_options mine = *options;
    int rc = sirq_cyclic_need("cyclictest", "rt-tests", path, err);

    if (!rc)
        rc = sirq_cyclic_need("iperf3", "iperf3", path, err);
    if (!rc)
        rc = sirq_cyclic_need("dd", "coreutils", path, err);
    if (rc)
        return rc;
    if (!options->policies_given)
        sirq_kernel_few_policies(&mine);
    rc = sirq_kernel_session_open(&cyclic.session, &mine, results, DEFAULT_SECONDS, err);
    if (rc)
        return rc;
    cyclic.threads = (unsigned)CPU_COUNT(&cyclic.session.cpus.allowed);
    rc = run_all(&cyclic, err);
    sirq_kernel_session_close(&cyclic.session);
    sirq_cyclic_report(results, cyclic.session.runs, rc == -EINTR, stdout);
    return rc;
}

const struct sirq_experiment sirq_cyclictest = {
    .name = "cyclictest",
    .summary = "what real-time threads wait for beside iperf and dd",
    .kernel = cyclictest,
};
