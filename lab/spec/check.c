/* SPDX-License-Identifier: MIT */
/*
 * What has to hold beyond the form of each value: what is needed is there, names lead
 * somewhere, CPUs exist, sums stay within what a machine can hold.
 */
#include "internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define THREADS_ALL 16384u              /* threads and far clients, of all groups */
#define RINGS_ALL (UINT64_C(1) << 22)   /* frames on all rings */
#define SOCKETS_ALL (UINT64_C(1) << 30) /* bytes in all sockets */
#define NAME_MOST 32u

typedef struct sirq_spec_check check_t;

#define wrong sirq_spec_wrong
#define NS_PER_S UINT64_C(1000000000)
#define SMT_PERMILLE 1600u /* as the simulator's default */

/* ---- names ---------------------------------------------------------------------------------------- */

static int check_name(const check_t *check, const char *list, uint32_t i, const char *name)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    char path[SIRQ_CONF_PATH];

    sirq_conf_path(path, "%s[%u].name", list, i);
    if (name[strspn(name, good)] != '\0' || isdigit((unsigned char)name[0]) ||
        strlen(name) > NAME_MOST)
        return wrong(check, path,
                     "'%.40s': give letters, digits, _ and -, no digit first, at most %u", name,
                     NAME_MOST);
    if (strncmp(name, "cpu", 3) == 0 &&
        (isdigit((unsigned char)name[3]) || strcmp(name, "cpus") == 0))
        return wrong(check, path, "'%.40s': measures call CPUs so; give another", name);
    return 0;
}

/* Threads, NICs and disks are measured by name: one name, one thing. */
static int check_unique(const check_t *check, const char *list, uint32_t at, const char *name,
                        bool devices)
{
    const struct sirq_spec *spec = check->spec;
    char path[SIRQ_CONF_PATH];
    unsigned same = 0;

    for (uint32_t i = 0; i < spec->n_nics && devices; i++)
        same += strcmp(spec->nics[i].name, name) == 0;
    for (uint32_t i = 0; i < spec->n_disks && devices; i++)
        same += strcmp(spec->disks[i].name, name) == 0;
    for (uint32_t i = 0; i < spec->n_threads && devices; i++)
        same += strcmp(spec->threads[i].name, name) == 0;
    for (uint32_t i = 0; i < spec->n_hosts && devices; i++)
        same += strcmp(spec->hosts[i].name, name) == 0;
    for (uint32_t i = 0; i < spec->n_flows && devices; i++)
        same += strcmp(spec->flows[i].name, name) == 0;
    for (uint32_t i = 0; i < spec->n_traffic && !devices; i++)
        same += strcmp(spec->traffic[i].name, name) == 0;
    if (same == 1)
        return 0;
    sirq_conf_path(path, "%s[%u].name", list, at);
    return wrong(check, path, "'%.40s' is the name of %s too; give another", name,
                 devices ? "another NIC, disk, host, flow or group of threads" : "other traffic");
}

