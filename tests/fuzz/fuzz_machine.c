/* SPDX-License-Identifier: MIT */
/*
 * Files that describe a machine: whatever is in them, they are read or refused with one line,
 * and what is read makes a world or is refused by it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world/sim/machine.h"

#define CHECK(cond)                                                    \
    do {                                                               \
        if (!(cond)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
            abort();                                                   \
        }                                                              \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void one_line(const struct sirq_error *err)
{
    CHECK(err->text[0] != '\0' && strchr(err->text, '\n') == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sirq_sim_config config;
    struct sirq_machine *machine;
    struct sirq_sim *sim;
    struct sirq_error err;

    if (sirq_machine_parse(&machine, "fuzz", (const char *)data, size, &err) != 0) {
        one_line(&err);
        return 0;
    }
    sirq_machine_config(machine, &config);
    if (config.ncpus <= 16) {
        if (sirq_sim_create(&sim, &config, &err) == 0) {
            sirq_sim_run(sim, 1000000);
            sirq_sim_destroy(sim);
        } else {
            one_line(&err);
        }
    }
    sirq_machine_free(machine);
    return 0;
}

#ifdef FUZZ_REPLAY
int main(int argc, char **argv)
{
    static uint8_t data[65536];

    CHECK(argc > 1);
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");

        CHECK(file != NULL);
        LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof(data), file));
        fclose(file);
    }
    return 0;
}
#endif
