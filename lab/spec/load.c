/* SPDX-License-Identifier: MIT */
/*
 * From a text to an experiment.  The file has to be good by itself, then in each setup, then
 * with the command line's settings on top; each of them is loaded anew, so none sees another.
 */
#include "internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AS_DESCRIBED "as described"
#define DEFAULT_SEEDS 10u

struct loader {
    const struct sirq_spec_text *text;
    struct sirq_conf_doc doc;
    struct sirq_conf_place place;
    struct sirq_spec_origin origin[2 * SIRQ_SPEC_SETTINGS];
    unsigned norigins;
};

void sirq_spec_free(struct sirq_spec *spec)
{
    sirq_conf_free(&sirq_spec_schema, spec, 0);
}

/* ---- one variant ------------------------------------------------------------------------------ */

static char *copy(const char *text, size_t len)
{
    char *own = cyaml_mem(NULL, NULL, len + 1);

    if (own != NULL) {
        memcpy(own, text, len);
        own[len] = '\0';
    }
    return own;
}

/* A server of 2016: the costs of udp-flood, in round numbers.  The longer an experiment keeps its
 * file, the more costs there are that it does not know. */
static void complete_costs(struct sirq_spec_costs *costs)
{
    static const struct sirq_spec_costs typical = {
        .PASS = 50,
        .NAPI_POLL = 200,
        .RX_QUEUED = 400,
        .RX_FULL = 400,
        .RX_DROP = 300,
        .RX_ACK = 300,
        .TX = 400,
        .RX_STEERED = 100,
        .FORWARD = 600,
        .RECV_CALL = 400,
        .RECV_PACKET = 200,
        .BLK_DONE = 500,
        .IRQ = 1000,
        .TICK = 1500,
        .SWITCH = 1500,
        .WAKE = 500,
        .KSOFTIRQD = 100,
    };

#define COMPLETE(sym, name, meaning) costs->sym = costs->sym != 0 ? costs->sym : typical.sym;
    SIRQ_COSTS(COMPLETE)
#undef COMPLETE
}

/* What the contract promises to be there: a name, costs, at least one setup, the number of
 * seeds. */
static int complete(struct sirq_spec *spec, const char *file)
{
    if (spec->name == NULL) {
        const char *base = strrchr(file, '/') != NULL ? strrchr(file, '/') + 1 : file;
        size_t len = strcspn(base, ".");

        spec->name = len > 0 ? copy(base, len) : copy("experiment", 10);
    }
    complete_costs(&spec->costs_ns);
    if (spec->run.seeds == 0)
        spec->run.seeds = DEFAULT_SEEDS;
    if (spec->n_setups == 0 && spec->setups == NULL) {
        spec->setups = cyaml_mem(NULL, NULL, sizeof(*spec->setups));
        if (spec->setups == NULL)
            return -ENOMEM;
        memset(spec->setups, 0, sizeof(*spec->setups));
        spec->n_setups = 1;
        spec->setups[0].name = copy(AS_DESCRIBED, sizeof(AS_DESCRIBED) - 1);
        if (spec->setups[0].name == NULL)
            return -ENOMEM;
    }
    return spec->name != NULL ? 0 : -ENOMEM;
}

/* The file as it is. */
static int load_base(struct loader *loader, struct sirq_spec **out)
{
    cyaml_data_t *data = NULL;
    int rc = sirq_conf_load(&loader->place, loader->text->text, loader->text->len,
                            &sirq_spec_schema, &data, NULL);

    if (rc != 0)
        return rc;
    if (data == NULL)
        return sirq_conf_bad(&loader->place, 1, "", "the file is empty");
    if (complete(data, loader->place.file) != 0) {
        sirq_spec_free(data);
        return sirq_fail(loader->place.err, ENOMEM, "out of memory");
    }
    *out = data;
    return 0;
}

static int apply(struct loader *loader, struct sirq_spec *spec, const char *setting)
{
    struct sirq_spec_origin *origin = &loader->origin[loader->norigins];
    struct sirq_conf_place place = loader->place;

    origin->setting = setting;
    place.setting = setting;
    place.origin = origin->origin;
    loader->norigins++;
    return sirq_spec_set(spec, &place, origin->path);
}

