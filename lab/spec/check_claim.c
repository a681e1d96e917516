/* SPDX-License-Identifier: MIT */
/*
 * Whether each claim is about figures that there are.  A claim's own setup and policy are as
 * published and may be any words; its cells need real ones.  What a setup measures is known in
 * that setup alone: how many threads a group has may depend on it.
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define wrong sirq_spec_wrong

struct side {
    const struct sirq_spec_check *check;
    const struct sirq_spec_claim *claim;
    const struct sirq_spec_cell *cell;
    const char *path; /* "claims[0].left" */
};

static const char *key(const struct side *side, char *path, const char *name)
{
    sirq_conf_path(path, "%s.%s", side->path, name);
    return path;
}

/* ---- setup and policy ----------------------------------------------------------------------- */

uint32_t sirq_spec_cell_setup(const struct sirq_spec *spec, const struct sirq_spec_claim *claim,
                              const struct sirq_spec_cell *cell)
{
    const char *name = cell->setup != NULL ? cell->setup : claim->setup;

    for (uint32_t i = 0; i < spec->n_setups; i++) {
        if (strcmp(spec->setups[i].name, name) == 0)
            return i;
    }
    return UINT32_MAX;
}

const struct sirq_policy *sirq_spec_cell_policy(const struct sirq_spec *spec,
                                                const struct sirq_spec_claim *claim,
                                                const struct sirq_spec_cell *cell)
{
    const char *name = cell->policy != NULL ? cell->policy : claim->policy;

    for (uint32_t i = 0; i < spec->n_unpatched; i++) {
        if (strcmp(spec->unpatched[i].name, name) == 0)
            return sirq_policy_find(spec->unpatched[i].policy);
    }
    return sirq_policy_find(name);
}

/* `given`: in the cell; else `own`, of the claim, is no name of `what`. */
static int no_such(const struct side *side, const char *what, const char *given, const char *own,
                   const char *const *names, unsigned n)
{
    char path[SIRQ_CONF_PATH], hint[180];

    if (given != NULL)
        return wrong(side->check, key(side, path, what), "'%.40s': no such %s; %s", given, what,
                     sirq_conf_suggest(hint, sizeof(hint), given, names, n));
    return wrong(side->check, key(side, path, what), "is missing, and '%.40s' is no %s; %s", own,
                 what, sirq_conf_suggest(hint, sizeof(hint), own, names, n));
}

static int check_setup(const struct side *side)
{
    const struct sirq_spec *spec = side->check->spec;
    const char *names[SIRQ_SPEC_SETUPS];

    if (sirq_spec_cell_setup(spec, side->claim, side->cell) != UINT32_MAX)
        return 0;
    for (uint32_t i = 0; i < spec->n_setups; i++)
        names[i] = spec->setups[i].name;
    return no_such(side, "setup", side->cell->setup, side->claim->setup, names, spec->n_setups);
}

static int check_policy(const struct side *side)
{
    const struct sirq_spec *spec = side->check->spec;
    const char *names[SIRQ_SPEC_UNPATCHED + SIRQ_SPEC_POLICIES];
    unsigned n = 0;

    if (sirq_spec_cell_policy(spec, side->claim, side->cell) != NULL)
        return 0;
    for (uint32_t i = 0; i < spec->n_unpatched; i++)
        names[n++] = spec->unpatched[i].name;
    for (uint32_t i = 0; sirq_policies[i] != NULL && n < LEN(names); i++)
        names[n++] = sirq_policies[i]->name;
    return no_such(side, "policy", side->cell->policy, side->claim->policy, names, n);
}

/* ---- metric --------------------------------------------------------------------------------- */

static uint32_t threads_of(const struct sirq_spec *spec, const char *group)
{
    for (uint32_t i = 0; i < spec->n_threads; i++) {
        if (strcmp(spec->threads[i].name, group) == 0)
            return spec->threads[i].count != 0 ? spec->threads[i].count : 1;
    }
    return 0;
}

static bool is_metric(const struct sirq_spec *spec, const struct sirq_spec_measure *measure,
                      const char *metric)
{
    const char *mark = strchr(measure->name, '%');
    size_t before = mark != NULL ? (size_t)(mark - measure->name) : 0;
    unsigned long number;
    char *end;

    if (mark == NULL)
        return strcmp(measure->name, metric) == 0;
    if (strncmp(metric, measure->name, before) != 0 || metric[before] < '1' || metric[before] > '9')
        return false;
    number = strtoul(metric + before, &end, 10);
    return strcmp(end, mark + 1) == 0 && number <= threads_of(spec, measure->of);
}

