/* SPDX-License-Identifier: MIT */
/*
 * What has to hold beyond the form of each value: names lead somewhere, CPUs are the plane's,
 * addresses are addresses, and what cannot be used is not given.
 */
#include "internal.h"

#include <stdio.h>
#include <string.h>

#define NAME_MOST 15u /* as the system's interfaces */

typedef struct sirq_run_check check_t;

/* ---- CPUs and classes ------------------------------------------------------------------- */

static bool has_cpu(const struct sirq_run_file *file, uint32_t cpu)
{
    for (uint32_t i = 0; i < file->n_cpus; i++) {
        if (file->cpus[i] == cpu)
            return true;
    }
    return false;
}

static int check_twice(const check_t *check, const char *path, const uint32_t *cpus, uint32_t n)
{
    char at[SIRQ_CONF_PATH];

    for (uint32_t i = 1; i < n; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (cpus[i] != cpus[j])
                continue;
            sirq_conf_path(at, "%s[%u]", path, i);
            return wrong(check, at, "CPU %u is given twice; leave one out", cpus[i]);
        }
    }
    return 0;
}

int sirq_run_check_cpus(const check_t *check, const char *path, const uint32_t *cpus, uint32_t n,
                        bool once)
{
    char at[SIRQ_CONF_PATH];

    for (uint32_t i = 0; i < n; i++) {
        if (has_cpu(check->file, cpus[i]))
            continue;
        sirq_conf_path(at, "%s[%u]", path, i);
        return wrong(check, at, "CPU %u is not one of the plane's; add it to cpus, or give another",
                     cpus[i]);
    }
    return once ? check_twice(check, path, cpus, n) : 0;
}

int sirq_run_check_sched(const check_t *check, const char *path, const struct sirq_run_sched *sched)
{
    bool rt = sched->class == SIRQ_RUN_FIFO || sched->class == SIRQ_RUN_RR;
    char at[SIRQ_CONF_PATH];

    sirq_conf_path(at, "%s.priority", path);
    if (rt && sched->priority == 0)
        return wrong(check, at, "is missing; fifo and rr take 1 to 99");
    if (!rt && sched->priority != 0)
        return wrong(check, at, "only fifo and rr have one; leave it out, or give nice");
    sirq_conf_path(at, "%s.nice", path);
    if (rt && sched->nice != 0)
        return wrong(check, at, "fifo and rr have none; leave it out, or give priority");
    return 0;
}

/* Threads that poll may run anywhere. */
static int check_poller(const check_t *check, const char *path,
                        const struct sirq_run_poller *poller)
{
    char at[SIRQ_CONF_PATH];
    int rc;

    sirq_conf_path(at, "%s.cpus", path);
    rc = check_twice(check, at, poller->cpus, poller->n_cpus);
    sirq_conf_path(at, "%s.sched", path);
    return rc != 0 ? rc : sirq_run_check_sched(check, at, &poller->sched);
}

static int check_engine(const check_t *check)
{
    const struct sirq_run_file *file = check->file;
    const char *names[48];
    unsigned n = 0;
    char hint[180];
    int rc;

    if (file->n_cpus == 0)
        return wrong(check, "cpus", "is empty; give at least one");
    rc = check_twice(check, "cpus", file->cpus, file->n_cpus);
    if (rc == 0)
        rc = sirq_run_check_sched(check, "ksoftirqd", &file->ksoftirqd);
    if (rc != 0 || file->policy == NULL || sirq_policy_find(file->policy) != NULL)
        return rc;
    for (; n < LEN(names) && sirq_policies[n] != NULL; n++)
        names[n] = sirq_policies[n]->name;
    return wrong(check, "policy", "'%.40s': no such policy; %s", file->policy,
                 sirq_conf_suggest(hint, sizeof(hint), file->policy, names, n));
}