static int check(const struct loader *loader, const struct sirq_spec *spec)
{
    const struct sirq_spec_check of = {spec, loader->place, loader->origin, loader->norigins};
    int rc = sirq_spec_check(&of);

    if (rc == 0)
        rc = sirq_spec_check_measures(&of);
    return rc != 0 ? rc : sirq_spec_check_claims(&of);
}

/* In setup `s` of `base` (UINT32_MAX: none), with the command line's settings. */
static int load_variant(struct loader *loader, const struct sirq_spec *base, uint32_t s,
                        const char *const *set, unsigned nset, struct sirq_spec **out)
{
    const struct sirq_spec_setup *setup = s < base->n_setups ? &base->setups[s] : NULL;
    struct sirq_spec *spec = NULL;
    int rc = load_base(loader, &spec);

    if (rc != 0)
        return rc;
    loader->norigins = 0;
    loader->place.setup = setup != NULL ? setup->name : NULL;
    loader->place.set = nset > 0;
    for (unsigned i = 0; setup != NULL && i < setup->n_set && rc == 0; i++) {
        snprintf(loader->origin[loader->norigins].origin, sizeof(loader->origin[0].origin),
                 "setups[%u].set[%u]", s, i);
        rc = apply(loader, spec, setup->set[i]);
    }
    for (unsigned i = 0; i < nset && rc == 0; i++) {
        snprintf(loader->origin[loader->norigins].origin, sizeof(loader->origin[0].origin),
                 "--set");
        rc = apply(loader, spec, set[i]);
    }
    if (rc == 0)
        rc = check(loader, spec);
    if (rc == 0)
        *out = spec;
    else
        sirq_spec_free(spec);
    return rc;
}

/* ---- all -------------------------------------------------------------------------------------- */

static int load_all(struct loader *loader, const struct sirq_spec *base, const char *const *set,
                    unsigned nset)
{
    int rc = 0;

    for (uint32_t s = 0; s < base->n_setups && rc == 0; s++) {
        struct sirq_spec *spec = NULL;

        rc = load_variant(loader, base, s, set, nset, &spec);
        if (rc == 0)
            sirq_spec_free(spec);
    }
    return rc;
}

static int parse(struct loader *loader, uint32_t setup, const char *const *set, unsigned nset,
                 struct sirq_spec **out)
{
    struct sirq_spec *base = NULL;
    int rc =
        sirq_conf_doc_open(&loader->doc, &loader->place, loader->text->text, loader->text->len);

    if (rc != 0)
        return rc;
    loader->place.doc = &loader->doc;
    rc = sirq_conf_shape(&loader->place, &loader->doc, &sirq_spec_schema, NULL, NULL);
    if (rc == 0)
        rc = load_base(loader, &base);
    if (rc != 0)
        return rc;
    assert(base != NULL);
    rc = check(loader, base);
    if (rc == 0 && setup == UINT32_MAX)
        rc = load_all(loader, base, set, nset);
    else if (rc == 0 && setup >= base->n_setups)
        rc = sirq_conf_bad(&loader->place, 0, "setups", "has no number %u; there are %u", setup,
                           base->n_setups);
    if (rc == 0)
        rc = load_variant(loader, base, setup, set, nset, out);
    sirq_spec_free(base);
    return rc;
}

int sirq_spec_parse(struct sirq_spec **out, const struct sirq_spec_text *text, uint32_t setup,
                    const char *const *set, unsigned nset, struct sirq_error *err)
{
    struct loader *loader;
    int rc;

    if (nset > SIRQ_SPEC_SETTINGS)
        return sirq_fail(err, EINVAL, "--set: given %u times; at most %u", nset,
                         SIRQ_SPEC_SETTINGS);
    loader = calloc(1, sizeof(*loader));
    if (loader == NULL)
        return sirq_fail(err, ENOMEM, "out of memory");
    loader->text = text;
    loader->place.kind = &sirq_spec_kind;
    loader->place.file = text->name;
    loader->place.err = err;
    rc = parse(loader, setup, set, nset, out);
    sirq_conf_doc_close(&loader->doc);
    free(loader);
    return rc;
}
