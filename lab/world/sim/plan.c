/* SPDX-License-Identifier: MIT */
#include "plan.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind.h"

static const struct {
    const char *unit;
    bool dist;
} whats[] = {
#define WHAT_ENTRY(sym, name, of, dist, unit, text) [SIRQ_SPEC_##sym] = {unit, dist},
    SIRQ_SPEC_WHATS(WHAT_ENTRY)
#undef WHAT_ENTRY
};

double sirq_sim_unit_ns(const char *unit)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

    for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(units[i].name, unit) == 0)
            return units[i].ns;
    }
    return 0;
}

/* "cpus" or "cpu3": the loader has made sure. */
static void find_cpu(const struct sirq_spec *spec, const char *of, struct sirq_sim_target *target)
{
    target->of = SIRQ_SIM_CPU;
    target->n = spec->machine.cpus;
    if (strcmp(of, "cpus") == 0)
        return;
    target->first = (uint32_t)strtoul(of + strlen("cpu"), NULL, 10);
    target->n = 1;
    assert(strncmp(of, "cpu", 3) == 0 && target->first < spec->machine.cpus);
}

#define FIND(list, count, kind)                \
    for (uint32_t i = 0; i < (count); i++) {   \
        if (strcmp((list)[i].name, of) == 0) { \
            target->of = (kind);               \
            target->first = i;                 \
            return;                            \
        }                                      \
    }

static void find_target(const struct sirq_spec *spec, const char *of,
                        struct sirq_sim_target *target)
{
    FIND(spec->threads, spec->n_threads, SIRQ_SIM_THREADS)
    FIND(spec->nics, spec->n_nics, SIRQ_SIM_NIC)
    FIND(spec->disks, spec->n_disks, SIRQ_SIM_DISK)
    target->n = sirq_spec_flows_of(spec, of, &target->first);
    target->of = SIRQ_SIM_FLOWS;
    if (target->n == 0)
        find_cpu(spec, of, target);
}

static int name_figure(struct sirq_sim_figure *figure, const char *name)
{
    const char *mark = strchr(name, '%');
    int n;

    if (figure->target.thread == SIRQ_SIM_ALL || mark == NULL)
        n = asprintf(&figure->name, "%s", name);
    else
        n = asprintf(&figure->name, "%.*s%u%s", (int)(mark - name), name, figure->target.thread + 1,
                     mark + 1);
    if (n < 0)
        figure->name = NULL;
    return n < 0 ? -ENOMEM : 0;
}

static bool same(const struct sirq_sim_target *a, const struct sirq_sim_target *b)
{
    return a->of == b->of && a->what == b->what && a->first == b->first && a->n == b->n &&
           a->thread == b->thread;
}

static uint32_t share_dist(struct sirq_sim_plan *plan, const struct sirq_sim_target *target)
{
    for (uint32_t i = 0; i < plan->n_dists; i++) {
        if (same(&plan->dists[i], target))
            return i;
    }
    plan->dists[plan->n_dists] = *target;
    return plan->n_dists++;
}

/* One figure; the caller made room. */
static int add(struct sirq_sim_plan *plan, const struct sirq_spec_measure *measure,
               const struct sirq_sim_target *target)
{
    struct sirq_sim_figure *figure = &plan->figures[plan->n_figures++];
    const char *unit = whats[measure->what].unit;

    *figure = (struct sirq_sim_figure){
        .measure = measure,
        .target = *target,
        .unit = measure->unit != NULL ? measure->unit : unit,
        .scale = 1,
        .dist = UINT32_MAX,
    };
    if (sirq_sim_unit_ns(unit) != 0)
        figure->scale = sirq_sim_unit_ns(figure->unit);
    if (strcmp(unit, "/s") == 0)
        figure->per_ns = sirq_sim_unit_ns(figure->unit);
    if (whats[measure->what].dist)
        figure->dist = share_dist(plan, target);
    return name_figure(figure, measure->name);
}

static int make_room(struct sirq_sim_plan *plan, uint32_t n)
{
    uint32_t room = plan->n_figures + n;
    struct sirq_sim_figure *figures = realloc(plan->figures, room * sizeof(*figures));
    struct sirq_sim_target *dists;

    if (figures == NULL)
        return -ENOMEM;
    plan->figures = figures;
    dists = realloc(plan->dists, room * sizeof(*dists));
    if (dists == NULL)
        return -ENOMEM;
    plan->dists = dists;
    return 0;
}

static int add_measure(struct sirq_sim_plan *plan, const struct sirq_spec *spec,
                       const struct sirq_spec_measure *measure, struct sirq_error *err)
{
    struct sirq_sim_target target = {.what = measure->what, .thread = SIRQ_SIM_ALL};
    uint32_t n = 1;
    int rc;

    find_target(spec, measure->of, &target);
    if (measure->each)
        n = sirq_sim_count(&spec->threads[target.first]);
    rc = make_room(plan, n);
    for (uint32_t i = 0; i < n && !rc; i++) {
        target.thread = measure->each ? i : SIRQ_SIM_ALL;
        rc = add(plan, measure, &target);
    }
    return rc ? sirq_fail(err, -rc, "out of memory") : 0;
}

int sirq_sim_plan_make(struct sirq_sim_plan *plan, const struct sirq_spec *spec,
                       struct sirq_error *err)
{
    int rc = 0;

    *plan = (struct sirq_sim_plan){0};
    for (uint32_t i = 0; i < spec->n_measure && !rc; i++)
        rc = add_measure(plan, spec, &spec->measure[i], err);
    if (rc)
        sirq_sim_plan_free(plan);
    return rc;
}

void sirq_sim_plan_free(struct sirq_sim_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_figures; i++)
        free(plan->figures[i].name);
    free(plan->figures);
    free(plan->dists);
    *plan = (struct sirq_sim_plan){0};
}
