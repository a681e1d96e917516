/* SPDX-License-Identifier: MIT */
#include "machine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cyaml/cyaml.h>

#include "shipped.h"

#define FILE_MOST ((size_t)1 << 20)
#define NS_PER_S UINT64_C(1000000000)
#define RR_MOST 4000u

/* ---- schema --------------------------------------------------------------------------- */

#define NEEDED CYAML_FLAG_DEFAULT
#define MAY CYAML_FLAG_OPTIONAL

static const cyaml_schema_field_t fair_fields[] = {
    CYAML_FIELD_UINT("latency_ns", NEEDED, struct sirq_machine_fair, latency_ns),
    CYAML_FIELD_UINT("min_granularity_ns", NEEDED, struct sirq_machine_fair, min_granularity_ns),
    CYAML_FIELD_UINT("wakeup_granularity_ns", NEEDED, struct sirq_machine_fair,
                     wakeup_granularity_ns),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t cpu_fields[] = {
    CYAML_FIELD_UINT("cpus", NEEDED, struct sirq_machine_cpu, cpus),
    CYAML_FIELD_UINT("hz", NEEDED, struct sirq_machine_cpu, hz),
    CYAML_FIELD_UINT("smt", MAY, struct sirq_machine_cpu, smt),
    CYAML_FIELD_UINT("smt_permille", MAY, struct sirq_machine_cpu, smt_permille),
    CYAML_FIELD_BOOL("irq_time_accounting", MAY, struct sirq_machine_cpu, irq_time_accounting),
    CYAML_FIELD_UINT("ipi_ns", MAY, struct sirq_machine_cpu, ipi_ns),
    CYAML_FIELD_UINT("rt_period_ns", MAY, struct sirq_machine_cpu, rt_period_ns),
    CYAML_FIELD_UINT("rt_runtime_ns", MAY, struct sirq_machine_cpu, rt_runtime_ns),
    CYAML_FIELD_MAPPING_PTR("fair", MAY | CYAML_FLAG_POINTER, struct sirq_machine_cpu, fair,
                            fair_fields),
    CYAML_FIELD_END,
};

/* Every cost, by the name it has in sirq/host.h. */
static const cyaml_schema_field_t cost_fields[] = {
#define COST_SCHEMA(sym, name, meaning) \
    CYAML_FIELD_UINT(name, NEEDED, struct sirq_machine_costs, sym),
    SIRQ_COSTS(COST_SCHEMA)
#undef COST_SCHEMA
        CYAML_FIELD_END,
};

static const cyaml_schema_field_t nic_fields[] = {
    CYAML_FIELD_UINT("ring", NEEDED, struct sirq_machine_nic, ring),
    CYAML_FIELD_UINT("irq_interval_ns", MAY, struct sirq_machine_nic, irq_interval_ns),
    CYAML_FIELD_UINT("gap_ns", MAY, struct sirq_machine_nic, gap_ns),
    CYAML_FIELD_END,
};

static const cyaml_strval_t arrivals[] = {
    {"constant", SIRQ_SIM_CONSTANT},
    {"poisson", SIRQ_SIM_POISSON},
};

static const cyaml_schema_field_t traffic_fields[] = {
    CYAML_FIELD_ENUM("arrivals", NEEDED | CYAML_FLAG_STRICT, struct sirq_machine_traffic, arrivals,
                     arrivals, CYAML_ARRAY_LEN(arrivals)),
    CYAML_FIELD_UINT("rate", NEEDED, struct sirq_machine_traffic, rate),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t socket_fields[] = {
    CYAML_FIELD_UINT("rcvbuf", NEEDED, struct sirq_machine_socket, rcvbuf),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t net_fields[] = {
    CYAML_FIELD_BOOL("poll_until_budget", MAY, struct sirq_machine_net, poll_until_budget),
    CYAML_FIELD_UINT("netdev_budget", MAY, struct sirq_machine_net, netdev_budget),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t rr_fields[] = {
    CYAML_FIELD_UINT("antagonists", NEEDED, struct sirq_machine_rr, antagonists),
    CYAML_FIELD_UINT("rtt_ns", NEEDED, struct sirq_machine_rr, rtt_ns),
    CYAML_FIELD_UINT("rtt_jitter_ns", MAY, struct sirq_machine_rr, rtt_jitter_ns),
    CYAML_FIELD_UINT("work_ns", NEEDED, struct sirq_machine_rr, work_ns),
    CYAML_FIELD_UINT("sections_least", NEEDED, struct sirq_machine_rr, sections_least),
    CYAML_FIELD_UINT("sections_most", NEEDED, struct sirq_machine_rr, sections_most),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t run_fields[] = {
    CYAML_FIELD_UINT("seeds", NEEDED, struct sirq_machine_run, seeds),
    CYAML_FIELD_UINT("warmup_ms", NEEDED, struct sirq_machine_run, warmup_ms),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t top_fields[] = {
    CYAML_FIELD_MAPPING("machine", NEEDED, struct sirq_machine, machine, cpu_fields),
    CYAML_FIELD_MAPPING("costs_ns", NEEDED, struct sirq_machine, costs_ns, cost_fields),
    CYAML_FIELD_MAPPING("nic", NEEDED, struct sirq_machine, nic, nic_fields),
    CYAML_FIELD_MAPPING_PTR("traffic", MAY | CYAML_FLAG_POINTER, struct sirq_machine, traffic,
                            traffic_fields),
    CYAML_FIELD_MAPPING("net", MAY, struct sirq_machine, net, net_fields),
    CYAML_FIELD_MAPPING_PTR("rr", MAY | CYAML_FLAG_POINTER, struct sirq_machine, rr, rr_fields),
    CYAML_FIELD_MAPPING("socket", NEEDED, struct sirq_machine, socket, socket_fields),
    CYAML_FIELD_MAPPING("run", NEEDED, struct sirq_machine, run, run_fields),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t top_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct sirq_machine, top_fields),
};

/* ---- reading -------------------------------------------------------------------------- */

/* What the library has to say, joined to one line. */
struct complaint {
    char text[180];
    size_t len;
};

static void note(cyaml_log_t level, void *arg, const char *fmt, va_list args)
{
    struct complaint *complaint = arg;
    size_t room = sizeof(complaint->text) - complaint->len;
    char line[128], *text = line;
    int n = vsnprintf(line, sizeof(line), fmt, args);

    (void)level;
    if (n < 0 || strstr(line, "Backtrace") != NULL)
        return;
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(text, "Load: ", 6) == 0)
        text += 6;
    text += strspn(text, " ");
    n = snprintf(complaint->text + complaint->len, room, "%s%s", complaint->len ? "; " : "", text);
    if (n > 0)
        complaint->len += (size_t)n < room ? (size_t)n : room - 1;
}

static int out_of_range(const char *path, const char *key, uint64_t value, uint64_t least,
                        uint64_t most, struct sirq_error *err)
{
    if (value >= least && value <= most)
        return 0;
    return sirq_fail(err, EINVAL, "%s: %s: %llu: give %llu to %llu", path, key,
                     (unsigned long long)value, (unsigned long long)least,
                     (unsigned long long)most);
}

struct range {
    const char *key;
    uint64_t value, least, most;
};

/* Ranges that the simulator does not check itself. */
static int check(const struct sirq_machine *m, const char *path, struct sirq_error *err)
{
    static const struct sirq_machine_rr no_rr = {.antagonists = 0, .rtt_ns = 1, .work_ns = 1};
    const struct sirq_machine_rr *rr = m->rr != NULL ? m->rr : &no_rr;
    const struct range range[] = {
        {"machine: cpus", m->machine.cpus, 1, SIRQ_SIM_CPUS},
        {"machine: hz", m->machine.hz, 1, 100000},
        {"nic: ring", m->nic.ring, 2, 1u << 20},
        {"traffic: rate", m->traffic != NULL ? m->traffic->rate : 1, 1, NS_PER_S},
        {"net: netdev_budget", m->net.netdev_budget, 0, 1000000},
        {"rr: antagonists", rr->antagonists, 0, RR_MOST},
        {"rr: rtt_ns", rr->rtt_ns, 1, 10 * NS_PER_S},
        {"rr: rtt_jitter_ns", rr->rtt_jitter_ns, 0, NS_PER_S},
        {"rr: work_ns", rr->work_ns, 1, NS_PER_S},
        {"rr: sections_least", rr->sections_least, 0, 1000},
        {"rr: sections_most", rr->sections_most, rr->sections_least, 1000},
        {"socket: rcvbuf", m->socket.rcvbuf, 4096, 256u << 20},
        {"run: seeds", m->run.seeds, 1, SIRQ_MACHINE_SEEDS},
        {"run: warmup_ms", m->run.warmup_ms, 0, 3600000},
    };

    for (size_t i = 0; i < sizeof(range) / sizeof(range[0]); i++) {
        int rc =
            out_of_range(path, range[i].key, range[i].value, range[i].least, range[i].most, err);

        if (rc)
            return rc;
    }
    return 0;
}

int sirq_machine_parse(struct sirq_machine **out, const char *path, const char *text, size_t len,
                       struct sirq_error *err)
{
    struct complaint complaint = {0};
    const cyaml_config_t config = {
        .log_level = CYAML_LOG_NOTICE,
        .log_fn = note,
        .log_ctx = &complaint,
        .mem_fn = cyaml_mem,
    };
    struct sirq_machine *machine = NULL;
    cyaml_err_t bad = cyaml_load_data((const uint8_t *)text, len, &config, &top_schema,
                                      (cyaml_data_t **)(void *)&machine, NULL);
    int rc;

    if (bad != CYAML_OK)
        return sirq_fail(err, EINVAL, "%.50s: %s", path,
                         complaint.len ? complaint.text : cyaml_strerror(bad));
    if (machine == NULL)
        return sirq_fail(err, EINVAL, "%.50s: the file is empty", path);
    rc = check(machine, path, err);
    if (rc) {
        sirq_machine_free(machine);
        return rc;
    }
    *out = machine;
    return 0;
}

static char *read_file(const char *path, size_t *len, struct sirq_error *err)
{
    FILE *file = fopen(path, "re");
    char *text = malloc(FILE_MOST + 1);

    *len = 0;
    if (file == NULL || text == NULL) {
        sirq_fail(err, EINVAL, "%.100s: cannot be read: %s", path, strerror(errno));
    } else {
        *len = fread(text, 1, FILE_MOST + 1, file);
        if (ferror(file) || *len > FILE_MOST)
            sirq_fail(err, EINVAL, "%.100s: %s", path,
                      ferror(file) ? strerror(errno) : "larger than 1 MiB; is it an experiment?");
    }
    if (file == NULL || text == NULL || ferror(file) || *len > FILE_MOST) {
        free(text);
        text = NULL;
    }
    if (file != NULL)
        fclose(file);
    return text;
}

int sirq_machine_load(struct sirq_machine **out, const char *path, struct sirq_error *err)
{
    size_t len;
    char *text = read_file(path, &len, err);
    int rc;

    if (text == NULL)
        return -EINVAL;
    rc = sirq_machine_parse(out, path, text, len, err);
    free(text);
    return rc;
}

int sirq_machine_shipped(struct sirq_machine **out, const char *experiment, struct sirq_error *err)
{
    char name[64];

    snprintf(name, sizeof(name), "%s.yaml", experiment);
    for (unsigned i = 0; sirq_shipped[i].name; i++) {
        if (strcmp(sirq_shipped[i].name, name) == 0)
            return sirq_machine_parse(out, name, sirq_shipped[i].text, strlen(sirq_shipped[i].text),
                                      err);
    }
    return sirq_fail(err, EINVAL, "%s: no machine is shipped for it; give --machine FILE",
                     experiment);
}

void sirq_machine_free(struct sirq_machine *machine)
{
    const cyaml_config_t config = {.mem_fn = cyaml_mem};

    cyaml_free(&config, &top_schema, machine, 0);
}

void sirq_machine_config(const struct sirq_machine *m, struct sirq_sim_config *out)
{
    const struct sirq_machine_cpu *cpu = &m->machine;

    *out = (struct sirq_sim_config){
        .ncpus = cpu->cpus,
        .hz = cpu->hz,
        .smt = cpu->smt,
        .smt_permille = cpu->smt_permille,
        .irq_time_accounting = cpu->irq_time_accounting,
        .ipi_ns = cpu->ipi_ns,
        .rt_period_ns = cpu->rt_period_ns,
        .rt_runtime_ns = cpu->rt_runtime_ns,
    };
    if (cpu->fair != NULL)
        out->fair = (struct sirq_sim_fair){
            .latency_ns = cpu->fair->latency_ns,
            .min_granularity_ns = cpu->fair->min_granularity_ns,
            .wakeup_granularity_ns = cpu->fair->wakeup_granularity_ns,
        };
#define COST_TAKE(sym, name, meaning) out->cost_ns[SIRQ_COST_##sym] = m->costs_ns.sym;
    SIRQ_COSTS(COST_TAKE)
#undef COST_TAKE
}
