/* SPDX-License-Identifier: MIT */
/* Hosts at the far end, and what is sent between them. */
#include "internal.h"

#include <string.h>

#define wrong sirq_spec_wrong

/* ---- hosts ---------------------------------------------------------------------------------- */

static int check_host(const struct sirq_spec_check *check, uint32_t i)
{
    const struct sirq_spec *spec = check->spec;
    const struct sirq_spec_host *host = &spec->hosts[i];
    char path[SIRQ_CONF_PATH];
    int rc;

    sirq_conf_path(path, "hosts[%u].nic", i);
    rc = sirq_spec_check_nic_name(check, path, host->nic);
    sirq_conf_path(path, "hosts[%u].port", i);
    for (uint32_t j = 0; j < i && rc == 0; j++) {
        if (spec->hosts[j].port == host->port && strcmp(spec->hosts[j].nic, host->nic) == 0)
            rc = wrong(check, path, "%u: '%.40s' is there already; give another", host->port,
                       spec->hosts[j].name);
    }
    return rc;
}

static int check_host_name(const struct sirq_spec_check *check, const char *path, const char *name)
{
    const char *names[SIRQ_SPEC_HOSTS];
    unsigned n = check->spec->n_hosts;

    for (unsigned i = 0; i < n; i++) {
        names[i] = check->spec->hosts[i].name;
        if (strcmp(names[i], name) == 0)
            return 0;
    }
    return sirq_spec_no_such(check, path, "host", name, names, n);
}

/* ---- flows ---------------------------------------------------------------------------------- */

static int check_flow(const struct sirq_spec_check *check, uint32_t i)
{
    const struct sirq_spec_flow *flow = &check->spec->flows[i];
    char path[SIRQ_CONF_PATH];
    int rc;

    sirq_conf_path(path, "flows[%u].from", i);
    rc = check_host_name(check, path, flow->from);
    sirq_conf_path(path, "flows[%u].to", i);
    if (rc == 0)
        rc = check_host_name(check, path, flow->to);
    if (rc == 0 && strcmp(flow->from, flow->to) == 0)
        rc = wrong(check, path, "'%.40s': it comes from there; give another host", flow->to);
    sirq_conf_path(path, "flows[%u]", i);
    if (rc == 0 && (flow->tcp == NULL) == (flow->ping == NULL))
        rc = wrong(check, path,
                   flow->tcp != NULL ? "is tcp and ping; give one"
                                     : "says not what it is; give tcp or ping");
    return rc;
}

int sirq_spec_check_flows(const struct sirq_spec_check *check)
{
    int rc = 0;

    for (uint32_t i = 0; i < check->spec->n_hosts && rc == 0; i++)
        rc = check_host(check, i);
    for (uint32_t i = 0; i < check->spec->n_flows && rc == 0; i++)
        rc = check_flow(check, i);
    return rc;
}

/* `of` is a name, or the beginning of some and a star. */
static bool named(const char *name, const char *of)
{
    const char *star = strchr(of, '*');

    return star != NULL ? strncmp(name, of, (size_t)(star - of)) == 0 : strcmp(name, of) == 0;
}

uint32_t sirq_spec_flows_of(const struct sirq_spec *spec, const char *of, uint32_t *first)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < spec->n_flows; i++) {
        if (named(spec->flows[i].name, of)) {
            if (n == 0)
                *first = i;
            else if (*first + n != i)
                return 0; /* others stand between them */
            n++;
        }
    }
    return n;
}
