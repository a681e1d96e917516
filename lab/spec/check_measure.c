/* SPDX-License-Identifier: MIT */
/* What is to be measured exists, and can be measured of what is named, in that unit. */
#include "internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define wrong sirq_spec_wrong

struct what {
    const char *name, *of;
    bool distribution;
    const char *unit;
};

static const struct what whats[SIRQ_SPEC_NR_WHATS] = {
#define WHAT(sym, name, of, dist, unit, text) [SIRQ_SPEC_##sym] = {name, of, dist, unit},
    SIRQ_SPEC_WHATS(WHAT)
#undef WHAT
};

struct subject {
    const struct sirq_spec_check *check;
    const struct sirq_spec_measure *measure;
    const struct what *what;
    uint32_t i;
};

/* Path of a key of the measure. */
#define KEY 64u
static const char *key(const struct subject *subject, char *buf, const char *name)
{
    snprintf(buf, KEY, "measure[%u].%s", subject->i, name);
    return buf;
}

/* ---- of ------------------------------------------------------------------------------------------ */

static bool sends_or_receives(const struct sirq_spec_threads *group)
{
    return group->udp_receiver != NULL || group->rr_client != NULL || group->rr_server != NULL ||
           group->tcp_receiver != NULL || group->tcp_sender != NULL;
}

/* Null, or the threads that it can be measured of. */
static const char *not_of_group(enum sirq_spec_what what, const struct sirq_spec_threads *group)
{
    switch (what) {
    case SIRQ_SPEC_RATE:
    case SIRQ_SPEC_FAIRNESS:
        return group->hog != NULL ? "threads that are no hog" : NULL;
    case SIRQ_SPEC_MBIT:
        return group->udp_receiver != NULL || group->tcp_receiver != NULL ||
                       group->tcp_sender != NULL
                   ? NULL
                   : "a udp_receiver, tcp_receiver or tcp_sender";
    case SIRQ_SPEC_LATENCY:
        return group->udp_receiver != NULL || group->rr_client != NULL || group->disk_reader != NULL
                   ? NULL
                   : "a udp_receiver, rr_client or disk_reader";
    case SIRQ_SPEC_STALLS:
        return group->watchdog != NULL ? NULL : "a watchdog or CPUs";
    case SIRQ_SPEC_DROPS:
        return sends_or_receives(group) ? NULL : "threads with a socket or a NIC";
    default:
        return NULL;
    }
}

static const struct sirq_spec_threads *group_of(const struct sirq_spec *spec, const char *name)
{
    for (uint32_t i = 0; i < spec->n_threads; i++) {
        if (strcmp(spec->threads[i].name, name) == 0)
            return &spec->threads[i];
    }
    return NULL;
}

/* Null, or the flows that it can be measured of. */
static const char *not_of_flows(const struct sirq_spec *spec, enum sirq_spec_what what,
                                const char *of)
{
    uint32_t first = 0, n = sirq_spec_flows_of(spec, of, &first);

    for (uint32_t i = first; i < first + n; i++) {
        if (what == SIRQ_SPEC_LATENCY && spec->flows[i].ping == NULL)
            return "flows that are pings";
        if (what == SIRQ_SPEC_MBIT && spec->flows[i].tcp == NULL)
            return "flows that are tcp";
    }
    return NULL;
}

static bool names_cpu(const char *of)
{
    return strncmp(of, "cpu", 3) == 0 && of[3] != '\0' &&
           of[3 + strspn(of + 3, "0123456789")] == '\0';
}

/* What `of` names: t threads, n NIC, d disk, f flows, c CPUs; 0: nothing. */
static char named(const struct sirq_spec *spec, const char *of)
{
    uint32_t first;

    if (strcmp(of, "cpus") == 0 || names_cpu(of))
        return 'c';
    if (group_of(spec, of) != NULL)
        return 't';
    if (sirq_spec_flows_of(spec, of, &first) != 0)
        return 'f';
    for (uint32_t i = 0; i < spec->n_nics; i++) {
        if (strcmp(spec->nics[i].name, of) == 0)
            return 'n';
    }
    for (uint32_t i = 0; i < spec->n_disks; i++) {
        if (strcmp(spec->disks[i].name, of) == 0)
            return 'd';
    }
    return 0;
}

static int of_nothing(const struct subject *subject, const char *path)
{
    const struct sirq_spec *spec = subject->check->spec;
    const char *names[SIRQ_SPEC_GROUPS + SIRQ_SPEC_NICS + SIRQ_SPEC_DISKS + SIRQ_SPEC_FLOWS + 2];
    unsigned n = 0;
    char hint[180];

    for (uint32_t i = 0; i < spec->n_threads; i++)
        names[n++] = spec->threads[i].name;
    for (uint32_t i = 0; i < spec->n_nics; i++)
        names[n++] = spec->nics[i].name;
    for (uint32_t i = 0; i < spec->n_disks; i++)
        names[n++] = spec->disks[i].name;
    for (uint32_t i = 0; i < spec->n_flows; i++)
        names[n++] = spec->flows[i].name;
    names[n++] = "cpu0";
    names[n++] = "cpus";
    return wrong(subject->check, path, "'%.40s' names nothing; %s", subject->measure->of,
                 sirq_conf_suggest(hint, sizeof(hint), subject->measure->of, names, n));
}