static int check_backlogs(const check_t *check)
{
    const struct sirq_run_file *file = check->file;
    bool all = false;
    uint32_t of[SIRQ_RUN_CPUS], n = 0;
    char path[SIRQ_CONF_PATH], at[SIRQ_CONF_PATH];
    int rc = 0;

    for (uint32_t i = 0; i < file->n_backlog_threads && rc == 0; i++) {
        const struct sirq_run_backlog *backlog = &file->backlog_threads[i];

        sirq_conf_path(path, "backlog_threads[%u]", i);
        if (all || (backlog->n_of == 0 && i > 0))
            return wrong(check, path, "backlogs are given twice; an entry without `of` is of all");
        all = backlog->n_of == 0;
        sirq_conf_path(at, "%s.of", path);
        rc = sirq_run_check_cpus(check, at, backlog->of, backlog->n_of, true);
        for (uint32_t j = 0; j < backlog->n_of && rc == 0; j++) {
            if (n == LEN(of))
                return wrong(check, at, "more than %u backlogs in all", SIRQ_RUN_CPUS);
            of[n++] = backlog->of[j];
            if (check_twice(check, at, of, n) != 0)
                rc = wrong(check, at, "CPU %u stands in an entry before; leave one out",
                           backlog->of[j]);
        }
        if (rc == 0)
            rc = check_poller(check, path, &backlog->on);
    }
    return rc;
}

/* ---- interfaces --------------------------------------------------------------------------- */

static int check_interface_name(const check_t *check, uint32_t at)
{
    const struct sirq_run_interface *interfaces = check->file->interfaces;
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.@";
    const char *name = interfaces[at].name;
    char path[SIRQ_CONF_PATH];

    sirq_conf_path(path, "interfaces[%u].name", at);
    if (name[strspn(name, good)] != '\0' || strlen(name) > NAME_MOST)
        return wrong(check, path, "'%.40s': give letters, digits, _ - . and @, at most %u", name,
                     NAME_MOST);
    for (uint32_t i = 0; i < at; i++) {
        if (strcmp(interfaces[i].name, name) == 0)
            return wrong(check, path, "'%s' is the name of interfaces[%u] too; give another", name,
                         i);
    }
    sirq_conf_path(path, "interfaces[%u].ifname", at);
    if (interfaces[at].ifname != NULL && strlen(interfaces[at].ifname) > NAME_MOST)
        return wrong(check, path, "'%.40s': the system's interfaces have at most %u characters",
                     interfaces[at].ifname, NAME_MOST);
    return 0;
}

/* A frame's way back needs a driver that sends. */
static int check_driver(const check_t *check, const char *of,
                        const struct sirq_run_interface *interface)
{
    bool pcap = interface->driver == SIRQ_RUN_PCAP;
    const struct {
        const char *key;
        bool given, good;
        const char *what;
    } keys[] = {
        {"file", interface->file != NULL, pcap, "is a key of driver pcap; leave it out"},
        {"replay_pps", interface->replay_pps != 0, pcap, "is a key of driver pcap; leave it out"},
        {"flows", interface->flows != 0, pcap, "is a key of driver pcap; leave it out"},
        {"loop", interface->loop, pcap, "is a key of driver pcap; leave it out"},
        {"ifname", interface->ifname != NULL, !pcap, "driver pcap has none; leave it out"},
        {"addresses", interface->n_addresses > 0, !pcap, "driver pcap cannot send; leave them out"},
    };
    char path[SIRQ_CONF_PATH];

    for (size_t i = 0; i < LEN(keys); i++) {
        sirq_conf_path(path, "%s.%s", of, keys[i].key);
        if (keys[i].given && !keys[i].good)
            return wrong(check, path, "%s", keys[i].what);
    }
    sirq_conf_path(path, "%s.file", of);
    if (pcap && interface->file == NULL)
        return wrong(check, path, "is missing; give the capture to replay");
    sirq_conf_path(path, "%s.ring_size", of);
    if (interface->ring_size & (interface->ring_size - 1))
        return wrong(check, path, "%u: give a power of two", interface->ring_size);
    return 0;
}

static int check_address(const check_t *check, const char *path, const char *text)
{
    unsigned prefix;
    struct sirq_ip addr;

    if (!sirq_run_address(text, &addr, &prefix))
        return wrong(check, path,
                     "'%.50s': give an address with its prefix: 192.0.2.1/24, "
                     "2001:db8::1/64",
                     text);
    return 0;
}

