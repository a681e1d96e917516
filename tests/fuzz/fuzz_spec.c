/* SPDX-License-Identifier: MIT */
/*
 * Experiment files and settings: whatever is in them, they are read or refused with one line.
 * The first line of the input, when it is a comment, is a setting: "#machine.hz=100".  What is
 * read is good in every setup, and the world that it asks for can be made.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/figures.h"
#include "spec/spec.h"
#include "target.h"

static void one_line(const struct sirq_error *err)
{
    CHECK(err->text[0] != '\0' && strchr(err->text, '\n') == NULL);
}

static void make_world(const struct sirq_spec *spec)
{
    struct sirq_sim_config config;
    struct sirq_sim *sim;
    struct sirq_error err;

    sirq_spec_sim_config(spec, &config);
    if (config.ncpus > 16)
        return;
    if (sirq_sim_create(&sim, &config, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    sirq_sim_destroy(sim);
}

static void parse(const struct sirq_spec_text *text, const char *set)
{
    struct sirq_error err = {""};
    struct sirq_spec *spec;
    int rc = sirq_spec_parse(&spec, text, UINT32_MAX, &set, set != NULL, &err);
    uint32_t setups;

    if (rc != 0) {
        CHECK(rc == -EINVAL);
        one_line(&err);
        return;
    }
    setups = spec->n_setups;
    make_world(spec);
    sirq_spec_free(spec);
    for (uint32_t i = 0; i < setups; i++) {
        CHECK(sirq_spec_parse(&spec, text, i, &set, set != NULL, &err) == 0);
        sirq_spec_free(spec);
    }
}

static void parse_figures(const char *text, size_t len)
{
    struct sirq_spec_figures figures;
    struct sirq_error err = {""};

    if (sirq_spec_figures_parse(&figures, "fuzz.csv", text, len, &err) == 0)
        sirq_spec_figures_free(&figures);
    else
        one_line(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *setting = NULL;
    size_t line;

    CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    line = strcspn(text, "\n");
    if (text[0] == '#')
        setting = strndup(text + 1, line - 1);
    parse(&(struct sirq_spec_text){.name = (char *)"fuzz", .text = text, .len = size}, setting);
    if (strncmp(text, "source,", 7) == 0)
        parse_figures(text, size);
    free(setting);
    free(text);
    return 0;
}

#ifdef FUZZ_REPLAY
int main(int argc, char **argv)
{
    replay(argc, argv);
    return 0;
}
#endif
