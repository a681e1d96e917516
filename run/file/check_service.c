/* SPDX-License-Identifier: MIT */
/* What has to hold of services: one kind an entry, ports of their own, threads within bounds. */
#include "internal.h"

#include <stdio.h>
#include <string.h>

typedef struct sirq_run_check check_t;

static unsigned kinds_of(const char *entry)
{
    unsigned n = 0;

    for (const cyaml_schema_field_t *f = sirq_run_service_fields; f->key != NULL; f++)
        n += *(void *const *)(const void *)(entry + f->data_offset) != NULL;
    return n;
}

static int check_one_kind(const check_t *check, uint32_t at)
{
    unsigned n = kinds_of((const char *)&check->file->services[at]);
    char path[SIRQ_CONF_PATH], hint[150];

    sirq_conf_path(path, "services[%u]", at);
    if (n == 1)
        return 0;
    sirq_conf_suggest_key(hint, sizeof(hint), "", sirq_run_service_fields);
    return wrong(check, path, n == 0 ? "is none; %s" : "is several; one an entry; %s", hint);
}

/* Sockets of one port would take each other's datagrams. */
static int check_port(const check_t *check, const char *of, uint32_t at)
{
    uint32_t port = sirq_run_port_of(&check->file->services[at]);
    char path[SIRQ_CONF_PATH];

    sirq_conf_path(path, "%s.port", of);
    for (uint32_t i = 0; i < at; i++) {
        if (sirq_run_port_of(&check->file->services[i]) == port)
            return wrong(check, path, "%u is the port of services[%u] too; give another", port, i);
    }
    return 0;
}

static int check_threads(const check_t *check, const char *of,
                         const struct sirq_run_threads *threads)
{
    char path[SIRQ_CONF_PATH];
    int rc;

    sirq_conf_path(path, "%s.cpus", of);
    rc = sirq_run_check_cpus(check, path, threads->cpus, threads->n_cpus, true);
    sirq_conf_path(path, "%s.sched", of);
    return rc != 0 ? rc : sirq_run_check_sched(check, path, &threads->sched);
}

static bool has_address(const struct sirq_run_interface *interface, const struct sirq_ip *addr)
{
    for (uint32_t i = 0; i < interface->n_addresses; i++) {
        struct sirq_ip own;
        unsigned prefix;

        if (sirq_run_address(interface->addresses[i], &own, &prefix) &&
            memcmp(&own, addr, sizeof(own)) == 0)
            return true;
    }
    return false;
}

static int check_address(const check_t *check, const char *path, const char *text)
{
    struct sirq_ip addr;

    if (text == NULL)
        return 0;
    if (!sirq_run_address(text, &addr, NULL))
        return wrong(check, path, "'%.50s': give an address without a prefix", text);
    for (uint32_t i = 0; i < check->file->n_interfaces; i++) {
        if (has_address(&check->file->interfaces[i], &addr))
            return 0;
    }
    return wrong(check, path, "'%.50s': no interface has it; give it to one, or leave it out",
                 text);
}

static int check_listen(const check_t *check, uint32_t at, const struct sirq_run_listen *listen)
{
    const char *kind = check->file->services[at].dns != NULL ? "dns" : "udp-echo";
    char of[64], path[SIRQ_CONF_PATH];
    int rc;

    snprintf(of, sizeof(of), "services[%u].%s", at, kind);
    sirq_conf_path(path, "%s.address", of);
    rc = check_address(check, path, listen->address);
    if (rc == 0)
        rc = check_port(check, of, at);
    return rc != 0 ? rc : check_threads(check, of, &listen->threads);
}

static int check_forward(const check_t *check, uint32_t at)
{
    char path[SIRQ_CONF_PATH];

    sirq_conf_path(path, "services[%u].forward", at);
    for (uint32_t i = 0; i < at; i++) {
        if (check->file->services[i].forward != NULL)
            return wrong(check, path, "is given twice; leave one out");
    }
    return 0;
}

static bool has_v4(const struct sirq_run_interface *interface)
{
    struct sirq_ip addr;
    unsigned prefix;
    bool any = false;

    for (uint32_t i = 0; i < interface->n_addresses; i++)
        any |= sirq_run_address(interface->addresses[i], &addr, &prefix) && sirq_run_is_v4(&addr);
    return any;
}

static int check_nat_router(const check_t *check, uint32_t at,
                            const struct sirq_run_nat_router *nat)
{
    const struct sirq_run_file *file = check->file;
    char path[SIRQ_CONF_PATH];
    int rc;

    sirq_conf_path(path, "services[%u].nat-router", at);
    for (uint32_t i = 0; i < at; i++) {
        if (file->services[i].nat_router != NULL)
            return wrong(check, path, "is given twice; leave one out");
    }
    sirq_conf_path(path, "services[%u].nat-router.outside", at);
    rc = sirq_run_check_interface(check, path, nat->outside);
    for (uint32_t i = 0; i < file->n_interfaces && rc == 0; i++) {
        if (strcmp(file->interfaces[i].name, nat->outside) == 0 && !has_v4(&file->interfaces[i]))
            rc = wrong(check, path, "'%.40s' has no IPv4 address; give it one", nat->outside);
    }
    sirq_conf_path(path, "services[%u].nat-router.port_%s", at, nat->port_lo != 0 ? "hi" : "lo");
    if (rc == 0 && (nat->port_lo == 0) != (nat->port_hi == 0))
        return wrong(check, path, "is missing; give both port_lo and port_hi, or neither");
    if (rc == 0 && nat->port_hi < nat->port_lo)
        return wrong(check, path, "%u: give port_lo (%u) or more", nat->port_hi, nat->port_lo);
    return rc;
}

int sirq_run_check_services(const check_t *check)
{
    const struct sirq_run_file *file = check->file;
    unsigned threads = sirq_run_threads_of(file);
    int rc = 0;

    for (uint32_t i = 0; i < file->n_services && rc == 0; i++) {
        const struct sirq_run_service *service = &file->services[i];

        rc = check_one_kind(check, i);
        if (rc == 0 && sirq_run_listen_of(service) != NULL)
            rc = check_listen(check, i, sirq_run_listen_of(service));
        if (rc == 0 && service->forward != NULL)
            rc = check_forward(check, i);
        if (rc == 0 && service->nat_router != NULL)
            rc = check_nat_router(check, i, service->nat_router);
    }
    if (rc == 0 && threads > SIRQ_RUN_THREADS)
        rc = wrong(check, "services", "have %u threads; at most %u", threads, SIRQ_RUN_THREADS);
    return rc;
}