static int check_interface(const check_t *check, uint32_t at)
{
    const struct sirq_run_interface *interface = &check->file->interfaces[at];
    char of[64], path[SIRQ_CONF_PATH];
    uint8_t mac[6];
    int rc = check_interface_name(check, at);

    snprintf(of, sizeof(of), "interfaces[%u]", at);
    if (rc == 0)
        rc = check_driver(check, of, interface);
    sirq_conf_path(path, "%s.mac", of);
    if (rc == 0 && interface->mac != NULL && (!sirq_run_mac(interface->mac, mac) || mac[0] & 1))
        return wrong(check, path, "'%.40s': give an address of one station: 02:00:00:00:00:01",
                     interface->mac);
    sirq_conf_path(path, "%s.vlan_priority", of);
    if (rc == 0 && interface->vlan_priority != 0 && interface->vlan == 0)
        return wrong(check, path, "there is no vlan; give one, or leave it out");
    sirq_conf_path(path, "%s.cpu", of);
    if (rc == 0 && interface->cpu != NULL && !has_cpu(check->file, *interface->cpu))
        return wrong(check, path,
                     "CPU %u is not one of the plane's; add it to cpus, or give "
                     "another",
                     *interface->cpu);
    sirq_conf_path(path, "%s.rps", of);
    if (rc == 0)
        rc = sirq_run_check_cpus(check, path, interface->rps, interface->n_rps, false);
    sirq_conf_path(path, "%s.threaded", of);
    if (rc == 0 && interface->threaded != NULL)
        rc = check_poller(check, path, interface->threaded);
    for (uint32_t i = 0; i < interface->n_addresses && rc == 0; i++) {
        sirq_conf_path(path, "%s.addresses[%u]", of, i);
        rc = check_address(check, path, interface->addresses[i]);
    }
    return rc;
}

/* ---- routes ------------------------------------------------------------------------------- */

static bool host_bits(const struct sirq_ip *addr, unsigned prefix)
{
    if (sirq_run_is_v4(addr))
        prefix += 96;
    for (unsigned bit = prefix; bit < 128; bit++) {
        if (addr->b[bit / 8] & 0x80 >> bit % 8)
            return true;
    }
    return false;
}

int sirq_run_check_interface(const check_t *check, const char *path, const char *name)
{
    const char *names[SIRQ_RUN_INTERFACES];
    uint32_t n = check->file->n_interfaces;
    char hint[180];

    for (uint32_t i = 0; i < n; i++) {
        names[i] = check->file->interfaces[i].name;
        if (strcmp(names[i], name) == 0)
            return 0;
    }
    return wrong(check, path, "'%.40s': no such interface; %s", name,
                 sirq_conf_suggest(hint, sizeof(hint), name, names, n));
}

static int check_route(const check_t *check, uint32_t at)
{
    const struct sirq_run_route *route = &check->file->routes[at];
    char path[SIRQ_CONF_PATH];
    struct sirq_ip to, via;
    unsigned prefix;

    sirq_conf_path(path, "routes[%u].to", at);
    if (!sirq_run_address(route->to, &to, &prefix))
        return wrong(check, path, "'%.50s': give a prefix: 0.0.0.0/0, 2001:db8::/32", route->to);
    if (host_bits(&to, prefix))
        return wrong(check, path, "'%.50s': has bits behind its prefix; make them 0", route->to);
    sirq_conf_path(path, "routes[%u].via", at);
    if (route->via == NULL && route->interface == NULL)
        return wrong(check, path, "is missing; give a gateway, or an interface");
    if (route->via != NULL && !sirq_run_address(route->via, &via, NULL))
        return wrong(check, path, "'%.50s': give an address without a prefix", route->via);
    if (route->via != NULL && sirq_run_is_v4(&via) != sirq_run_is_v4(&to))
        return wrong(check, path, "'%.50s': is not of the family of %s", route->via, route->to);
    sirq_conf_path(path, "routes[%u].interface", at);
    return route->interface != NULL ? sirq_run_check_interface(check, path, route->interface) : 0;
}

/* ---- all ------------------------------------------------------------------------------------ */

int sirq_run_check(const check_t *check)
{
    const struct sirq_run_file *file = check->file;
    int rc = check_engine(check);

    if (rc == 0 && file->n_interfaces == 0)
        rc = wrong(check, "interfaces", "is empty; give at least one");
    if (rc == 0)
        rc = check_backlogs(check);
    for (uint32_t i = 0; i < file->n_interfaces && rc == 0; i++)
        rc = check_interface(check, i);
    for (uint32_t i = 0; i < file->n_routes && rc == 0; i++)
        rc = check_route(check, i);
    return rc != 0 ? rc : sirq_run_check_services(check);
}