static void list_of(char *buf, size_t size, const char *of)
{
    size_t len = 0;

    buf[0] = '\0';
    for (; *of != '\0' && len < size; of++)
        len += (size_t)snprintf(buf + len, size - len, "%s%s",
                                *of == 't'   ? "threads"
                                : *of == 'n' ? "a NIC"
                                : *of == 'd' ? "a disk"
                                : *of == 'f' ? "flows"
                                             : "a CPU or cpus",
                                of[1] != '\0' ? " or " : "");
}

static int check_of(const struct subject *subject)
{
    const struct sirq_spec *spec = subject->check->spec;
    const char *of = subject->measure->of, *instead = NULL;
    char kind = named(spec, of), path[KEY], can[64];

    key(subject, path, "of");
    if (kind == 0)
        return of_nothing(subject, path);
    if (names_cpu(of) && (strlen(of) > 8 || strtoul(of + 3, NULL, 10) >= spec->machine.cpus))
        return wrong(subject->check, path, "'%.20s': no such CPU; give cpu0 to cpu%u", of,
                     spec->machine.cpus - 1);
    list_of(can, sizeof(can), subject->what->of);
    if (strchr(subject->what->of, kind) == NULL)
        instead = can;
    else if (kind == 't')
        instead = not_of_group(subject->measure->what, group_of(spec, of));
    else if (kind == 'f')
        instead = not_of_flows(spec, subject->measure->what, of);
    if (instead != NULL)
        return wrong(subject->check, path, "'%.40s': %s is measured of %s", of, subject->what->name,
                     instead);
    if (subject->measure->each && kind != 't')
        return wrong(subject->check, key(subject, path, "each"),
                     "true: is for threads, and '%.40s' is none", of);
    return 0;
}

/* ---- stat and unit -------------------------------------------------------------------------------- */

static int check_stat(const struct subject *subject)
{
    bool given = subject->measure->stat != SIRQ_SPEC_NO_STAT;
    char path[KEY];

    key(subject, path, "stat");
    if (subject->what->distribution && !given)
        return wrong(subject->check, path,
                     "is missing; %s needs min, mean, p50, p90, p99, p999, max or stddev",
                     subject->what->name);
    if (!subject->what->distribution && given)
        return wrong(subject->check, path, "%s is one figure and has no stat; leave it out",
                     subject->what->name);
    return 0;
}

static bool is_time(const char *unit)
{
    return strcmp(unit, "ns") == 0 || strcmp(unit, "us") == 0 || strcmp(unit, "ms") == 0 ||
           strcmp(unit, "s") == 0;
}

static bool is_per_second(const char *unit)
{
    size_t len = strlen(unit);

    return len >= 2 && strcmp(unit + len - 2, "/s") == 0 && strchr(unit, '/') == unit + len - 2;
}

static int check_unit(const struct subject *subject)
{
    const char *unit = subject->measure->unit, *table = subject->what->unit;
    bool time = is_time(table), rate = strcmp(table, "/s") == 0;
    char path[KEY];

    if (unit == NULL || strcmp(unit, table) == 0 || ((time || rate) && is_time(unit)) ||
        (rate && is_per_second(unit)))
        return 0;
    return wrong(subject->check, key(subject, path, "unit"), "'%.40s': %s is in %s", unit,
                 subject->what->name,
                 time   ? "ns, us, ms or s"
                 : rate ? "/s, packets/s or the like, or as a time in ns, us, ms or s"
                        : table);
}

/* ---- names ------------------------------------------------------------------------------------------ */

static int check_name(const struct subject *subject)
{
    const struct sirq_spec *spec = subject->check->spec;
    const char *name = subject->measure->name, *mark = strchr(name, '%');
    char path[KEY];

    key(subject, path, "name");
    for (uint32_t j = 0; j < subject->i; j++) {
        if (strcmp(spec->measure[j].name, name) == 0)
            return wrong(subject->check, path, "'%.60s' is given twice; give another name", name);
    }
    if (name[strcspn(name, ", \"")] != '\0' || strlen(name) > SIRQ_SPEC_SETUP_NAME)
        return wrong(subject->check, path, "'%.60s': give at most %u characters, no space or comma",
                     name, SIRQ_SPEC_SETUP_NAME);
    if (subject->measure->each && (mark == NULL || strchr(mark + 1, '%') != NULL))
        return wrong(subject->check, path,
                     "'%.60s': put one %% where the number of each thread goes", name);
    if (!subject->measure->each && mark != NULL)
        return wrong(subject->check, path, "'%.60s': %% is for each: true", name);
    return 0;
}

int sirq_spec_check_measures(const struct sirq_spec_check *check)
{
    int rc = 0;

    if (check->spec->n_measure == 0)
        return wrong(check, "measure", "is missing; say what to measure");
    for (uint32_t i = 0; i < check->spec->n_measure && rc == 0; i++) {
        const struct sirq_spec_measure *measure = &check->spec->measure[i];
        const struct subject subject = {check, measure, &whats[measure->what], i};

        rc = check_name(&subject);
        if (rc == 0)
            rc = check_of(&subject);
        if (rc == 0)
            rc = check_stat(&subject);
        if (rc == 0)
            rc = check_unit(&subject);
    }
    return rc;
}