static int check_metric(const struct side *side)
{
    const struct sirq_spec *spec = side->check->spec;
    const char *in = side->check->place.setup, *metric = side->cell->metric;
    const char *names[SIRQ_SPEC_MEASURES];
    char path[SIRQ_CONF_PATH], hint[180];

    if (in == NULL ||
        strcmp(spec->setups[sirq_spec_cell_setup(spec, side->claim, side->cell)].name, in) != 0)
        return 0;
    for (uint32_t i = 0; i < spec->n_measure; i++) {
        names[i] = spec->measure[i].name;
        if (is_metric(spec, &spec->measure[i], metric))
            return 0;
    }
    return wrong(side->check, key(side, path, "metric"), "'%.40s' is not measured; %s", metric,
                 sirq_conf_suggest(hint, sizeof(hint), metric, names, spec->n_measure));
}

static int check_side(const struct sirq_spec_check *check, uint32_t i, const char *name,
                      const struct sirq_spec_cell *cell)
{
    char path[SIRQ_CONF_PATH];
    const struct side side = {check, &check->spec->claims[i], cell, path};
    int rc;

    sirq_conf_path(path, "claims[%u].%s", i, name);
    rc = check_setup(&side);
    if (rc == 0)
        rc = check_policy(&side);
    return rc != 0 ? rc : check_metric(&side);
}

/* ---- the claim itself ------------------------------------------------------------------------ */

/* Published figures are told apart by all three; a measure may not be taken for a claim. */
static int check_name(const struct sirq_spec_check *check, uint32_t at, const char *path)
{
    const struct sirq_spec *spec = check->spec;
    const struct sirq_spec_claim *claim = &spec->claims[at];

    if (claim->name[strcspn(claim->name, ", \"")] != '\0' ||
        strlen(claim->name) > SIRQ_SPEC_SETUP_NAME)
        return wrong(check, path, "'%.60s': give at most %u characters, no space or comma",
                     claim->name, SIRQ_SPEC_SETUP_NAME);
    for (uint32_t i = 0; i < at; i++) {
        if (strcmp(spec->claims[i].name, claim->name) == 0 &&
            strcmp(spec->claims[i].setup, claim->setup) == 0 &&
            strcmp(spec->claims[i].policy, claim->policy) == 0)
            return wrong(check, path, "'%.60s' is given twice; give another name", claim->name);
    }
    for (uint32_t i = 0; i < spec->n_measure; i++) {
        if (is_metric(spec, &spec->measure[i], claim->name))
            return wrong(check, path, "'%.60s' is a measure too; give another name", claim->name);
    }
    return 0;
}

static int check_right(const struct sirq_spec_check *check, uint32_t i)
{
    const struct sirq_spec_claim *claim = &check->spec->claims[i];
    bool strict = claim->is == SIRQ_SPEC_BELOW || claim->is == SIRQ_SPEC_ABOVE;
    char path[SIRQ_CONF_PATH];

    sirq_conf_path(path, "claims[%u].right", i);
    if (claim->right == NULL && claim->value == NULL)
        return wrong(check, path, "is missing; give it, or value");
    sirq_conf_path(path, "claims[%u].value", i);
    if (claim->right != NULL && claim->value != NULL)
        return wrong(check, path, "is given, and right too; leave one out");
    sirq_conf_path(path, "claims[%u].percent", i);
    if (strict && claim->percent != 0)
        return wrong(check, path, "%u: is for at_most, at_least and about; give times instead",
                     claim->percent);
    return 0;
}

static int check_claim(const struct sirq_spec_check *check, uint32_t i)
{
    const struct sirq_spec_claim *claim = &check->spec->claims[i];
    char path[SIRQ_CONF_PATH];
    int rc;

    sirq_conf_path(path, "claims[%u].name", i);
    rc = check_name(check, i, path);
    if (rc == 0)
        rc = check_right(check, i);
    if (rc == 0)
        rc = check_side(check, i, "left", &claim->left);
    if (rc == 0 && claim->right != NULL)
        rc = check_side(check, i, "right", claim->right);
    return rc;
}

int sirq_spec_check_claims(const struct sirq_spec_check *check)
{
    int rc = 0;

    for (uint32_t i = 0; i < check->spec->n_claims && rc == 0; i++)
        rc = check_claim(check, i);
    return rc;
}