static int check_names(const check_t *check)
{
    const struct sirq_spec *spec = check->spec;
    int rc = 0;

#define NAMES(list, devices)                                                 \
    for (uint32_t i = 0; i < spec->n_##list && rc == 0; i++) {               \
        rc = check_name(check, #list, i, spec->list[i].name);                \
        if (rc == 0)                                                         \
            rc = check_unique(check, #list, i, spec->list[i].name, devices); \
    }
    NAMES(nics, true)
    NAMES(disks, true)
    NAMES(threads, true)
    NAMES(hosts, true)
    NAMES(flows, true)
    NAMES(traffic, false)
#undef NAMES
    return rc;
}

int sirq_spec_no_such(const check_t *check, const char *path, const char *what, const char *name,
                      const char *const *names, unsigned n)
{
    char hint[180];

    return wrong(check, path, "'%.40s': no such %s; %s", name, what,
                 sirq_conf_suggest(hint, sizeof(hint), name, names, n));
}

int sirq_spec_check_nic_name(const check_t *check, const char *path, const char *name)
{
    const char *names[SIRQ_SPEC_NICS];
    unsigned n = check->spec->n_nics;

    for (unsigned i = 0; i < n; i++) {
        names[i] = check->spec->nics[i].name;
        if (strcmp(names[i], name) == 0)
            return 0;
    }
    return sirq_spec_no_such(check, path, "NIC", name, names, n);
}

static int check_disk_name(const check_t *check, const char *path, const char *name)
{
    const char *names[SIRQ_SPEC_DISKS];
    unsigned n = check->spec->n_disks;

    for (unsigned i = 0; i < n; i++) {
        names[i] = check->spec->disks[i].name;
        if (strcmp(names[i], name) == 0)
            return 0;
    }
    return sirq_spec_no_such(check, path, "disk", name, names, n);
}

/* ---- the machine and its devices -------------------------------------------------------------- */

int sirq_spec_check_cpus(const check_t *check, const char *path, const uint32_t *cpus, uint32_t n)
{
    char entry[SIRQ_CONF_PATH];

    for (uint32_t i = 0; i < n; i++) {
        if (cpus[i] < check->spec->machine.cpus)
            continue;
        sirq_conf_path(entry, "%s[%u]", path, i);
        return wrong(check, entry, "%u: no such CPU; give 0 to %u", cpus[i],
                     check->spec->machine.cpus - 1);
    }
    return 0;
}

static int check_sched(const check_t *check, const char *path, const struct sirq_spec_sched *sched)
{
    bool rt = sched->class == SIRQ_SPEC_SCHED_FIFO || sched->class == SIRQ_SPEC_SCHED_RR;
    char key[SIRQ_CONF_PATH];

    sirq_conf_path(key, "%s.priority", path);
    if (rt && sched->priority == 0)
        return wrong(check, key, "is missing; fifo and rr need 1 to 99");
    if (!rt && sched->priority != 0)
        return wrong(check, key, "%u: is for the classes fifo and rr; leave it out",
                     sched->priority);
    sirq_conf_path(key, "%s.nice", path);
    if (rt && sched->nice != 0)
        return wrong(check, key, "%d: means nothing to fifo and rr; leave it out", sched->nice);
    return 0;
}

static int check_machine(const check_t *check)
{
    const struct sirq_spec_machine *machine = &check->spec->machine;
    const struct sirq_spec_costs *costs = &check->spec->costs_ns;
    uint64_t permille = machine->smt_permille != 0 ? machine->smt_permille : SMT_PERMILLE;
    uint64_t tick_ns =
        ((uint64_t)costs->IRQ + costs->TICK) * (machine->smt == 2 ? permille : 1000) / 1000;

    if (machine->smt == 2 && machine->cpus % 2 != 0)
        return wrong(check, "machine.smt", "2: give an even number of cpus, not %u", machine->cpus);
    if (tick_ns >= NS_PER_S / machine->hz)
        return wrong(check, "machine.hz",
                     "%u: a tick takes %llu ns (costs_ns.irq and tick), as long as until the next; "
                     "give less",
                     machine->hz, (unsigned long long)tick_ns);
    return machine->ksoftirqd != NULL ? check_sched(check, "machine.ksoftirqd", machine->ksoftirqd)
                                      : 0;
}

static int check_devices(const check_t *check)
{
    const struct sirq_spec *spec = check->spec;
    char path[SIRQ_CONF_PATH];
    uint64_t frames = 0;
    int rc = 0;

    for (uint32_t i = 0; i < spec->n_nics && rc == 0; i++) {
        const struct sirq_spec_nic *nic = &spec->nics[i];

        sirq_conf_path(path, "nics[%u].ring", i);
        frames += (uint64_t)nic->ring * (nic->rings != 0 ? nic->rings : 1);
        if ((nic->ring & (nic->ring - 1)) != 0)
            return wrong(check, path, "%u: give a power of two", nic->ring);
        if (frames > RINGS_ALL)
            return wrong(check, path, "%u: all rings hold %llu frames with it; give at most %llu",
                         nic->ring, (unsigned long long)frames, (unsigned long long)RINGS_ALL);
        sirq_conf_path(path, "nics[%u].cpus", i);
        rc = sirq_spec_check_cpus(check, path, nic->cpus, nic->n_cpus);
        sirq_conf_path(path, "nics[%u].rps", i);
        if (rc == 0)
            rc = sirq_spec_check_cpus(check, path, nic->rps, nic->n_rps);
        sirq_conf_path(path, "nics[%u].tx_ring", i);
        if (rc == 0 && (nic->tx_ring & (nic->tx_ring - 1)) != 0)
            rc = wrong(check, path, "%u: give a power of two", nic->tx_ring);
    }
    for (uint32_t i = 0; i < spec->n_disks && rc == 0; i++) {
        sirq_conf_path(path, "disks[%u].cpu", i);
        if (spec->disks[i].cpu >= spec->machine.cpus)
            rc = wrong(check, path, "%u: no such CPU; give 0 to %u", spec->disks[i].cpu,
                       spec->machine.cpus - 1);
    }
    return rc;
}

/* ---- threads ------------------------------------------------------------------------------------ */

static int check_kinds(const check_t *check, const char *path,
                       const struct sirq_spec_threads *group)
{
    const char *given[16], *all[16];
    unsigned n = 0, kinds = 0;
    char hint[160];

    for (const cyaml_schema_field_t *field = sirq_spec_threads_fields; field->key != NULL;
         field++) {
        const char *at = (const char *)group + field->data_offset;

        if (field->value.type != CYAML_MAPPING || !(field->value.flags & CYAML_FLAG_POINTER))
            continue;
        all[kinds++] = field->key;
        if (*(void *const *)(const void *)at != NULL)
            given[n++] = field->key;
    }
    if (n == 1)
        return 0;
    if (n > 1)
        return wrong(check, path, "is %s and %s; give one kind", given[0], given[1]);
    return wrong(check, path, "says not what its threads do; %s",
                 sirq_conf_suggest(hint, sizeof(hint), "", all, kinds));
}

static int check_rr_client(const check_t *check, const char *path,
                           const struct sirq_spec_rr_client *client)
{
    char key[SIRQ_CONF_PATH];

    sirq_conf_path(key, "%s.rr_client.sections_most", path);
    if (client->sections_most < client->sections_least)
        return wrong(check, key, "%u: give sections_least (%u) or more", client->sections_most,
                     client->sections_least);
    sirq_conf_path(key, "%s.rr_client.nic", path);
    return sirq_spec_check_nic_name(check, key, client->nic);
}

static int check_devices_of(const check_t *check, const char *path,
                            const struct sirq_spec_threads *group)
{
    const char *kind = NULL, *nic = NULL;
    char key[SIRQ_CONF_PATH];

    if (group->rr_client != NULL)
        return check_rr_client(check, path, group->rr_client);
    if (group->rr_server != NULL) {
        kind = "rr_server";
        nic = group->rr_server->nic;
    } else if (group->tcp_receiver != NULL) {
        kind = "tcp_receiver";
        nic = group->tcp_receiver->nic;
    } else if (group->tcp_sender != NULL) {
        kind = "tcp_sender";
        nic = group->tcp_sender->nic;
    }
    if (nic != NULL) {
        sirq_conf_path(key, "%s.%s.nic", path, kind);
        return sirq_spec_check_nic_name(check, key, nic);
    }
    if (group->disk_reader != NULL) {
        sirq_conf_path(key, "%s.disk_reader.disk", path);
        return check_disk_name(check, key, group->disk_reader->disk);
    }
    if (group->watchdog != NULL && group->watchdog->limit_ns < group->watchdog->interval_ns) {
        sirq_conf_path(key, "%s.watchdog.limit_ns", path);
        return wrong(check, key, "%llu: give interval_ns or more",
                     (unsigned long long)group->watchdog->limit_ns);
    }
    return 0;
}

static int check_group(const check_t *check, uint32_t i)
{
    const struct sirq_spec_threads *group = &check->spec->threads[i];
    char path[SIRQ_CONF_PATH], key[SIRQ_CONF_PATH];
    int rc;

    sirq_conf_path(path, "threads[%u]", i);
    rc = check_kinds(check, path, group);
    sirq_conf_path(key, "threads[%u].cpus", i);
    if (rc == 0)
        rc = sirq_spec_check_cpus(check, key, group->cpus, group->n_cpus);
    sirq_conf_path(key, "threads[%u].pin", i);
    if (rc == 0 && group->pin && group->n_cpus == 0)
        rc = wrong(check, key, "true: give the cpus to pin to");
    sirq_conf_path(key, "threads[%u].sched", i);
    if (rc == 0)
        rc = check_sched(check, key, &group->sched);
    return rc != 0 ? rc : check_devices_of(check, path, group);
}

static uint64_t buffer_of(const struct sirq_spec_threads *group)
{
    if (group->udp_receiver != NULL)
        return group->udp_receiver->rcvbuf;
    if (group->rr_client != NULL)
        return group->rr_client->rcvbuf;
    if (group->rr_server != NULL)
        return group->rr_server->rcvbuf;
    if (group->tcp_receiver != NULL)
        return group->tcp_receiver->rcvbuf;
    return group->tcp_sender != NULL ? group->tcp_sender->sndbuf : 0;
}

static int check_threads(const check_t *check)
{
    uint64_t threads = 0, bytes = 0;
    char path[SIRQ_CONF_PATH];
    int rc = 0;

    for (uint32_t i = 0; i < check->spec->n_threads && rc == 0; i++) {
        const struct sirq_spec_threads *group = &check->spec->threads[i];
        uint64_t count = group->count != 0 ? group->count : 1;

        threads += count;
        if (group->rr_server != NULL)
            threads += count * group->rr_server->clients;
        bytes += count * buffer_of(group);
        sirq_conf_path(path, "threads[%u]", i);
        if (threads > THREADS_ALL)
            return wrong(check, path, "makes %llu threads and far clients in all; give at most %u",
                         (unsigned long long)threads, THREADS_ALL);
        if (bytes > SOCKETS_ALL)
            return wrong(check, path, "makes %llu bytes of sockets in all; give at most %llu",
                         (unsigned long long)bytes, (unsigned long long)SOCKETS_ALL);
        rc = check_group(check, i);
    }
    return rc;
}

/* ---- traffic ------------------------------------------------------------------------------------ */

static int check_sink(const check_t *check, const char *path, const struct sirq_spec_traffic *flow)
{
    const struct sirq_spec *spec = check->spec;
    const char *names[SIRQ_SPEC_GROUPS];
    unsigned n = 0;
    char key[SIRQ_CONF_PATH];

    sirq_conf_path(key, "%s.to", path);
    for (uint32_t i = 0; i < spec->n_threads; i++) {
        const struct sirq_spec_threads *group = &spec->threads[i];
        uint32_t count = group->count != 0 ? group->count : 1;

        if (group->udp_receiver != NULL)
            names[n++] = group->name;
        if (strcmp(group->name, flow->to) != 0)
            continue;
        if (group->udp_receiver == NULL)
            return wrong(check, key, "'%.40s': these threads are no udp_receiver", flow->to);
        sirq_conf_path(key, "%s.rate", path);
        if (flow->rate < count)
            return wrong(check, key, "%llu: give each of the %u receivers 1 packet/s or more",
                         (unsigned long long)flow->rate, count);
        return 0;
    }
    return sirq_spec_no_such(check, key, "udp_receiver", flow->to, names, n);
}

static int check_flow(const check_t *check, uint32_t i)
{
    const struct sirq_spec_traffic *flow = &check->spec->traffic[i];
    char path[SIRQ_CONF_PATH], key[SIRQ_CONF_PATH];
    int rc;

    sirq_conf_path(path, "traffic[%u]", i);
    sirq_conf_path(key, "traffic[%u].burst", i);
    if (flow->arrivals == SPEC_BURSTS && flow->burst == 0)
        return wrong(check, key, "is missing; bursts need the packets of each");
    if (flow->arrivals != SPEC_BURSTS && flow->burst != 0)
        return wrong(check, key, "%u: is for arrivals: bursts; leave it out", flow->burst);
    sirq_conf_path(key, "traffic[%u].stop_ms", i);
    if (flow->stop_ms != 0 && flow->stop_ms <= flow->start_ms)
        return wrong(check, key, "%llu: give more than start_ms (%llu)",
                     (unsigned long long)flow->stop_ms, (unsigned long long)flow->start_ms);
    sirq_conf_path(key, "traffic[%u].nic", i);
    rc = sirq_spec_check_nic_name(check, key, flow->nic);
    return rc != 0 ? rc : check_sink(check, path, flow);
}

/* ---- what is compared --------------------------------------------------------------------------- */

static int check_policy(const check_t *check, const char *path, const char *name)
{
    const char *names[SIRQ_SPEC_POLICIES];
    unsigned n = 0;

    if (sirq_policy_find(name) != NULL)
        return 0;
    for (; sirq_policies[n] != NULL && n < LEN(names); n++)
        names[n] = sirq_policies[n]->name;
    return sirq_spec_no_such(check, path, "policy", name, names, n);
}

static int check_policies(const check_t *check)
{
    const struct sirq_spec *spec = check->spec;
    char path[SIRQ_CONF_PATH];
    int rc = 0;

    for (uint32_t i = 0; i < spec->n_policies && rc == 0; i++) {
        sirq_conf_path(path, "policies[%u]", i);
        rc = check_policy(check, path, spec->policies[i]);
        for (uint32_t j = 0; j < i && rc == 0; j++) {
            if (strcmp(spec->policies[i], spec->policies[j]) == 0)
                rc = wrong(check, path, "'%.40s' is given twice; leave one out", spec->policies[i]);
        }
    }
    for (uint32_t i = 0; i < spec->n_unpatched && rc == 0; i++) {
        sirq_conf_path(path, "unpatched[%u].policy", i);
        rc = check_policy(check, path, spec->unpatched[i].policy);
    }
    return rc;
}

static int check_setups(const check_t *check)
{
    const struct sirq_spec *spec = check->spec;
    char path[SIRQ_CONF_PATH];

    for (uint32_t i = 0; i < spec->n_setups; i++) {
        const char *name = spec->setups[i].name;

        sirq_conf_path(path, "setups[%u].name", i);
        if (strlen(name) > SIRQ_SPEC_SETUP_NAME)
            return wrong(check, path, "'%.20s...': give at most %u bytes", name,
                         SIRQ_SPEC_SETUP_NAME);
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(name, spec->setups[j].name) == 0)
                return wrong(check, path, "'%.63s' is given twice; give another name", name);
        }
        sirq_conf_path(path, "setups[%u].published.policy", i);
        if (spec->setups[i].published != NULL) {
            int rc = check_policy(check, path, spec->setups[i].published->policy);

            if (rc != 0)
                return rc;
        }
    }
    return 0;
}

int sirq_spec_check(const check_t *check)
{
    int rc = sirq_spec_check_needed(check);

    if (rc == 0)
        rc = check_names(check);
    if (rc == 0)
        rc = check_machine(check);
    if (rc == 0)
        rc = check_devices(check);
    if (rc == 0)
        rc = check_threads(check);
    for (uint32_t i = 0; i < check->spec->n_traffic && rc == 0; i++)
        rc = check_flow(check, i);
    if (rc == 0)
        rc = sirq_spec_check_flows(check);
    if (rc == 0)
        rc = check_policies(check);
    return rc != 0 ? rc : check_setups(check);
}
