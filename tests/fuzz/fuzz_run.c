/* SPDX-License-Identifier: MIT */
/*
 * Files of data planes: whatever is in them, they are read or refused with one line.  What is
 * read has changed in nothing from itself, and what its texts stand for can be told.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/file.h"
#include "target.h"

static void tell(const struct sirq_run_file *file)
{
    for (uint32_t i = 0; i < file->n_interfaces; i++) {
        const struct sirq_run_interface *interface = &file->interfaces[i];
        struct sirq_ip addr;
        unsigned prefix;
        uint8_t mac[6];

        CHECK(interface->mac == NULL || sirq_run_mac(interface->mac, mac));
        for (uint32_t j = 0; j < interface->n_addresses; j++)
            CHECK(sirq_run_address(interface->addresses[j], &addr, &prefix));
        CHECK(interface->n_rps == 0 || interface->rps != NULL);
    }
    CHECK(file->n_cpus > 0 && file->n_interfaces > 0);
    CHECK(file->policy == NULL || sirq_policy_find(file->policy) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sirq_run_source source, again;
    struct sirq_error err = {""};
    char *text = malloc(size + 1);
    int rc;

    CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    rc = sirq_run_parse(&source, "fuzz", text, size, &err);
    if (rc != 0) {
        CHECK(rc == -EINVAL && err.text[0] != '\0' && strchr(err.text, '\n') == NULL);
    } else {
        tell(source.file);
        CHECK(sirq_run_parse(&again, "fuzz", text, size, &err) == 0);
        CHECK(sirq_run_change(&source, &again, &err) == 0);
        sirq_run_source_free(&again);
        sirq_run_source_free(&source);
    }
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
